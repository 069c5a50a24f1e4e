//! BFV products of ciphertexts, and products by the scheme of the evaluator.

use hippocrene_ring::arith::mul_mod;
use hippocrene_rlwe::{Modulus, Noise, noise::rounding};

use super::Evaluator;
use crate::{BgvError, Ciphertext, Scheme, noise};

impl Evaluator {
    /// Returns the product `a b`, relinearised, by the scheme of this evaluator:
    /// [`Evaluator::mul_bgv`] or [`Evaluator::mul_bfv`].
    ///
    /// # Errors
    /// Returns an error if keys or parameters differ or the relinearisation key is missing, and
    /// [`BgvError::Budget`] if the noise would be too large.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_into(&mut out, a, b)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::mul`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::mul`].
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

    /// Returns `a^2`, relinearised. It is [`Evaluator::mul`] of `a` and itself, which needs fewer
    /// products and transforms than two different factors.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::mul`].
    pub fn square(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.mul(a, a)
    }

    /// Returns the BFV product `a b`, relinearised.
    ///
    /// The product is computed at the smallest modulus `Q` that the noise of the factors allows.
    /// One factor is switched to the auxiliary modulus `R`, and the product over the integers is
    /// scaled by `t/R` ([`hippocrene_rlwe::Context::multiply_scaled_into`]; Kim, Polyakov and
    /// Zucca, ePrint 2021/204). The modulus switch that is part of the key switch then reduces the
    /// modulus by the growth of the noise. The factor of the result is `g g'`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::mul`].
    pub fn mul_bfv(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_bfv_into(&mut out, a, b)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::mul_bfv`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::mul`].
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
        // The second factor is switched from its own modulus straight to the auxiliary one.
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
        // The error of the key switch is independent of the factors.
        let total = scaled.plus(out.inner().noise());
        out.inner_mut().set_noise(total);
        out.set_factor(factor);
        self.check_budget(out, have, OPERATION)
    }

    /// Returns the error of a BFV product modulo `modulus`. One factor has the error `a` modulo
    /// `modulus`. The other factor is `b`, which is switched to the auxiliary modulus. Without `b`,
    /// it is the error of a square.
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
