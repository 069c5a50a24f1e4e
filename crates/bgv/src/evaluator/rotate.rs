//! Rotations of the rows, and the exchange of the rows.

use hippocrene_ring::automorphism::galois_element_of_conjugation;

use super::Evaluator;
use crate::{BgvError, Ciphertext, noise};

pub(super) const OPERATION: &str = "rotate";

impl Evaluator {
    /// Rotates both rows by `steps` slots to the left. Slot `i` of each row of the result is slot
    /// `i + steps` of that row of `a`, modulo `N/2`. A rotation without a key of its own is
    /// composed of rotations by powers of two.
    ///
    /// # Errors
    /// Returns an error if the key of this rotation is missing and the rotation cannot be composed,
    /// and [`BgvError::Budget`] if the noise would be too large.
    pub fn rotate_rows(&self, a: &Ciphertext, steps: i64) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.rotate_rows_into(&mut out, a, steps)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::rotate_rows`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::rotate_rows`].
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

    /// Exchanges the two rows.
    ///
    /// # Errors
    /// Returns an error if the key is missing, and [`BgvError::Budget`] if the noise would be too
    /// large.
    pub fn exchange_rows(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.exchange_rows_into(&mut out, a)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::exchange_rows`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::exchange_rows`].
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
