//! A function as a value and a slope for every index. The difference between a number and its index
//! then counts by its square.
//!
//! A look-up of `x` finds the index of some `x + e`. Two look-ups of one ciphertext find the same
//! index. So one table holds `A` and another `B`, where `A + B t` is the straight line that is
//! closest to the function among the `t` that may have this index. With `x` itself in slots, `A + B
//! x` has an error of about `f''(x) e^2/2`, where one table has `f'(x) e`.
//!
//! This takes two look-ups of a number, two repackings, and a product of ciphertexts.

use std::ops::RangeInclusive;

use hippocrene_ckks::{Ciphertext, CkksError, Scale};
use hippocrene_fhew::{LookupTable, LweCiphertext, RotationParameters};
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError,
    places::{bound_of, unit_of},
    plan::power,
    tables::{LEAST_RANGE, SAMPLES, check_slopes, sampled},
};

/// Number of standard deviations of the index, on either side, to which lines are fitted, and the
/// number of nodes on either side.
const REACH: f64 = 4.0;
const NODES: i64 = 16;

/// Errors of the index, in standard deviations, and their probabilities: Gauss-Hermite quadrature
/// with 8 nodes. It has the fourth moment of the normal distribution, which matters for slopes.
const ERRORS: [(f64, f64); 8] = [
    (-4.144547186, 0.000112614538),
    (-2.802485861, 0.009635220121),
    (-1.636519042, 0.117239907661),
    (-0.539079811, 0.373012257680),
    (0.539079811, 0.373012257680),
    (1.636519042, 0.117239907661),
    (2.802485861, 0.009635220121),
    (4.144547186, 0.000112614538),
];

/// The largest slope, as a multiple of that of a line from the smallest to the largest value over
/// the whole domain. Chosen.
const STEEPEST: f64 = 16.0;

/// The step in bits between the moduli that are tried, and the number of steps.
const STEP_BITS: f64 = 8.0;
const STEPS: u32 = 8;

/// Bits of precision of slopes: repacking gives them an error of about `2^-SLOPE_BITS`.
const SLOPE_BITS: f64 = 18.0;

/// The smallest range of tables, relative to the bound of the function.
const LEAST_SHARE: f64 = 1e-6;

/// The limits on slopes that are tried, in halves of a bit below the largest slope. A limit can
/// make the error smaller, because the error of repacked slopes is proportional to the largest of
/// them.
const CUTS: RangeInclusive<i32> = 0..=12;

/// A function on a domain as two tables and a product. [`Pegasus::make_tangents`] makes it.
#[derive(Debug, Clone)]
pub struct Tangents {
    domain: (f64, f64),
    /// log2 of the unit of slopes and numbers ([`unit_of`]).
    unit: i32,
    /// The constants that are added to all slopes and to all values.
    middles: [f64; 2],
    /// Bounds on slopes and values without these constants.
    ranges: [f64; 2],
    bound: f64,
    fit: f64,
    deviation: f64,
    slopes: Vec<f64>,
    values: Vec<f64>,
}

/// A line for each index, and the largest mean square of the error at any number of the domain.
struct Lines {
    slopes: Vec<f64>,
    values: Vec<f64>,
    error: f64,
}

/// The function around one index: the mean number, the mean value, and the slope of the closest
/// line through these.
struct Moments {
    number: f64,
    value: f64,
    slope: f64,
}

/// The indices of a table: their number, the standard deviation of an index in entries, and the
/// margin of the domain.
#[derive(Clone, Copy)]
struct Index {
    degree: usize,
    deviation: f64,
    margin: f64,
}

impl Index {
    /// The number of an entry, in `[-1, 1]` within the domain.
    fn number(self, entry: f64) -> f64 {
        (entry / self.degree as f64 - 0.5) * 2.0 * (1.0 + self.margin)
    }

    /// The entry of a number, which is not rounded.
    fn entry(self, x: f64) -> f64 {
        (x / (2.0 * (1.0 + self.margin)) + 0.5) * self.degree as f64
    }
}

impl Tangents {
    /// The bits of the scale at which numbers, over half of the domain, are multiplied by slopes.
    /// The product takes this number of bits of the capacity that repacking leaves.
    pub const OPERAND_BITS: f64 = 28.0;

    /// The tables of `f` on a domain.
    ///
    /// `deviation` is the standard deviation of the index, in entries of a table of `parameters`.
    /// `margin` is the share of the domain by which numbers may leave it. `off` is the error of
    /// repacked numbers, relative to their bound.
    pub(crate) fn new(
        parameters: &RotationParameters,
        deviation: f64,
        margin: f64,
        off: f64,
        domain: (f64, f64),
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, PegasusError> {
        let samples = sampled(domain, f)?;
        let half = (domain.1 - domain.0) / 2.0;
        let index = Index { degree: parameters.ring().dimension(), deviation, margin };
        let moments = moments(&samples, index);
        let (least, largest) = extent(moments.iter().map(|m| m.slope));
        // Numbers are in [-1, 1] here.
        let (lowest, highest) = extent(samples.iter().copied());
        let steepest = STEEPEST * (highest - lowest) / 2.0;
        let (least, largest) = (least.max(-steepest), largest.min(steepest));
        let (middle, widest) = (least.midpoint(largest), (largest - least) / 2.0);
        check_slopes(domain, least.abs().max(largest.abs()) / half)?;
        let repacked = |range: f64| (off * range).powi(2);
        let tried = CUTS.map(|k| {
            let widest = widest * 2f64.powf(-0.5 * f64::from(k));
            let lines = lines(&samples, index, &moments, (middle - widest, middle + widest));
            let (least, largest) = extent(lines.values.iter().copied());
            let error = lines.error + repacked((largest - least) / 2.0) + repacked(widest);
            (lines, [widest, (largest - least) / 2.0], least.midpoint(largest), error)
        });
        let best = tried.reduce(|best, next| if next.3 < best.3 { next } else { best });
        let (lines, ranges, value, error) =
            best.expect("the range of cuts is a constant, and not empty");
        let bound = samples.iter().fold(0.0f64, |b, y| b.max(y.abs()));
        let unit = unit_of(domain, SLOPE_BITS, error.sqrt());
        let least = LEAST_RANGE.max(LEAST_SHARE * bound);
        let ranges = [ranges[0].max(least * half / f64::from(unit).exp2()), ranges[1].max(least)];
        let error = lines.error + repacked(ranges[1]) + repacked(ranges[0]);
        Ok(Tangents {
            domain,
            unit,
            middles: [middle / half, value],
            ranges: [ranges[0] / half, ranges[1]],
            bound,
            fit: lines.error.sqrt(),
            deviation: error.sqrt(),
            slopes: lines.slopes.iter().map(|slope| (slope - middle) / half).collect(),
            values: lines.values.iter().map(|y| y - value).collect(),
        })
    }

    /// The interval of the numbers.
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// **The stated error**: the standard deviation of the error at the number of the domain where
    /// it is largest, with the error of repacking.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The bound of the function on the domain.
    pub fn bound(&self) -> f64 {
        self.bound
    }
}

/// The moments of the function of `samples` on `[-1, 1]` around every index. Lines are not fitted
/// to anything beyond the domain.
fn moments(samples: &[f64], index: Index) -> Vec<Moments> {
    let step = 2.0 / SAMPLES as f64;
    let spread = index.deviation * 2.0 * (1.0 + index.margin) / index.degree as f64;
    let stride = ((REACH * spread / step) as i64 / NODES).max(1);
    let weights: Vec<f64> = (-NODES..=NODES)
        .map(|t| (-0.5 * ((t * stride) as f64 * step / spread).powi(2)).exp())
        .collect();
    let about = |k: usize| {
        let x = index.number(k as f64);
        let middle = ((x.clamp(-1.0, 1.0) + 1.0) / step).round() as i64;
        let nodes = (-NODES..=NODES).zip(&weights).filter_map(|(t, weight)| {
            let i = usize::try_from(middle + t * stride).ok()?;
            Some((i as f64 * step - 1.0, *samples.get(i)?, *weight))
        });
        let nodes: Vec<(f64, f64, f64)> = nodes.collect();
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            let sum: f64 = nodes.iter().map(|(x, y, weight)| weight * f(*x, *y)).sum();
            sum / nodes.iter().map(|(_, _, weight)| weight).sum::<f64>()
        };
        let (number, value) = (mean(&|x, _| x), mean(&|_, y| y));
        let spread = mean(&|x, _| (x - number).powi(2));
        let slope = mean(&|x, y| (x - number) * (y - value)) / spread;
        Moments { number, value, slope }
    };
    (0..index.degree).map(about).collect()
}

/// The closest lines with slopes in an interval.
fn lines(
    samples: &[f64],
    index: Index,
    moments: &[Moments],
    (least, largest): (f64, f64),
) -> Lines {
    let slopes: Vec<f64> = moments.iter().map(|m| m.slope.clamp(least, largest)).collect();
    let values: Vec<f64> =
        moments.iter().zip(&slopes).map(|(m, slope)| m.value - slope * m.number).collect();
    let last = index.degree - 1;
    let square = |x: f64| -> f64 {
        let sample = ((x + 1.0) / 2.0 * SAMPLES as f64).round() as usize;
        let x = 2.0 * sample as f64 / SAMPLES as f64 - 1.0;
        let error = |node: f64| {
            let entry = index.entry(x) + node * index.deviation;
            let k = (entry.round().max(0.0) as usize).min(last);
            slopes[k] * x + values[k] - samples[sample]
        };
        ERRORS.iter().map(|(node, weight)| weight * error(*node).powi(2)).sum()
    };
    let within = (0..index.degree).map(|k| index.number(k as f64)).filter(|x| x.abs() < 1.0);
    let error = within.chain([-1.0, 1.0]).map(square).fold(0.0, f64::max);
    Lines { slopes, values, error }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)))
}

impl Pegasus {
    /// `f` on `domain` as tables of values and of slopes, for [`Pegasus::apply_tangents`]. The
    /// error is stated before anything is computed ([`Tangents::deviation`]).
    ///
    /// # Errors
    /// As [`Pegasus::make_tables`].
    pub fn make_tangents(
        &self,
        domain: (f64, f64),
        f: impl Fn(f64) -> f64,
    ) -> Result<Tangents, PegasusError> {
        let (parameters, margin) = (self.tables().parameters(), self.plan().literal().margin);
        Tangents::new(
            &parameters,
            self.index_deviation(),
            margin,
            self.repacking_deviation(),
            domain,
            f,
        )
    }

    /// The function of `tangents` of the numbers in these slots of `a`, as in [`Pegasus::apply`].
    /// All other slots of `a` must hold 0.
    ///
    /// It is a product with `a` itself as an operand, and takes 28 bits of the capacity that
    /// repacking leaves.
    ///
    /// # Errors
    /// As [`Pegasus::apply`], and [`hippocrene_ckks::CkksError::Capacity`] if repacking leaves too
    /// little for a product.
    pub fn apply_tangents(
        &self,
        a: &Ciphertext,
        tangents: &Tangents,
        slots: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        let (plan, e, (low, high)) = (self.plan(), self.evaluator(), tangents.domain);
        let unit = tangents.unit;
        let one = f64::from(unit).exp2();
        let (centre, half) = (low.midpoint(high) / one, (high - low) / 2.0 / one);
        let mut a = self.add_at(&a.clone().in_unit(unit), -centre, slots)?;
        a.set_bound(half);
        let x = self.extract(&self.to_coefficients(&a)?, slots)?;
        let slopes: Vec<f64> = tangents.slopes.iter().map(|slope| slope * one).collect();
        let tables = [
            (&slopes, tangents.ranges[0] * one, 0.0),
            (&tangents.values, tangents.ranges[1], tangents.fit),
        ];
        let mut packed = Vec::with_capacity(tables.len());
        for (entries, range, off) in tables {
            let y = self.entries(&x, entries, range, off)?;
            packed.push(self.packed(&y, &a, slots)?);
        }
        let slopes = self.add_at(&packed[0], tangents.middles[0] * one, slots)?;
        let values = self.add_at(&packed[1], tangents.middles[1], slots)?;
        let (slopes, operand) =
            self.operands(slopes, &a, power(Tangents::OPERAND_BITS - half.log2())?)?;
        let products =
            e.mul_rescale(&slopes, &operand, power(plan.literal().output_scale_bits)?)?;
        let (products, values) = e.align(&products, &values)?;
        let mut result = e.add(&products, &values)?;
        result.set_bound(bound_of(tangents.bound, tangents.ranges[1], slots, result.slots()));
        Ok(result)
    }

    /// Slopes and the numbers `a` at one modulus, and `a` at `scale`.
    ///
    /// That modulus is the modulus of the slopes, or a smaller one if `a` has too few bits to reach
    /// that of the slopes with a precise integer between the scales.
    fn operands(
        &self,
        slopes: Ciphertext,
        a: &Ciphertext,
        scale: Scale,
    ) -> Result<(Ciphertext, Ciphertext), PegasusError> {
        let e = self.evaluator();
        let parameters = self.plan().context().parameters();
        let [have, left] = [&slopes, a].map(|c| parameters.log2(c.modulus()));
        let most = left - (a.scale().log2() - scale.log2() + Tangents::OPERAND_BITS);
        let mut modulus = slopes.modulus();
        if have > most {
            modulus = e.divisor_at_least(modulus, most);
        }
        // Divisors have up to a word more bits than asked for.
        for step in 1..=STEPS {
            match e.adjust(a, modulus, scale) {
                Ok(operand) => return Ok((e.reduce_modulus(&slopes, modulus)?, operand)),
                Err(CkksError::Capacity { .. }) => {
                    modulus =
                        e.divisor_at_least(modulus, most.min(have) - f64::from(step) * STEP_BITS);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok((e.reduce_modulus(&slopes, modulus)?, e.adjust(a, modulus, scale)?))
    }

    /// These entries at the indices of the numbers, to be repacked. The numbers are within a
    /// quarter of the circle. An error of standard deviation `off` is added to that of the
    /// rotation.
    fn entries(
        &self,
        x: &Numbers,
        entries: &[f64],
        range: f64,
        off: f64,
    ) -> Result<Numbers, PegasusError> {
        let parameters = self.tables().parameters();
        let scale = self.plan().repacking_scale(range)?;
        let (output, half) = (self.output(scale).to_f64(), entries.len() as f64 / 2.0);
        // A domain whose entries are the integers.
        let table = LookupTable::new(&parameters, half, output, |x| entries[(x + half) as usize])?;
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            x.ciphertexts().iter().map(|c| (c, &table)).collect();
        let noise = parameters.noise().plus(Noise::from_std(off * output));
        Numbers::new(self.values(&items, 1, Some(noise))?, scale, range)
    }
}
