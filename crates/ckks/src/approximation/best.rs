//! The best polynomial for an arbitrary function of a user.

use super::{
    Approximation, Parity, Smoothness,
    error_bound::{self, chebyshev_nodes},
    minimax::{MAX_DEGREE, OPERATION, exchanged},
};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

/// Returns the best polynomial up to degree `degree` on `[low, high]` ([`minimax`](super::minimax))
/// and a bound of its error.
///
/// If the function is even or odd about the middle of the interval, within the rounding of its
/// values, so is the polynomial. It then needs fewer products.
///
/// ```
/// use hippocrene_ckks::approximation::{best, Smoothness};
///
/// let p = best(f64::tanh, (-4.0, 4.0), 16, Smoothness::Sampled)?;
/// assert!(p.error < 0.004 && p.polynomial.degree() == 15);
/// assert_eq!(p.polynomial.coefficients()[2], 0.0);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
///
/// # Errors
/// Fails as [`minimax`](super::minimax) does.
pub fn best(
    f: impl Fn(f64) -> f64,
    (low, high): (f64, f64),
    degree: usize,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    Symmetric::new(&f, low, high).best(degree, smoothness)
}

/// Returns [`best`] of the lowest degree whose error is at most `error`.
///
/// # Errors
/// Fails as [`best`] does, and with [`CkksError::Argument`] if no degree up to 255 reaches the
/// error.
pub fn best_to(
    f: impl Fn(f64) -> f64,
    (low, high): (f64, f64),
    error: f64,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    if error.is_nan() || error <= 0.0 {
        let what = format!("an error of {error} is not above 0");
        return Err(CkksError::Argument { operation: OPERATION, what });
    }
    let function = Symmetric::new(&f, low, high);
    // The error decreases with the degree. Degrees up to `below` are too low, and that of `found`
    // is high enough.
    let (mut below, mut degree) = (None, 1);
    let mut found = loop {
        let have = function.best(degree, smoothness)?;
        if have.error <= error {
            break have;
        }
        if degree == MAX_DEGREE {
            let what = format!(
                "degrees up to {MAX_DEGREE} come within {:.3e}, and {error:.3e} is needed. Request a \
                 larger error, or take a smaller domain. It must hold no pole.",
                have.error
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        below = Some(degree);
        degree = (2 * degree + 1).min(MAX_DEGREE);
    };
    let mut least = below.map_or(0, |degree| degree + 1);
    while least < degree {
        let middle = (least + degree) / 2;
        let have = function.best(middle, smoothness)?;
        if have.error <= error {
            (found, degree) = (have, middle);
        } else {
            least = middle + 1;
        }
    }
    Ok(found)
}

/// A function on an interval, with its parity about the middle.
struct Symmetric<'a> {
    f: &'a dyn Fn(f64) -> f64,
    ends: (f64, f64),
    parity: Parity,
}

impl<'a> Symmetric<'a> {
    fn new(f: &'a dyn Fn(f64) -> f64, low: f64, high: f64) -> Self {
        const NODES: usize = 128;
        let values: Vec<f64> = chebyshev_nodes(low, high, NODES).map(f).collect();
        let rounding = 8.0 * f64::EPSILON * values.iter().map(|v| v.abs()).fold(0.0, f64::max);
        let mirrored = |sign: f64| {
            values.iter().zip(values.iter().rev()).all(|(x, y)| (x - sign * y).abs() <= rounding)
        };
        let parity = match (mirrored(1.0), mirrored(-1.0)) {
            (true, _) => Parity::Even,
            (_, true) => Parity::Odd,
            _ => Parity::Any,
        };
        Symmetric { f, ends: (low, high), parity }
    }

    /// Returns [`best`] on the interval.
    fn best(&self, degree: usize, smoothness: Smoothness) -> Result<Approximation, CkksError> {
        let polynomial = self.polynomial(degree)?;
        let error = error_bound::bound(OPERATION, &self.f, &polynomial, self.ends, smoothness)?;
        Ok(Approximation { polynomial, error })
    }

    /// Returns the best polynomial up to a degree. If the function is even or odd, so is the
    /// polynomial. It is then computed on the upper half, with the middle moved to 0.
    fn polynomial(&self, degree: usize) -> Result<Polynomial, CkksError> {
        let (low, high) = self.ends;
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        if self.parity == Parity::Any {
            return exchanged(self.f, &[self.ends], degree, Parity::Any);
        }
        let basis = Basis::Chebyshev { low, high };
        if degree == 0 && self.parity == Parity::Odd {
            return Polynomial::new(basis, vec![0.0]);
        }
        let centred = |x: f64| (self.f)(middle + x);
        let found = exchanged(&centred, &[(0.0, half)], degree, self.parity)?;
        Polynomial::new(basis, found.coefficients().to_vec())
    }
}
