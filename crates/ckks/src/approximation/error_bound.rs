//! Bounds of the distance between a polynomial and a function, from finitely many values of both.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::{CkksError, circuits::Polynomial};

/// Knowledge about a function on an interval. See [`interpolate`](super::interpolate) for an
/// example.
///
/// Finitely many values alone do not bound an error. This knowledge gives a bound of `E_m`, the
/// distance of the function from the polynomials of degree `m`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Smoothness {
    /// The derivative of order `order >= 1` exists (the one before it is absolutely continuous),
    /// and its absolute values are at most `bound`. A Lipschitz constant is a bound of order 1.
    Derivative {
        /// The order of the derivative.
        order: u32,
        /// The bound of the absolute values of the derivative.
        bound: f64,
    },
    /// The function is analytic in the open Bernstein ellipse of parameter `rho > 1` (foci at the
    /// ends of the interval, sum of the semi-axes `rho` times half the interval's length), and its
    /// absolute values there are at most `bound`.
    Analytic {
        /// The sum of the semi-axes divided by half the interval's length.
        rho: f64,
        /// The bound of the absolute values.
        bound: f64,
    },
    /// Nothing is known, and `E_m` is *estimated* from the Chebyshev coefficients beyond `m`.
    ///
    /// Those up to `2m` are computed from values, and the others are assumed to have the same sum.
    /// This holds if coefficients decrease as `k^-2` (functions with kinks) or faster. For
    /// functions with jumps, the stated error is a small multiple of the jump. The estimate fails
    /// for a function whose values at thousands of points do not show its behaviour in between.
    Sampled,
}

impl Smoothness {
    /// Returns a bound of `E_m` on an interval of length `2 half`.
    ///
    /// For derivatives it is Jackson's `(pi/2)^k half^k bound / ((m+1) m .. (m-k+2))` for `m >= k`
    /// (Cheney, Introduction to Approximation Theory, 4.6). For analytic functions it is `2 bound
    /// rho^-m / (rho - 1)` (Trefethen, Approximation Theory and Approximation Practice, Theorem
    /// 8.2). `values` are the function's values at more than `2m` Chebyshev nodes.
    fn distance(self, half: f64, m: usize, values: &[f64]) -> f64 {
        match self {
            Smoothness::Derivative { order, bound } => {
                let factors = (0..order).map(|j| FRAC_PI_2 * half / (m + 1 - j as usize) as f64);
                factors.product::<f64>() * bound
            }
            Smoothness::Analytic { rho, bound } => {
                2.0 * bound * rho.powi(-(m as i32)) / (rho - 1.0)
            }
            Smoothness::Sampled => 2.0 * coefficients_beyond(m, values),
        }
    }

    /// Checks that the numbers are in range.
    fn check(self, operation: &'static str) -> Result<(), CkksError> {
        let good = match self {
            Smoothness::Derivative { order, bound } => {
                (1..=64).contains(&order) && bound.is_finite() && bound >= 0.0
            }
            Smoothness::Analytic { rho, bound } => {
                rho > 1.0 && rho.is_finite() && bound.is_finite() && bound >= 0.0
            }
            Smoothness::Sampled => true,
        };
        let what = || {
            format!(
                "{self:?} is out of range: orders are 1 to 64, rho is above 1, bounds are finite \
                 and not negative"
            )
        };
        if good { Ok(()) } else { Err(CkksError::Argument { operation, what: what() }) }
    }
}

/// Returns the sum of the absolute values of the coefficients `m + 1 .. 2m` of the Chebyshev series
/// with these values at the Chebyshev nodes. The rounding of the values is subtracted from each
/// coefficient.
fn coefficients_beyond(m: usize, values: &[f64]) -> f64 {
    let n = values.len();
    // Angles are multiples of pi / 2n, and there are 4n of them.
    let cosines: Vec<f64> = (0..4 * n).map(|j| (FRAC_PI_2 * j as f64 / n as f64).cos()).collect();
    let rounding = 4.0 * f64::EPSILON * values.iter().map(|v| v.abs()).fold(0.0, f64::max);
    let coefficient = |k: usize| {
        let (mut at, mut sum) = (k, 0.0);
        for value in values {
            sum += value * cosines[at];
            at = (at + 2 * k) % (4 * n);
        }
        ((2.0 * sum / n as f64).abs() - rounding).max(0.0)
    };
    (m + 1..=2 * m).map(coefficient).sum()
}

/// Returns a bound of `|e|` on an interval, where `e` is within `distance` of a polynomial of
/// degree `m`, and `|e|` is at most `largest` at the `samples > m` Chebyshev nodes of the interval.
///
/// The bound is `(largest + distance) / cos(m pi / (2 samples)) + distance`. It follows because a
/// polynomial of degree `m` exceeds its largest value at these nodes by at most a factor of one
/// over that cosine (Ehlich and Zeller, Math. Z. 86, 1964).
pub(super) fn from_samples(largest: f64, samples: usize, m: usize, distance: f64) -> f64 {
    (largest + distance) / (FRAC_PI_2 * m as f64 / samples as f64).cos() + distance
}

/// Returns the `count` Chebyshev nodes of `[low, high]`, from high to low.
pub(super) fn chebyshev_nodes(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    (0..count).map(move |j| middle + half * (PI * (j as f64 + 0.5) / count as f64).cos())
}

/// Returns a bound of `|f - p|` on `[low, high]`, including the rounding of both values in `f64`.
/// It assumes that `f` has a relative error of at most `2^-52`.
pub(super) fn bound(
    operation: &'static str,
    f: &dyn Fn(f64) -> f64,
    p: &Polynomial,
    (low, high): (f64, f64),
    smoothness: Smoothness,
) -> Result<f64, CkksError> {
    smoothness.check(operation)?;
    // An estimate computes sums over all values, once for each coefficient, so it uses fewer
    // values.
    let most = if smoothness == Smoothness::Sampled { 1 << 11 } else { 1 << 14 };
    let half = 0.5 * (high - low);
    // Powers of two for all degrees ensure that a polynomial of higher degree never gets a larger
    // error only because of its degree.
    let mut m = p.degree().max(64).next_power_of_two();
    loop {
        let samples = 8 * m;
        let (mut largest, mut size, mut values) = (0f64, 0f64, Vec::with_capacity(samples));
        for x in chebyshev_nodes(low, high, samples) {
            let value = f(x);
            if !value.is_finite() {
                return Err(CkksError::Argument {
                    operation,
                    what: format!("the function is {value} at {x}"),
                });
            }
            largest = largest.max((value - p.evaluate(x)).abs());
            size = size.max(value.abs());
            values.push(value);
        }
        let distance = smoothness.distance(half, m, &values);
        if distance <= largest / 64.0 || m >= most {
            // The recurrence of the evaluation rounds each term once for each degree.
            let often =
                p.coefficients().iter().enumerate().map(|(k, c)| (k + 1) as f64 * c).collect();
            let terms = Polynomial::new(p.basis(), often)?.bound(low.abs().max(high.abs()));
            let rounding = f64::EPSILON * (size + terms);
            return Ok(from_samples(largest, samples, m, distance) + rounding);
        }
        m *= 2;
    }
}
