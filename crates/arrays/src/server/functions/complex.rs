//! Real and imaginary parts, conjugates, and products with the imaginary unit.

use hippocrene_ring::automorphism::galois_element_of_conjugation;

use crate::server::{Server, schemes::shared_error::largest_error};
use crate::{CiphertextBody, EncryptedArray, Error};

impl Server {
    /// Returns the complex conjugate of every element; a real array is returned unchanged.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the conjugation key is missing.
    pub fn conjugate(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            self.check(a, "conjugate")?;
            return Ok(a.clone());
        }
        self.check_conjugation("conjugate")?;
        self.map(a, "conjugate", true, 0.0, |server, _, x| Ok(server.evaluator.conjugate(x)?))
    }

    /// Checks that the conjugation key is present.
    pub(in crate::server) fn check_conjugation(
        &self,
        operation: &'static str,
    ) -> Result<(), Error> {
        let conjugation =
            galois_element_of_conjugation(self.session.settings().parameters().degree());
        let key = self.evaluator.keys().galois(conjugation).map(drop);
        key.map_err(|error| Error::from(error).during(operation))
    }

    /// Multiplies every element by the imaginary unit, exactly and at no cost in capacity.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn times_i(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let product = self.map(a, "multiply by i", true, 0.0, |server, _, x| {
            Ok(server.evaluator.mul_by_i(x)?)
        })?;
        Ok(with_complex(product, true))
    }

    /// Returns the real part of every element, `(a + conjugate(a))/2`.
    ///
    /// It costs one bit of capacity. A real array is returned unchanged.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the conjugation key is missing, [`Error::Capacity`] when that bit
    /// is not left.
    pub fn real(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            return Ok(a.clone());
        }
        let twice =
            self.conjugate(a).and_then(|b| self.add(a, &b)).map_err(|e| e.during("real part"))?;
        let twice = with_errors_of_parts(twice, a);
        Ok(with_complex(self.mul_number(&twice, 0.5)?, false))
    }

    /// Returns the imaginary part of every element, `(conjugate(a) - a) i/2`.
    ///
    /// It costs one bit of capacity. The result of a real array is zero.
    ///
    /// # Errors
    /// As [`Server::real`].
    pub fn imaginary(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if !a.is_complex() {
            return self.mul_number(a, 0.0);
        }
        let twice = self
            .conjugate(a)
            .and_then(|b| self.sub(&b, a))
            .map_err(|e| e.during("imaginary part"))?;
        let twice = with_errors_of_parts(twice, a);
        let twice = self.times_i(&twice)?;
        Ok(with_complex(self.mul_number(&twice, 0.5)?, false))
    }
}

/// Corrects the noise estimate of the sum or the difference of an array and its conjugate.
///
/// The estimate of `twice` treats the errors of both operands as independent. In truth the error of
/// `a` doubles in either the real or the imaginary part, and cancels in the other one.
fn with_errors_of_parts(mut twice: EncryptedArray, a: &EncryptedArray) -> EncryptedArray {
    if let Some(largest) = largest_error(a) {
        for body in twice.bodies_mut() {
            if let CiphertextBody::Full(c) = body {
                // The variance is four times that of `a`. The estimate already counts two of these.
                c.set_noise(c.inner().noise().plus(largest.scaled(c.scale().log2() + 0.5)));
            }
        }
    }
    twice
}

/// Returns the array marked as complex or as real.
fn with_complex(mut array: EncryptedArray, complex: bool) -> EncryptedArray {
    array.form_mut().complex = complex;
    array
}
