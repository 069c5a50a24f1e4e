//! Modulus switching, and which modulus comes next.

use std::borrow::Cow;

use hippocrene_rlwe::Modulus;

use super::{
    Evaluator,
    operand::{Intermediate, Operand},
};
use crate::{BgvError, Ciphertext, noise::POWER};

/// A ciphertext whose noise exceeds that of rounding by no more bits than this is not switched
/// down: it would cost a modulus switch and gain little.
const EXCESS: f64 = 1.5;

/// How many bits below that of rounding the error of a product is brought by the modulus switch
/// after it.
///
/// At each of the `N` complex roots of `X^N + 1`, in units of what rounding gives on average, the
/// error `z` of a square that is switched down is `2^-MARGIN z^2/sqrt(2)` plus that of rounding,
/// which is the product of two values with normal distributions there, `r1` and `s`. Squared again
/// and again, it stays small where it is below `2^MARGIN sqrt(2)`, and above this it grows without
/// end. With 4 bits it is above with probability `2^-65`; with none it would be at many roots,
/// which a mean square over all does not tell.
const MARGIN: f64 = 4.0;

/// The same for products in the manner of BFV. Errors grow by a factor at each root there, which
/// their estimate has in it, so that little is gained by more.
const MARGIN_SCALED: f64 = 1.25;

impl Evaluator {
    /// Brings `a` from its modulus `Q` to `to = Q'`, any other modulus that is coprime to `t`: the
    /// noise is multiplied by `Q'/Q`, and rounding adds `(1 + |s|^2)/12` to its variance. Message
    /// and factor stay.
    ///
    /// # Errors
    /// When `to` is not such a modulus, or too small for the noise.
    pub fn switch_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, BgvError> {
        let mut out = Ciphertext::empty(self.context());
        self.switch_modulus_into(&mut out, a, to)?;
        Ok(out)
    }

    /// [`Evaluator::switch_modulus`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::switch_modulus`].
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

    /// `a` at the modulus at which its noise is about that of rounding, and so at which it costs
    /// least to compute with: the noise budget stays but for a bit or two.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn reduce(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.check(a, "reduce the modulus")?;
        match self.reduced_modulus(a) {
            Some(to) => self.switch_modulus(a, to),
            None => Ok(a.clone()),
        }
    }

    /// The modulus that [`Evaluator::reduce`] goes to, unless `a` stays where it is.
    fn reduced_modulus(&self, a: &Ciphertext) -> Option<Modulus> {
        let excess = a.inner().noise().log2_std() - self.floor().log2_std();
        let bits = self.context().log2(a.modulus());
        (excess > EXCESS)
            .then(|| self.context().modulus_near(bits - excess, bits))
            .filter(|to| *to != a.modulus())
    }

    /// The modulus for a result of noise `log2_std` (of one coefficient) modulo `from` that is
    /// switched down in the same step.
    pub(crate) fn modulus_after(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > EXCESS { self.context().modulus_near(bits - excess, bits) } else { from }
    }

    /// The modulus for a product of noise `log2_std` modulo `from` that is switched down in the
    /// same step: its error comes down to [`MARGIN`] bits below that of rounding.
    pub(crate) fn modulus_after_product(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > -MARGIN {
            self.context().modulus_for_landing(bits - excess, bits, MARGIN, POWER)
        } else {
            from
        }
    }

    /// The modulus at which two factors are multiplied: the smaller of those that they are reduced
    /// to.
    pub(crate) fn common_modulus(&self, a: &Ciphertext, b: &Ciphertext) -> Modulus {
        let [to_a, to_b] = [a, b].map(|x| self.reduced_modulus(x).unwrap_or(x.modulus()));
        if self.context().log2(to_a) <= self.context().log2(to_b) { to_a } else { to_b }
    }

    /// [`Evaluator::modulus_after`] for products in the manner of BFV, whose relative error does
    /// not depend on the modulus: none is gone below that would cost noise budget.
    pub(crate) fn modulus_after_scaled(&self, from: Modulus, log2_std: f64) -> Modulus {
        let excess = log2_std - self.floor().log2_std();
        let bits = self.context().log2(from);
        if excess > EXCESS {
            self.context().modulus_above(bits - excess - MARGIN_SCALED, bits)
        } else {
            from
        }
    }

    /// [`Evaluator::common_modulus`] for products in the manner of BFV.
    pub(crate) fn common_modulus_scaled(&self, a: &Ciphertext, b: &Ciphertext) -> Modulus {
        let [to_a, to_b] =
            [a, b].map(|c| self.modulus_after_scaled(c.modulus(), c.inner().noise().log2_std()));
        if self.context().log2(to_a) <= self.context().log2(to_b) { to_a } else { to_b }
    }

    /// `a` at the modulus `to`, for an operation to work with.
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

    /// `a` at the modulus `to`.
    pub(crate) fn brought<'a>(
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

    /// `a` at the modulus `to`, as cheaply as can be: where `to` divides its modulus `Q` and its
    /// noise is that of rounding anyway, limbs are dropped. Modulo `to` the error is what it was,
    /// and the factor is multiplied by `Q/to`, as `t (c0 + c1 s) = [-Q g m]_t + t e` holds modulo
    /// every divisor of `Q`. Otherwise the modulus is switched.
    pub(crate) fn lowered<'a>(
        &self,
        a: &'a Ciphertext,
        to: Modulus,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, BgvError> {
        let context = self.context();
        let excess = a.inner().noise().log2_std() - self.floor().log2_std();
        if a.modulus() == to || excess > EXCESS || !to.divides(a.modulus()) {
            return self.brought(a, to);
        }
        context.check_modulus(to, operation)?;
        let mut out = Ciphertext::empty(context);
        context.rlwe().reduce_modulus_into(out.inner_mut(), a.inner(), to)?;
        out.set_factor(context.dropped_factor(a.factor(), a.modulus(), to));
        self.check_budget(&out, a.budget_bits(context), operation)?;
        Ok(Cow::Owned(out))
    }
}
