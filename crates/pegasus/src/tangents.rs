//! A function as a value and a slope for every index. The error is then proportional to the square
//! of the difference between a number and its index.
//!
//! A look-up of `x` finds the index of some `x + e`. Two look-ups of one ciphertext find the same
//! index. So one table holds `A` and another one `B`. Here `A + B t` is the straight line closest
//! to the function among the `t` that may have this index. With `x` itself in slots, `A + B x` has
//! an error of about `f''(x) e^2/2`, while one table has the error `f'(x) e`.
//!
//! This needs two look-ups of a number, two repackings, and a product of ciphertexts.

use std::ops::RangeInclusive;

use hippocrene_ckks::{Ciphertext, CkksError, Scale};
use hippocrene_fhew::{LookupTable, LweCiphertext, RotationParameters};
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError,
    places::{bound_after_packing, unit_of},
    plan::scale_of_bits,
    tables::{MIN_RANGE, SAMPLES, check_slopes, sampled},
};

/// Number of standard deviations of the index, on either side, that lines are fitted to (chosen).
const FIT_REACH_DEVIATIONS: f64 = 4.0;

/// Number of nodes on either side of the index that lines are fitted at (chosen).
const FIT_NODES_PER_SIDE: i64 = 16;

/// Errors of the index, in standard deviations, and their probabilities: Gauss-Hermite quadrature
/// with 8 nodes. It has the fourth moment of the normal distribution, which matters for slopes.
const INDEX_ERRORS: [(f64, f64); 8] = [
    (-4.144547186, 0.000112614538),
    (-2.802485861, 0.009635220121),
    (-1.636519042, 0.117239907661),
    (-0.539079811, 0.373012257680),
    (0.539079811, 0.373012257680),
    (1.636519042, 0.117239907661),
    (2.802485861, 0.009635220121),
    (4.144547186, 0.000112614538),
];

/// The largest slope, relative to that of a line from the smallest to the largest value over the
/// whole domain (chosen).
const MAX_RELATIVE_SLOPE: f64 = 16.0;

/// The step between the moduli that are tried, in bits (chosen).
const MODULUS_STEP_BITS: f64 = 8.0;

/// Maximum number of these steps (chosen).
const MAX_MODULUS_STEPS: u32 = 8;

/// Precision of slopes in bits (chosen). Repacking gives them an error of about `2^-SLOPE_BITS`.
const SLOPE_BITS: f64 = 18.0;

/// The smallest range of tables, relative to the bound of the function (chosen).
const MIN_RELATIVE_RANGE: f64 = 1e-6;

/// The limits on slopes that are tried, in half bits below the largest slope (chosen). A limit can
/// make the error smaller, because the error of repacked slopes is proportional to the largest of
/// them.
const SLOPE_LIMITS_IN_HALF_BITS: RangeInclusive<i32> = 0..=12;

/// A function on a domain as two tables and a product. [`Pegasus::make_tangents`] makes it. See
/// [`Pegasus`] for an example.
#[derive(Debug, Clone, PartialEq)]
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

/// A line for each index, and the largest mean square of the error at a number of the domain.
struct Lines {
    slopes: Vec<f64>,
    values: Vec<f64>,
    error: f64,
}

/// The function around one index: the mean number, the mean value, and the slope of the closest
/// line through both means.
struct Moments {
    number: f64,
    value: f64,
    slope: f64,
}

/// The index of a table: the number of entries, the standard deviation of the index in entries, and
/// the margin of the domain.
#[derive(Clone, Copy)]
struct Index {
    degree: usize,
    deviation: f64,
    margin: f64,
}

impl Index {
    /// Returns the number at an entry, in `[-1, 1]` within the domain.
    fn number(self, entry: f64) -> f64 {
        (entry / self.degree as f64 - 0.5) * 2.0 * (1.0 + self.margin)
    }

    /// Returns the position of a number among the entries, without rounding.
    fn entry(self, x: f64) -> f64 {
        (x / (2.0 * (1.0 + self.margin)) + 0.5) * self.degree as f64
    }
}

impl Tangents {
    /// The bits of the scale at which numbers, relative to half of the domain, are multiplied by
    /// slopes. The product uses this number of bits of the capacity that repacking leaves.
    pub const OPERAND_BITS: f64 = 28.0;

    /// Makes the tables of `f` on a domain.
    ///
    /// `deviation` is the standard deviation of the index, in entries of a table of `parameters`.
    /// `margin` is the distance that numbers may be outside of the domain, relative to its length.
    /// `repacking_error` is the standard deviation of the error of repacked numbers, relative to
    /// their bound.
    pub(crate) fn new(
        parameters: &RotationParameters,
        deviation: f64,
        margin: f64,
        repacking_error: f64,
        domain: (f64, f64),
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, PegasusError> {
        let samples = sampled(domain, f)?;
        let half = (domain.1 - domain.0) / 2.0;
        let index = Index { degree: parameters.ring().dimension(), deviation, margin };
        let moments = moments(&samples, index);
        let (least, largest) = extent(moments.iter().map(|m| m.slope));
        // The numbers are in [-1, 1] here.
        let (lowest, highest) = extent(samples.iter().copied());
        let steepest = MAX_RELATIVE_SLOPE * (highest - lowest) / 2.0;
        let (least, largest) = (least.max(-steepest), largest.min(steepest));
        let (middle, widest) = (least.midpoint(largest), (largest - least) / 2.0);
        check_slopes(domain, least.abs().max(largest.abs()) / half)?;
        let repacked = |range: f64| (repacking_error * range).powi(2);
        let candidates = SLOPE_LIMITS_IN_HALF_BITS.map(|k| {
            let widest = widest * 2f64.powf(-0.5 * f64::from(k));
            let lines = lines(&samples, index, &moments, (middle - widest, middle + widest));
            let (least, largest) = extent(lines.values.iter().copied());
            let error = lines.error + repacked((largest - least) / 2.0) + repacked(widest);
            (lines, [widest, (largest - least) / 2.0], least.midpoint(largest), error)
        });
        let best = candidates.reduce(|best, next| if next.3 < best.3 { next } else { best });
        let (lines, ranges, value, error) =
            best.expect("the range of cuts is a constant, and not empty");
        let bound = samples.iter().fold(0.0f64, |b, y| b.max(y.abs()));
        let unit = unit_of(domain, SLOPE_BITS, error.sqrt());
        let min_range = MIN_RANGE.max(MIN_RELATIVE_RANGE * bound);
        let ranges =
            [ranges[0].max(min_range * half / f64::from(unit).exp2()), ranges[1].max(min_range)];
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

    /// The largest absolute value of the function on the domain.
    pub fn bound(&self) -> f64 {
        self.bound
    }
}

/// Returns the moments of the function of `samples` on `[-1, 1]` around every index. Lines are not
/// fitted to anything beyond the domain.
fn moments(samples: &[f64], index: Index) -> Vec<Moments> {
    let step = 2.0 / SAMPLES as f64;
    let spread = index.deviation * 2.0 * (1.0 + index.margin) / index.degree as f64;
    let stride = ((FIT_REACH_DEVIATIONS * spread / step) as i64 / FIT_NODES_PER_SIDE).max(1);
    let weights: Vec<f64> = (-FIT_NODES_PER_SIDE..=FIT_NODES_PER_SIDE)
        .map(|t| (-0.5 * ((t * stride) as f64 * step / spread).powi(2)).exp())
        .collect();
    let about = |k: usize| {
        let x = index.number(k as f64);
        let middle = ((x.clamp(-1.0, 1.0) + 1.0) / step).round() as i64;
        let nodes =
            (-FIT_NODES_PER_SIDE..=FIT_NODES_PER_SIDE).zip(&weights).filter_map(|(t, weight)| {
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

/// Returns the closest lines with slopes in an interval.
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
        INDEX_ERRORS.iter().map(|(node, weight)| weight * error(*node).powi(2)).sum()
    };
    let within = (0..index.degree).map(|k| index.number(k as f64)).filter(|x| x.abs() < 1.0);
    let error = within.chain([-1.0, 1.0]).map(square).fold(0.0, f64::max);
    Lines { slopes, values, error }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)))
}

impl Pegasus {
    /// Makes tables of the values and the slopes of `f` on `domain`, for
    /// [`Pegasus::apply_tangents`]. The error is stated before anything is computed
    /// ([`Tangents::deviation`]).
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::make_tables`].
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

    /// Applies the function of `tangents` to the numbers in these slots of `a`, as in
    /// [`Pegasus::apply`]. All other slots of `a` must hold 0.
    ///
    /// It computes a product with `a` itself as an operand. The product needs 28 bits of the
    /// capacity that repacking leaves.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::apply`], and [`hippocrene_ckks::CkksError::Capacity`] if
    /// repacking leaves too little capacity for a product.
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
        for (entries, range, fit_error) in tables {
            let y = self.entries(&x, entries, range, fit_error)?;
            packed.push(self.packed(&y, &a, slots)?);
        }
        let slopes = self.add_at(&packed[0], tangents.middles[0] * one, slots)?;
        let values = self.add_at(&packed[1], tangents.middles[1], slots)?;
        let (slopes, operand) =
            self.operands(slopes, &a, scale_of_bits(Tangents::OPERAND_BITS - half.log2())?)?;
        let products =
            e.mul_rescale(&slopes, &operand, scale_of_bits(plan.literal().output_scale_bits)?)?;
        let (products, values) = e.align(&products, &values)?;
        let mut result = e.add(&products, &values)?;
        result.set_bound(bound_after_packing(
            tangents.bound,
            tangents.ranges[1],
            slots,
            result.slots(),
        ));
        Ok(result)
    }

    /// Returns the slopes and the numbers `a` at one modulus, and `a` at `scale`.
    ///
    /// That modulus is the modulus of the slopes, or a smaller one if `a` has too few bits for it.
    /// It needs these bits for a precise integer between the two scales.
    fn operands(
        &self,
        slopes: Ciphertext,
        a: &Ciphertext,
        scale: Scale,
    ) -> Result<(Ciphertext, Ciphertext), PegasusError> {
        let e = self.evaluator();
        let parameters = self.plan().context().parameters();
        let [have, left] = [&slopes, a].map(|c| parameters.log2(c.modulus()));
        let max_bits = left - (a.scale().log2() - scale.log2() + Tangents::OPERAND_BITS);
        let mut modulus = slopes.modulus();
        if have > max_bits {
            modulus = e.divisor_at_least(modulus, max_bits);
        }
        // Divisors may have up to a word more bits than requested.
        for step in 1..=MAX_MODULUS_STEPS {
            match e.adjust(a, modulus, scale) {
                Ok(operand) => return Ok((e.reduce_modulus(&slopes, modulus)?, operand)),
                Err(CkksError::Capacity { .. }) => {
                    modulus = e.divisor_at_least(
                        modulus,
                        max_bits.min(have) - f64::from(step) * MODULUS_STEP_BITS,
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok((e.reduce_modulus(&slopes, modulus)?, e.adjust(a, modulus, scale)?))
    }

    /// Looks up these entries at the indices of the numbers, for repacking. The numbers are within
    /// a quarter of the circle. An error of standard deviation `fit_error` is added to that of the
    /// rotation.
    fn entries(
        &self,
        x: &Numbers,
        entries: &[f64],
        range: f64,
        fit_error: f64,
    ) -> Result<Numbers, PegasusError> {
        let parameters = self.tables().parameters();
        let scale = self.plan().repacking_scale(range)?;
        let (output, half) = (self.entry_scale(scale).to_f64(), entries.len() as f64 / 2.0);
        // The entries of this domain are at the integers.
        let table = LookupTable::new(&parameters, half, output, |x| entries[(x + half) as usize])?;
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            x.ciphertexts().iter().map(|c| (c, &table)).collect();
        let noise = parameters.noise().plus(Noise::from_std(fit_error * output));
        Numbers::new(self.look_up_sums(&items, 1, Some(noise))?, scale, range)
    }
}
