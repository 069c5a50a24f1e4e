//! Entries of a table: of slots that hold places `0, 1, 2, ..` what the table has there, in all slots at once.
//!
//! # Polynomials
//! A polynomial of degree `2p - 1` has the `p` entries at their places, and no slope there: an argument that is off by a little comes out as if it were not. Of equidistant places that is well for
//! few entries alone ([`FEW`]); more of them are taken to Chebyshev nodes first, `c_j = cos t_j` with `t_j = pi (j + 1/2)/p`, by a sine of a half wave. There Fejer's polynomial is, with
//! `b_k = (2 - [k = 0])/p sum_j f_j cos(k t_j)`,
//!
//! `F(cos t) = sum_k b_k ((1 - k/2p) cos(k t) - k/2p cos((2p - k) t))`,
//!
//! a mean of the entries with weights that are not negative: nowhere among the places is it larger than the largest or smaller than the smallest. Like an interpolation of [the reduction modulo 1](crate::approximation::ModularReduction)
//! it is as deep as its degree has bits, and the sine 3 or 4 deep before it. (Alexandru, Kim and Polyakov, ePrint 2024/1623, interpolate with complex waves what is bootstrapped on the way.)
//!
//! # How scales follow from the precision
//! With [margins](super::comparison#how-scales-follow-from-the-precision) of eight standard deviations: a half of `2^-precision` is for the roundings of the last polynomial, a quarter for those of the sine, which come out as their squares times half the second derivative `F''(c_j)`, and for
//! what the sine's polynomial is off by, and a quarter for the arguments: an argument `j + e` is off by about `3.3 e^2` times the difference of the entries, 8 of few entries at most.

use std::{borrow::Cow, f64::consts::PI};

use super::{
    Basis, Polynomial,
    composition::{Composition, ErrorGains, Stage, Unit, kept, scale_of},
};
use crate::{Ciphertext, CkksError, Context, Evaluator, Refresh, Short};

const OPERATION: &str = "entries of a table";

/// Up to so many entries the polynomial is one in the places themselves.
const FEW: usize = 4;

/// A table has so many entries at most.
const MOST: usize = 1 << 12;

/// What a table is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesLiteral {
    /// How many slots the ciphertexts have.
    pub slots: usize,
    /// The entries at the places 0, 1, 2 and so on.
    pub entries: Vec<f64>,
    /// The precision: at its place an entry comes out within `2^-precision`.
    pub precision: f64,
}

/// A table planned: polynomials and scales.
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesPlan {
    literal: EntriesLiteral,
    /// The largest absolute value of an entry, by which they are divided.
    largest: f64,
    composition: Composition,
    /// Half the second derivative by the argument of the composition, the largest among all places.
    curvature: f64,
}

/// The places of entries in the argument of a polynomial, with what interpolation takes.
struct Nodes {
    places: Vec<f64>,
    /// Up to a factor, the inverse of the product of the distances from all others.
    weights: Vec<f64>,
    /// The sum of the inverse distances from all others.
    slopes: Vec<f64>,
}

impl Nodes {
    fn angle(count: usize, j: usize) -> f64 {
        PI * (j as f64 + 0.5) / count as f64
    }

    /// The zeros of the Chebyshev polynomial of degree `count`.
    fn chebyshev(count: usize) -> Self {
        let angles = || (0..count).map(|j| Self::angle(count, j));
        Nodes {
            places: angles().map(f64::cos).collect(),
            weights: angles().enumerate().map(|(j, t)| if j % 2 == 0 { t.sin() } else { -t.sin() }).collect(),
            slopes: angles().map(|t| 0.5 * t.cos() / t.sin().powi(2)).collect(),
        }
    }

    /// Those of equal distances in `[-1, 1]`, with half of a distance at both ends.
    fn equidistant(count: usize) -> Self {
        let places: Vec<f64> = (0..count).map(|j| (2 * j + 1) as f64 / count as f64 - 1.0).collect();
        let others = |j: usize| places.iter().enumerate().filter(move |(k, _)| *k != j);
        let distances = |j: usize| {
            let here = places[j];
            others(j).map(move |(_, there)| here - there)
        };
        Nodes {
            weights: (0..count).map(|j| distances(j).product::<f64>().recip()).collect(),
            slopes: (0..count).map(|j| distances(j).map(f64::recip).sum()).collect(),
            places,
        }
    }

    /// Half the second derivative at each place of the polynomial that has these values and no slope there.
    fn curvatures(&self, values: &[f64]) -> Vec<f64> {
        let at = |i: usize| {
            let term = |j: usize| {
                let distance = self.places[i] - self.places[j];
                let slope = self.weights[j] / (self.weights[i] * distance);
                (values[j] - values[i]) * slope * slope * (1.0 - 2.0 * self.slopes[j] * distance)
            };
            (0..values.len()).filter(|j| *j != i).map(term).sum::<f64>()
        };
        (0..values.len()).map(at).collect()
    }

    /// The value of that polynomial at `x`, for few places.
    fn interpolate(&self, values: &[f64], x: f64) -> f64 {
        let term = |j: usize| {
            let here = self.places[j];
            let others = self.places.iter().enumerate().filter(|(k, _)| *k != j);
            let lagrange: f64 = others.map(|(_, there)| (x - there) / (here - there)).product();
            values[j] * (1.0 - 2.0 * self.slopes[j] * (x - here)) * lagrange * lagrange
        };
        (0..values.len()).map(term).sum()
    }
}

/// Fejer's polynomial of these values at the Chebyshev nodes.
fn fejer(values: &[f64]) -> Result<Polynomial, CkksError> {
    let p = values.len();
    let mut coefficients = vec![0.0; 2 * p];
    // `cos(m pi / 2p)`: all that there are among the `cos(k t_j)`.
    let cosines: Vec<f64> = (0..4 * p).map(|m| (PI * m as f64 / (2 * p) as f64).cos()).collect();
    for k in 0..p {
        let sum: f64 = values.iter().enumerate().map(|(j, f)| f * cosines[k * (2 * j + 1) % (4 * p)]).sum();
        let b = sum * if k == 0 { 1.0 } else { 2.0 } / p as f64;
        let share = k as f64 / (2 * p) as f64;
        coefficients[k] += b * (1.0 - share);
        if k > 0 {
            coefficients[2 * p - k] = -b * share;
        }
    }
    Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients)
}

/// `-sin(pi x/2)` on `[-1, 1]` to within `error`, as far as doubles go: the least odd degree whose bound `(pi/2)^(n+1) / (2^n (n+1)!)` does.
fn half_wave(error: f64) -> Result<Polynomial, CkksError> {
    let (mut degree, mut bound) = (1, PI * PI / 16.0);
    while bound > error.max(1e-15) {
        degree += 2;
        bound *= (PI / 4.0).powi(2) / ((degree * (degree + 1)) as f64);
    }
    Polynomial::approximate(|x| -(0.5 * PI * x).sin(), -1.0, 1.0, degree)
}

impl EntriesPlan {
    /// Polynomials and the least scales; `context` has to allow for any scale (a sprout).
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless there are 1 to 4096 entries, all of them finite, the precision is at most 40 bits below that of the largest and not larger than it, and the slots are a power of two that the parameters have;
    /// [`CkksError::Capacity`] unless a modulus of these parameters holds a stage.
    pub fn new(context: &Context, literal: EntriesLiteral) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let EntriesLiteral { slots, ref entries, precision } = literal;
        if !slots.is_power_of_two() || slots > context.max_slots() {
            let most = context.max_slots();
            return fail(format!("{slots} slots: a power of two up to {most} is possible"));
        }
        if entries.is_empty() || entries.len() > MOST {
            return fail(format!("a table of {} entries: it has 1 to {MOST}", entries.len()));
        }
        if let Some((j, entry)) = entries.iter().enumerate().find(|(_, entry)| !entry.is_finite()) {
            return fail(format!("entry {j} is {entry}"));
        }
        let largest = match entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs())) {
            0.0 => 1.0,
            largest => largest,
        };
        let error = (-precision).exp2() / largest;
        if !(2f64.powi(-40)..=0.5).contains(&error) {
            let (least, most) = (1.0 - largest.log2(), 40.0 - largest.log2());
            return fail(format!(
                "a precision of {} bits: these entries have {least:.1} to {most:.1} bits",
                Short(precision)
            ));
        }
        let values: Vec<f64> = entries.iter().map(|entry| entry / largest).collect();
        let unit = Unit::new(context.parameters(), slots, None);
        let (stages, curvature) = planned(&values, error, unit)?;
        let p = values.len() as f64;
        let places = (0..values.len()).map(|j| (2 * j + 1) as f64 / p - 1.0);
        let gains = ErrorGains::new(&stages, places);
        let slack = (0.25 * error / curvature).sqrt().min(0.5 / p);
        let composition = Composition { stages, gains, unit, slack, conjugates: false };
        let have = context.parameters().log2(context.parameters().top());
        match composition.beyond(have) {
            Some(need) => Err(CkksError::Capacity { operation: OPERATION, need, have }),
            None => Ok(EntriesPlan { largest, composition, curvature, literal }),
        }
    }

    /// What it is for.
    pub fn literal(&self) -> &EntriesLiteral {
        &self.literal
    }

    /// The polynomials with their scales, first applied first. The argument of the first is `(2 x + 1)/p - 1` for `p` entries, and the last one's values are divided by the largest of them.
    pub fn stages(&self) -> &[Stage] {
        &self.composition.stages
    }

    /// The bits of capacity that it takes in all.
    pub fn bits(&self) -> f64 {
        self.composition.bits()
    }

    /// How many products of ciphertexts it takes.
    pub fn products(&self) -> usize {
        self.composition.products()
    }

    /// How precise arguments have to be at least, as [`crate::Ciphertext::precision_bits`] says it.
    pub fn argument_precision(&self) -> f64 {
        self.composition.least_precision() - (0.5 * self.literal.entries.len() as f64).log2()
    }

    /// Whether there are different entries: places do not matter where there are none.
    fn differ(&self) -> bool {
        self.literal.entries.iter().any(|entry| *entry != self.literal.entries[0])
    }

    /// The same on plain numbers.
    pub fn apply(&self, x: f64) -> f64 {
        let p = self.literal.entries.len() as f64;
        self.largest * self.composition.apply((2.0 * x + 1.0) / p - 1.0)
    }
}

/// The stages for values up to 1, which come out within `error`, and the largest half of a second derivative, by the argument of the first.
fn planned(values: &[f64], error: f64, unit: Unit) -> Result<(Vec<Stage>, f64), CkksError> {
    let p = values.len();
    let few = p <= FEW;
    let nodes = if few { Nodes::equidistant(p) } else { Nodes::chebyshev(p) };
    let table = match few {
        true => Polynomial::approximate(|x| nodes.interpolate(values, x), -1.0, 1.0, 2 * p - 1)?,
        false => fejer(values)?,
    };
    // Where entries are alike nothing bends; what is computed of that is not worth more than doubles.
    let curvatures = nodes.curvatures(values).into_iter().map(|c| c.abs().max(1e-12));
    let gain = |x: f64| table.gains(x).roundings.iter().sum::<f64>().sqrt();
    let margin = 0.5 * error;
    let largest = nodes.places.iter().map(|x| gain(*x)).fold(0.0, f64::max);
    // What is added to the result is rounded at its scale too.
    let scale_bits = unit.scale_bits(largest.max(1.0), margin);
    let last = Stage { polynomial: table, scale_bits, margin, range: (0.0, 1.0) };
    if few {
        return Ok((vec![last], curvatures.fold(0.0, f64::max)));
    }
    // How far the argument of the last one may be off at each place.
    let off = |curvature: f64| (0.25 * error / curvature).sqrt().min(0.25 / p as f64);
    let least = curvatures.clone().map(off).fold(f64::INFINITY, f64::min);
    let wave = half_wave(0.25 * least)?;
    let (mut scale_bits, mut largest): (f64, f64) = (0.0, 0.0);
    for (j, curvature) in curvatures.enumerate() {
        let t = Nodes::angle(p, j);
        let gains = wave.gains((2 * j + 1) as f64 / p as f64 - 1.0);
        let gain = gains.roundings.iter().sum::<f64>() + gains.argument * gains.argument;
        scale_bits = scale_bits.max(unit.scale_bits(gain.sqrt(), 0.5 * off(curvature)));
        largest = largest.max(curvature * (0.5 * PI * t.sin()).powi(2));
    }
    let first = Stage { polynomial: wave, scale_bits, margin: least, range: (0.0, 1.0) };
    Ok((vec![first, last], largest))
}

impl Evaluator {
    /// Of every slot of `a`, which holds a place `0, 1, .., p - 1` give or take a little, the entry that the table has there, to within `2^-precision`; among the places, some mean of entries. Beyond them, below `-1/2` and above `p - 1/2`, it may be anything.
    /// Between stages, `refresh` gives capacity back where it lacks.
    ///
    /// The noise of the result is what noise of the arguments and roundings add at the places.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bound of `a` exceeds the places, or its precision, or that of a refresh, is too low; [`CkksError::Capacity`] when `refresh` gives too little; and when the key of products is missing.
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
        let p = entries.len() as f64;
        if plan.differ() && a.bound() > (p - 0.5) * (1.0 + 1e-9) {
            return fail(format!(
                "values up to {} are no places of {} entries, which are 0 to {}: declare a tighter bound if they are smaller (with_bound)",
                Short(a.bound()),
                entries.len(),
                entries.len() - 1
            ));
        }
        let (need, have) = (plan.argument_precision(), a.precision_bits());
        if plan.differ() && have < need {
            return fail(format!(
                "entries of this precision need places with {need:.1} bits of precision, these have {have:.1}"
            ));
        }
        let mut x = a.clone().read_at(a.scale().times(scale_of(0.5 * p, OPERATION)?));
        self.add_number_assign(&mut x, p.recip() - 1.0)?;
        x.set_bound(1.0);
        // The square of what is normal has the root of three times the square of its variance.
        let squared = 3f64.sqrt() * plan.curvature * (-2.0 * x.precision_bits()).exp2();
        let y = self.composition(Cow::Owned(x), &plan.composition, kept(refresh), refresh, OPERATION)?;
        let error = (-y.precision_bits()).exp2().hypot(squared) * plan.largest;
        let scale = y.scale().over(scale_of(plan.largest, OPERATION)?);
        let mut out = y.read_at(scale);
        out.set_bound(plan.largest + (-precision).exp2());
        out.set_error(error);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries without any order.
    fn entries(count: usize) -> Vec<f64> {
        (0..count).map(|j| ((j as f64 + 1.0) * 0.618_033_988_749_895).fract() * 2.0 - 1.0).collect()
    }

    #[test]
    fn polynomials_have_entries_at_places_and_no_slope() {
        for p in [1, 2, 3, 4, 5, 16, 100, 256, 1000] {
            let values = entries(p);
            let unit = Unit { log2_std: 12.0, conjugation: 0.0, fixed: None, refreshed: 0.0 };
            let (stages, curvature) = planned(&values, 1e-4, unit).unwrap();
            let at = |x: f64| {
                let t = (2.0 * x + 1.0) / p as f64 - 1.0;
                stages.iter().fold(t, |x, stage| stage.polynomial.evaluate(x))
            };
            let (low, high) = values.iter().fold((1.0f64, -1.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
            for (j, value) in values.iter().enumerate() {
                assert!((at(j as f64) - value).abs() < 2.5e-5, "entry {j} of {p}");
                // As much off as the curvature says, and no more.
                for off in [-0.01, 0.01] {
                    let error = (at(j as f64 + off) - value).abs();
                    let bound = 1.1 * curvature * (2.0 * off / p as f64).powi(2);
                    assert!(error < bound + 5e-5, "{error} of {bound} at {j} of {p}");
                }
                for k in 1..10 {
                    let between = at(j as f64 + f64::from(k) / 10.0 - 0.5);
                    let beyond = if p <= FEW { 2.0 } else { 1e-4 };
                    assert!(low - beyond <= between && between <= high + beyond, "{between} near {j} of {p}");
                }
            }
            // In places, it is that of a sum of sinc^2 for many entries.
            let in_places = curvature * (2.0 / p as f64).powi(2);
            let bound = if p <= FEW { 8.1 } else { PI * PI / 3.0 } * (high - low);
            assert!(in_places <= bound + 1e-9, "{in_places} of {bound} for {p}");
        }
    }
}
