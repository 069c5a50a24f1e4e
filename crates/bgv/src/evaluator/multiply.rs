//! Products of ciphertexts.

use hippocrene_ring::arith::{mul_mod, neg_mod};

use super::Evaluator;
use crate::{BgvError, Ciphertext, noise};

impl Evaluator {
    /// `a b` in the manner of BGV, relinearised: both factors are brought to one modulus at which their noise is that of rounding, multiplied, and switched down
    /// by as many bits as the noise has grown, in the one modulus switch of the key switch.
    ///
    /// # Errors
    /// When keys or parameters differ, the relinearisation key is missing, or [`BgvError::Budget`] when the noise would be too large.
    pub fn mul_bgv(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_bgv_into(&mut out, a, b)?;
        Ok(out)
    }

    /// [`Evaluator::mul_bgv`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::mul_bgv`].
    pub fn mul_bgv_into(&self, out: &mut Ciphertext, a: &Ciphertext, b: &Ciphertext) -> Result<(), BgvError> {
        const OPERATION: &str = "multiply";
        self.check(a, OPERATION)?;
        self.check(b, OPERATION)?;
        let context = self.context();
        let have = a.budget_bits(context).min(b.budget_bits(context));
        let from = self.common_modulus(a, b);
        let left = self.brought(a, from)?;
        let square = std::ptr::eq(a, b);
        let right = if square { std::borrow::Cow::Borrowed(&*left) } else { self.brought(b, from)? };
        let t = context.plain_modulus();
        let (degree, rlwe) = (context.rlwe().degree(), context.rlwe());
        let product = noise::product(left.inner().noise(), right.inner().noise(), degree, t);
        let to = self.modulus_after(from, product.log2_std());
        rlwe.multiply_into(out.inner_mut(), left.inner(), right.inner(), t, self.keys(), to)?;
        let scaled = product.scaled(context.log2(to) - context.log2(from));
        let total = noise::sum(scaled, out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(self.product_factor(&left, &right));
        self.check_budget(out, have, OPERATION)
    }

    /// The factor of a product in the manner of BGV of two ciphertexts of one modulus: `-Q g g'`.
    fn product_factor(&self, a: &Ciphertext, b: &Ciphertext) -> u64 {
        let (context, t) = (self.context(), self.context().plain_modulus());
        let modulus = neg_mod(context.residue(a.modulus()), t);
        mul_mod(modulus, mul_mod(a.factor(), b.factor(), t), t)
    }
}
