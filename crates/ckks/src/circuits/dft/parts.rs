//! Real and imaginary parts.

use num_complex::Complex64;

use crate::{Ciphertext, CkksError, Evaluator};

impl Evaluator {
    /// Twice the real parts of the slots: `a` and its conjugate, added up.
    ///
    /// # Errors
    /// When the conjugation key is missing, or the values do not fit.
    pub fn real_part(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.add(a, &self.conjugate(a)?)
    }

    /// Twice the real parts and twice the imaginary parts of the slots, for one conjugation: `a +
    /// conj(a)` and `-i (a - conj(a))`.
    ///
    /// # Errors
    /// When the conjugation key is missing, or the values do not fit.
    pub fn real_and_imaginary(
        &self,
        a: &Ciphertext,
    ) -> Result<(Ciphertext, Ciphertext), CkksError> {
        let conjugate = self.conjugate(a)?;
        let real = self.add(a, &conjugate)?;
        let imaginary = self.mul_by_i(&self.sub(&conjugate, a)?)?;
        Ok((real, imaginary))
    }

    /// `real + i imaginary`, slot by slot.
    ///
    /// # Errors
    /// When moduli, scales, slots or keys differ, or the values do not fit.
    pub fn complex(
        &self,
        real: &Ciphertext,
        imaginary: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.add(real, &self.mul_by_i(imaginary)?)
    }

    /// `i a`, exactly: the message times `X^(N/2)`.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn mul_by_i(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (rlwe, mut out) = (self.context().rlwe(), self.empty_like(a));
        rlwe.mul_monomial_into(out.inner_mut(), a.inner(), rlwe.degree() / 2)?;
        out.set_known(a.known().map(|x| Complex64::I * x));
        Ok(out)
    }
}
