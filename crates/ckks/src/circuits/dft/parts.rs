//! Real and imaginary parts of encrypted slots.

use num_complex::Complex64;

use crate::{Ciphertext, CkksError, Evaluator};

impl Evaluator {
    /// Returns twice the real parts of the slots: the sum of `a` and its conjugate.
    ///
    /// # Errors
    /// Fails if the conjugation key is missing or the values do not fit the modulus.
    pub fn real_part(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.add(a, &self.conjugate(a)?)
    }

    /// Returns twice the real parts and twice the imaginary parts of the slots, by one conjugation:
    /// `a + conj(a)` and `-i (a - conj(a))`.
    ///
    /// # Errors
    /// Fails if the conjugation key is missing or the values do not fit the modulus.
    pub fn real_and_imaginary(
        &self,
        a: &Ciphertext,
    ) -> Result<(Ciphertext, Ciphertext), CkksError> {
        let conjugate = self.conjugate(a)?;
        let real = self.add(a, &conjugate)?;
        let imaginary = self.mul_by_i(&self.sub(&conjugate, a)?)?;
        Ok((real, imaginary))
    }

    /// Returns `real + i imaginary`, slot by slot.
    ///
    /// # Errors
    /// Fails if moduli, scales, slots or keys differ, or if the values do not fit the modulus.
    pub fn complex(
        &self,
        real: &Ciphertext,
        imaginary: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.add(real, &self.mul_by_i(imaginary)?)
    }

    /// Returns `i a`, exactly, by multiplying the message by `X^(N/2)`.
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters.
    pub fn mul_by_i(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (rlwe, mut out) = (self.context().rlwe(), self.empty_like(a));
        rlwe.mul_monomial_into(out.inner_mut(), a.inner(), rlwe.degree() / 2)?;
        out.set_dry_run_values(a.dry_run_values().map(|x| Complex64::I * x));
        Ok(out)
    }
}
