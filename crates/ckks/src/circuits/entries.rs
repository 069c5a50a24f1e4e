//! Entries of a table: of slots that hold places `0, 1, 2, ..` what the table has there, in all
//! slots at once.
//!
//! # Polynomials
//! A polynomial of degree `2p - 1` has the `p` entries at their places, and no slope there: an
//! argument that is off by a little comes out as if it were not. Of equidistant places that is well
//! for few entries alone ([`FEW`]); more of them are taken to Chebyshev nodes first, `c_j = cos
//! t_j` with `t_j = pi (j + 1/2)/p`, or, up to 16, to where a polynomial takes them that is near
//! the cosine. There Fejer's polynomial is, with `b_k = (2 - [k = 0])/p sum_j f_j cos(k t_j)`,
//!
//! `F(cos t) = sum_k b_k ((1 - k/2p) cos(k t) - k/2p cos((2p - k) t))`,
//!
//! a mean of the entries with weights that are not negative: nowhere is it larger than the largest
//! or smaller than the smallest. Like an interpolation of [the reduction modulo
//! 1](crate::approximation::ModularReduction) it is as deep as its degree has bits, and the cosine
//! 3 to 5 deep before it. The cosine is a polynomial for `x` from `-p - 1/2` to `p - 1/2`, where it
//! is even about `-1/2`: what is below that is taken for what is as far above, so that nothing up
//! to the bound of the argument does harm. (Alexandru, Kim and Polyakov, ePrint 2024/1623,
//! interpolate with complex waves what is bootstrapped on the way.)
//!
//! # How scales follow from the precision
//! With [margins](super::comparison#how-scales-follow-from-the-precision) of sixteen standard
//! deviations: a half of `2^-precision` is for the roundings of the last polynomial, a quarter for
//! those of the cosine, which come out as their squares times half the second derivative
//! `F''(c_j)`, and for what the cosine's polynomial is off by. An argument `j + e` is off by about
//! `3.3 e^2` times the difference of the entries, `8 e^2` in few of them, beside.

use std::{borrow::Cow, f64::consts::PI};

use super::{
    Basis, Polynomial,
    composition::{Composition, ErrorGains, Stage, Unit, kept, scale_of},
    polynomial_noise::Gains,
};
use crate::{Ciphertext, CkksError, Context, Evaluator, Refresh, Short};

const OPERATION: &str = "entries of a table";

/// Up to so many entries the polynomial is one in the places themselves.
const FEW: usize = 4;

/// Up to so many entries the nodes are near those of Chebyshev's polynomial.
const SOME: usize = 16;

/// [`rough_wave`] is beyond `[-1, 1]` by less.
const WITHIN: f64 = 1.0 - 1.0 / 512.0;

/// By so much arguments may be below the first and above the last of few places.
const BEYOND: f64 = 0.125;

/// By so much of the distance of places arguments may be off, as five standard deviations of their
/// noise.
const OFF: f64 = 0.125;

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
    /// The zeros of the Chebyshev polynomial of degree `count`.
    fn chebyshev(count: usize) -> Self {
        let angles = || (0..count).map(|j| PI * (j as f64 + 0.5) / count as f64);
        Nodes {
            places: angles().map(f64::cos).collect(),
            weights: angles()
                .enumerate()
                .map(|(j, t)| if j % 2 == 0 { t.sin() } else { -t.sin() })
                .collect(),
            slopes: angles().map(|t| 0.5 * t.cos() / t.sin().powi(2)).collect(),
        }
    }

    /// A few places anywhere.
    fn of(places: Vec<f64>) -> Self {
        let distances = |j: usize| {
            let (here, others) =
                (places[j], places.iter().enumerate().filter(move |(k, _)| *k != j));
            others.map(move |(_, there)| here - there)
        };
        let count = places.len();
        Nodes {
            weights: (0..count).map(|j| distances(j).product::<f64>().recip()).collect(),
            slopes: (0..count).map(|j| distances(j).map(f64::recip).sum()).collect(),
            places,
        }
    }

    /// Half the absolute second derivative at each place of the polynomial that has these values
    /// and no slope there.
    fn curvatures(&self, values: &[f64]) -> Vec<f64> {
        // Where entries are alike nothing bends; what is computed of that is not worth more than
        // doubles.
        let at = |i: usize| {
            let term = |j: usize| {
                let distance = self.places[i] - self.places[j];
                let slope = self.weights[j] / (self.weights[i] * distance);
                (values[j] - values[i]) * slope * slope * (1.0 - 2.0 * self.slopes[j] * distance)
            };
            (0..values.len()).filter(|j| *j != i).map(term).sum::<f64>().abs().max(1e-12)
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

/// `cos(pi x)` on `[-1, 1]`, as closely as what entries are off by allows: the least even degree
/// whose bound `2 (pi/2)^(n+2) / (n+2)!` does, as far as doubles go.
fn wave(error: f64, values: &[f64]) -> Result<Polynomial, CkksError> {
    let curvatures = Nodes::chebyshev(values.len()).curvatures(values).into_iter();
    let least = curvatures
        .map(|curvature| off(error, curvature, values.len()))
        .fold(f64::INFINITY, f64::min);
    let (mut degree, mut bound) = (2, 2.0 * (0.5 * PI).powi(4) / 24.0);
    while bound > (0.25 * least).max(1e-15) {
        degree += 2;
        bound *= (0.5 * PI).powi(2) / (((degree + 1) * (degree + 2)) as f64);
    }
    Polynomial::approximate(|x| (PI * x).cos(), -1.0, 1.0, degree)
}

/// A polynomial of degree 6 that is near `cos(pi x)`, within `[-1, 1]`: 3 deep. Where there are
/// some nodes only they are where it takes the places.
fn rough_wave() -> Result<Polynomial, CkksError> {
    Polynomial::approximate(|x| (PI * x).cos(), -1.0, 1.0, 6)?.times(WITHIN)
}

/// By what places are multiplied, and what is added, to be the argument of the first polynomial.
fn argument(entries: usize) -> (f64, f64) {
    let p = entries as f64;
    if entries <= FEW { (2.0 / p, 1.0 / p - 1.0) } else { (1.0 / p, 0.5 / p) }
}

impl EntriesPlan {
    /// Polynomials and the least scales; `context` has to allow for any scale (a sprout).
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless there are 1 to 4096 entries, all of them finite, the
    /// precision is at most 40 bits below the largest, and the slots are a power of two that the
    /// parameters have; [`CkksError::Capacity`] unless a modulus of these parameters holds a stage.
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
        let largest = match entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()))
        {
            0.0 => 1.0,
            largest => largest,
        };
        // Less precise than by half of the largest is nothing.
        let error = ((-precision).exp2() / largest).min(0.5);
        if precision.is_nan() || error < 2f64.powi(-40) {
            let most = 40.0 - largest.log2();
            return fail(format!(
                "a precision of {} bits: these entries have {most:.1} bits",
                Short(precision)
            ));
        }
        let values: Vec<f64> = entries.iter().map(|entry| entry / largest).collect();
        let unit = Unit::new(context.parameters(), slots, None);
        let Planned { stages, gains, curvature } = planned(&values, error, unit)?;
        let slack = OFF * argument(values.len()).0;
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

    /// The polynomials with their scales, first applied first. The argument of the first is `(2 x +
    /// 1)/p - 1` for `p` entries, up to 4 of them, and `(x + 1/2)/p` for more; the last one's
    /// values are divided by the largest of them.
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
        self.composition.least_precision() + argument(self.literal.entries.len()).0.log2()
    }

    /// The largest absolute value for any argument.
    fn reach(&self) -> f64 {
        let entries = &self.literal.entries;
        let largest = entries.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        if entries.len() > SOME {
            // Of many entries it is a mean anywhere.
            return largest;
        }
        let ((least, most), count) = (self.places(), 8 * entries.len());
        let at = |k: usize| self.apply(least + (most - least) * k as f64 / count as f64).abs();
        (0..=count).map(at).fold(largest, f64::max)
    }

    /// Whether there are different entries: places do not matter where there are none.
    fn differ(&self) -> bool {
        self.literal.entries.iter().any(|entry| *entry != self.literal.entries[0])
    }

    /// The same on plain numbers.
    pub fn apply(&self, x: f64) -> f64 {
        let (factor, shift) = argument(self.literal.entries.len());
        self.largest * self.composition.apply(x * factor + shift)
    }

    /// The least and the largest argument.
    pub fn places(&self) -> (f64, f64) {
        places(self.literal.entries.len())
    }

    /// Whether values up to the bound of an argument do no harm wherever they are.
    pub fn is_tame(&self) -> bool {
        self.literal.entries.len() > FEW || !self.differ()
    }
}

/// The least and the largest argument for so many entries.
fn places(entries: usize) -> (f64, f64) {
    let beyond = if entries <= FEW { BEYOND } else { 0.5 };
    (-beyond, (entries - 1) as f64 + beyond)
}

/// Stages, with what is known of their noise.
struct Planned {
    stages: Vec<Stage>,
    gains: ErrorGains,
    /// The largest half of a second derivative, by the argument of the first.
    curvature: f64,
}

/// The stages for values up to 1, which come out within `error`.
fn planned(values: &[f64], error: f64, unit: Unit) -> Result<Planned, CkksError> {
    let p = values.len();
    let (factor, shift) = argument(p);
    let places: Vec<f64> = (0..p).map(|j| j as f64 * factor + shift).collect();
    let first = match (p <= FEW, p <= SOME) {
        (true, _) => None,
        (_, true) => Some(rough_wave()?),
        _ => Some(wave(error, values)?),
    };
    let (nodes, table) = match &first {
        Some(_) if p > SOME => (Nodes::chebyshev(p), fejer(values)?),
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
    // What is added to the result is rounded at its scale too.
    let gain = |gains: &Gains| gains.roundings.iter().sum::<f64>().sqrt();
    let scale_bits = unit.scale_bits(table_gains.iter().map(gain).fold(1.0, f64::max), margin);
    let last = Stage { polynomial: table, scale_bits, margin, range: (0.0, 1.0) };
    let Some(wave) = first else {
        let gains = ErrorGains::largest(&[table_gains]);
        let curvature = curvatures.into_iter().fold(0.0, f64::max);
        return Ok(Planned { stages: vec![last], gains, curvature });
    };
    let wave_gains = wave.gains_at(&places);
    let (mut scale_bits, mut largest, mut least): (f64, f64, f64) = (0.0, 0.0, f64::INFINITY);
    for (gains, curvature) in wave_gains.iter().zip(curvatures) {
        let (off, slope) = (off(error, curvature, p), gains.argument * gains.argument);
        let gain = gains.roundings.iter().sum::<f64>() + slope;
        scale_bits = scale_bits.max(unit.scale_bits(gain.sqrt(), 0.5 * off));
        largest = largest.max(curvature * slope);
        least = least.min(off);
    }
    let first = Stage { polynomial: wave, scale_bits, margin: least, range: (0.0, 1.0) };
    let gains = ErrorGains::largest(&[wave_gains, table_gains]);
    Ok(Planned { stages: vec![first, last], gains, curvature: largest })
}

/// How far the argument of the last polynomial may be off at a place of that curvature, for a
/// quarter of the error.
fn off(error: f64, curvature: f64, places: usize) -> f64 {
    (0.25 * error / curvature).sqrt().min(0.25 / places as f64)
}

impl Evaluator {
    /// Of every slot of `a`, which holds a place `0, 1, .., p - 1` give or take a little, the entry
    /// that the table has there, to within `2^-precision`; among the places, some mean of entries.
    /// Below `-1/2` it is what there is as far above, and of up to 4 entries, below `-1/8` and
    /// above `p - 7/8`, it may be anything. Between stages, `refresh` gives capacity back where it
    /// lacks.
    ///
    /// The noise of the result is what noise of the arguments and roundings add at the places.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bound of `a` exceeds the places, or its precision, or that
    /// of a refresh, is too low; [`CkksError::Capacity`] when `refresh` gives too little; and when
    /// the key of products is missing.
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
        let (factor, shift) = argument(entries.len());
        if plan.differ() && a.bound() > plan.places().1 * (1.0 + 1e-9) {
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
        let mut x = a.clone().read_at(a.scale().over(scale_of(factor, OPERATION)?));
        self.add_number_assign(&mut x, shift)?;
        x.set_bound(1.0);
        // The square of what is normal has the root of three times the square of its variance.
        let squared = 3f64.sqrt() * plan.curvature * (-2.0 * x.precision_bits()).exp2();
        let y =
            self.composition(Cow::Owned(x), &plan.composition, kept(refresh), refresh, OPERATION)?;
        let error = (-y.precision_bits()).exp2().hypot(squared) * plan.largest;
        let scale = y.scale().over(scale_of(plan.largest, OPERATION)?);
        let mut out = y.read_at(scale);
        out.set_bound(plan.reach() + (-precision).exp2());
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
            let Planned { stages, curvature, .. } = planned(&values, 1e-4, unit).unwrap();
            let (factor, shift) = argument(p);
            let at = |x: f64| {
                stages.iter().fold(x * factor + shift, |x, stage| stage.polynomial.evaluate(x))
            };
            let (low, high) =
                values.iter().fold((1.0f64, -1.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
            for (j, value) in values.iter().enumerate() {
                assert!((at(j as f64) - value).abs() < 2.5e-5, "entry {j} of {p}");
                // As much off as the curvature says, and no more.
                for off in [-0.01, 0.01] {
                    let error = (at(j as f64 + off) - value).abs();
                    let bound = 1.1 * curvature * (off * factor).powi(2);
                    assert!(error < bound + 5e-5, "{error} of {bound} at {j} of {p}");
                }
                for k in 1..10 {
                    let x = (j as f64 + f64::from(k) / 10.0 - 0.5).clamp(places(p).0, places(p).1);
                    // Few and some places are not, or not quite, those for which weights are not
                    // negative.
                    let beyond = if p <= SOME { 0.15 * (high - low) } else { 0.0 } + 1e-4;
                    let within = |y: f64| low - beyond <= y && y <= high + beyond;
                    assert!(within(at(x)), "{} at {x} of {p}", at(x));
                    // What is below -1/2 is as what is above.
                    assert!(p <= FEW || (at(-1.0 - x) - at(x)).abs() < 1e-9 && within(at(-x)));
                }
            }
            // In places, it is that of a sum of sinc^2 for many entries.
            let in_places = curvature * factor.powi(2);
            let bound = if p <= FEW { 8.1 } else { PI * PI / 3.0 } * (high - low);
            assert!(in_places <= bound + 1e-9, "{in_places} of {bound} for {p}");
        }
    }
}
