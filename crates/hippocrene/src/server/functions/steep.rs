//! Square roots, logarithms and reciprocals by polynomials, where these are more precise than
//! look-up tables.
//!
//! A table is off by the slope of the function times the error of an index, about a 500th of the
//! domain, and these functions have slopes without a bound. A polynomial of degree `d` is off by
//! about `0.18/d` of the largest value for a square root from 0, everywhere in the domain, and by
//! much less for functions that are smooth on it.

use std::f64::consts::PI;

use hippocrene_ckks::circuits::{Basis, Polynomial};
use hippocrene_pegasus::Function;

use crate::server::{Server, functions::tables::LARGEST_USEFUL_ERROR};
use crate::{EncryptedArray, Error, Interval};

/// Degrees that are tried. One more than each is a power of two, so that each takes all the depth
/// that it has.
const DEGREES: [usize; 8] = [15, 31, 63, 127, 255, 511, 1023, 2047];
/// A polynomial with this error is precise enough, relative to the range of the values: a larger
/// degree is not tried. Chosen; it is far below the errors of tables, about a 2^-11th.
const PRECISE: f64 = 1.0 / 65536.0;
/// A larger degree has to lower the error by this factor at least.
const MAX_ERROR_RATIO: f64 = 0.8;
/// The bits of capacity that are left at least, where the server has no bootstrapping keys. Chosen;
/// about one product.
const LEFT_BITS: f64 = 24.0;
/// Errors are measured at this many places for each degree of the polynomial, equally spaced in the
/// angle. The error between two of them is larger by a 50th at most: `1/cos(pi/16)` for a
/// trigonometric polynomial.
const PLACES_PER_DEGREE: usize = 8;
const RISE_BETWEEN_PLACES: f64 = 1.02;
/// The precision of the computation is no less, in bits. Chosen.
const LEAST_PRECISION: f64 = 16.0;

/// A polynomial on `[-1, 1]`, and its largest distance from the function.
struct Candidate {
    coefficients: Vec<f64>,
    error: f64,
}

impl Server {
    /// The function of every element by a polynomial on `domain`, which holds the interval of the
    /// array. Returns `None` if no polynomial has less than half of the error `other` with the
    /// capacity that there is.
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
        let left = self.bootstrap_reserve().unwrap_or(LEFT_BITS);
        for candidate in candidates(function, domain, values)?.into_iter().rev() {
            if candidate.error >= (0.5 * other).min(LARGEST_USEFUL_ERROR * values.bound()) {
                continue;
            }
            let precision = candidate.precision(PRECISE * values.width());
            if self.session.settings().scale_of(precision).is_err() {
                continue;
            }
            let factors = vec![2.0 / (high - low); a.size()];
            let shifts = vec![-(low + high) / (high - low); a.size()];
            let finer = a.clone().with_precision(precision, &self.session)?;
            // The product sets slots without an element to 0, the middle of the domain.
            let scaled = match self.mul_plain(&finer, factors.as_slice()) {
                Err(Error::Capacity { .. }) => continue,
                scaled => scaled?,
            };
            let mut unit = self.add_plain(&scaled, shifts.as_slice())?;
            unit.set_bound(1.0);
            let polynomial =
                Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, candidate.coefficients)?;
            let product = self.session.settings().scale_of(precision)?.log2();
            let need = polynomial.depth() as f64 * product + values.bound().max(1.0).log2() + left;
            if unit.capacity_bits(&self.session) < need {
                continue;
            }
            let result = match self.polynomial(&unit, &polynomial) {
                Err(Error::Capacity { .. }) => continue,
                result => result?,
            };
            let mut result = result.with_precision(a.precision(), &self.session)?;
            let error = (-result.precision_bits(&self.session)).exp2().hypot(candidate.error);
            result.set_bound(values.bound() + candidate.error);
            return Ok(Some(
                result.with_precision_bits(-error.log2(), &self.session)?.within(values),
            ));
        }
        Ok(None)
    }
}

impl Candidate {
    /// The precision, in bits, at which errors of the values and of powers make half of the error
    /// of the polynomial at most, or half of `aim` if that is larger. Those of the `k`-th Chebyshev
    /// polynomial are up to `k^2` times as large.
    fn precision(&self, aim: f64) -> f64 {
        let steepness: f64 =
            self.coefficients.iter().enumerate().map(|(k, c)| (k * k) as f64 * c.abs()).sum();
        (2.0 * steepness.max(1.0) / self.error.max(aim)).log2().max(LEAST_PRECISION)
    }
}

/// Polynomials for a function on a domain, whose values are in this interval, in rising order of
/// their degree.
fn candidates(
    function: Function,
    (low, high): (f64, f64),
    values: Interval,
) -> Result<Vec<Candidate>, Error> {
    // Ends of the domain are exact, and numbers next to them do not leave it.
    let f = |x: f64| function.value((0.5 * (low + high) + 0.5 * (high - low) * x).clamp(low, high));
    let mut all: Vec<Candidate> = Vec::new();
    for degree in DEGREES {
        let candidate = near_best(f, degree)?;
        let best = all.last().map_or(f64::INFINITY, |last| last.error);
        if candidate.error < MAX_ERROR_RATIO * best {
            all.push(candidate);
        }
        if all.last().is_some_and(|last| last.error <= PRECISE * values.width()) {
            break;
        }
    }
    Ok(all)
}

/// A polynomial of this degree whose largest error is little more than the least that is possible:
/// the Chebyshev series cut off at it, less the part by which interpolation is worse, and with the
/// largest errors of both signs made equal.
fn near_best(f: impl Fn(f64) -> f64, degree: usize) -> Result<Candidate, Error> {
    let series = Polynomial::approximate(&f, -1.0, 1.0, 2 * degree + 1)?;
    let interpolation = Polynomial::approximate(&f, -1.0, 1.0, degree)?;
    let pairs = series.coefficients().iter().zip(interpolation.coefficients());
    let mut coefficients: Vec<f64> = pairs.map(|(c, d)| 2.0 * c - d).collect();
    let polynomial =
        Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients.clone())?;
    let count = PLACES_PER_DEGREE * (degree + 1);
    let errors = (0..=count).map(|k| {
        let x = (PI * k as f64 / count as f64).cos();
        polynomial.evaluate(x) - f(x)
    });
    let (least, largest) = errors
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), error| (l.min(error), h.max(error)));
    coefficients[0] -= least.midpoint(largest);
    Ok(Candidate { coefficients, error: RISE_BETWEEN_PLACES * (largest - least) / 2.0 })
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
        assert!(last.coefficients.len() <= 32 && last.error < PRECISE, "{}", last.error);
    }
}
