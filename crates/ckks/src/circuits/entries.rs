//! Entries of a table. Each slot holds a place `0, 1, 2, ..`, and the result holds the table's
//! entry at that place, for all slots at once.
//!
//! # Polynomials
//! A polynomial of degree `2p - 1` takes the `p` entries as values at their places, with slope 0.
//! So a small error of the argument has hardly any effect. With equidistant places this works well
//! for few entries only ([`MAX_DIRECT_ENTRIES`]).
//!
//! For more entries, a first polynomial maps the places to Chebyshev nodes `c_j = cos t_j` with
//! `t_j = pi (j + 1/2)/p`. Up to 16 entries it is a polynomial near the cosine, and the nodes are
//! its values at the places. The second polynomial for more than 16 entries is Fejer's. With `b_k =
//! (2 - [k = 0])/p sum_j f_j cos(k t_j)` it is
//!
//! `F(cos t) = sum_k b_k ((1 - k/2p) cos(k t) - k/2p cos((2p - k) t))`.
//!
//! It is a mean of the entries with weights that are not negative, so its values never leave the
//! range of the entries. Like an interpolation of [the reduction modulo
//! 1](crate::approximation::ModularReduction), it is as deep as its degree has bits. The cosine
//! adds a depth of 3 to 5 before it.
//!
//! The cosine is a polynomial for `x` from `-p - 1/2` to `p - 1/2`, and it is even about `-1/2`. An
//! argument below `-1/2` gives the same result as its mirror image above `-1/2`, so no argument up
//! to the declared bound does harm. (Alexandru, Kim and Polyakov, ePrint 2024/1623, interpolate
//! with complex waves during a bootstrap.)
//!
//! # How scales follow from the precision
//! [Margins](super::comparison#how-scales-follow-from-the-precision) are sixteen standard
//! deviations. One half of `2^-precision` covers the roundings of the last polynomial. One quarter
//! covers the roundings of the cosine and the error of its polynomial. These errors appear in the
//! result as their squares times half the second derivative `F''(c_j)`. In addition, an argument
//! `j + e` causes an error of about `3.3 e^2` times the difference of the entries, or `8 e^2` for
//! few entries.

use std::{borrow::Cow, f64::consts::PI};

use super::{
    Basis, Polynomial,
    composition::{Composition, ErrorGains, ErrorModel, Stage, reserved_bits, scale_of},
    hermite::Nodes,
    polynomial_noise::Gains,
};
use crate::{Ciphertext, CkksError, Context, Evaluator, Refresh, Short};

const OPERATION: &str = "entries of a table";

/// Largest number of entries for which one polynomial interpolates at the places themselves.
/// Chosen.
const MAX_DIRECT_ENTRIES: usize = 4;

/// Largest number of entries for which [`rough_wave`] maps the places to nodes. Chosen.
const MAX_ROUGH_ENTRIES: usize = 16;

/// Factor that keeps the values of [`rough_wave`] inside `[-1, 1]`.
const ROUGH_WAVE_FACTOR: f64 = 1.0 - 1.0 / 512.0;

/// Distance by which arguments may lie outside of the places of at most [`MAX_DIRECT_ENTRIES`]
/// entries, as a share of the distance of two places.
const DIRECT_OVERHANG: f64 = 0.125;

/// Largest error of an argument, as a share of the distance of two places. It is five standard
/// deviations of the argument's noise.
const ARGUMENT_TOLERANCE: f64 = 0.125;

/// Largest number of entries of a table. Chosen.
const MAX_ENTRIES: usize = 1 << 12;

/// The parameters of a table. See [`EntriesPlan`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesLiteral {
    /// The number of slots of the ciphertexts.
    pub slots: usize,
    /// The entries at the places 0, 1, 2 and so on.
    pub entries: Vec<f64>,
    /// The precision in bits: the result at a place is within `2^-precision` of the entry.
    pub precision: f64,
}

impl EntriesLiteral {
    /// Checks the parameters. Returns the largest absolute value of an entry, or 1 if all are 0,
    /// and the error that the result may have.
    pub(super) fn largest_and_error(&self, context: &Context) -> Result<(f64, f64), CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let EntriesLiteral { slots, ref entries, precision } = *self;
        if !slots.is_power_of_two() || slots > context.max_slots() {
            let most = context.max_slots();
            return fail(format!("{slots} slots: a power of two up to {most} is possible"));
        }
        if entries.is_empty() || entries.len() > MAX_ENTRIES {
            let count = entries.len();
            let advice = match count {
                0 => "",
                _ => ". Combine entries, or split the table by a comparison of the index",
            };
            return fail(format!(
                "this table has {count} entries, and 1 to {MAX_ENTRIES} are possible{advice}"
            ));
        }
        if let Some((j, entry)) = entries.iter().enumerate().find(|(_, entry)| !entry.is_finite()) {
            return fail(format!("entry {j} is {entry}"));
        }
        let largest = match entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()))
        {
            0.0 => 1.0,
            largest => largest,
        };
        // An error of half the largest entry is the largest that makes sense.
        let error = ((-precision).exp2() / largest).min(0.5);
        if precision.is_nan() || error < 2f64.powi(-40) {
            let most = 40.0 - largest.log2();
            return fail(format!(
                "a precision of {} bits is too high: these entries allow {most:.1} bits",
                Short(precision)
            ));
        }
        Ok((largest, error * largest))
    }
}

/// The plan of a table: polynomials and scales.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::{EntriesLiteral, EntriesPlan};
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
/// let literal = EntriesLiteral { slots: 64, entries: vec![5.0, -1.0, 2.5], precision: 8.0 };
/// let plan = EntriesPlan::new(&context, literal)?;
/// assert!((plan.apply(2.0) - 2.5).abs() < 2f64.powi(-8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesPlan {
    literal: EntriesLiteral,
    /// The largest absolute value of an entry. Entries are divided by it.
    largest: f64,
    composition: Composition,
    /// Half the second derivative by the argument of the composition: the largest among all places.
    curvature: f64,
}

/// Returns Fejer's polynomial of these values at the Chebyshev nodes.
fn fejer(values: &[f64]) -> Result<Polynomial, CkksError> {
    let p = values.len();
    let mut coefficients = vec![0.0; 2 * p];
    // `cos(m pi / 2p)`: these are all values among the `cos(k t_j)`.
    let cosines: Vec<f64> = (0..4 * p).map(|m| (PI * m as f64 / (2 * p) as f64).cos()).collect();
    for k in 0..p {
        let sum: f64 =
            values.iter().enumerate().map(|(j, f)| f * cosines[k * (2 * j + 1) % (4 * p)]).sum();
        let b = sum * if k == 0 { 1.0 } else { 2.0 } / p as f64;
        let share = k as f64 / (2 * p) as f64;
        coefficients[k] += b * (1.0 - share);
        if k > 0 {
            coefficients[2 * p - k] = -b * share;
        }
    }
    Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients)
}

/// Returns `cos(pi x)` on `[-1, 1]`, as precisely as the allowed error of the nodes requires.
///
/// The degree is the least even one whose error bound `2 (pi/2)^(n+2) / (n+2)!` is small enough,
/// within the precision of doubles.
fn wave(error: f64, values: &[f64]) -> Result<Polynomial, CkksError> {
    let curvatures = Nodes::chebyshev(values.len()).curvatures(values).into_iter();
    let least = curvatures
        .map(|curvature| allowed_node_error(error, curvature, values.len()))
        .fold(f64::INFINITY, f64::min);
    let (mut degree, mut bound) = (2, 2.0 * (0.5 * PI).powi(4) / 24.0);
    while bound > (0.25 * least).max(1e-15) {
        degree += 2;
        bound *= (0.5 * PI).powi(2) / (((degree + 1) * (degree + 2)) as f64);
    }
    Polynomial::approximate(|x| (PI * x).cos(), -1.0, 1.0, degree)
}

/// Returns a polynomial of degree 6 near `cos(pi x)` with values within `[-1, 1]`. It is 3 deep.
/// For at most [`MAX_ROUGH_ENTRIES`] entries, its values at the places are the nodes.
fn rough_wave() -> Result<Polynomial, CkksError> {
    Polynomial::approximate(|x| (PI * x).cos(), -1.0, 1.0, 6)?.times(ROUGH_WAVE_FACTOR)
}

/// Returns the factor and the offset that map places to arguments of the first polynomial.
fn argument_map(entries: usize) -> (f64, f64) {
    let p = entries as f64;
    if entries <= MAX_DIRECT_ENTRIES { (2.0 / p, 1.0 / p - 1.0) } else { (1.0 / p, 0.5 / p) }
}

impl EntriesPlan {
    /// Chooses the polynomials and the smallest scales. `context` has to support any scale, so it
    /// needs a sprout.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless there are 1 to 4096 entries, all of them finite,
    /// the precision is at most 40 bits relative to the largest entry, and the number of slots is a
    /// power of two that the parameters support. Fails with [`CkksError::Capacity`] unless a
    /// modulus of these parameters is large enough for each stage.
    pub fn new(context: &Context, literal: EntriesLiteral) -> Result<Self, CkksError> {
        let (largest, error) = literal.largest_and_error(context)?;
        let EntriesLiteral { slots, ref entries, .. } = literal;
        let error = error / largest;
        let values: Vec<f64> = entries.iter().map(|entry| entry / largest).collect();
        let model = ErrorModel::new(context.parameters(), slots, None);
        let Planned { stages, gains, curvature } = plan_stages(&values, error, model)?;
        let max_argument_error = ARGUMENT_TOLERANCE * argument_map(values.len()).0;
        let composition =
            Composition { stages, gains, model, max_argument_error, conjugates: false };
        let have = context.parameters().log2(context.parameters().top());
        match composition.first_stage_above(have) {
            Some(need) => Err(CkksError::Capacity { operation: OPERATION, need, have }),
            None => Ok(EntriesPlan { largest, composition, curvature, literal }),
        }
    }

    /// The parameters that the plan was made from.
    pub fn literal(&self) -> &EntriesLiteral {
        &self.literal
    }

    /// The polynomials with their scales, in the order in which they are applied.
    ///
    /// For `p` entries, the argument of the first one is `(2 x + 1)/p - 1` up to 4 entries and
    /// `(x + 1/2)/p` for more. The values of the last one are the entries divided by the largest of
    /// them.
    pub fn stages(&self) -> &[Stage] {
        &self.composition.stages
    }

    /// The bits of capacity that the look-up uses in total.
    pub fn bits(&self) -> f64 {
        self.composition.bits()
    }

    /// The number of products of ciphertexts that the look-up needs.
    pub fn products(&self) -> usize {
        self.composition.products()
    }

    /// The precision that arguments need, in bits, in the sense of
    /// [`crate::Ciphertext::precision_bits`].
    pub fn argument_precision(&self) -> f64 {
        self.composition.least_precision() + argument_map(self.literal.entries.len()).0.log2()
    }

    /// Returns the largest absolute value of a result, for any argument.
    fn result_bound(&self) -> f64 {
        let entries = &self.literal.entries;
        let largest = entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        if entries.len() > MAX_ROUGH_ENTRIES {
            // For many entries every value is a mean of the entries.
            return largest;
        }
        let ((least, most), count) = (self.places(), 8 * entries.len());
        let at = |k: usize| self.apply(least + (most - least) * k as f64 / count as f64).abs();
        (0..=count).map(at).fold(largest, f64::max)
    }

    /// Whether there are different entries. The argument does not matter if all entries are equal.
    fn has_different_entries(&self) -> bool {
        self.literal.entries.iter().any(|entry| *entry != self.literal.entries[0])
    }

    /// Evaluates the same polynomials on a plain number.
    pub fn apply(&self, x: f64) -> f64 {
        let (factor, shift) = argument_map(self.literal.entries.len());
        self.largest * self.composition.apply(x * factor + shift)
    }

    /// The smallest and the largest valid argument.
    pub fn places(&self) -> (f64, f64) {
        places(self.literal.entries.len())
    }

    /// Whether every argument up to its declared bound gives a result within the bound of the
    /// entries.
    pub fn accepts_any_argument(&self) -> bool {
        self.literal.entries.len() > MAX_DIRECT_ENTRIES || !self.has_different_entries()
    }
}

/// Returns the smallest and the largest valid argument for a number of entries.
fn places(entries: usize) -> (f64, f64) {
    let beyond = if entries <= MAX_DIRECT_ENTRIES { DIRECT_OVERHANG } else { 0.5 };
    (-beyond, (entries - 1) as f64 + beyond)
}

/// The stages of a table, with the factors that their errors are multiplied by.
struct Planned {
    stages: Vec<Stage>,
    gains: ErrorGains,
    /// The largest half of a second derivative, by the argument of the first stage.
    curvature: f64,
}

/// Plans the stages for values up to 1 with errors up to `error`.
fn plan_stages(values: &[f64], error: f64, model: ErrorModel) -> Result<Planned, CkksError> {
    let p = values.len();
    let (factor, shift) = argument_map(p);
    let places: Vec<f64> = (0..p).map(|j| j as f64 * factor + shift).collect();
    let first = match (p <= MAX_DIRECT_ENTRIES, p <= MAX_ROUGH_ENTRIES) {
        (true, _) => None,
        (_, true) => Some(rough_wave()?),
        _ => Some(wave(error, values)?),
    };
    let (nodes, table) = match &first {
        Some(_) if p > MAX_ROUGH_ENTRIES => (Nodes::chebyshev(p), fejer(values)?),
        first => {
            let node = |x: &f64| first.as_ref().map_or(*x, |wave| wave.evaluate(*x));
            let nodes = Nodes::of(places.iter().map(node).collect());
            let table =
                Polynomial::approximate(|x| nodes.interpolate(values, x), -1.0, 1.0, 2 * p - 1)?;
            (nodes, table)
        }
    };
    let curvatures = nodes.curvatures(values);
    let table_gains = table.gains_at(&nodes.places);
    let margin = 0.5 * error;
    // The sum of the result and its constant term is rounded at its scale too.
    let gain = |gains: &Gains| gains.roundings.iter().sum::<f64>().sqrt();
    let scale_bits = model.scale_bits(table_gains.iter().map(gain).fold(1.0, f64::max), margin);
    let last = Stage { polynomial: table, scale_bits, margin, range: (0.0, 1.0) };
    let Some(wave) = first else {
        let gains = ErrorGains::largest(&[table_gains]);
        let curvature = curvatures.into_iter().fold(0.0, f64::max);
        return Ok(Planned { stages: vec![last], gains, curvature });
    };
    let wave_gains = wave.gains_at(&places);
    let (mut scale_bits, mut largest, mut least): (f64, f64, f64) = (0.0, 0.0, f64::INFINITY);
    for (gains, curvature) in wave_gains.iter().zip(curvatures) {
        let (allowed, slope) =
            (allowed_node_error(error, curvature, p), gains.argument * gains.argument);
        let gain = gains.roundings.iter().sum::<f64>() + slope;
        scale_bits = scale_bits.max(model.scale_bits(gain.sqrt(), 0.5 * allowed));
        largest = largest.max(curvature * slope);
        least = least.min(allowed);
    }
    let first = Stage { polynomial: wave, scale_bits, margin: least, range: (0.0, 1.0) };
    let gains = ErrorGains::largest(&[wave_gains, table_gains]);
    Ok(Planned { stages: vec![first, last], gains, curvature: largest })
}

/// Returns the largest error of the last polynomial's argument at a node with this curvature, such
/// that it causes a quarter of the allowed error.
fn allowed_node_error(error: f64, curvature: f64, places: usize) -> f64 {
    (0.25 * error / curvature).sqrt().min(0.25 / places as f64)
}

impl Evaluator {
    /// Looks up a table: returns for each slot of `a`, which holds a place `0, 1, .., p - 1` with a
    /// small error, the entry at that place, to within `2^-precision`.
    ///
    /// Between places the result is some mean of entries. Below `-1/2` it equals the result at the
    /// mirror image above `-1/2`. With up to 4 entries, it is arbitrary below `-1/8` and above `p -
    /// 7/8`. Between stages, `refresh` restores capacity where needed.
    ///
    /// The noise of the result consists of the noise of the arguments and of the roundings, both at
    /// the places.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the bound of `a` exceeds the places, or if its
    /// precision, or that of a refresh, is too low. Fails with [`CkksError::Capacity`] if `refresh`
    /// restores too little. Fails if the relinearisation key is missing.
    pub fn entries(
        &self,
        a: &Ciphertext,
        plan: &EntriesPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let EntriesLiteral { slots, ref entries, precision } = plan.literal;
        self.check_own(a, OPERATION)?;
        if a.slots() != slots {
            let (left, right) = (a.slots(), slots);
            return Err(CkksError::SlotMismatch { operation: OPERATION, left, right });
        }
        let (factor, shift) = argument_map(entries.len());
        if plan.has_different_entries() && a.bound() > plan.places().1 * (1.0 + 1e-9) {
            return fail(format!(
                "values up to {} are not places of {} entries, which are 0 to {}: declare a \
                 tighter bound if they are smaller (with_bound)",
                Short(a.bound()),
                entries.len(),
                entries.len() - 1
            ));
        }
        let (need, have) = (plan.argument_precision(), a.precision_bits());
        if plan.has_different_entries() && have < need {
            return fail(format!(
                "this table needs places with {need:.1} bits of precision, and these have {have:.1}"
            ));
        }
        let mut x = a.clone().read_at(a.scale().over(scale_of(factor, OPERATION)?));
        self.add_number_assign(&mut x, shift)?;
        x.set_bound(1.0);
        // The square of a normal variable with variance `v` has the root mean square `sqrt(3) v`.
        let squared = 3f64.sqrt() * plan.curvature * (-2.0 * x.precision_bits()).exp2();
        let y = self.composition(
            Cow::Owned(x),
            &plan.composition,
            reserved_bits(refresh),
            refresh,
            OPERATION,
        )?;
        let error = (-y.precision_bits()).exp2().hypot(squared) * plan.largest;
        let scale = y.scale().over(scale_of(plan.largest, OPERATION)?);
        let mut out = y.read_at(scale);
        out.set_bound(plan.result_bound() + (-precision).exp2());
        out.set_error(error);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries in no particular order.
    fn entries(count: usize) -> Vec<f64> {
        (0..count).map(|j| ((j as f64 + 1.0) * 0.618_033_988_749_895).fract() * 2.0 - 1.0).collect()
    }

    #[test]
    fn polynomials_have_entries_at_places_and_no_slope() {
        for p in [1, 2, 3, 4, 5, 16, 100, 256, 1000] {
            let values = entries(p);
            let model = ErrorModel {
                log2_std: 12.0,
                conjugation: 0.0,
                common_scale_bits: None,
                refresh_std: 0.0,
            };
            let Planned { stages, curvature, .. } = plan_stages(&values, 1e-4, model).unwrap();
            let (factor, shift) = argument_map(p);
            let at = |x: f64| {
                stages.iter().fold(x * factor + shift, |x, stage| stage.polynomial.evaluate(x))
            };
            let (low, high) =
                values.iter().fold((1.0f64, -1.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
            for (j, value) in values.iter().enumerate() {
                assert!((at(j as f64) - value).abs() < 2.5e-5, "entry {j} of {p}");
                // The error is as large as the curvature says, and no larger.
                for off in [-0.01, 0.01] {
                    let error = (at(j as f64 + off) - value).abs();
                    let bound = 1.1 * curvature * (off * factor).powi(2);
                    assert!(error < bound + 5e-5, "{error} of {bound} at {j} of {p}");
                }
                for k in 1..10 {
                    let x = (j as f64 + f64::from(k) / 10.0 - 0.5).clamp(places(p).0, places(p).1);
                    // With up to 16 entries, some weights of the mean are slightly negative.
                    let beyond =
                        if p <= MAX_ROUGH_ENTRIES { 0.15 * (high - low) } else { 0.0 } + 1e-4;
                    let within = |y: f64| low - beyond <= y && y <= high + beyond;
                    assert!(within(at(x)), "{} at {x} of {p}", at(x));
                    // An argument below -1/2 gives the same result as its mirror image.
                    assert!(
                        p <= MAX_DIRECT_ENTRIES
                            || (at(-1.0 - x) - at(x)).abs() < 1e-9 && within(at(-x))
                    );
                }
            }
            // In units of places, the curvature for many entries is that of a sum of sinc^2.
            let in_places = curvature * factor.powi(2);
            let bound = if p <= MAX_DIRECT_ENTRIES { 8.1 } else { PI * PI / 3.0 } * (high - low);
            assert!(in_places <= bound + 1e-9, "{in_places} of {bound} for {p}");
        }
    }
}
