//! Compositions of polynomials that approximate the sign where `gap <= |x| <= 1`.
//!
//! A single polynomial would need a degree proportional to `1 / gap`. In a composition, each
//! polynomial moves values closer to `-1` and `1`, and the depth is proportional to `log(1 / gap)`
//! (Cheon, Kim, Kim, ePrint 2019/1234: CKK20). There are two kinds:
//! - [`CompositeSign::iterated`]: CKK20's `g_n`, which moves small values away from 0, followed by
//!   `f_n`, which moves values near 1 closer to it.
//! - [`CompositeSign::minimax`]: each polynomial is the best odd one for the range of the one
//!   before (Lee, Lee, No, Kim, ePrint 2020/834: LLNK22). [`CompositeSign::least`] chooses the
//!   degrees.

mod iterated;
mod search;

pub(crate) use search::useful_degrees;

use super::{
    Parity, Smoothness,
    error_bound::{chebyshev_nodes, from_samples},
    minimax::minimax,
};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

/// Odd polynomials, each applied to the result of the one before, that together approximate the
/// sign where `gap <= |x| <= 1`. All are in the Chebyshev basis of `[-1, 1]`.
///
/// # Examples
/// ```
/// use hippocrene_ckks::approximation::sign::CompositeSign;
///
/// let sign = CompositeSign::least(0.125, 0.01)?;
/// assert!((sign.apply(-0.2) + 1.0).abs() <= sign.error() && sign.error() <= 0.01);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeSign {
    stages: Vec<Polynomial>,
    /// Bounds of the absolute values before the first stage and after each stage.
    ranges: Vec<(f64, f64)>,
}

const OPERATION: &str = "approximate the sign";
const BASIS: Basis = Basis::Chebyshev { low: -1.0, high: 1.0 };

impl CompositeSign {
    /// Returns `g` times `g_n` followed by `f` times `f_n` (CKK20). These polynomials have degree
    /// `2n + 1`, where `n` is 1 to 4.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `1 <= n <= 4`, `2^-30 <= gap < 1` and there are 1
    /// to 64 polynomials.
    pub fn iterated(n: usize, g: usize, f: usize, gap: f64) -> Result<Self, CkksError> {
        let (Some(g_n), Some(f_n)) = (iterated::g(n), iterated::f(n)) else {
            let what = format!("f_{n} and g_{n} do not exist: n is 1 to {}", iterated::MAX_INDEX);
            return Err(CkksError::Argument { operation: OPERATION, what });
        };
        if !(1..=64).contains(&g.saturating_add(f)) {
            let what = format!("{g} and {f} polynomials are not 1 to 64 in total");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let mut sign = Self::start(gap)?;
        for i in 0..g + f {
            let coefficients = if i < g { &g_n } else { &f_n };
            sign.push(Polynomial::new(BASIS, coefficients.clone())?)?;
        }
        Ok(sign)
    }

    /// Returns the best odd polynomials of these degrees, each for the range of the one before
    /// (LLNK22). Among all compositions of these degrees, this one has the smallest error. All
    /// polynomials but the last are divided by their largest value, so that the arguments of the
    /// next one lie in `[-1, 1]`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `2^-30 <= gap < 1`, there are 1 to 64 polynomials,
    /// and their degrees are odd numbers from 3 to 63.
    pub fn minimax(degrees: &[usize], gap: f64) -> Result<Self, CkksError> {
        let good = |d: &usize| (3..=63).contains(d) && !d.is_multiple_of(2);
        if !(1..=64).contains(&degrees.len()) || !degrees.iter().all(good) {
            let what = format!("the degrees {degrees:?} are not 1 to 64 odd numbers from 3 to 63");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let mut sign = Self::start(gap)?;
        for (i, &degree) in degrees.iter().enumerate() {
            let polynomial = best(degree, sign.range().0)?;
            if i + 1 == degrees.len() {
                sign.push(polynomial)?;
            } else {
                let (_, high) = range(&polynomial, sign.range());
                let divided = polynomial.coefficients().iter().map(|c| c / high).collect();
                sign.push(Polynomial::new(BASIS, divided)?)?;
            }
        }
        Ok(sign)
    }

    /// Returns the minimax composition with an error of at most `error` that has the least depth
    /// and, among these, the fewest products of ciphertexts. Its degrees are at most 31.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `2^-30 <= gap < 1` and `2^-40 <= error < 1`.
    pub fn least(gap: f64, error: f64) -> Result<Self, CkksError> {
        Self::start(gap)?;
        if !(2f64.powi(-40)..1.0).contains(&error) {
            let what = format!("an error of {error:e} is not at least 2^-40 and below 1");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        // The search uses values at the ends of ranges, which the bounds exceed a little.
        let mut best_error = f64::INFINITY;
        for tries in 0..8 {
            let sign = Self::minimax(&search::degrees(gap, error * 0.9f64.powi(tries))?, gap)?;
            if sign.error() <= error {
                return Ok(sign);
            }
            best_error = best_error.min(sign.error());
        }
        let what =
            format!("numbers of 53 bits come within {best_error:e}, and {error:e} is needed");
        Err(CkksError::Argument { operation: OPERATION, what })
    }

    /// The polynomials in the order in which they are applied.
    pub fn stages(&self) -> &[Polynomial] {
        &self.stages
    }

    /// Bounds of the absolute values, from below and above: first those of the argument, then those
    /// after each polynomial.
    ///
    /// Declare the upper bound for a ciphertext after each polynomial. The bound that
    /// [`Evaluator::polynomial`](crate::Evaluator::polynomial) derives from the coefficients is
    /// larger than 1.
    pub fn ranges(&self) -> &[(f64, f64)] {
        &self.ranges
    }

    /// The smallest absolute value of an argument whose sign is approximated.
    pub fn gap(&self) -> f64 {
        self.ranges[0].0
    }

    /// Returns a bound of the distance from the sign where `gap <= |x| <= 1`.
    pub fn error(&self) -> f64 {
        let (low, high) = self.range();
        (1.0 - low).max(high - 1.0)
    }

    /// The depth in products.
    pub fn depth(&self) -> usize {
        self.stages.iter().map(Polynomial::depth).sum()
    }

    /// The number of products of ciphertexts that an evaluation needs.
    pub fn products(&self) -> usize {
        self.stages.iter().map(Polynomial::products).sum()
    }

    /// Evaluates the composition on a plain number.
    pub fn apply(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, p| p.evaluate(x))
    }

    /// Returns the empty composition for a gap.
    fn start(gap: f64) -> Result<Self, CkksError> {
        if (2f64.powi(-30)..1.0).contains(&gap) {
            return Ok(CompositeSign { stages: Vec::new(), ranges: vec![(gap, 1.0)] });
        }
        let what = format!("a gap of {gap:e} is not at least 2^-30 and below 1");
        Err(CkksError::Argument { operation: OPERATION, what })
    }

    /// Bounds of the absolute values after the last stage.
    fn range(&self) -> (f64, f64) {
        self.ranges[self.stages.len()]
    }

    /// Appends a polynomial, which has to keep the sign.
    fn push(&mut self, polynomial: Polynomial) -> Result<(), CkksError> {
        let (low, high) = range(&polynomial, self.range());
        if low <= 0.0 {
            let (degree, from) = (polynomial.degree(), self.range().0);
            let what = format!(
                "a polynomial of degree {degree} in f64 does not keep the sign of values of \
                 {from:e}"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        self.ranges.push((low, high));
        self.stages.push(polynomial);
        Ok(())
    }
}

/// Returns the best odd polynomial that approximates 1 on `[low, 1]`.
pub(crate) fn best(degree: usize, low: f64) -> Result<Polynomial, CkksError> {
    let smooth = Smoothness::Derivative { order: 1, bound: 0.0 };
    Ok(minimax(|_| 1.0, &[(low, 1.0)], degree, Parity::Odd, smooth)?.polynomial)
}

/// Returns bounds of the values of a polynomial on `[low, high]`, from its values at the Chebyshev
/// nodes of pieces. Where the values come near 0, pieces are halved until the lower bound has a
/// relative error of at most 1e-4.
pub(crate) fn range(p: &Polynomial, (low, high): (f64, f64)) -> (f64, f64) {
    let samples = 16 * (p.degree() + 1);
    let rounding = 4.0 * f64::EPSILON * p.coefficients().iter().map(|c| c.abs()).sum::<f64>();
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut pieces = vec![(low, high)];
    while let Some((from, to)) = pieces.pop() {
        let (mut below, mut above) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in chebyshev_nodes(from, to, samples) {
            let value = p.evaluate(x);
            below = below.min(value);
            above = above.max(value);
        }
        let (middle, half) = (0.5 * (below + above), 0.5 * (above - below));
        let around = from_samples(half, samples, p.degree(), 0.0);
        let bound = middle - around - rounding;
        if below > 0.0 && around - half > 1e-4 * bound && to - from > 1e-9 * high {
            let between = 0.5 * (from + to);
            pieces.extend([(from, between), (between, to)]);
        } else {
            least = least.min(bound);
            largest = largest.max(middle + around + rounding);
        }
    }
    (least, largest)
}
