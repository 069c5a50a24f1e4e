//! Evaluation of a composition on ciphertexts.

use std::borrow::Cow;

use hippocrene_rlwe::Noise;

use super::{Composition, DEVIATIONS, Stage};
use crate::{Ciphertext, CkksError, Evaluator, Refresh, Scale};

/// Minimum ratio of the margin of a stage to the standard deviation of the noise at that stage.
/// With more noise, the evaluation is refused.
///
/// It is less than the planned [`DEVIATIONS`], because scales may differ from the plan by half a
/// bit and a refresh adds an error of its own. Chosen.
const MIN_MARGIN_DEVIATIONS: f64 = 10.0;

/// Minimum ratio of the largest error that the first stage allows in its argument to the standard
/// deviation of the argument's error. With more noise, the evaluation is refused.
///
/// It is less than [`MIN_MARGIN_DEVIATIONS`], because the stated error of the result does not
/// include the error of the argument. Chosen.
const MIN_ARGUMENT_DEVIATIONS: f64 = 5.0;

/// Number of bits that a scale may lack compared with the scale that a stage needs. Chosen.
const SCALE_TOLERANCE_BITS: f64 = 0.1;

impl Evaluator {
    /// Evaluates the composition at an argument up to 1 and leaves `remaining_bits` bits of
    /// capacity, which include [`reserved_bits`]. The result is up to 1 as well. Its noise follows
    /// from the root-mean-square factors of [`super::ErrorGains`].
    pub(in crate::circuits) fn composition(
        &self,
        x: Cow<'_, Ciphertext>,
        plan: &Composition,
        remaining_bits: f64,
        refresh: &dyn Refresh,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        // Every error is multiplied by its factor up to the end of the composition.
        let mut error = plan.gains.arguments[0] * (-x.precision_bits()).exp2();
        let mut margin_std = 0.0;
        let mut y = x.into_owned();
        y.inner_mut().set_noise(Noise::NONE);
        for (i, stage) in plan.stages.iter().enumerate() {
            let (need, useful) = plan.capacity_to_request(i, remaining_bits, refresh);
            y = refresh.refresh(Cow::Owned(y), need, useful, operation)?.into_owned();
            let refresh_std = (-y.precision_bits()).exp2();
            if refresh_std > 0.0 {
                plan.check(i, refresh_std.hypot(margin_std), operation)?;
                error = error.hypot(plan.gains.arguments[i] * refresh_std);
            }
            y.inner_mut().set_noise(Noise::NONE);
            y.set_bound(1.0);
            self.raise_scale(&mut y, stage)?;
            let target = scale_of(stage.scale_bits.exp2(), operation)?;
            let rounding = |log2_scale: f64| (plan.model.log2_std - log2_scale).exp2();
            if let Cow::Owned(rescaled) = self.at_most(Cow::Borrowed(&y), target)? {
                y = rescaled;
                error = error.hypot(plan.gains.arguments[i] * rounding(y.scale().log2()));
            }
            let chain =
                self.square_chain((y.modulus(), y.scale()), stage.polynomial.depth(), |_| target);
            // If all stages have one scale, the result has exactly this scale. Otherwise the
            // difference would grow with every product.
            let exact = |scale| if plan.model.common_scale_bits.is_some() { target } else { scale };
            y = self.polynomial_to(&y, &stage.polynomial, |_| target, exact)?;
            y.set_bound(1.0);
            for (gain, (_, scale)) in plan.gains.roundings[i].iter().zip(&chain) {
                error = error.hypot(gain * rounding(scale.log2()));
            }
            margin_std = stage.margin / DEVIATIONS;
            if plan.conjugates && i + 1 < plan.stages.len() {
                y.inner_mut().set_noise(Noise::NONE);
                y = self.real_part(&y)?.in_unit(1);
                y.set_bound(1.0);
                // The conjugation adds noise at this modulus.
                error = error.hypot(plan.gains.arguments[i + 1] * (-y.precision_bits()).exp2());
            }
            y.inner_mut().set_noise(Noise::NONE);
        }
        y.set_error(error);
        Ok(y)
    }

    /// Multiplies message and scale by a power of two if the scale is smaller than that of the
    /// stage. Its roundings are then as small as planned.
    fn raise_scale(&self, a: &mut Ciphertext, stage: &Stage) -> Result<(), CkksError> {
        let bits = (stage.scale_bits - a.scale().log2() - SCALE_TOLERANCE_BITS).ceil();
        if bits >= 1.0 {
            self.multiply_constant(a, 1u128 << (bits as u32).min(127))
        } else {
            Ok(())
        }
    }
}

impl Ciphertext {
    /// Sets the noise estimate to an error of this root mean square in the slots.
    pub(crate) fn set_error(&mut self, error: f64) {
        let noise = error.log2() + self.scale().log2() - 0.5 * (self.slots() as f64).log2();
        self.inner_mut().set_noise(Noise::from_log2_std(noise));
    }
}

impl Composition {
    /// The precision in bits below which an argument is refused.
    pub(in crate::circuits) fn least_precision(&self) -> f64 {
        -(self.max_argument_error / MIN_ARGUMENT_DEVIATIONS).log2()
    }

    /// Checks that the argument of stage `i`, which has been refreshed, is precise enough.
    fn check(&self, i: usize, std: f64, operation: &'static str) -> Result<(), CkksError> {
        let most = match i {
            0 => self.max_argument_error / MIN_ARGUMENT_DEVIATIONS,
            _ => self.stages[i - 1].margin / MIN_MARGIN_DEVIATIONS,
        };
        if std <= most {
            return Ok(());
        }
        let (need, have) = (-most.log2(), -std.log2());
        let what = format!(
            "values have {have:.1} bits of precision after a refresh, and the next polynomial \
             needs {need:.1}"
        );
        Err(CkksError::Argument { operation, what })
    }

    /// Returns the capacity to request from a refresh before stage `i` if `remaining_bits` bits
    /// have to be left at the end: the bits that are necessary, and the bits that are useful.
    fn capacity_to_request(
        &self,
        i: usize,
        remaining_bits: f64,
        refresh: &dyn Refresh,
    ) -> (f64, f64) {
        let needs = (i..self.stages.len()).map(|j| self.stage_bits(j));
        let rest: f64 = needs.clone().sum::<f64>() + remaining_bits;
        let (reserve, most) = (refresh.reserve(), refresh.max_capacity());
        let need = rest.min(self.stage_bits(i) + reserve);
        if rest <= most {
            return (need, rest);
        }
        // Useful are the bits of as many stages as one refresh can cover, plus the reserve for the
        // next refresh.
        let mut useful = need;
        let mut sum = reserve;
        for bits in needs {
            sum += bits;
            if sum > most {
                return (need, useful);
            }
            useful = useful.max(sum);
        }
        // All stages fit, and as many of the remaining bits as possible are useful.
        (need, most)
    }
}

/// Returns the bits of capacity that a result keeps for a later refresh, and 0 if there is no way
/// to refresh.
pub(in crate::circuits) fn reserved_bits(refresh: &dyn Refresh) -> f64 {
    let reserve = refresh.reserve();
    if reserve.is_finite() { reserve } else { 0.0 }
}

/// Returns `value` as a scale.
pub(in crate::circuits) fn scale_of(
    value: f64,
    operation: &'static str,
) -> Result<Scale, CkksError> {
    Scale::from_f64(value)
        .ok_or_else(|| CkksError::Argument { operation, what: format!("a scale of {value}") })
}
