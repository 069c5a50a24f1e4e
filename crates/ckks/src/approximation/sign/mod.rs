//! Compositions of polynomials that come close to the sign where `gap <= |x| <= 1`.
//!
//! A single polynomial would need a degree in proportion to `1 / gap`; a composition, each
//! polynomial of which takes what is far from `-1` and `1` nearer to them, needs a depth in
//! proportion to `log(1 / gap)` (Cheon, Kim, Kim, ePrint 2019/1234: CKK20). There are two kinds:
//! - [`CompositeSign::iterated`]: CKK20's `g_n`, which takes small values away from 0, then `f_n`,
//!   which takes values near 1 nearer;
//! - [`CompositeSign::minimax`]: each polynomial is the best odd one for what the one before left
//!   (Lee, Lee, No, Kim, ePrint 2020/834: LLNK22), and [`CompositeSign::least`] chooses the
//!   degrees.

mod iterated;
mod search;

pub(crate) use search::degrees_of_use;

use super::{
    Parity, Smoothness,
    error_bound::{chebyshev_nodes, from_samples},
    minimax::minimax,
};
use crate::{
    CkksError,
    circuits::{Basis, Polynomial},
};

/// Odd polynomials, each applied to the result of the one before: close to the sign where `gap <=
/// |x| <= 1`. All are written in the Chebyshev basis of `[-1, 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeSign {
    stages: Vec<Polynomial>,
    /// Where the absolute values lie before the first stage and after each.
    ranges: Vec<(f64, f64)>,
}

const OPERATION: &str = "approximate the sign";
const BASIS: Basis = Basis::Chebyshev { low: -1.0, high: 1.0 };

impl CompositeSign {
    /// `g_n` so many times, then `f_n` so many times (CKK20): polynomials of degree `2n + 1`, where
    /// `n` is 1 to 4.
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless `1 <= n <= 4`, `2^-30 <= gap < 1` and there are 1 to 64
    /// polynomials.
    pub fn iterated(n: usize, g: usize, f: usize, gap: f64) -> Result<Self, CkksError> {
        let (Some(g_n), Some(f_n)) = (iterated::g(n), iterated::f(n)) else {
            let what = format!("f_{n} and g_{n}: n is 1 to {}", iterated::MOST);
            return Err(CkksError::Argument { operation: OPERATION, what });
        };
        if !(1..=64).contains(&g.saturating_add(f)) {
            let what = format!("{g} and {f} polynomials: there are 1 to 64");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let mut sign = Self::start(gap)?;
        for i in 0..g + f {
            let coefficients = if i < g { &g_n } else { &f_n };
            sign.push(Polynomial::new(BASIS, coefficients.clone())?)?;
        }
        Ok(sign)
    }

    /// The best odd polynomials of these degrees, each for the range that the one before leaves
    /// (LLNK22): of all compositions of these degrees, the one of least error. All but the last are
    /// divided by their largest value, so that what the next one is given lies in `[-1, 1]`.
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless `2^-30 <= gap < 1`, there are 1 to 64 polynomials, and their
    /// degrees are odd, 3 to 63.
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

    /// The minimax composition that comes within `error`, is least deep, and of those takes the
    /// fewest products of ciphertexts. Degrees are 31 at most.
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless `2^-30 <= gap < 1` and `2^-40 <= error < 1`.
    pub fn least(gap: f64, error: f64) -> Result<Self, CkksError> {
        Self::start(gap)?;
        if !(2f64.powi(-40)..1.0).contains(&error) {
            let what = format!("an error of {error:e} is asked for: it is 2^-40 to 1");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        // The search goes by values at the ends of ranges, which the bounds exceed a little.
        let mut reached = f64::INFINITY;
        for tries in 0..8 {
            let sign = Self::minimax(&search::degrees(gap, error * 0.9f64.powi(tries))?, gap)?;
            if sign.error() <= error {
                return Ok(sign);
            }
            reached = reached.min(sign.error());
        }
        let what = format!("numbers of 53 bits come within {reached:e}, not within {error:e}");
        Err(CkksError::Argument { operation: OPERATION, what })
    }

    /// The polynomials, first applied first.
    pub fn stages(&self) -> &[Polynomial] {
        &self.stages
    }

    /// Bounds of the absolute values, below and above: first those of the argument, then those that
    /// each polynomial leaves. (They are the bounds to declare for a ciphertext after each: what
    /// [`Evaluator::polynomial`](crate::Evaluator::polynomial) finds from the coefficients is
    /// larger than 1.)
    pub fn ranges(&self) -> &[(f64, f64)] {
        &self.ranges
    }

    /// The least absolute value of an argument.
    pub fn gap(&self) -> f64 {
        self.ranges[0].0
    }

    /// A bound of the distance from the sign where `gap <= |x| <= 1`.
    pub fn error(&self) -> f64 {
        let (low, high) = self.range();
        (1.0 - low).max(high - 1.0)
    }

    /// How many multiplications deep it is.
    pub fn depth(&self) -> usize {
        self.stages.iter().map(Polynomial::depth).sum()
    }

    /// How many products of ciphertexts it takes.
    pub fn products(&self) -> usize {
        self.stages.iter().map(Polynomial::products).sum()
    }

    /// The same on plain numbers.
    pub fn apply(&self, x: f64) -> f64 {
        self.stages.iter().fold(x, |x, p| p.evaluate(x))
    }

    fn start(gap: f64) -> Result<Self, CkksError> {
        if (2f64.powi(-30)..1.0).contains(&gap) {
            return Ok(CompositeSign { stages: Vec::new(), ranges: vec![(gap, 1.0)] });
        }
        let what = format!("the gap is {gap:e}: it is 2^-30 to 1, and below 1");
        Err(CkksError::Argument { operation: OPERATION, what })
    }

    /// Where the absolute values lie after the last stage.
    fn range(&self) -> (f64, f64) {
        self.ranges[self.stages.len()]
    }

    fn push(&mut self, polynomial: Polynomial) -> Result<(), CkksError> {
        let (low, high) = range(&polynomial, self.range());
        if low <= 0.0 {
            let (degree, from) = (polynomial.degree(), self.range().0);
            let what = format!(
                "in f64, a polynomial of degree {degree} does not keep the sign of values of {from:e}"
            );
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        self.ranges.push((low, high));
        self.stages.push(polynomial);
        Ok(())
    }
}

/// The best odd polynomial for 1 on `[low, 1]`.
pub(crate) fn best(degree: usize, low: f64) -> Result<Polynomial, CkksError> {
    let smooth = Smoothness::Derivative { order: 1, bound: 0.0 };
    Ok(minimax(|_| 1.0, &[(low, 1.0)], degree, Parity::Odd, smooth)?.polynomial)
}

/// Bounds of the values of a polynomial on `[low, high]`, from values at Chebyshev nodes of pieces.
/// Where the values come near 0, at the lower end and at the minima in between, pieces are halved
/// until the lower bound is right to 1e-4 of itself.
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
