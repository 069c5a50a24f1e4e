//! A sign on ciphertexts.

use std::borrow::Cow;

use hippocrene_rlwe::Noise;

use super::{SignPlan, Stage};
use crate::{Ciphertext, CkksError, Evaluator, Refresh, Scale, Short};

const OPERATION: &str = "sign";

/// Where noise leaves fewer standard deviations of a margin than this, it is refused. (Scales meet what the plan asks for to half a bit, and a refresh adds an error of its own.)
const LEAST_DEVIATIONS: f64 = 5.0;

/// A scale that is smaller than what a stage wants by so many bits will do.
const CLOSE: f64 = 0.1;

impl Evaluator {
    /// The sign of every slot of `a`, to within [`SignPlan::error`] where its absolute value is `gap` to `bound`, and at most so much more than 1 in absolute value
    /// in the gap. Between stages, `refresh` gives capacity back where it lacks.
    ///
    /// The noise of the result is what comes on top of the polynomials ([`SignPlan::apply`]); it counts for arguments outside of the gap.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bound of `a` exceeds that of the plan, or its precision, or that of a refresh, is too low; [`CkksError::Capacity`] when `refresh` gives too
    /// little; and when the keys of products or of the conjugation are missing.
    pub fn sign(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        let x = self.normalised(a, plan, OPERATION)?;
        self.composition(Cow::Owned(x), plan, kept(refresh), refresh, OPERATION)
    }

    /// `a` divided by the reach of the plan, which is a matter of its scale.
    pub(super) fn normalised(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        let literal = &plan.literal;
        let fail = |what: String| Err(CkksError::Argument { operation, what });
        self.check_own(a, operation)?;
        if a.slots() != literal.slots {
            let (left, right) = (a.slots(), literal.slots);
            return Err(CkksError::SlotMismatch { operation, left, right });
        }
        if a.bound() > literal.bound * (1.0 + 1e-9) {
            return fail(format!(
                "values up to {} do not lie in the interval that was planned, up to {}",
                Short(a.bound()),
                Short(literal.bound)
            ));
        }
        let need = plan.argument_precision() - (super::DEVIATIONS / LEAST_DEVIATIONS).log2();
        if a.precision_bits() < need {
            let have = a.precision_bits();
            return fail(format!(
                "a gap of {:.1e} needs values with {need:.1} bits of precision, these have {have:.1}, enough for a gap of {:.1e}",
                literal.gap,
                // A little more, for what is lost on the way.
                literal.gap * (need - have + 0.5).exp2()
            ));
        }
        let mut x = a.clone().read_at(a.scale().times(scale_of(plan.reach, operation)?));
        x.set_bound(1.0);
        Ok(x)
    }

    /// The composition of a normalised argument, with `tail` bits of capacity left, [`kept`] included.
    pub(super) fn composition(
        &self,
        x: Cow<'_, Ciphertext>,
        plan: &SignPlan,
        tail: f64,
        refresh: &dyn Refresh,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        // Errors as they come out in the end.
        let mut error = plan.gains.arguments[0] * (-x.precision_bits()).exp2();
        let mut own = 0.0;
        let mut y = x.into_owned();
        y.inner_mut().set_noise(Noise::NONE);
        for (i, stage) in plan.stages.iter().enumerate() {
            let (need, useful) = plan.asks(i, tail, refresh);
            y = refresh.refresh(Cow::Owned(y), need, useful, operation)?.into_owned();
            let refreshed = (-y.precision_bits()).exp2();
            if refreshed > 0.0 {
                plan.check(i, refreshed.hypot(own), operation)?;
                error = error.hypot(plan.gains.arguments[i] * refreshed);
            }
            y.inner_mut().set_noise(Noise::NONE);
            y.set_bound(1.0);
            self.raise_scale(&mut y, stage)?;
            let target = scale_of(stage.scale_bits.exp2(), operation)?;
            let rounding = |log2_scale: f64| (plan.unit.log2_std - log2_scale).exp2();
            if let Cow::Owned(rescaled) = self.at_most(Cow::Borrowed(&y), target)? {
                y = rescaled;
                error = error.hypot(plan.gains.arguments[i] * rounding(y.scale().log2()));
            }
            let chain = self.square_chain((y.modulus(), y.scale()), stage.polynomial.depth(), |_| target);
            // Where all stages have one scale it is met exactly, or it would be further off with every product.
            let exact = |scale| if plan.unit.fixed.is_some() { target } else { scale };
            y = self.polynomial_to(&y, &stage.polynomial, |_| target, exact)?;
            y.set_bound(1.0);
            for (gain, (_, scale)) in plan.gains.roundings[i].iter().zip(&chain) {
                error = error.hypot(gain * rounding(scale.log2()));
            }
            own = stage.margin / super::DEVIATIONS;
            if plan.unit.fixed.is_none() && i + 1 < plan.stages.len() {
                y.inner_mut().set_noise(Noise::NONE);
                y = self.real_part(&y)?.in_unit(1);
                y.set_bound(1.0);
                // What the conjugation adds at this modulus.
                error = error.hypot(plan.gains.arguments[i + 1] * (-y.precision_bits()).exp2());
            }
            y.inner_mut().set_noise(Noise::NONE);
        }
        y.set_bound(1.0 + plan.error());
        let noise = error.log2() + y.scale().log2() - 0.5 * (y.slots() as f64).log2();
        y.inner_mut().set_noise(Noise::from_log2_std(noise));
        Ok(y)
    }

    /// Message and scale times a power of two, where the scale is smaller than that of a stage: its roundings are as small then as planned.
    fn raise_scale(&self, a: &mut Ciphertext, stage: &Stage) -> Result<(), CkksError> {
        let bits = (stage.scale_bits - a.scale().log2() - CLOSE).ceil();
        if bits >= 1.0 { self.multiply_constant(a, 1u128 << (bits as u32).min(127)) } else { Ok(()) }
    }
}

impl SignPlan {
    /// Checks that the argument of stage `i` is as precise as it has to be, after a refresh.
    fn check(&self, i: usize, std: f64, operation: &'static str) -> Result<(), CkksError> {
        let margin =
            if i == 0 { super::SHARE * self.literal.gap / self.reach } else { self.stages[i - 1].margin };
        if LEAST_DEVIATIONS * std <= margin {
            return Ok(());
        }
        let (need, have) = (-(margin / LEAST_DEVIATIONS).log2(), -std.log2());
        let what = format!(
            "after a refresh, values have {have:.1} bits of precision; the next polynomial needs {need:.1}"
        );
        Err(CkksError::Argument { operation, what })
    }

    /// What is asked of a refresh before stage `i`, for `tail` bits to be left at the end: what has to be there, and what can be made use of.
    fn asks(&self, i: usize, tail: f64, refresh: &dyn Refresh) -> (f64, f64) {
        let needs = (i..self.stages.len()).map(|j| self.needs(j));
        let rest: f64 = needs.clone().sum::<f64>() + tail;
        let (reserve, most) = (refresh.reserve(), refresh.most());
        let need = rest.min(self.needs(i) + reserve);
        if rest <= most {
            return (need, rest);
        }
        // As many stages as one refresh holds, and what the next one takes.
        let mut useful = need;
        let mut sum = reserve;
        for bits in needs {
            sum += bits;
            if sum > most {
                break;
            }
            useful = useful.max(sum);
        }
        (need, useful)
    }
}

/// The bits of capacity that a result keeps, so that it can be refreshed where there is a way to.
pub(super) fn kept(refresh: &dyn Refresh) -> f64 {
    let reserve = refresh.reserve();
    if reserve.is_finite() { reserve } else { 0.0 }
}

pub(super) fn scale_of(value: f64, operation: &'static str) -> Result<Scale, CkksError> {
    Scale::from_f64(value)
        .ok_or_else(|| CkksError::Argument { operation, what: format!("a scale of {value}") })
}
