//! A cosine of period 1, for bootstrapping of bits.

use std::f64::consts::TAU;

use super::{Smoothness, interpolate};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

const OPERATION: &str = "approximate a wave";

/// `cos(2 pi x)` for `|x| <= k`, by an even polynomial that approximates `cos(2 pi x / 2^r)` and
/// `r` doublings `y -> 2 y^2 - 1`.
///
/// Unlike [`super::ModularReduction`], it is valid on the whole interval, because values on the
/// circle may be anywhere and not just near the integers. The polynomial is the interpolation at
/// Chebyshev nodes. Its odd coefficients are zero.
///
/// # Examples
/// ```
/// use hippocrene_ckks::approximation::Wave;
///
/// let wave = Wave::new(4, 1, -20.0)?;
/// assert!((wave.apply(1.0) - 1.0).abs() <= wave.error());
/// assert!((wave.apply(2.5) + 1.0).abs() <= wave.error() && wave.error() <= 2f64.powi(-20));
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    polynomial: Polynomial,
    reach: u32,
    doublings: u32,
    error: f64,
}

impl Wave {
    /// Returns the wave of lowest degree whose error after the doublings is at most `2^log2_error`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `1 <= k <= 512`, `1 <= doublings <= 12` and `-40
    /// <= log2_error < 0`. Fails also if no degree up to 254 reaches this error.
    pub fn new(k: u32, doublings: u32, log2_error: f64) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        check_range(k, doublings)?;
        if !(-40.0..0.0).contains(&log2_error) {
            return fail(format!("an error of 2^{log2_error} is not at least 2^-40 and below 1"));
        }
        let reach = f64::from(k);
        let step = TAU / f64::from(1 << doublings);
        // On the Bernstein ellipse of parameter 4 the imaginary part is at most (4 - 1/4) k / 2.
        let smoothness = Smoothness::Analytic { rho: 4.0, bound: (1.875 * reach * step).cosh() };
        let mut best_error = f64::INFINITY;
        // A polynomial of a degree below a quarter of its argument's size has fewer extrema than
        // the cosine.
        let first = (step * reach / 4.0) as usize * 2;
        for degree in (first..=254).step_by(2) {
            let cosine = interpolate(|x| (step * x).cos(), -reach, reach, degree, smoothness)?;
            let error = (0..doublings).fold(cosine.error, |e, _| 4.0 * e + 2.0 * e * e);
            best_error = best_error.min(error);
            if error > log2_error.exp2() {
                continue;
            }
            let mut coefficients = cosine.polynomial.coefficients().to_vec();
            coefficients.iter_mut().skip(1).step_by(2).for_each(|c| *c = 0.0);
            let polynomial =
                Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients)?;
            return Ok(Wave { polynomial, reach: k, doublings, error });
        }
        fail(format!(
            "degrees up to 254 come within 2^{:.2}, and 2^{log2_error:.2} is needed",
            best_error.log2()
        ))
    }

    /// Assembles a wave from stored parts: reach, doublings, coefficients and error bound, as
    /// [`Wave::new`] computed them. This does not check that the polynomial approximates the
    /// cosine.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if a number is out of the range of [`Wave::new`] or the
    /// polynomial is a constant.
    pub fn from_parts(
        k: u32,
        doublings: u32,
        coefficients: Vec<f64>,
        error: f64,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        check_range(k, doublings)?;
        if !(error > 0.0 && error < 1.0) {
            return fail(format!("an error of {error} is not above 0 and below 1"));
        }
        let polynomial = Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, coefficients)?;
        if polynomial.degree() == 0 {
            return fail("the polynomial is a constant".into());
        }
        Ok(Wave { polynomial, reach: k, doublings, error })
    }

    /// The polynomial for `cos(2 pi k y / 2^r)` with `y = x / k`, in the Chebyshev basis of `[-1,
    /// 1]`.
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// The largest absolute value `k` of an argument.
    pub fn reach(&self) -> u32 {
        self.reach
    }

    /// The number of doublings `y -> 2 y^2 - 1` after the polynomial.
    pub fn doublings(&self) -> u32 {
        self.doublings
    }

    /// A bound of the error, in exact arithmetic. Each doubling turns an error `e` into at most `4
    /// e + 2 e^2`.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The depth in products: that of the polynomial plus the number of doublings.
    pub fn depth(&self) -> u32 {
        self.polynomial.depth() as u32 + self.doublings
    }

    /// Evaluates the wave on a plain number.
    pub fn apply(&self, x: f64) -> f64 {
        let y = self.polynomial.evaluate(x / f64::from(self.reach));
        (0..self.doublings).fold(y, |y, _| 2.0 * y * y - 1.0)
    }
}

/// Checks `k` and the number of doublings.
fn check_range(k: u32, doublings: u32) -> Result<(), CkksError> {
    if (1..=512).contains(&k) && (1..=12).contains(&doublings) {
        return Ok(());
    }
    let what = format!("k = {k} and {doublings} doublings are not 1 to 512 and 1 to 12");
    Err(CkksError::Argument { operation: OPERATION, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_below_the_bound_and_not_far_below() {
        for (k, doublings, log2_error) in
            [(17, 3, -12.0), (14, 2, -6.0), (4, 1, -20.0), (1, 5, -30.0)]
        {
            let wave = Wave::new(k, doublings, log2_error).unwrap();
            let reach = f64::from(k);
            let seen = (0..=4000)
                .map(|i| {
                    let x = reach * (f64::from(i) / 2000.0 - 1.0);
                    (wave.apply(x) - (TAU * x).cos()).abs()
                })
                .fold(0.0, f64::max);
            assert!(
                wave.error() <= log2_error.exp2() && wave.error() > 2f64.powf(log2_error - 8.0)
            );
            assert!(
                seen <= wave.error() && seen > 0.05 * wave.error(),
                "{k}: {seen:e} {:e}",
                wave.error()
            );
            let odd = wave.polynomial().coefficients().iter().skip(1).step_by(2);
            assert!(odd.clone().all(|c| *c == 0.0) && wave.polynomial().degree().is_multiple_of(2));
        }
        let wave = Wave::new(17, 3, -12.0).unwrap();
        assert_eq!(wave.depth(), 8);
        let coefficients = wave.polynomial().coefficients().to_vec();
        assert_eq!(Wave::from_parts(17, 3, coefficients, wave.error()).unwrap(), wave);
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        for (k, doublings, log2_error) in
            [(0, 1, -4.0), (513, 1, -4.0), (4, 0, -4.0), (4, 13, -4.0), (4, 1, 0.0)]
        {
            assert!(Wave::new(k, doublings, log2_error).is_err());
        }
        for (k, doublings, coefficients, error) in [
            (0, 1, vec![0.0, 1.0], 0.1),
            (4, 13, vec![0.0, 1.0], 0.1),
            (4, 1, vec![1.0], 0.1),
            (4, 1, vec![], 0.1),
            (4, 1, vec![0.0, f64::NAN], 0.1),
            (4, 1, vec![0.0, 1.0], 0.0),
            (4, 1, vec![0.0, 1.0], f64::NAN),
        ] {
            assert!(Wave::from_parts(k, doublings, coefficients, error).is_err());
        }
        let error = Wave::new(512, 1, -4.0).unwrap_err().to_string();
        assert!(error.contains("degrees up to 254"), "{error}");
    }
}
