//! Parts of complex numbers.

use hippocrene_ring::automorphism::galois_element_of_conjugation;
use hippocrene_rlwe::RlweError;

use crate::server::{Server, schemes::shared_error::largest_error};
use crate::{CiphertextBody, EncryptedArray, Error};

impl Server {
    /// The complex conjugate of every element; of real elements they themselves.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the conjugation key is missing.
    pub fn conjugate(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            self.check(a, "conjugate")?;
            return Ok(a.clone());
        }
        self.check_conjugation("conjugate")?;
        self.map(a, "conjugate", true, 0.0, |_, x| Ok(self.evaluator.conjugate(x)?))
    }

    /// Checks that there is the key of the conjugation.
    pub(in crate::server) fn check_conjugation(
        &self,
        operation: &'static str,
    ) -> Result<(), Error> {
        let conjugation =
            galois_element_of_conjugation(self.session.settings().parameters().degree());
        match self.evaluator.keys().galois(conjugation) {
            Ok(_) => Ok(()),
            Err(RlweError::MissingGaloisKey { held, .. }) => {
                let key = "the conjugation (KeyRequest::conjugation; in Python, evaluation_keys(conjugation=True))";
                Err(RlweError::MissingGaloisKey { operation: format!("{operation}: {key}"), held }
                    .into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Every element times the imaginary unit, exactly and for no capacity.
    ///
    /// # Errors
    /// When the array is of another key.
    pub fn times_i(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let product =
            self.map(a, "multiply by i", true, 0.0, |_, x| Ok(self.evaluator.mul_by_i(x)?))?;
        Ok(with_complex(product, true))
    }

    /// The real part of every element, `(a + conjugate(a))/2`, for one bit of capacity; of real
    /// elements they themselves.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the conjugation key is missing, [`Error::Capacity`] when the bit
    /// is.
    pub fn real(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            return Ok(a.clone());
        }
        let twice = with_errors_of_parts(self.add(a, &self.conjugate(a)?)?, a);
        Ok(with_complex(self.mul_number(&twice, 0.5)?, false))
    }

    /// The imaginary part of every element, `(conjugate(a) - a) i/2`, for one bit of capacity; of
    /// real elements zeros.
    ///
    /// # Errors
    /// As [`Server::real`].
    pub fn imaginary(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            return self.mul_number(a, 0.0);
        }
        let twice = with_errors_of_parts(self.sub(&self.conjugate(a)?, a)?, a);
        let twice = self.times_i(&twice)?;
        Ok(with_complex(self.mul_number(&twice, 0.5)?, false))
    }
}

/// The sum or the difference of an array and its conjugates, the part of whose error that is the
/// array's is twice as large in the real or in the imaginary part, and nothing in the other one.
fn with_errors_of_parts(mut twice: EncryptedArray, a: &EncryptedArray) -> EncryptedArray {
    if let Some(largest) = largest_error(a) {
        for body in twice.bodies_mut() {
            if let CiphertextBody::Full(c) = body {
                // Of four times the variance, two are there.
                c.set_noise(c.inner().noise().plus(largest.scaled(c.scale().log2() + 0.5)));
            }
        }
    }
    twice
}

/// The array, said to be of complex elements or of real ones.
fn with_complex(mut array: EncryptedArray, complex: bool) -> EncryptedArray {
    array.form_mut().complex = complex;
    array
}
