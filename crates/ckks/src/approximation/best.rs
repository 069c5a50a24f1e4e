//! The best polynomial for a function of a user, of whom nothing need be known.

use super::{
    Approximation, Parity, Smoothness,
    error_bound::{self, chebyshev_nodes},
    minimax::{MOST, OPERATION, exchanged},
};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

/// The best polynomial of a degree up to `degree` on `[low, high]` ([`minimax`](super::minimax)),
/// and a bound of its error. Where the function is even or odd about the middle of the interval, to
/// within the rounding of its values, the polynomial is so too, which takes fewer products.
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
/// As [`minimax`](super::minimax).
pub fn best(
    f: impl Fn(f64) -> f64,
    (low, high): (f64, f64),
    degree: usize,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    Symmetric::new(&f, low, high).best(degree, smoothness)
}

/// [`best`] of the least degree whose error is at most `error`.
///
/// # Errors
/// As [`best`], and [`CkksError::Argument`] when no degree up to 255 reaches the error.
pub fn best_to(
    f: impl Fn(f64) -> f64,
    (low, high): (f64, f64),
    error: f64,
    smoothness: Smoothness,
) -> Result<Approximation, CkksError> {
    if error.is_nan() || error <= 0.0 {
        let what = format!("an error of {error}: it is above 0");
        return Err(CkksError::Argument { operation: OPERATION, what });
    }
    let function = Symmetric::new(&f, low, high);
    // The error falls with the degree: degrees up to `below` miss it, and that of `found` does not.
    let (mut below, mut degree) = (None, 1);
    let mut found = loop {
        let have = function.best(degree, smoothness)?;
        if have.error <= error {
            break have;
        }
        if degree == MOST {
            let what = format!(
                "degrees up to {MOST} come within {:.3e}, not within {error:.3e}",
                have.error
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        below = Some(degree);
        degree = (2 * degree + 1).min(MOST);
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

/// A function on an interval, and whether it is even or odd about the middle.
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

    /// [`best`] on the interval.
    fn best(&self, degree: usize, smoothness: Smoothness) -> Result<Approximation, CkksError> {
        let polynomial = self.polynomial(degree)?;
        let error = error_bound::bound(OPERATION, &self.f, &polynomial, self.ends, smoothness)?;
        Ok(Approximation { polynomial, error })
    }

    /// The best polynomial up to a degree. Of an even or odd function it is so too, and found on
    /// the upper half, with the middle taken to 0.
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
