//! A function as a straight line plus several tables, which are more precise than one table.
//!
//! A table is antiperiodic because `X^N = -1`: `T(u + 1/2) = -T(u)` for `u` on the circle
//! `[-1/2, 1/2)` of all residues over the modulus. So one table of an arbitrary function can use
//! only half of the circle. A number that uses the whole circle has twice the resolution. Any
//! function `T` of such a number is a sum of antiperiodic functions of its multiples, and a rest.
//! With `P_0 = T` and
//!
//! `A_k(u) = (P_k(u) - P_k(u + 2^-(k+1)))/2`, `P_(k+1)(u) = (P_k(u) + P_k(u + 2^-(k+1)))/2`,
//!
//! `T = A_0 + .. + A_(K-1) + P_K`. Here `A_k` is an antiperiodic function of `2^k u`. One table at
//! the ciphertext times `2^k` holds it, which multiplies the effect of the index's rounding by
//! `2^-k`.
//!
//! The rest, `P_K`, may be almost constant. Otherwise it needs one more table, at half the
//! resolution. Where `T` is steep, the slopes of the rest are `2^-K` of those of `T`.
//!
//! `T` must have the same value at both ends of the domain. Therefore the chord of the function is
//! subtracted first, and added exactly in slots.
//!
//! For example, `|x|` is `A_0` plus a constant, and `relu(x) = x/2 + |x|/2`. The number of tables
//! is found by trial. For each choice the error is computed, for an index with an error of its
//! standard deviation.

use std::cmp::Ordering;

use hippocrene_ckks::Short;
use hippocrene_fhew::{LookupTable, RotationParameters};

use crate::{PegasusError, error::argument};

const OPERATION: &str = "make tables";

/// Number of intervals that a domain is divided into. The function is linear on each (chosen).
pub(crate) const SAMPLES: usize = 1 << 16;
/// Number of equally spaced points of the circle at which functions have values (chosen).
const GRID_POINTS: usize = 1 << 16;
/// Errors are computed at one in this number of grid points (chosen). These are 16384 points, about
/// 20 for each standard deviation of an index.
const ERROR_STRIDE: usize = 4;
/// The normal distribution as eight equally likely errors. They are the quantiles in the middle of
/// eighths, scaled to a standard deviation of 1.
const INDEX_ERRORS: [f64; 8] = [-1.6629, -0.9615, -0.5301, -0.1702, 0.1702, 0.5301, 0.9615, 1.6629];
/// Maximum ratio of the errors with and without another look-up. If it is larger, the look-up is
/// not worth its time (chosen).
const MAX_LOOK_UP_ERROR_RATIO: f64 = 0.8;
/// The smallest range of tables (chosen).
///
/// Tables are repacked at a scale that grows as the range shrinks. For a function that is almost a
/// line or almost constant, that scale would leave no room for the line and the middle. The error
/// of repacked numbers is a small fraction of the range, so here it is at most about 2^-20.
pub(crate) const MIN_RANGE: f64 = 1.0 / 4096.0;
/// The largest number of tables for a function (chosen).
const MAX_LOOK_UPS: usize = 4;
/// The largest absolute value of a function (chosen). Sums of many squares of such values are
/// finite.
const MAX_VALUE: f64 = 1e100;

/// A function on a domain as tables. [`crate::Pegasus::make_tables`] makes them. See
/// [`crate::Pegasus`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    domain: (f64, f64),
    /// The function is `slope (x - centre) + middle` and the tables.
    slope: f64,
    middle: f64,
    /// A bound on the absolute values of the sums of the tables.
    range: f64,
    /// The largest absolute value of the function on the domain.
    bound: f64,
    deviation: f64,
    /// The entries of the tables of `A_k`.
    antiperiodic: Vec<Entries>,
    /// The entries of the table of `P_K`, if it needs one.
    rest: Option<Entries>,
    margin: f64,
    /// The values of the function itself (see [`sampled`]).
    samples: Vec<f64>,
}

/// The entries of a table: values at the points `-1/4 + j/2N` of the circle, for `j` below the ring
/// degree `N`.
#[derive(Debug, Clone, PartialEq)]
struct Entries(Vec<f64>);

/// A function and the circle that its domain is mapped to.
struct Circle<'a> {
    samples: &'a [f64],
    slope: f64,
    /// The ratio of the circle to the domain, minus 1.
    margin: f64,
}

impl Circle<'_> {
    /// Returns the number at the point `u` of the circle, in `[-1, 1]` within the domain.
    fn number(&self, u: f64) -> f64 {
        2.0 * (u - u.round()) * (1.0 + self.margin)
    }

    /// Returns `T(u)`, the function without its line. Beyond the domain the function is constant.
    fn value(&self, u: f64) -> f64 {
        let x = self.number(u).clamp(-1.0, 1.0);
        let at = (x + 1.0) / 2.0 * (self.samples.len() - 1) as f64;
        let i = (at as usize).min(self.samples.len() - 2);
        let fraction = at - i as f64;
        (1.0 - fraction) * self.samples[i] + fraction * self.samples[i + 1] - self.slope * x
    }

    /// Returns `P_0`, which is `T`, at the grid points.
    fn grid(&self) -> Vec<f64> {
        (0..GRID_POINTS).map(|i| self.value(i as f64 / GRID_POINTS as f64 - 0.5)).collect()
    }

    /// Returns `A_0` to `A_(count-1)`, and `P_count`, at the grid points.
    fn split(&self, count: u32) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut rest = self.grid();
        let antiperiodic = (0..count).map(|k| {
            let (first, next) = halves(&rest, k);
            rest = next;
            first
        });
        (antiperiodic.collect(), rest)
    }

    /// Returns the smallest and the largest value of `T` on the domain.
    fn extremes(&self) -> (f64, f64) {
        let last = (self.samples.len() - 1) as f64;
        let values = self
            .samples
            .iter()
            .enumerate()
            .map(|(i, y)| y - self.slope * (2.0 * i as f64 / last - 1.0));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)))
    }

    /// Returns the grid points at which errors are computed, including both ends of the domain.
    fn places(&self) -> Vec<usize> {
        let half = (GRID_POINTS as f64 / 2.0 / (1.0 + self.margin)).floor() as usize;
        let (first, last) = (GRID_POINTS / 2 - half, (GRID_POINTS / 2 + half).min(GRID_POINTS - 1));
        (first..last).step_by(ERROR_STRIDE).chain([last]).collect()
    }
}

/// Splits `P_k` into `A_k` and `P_(k+1)`, at the grid points.
fn halves(periodic: &[f64], k: u32) -> (Vec<f64>, Vec<f64>) {
    let shifted = |i: usize| periodic[(i + (GRID_POINTS >> (k + 1))) & (GRID_POINTS - 1)];
    let halves =
        periodic.iter().enumerate().map(|(i, y)| ((y - shifted(i)) / 2.0, (y + shifted(i)) / 2.0));
    halves.unzip()
}

/// Returns the value of a function at a position on the circle, in steps of the grid from its
/// start. It interpolates between the two grid points around it.
fn between(values: &[f64], at: f64) -> f64 {
    let below = at.floor();
    let (i, fraction) = ((below as i64 & (GRID_POINTS as i64 - 1)) as usize, at - below);
    (1.0 - fraction) * values[i] + fraction * values[(i + 1) & (GRID_POINTS - 1)]
}

/// Returns the mean square of the error of a function at each of these grid points. The position
/// has a normal error of this standard deviation, in steps of the grid. A straight line with this
/// slope is added to the function.
fn squares(values: &[f64], places: &[usize], deviation: f64, slope: f64) -> Vec<f64> {
    let at = |place: &usize| {
        let error = |node: &f64| {
            let step = node * deviation;
            between(values, *place as f64 + step) - values[*place] + slope * step
        };
        INDEX_ERRORS.iter().map(|node| error(node).powi(2)).sum::<f64>() / INDEX_ERRORS.len() as f64
    };
    places.iter().map(at).collect()
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Returns the smallest and the largest of the values at these grid points.
fn extent(values: &[f64], places: &[usize]) -> (f64, f64) {
    places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), i| {
        (l.min(values[*i]), h.max(values[*i]))
    })
}

/// A choice of line and tables.
struct Choice {
    slope: f64,
    antiperiodic_count: u32,
    rest: bool,
    /// The mean square of the error over the domain. Choices are compared by it, because for a
    /// function with jumps the largest square would say nothing about all other points.
    error: f64,
    /// The largest mean square of the error at a number of the domain.
    largest_square: f64,
}

impl Choice {
    fn look_ups(&self) -> usize {
        self.antiperiodic_count as usize + usize::from(self.rest)
    }
}

impl Tables {
    /// Makes at most `max_look_ups` tables of `f` on a domain.
    ///
    /// `deviation` is the standard deviation of the index, in entries of a table of `parameters`.
    /// `margin` is the distance that numbers may be outside of the domain, relative to its length.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the domain is not an interval of finite length, if `f`
    /// is not finite on it, exceeds `10^100` or is too steep, or if `max_look_ups` is not from 1 to
    /// 4.
    pub(crate) fn new(
        parameters: &RotationParameters,
        deviation: f64,
        margin: f64,
        domain: (f64, f64),
        max_look_ups: usize,
        f: impl Fn(f64) -> f64,
    ) -> Result<Self, PegasusError> {
        if !(1..=MAX_LOOK_UPS).contains(&max_look_ups) {
            return argument(
                OPERATION,
                format!("{max_look_ups} look-ups for a number: 1 to {MAX_LOOK_UPS} are possible"),
            );
        }
        let ((low, high), samples) = (domain, sampled(domain, f)?);
        let degree = parameters.ring().dimension();
        let choice = choose(&samples, deviation / (2 * degree) as f64, margin, max_look_ups);
        let margin = choice.margin(margin);
        let circle = Circle { samples: &samples, slope: choice.slope, margin };
        // The constant that is added in the end is the middle of all values, or of the part without
        // a table.
        let (antiperiodic, periodic) = circle.split(choice.antiperiodic_count);
        let (least, largest) = match choice.rest {
            true => circle.extremes(),
            false => extent(&periodic, &circle.places()),
        };
        let middle = (least + largest) / 2.0;
        let (least, largest) = circle.extremes();
        let range = (middle - least).max(largest - middle).max(MIN_RANGE);
        let entries = |f: &dyn Fn(f64) -> f64| {
            Entries(
                (0..degree)
                    .map(|j| f((j as f64 - degree as f64 / 2.0) / (2 * degree) as f64))
                    .collect(),
            )
        };
        let on_grid = |u: f64| (u + 0.5) * GRID_POINTS as f64;
        let entries_of = |(k, f): (usize, &Vec<f64>)| {
            entries(&|v: f64| between(f, on_grid(v / f64::from(1 << k))))
        };
        // Half of the circle holds the whole domain.
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
            deviation: choice.largest_square.sqrt(),
            antiperiodic: antiperiodic.iter().enumerate().map(entries_of).collect(),
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
        self.antiperiodic.len() + usize::from(self.rest.is_some())
    }

    /// **The stated error**: the standard deviation of the error at the number of the domain where
    /// it is largest.
    ///
    /// It contains the error of the index and the part of the function that no table holds
    /// (PEGASUS, formula 3, with the function itself instead of its slope). Rotations, switches and
    /// repacking add to it. [`crate::Numbers::noise`] contains their part. The error of the numbers
    /// themselves adds [`Tables::deviation_of`].
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Returns the effect on the tables of a normal error of the numbers with this standard
    /// deviation.
    ///
    /// It is the standard deviation of the effect at the number of the domain where it is largest,
    /// without the part of the line.
    pub fn deviation_of(&self, error: f64) -> f64 {
        let ((low, high), margin) = (self.domain, self.margin);
        let (width, slope) = ((high - low) * (1.0 + margin), self.slope * (high - low) / 2.0);
        let circle = Circle { samples: &self.samples, slope, margin };
        // The line continues where the tables start again.
        let step = width / GRID_POINTS as f64;
        let all = squares(&circle.grid(), &circle.places(), error / step, self.slope * step);
        (largest(all.into_iter()) - (self.slope * error).powi(2)).max(0.0).sqrt()
    }

    /// The largest absolute value of the function on the domain.
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

    /// The distance that numbers may be outside of the domain, relative to its length.
    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    /// Returns the tables with values at `scale`. Each comes with an integer factor. Numbers whose
    /// domain is half of the circle are multiplied by it.
    pub(crate) fn tables(
        &self,
        parameters: &RotationParameters,
        scale: f64,
    ) -> Result<Vec<(i64, LookupTable)>, PegasusError> {
        let antiperiodic = self.antiperiodic.iter().enumerate().map(|(k, f)| (2 << k, f));
        let all = antiperiodic.chain(self.rest.iter().map(|f| (1, f)));
        let table = |(factor, Entries(values)): (i64, &Entries)| {
            let half = values.len() as f64 / 2.0;
            // The entries of this domain are at the integers.
            let f = |x: f64| values[(x + half) as usize];
            Ok((factor, LookupTable::new(parameters, half, scale, f)?))
        };
        all.map(table).collect()
    }
}

/// Returns the values of a function at `SAMPLES + 1` numbers from one end of a domain to the other.
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

/// Checks that the largest slope of a function on a domain is finite.
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

/// Returns the choice with the smallest number of tables whose error is close to the smallest
/// possible.
fn choose(samples: &[f64], deviation: f64, margin: f64, max_look_ups: usize) -> Choice {
    let chord = (samples[samples.len() - 1] - samples[0]) / 2.0;
    let mut choices = Vec::new();
    for slope in if chord == 0.0 { vec![0.0] } else { vec![chord, 0.0] } {
        for rest in [true, false] {
            // Without the remainder's table, both ends of the domain are one point of the circle.
            // So the function less the straight line must have the same value at both.
            if !rest && slope != chord {
                continue;
            }
            let circle = Circle { samples, slope, margin: if rest { margin } else { 0.0 } };
            let places = circle.places();
            let (mut periodic, mut sums) = (circle.grid(), vec![0.0; places.len()]);
            // The deviation in steps of the grid.
            let deviation = deviation * GRID_POINTS as f64;
            for count in 0..=(max_look_ups - usize::from(rest)) as u32 {
                if count > 0 {
                    let (antiperiodic, next) = halves(&periodic, count - 1);
                    let square_errors = squares(
                        &antiperiodic,
                        &places,
                        deviation / f64::from(1 << (count - 1)),
                        0.0,
                    );
                    sums.iter_mut().zip(square_errors).for_each(|(sum, square)| *sum += square);
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
                let largest_square = largest(all.into_iter());
                choices.push(Choice {
                    slope,
                    antiperiodic_count: count,
                    rest,
                    error,
                    largest_square,
                });
            }
        }
    }
    choices.retain(|choice| choice.look_ups() > 0);
    // The best choice for each number of look-ups, the fewest look-ups first. A line must reduce
    // the error by the same factor as another look-up, because it gives a constant function an
    // error everywhere.
    let rank = |c: &Choice| {
        (
            c.look_ups(),
            if c.slope == 0.0 {
                MAX_LOOK_UP_ERROR_RATIO * MAX_LOOK_UP_ERROR_RATIO * c.error
            } else {
                c.error
            },
        )
    };
    choices.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal));
    let better = |best: Choice, next: Choice| {
        if next.error < MAX_LOOK_UP_ERROR_RATIO * MAX_LOOK_UP_ERROR_RATIO * best.error {
            next
        } else {
            best
        }
    };
    choices.into_iter().reduce(better).expect("one table, of half of the circle, is a choice")
}
