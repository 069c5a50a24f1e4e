//! Products of ciphertexts.

use hippocrene_ring::arith::mul_mod;

use super::{Evaluator, operand::Operand};
use crate::{BgvError, Ciphertext};

impl Evaluator {
    /// `a b` in the manner of BGV, relinearised: both factors are brought to one modulus at which
    /// their noise is that of rounding, multiplied, and switched down by as many bits as the noise
    /// has grown, in the one modulus switch of the key switch.
    ///
    /// # Errors
    /// When keys or parameters differ, the relinearisation key is missing, or [`BgvError::Budget`]
    /// when the noise would be too large.
    pub fn mul_bgv(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_bgv_into(&mut out, a, b)?;
        Ok(out)
    }

    /// [`Evaluator::mul_bgv`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::mul_bgv`].
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
