//! Square roots, logarithms and reciprocals by polynomials, where these beat look-up tables.
//!
//! The error of a table is the slope of the function times the error of the index, about a 500th of
//! the domain. These functions have slopes without a bound.
//!
//! For a square root on a domain from 0, a polynomial of degree `d` has an error of about `0.18/d`
//! of the largest value, everywhere in the domain. For functions that are smooth on the domain, the
//! error is much smaller.

use std::{f64::consts::PI, sync::Arc};

use hippocrene_ckks::{
    CkksError,
    circuits::{Basis, Polynomial},
};
use hippocrene_pegasus::Function;

use crate::server::{
    Server,
    functions::{DEVIATIONS_OF_LARGEST_ERROR, latest::Latest, tables::LARGEST_USEFUL_ERROR},
};
use crate::{EncryptedArray, Error, Interval};

/// Degrees that are tried.
///
/// Each is one less than a power of two, the largest degree of its depth.
const DEGREES: [usize; 8] = [15, 31, 63, 127, 255, 511, 1023, 2047];
/// Target error of a polynomial, relative to the range of the values.
///
/// Larger degrees are not tried once it is reached. Chosen; it is far below the errors of tables,
/// about `2^-11`.
const TARGET_RELATIVE_ERROR: f64 = 1.0 / 65536.0;
/// Maximum ratio of the error of a larger degree to that of the degree before.
const MAX_ERROR_RATIO: f64 = 0.8;
/// Minimum capacity of the result in bits, if the server has no bootstrapping keys.
///
/// Chosen; about one product.
const MIN_RESULT_CAPACITY_BITS: f64 = 24.0;
/// Number of points for each degree of the polynomial at which its error is measured.
///
/// The points are equally spaced in the angle. The error between two of them is larger by at most a
/// 50th (`MAX_RISE_BETWEEN_POINTS`), as a trigonometric polynomial rises by at most `1/cos(pi/16)`.
const POINTS_PER_DEGREE: usize = 8;
const MAX_RISE_BETWEEN_POINTS: f64 = 1.02;
/// Minimum precision of the computation, in bits. Chosen.
const MIN_PRECISION_BITS: f64 = 16.0;

/// The Chebyshev coefficients of a polynomial on `[-1, 1]`, and its maximum distance from the
/// function.
struct Candidate {
    coefficients: Vec<f64>,
    error: f64,
}

/// Polynomials for a function on a domain, in rising order of their degree.
type Found = Result<Arc<[Candidate]>, CkksError>;

/// The latest polynomials. To find them takes up to
/// a second.
static FOUND: Latest<(Function, (f64, f64)), Found> = Latest::new();

impl Server {
    /// Evaluates the function at every element by a polynomial on `domain`.
    ///
    /// `domain` must hold the interval of the array. `other` is the error of the alternative, such
    /// as tables. Returns `None` if no polynomial that fits the capacity has less than half of that
    /// error.
    pub(in crate::server) fn by_polynomial(
        &self,
        a: &EncryptedArray,
        function: Function,
        domain: (f64, f64),
        other: f64,
    ) -> Result<Option<EncryptedArray>, Error> {
        let (low, high) = domain;
        let ends = [function.value(low), function.value(high)];
        let Some(values) =
            Interval::of(ends).filter(|values| values.width().is_finite() && low < high)
        else {
            return Ok(None);
        };
        let dry = self.dry_run()?;
        let stand_in = dry.stand_in(a)?;
        let candidates =
            FOUND.get_or_search((function, domain), || candidates(function, domain, values))?;
        for candidate in candidates.iter().rev() {
            let is_useful =
                candidate.error < (0.5 * other).min(LARGEST_USEFUL_ERROR * values.bound());
            if is_useful && dry.by_candidate(&stand_in, candidate, domain, values)?.is_some() {
                return self.by_candidate(a, candidate, domain, values);
            }
        }
        Ok(None)
    }

    /// Evaluates one polynomial at every element, or returns `None` if it does not fit the capacity
    /// or the parameters.
    fn by_candidate(
        &self,
        a: &EncryptedArray,
        candidate: &Candidate,
        (low, high): (f64, f64),
        values: Interval,
    ) -> Result<Option<EncryptedArray>, Error> {
        let precision = candidate.precision(TARGET_RELATIVE_ERROR * values.width());
        let Ok(product) = self.session.settings().scale_of(precision) else { return Ok(None) };
        let factors = vec![2.0 / (high - low); a.size()];
        let shifts = vec![-(low + high) / (high - low); a.size()];
        let finer = a.clone().with_precision(precision, &self.session)?;
        // The product sets slots without an element to 0, the middle of the domain.
        let scaled = match self.mul_plain(&finer, factors.as_slice()) {
            Err(Error::Capacity { .. }) => return Ok(None),
            scaled => scaled?,
        };
        let mut unit = self.add_plain(&scaled, shifts.as_slice())?;
        unit.set_bound(1.0);
        let basis = Basis::Chebyshev { low: -1.0, high: 1.0 };
        let polynomial = Polynomial::new(basis, candidate.coefficients.clone())?;
        let left = self.bootstrap_reserve().unwrap_or(MIN_RESULT_CAPACITY_BITS);
        let need =
            polynomial.depth() as f64 * product.log2() + values.bound().max(1.0).log2() + left;
        if unit.capacity_bits(&self.session) < need {
            return Ok(None);
        }
        let result = match self.polynomial(&unit, &polynomial) {
            Err(Error::Capacity { .. }) => return Ok(None),
            result => result?,
        };
        let mut result = result.with_precision(a.precision(), &self.session)?;
        let error = (-result.precision_bits(&self.session)).exp2();
        let error = error.hypot(candidate.error / DEVIATIONS_OF_LARGEST_ERROR);
        result.set_bound(values.bound() + candidate.error);
        let result = result.with_precision_bits(-error.log2(), &self.session)?;
        Ok(Some(result.with_known_interval(values)))
    }
}

impl Candidate {
    /// Returns the precision of the argument that the polynomial needs, in bits.
    ///
    /// At this precision, the errors of values and powers make at most half of the error of the
    /// polynomial, or half of `aim` if that is larger. The errors of the `k`-th Chebyshev
    /// polynomial are up to `k^2` times those of its argument.
    fn precision(&self, aim: f64) -> f64 {
        let steepness: f64 =
            self.coefficients.iter().enumerate().map(|(k, c)| (k * k) as f64 * c.abs()).sum();
        (2.0 * steepness.max(1.0) / self.error.max(aim)).log2().max(MIN_PRECISION_BITS)
    }
}

/// Returns polynomials for a function on a domain, in rising order of their degree.
///
/// `values` is the range of the function on the domain.
fn candidates(function: Function, (low, high): (f64, f64), values: Interval) -> Found {
    // The clamp keeps rounded arguments inside of the domain, and its ends exact.
    let f = |x: f64| function.value((0.5 * (low + high) + 0.5 * (high - low) * x).clamp(low, high));
    let mut all: Vec<Candidate> = Vec::new();
    for degree in DEGREES {
        let candidate = near_best(f, degree)?;
        let best = all.last().map_or(f64::INFINITY, |last| last.error);
        if candidate.error < MAX_ERROR_RATIO * best {
            all.push(candidate);
        }
        if all.last().is_some_and(|last| last.error <= TARGET_RELATIVE_ERROR * values.width()) {
            break;
        }
    }
    Ok(all.into())
}

/// Returns a polynomial of this degree with nearly the smallest possible maximum error.
///
/// With `c` the coefficients of the Chebyshev series and `d` those of interpolation at this degree,
/// the coefficients are `2c - d`. This is the truncated series less the extra error of
/// interpolation. Its constant is then shifted so that the largest errors of both signs are equal.
fn near_best(f: impl Fn(f64) -> f64, degree: usize) -> Result<Candidate, CkksError> {
    let series = Polynomial::approximate(&f, -1.0, 1.0, 2 * degree + 1)?;
    let interpolation = Polynomial::approximate(&f, -1.0, 1.0, degree)?;
    let pairs = series.coefficients().iter().zip(interpolation.coefficients());
    let mut coefficients: Vec<f64> = pairs.map(|(c, d)| 2.0 * c - d).collect();
    let polynomial =
        Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients.clone())?;
    let count = POINTS_PER_DEGREE * (degree + 1);
    let errors = (0..=count).map(|k| {
        let x = (PI * k as f64 / count as f64).cos();
        polynomial.evaluate(x) - f(x)
    });
    let (least, largest) = errors
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), error| (l.min(error), h.max(error)));
    coefficients[0] -= least.midpoint(largest);
    Ok(Candidate { coefficients, error: MAX_RISE_BETWEEN_POINTS * (largest - least) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_roots_from_0_are_off_by_as_much_as_is_stated() {
        let f = |x: f64| (0.5 * (1.0 + x)).max(0.0).sqrt();
        for degree in [15, 255] {
            let Candidate { coefficients, error } = near_best(f, degree).unwrap();
            let p =
                Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients).unwrap();
            let off = |k: u32| {
                let x = (f64::from(k) * 1e-4).cos();
                (p.evaluate(x) - f(x)).abs()
            };
            let worst = (0..=31416).map(off).fold(0.0, f64::max);
            assert!(worst <= error && error < 1.05 * worst, "{worst} and {error}");
            assert!(error < 0.2 / degree as f64, "{error}");
        }
    }

    #[test]
    fn smooth_functions_take_small_degrees() {
        let values = Interval::new(0.25, 1.0).unwrap();
        let all = candidates(Function::Reciprocal, (1.0, 4.0), values).unwrap();
        let last = all.last().unwrap();
        assert!(
            last.coefficients.len() <= 32 && last.error < TARGET_RELATIVE_ERROR,
            "{}",
            last.error
        );
    }
}
