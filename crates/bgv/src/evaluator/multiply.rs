//! BGV products of ciphertexts.

use hippocrene_ring::arith::mul_mod;

use super::{Evaluator, operand::Operand};
use crate::{BgvError, Ciphertext};

impl Evaluator {
    /// Returns the BGV product `a b`, relinearised.
    ///
    /// Both factors are switched to one modulus at which their noise is that of rounding, and
    /// multiplied there. The modulus switch that is part of the key switch then reduces the modulus
    /// by the growth of the noise.
    ///
    /// # Errors
    /// Returns an error if keys or parameters differ or the relinearisation key is missing, and
    /// [`BgvError::Budget`] if the noise would be too large.
    pub fn mul_bgv(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_bgv_into(&mut out, a, b)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::mul_bgv`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::mul_bgv`].
    pub fn mul_bgv_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), BgvError> {
        const OPERATION: &str = "multiply";
        self.check(a, OPERATION)?;
        self.check(b, OPERATION)?;
        let context = self.context();
        let have = a.budget_bits(context).min(b.budget_bits(context));
        let from = self.common_modulus(a, b);
        let left = self.operand(a, from)?;
        let square = std::ptr::eq(a, b);
        let right = if square { Operand::Given(&left) } else { self.operand(b, from)? };
        let t = context.plain_modulus();
        let rlwe = context.rlwe();
        let product = self.product_noise(left.inner().noise(), right.inner().noise());
        let to = self.modulus_after_product(from, product.log2_std());
        rlwe.multiply_into(out.inner_mut(), left.inner(), right.inner(), t, self.keys(), to)?;
        let scaled = product.scaled(context.log2(to) - context.log2(from));
        let total = scaled.plus(out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(context.product_factor(from, mul_mod(left.factor(), right.factor(), t)));
        self.check_budget(out, have, OPERATION)
    }
}
