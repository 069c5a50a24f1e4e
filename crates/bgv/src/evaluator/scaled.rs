//! Products of ciphertexts in the manner of BFV, and the choice between the schemes.

use hippocrene_ring::arith::mul_mod;
use hippocrene_rlwe::{Modulus, Noise, noise::rounding};

use super::Evaluator;
use crate::{BgvError, Ciphertext, Scheme, noise};

impl Evaluator {
    /// `a b`, relinearised, in the manner of this evaluator's scheme ([`Evaluator::mul_bgv`] or
    /// [`Evaluator::mul_bfv`]).
    ///
    /// # Errors
    /// When keys or parameters differ, the relinearisation key is missing, or [`BgvError::Budget`]
    /// when the noise would be too large.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_into(&mut out, a, b)?;
        Ok(out)
    }

    /// [`Evaluator::mul`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn mul_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), BgvError> {
        match self.scheme() {
            Scheme::Bgv => self.mul_bgv_into(out, a, b),
            Scheme::Bfv => self.mul_bfv_into(out, a, b),
        }
    }

    /// `a^2`, relinearised: [`Evaluator::mul`] of `a` and itself, which takes fewer products and
    /// transforms than two factors do.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn square(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.mul(a, a)
    }

    /// `a b` in the manner of BFV, relinearised: at the modulus `Q` to which the noise of the
    /// factors lets them come down, the product over the integers is scaled by `t/R`, one factor
    /// having been switched to the auxiliary modulus `R` before
    /// ([`hippocrene_rlwe::Context::multiply_scaled_into`]; Kim, Polyakov and Zucca, ePrint
    /// 2021/204), and then switched down by as many bits as the noise has grown, in the one modulus
    /// switch of the key switch. The factor of the result is `g g'`.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn mul_bfv(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_bfv_into(&mut out, a, b)?;
        Ok(out)
    }

    /// [`Evaluator::mul_bfv`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn mul_bfv_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), BgvError> {
        const OPERATION: &str = "multiply";
        self.check(a, OPERATION)?;
        self.check(b, OPERATION)?;
        let (context, t) = (self.context(), self.context().plain_modulus());
        let have = a.budget_bits(context).min(b.budget_bits(context));
        let factor = mul_mod(a.factor(), b.factor(), t);
        let from = self.common_modulus_scaled(a, b);
        // The second factor goes from its modulus straight to the auxiliary one.
        let (a, b) = if a.modulus() != from && b.modulus() == from { (b, a) } else { (a, b) };
        let left = self.operand(a, from)?;
        let right = if std::ptr::eq(a, b) { &*left } else { b };
        let product = self.scaled_product_noise(from, left.inner().noise(), Some(right))?;
        let to = self.modulus_after_scaled(from, product.log2_std());
        let rlwe = context.rlwe();
        rlwe.multiply_scaled_into(
            out.inner_mut(),
            left.inner(),
            right.inner(),
            t,
            self.keys(),
            to,
        )?;
        let scaled = product.scaled(context.log2(to) - context.log2(from));
        // The key switch has nothing to do with the factors.
        let total = scaled.plus(out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(factor);
        self.check_budget(out, have, OPERATION)
    }

    /// The error of a product in the manner of BFV modulo `modulus`, of what has the error `a`
    /// there and of `b`, which is switched to the auxiliary modulus; of a square where no `b` is
    /// given.
    pub(crate) fn scaled_product_noise(
        &self,
        modulus: Modulus,
        a: Noise,
        b: Option<&Ciphertext>,
    ) -> Result<Noise, BgvError> {
        let (context, rlwe) = (self.context(), self.context().rlwe());
        let bits = |modulus: Modulus| context.log2(modulus);
        let other = b.map_or(a, |b| b.inner().noise().scaled(bits(modulus) - bits(b.modulus())));
        Ok(noise::scaled_product(noise::ScaledProduct {
            factors: [a, other],
            switched: self.floor().scaled(bits(modulus) - rlwe.auxiliary_log2(modulus)?),
            quotient: self.floor(),
            rounding: rounding(rlwe.parameters().secret_weight(), 3),
            degree: rlwe.degree(),
            t: context.plain_modulus(),
            modulus_bits: bits(modulus),
        }))
    }
}
