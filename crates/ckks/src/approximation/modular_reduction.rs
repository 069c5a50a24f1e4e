//! `x - round(x)` for bootstrapping, by a cosine, doublings and an arcsine.

use std::f64::consts::TAU;

use super::{
    Smoothness,
    cosine::{Cosine, CosineInterpolation},
    error_bound,
    least_degree::Coefficients,
};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

const OPERATION: &str = "approximate the reduction modulo 1";

/// The function `x -> x - round(x)` for `|x| <= k - 1 + epsilon` with `|x - round(x)| <= epsilon`,
/// by polynomials (HK20).
///
/// - A polynomial of `x`, or an even one of `x - 1/4`, approximates `cos(2 pi (x - 1/4) / 2^r)`.
/// - `r` doublings `y -> 2 y^2 - 1` turn it into `sin(2 pi x)`.
/// - A polynomial for `arcsin(y) / (2 pi)`, or just `y / (2 pi)`, gives `x - round(x)`. Without the
///   arcsine, the error is at least `6.6 epsilon^3`.
///
/// The cosine's polynomial has the lowest degree with a sufficient error bound, among those whose
/// coefficients are not much larger than the cosine's own. Interpolations of lower degree oscillate
/// strongly between the intervals and would multiply the noise of their argument. With few
/// doublings for a large `k` (`2^r` below about `k / 4`), they are interpolations on the whole
/// interval. Even polynomials of `x - 1/4` always are. Their degree is higher, but their evaluation
/// needs half as many powers, and so fewer products at the same depth.
///
/// # Examples
/// ```
/// use hippocrene_ckks::approximation::ModularReduction;
///
/// let reduction = ModularReduction::new(4, -6.0, -14.0, 2, 0)?;
/// assert!((reduction.apply(3.01) - 0.01).abs() <= reduction.error());
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModularReduction {
    cosine: Polynomial,
    reach: f64,
    doublings: u32,
    arcsine: Option<Polynomial>,
    epsilon: f64,
    error: f64,
    /// True if the result is to be `sin(2 pi x) / (2 pi)` instead.
    is_sine: bool,
}

impl ModularReduction {
    /// Returns the reduction of lowest degree whose error bound, with doublings and arcsine, is at
    /// most `2^log2_error`. `arcsine_degree` is odd, or 0 for no arcsine.
    ///
    /// Coefficients are `f64`, so errors below about `2^(2r - 56)` cannot be reached, where `r` is
    /// the number of doublings.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `1 <= k <= 512`, `-40 <= log2_epsilon <= -2`,
    /// `doublings <= 12` and `arcsine_degree` is 0 or odd and at most 63. Fails also if the error
    /// cannot be reached; the message then states the error that can.
    pub fn new(
        k: u32,
        log2_epsilon: f64,
        log2_error: f64,
        doublings: u32,
        arcsine_degree: usize,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if arcsine_degree > 63 || (arcsine_degree != 0 && arcsine_degree.is_multiple_of(2)) {
            return fail(format!(
                "the arcsine's degree is {arcsine_degree}, which is neither 0 nor odd and at most \
                 63"
            ));
        }
        if !(-1000.0..0.0).contains(&log2_error) {
            return fail(format!("an error of 2^{log2_error} is not at least 2^-1000 and below 1"));
        }
        let cosine = Cosine::new(k, log2_epsilon, doublings, log2_error.max(-60.0) - 8.0)?;
        let (error, epsilon) = (log2_error.exp2(), log2_epsilon.exp2());
        // The sine's own error is below 2 pi times that of the result.
        let range = ((TAU * epsilon).sin() + TAU * error).min(1.0);
        if arcsine_degree > 0 && range >= 1.0 {
            return fail(format!(
                "the arcsine needs values below 1: 2^{log2_epsilon} and an error of \
                 2^{log2_error} are too large"
            ));
        }
        let arcsine = Arcsine::new(arcsine_degree, range, epsilon)?;
        Self::with_last_step((k, cosine), arcsine, epsilon, error, doublings)
    }

    /// Returns the reduction of lowest degree for `sin(2 pi x) / (2 pi)` instead of `x - round(x)`.
    /// Its error bound, in the unit of `x`, is at most `2^log2_error`.
    ///
    /// The values may fill most of the range up to `epsilon = 1/4`, since the sine is a one-to-one
    /// function there. A function of `x - round(x)` is then a function of the sine: a Fourier
    /// series on a part of the period.
    ///
    /// # Errors
    /// As [`ModularReduction::new`].
    pub fn sine(
        k: u32,
        log2_epsilon: f64,
        log2_error: f64,
        doublings: u32,
    ) -> Result<Self, CkksError> {
        if !(-1000.0..0.0).contains(&log2_error) {
            let what = format!("an error of 2^{log2_error} is not at least 2^-1000 and below 1");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let cosine = Cosine::new(k, log2_epsilon, doublings, log2_error.max(-60.0) - 8.0)?;
        let sine = Arcsine { polynomial: None, error: 0.0, slope: 1.0 / TAU };
        let (epsilon, error) = (log2_epsilon.exp2(), log2_error.exp2());
        let reduction = Self::with_last_step((k, cosine), sine, epsilon, error, doublings)?;
        Ok(ModularReduction { is_sine: true, ..reduction })
    }

    /// Chooses the polynomial of the cosine, whose reach is `k`, for a last step.
    fn with_last_step(
        (k, cosine): (u32, Cosine),
        arcsine: Arcsine,
        epsilon: f64,
        error: f64,
        doublings: u32,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        let log2_error = error.log2();
        let room = (error - arcsine.error) / arcsine.slope;
        if room <= 0.0 {
            let (have, degree) = (arcsine.error.log2(), arcsine.degree());
            return fail(format!(
                "an arcsine of degree {degree} comes within 2^{have:.2}, and 2^{log2_error:.2} is \
                 needed"
            ));
        }
        let interpolations =
            [cosine.least_degree(room, Coefficients::Rounded), cosine.least_even_degree(room)];
        let interpolation = cheapest(interpolations).map_err(|reached| {
            let have = (arcsine.error + arcsine.slope * reached).log2();
            let what = format!(
                "coefficients of 53 bits come within 2^{have:.2} after {doublings} doublings, and \
                 2^{log2_error:.2} is needed"
            );
            CkksError::Argument { operation: OPERATION, what }
        })?;
        Ok(ModularReduction {
            error: arcsine.error + arcsine.slope * interpolation.error,
            cosine: interpolation.polynomial,
            reach: f64::from(k),
            doublings,
            epsilon,
            arcsine: arcsine.polynomial,
            is_sine: false,
        })
    }

    /// Assembles a reduction from stored parts, as [`ModularReduction::new`] computed them. This
    /// does not check that the polynomials approximate their functions.
    ///
    /// `cosine` has the coefficients in the Chebyshev basis of `[-k, k]` (of `x - 1/4` if the
    /// polynomial is even). `arcsine` has the coefficients in the monomial basis and is empty if
    /// there is no arcsine.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if a number is out of the range of
    /// [`ModularReduction::new`] or a polynomial is constant or has no coefficients.
    pub fn from_parts(
        cosine: Vec<f64>,
        k: u32,
        doublings: u32,
        arcsine: Vec<f64>,
        epsilon: f64,
        error: f64,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !(1..=512).contains(&k) || doublings > 12 {
            return fail(format!(
                "k = {k} and {doublings} doublings are not 1 to 512 and at most 12"
            ));
        }
        if !((-40.0..=-2.0).contains(&epsilon.log2()) && error > 0.0 && error < 1.0) {
            return fail(format!(
                "epsilon = {epsilon} and an error of {error} are not 2^-40 to 2^-2 and below 1"
            ));
        }
        let reach = f64::from(k);
        let basis = Basis::Chebyshev { low: -reach, high: reach };
        let arcsine = match arcsine.is_empty() {
            true => None,
            false => Some(Polynomial::new(Basis::Monomial, arcsine)?),
        };
        let cosine = Polynomial::new(basis, cosine)?;
        if cosine.degree() == 0 || arcsine.as_ref().is_some_and(|p| p.degree() == 0) {
            return fail("a polynomial is a constant".into());
        }
        Ok(ModularReduction { cosine, reach, doublings, arcsine, epsilon, error, is_sine: false })
    }

    /// The polynomial for `cos(2 pi (x - 1/4) / 2^doublings)`, in the Chebyshev basis of `[-reach,
    /// reach]`. Its argument is `x` minus the [shift](Self::shift).
    pub fn cosine(&self) -> &Polynomial {
        &self.cosine
    }

    /// The number that is subtracted from `x` before the cosine's polynomial: 1/4 if that is even,
    /// because the cosine is even in `x - 1/4`, and 0 otherwise.
    pub fn shift(&self) -> f64 {
        if self.cosine.is_even() { 0.25 } else { 0.0 }
    }

    /// The end `k` of the interval of the cosine's polynomial.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// The number of doublings `y -> 2 y^2 - 1` after the cosine. The result of these is `sin(2 pi
    /// x)`.
    pub fn doublings(&self) -> u32 {
        self.doublings
    }

    /// The odd polynomial for `y -> arcsin(y) / (2 pi)`, in the monomial basis. Without one, the
    /// result is `y / (2 pi)`.
    pub fn arcsine(&self) -> Option<&Polynomial> {
        self.arcsine.as_ref()
    }

    /// The largest distance `epsilon` of `x` from an integer.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// A bound of the error of the result: see [`ModularReduction::log2_error`].
    pub fn error(&self) -> f64 {
        self.error
    }

    /// log2 of a bound of the error of the result, in the unit of `x`, for the actual coefficients
    /// of the polynomials and in exact arithmetic.
    pub fn log2_error(&self) -> f64 {
        self.error.log2()
    }

    /// The depth in products, for an argument that is already divided by the [reach](Self::reach)
    /// (one more otherwise). Without an arcsine it does not include the factor `1 / (2 pi)`.
    pub fn depth(&self) -> u32 {
        let cosine = (self.cosine.degree() + 1).next_power_of_two().trailing_zeros();
        let arcsine = self.arcsine.as_ref().map_or(0, |p| p.depth() as u32);
        cosine + self.doublings + arcsine
    }

    /// The exact result for `x`: `x - round(x)`, or the sine.
    pub fn exact(&self, x: f64) -> f64 {
        if self.is_sine { (TAU * x).sin() / TAU } else { x - x.round() }
    }

    /// Whether the result is `sin(2 pi x) / (2 pi)` instead of `x - round(x)`.
    pub fn is_sine(&self) -> bool {
        self.is_sine
    }

    /// Evaluates the reduction on a plain number.
    pub fn apply(&self, x: f64) -> f64 {
        let mut y = self.cosine.evaluate(x - self.shift());
        for _ in 0..self.doublings {
            y = 2.0 * y * y - 1.0;
        }
        self.arcsine.as_ref().map_or(y / TAU, |p| p.evaluate(y))
    }
}

/// Returns the interpolation with the least depth. Ties go to the fewest products, and then to the
/// first. If there is none, it returns the smallest error.
fn cheapest(found: [Result<CosineInterpolation, f64>; 2]) -> Result<CosineInterpolation, f64> {
    let cost = |p: &Polynomial| ((p.degree() + 1).next_power_of_two(), p.products());
    match found {
        [Ok(a), Ok(b)] => Ok(if cost(&b.polynomial) < cost(&a.polynomial) { b } else { a }),
        [Err(a), Err(b)] => Err(a.min(b)),
        [Ok(one), Err(_)] | [Err(_), Ok(one)] => Ok(one),
    }
}

/// The last step, after the sine.
struct Arcsine {
    polynomial: Option<Polynomial>,
    /// A bound of the distance from `arcsin(y) / (2 pi)`.
    error: f64,
    /// A bound of the absolute value of the polynomial's derivative.
    slope: f64,
}

impl Arcsine {
    /// The degree, or 0 for no arcsine.
    fn degree(&self) -> usize {
        self.polynomial.as_ref().map_or(0, Polynomial::degree)
    }

    /// Returns the last step for `|y| <= range`, where the exact sine is at most `sin(2 pi
    /// epsilon)`.
    fn new(degree: usize, range: f64, epsilon: f64) -> Result<Self, CkksError> {
        if degree == 0 {
            let error = epsilon - (TAU * epsilon).sin() / TAU;
            return Ok(Arcsine { polynomial: None, error, slope: 1.0 / TAU });
        }
        let f = |y: f64| y.asin() / TAU;
        let series = Polynomial::approximate(f, -range, range, degree)?;
        let mut coefficients = monomials(series.coefficients(), range);
        coefficients.iter_mut().step_by(2).for_each(|c| *c = 0.0);
        let polynomial = Polynomial::new(Basis::Monomial, coefficients)?;
        // The arcsine is analytic between -1 and 1. It is at most pi / 2 where |z| < 1, which
        // includes the ellipse that ends at -1 and 1.
        let rho = (1.0 + (1.0 - range * range).sqrt()) / range;
        let smoothness = Smoothness::Analytic { rho, bound: 0.25 };
        let error = error_bound::bound(OPERATION, &f, &polynomial, (-range, range), smoothness)?;
        let terms = polynomial.coefficients().iter().enumerate().skip(1);
        let slope = terms.map(|(i, c)| i as f64 * c.abs() * range.powi(i as i32 - 1)).sum();
        Ok(Arcsine { polynomial: Some(polynomial), error, slope })
    }
}

/// Converts a sum of Chebyshev polynomials of `[-range, range]` to coefficients in the monomial
/// basis.
fn monomials(chebyshev: &[f64], range: f64) -> Vec<f64> {
    let count = chebyshev.len();
    let mut out = vec![0.0; count];
    let (mut t0, mut t1) = (vec![0.0; count], vec![0.0; count]);
    t0[0] = 1.0;
    if count > 1 {
        t1[1] = 1.0;
    }
    for c in chebyshev {
        out.iter_mut().zip(&t0).for_each(|(o, t)| *o += c * t);
        let mut next = vec![0.0; count];
        for i in 0..count {
            next[i] = 2.0 * if i == 0 { 0.0 } else { t1[i - 1] } - t0[i];
        }
        t0 = std::mem::replace(&mut t1, next);
    }
    out.iter_mut().enumerate().for_each(|(i, c)| *c /= range.powi(i as i32));
    out
}
