//! A function as a straight line and several tables, which are more precise than one table.
//!
//! A table is antiperiodic because `X^N = -1`: `T(u + 1/2) = -T(u)` for `u` on the circle `[-1/2,
//! 1/2)` of all residues over the modulus. So one table of an arbitrary function can use only half
//! of the circle. A number that takes the whole circle has twice the resolution. Any function `T`
//! of such a number is a sum of antiperiodic functions of its multiples, and a rest. With `P_0 = T`
//! and
//!
//! `A_k(u) = (P_k(u) - P_k(u + 2^-(k+1)))/2`, `P_(k+1)(u) = (P_k(u) + P_k(u + 2^-(k+1)))/2`,
//!
//! `T = A_0 + .. + A_(K-1) + P_K`. Here `A_k` is an antiperiodic function of `2^k u`. One table at
//! the ciphertext times `2^k` holds it, and the rounding of the index counts `2^-k` times as much.
//!
//! The rest, `P_K`, is about constant. Otherwise it needs one more table, at half the resolution,
//! whose slopes are `2^-K` of those of `T` where these are steep.
//!
//! `T` must have the same value at both ends of the domain. Therefore the chord of the function is
//! subtracted first, and added exactly in slots.
//!
//! `|x|` is `A_0` plus a constant, and `relu(x) = x/2 + |x|/2`. The number of tables that pay is
//! found by trial. The error of each choice is computed for an index with an error of its standard
//! deviation.

use std::cmp::Ordering;

use hippocrene_ckks::Short;
use hippocrene_fhew::{LookupTable, RotationParameters};

use crate::{PegasusError, error::argument};

const OPERATION: &str = "make tables";

/// The number of intervals into which a domain is divided. The function is linear on each.
pub(crate) const SAMPLES: usize = 1 << 16;
/// The number of equally spaced places of the circle at which functions have values.
const GRID: usize = 1 << 16;
/// Errors are computed at one in `STRIDE` of these places: 16384 of them, about 20 for each
/// standard deviation of an index.
const STRIDE: usize = 4;
/// The normal distribution as eight equally likely errors: quantiles in the middle of eighths,
/// scaled to the deviation 1.
const NODES: [f64; 8] = [-1.6629, -0.9615, -0.5301, -0.1702, 0.1702, 0.5301, 0.9615, 1.6629];
/// Another look-up must lower the error by this factor at least. Chosen.
const LOOK_UP_ERROR_FACTOR: f64 = 0.8;
/// The smallest range of tables.
///
/// Tables are repacked at a scale that grows as the range shrinks. For a function that is almost a
/// line or almost constant, it would leave no room for the line and the middle. The error of
/// repacked numbers is a small share of the range, so here it is about 2^-20 at most.
pub(crate) const LEAST_RANGE: f64 = 1.0 / 4096.0;
/// The largest number of tables.
const MAX_LOOK_UPS: usize = 4;
/// The largest absolute value of a function. Sums of many squares of such values are finite.
const MAX_VALUE: f64 = 1e100;

/// A function on a domain as tables. [`crate::Pegasus::make_tables`] makes them.
#[derive(Debug, Clone)]
pub struct Tables {
    domain: (f64, f64),
    /// The function is `slope (x - centre) + middle` and the tables.
    slope: f64,
    middle: f64,
    /// A bound on the absolute values of the sums of the tables.
    range: f64,
    /// The bound of the function.
    bound: f64,
    deviation: f64,
    /// `A_k`.
    whole: Vec<Function>,
    /// `P_K`.
    rest: Option<Function>,
    margin: f64,
    /// The function itself ([`sampled`]).
    samples: Vec<f64>,
}

/// The entries of a table: values at `-1/4 + j/2N` of the circle, for `j` below the ring degree
/// `N`.
#[derive(Debug, Clone)]
struct Function(Vec<f64>);

/// A function and the circle that its domain is laid on.
struct Circle<'a> {
    samples: &'a [f64],
    slope: f64,
    /// The share by which the circle is larger than the domain.
    margin: f64,
}

impl Circle<'_> {
    /// The number at `u`, in `[-1, 1]` within the domain.
    fn number(&self, u: f64) -> f64 {
        2.0 * (u - u.round()) * (1.0 + self.margin)
    }

    /// `T`: the function without its line. Beyond the domain the function is constant.
    fn value(&self, u: f64) -> f64 {
        let x = self.number(u).clamp(-1.0, 1.0);
        let at = (x + 1.0) / 2.0 * (self.samples.len() - 1) as f64;
        let i = (at as usize).min(self.samples.len() - 2);
        let share = at - i as f64;
        (1.0 - share) * self.samples[i] + share * self.samples[i + 1] - self.slope * x
    }

    /// `P_0`, which is `T`, at the places of the grid.
    fn grid(&self) -> Vec<f64> {
        (0..GRID).map(|i| self.value(i as f64 / GRID as f64 - 0.5)).collect()
    }

    /// `A_0` to `A_(count-1)`, and `P_count`, at the places of the grid.
    fn split(&self, count: u32) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut rest = self.grid();
        let antiperiodic = (0..count).map(|k| {
            let (first, next) = halves(&rest, k);
            rest = next;
            first
        });
        (antiperiodic.collect(), rest)
    }

    /// The smallest and the largest value of `T` on the domain.
    fn extremes(&self) -> (f64, f64) {
        let last = (self.samples.len() - 1) as f64;
        let values = self
            .samples
            .iter()
            .enumerate()
            .map(|(i, y)| y - self.slope * (2.0 * i as f64 / last - 1.0));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)))
    }

    /// The places of the grid at which errors are computed, up to both ends of the domain.
    fn places(&self) -> Vec<usize> {
        let half = (GRID as f64 / 2.0 / (1.0 + self.margin)).floor() as usize;
        let (first, last) = (GRID / 2 - half, (GRID / 2 + half).min(GRID - 1));
        (first..last).step_by(STRIDE).chain([last]).collect()
    }
}

/// `A_k` and `P_(k+1)` of `P_k`, at the places of the grid.
fn halves(periodic: &[f64], k: u32) -> (Vec<f64>, Vec<f64>) {
    let shifted = |i: usize| periodic[(i + (GRID >> (k + 1))) & (GRID - 1)];
    let halves =
        periodic.iter().enumerate().map(|(i, y)| ((y - shifted(i)) / 2.0, (y + shifted(i)) / 2.0));
    halves.unzip()
}

/// The value of a function on the circle at a distance of `at` steps of the grid from its start,
/// interpolated between the two places around it.
fn between(values: &[f64], at: f64) -> f64 {
    let below = at.floor();
    let (i, share) = ((below as i64 & (GRID as i64 - 1)) as usize, at - below);
    (1.0 - share) * values[i] + share * values[(i + 1) & (GRID - 1)]
}

/// The mean squares of the errors of a function at these places, if the place has a normal error of
/// this standard deviation, in steps of the grid. A straight line with this slope is added to the
/// values of the function.
fn squares(values: &[f64], places: &[usize], deviation: f64, slope: f64) -> Vec<f64> {
    let at = |place: &usize| {
        let error = |node: &f64| {
            let step = node * deviation;
            between(values, *place as f64 + step) - values[*place] + slope * step
        };
        NODES.iter().map(|node| error(node).powi(2)).sum::<f64>() / NODES.len() as f64
    };
    places.iter().map(at).collect()
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// The smallest and the largest of these values at these places.
fn extent(values: &[f64], places: &[usize]) -> (f64, f64) {
    places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), i| {
        (l.min(values[*i]), h.max(values[*i]))
    })
}

/// One choice of line and tables.
struct Choice {
    slope: f64,
    whole: u32,
    rest: bool,
    /// The mean square of the error over the domain, by which choices are compared. For a function
    /// with jumps, the largest square would say nothing about all other places.
    error: f64,
    /// The largest mean square of the error at any number of the domain.
    worst: f64,
}

impl Choice {
    fn look_ups(&self) -> usize {
        self.whole as usize + usize::from(self.rest)
    }
}

impl Tables {
    /// The tables of `f` on a domain, at most `most` of them. `deviation` is the standard deviation
    /// of the index, in entries of a table of `parameters`. `margin` is the share of the domain by
    /// which numbers may leave it.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if the domain is no interval of finite length, `f` is not finite
    /// on it or exceeds `10^100` or is too steep, or `most` is not from 1 to 4.
    pub(crate) fn new(
        parameters: &RotationParameters,
        deviation: f64,
        margin: f64,
        domain: (f64, f64),
        most: usize,
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, PegasusError> {
        if !(1..=MAX_LOOK_UPS).contains(&most) {
            return argument(
                OPERATION,
                format!("{most} look-ups for a number: 1 to {MAX_LOOK_UPS} are possible"),
            );
        }
        let ((low, high), samples) = (domain, sampled(domain, f)?);
        let degree = parameters.ring().dimension();
        let choice = choose(&samples, deviation / (2 * degree) as f64, margin, most);
        let margin = choice.margin(margin);
        let circle = Circle { samples: &samples, slope: choice.slope, margin };
        // The constant that is added in the end: the middle of all values, or that of the part
        // without a table.
        let (antiperiodic, periodic) = circle.split(choice.whole);
        let (least, largest) = match choice.rest {
            true => circle.extremes(),
            false => extent(&periodic, &circle.places()),
        };
        let middle = (least + largest) / 2.0;
        let (least, largest) = circle.extremes();
        let range = (middle - least).max(largest - middle).max(LEAST_RANGE);
        let entries = |f: &dyn Fn(f64) -> f64| {
            Function(
                (0..degree)
                    .map(|j| f((j as f64 - degree as f64 / 2.0) / (2 * degree) as f64))
                    .collect(),
            )
        };
        let on_grid = |u: f64| (u + 0.5) * GRID as f64;
        let whole = |(k, f): (usize, &Vec<f64>)| {
            entries(&|v: f64| between(f, on_grid(v / f64::from(1 << k))))
        };
        // Half of the circle holds all of the domain.
        let rest =
            choice.rest.then(|| entries(&|v: f64| between(&periodic, on_grid(2.0 * v)) - middle));
        let bound = samples.iter().fold(0.0f64, |b, y| b.max(y.abs()));
        let slope = choice.slope / ((high - low) / 2.0);
        check_slopes(domain, slope)?;
        Ok(Tables {
            domain,
            slope,
            middle,
            range,
            bound,
            deviation: choice.worst.sqrt(),
            whole: antiperiodic.iter().enumerate().map(whole).collect(),
            rest,
            margin,
            samples,
        })
    }

    /// The interval of the numbers.
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The number of look-ups for each number.
    pub fn look_ups(&self) -> usize {
        self.whole.len() + usize::from(self.rest.is_some())
    }

    /// **The stated error**: the standard deviation of the error at the number of the domain where
    /// it is largest.
    ///
    /// It comes from the index and from the part of the function that no table holds (PEGASUS,
    /// formula 3, with the function itself instead of its slope). Rotations, switches and repacking
    /// add to it; [`crate::Numbers::noise`] contains their part. The error of the numbers
    /// themselves adds [`Tables::deviation_of`].
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The effect on the tables of a normal error of the numbers with this standard deviation.
    ///
    /// It is the standard deviation of the effect on the function, at the number of the domain
    /// where it is largest, without the part of the line.
    pub fn deviation_of(&self, error: f64) -> f64 {
        let ((low, high), margin) = (self.domain, self.margin);
        let (width, slope) = ((high - low) * (1.0 + margin), self.slope * (high - low) / 2.0);
        let circle = Circle { samples: &self.samples, slope, margin };
        // The line continues where the tables start again.
        let step = width / GRID as f64;
        let all = squares(&circle.grid(), &circle.places(), error / step, self.slope * step);
        (largest(all.into_iter()) - (self.slope * error).powi(2)).max(0.0).sqrt()
    }

    /// The bound of the function on the domain.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The line that is added to the tables, `slope (x - centre) + middle`, as `(slope, middle)`.
    pub(crate) fn line(&self) -> (f64, f64) {
        (self.slope, self.middle)
    }

    /// A bound on the absolute values of the sums of the tables, perhaps a little too large.
    pub(crate) fn range(&self) -> f64 {
        self.range
    }

    /// The share of the domain by which numbers may leave it.
    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    /// The tables with values at `scale`. Each comes with the integer by which numbers that take
    /// half of the circle are multiplied.
    pub(crate) fn tables(
        &self,
        parameters: &RotationParameters,
        scale: f64,
    ) -> Result<Vec<(i64, LookupTable)>, PegasusError> {
        let whole = self.whole.iter().enumerate().map(|(k, f)| (2 << k, f));
        let all = whole.chain(self.rest.iter().map(|f| (1, f)));
        let table = |(factor, Function(values)): (i64, &Function)| {
            let half = values.len() as f64 / 2.0;
            // A domain whose entries are the integers.
            let f = |x: f64| values[(x + half) as usize];
            Ok((factor, LookupTable::new(parameters, half, scale, f)?))
        };
        all.map(table).collect()
    }
}

/// The function at `SAMPLES + 1` numbers from end to end of a domain.
pub(crate) fn sampled(
    (low, high): (f64, f64),
    f: impl Fn(f64) -> f64,
) -> Result<Vec<f64>, PegasusError> {
    if !(low.is_finite() && high.is_finite() && low < high) {
        return argument(OPERATION, format!("a domain from {} to {}", Short(low), Short(high)));
    }
    if !(high - low).is_finite() {
        return argument(
            OPERATION,
            format!("a domain from {low:e} to {high:e}, whose length is no number"),
        );
    }
    let point = |i: usize| low + (high - low) * (i as f64 / SAMPLES as f64);
    let samples: Vec<f64> = (0..=SAMPLES).map(|i| f(point(i).min(high))).collect();
    let Some(i) = samples.iter().position(|y| y.is_nan() || y.abs() > MAX_VALUE) else {
        return Ok(samples);
    };
    let (x, y) = (point(i), samples[i]);
    match y.is_finite() {
        false => argument(OPERATION, format!("the function is {y} at {}, not finite", Short(x))),
        true => argument(
            OPERATION,
            format!("the function is {y:e} at {x:e}: values up to {MAX_VALUE:e} are possible"),
        ),
    }
}

/// Checks that the slopes of a function on a domain, the largest of which is given, are finite.
pub(crate) fn check_slopes((low, high): (f64, f64), largest: f64) -> Result<(), PegasusError> {
    match largest.is_finite() {
        true => Ok(()),
        false => argument(
            OPERATION,
            format!("the slope of the function on {low:e} to {high:e} is too large for a number"),
        ),
    }
}

impl Choice {
    fn margin(&self, margin: f64) -> f64 {
        // Without a table on half of the circle, both ends of the domain meet, and no number leaves
        // it.
        if self.rest { margin } else { 0.0 }
    }
}

/// The smallest number of tables whose error is close to the smallest possible.
fn choose(samples: &[f64], deviation: f64, margin: f64, most: usize) -> Choice {
    let chord = (samples[samples.len() - 1] - samples[0]) / 2.0;
    let mut choices = Vec::new();
    for slope in if chord == 0.0 { vec![0.0] } else { vec![chord, 0.0] } {
        for rest in [true, false] {
            // A function whose ends do not meet would jump there.
            if !rest && slope != chord {
                continue;
            }
            let circle = Circle { samples, slope, margin: if rest { margin } else { 0.0 } };
            let places = circle.places();
            let (mut periodic, mut sums) = (circle.grid(), vec![0.0; places.len()]);
            // In steps of the grid.
            let deviation = deviation * GRID as f64;
            for whole in 0..=(most - usize::from(rest)) as u32 {
                if whole > 0 {
                    let (antiperiodic, next) = halves(&periodic, whole - 1);
                    let off = squares(
                        &antiperiodic,
                        &places,
                        deviation / f64::from(1 << (whole - 1)),
                        0.0,
                    );
                    sums.iter_mut().zip(off).for_each(|(sum, square)| *sum += square);
                    periodic = next;
                }
                let last = match rest {
                    true => squares(&periodic, &places, 2.0 * deviation, 0.0),
                    false => {
                        let (low, high) = extent(&periodic, &places);
                        places.iter().map(|i| (periodic[*i] - (low + high) / 2.0).powi(2)).collect()
                    }
                };
                let all: Vec<f64> =
                    sums.iter().zip(last).map(|(sum, square)| sum + square).collect();
                let error = all.iter().sum::<f64>() / all.len() as f64;
                let worst = largest(all.into_iter());
                choices.push(Choice { slope, whole, rest, error, worst });
            }
        }
    }
    choices.retain(|choice| choice.look_ups() > 0);
    // The best choice for each number of look-ups, the fewest look-ups first. A line must pay as
    // another look-up must, because it gives a constant function an error everywhere.
    let rank = |c: &Choice| {
        (
            c.look_ups(),
            if c.slope == 0.0 {
                LOOK_UP_ERROR_FACTOR * LOOK_UP_ERROR_FACTOR * c.error
            } else {
                c.error
            },
        )
    };
    choices.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal));
    let worth = |best: Choice, next: Choice| {
        if next.error < LOOK_UP_ERROR_FACTOR * LOOK_UP_ERROR_FACTOR * best.error {
            next
        } else {
            best
        }
    };
    choices.into_iter().reduce(worth).expect("one table, of half of the circle, is a choice")
}
