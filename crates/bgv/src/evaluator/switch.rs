//! Modulus switching, and the choice of the next modulus.

use std::borrow::Cow;

use hippocrene_rlwe::Modulus;

use super::{
    Evaluator,
    operand::{Intermediate, Operand},
};
use crate::{BgvError, Ciphertext, noise::PRODUCT_ERROR_BITS};

/// Number of bits by which the noise of a ciphertext must exceed that of rounding for a switch to a
/// smaller modulus (chosen). Below that, a modulus switch would cost time and gain little.
const MIN_EXCESS_BITS: f64 = 1.5;

/// Number of bits below rounding to which the modulus switch after a BGV product reduces the error.
///
/// The number follows from the error `z` of a square at each of the `N` complex roots of `X^N + 1`,
/// in units of the average rounding error. After the switch it is `2^-BGV_MARGIN_BITS z^2/sqrt(2)`
/// plus the rounding error, which is a product of two values `r1` and `s` with normal
/// distributions. Squared again and again, it stays small if it is below
/// `2^BGV_MARGIN_BITS sqrt(2)`, and grows without end if it is above. With 4 bits it is above with
/// probability `2^-65`. With 0 bits it would be above at many roots, and the mean square over all
/// roots does not show this.
const BGV_MARGIN_BITS: f64 = 4.0;

/// The same number of bits for BFV products (chosen). Their errors grow by a factor at each root,
/// and the estimate includes this factor. More bits would gain little.
const BFV_MARGIN_BITS: f64 = 1.25;

impl Evaluator {
    /// Switches `a` from its modulus `Q` to another modulus `to = Q'` that is coprime to `t`. The
    /// noise is multiplied by `Q'/Q`, and rounding adds `(1 + |s|^2)/12` to its variance. Message
    /// and factor stay.
    ///
    /// # Errors
    /// Returns an error if `to` is not such a modulus or is too small for the noise.
    pub fn switch_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.switch_modulus_into(&mut out, a, to)?;
        Ok(out)
    }

    /// Does the same as [`Evaluator::switch_modulus`] and writes the result to `out`.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::switch_modulus`].
    pub fn switch_modulus_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), BgvError> {
        const OPERATION: &str = "switch the modulus";
        self.check(a, OPERATION)?;
        self.context().check_modulus(to, OPERATION)?;
        self.context().rlwe().switch_ciphertext_into(out.inner_mut(), a.inner(), to)?;
        out.set_factor(a.factor());
        self.check_budget(out, a.budget_bits(self.context()), OPERATION)
    }

    /// Switches `a` to the modulus at which its noise is about that of rounding. Computing costs
    /// least at this modulus, and only a bit or two of noise budget are lost.
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters.
    pub fn reduce(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.check(a, "reduce the modulus")?;
        match self.reduced_modulus(a) {
            Some(to) => self.switch_modulus(a, to),
            None => Ok(a.clone()),
        }
    }

    /// Returns the modulus that [`Evaluator::reduce`] switches to, or `None` if `a` keeps its
    /// modulus.
    fn reduced_modulus(&self, a: &Ciphertext) -> Option<Modulus> {
        let excess = a.inner().noise().log2_std() - self.floor().log2_std();
        let bits = self.context().log2(a.modulus());
        (excess > MIN_EXCESS_BITS)
            .then(|| self.context().modulus_near(bits - excess, bits))
            .filter(|to| *to != a.modulus())
    }

    /// Returns the modulus for a result that is switched down as part of its last operation.
    /// `log2_std` is the noise of one coefficient modulo `from`, in bits.
    pub(crate) fn modulus_after(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > MIN_EXCESS_BITS {
            self.context().modulus_near(bits - excess, bits)
        } else {
            from
        }
    }

    /// Returns the modulus for a BGV product that is switched down as part of its key switch. Its
    /// error is reduced to [`BGV_MARGIN_BITS`] bits below that of rounding. `log2_std` is the noise
    /// of one coefficient modulo `from`, in bits.
    pub(crate) fn modulus_after_product(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > -BGV_MARGIN_BITS {
            self.context().modulus_to_switch_down(
                bits - excess,
                bits,
                BGV_MARGIN_BITS,
                PRODUCT_ERROR_BITS,
            )
        } else {
            from
        }
    }

    /// Returns the modulus at which two factors are multiplied: the smaller of the two moduli that
    /// they can be reduced to.
    pub(crate) fn common_modulus(&self, a: &Ciphertext, b: &Ciphertext) -> Modulus {
        let [to_a, to_b] = [a, b].map(|x| self.reduced_modulus(x).unwrap_or(x.modulus()));
        if self.context().log2(to_a) <= self.context().log2(to_b) { to_a } else { to_b }
    }

    /// Does the same as [`Evaluator::modulus_after`] for BFV products. The relative error of these
    /// does not depend on the modulus, so the result is never so small that it would cost noise
    /// budget.
    pub(crate) fn modulus_after_scaled(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > MIN_EXCESS_BITS {
            self.context().modulus_above(bits - excess - BFV_MARGIN_BITS, bits)
        } else {
            from
        }
    }

    /// Does the same as [`Evaluator::common_modulus`] for BFV products.
    pub(crate) fn common_modulus_scaled(&self, a: &Ciphertext, b: &Ciphertext) -> Modulus {
        let [to_a, to_b] =
            [a, b].map(|c| self.modulus_after_scaled(c.modulus(), c.inner().noise().log2_std()));
        if self.context().log2(to_a) <= self.context().log2(to_b) { to_a } else { to_b }
    }

    /// Returns `a` at the modulus `to`, as an operand whose memory is reused.
    pub(super) fn operand<'a>(
        &'a self,
        a: &'a Ciphertext,
        to: Modulus,
    ) -> Result<Operand<'a>, BgvError> {
        if a.modulus() == to {
            return Ok(Operand::Given(a));
        }
        let mut switched = Intermediate::new(self.context());
        self.switch_modulus_into(&mut switched, a, to)?;
        Ok(Operand::Switched(switched))
    }

    /// Returns `a` at the modulus `to`.
    pub(crate) fn at_modulus<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
    ) -> Result<Cow<'a, Ciphertext>, BgvError> {
        if a.modulus() == to {
            Ok(Cow::Borrowed(a))
        } else {
            self.switch_modulus(a, to).map(Cow::Owned)
        }
    }

    /// Returns `a` at the modulus `to`, at the lowest cost.
    ///
    /// If `to` divides the modulus `Q` of `a` and the noise of `a` is that of rounding, limbs are
    /// dropped. The error modulo `to` is then the same as before and the factor is multiplied by
    /// `Q/to`, because `t (c0 + c1 s) = [-Q g m]_t + t e` holds modulo every divisor of `Q`.
    /// Otherwise the modulus is switched.
    pub(crate) fn lowered<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, BgvError> {
        let context = self.context();
        let excess = a.inner().noise().log2_std() - self.floor().log2_std();
        if a.modulus() == to || excess > MIN_EXCESS_BITS || !to.divides(a.modulus()) {
            return self.at_modulus(a, to);
        }
        context.check_modulus(to, operation)?;
        let mut out = Ciphertext::empty(context);
        context.rlwe().reduce_modulus_into(out.inner_mut(), a.inner(), to)?;
        out.set_factor(context.dropped_factor(a.factor(), a.modulus(), to));
        self.check_budget(&out, a.budget_bits(context), operation)?;
        Ok(Cow::Owned(out))
    }
}
