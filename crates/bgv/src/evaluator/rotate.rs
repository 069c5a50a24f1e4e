//! Rotations of the rows and their exchange.

use hippocrene_ring::automorphism::galois_element_of_conjugation;

use super::Evaluator;
use crate::{BgvError, Ciphertext, noise};

pub(super) const OPERATION: &str = "rotate";

impl Evaluator {
    /// Both rows rotated by `steps` to the left: slot `i` of each row of the result is slot `i +
    /// steps` of that row of `a`, modulo `N/2`. Where this rotation has no key of its own, it is
    /// composed of rotations by powers of two.
    ///
    /// # Errors
    /// When the key of this rotation is missing and it cannot be composed, or [`BgvError::Budget`]
    /// when the noise would be too large.
    pub fn rotate_rows(&self, a: &Ciphertext, steps: i64) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.rotate_rows_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// [`Evaluator::rotate_rows`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::rotate_rows`].
    pub fn rotate_rows_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        steps: i64,
    ) -> Result<(), BgvError> {
        let degree = self.context().rlwe().degree();
        let elements = self.keys().rotation_elements(degree, degree / 2, steps, a.modulus());
        self.apply_galois_into(out, a, elements[0])?;
        for element in &elements[1..] {
            let before = out.clone();
            self.apply_galois_into(out, &before, *element)?;
        }
        Ok(())
    }

    /// The two rows exchanged.
    ///
    /// # Errors
    /// When the key is missing, or [`BgvError::Budget`] when the noise would be too large.
    pub fn exchange_rows(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.exchange_rows_into(&mut out, a)?;
        Ok(out)
    }

    /// [`Evaluator::exchange_rows`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::exchange_rows`].
    pub fn exchange_rows_into(&self, out: &mut Ciphertext, a: &Ciphertext) -> Result<(), BgvError> {
        let degree = self.context().rlwe().degree();
        self.apply_galois_into(out, a, galois_element_of_conjugation(degree))?;
        let error = noise::exchanged(out.inner().noise(), degree);
        out.inner_mut().set_noise(error);
        self.check_budget(out, a.budget_bits(self.context()), "exchange rows")
    }

    pub(super) fn apply_galois_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        element: usize,
    ) -> Result<(), BgvError> {
        self.check(a, OPERATION)?;
        let rlwe = self.context().rlwe();
        rlwe.apply_galois_into(out.inner_mut(), a.inner(), element, self.keys())?;
        if element != 1 {
            let key = self.keys().galois_at(element, rlwe, a.modulus())?;
            let switched = rlwe.key_switch_noise_by(a.modulus(), key, a.modulus())?;
            out.inner_mut().set_noise(a.inner().noise().plus(switched));
        }
        out.set_factor(a.factor());
        self.check_budget(out, a.budget_bits(self.context()), OPERATION)
    }
}
