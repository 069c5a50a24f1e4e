//! A composition on ciphertexts.

use std::borrow::Cow;

use hippocrene_rlwe::Noise;

use super::{Composition, DEVIATIONS, Stage};
use crate::{Ciphertext, CkksError, Evaluator, Refresh, Scale};

/// Where noise leaves fewer standard deviations of a margin than this, it is refused. (Scales meet
/// what the plan asks for to half a bit, and a refresh adds an error of its own.)
const LEAST_DEVIATIONS: f64 = 10.0;

/// The same of arguments and what they may be off by: what is stated of results is beside the error
/// of these.
const LEAST_OF_ARGUMENT: f64 = 5.0;

/// A scale that is smaller than what a stage wants by so many bits will do.
const CLOSE: f64 = 0.1;

impl Evaluator {
    /// The composition of an argument up to 1, with `tail` bits of capacity left, [`kept`]
    /// included: the result is up to 1 as well, and its noise as root mean squares are multiplied
    /// ([`super::ErrorGains`]).
    pub(in crate::circuits) fn composition(
        &self,
        x: Cow<'_, Ciphertext>,
        plan: &Composition,
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
            let chain =
                self.square_chain((y.modulus(), y.scale()), stage.polynomial.depth(), |_| target);
            // Where all stages have one scale it is met exactly, or it would be further off with
            // every product.
            let exact = |scale| if plan.unit.fixed.is_some() { target } else { scale };
            y = self.polynomial_to(&y, &stage.polynomial, |_| target, exact)?;
            y.set_bound(1.0);
            for (gain, (_, scale)) in plan.gains.roundings[i].iter().zip(&chain) {
                error = error.hypot(gain * rounding(scale.log2()));
            }
            own = stage.margin / DEVIATIONS;
            if plan.conjugates && i + 1 < plan.stages.len() {
                y.inner_mut().set_noise(Noise::NONE);
                y = self.real_part(&y)?.in_unit(1);
                y.set_bound(1.0);
                // What the conjugation adds at this modulus.
                error = error.hypot(plan.gains.arguments[i + 1] * (-y.precision_bits()).exp2());
            }
            y.inner_mut().set_noise(Noise::NONE);
        }
        y.set_error(error);
        Ok(y)
    }

    /// Message and scale times a power of two, where the scale is smaller than that of a stage: its
    /// roundings are as small then as planned.
    fn raise_scale(&self, a: &mut Ciphertext, stage: &Stage) -> Result<(), CkksError> {
        let bits = (stage.scale_bits - a.scale().log2() - CLOSE).ceil();
        if bits >= 1.0 {
            self.multiply_constant(a, 1u128 << (bits as u32).min(127))
        } else {
            Ok(())
        }
    }
}

impl Ciphertext {
    /// States an error of that root mean square in the slots.
    pub(in crate::circuits) fn set_error(&mut self, error: f64) {
        let noise = error.log2() + self.scale().log2() - 0.5 * (self.slots() as f64).log2();
        self.inner_mut().set_noise(Noise::from_log2_std(noise));
    }
}

impl Composition {
    /// The bits of precision without which an argument is refused.
    pub(in crate::circuits) fn least_precision(&self) -> f64 {
        -(self.slack / LEAST_OF_ARGUMENT).log2()
    }

    /// Checks that the argument of stage `i` is as precise as it has to be, after a refresh.
    fn check(&self, i: usize, std: f64, operation: &'static str) -> Result<(), CkksError> {
        let most = match i {
            0 => self.slack / LEAST_OF_ARGUMENT,
            _ => self.stages[i - 1].margin / LEAST_DEVIATIONS,
        };
        if std <= most {
            return Ok(());
        }
        let (need, have) = (-most.log2(), -std.log2());
        let what = format!(
            "after a refresh, values have {have:.1} bits of precision; the next polynomial needs {need:.1}"
        );
        Err(CkksError::Argument { operation, what })
    }

    /// What is asked of a refresh before stage `i`, for `tail` bits to be left at the end: what has
    /// to be there, and what can be made use of.
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
pub(in crate::circuits) fn kept(refresh: &dyn Refresh) -> f64 {
    let reserve = refresh.reserve();
    if reserve.is_finite() { reserve } else { 0.0 }
}

pub(in crate::circuits) fn scale_of(
    value: f64,
    operation: &'static str,
) -> Result<Scale, CkksError> {
    Scale::from_f64(value)
        .ok_or_else(|| CkksError::Argument { operation, what: format!("a scale of {value}") })
}
