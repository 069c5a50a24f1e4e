//! Interpolation at Chebyshev nodes, with a bound of its error.

use super::error_bound::{self, Smoothness};
use crate::{CkksError, circuits::Polynomial};

/// A polynomial with a bound of its error. See [`interpolate`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Approximation {
    /// The polynomial.
    pub polynomial: Polynomial,
    /// A bound of the distance of the polynomial from the function on the given intervals. It holds
    /// for the coefficients as they are stored, evaluated in exact arithmetic.
    pub error: f64,
}

const OPERATION: &str = "interpolate a function";

/// Returns the polynomial of degree `degree` that agrees with `f` at the Chebyshev nodes of `[low,
/// high]`, as [`Polynomial::approximate`] does, with a bound of its error.
///
/// The bound is the largest difference at many nodes plus the largest possible increase between
/// them according to `smoothness`. Coefficients are rounded to `f64`, so errors below about `2^-48`
/// times the function's size cannot be reached.
///
/// ```
/// use hippocrene_ckks::approximation::{interpolate, Smoothness};
///
/// // Every derivative of the sine is at most 1.
/// let smoothness = Smoothness::Derivative { order: 16, bound: 1.0 };
/// let sine = interpolate(f64::sin, -3.0, 3.0, 15, smoothness)?;
/// assert!(sine.error < 1e-9);
/// assert!((sine.polynomial.evaluate(1.0) - 1f64.sin()).abs() <= sine.error);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
///
/// # Errors
/// Fails with [`CkksError::Argument`] if `f` is not finite at a node, the interval is empty, or
/// `smoothness` is out of range.
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

/// Returns the interpolation of lowest degree whose error is at most `error`.
///
/// # Errors
/// Fails as [`interpolate`] does, and with [`CkksError::Argument`] if no degree up to 255 reaches
/// the error.
pub fn interpolate_to(
    f: impl Fn(f64) -> f64,
    low: f64,
    high: f64,
    error: f64,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    const MAX_DEGREE: usize = 255;
    let mut best_error = f64::INFINITY;
    for degree in 0..=MAX_DEGREE {
        let polynomial = Polynomial::approximate(&f, low, high, degree)?;
        // A few values rule out most degrees before the bound is computed.
        let nodes = error_bound::chebyshev_nodes(low, high, 2 * degree + 3);
        let seen = nodes.map(|x| (f(x) - polynomial.evaluate(x)).abs()).fold(0.0, f64::max);
        if seen <= error {
            let bound = error_bound::bound(OPERATION, &f, &polynomial, (low, high), smoothness)?;
            if bound <= error {
                return Ok(Approximation { polynomial, error: bound });
            }
            best_error = best_error.min(bound);
        } else {
            best_error = best_error.min(seen);
        }
    }
    let what = format!(
        "degrees up to {MAX_DEGREE} come within {best_error:.3e}, and {error:.3e} is needed"
    );
    Err(CkksError::Argument { operation: OPERATION, what })
}
