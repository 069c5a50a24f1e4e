//! Entries of a table at sines of places, as a bootstrap returns them.
//!
//! A bootstrap can return `sin(s (x - (p - 1)/2))` for the places `x = 0, 1, .., p - 1`
//! ([`SineUse`](crate::bootstrap::SineUse)). With a spacing `s` of nearly `pi/p` these are
//! nearly the zeros of a Chebyshev polynomial. So one polynomial of degree `2p - 1` has the entries
//! as values at the sines, with slope 0, and stays within the range of the entries (Alexandru, Kim
//! and Polyakov, ePrint 2024/1623, with complex waves of the whole period).
//!
//! If the spacing is smaller, further nodes fill the interval, as many at one end as at the other.
//! So the last nodes are at most a place away from the ends. Their values are the first and the
//! last entry.
//!
//! # Errors
//! An error `e` in places adds about `3.3 e^2` times the difference of the entries. The stated
//! error of the result contains it. The sine's own error counts most at the ends, where sines of
//! neighbouring places differ by little more than `(pi/p)^2`.
//!
//! Errors of sines add at most a quarter of `2^-precision` up to [`SINE_DEVIATIONS`] standard
//! deviations. Roundings of the polynomial add at most a half up to sixteen of them
//! ([`Stage::margin`]). The rest is for the polynomial.

use std::{borrow::Cow, f64::consts::PI, ops::Range};

use super::{
    EntriesLiteral, Polynomial,
    composition::{ErrorGains, ErrorModel, Stage, scale_of},
    hermite::Nodes,
};
use crate::{Ciphertext, CkksError, Context, Evaluator, Short, bootstrap::SineErrors};

const OPERATION: &str = "entries of a table";

/// Number of standard deviations of a sine's error for which the error of the result is planned.
/// Errors with a Laplace distribution exceed it with probability `2^-130`.
const SINE_DEVIATIONS: f64 = 64.0;

/// Smallest ratio of [`LARGEST_PLACE_ERROR`] to the standard deviation of a place's error. It is
/// that of [`EntriesPlan`](super::EntriesPlan).
const PLACE_DEVIATIONS: f64 = 5.0;

/// Largest error of an argument, as a share of the distance of two places. Up to it, the error of
/// the result is that of the curvature at the place.
const LARGEST_PLACE_ERROR: f64 = 0.125;

/// The share of the allowed error that the polynomial itself may have at the places (chosen).
const SHARE_OF_POLYNOMIAL: f64 = 0.125;

/// Number of arguments between two places at which the bound of the results is sampled (chosen).
const SAMPLES_FOR_EACH_PLACE: usize = 4;

/// The plan of a table for sines of places.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::{EntriesLiteral, SineEntriesPlan};
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 8, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 3, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let context = hippocrene_ckks::Context::new(parameters, Threads::single())?;
///
/// let literal = EntriesLiteral { slots: 64, entries: vec![5.0, -1.0, 2.5, 7.0], precision: 8.0 };
/// let plan = SineEntriesPlan::new(&context, literal, 0.78)?;
/// let sine = (0.78f64 * (2.0 - 1.5)).sin();
/// assert!((plan.apply(sine) - 2.5).abs() < 2f64.powi(-8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SineEntriesPlan {
    literal: EntriesLiteral,
    /// The distance of two places, in radians.
    spacing: f64,
    /// The value at the sine 0, which the polynomial leaves out.
    offset: f64,
    /// The factor of the polynomial: the largest absolute value of an entry minus the offset.
    factor: f64,
    /// The largest absolute value of the polynomial on the interval.
    bound: f64,
    /// The largest absolute value of the polynomial with the offset, in the unit of the entries.
    result_bound: f64,
    table: Stage,
    /// Bits of the scale at which the rounding of the argument adds at most half of the allowed
    /// error.
    argument_scale_bits: f64,
    /// The largest factors of the roundings, by depth.
    roundings: Vec<f64>,
    model: ErrorModel,
    limits: ArgumentLimits,
}

/// How errors of arguments add to the error of the result, and how large they may be.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ArgumentLimits {
    /// Half the second derivative by the place: the largest among all places.
    curvature_of_places: f64,
    /// Half the second derivative by the sine: the largest among all places.
    curvature_of_sines: f64,
    /// The smallest difference of sines for the difference of two places.
    least_slope: f64,
    /// The error of the result that the errors of arguments may add.
    allowed: f64,
}

impl ArgumentLimits {
    /// Returns the standard deviation of the result's error, for the standard deviations of the
    /// place and of the sine.
    fn error(self, place: f64, sine: f64) -> f64 {
        // The square of a normal variable with variance `v` has the root mean square `sqrt(3) v`.
        3f64.sqrt()
            * (self.curvature_of_places * place.powi(2) + self.curvature_of_sines * sine.powi(2))
    }

    /// The largest standard deviation of the error of a sine.
    fn largest_sine_error(self) -> f64 {
        let by_error = (self.allowed / self.curvature_of_sines).sqrt();
        by_error.min(LARGEST_PLACE_ERROR * self.least_slope) / SINE_DEVIATIONS
    }
}

impl SineEntriesPlan {
    /// Chooses the polynomial and the smallest scales for sines of places with this distance in
    /// radians. `context` has to support any scale, so it needs a sprout.
    ///
    /// # Errors
    /// As [`EntriesPlan::new`](super::EntriesPlan::new). Fails with [`CkksError::Argument`] also if
    /// the places do not fit half a period, or if coefficients of 53 bits are not precise enough.
    pub fn new(
        context: &Context,
        literal: EntriesLiteral,
        spacing: f64,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let (_, error) = literal.largest_and_error(context)?;
        let count = literal.entries.len();
        if !(spacing > 0.0 && spacing * (count - 1) as f64 <= PI) {
            return fail(format!(
                "{count} places with a distance of {} do not fit half a period",
                Short(spacing)
            ));
        }
        let nodes = SineNodes::new(&literal.entries, spacing);
        let (factor, error) = (nodes.factor, error / nodes.factor);
        let table = nodes.polynomial()?;
        let worst = nodes.largest_difference(&table);
        if worst > SHARE_OF_POLYNOMIAL * error {
            return fail(format!(
                "coefficients of 53 bits come within 2^{:.1} of the entries of this table, and \
                 2^{:.1} is needed: request less precision",
                (worst * factor).log2(),
                (SHARE_OF_POLYNOMIAL * error * factor).log2()
            ));
        }
        let limits = nodes.limits(error);
        let model = ErrorModel::new(context.parameters(), literal.slots, None);
        let gains = ErrorGains::largest(&[table.gains_at(nodes.places())]);
        let roundings = gains.roundings.into_iter().next().unwrap_or_default();
        // The sum of the result and its constant term is rounded at its scale too.
        let gain = roundings.iter().map(|gain| gain * gain).sum::<f64>().sqrt().max(1.0);
        let margin = 0.5 * error;
        let scale_bits = model.scale_bits(gain, margin);
        let argument_scale_bits = model.log2_std - (0.5 * limits.largest_sine_error()).log2();
        let (bound, result_bound) = nodes.bounds();
        let plan = SineEntriesPlan {
            spacing,
            offset: nodes.offset,
            factor,
            bound,
            result_bound,
            argument_scale_bits: argument_scale_bits.max(scale_bits),
            table: Stage { polynomial: table, scale_bits, margin, range: (0.0, 1.0) },
            roundings,
            model,
            limits,
            literal,
        };
        let have = context.parameters().log2(context.parameters().top());
        let need = plan.bits() + scale_bits;
        if need > have {
            return Err(CkksError::Capacity { operation: OPERATION, need, have });
        }
        Ok(plan)
    }

    /// Returns about the largest standard deviation that sines may have for a table of these
    /// entries, before the spacing is known.
    pub fn estimated_sine_error(literal: &EntriesLiteral) -> f64 {
        let (low, high) = literal
            .entries
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let (spacing, error) = (PI / literal.entries.len() as f64, (-literal.precision).exp2());
        // An error of a place adds up to `pi^2/3` times its square and the difference of entries,
        // and a place at the end moves the sine by half the square of the spacing.
        let place = (0.25 * error / (PI * PI / 3.0 * (high - low))).sqrt();
        0.5 * spacing.powi(2) * place.min(LARGEST_PLACE_ERROR) / SINE_DEVIATIONS
    }

    /// The parameters that the plan was made from.
    pub fn literal(&self) -> &EntriesLiteral {
        &self.literal
    }

    /// The value at the sine 0, which [`Evaluator::entries_of_sines`] leaves out, so that slots
    /// with 0 keep it.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The largest absolute value of a result with the offset.
    pub fn result_bound(&self) -> f64 {
        self.result_bound + (-self.literal.precision).exp2()
    }

    /// The bits of capacity that the look-up uses.
    pub fn bits(&self) -> f64 {
        self.table.bits() + self.argument_scale_bits - self.table.scale_bits
    }

    /// Evaluates the same polynomial on a plain sine, and adds the offset.
    pub fn apply(&self, sine: f64) -> f64 {
        self.offset + self.factor * self.table.polynomial.evaluate(sine)
    }

    /// Checks that arguments with these errors are precise enough. The unit of the error of a place
    /// is the distance of two places.
    fn check(&self, place: f64, sine: f64) -> Result<(), CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let (sine_limit, place_limit) =
            (self.limits.largest_sine_error(), LARGEST_PLACE_ERROR / PLACE_DEVIATIONS);
        if sine > sine_limit {
            return fail(format!(
                "a bootstrap of this precision has errors of 2^{:.1} in sines, and this table \
                 needs 2^{:.1}: request less precision of the table, or a higher one of bootstraps",
                sine.log2(),
                sine_limit.log2()
            ));
        }
        if place > place_limit {
            return fail(format!(
                "this table needs places with an error of 2^{:.1}, and these have 2^{:.1}",
                place_limit.log2(),
                place.log2()
            ));
        }
        Ok(())
    }
}

/// The interpolation of a table at sines of places.
struct SineNodes {
    /// The sines of the places and of the further nodes at both ends.
    nodes: Nodes,
    /// The values at all nodes, minus the offset and divided by the factor.
    values: Vec<f64>,
    /// The range of the places among the nodes.
    real: Range<usize>,
    /// The distance of two places, in radians.
    spacing: f64,
    /// The value at the sine 0.
    offset: f64,
    /// The largest absolute value of an entry minus the offset, or 1 if that is 0.
    factor: f64,
}

impl SineNodes {
    fn new(entries: &[f64], spacing: f64) -> Self {
        let count = entries.len();
        let first = (0.5 * (PI / spacing - count as f64)).round().max(0.0) as usize;
        let all = count + 2 * first;
        let angle = |j: usize| spacing * (j as f64 - first as f64 - 0.5 * (count - 1) as f64);
        let entry = |j: usize| entries[j.saturating_sub(first).min(count - 1)];
        let nodes = Nodes::of((0..all).map(|j| angle(j).sin()).collect());
        let mut values: Vec<f64> = (0..all).map(entry).collect();
        let offset = nodes.interpolate(&values, 0.0);
        values.iter_mut().for_each(|value| *value -= offset);
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let factor = if largest == 0.0 { 1.0 } else { largest };
        values.iter_mut().for_each(|value| *value /= factor);
        SineNodes { nodes, values, real: first..first + count, spacing, offset, factor }
    }

    /// The sines of the places.
    fn places(&self) -> &[f64] {
        &self.nodes.places[self.real.clone()]
    }

    /// Returns the polynomial with the values at the nodes, and slope 0 there.
    fn polynomial(&self) -> Result<Polynomial, CkksError> {
        let at = |x: f64| self.nodes.interpolate(&self.values, x);
        Polynomial::approximate(at, -1.0, 1.0, 2 * self.values.len() - 1)
    }

    /// Returns the largest difference between a polynomial and the values at the places.
    fn largest_difference(&self, p: &Polynomial) -> f64 {
        let values = &self.values[self.real.clone()];
        let differences = self.places().iter().zip(values).map(|(x, y)| (p.evaluate(*x) - y).abs());
        differences.fold(0.0, f64::max)
    }

    /// Returns the limits of the errors of arguments, for a result with this error.
    fn limits(&self, error: f64) -> ArgumentLimits {
        let curvatures = &self.nodes.curvatures(&self.values)[self.real.clone()];
        let slope = |x: &f64| self.spacing * (1.0 - x * x).max(0.0).sqrt();
        let by_place = self.places().iter().zip(curvatures).map(|(x, c)| c * slope(x).powi(2));
        ArgumentLimits {
            curvature_of_places: by_place.fold(0.0, f64::max),
            curvature_of_sines: curvatures.iter().copied().fold(0.0, f64::max),
            least_slope: self.places().iter().map(slope).fold(f64::INFINITY, f64::min),
            allowed: 0.25 * error,
        }
    }

    /// Returns the largest absolute value of the polynomial, at least 1, and that of the polynomial
    /// times the factor plus the offset. Both are sampled at and between the places.
    fn bounds(&self) -> (f64, f64) {
        let count = self.real.len();
        let (samples, half) = (SAMPLES_FOR_EACH_PLACE * count, 0.5 * self.spacing * count as f64);
        let sampled = (0..=samples).map(|k| {
            let angle = half * (2.0 * k as f64 / samples as f64 - 1.0);
            self.nodes.interpolate(&self.values, angle.clamp(-0.5 * PI, 0.5 * PI).sin())
        });
        sampled.fold((1.0, 0.0), |(bound, result): (f64, f64), value| {
            (bound.max(value.abs()), result.max((self.offset + self.factor * value).abs()))
        })
    }
}

impl Evaluator {
    /// Looks up a table: returns for each slot of `sines`, which holds the sine of a place, the
    /// entry at that place minus the [offset](SineEntriesPlan::offset), to within `2^-precision`.
    /// `errors` are those of the sines.
    ///
    /// Between places the result is nearly a mean of entries. An error `e` of a place, in units of
    /// the distance of two places, adds about `3.3 e^2` times the difference of entries. All other
    /// errors together exceed `4 2^-precision` with probability at most `2^-128` for each slot.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the errors of the sines or of the places are too
    /// large. Fails with [`CkksError::Capacity`] if the modulus is too small. Fails if the
    /// relinearisation key is missing.
    pub fn entries_of_sines(
        &self,
        sines: &Ciphertext,
        plan: &SineEntriesPlan,
        errors: SineErrors,
    ) -> Result<Ciphertext, CkksError> {
        self.check_own(sines, OPERATION)?;
        if sines.slots() != plan.literal.slots {
            let (left, right) = (sines.slots(), plan.literal.slots);
            return Err(CkksError::SlotMismatch { operation: OPERATION, left, right });
        }
        let power = |bits: f64| scale_of(bits.exp2(), OPERATION);
        let (at_first, target) = (power(plan.argument_scale_bits)?, power(plan.table.scale_bits)?);
        let rounding = |log2_scale: f64| (plan.model.log2_std - log2_scale).exp2();
        let mut x = self.at_most(Cow::Borrowed(sines), at_first)?.into_owned();
        let sine = errors.sine.hypot(rounding(x.scale().log2()));
        let place = errors.argument / plan.spacing;
        plan.check(place, sine)?;
        x.set_bound(1.0);
        let polynomial = &plan.table.polynomial;
        let chain = self.square_chain((x.modulus(), x.scale()), polynomial.depth(), |_| target);
        let scales = |depth: usize| if depth == 0 { at_first } else { target };
        let y = self.polynomial_to(&x, polynomial, scales, |scale| scale)?;
        let roundings = plan.roundings.iter().zip(&chain);
        let error = roundings
            .map(|(gain, (_, scale))| gain * rounding(scale.log2()))
            .fold(plan.limits.error(place, sine), f64::hypot);
        let scale = y.scale().over(scale_of(plan.factor, OPERATION)?);
        let mut out = y.read_at(scale);
        out.set_bound(plan.factor * plan.bound + (-plan.literal.precision).exp2());
        out.set_error(error * plan.factor);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::{Threads, primes};
    use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

    use super::*;

    fn context() -> Context {
        let parameters = Parameters::new_insecure(ParametersLiteral {
            log_degree: 6,
            units: primes::ntt_primes(48, 1 << 6, 16, &[]).unwrap(),
            specials: primes::ntt_primes(49, 1 << 6, 5, &[]).unwrap(),
            sprout: Sprout::for_degree(6).unwrap(),
            gadget_rank: 5,
            secret: SecretDistribution::Ternary,
        });
        Context::new(parameters.unwrap(), Threads::single()).unwrap()
    }

    #[test]
    fn entries_are_found_and_no_value_between_places_is_larger() {
        let context = context();
        for count in [1usize, 2, 3, 8, 100, 256, 1000] {
            let entries: Vec<f64> = (0..count).map(|j| (j as f64 * 0.618).fract() - 0.25).collect();
            let (low, high) =
                entries.iter().fold((1.0f64, -1.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
            for share in if count < 1000 { &[1.0, 0.9995, 0.92][..] } else { &[0.9995] } {
                let spacing = share * PI / count as f64;
                let literal =
                    EntriesLiteral { slots: 16, entries: entries.clone(), precision: 12.0 };
                let plan = SineEntriesPlan::new(&context, literal, spacing).unwrap();
                let at = |x: f64| plan.apply((spacing * (x - 0.5 * (count - 1) as f64)).sin());
                for (j, entry) in entries.iter().enumerate() {
                    assert!((at(j as f64) - entry).abs() < 1e-6, "entry {j} of {count}");
                    // An error of a place adds its square times the stated curvature.
                    for off in [-0.01, 0.01] {
                        let most = plan.factor * plan.limits.curvature_of_places * off * off;
                        let error = (at(j as f64 + off) - entry).abs();
                        assert!(error < 1.1 * most + 1e-6, "{error} of {most} at {j} of {count}");
                    }
                    for k in 0..=8 {
                        let y = at(j as f64 + 0.125 * f64::from(k) - 0.5);
                        let beyond = 0.05 * (high - low) + 1e-6;
                        assert!(
                            (low - beyond..=high + beyond).contains(&y),
                            "{y} at {j} of {count}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn places_have_to_fit_half_a_period() {
        let literal = EntriesLiteral { slots: 16, entries: vec![1.0; 4], precision: 8.0 };
        let refused = SineEntriesPlan::new(&context(), literal, 1.1).unwrap_err().to_string();
        assert!(refused.contains("4 places with a distance of 1.1 do not fit"), "{refused}");
    }
}
