//! Interpolation at Chebyshev nodes, with its error.

use super::error_bound::{self, Smoothness};
use crate::{CkksError, circuits::Polynomial};

/// A polynomial and how far it is from the function that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Approximation {
    /// The polynomial.
    pub polynomial: Polynomial,
    /// A bound of its distance from the function, on the intervals where it was asked for: with
    /// these coefficients, in exact arithmetic.
    pub error: f64,
}

const OPERATION: &str = "interpolate a function";

/// The polynomial of degree `degree` that agrees with `f` at the Chebyshev nodes of `[low, high]`,
/// as [`Polynomial::approximate`] gives it, with a bound of its error: the largest difference at
/// many nodes, and what `smoothness` leaves between them. Coefficients are rounded to `f64`, so
/// that errors below about `2^-48` times the function's size are out of reach.
///
/// ```
/// use hippocrene_ckks::approximation::{interpolate, Smoothness};
///
/// // Every derivative of the sine is at most 1.
/// let sine = interpolate(f64::sin, -3.0, 3.0, 15, Smoothness::Derivative { order: 16, bound: 1.0 })?;
/// assert!(sine.error < 1e-9);
/// assert!((sine.polynomial.evaluate(1.0) - 1f64.sin()).abs() <= sine.error);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
///
/// # Errors
/// [`CkksError::Argument`] when `f` is not finite at a node, the interval is empty, or `smoothness`
/// states what cannot be.
pub fn interpolate(
    f: impl Fn(f64) -> f64,
    low: f64,
    high: f64,
    degree: usize,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    let polynomial = Polynomial::approximate(&f, low, high, degree)?;
    let error = error_bound::bound(OPERATION, &f, &polynomial, (low, high), smoothness)?;
    Ok(Approximation { polynomial, error })
}

/// The interpolation of least degree whose error is at most `error`.
///
/// # Errors
/// As [`interpolate`], and [`CkksError::Argument`] when no degree up to 255 reaches the error.
pub fn interpolate_to(
    f: impl Fn(f64) -> f64,
    low: f64,
    high: f64,
    error: f64,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    const MOST: usize = 255;
    let mut reached = f64::INFINITY;
    for degree in 0..=MOST {
        let polynomial = Polynomial::approximate(&f, low, high, degree)?;
        // A few values refuse most degrees, before the bound is computed.
        let nodes = error_bound::chebyshev_nodes(low, high, 2 * degree + 3);
        let seen = nodes.map(|x| (f(x) - polynomial.evaluate(x)).abs()).fold(0.0, f64::max);
        if seen <= error {
            let bound = error_bound::bound(OPERATION, &f, &polynomial, (low, high), smoothness)?;
            if bound <= error {
                return Ok(Approximation { polynomial, error: bound });
            }
            reached = reached.min(bound);
        } else {
            reached = reached.min(seen);
        }
    }
    let what = format!("degrees up to {MOST} come within {reached:.3e}, not within {error:.3e}");
    Err(CkksError::Argument { operation: OPERATION, what })
}
