//! Best approximations on unions of intervals, by the exchange algorithm of Remez.

use std::f64::consts::FRAC_PI_2;

use super::{Smoothness, error_bound, interpolation::Approximation};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

/// The parity of a polynomial: the powers that it may contain. See [`minimax`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    /// The polynomial may contain all powers.
    Any,
    /// Only even powers. The intervals are given for `x >= 0` and also apply to `-x`.
    Even,
    /// Only odd powers. The intervals are given for `x >= 0` and also apply to `-x`.
    Odd,
}

pub(super) const OPERATION: &str = "approximate a function";
/// The largest degree of a minimax polynomial. Chosen.
pub(super) const MAX_DEGREE: usize = 255;
/// Smallest reachable error relative to the function's size, because values and coefficients are
/// rounded.
const RELATIVE_ROUNDING: f64 = 1.0 / (1u64 << 44) as f64;

/// Returns the polynomial up to degree `degree` with the smallest largest distance from `f` on a
/// union of intervals, and a bound of that distance.
///
/// The polynomial is in the Chebyshev basis of the interval from the lowest to the highest end (of
/// `[-high, high]` if it is even or odd). The algorithm is the exchange of Remez. It considers sets
/// of points that have one point more than there are coefficients, and polynomials whose errors at
/// these points are equal in size and alternate in sign. It looks for the one that has no larger
/// error anywhere. The stated error holds for the returned polynomial, whether or not the exchange
/// converged. Numbers are `f64`, so errors below about `2^-44` of the function's size cannot be
/// reached. `smoothness` describes `f` on each interval.
///
/// ```
/// use hippocrene_ckks::approximation::{minimax, Parity, Smoothness};
///
/// // The sign is odd and constant where 1/4 <= |x| <= 1, so all its derivatives are 0.
/// let smooth = Smoothness::Derivative { order: 1, bound: 0.0 };
/// let sign = minimax(f64::signum, &[(0.25, 1.0)], 7, Parity::Odd, smooth)?;
/// assert!(sign.error < 0.15 && (sign.polynomial.evaluate(-0.5) + 1.0).abs() <= sign.error);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
///
/// # Errors
/// Fails with [`CkksError::Argument`] if there are no intervals, if intervals are empty, overlap or
/// are out of order (or reach below 0 for even and odd polynomials), if the degree is above 255, or
/// if `f` is not finite.
pub fn minimax(
    f: impl Fn(f64) -> f64,
    intervals: &[(f64, f64)],
    degree: usize,
    parity: Parity,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    let polynomial = exchanged(&f, intervals, degree, parity)?;
    let mut error = 0f64;
    for &interval in intervals {
        error = error.max(error_bound::bound(OPERATION, &f, &polynomial, interval, smoothness)?);
    }
    Ok(Approximation { polynomial, error })
}

/// Returns the polynomial of [`minimax`] without a bound of its error.
pub(super) fn exchanged(
    f: &dyn Fn(f64) -> f64,
    intervals: &[(f64, f64)],
    degree: usize,
    parity: Parity,
) -> Result<Polynomial, CkksError> {
    let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
    let finite =
        intervals.iter().all(|(low, high)| low.is_finite() && high.is_finite() && low < high);
    if intervals.is_empty() || !finite || intervals.windows(2).any(|w| w[0].1 >= w[1].0) {
        return fail(format!("the intervals {intervals:?} are not some intervals in order"));
    }
    let (low, high) = (intervals[0].0, intervals[intervals.len() - 1].1);
    if parity != Parity::Any && low < 0.0 {
        return fail(format!(
            "the intervals {intervals:?} of an even or odd polynomial reach below 0"
        ));
    }
    if degree > MAX_DEGREE {
        return fail(format!("degree {degree} is too high: {MAX_DEGREE} is the largest possible"));
    }
    let (low, first, step) = match parity {
        Parity::Any => (low, 0, 1),
        Parity::Even => (-high, 0, 2),
        Parity::Odd => (-high, 1, 2),
    };
    let indices: Vec<usize> = (first..=degree).step_by(step).collect();
    if indices.is_empty() {
        return fail(format!("an odd polynomial of degree {degree} is 0"));
    }
    Exchange { f, intervals, parity, basis: Basis::Chebyshev { low, high }, indices }.run()
}

/// The state of the exchange algorithm.
struct Exchange<'a> {
    f: &'a dyn Fn(f64) -> f64,
    intervals: &'a [(f64, f64)],
    parity: Parity,
    basis: Basis,
    /// The degrees of the Chebyshev polynomials that may be used.
    indices: Vec<usize>,
}

impl Exchange<'_> {
    /// Returns the best polynomial that was found.
    ///
    /// The candidates include the interpolation at Chebyshev nodes. They also include the best
    /// polynomial with one coefficient less, unless there is a proof that no polynomial is better.
    /// The proof is de la Vallee-Poussin's: no polynomial has a smaller largest error than the
    /// levelled one has at its points.
    fn run(&self) -> Result<Polynomial, CkksError> {
        const MAX_ROUNDS: usize = 60;
        const MAX_IDLE_ROUNDS: usize = 4;
        let (mut points, mut moved) = (self.first_points(0), false);
        let size = points.iter().map(|x| (self.f)(*x).abs()).fold(0.0, f64::max);
        let mut best = Best { largest: f64::INFINITY, polynomial: None };
        let (mut proven, mut idle) = (0f64, 0);
        for _ in 0..MAX_ROUNDS {
            let (polynomial, levelled) = self.levelled(&points)?;
            let extrema = self.extrema(&polynomial, &points);
            let better = best.take(polynomial, &extrema);
            idle = if better || levelled > proven * (1.0 + 1e-6) { 0 } else { idle + 1 };
            proven = proven.max(levelled);
            match alternating(extrema, points.len()) {
                Some(next) if idle < MAX_IDLE_ROUNDS && best.largest > proven * (1.0 + 1e-13) => {
                    points = next
                }
                // At symmetric points, an even function agrees with an even polynomial, so no error
                // alternates.
                None if !moved => (points, moved) = (self.first_points(1), true),
                _ => break,
            }
        }
        if let Some(interpolation) = self.interpolation() {
            let extrema = self.extrema(&interpolation, &[]);
            best.take(interpolation, &extrema);
        }
        let (_, fewer) = self.indices.split_last().ok_or_else(singular)?;
        if !fewer.is_empty() && best.largest > proven * 1.001 + RELATIVE_ROUNDING * size {
            let smaller = Exchange { indices: fewer.to_vec(), ..*self }.run()?;
            let extrema = self.extrema(&smaller, &[]);
            best.take(smaller, &extrema);
        }
        best.polynomial.ok_or_else(singular)
    }

    /// Returns the polynomial that agrees with the function at Chebyshev nodes, if these lie in a
    /// single interval.
    fn interpolation(&self) -> Option<Polynomial> {
        let (&[(from, _)], Basis::Chebyshev { low, high }) = (self.intervals, self.basis) else {
            return None;
        };
        if from != low && from != 0.0 {
            return None;
        }
        let f = |x: f64| match self.parity {
            Parity::Any => (self.f)(x),
            Parity::Even => (self.f)(x.abs()),
            Parity::Odd if x == 0.0 => 0.0,
            Parity::Odd => x.signum() * (self.f)(x.abs()),
        };
        Polynomial::approximate(f, low, high, *self.indices.last()?).ok()
    }

    /// Returns one point more than there are coefficients, distributed evenly over the intervals,
    /// after `skipped` further points are left out.
    fn first_points(&self, skipped: usize) -> Vec<f64> {
        let (count, parts) = (self.indices.len() + 1 + skipped, self.intervals.len());
        let mut points = Vec::with_capacity(count);
        for (i, &interval) in self.intervals.iter().enumerate() {
            let here = count * (i + 1) / parts - count * i / parts;
            points.extend(self.grid(interval, here));
        }
        points.split_off(skipped)
    }

    /// Returns `count` points of an interval, from left to right. They are dense where the errors
    /// of best polynomials have their extrema.
    ///
    /// They are the extrema of a Chebyshev polynomial, including both ends: `x_j = low cos^2 t_j +
    /// high sin^2 t_j` for equidistant `t_j` from 0 to `pi / 2`. An even polynomial of `x` is a
    /// polynomial of half the degree in `x^2`, and an odd one is `x` times such a polynomial. In
    /// these cases the *squares* of the points are such extrema. On `[0, high]` this gives `high
    /// sin t_j`, half of the extrema on `[-high, high]`, which are dense at `high` only. The
    /// extrema of `[0, high]` itself are also dense at 0, where polynomials of one parity have no
    /// more freedom than elsewhere. A polynomial that is levelled at those points explodes between
    /// the others. Odd polynomials are 0 at 0, which is left out.
    fn grid(&self, (low, high): (f64, f64), count: usize) -> Vec<f64> {
        if count < 2 {
            return vec![0.5 * (low + high); count];
        }
        let skipped = usize::from(self.parity == Parity::Odd && low == 0.0);
        let last = count - 1 + skipped;
        let at = |j: usize| {
            let (sin, cos) = (FRAC_PI_2 * j as f64 / last as f64).sin_cos();
            match self.parity {
                Parity::Any => low * cos * cos + high * sin * sin,
                Parity::Even | Parity::Odd => (low * cos).hypot(high * sin),
            }
        };
        (skipped..=last).map(at).map(|x| x.clamp(low, high)).collect()
    }

    /// Returns the polynomial with errors `e, -e, e, ..` at the points, and `|e|`.
    fn levelled(&self, points: &[f64]) -> Result<(Polynomial, f64), CkksError> {
        let unknowns = points.len();
        let Basis::Chebyshev { low, high } = self.basis else { return Err(singular()) };
        let degree = self.indices[self.indices.len() - 1];
        let mut rows = Vec::with_capacity(unknowns);
        for (j, &x) in points.iter().enumerate() {
            let value = (self.f)(x);
            if !value.is_finite() {
                let what = format!("the function is {value} at {x}");
                return Err(CkksError::Argument { operation: OPERATION, what });
            }
            let y = (2.0 * x - low - high) / (high - low);
            let mut all = vec![1.0, y];
            for k in 2..=degree {
                all.push(2.0 * y * all[k - 1] - all[k - 2]);
            }
            let mut row: Vec<f64> = self.indices.iter().map(|&k| all[k]).collect();
            row.push(if j.is_multiple_of(2) { 1.0 } else { -1.0 });
            row.push(value);
            rows.push(row);
        }
        let solution = solve(rows).ok_or_else(singular)?;
        let mut coefficients = vec![0.0; degree + 1];
        self.indices.iter().zip(&solution).for_each(|(&k, c)| coefficients[k] = *c);
        Ok((Polynomial::new(self.basis, coefficients)?, solution[unknowns - 1].abs()))
    }

    /// Returns the places of the local extrema of the error, with the ends of intervals, from left
    /// to right, and the errors there.
    ///
    /// The search starts from a fine grid and from `points`. If errors alternate at `points`, at
    /// least as many extrema alternate.
    fn extrema(&self, p: &Polynomial, points: &[f64]) -> Vec<(f64, f64)> {
        const GRID_POINTS_PER_INDEX: usize = 12;
        let error = |x: f64| (self.f)(x) - p.evaluate(x);
        let mut found = Vec::new();
        for &(low, high) in self.intervals {
            let mut xs = self.grid((low, high), GRID_POINTS_PER_INDEX * (self.indices.len() + 2));
            xs.extend(points.iter().filter(|x| (low..=high).contains(*x)));
            xs.sort_by(f64::total_cmp);
            xs.dedup();
            let errors: Vec<f64> = xs.iter().map(|x| error(*x)).collect();
            for i in 0..xs.len() {
                let sign = errors[i].signum();
                let lower = |j: usize| sign * errors[j] <= sign * errors[i];
                if (i > 0 && !lower(i - 1)) || (i + 1 < xs.len() && !lower(i + 1)) {
                    continue;
                }
                let (mut a, mut b) = (xs[i.saturating_sub(1)], xs[(i + 1).min(xs.len() - 1)]);
                for _ in 0..24 {
                    let (third, two_thirds) = (a + (b - a) / 3.0, b - (b - a) / 3.0);
                    if sign * error(third) < sign * error(two_thirds) {
                        a = third
                    } else {
                        b = two_thirds
                    }
                }
                let inner = 0.5 * (a + b);
                let refined = error(inner);
                found.push(if sign * refined > sign * errors[i] {
                    (inner, refined)
                } else {
                    (xs[i], errors[i])
                });
            }
        }
        found
    }
}

fn singular() -> CkksError {
    CkksError::Argument {
        operation: OPERATION,
        what: "the intervals are too narrow for this degree in f64".into(),
    }
}

/// The best polynomial so far.
struct Best {
    largest: f64,
    polynomial: Option<Polynomial>,
}

impl Best {
    /// Takes a polynomial with these extrema of its error if it is better.
    fn take(&mut self, polynomial: Polynomial, extrema: &[(f64, f64)]) -> bool {
        let largest = extrema.iter().map(|(_, e)| e.abs()).fold(0.0, f64::max);
        let better = largest < self.largest;
        if better {
            *self = Best { largest, polynomial: Some(polynomial) };
        }
        better
    }
}

/// Returns `count` of the extrema whose signs alternate, preferring large ones, or `None` if there
/// are too few.
///
/// Neighbours of equal sign count as one. Then the smallest extremum is removed together with its
/// smaller neighbour, or alone if it is the first or the last one.
fn alternating(extrema: Vec<(f64, f64)>, count: usize) -> Option<Vec<f64>> {
    let mut chosen: Vec<(f64, f64)> = Vec::new();
    for extremum in extrema {
        match chosen.last_mut() {
            Some(last) if last.1.signum() == extremum.1.signum() => {
                if extremum.1.abs() > last.1.abs() {
                    *last = extremum;
                }
            }
            _ => chosen.push(extremum),
        }
    }
    while chosen.len() > count {
        let size = |i: usize| chosen[i].1.abs();
        let last = chosen.len() - 1;
        let smallest = (0..=last).min_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if chosen.len() == count + 1 || smallest == 0 || smallest == last {
            let end = if size(0) < size(last) { 0 } else { last };
            chosen.remove(end);
        } else {
            let neighbour =
                if size(smallest - 1) < size(smallest + 1) { smallest - 1 } else { smallest };
            chosen.drain(neighbour..neighbour + 2);
        }
    }
    (chosen.len() == count).then(|| chosen.into_iter().map(|(x, _)| x).collect())
}

/// Solves a system of linear equations by Gaussian elimination with partial pivots. The last number
/// of each row is its right-hand side.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        let (above, below) = rows.split_at_mut(k + 1);
        let pivot_row = &above[k];
        if pivot_row[k] == 0.0 {
            return None;
        }
        for row in below {
            let factor = row[k] / pivot_row[k];
            row.iter_mut().zip(pivot_row).skip(k).for_each(|(r, p)| *r -= factor * p);
        }
    }
    let mut solution = vec![0.0; n];
    for k in (0..n).rev() {
        let solved: f64 = (k + 1..n).map(|j| rows[k][j] * solution[j]).sum();
        solution[k] = (rows[k][n] - solved) / rows[k][k];
    }
    Some(solution)
}
