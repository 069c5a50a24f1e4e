//! Polynomials in the monomial and the Chebyshev basis.

use std::{cmp::Ordering, f64::consts::PI};

use hippocrene_rlwe::stop;
use serde::{Deserialize, Serialize};

use super::polynomial_evaluation::depth_of;
use crate::{BigFloat, CkksError, Short};

/// The basis of a polynomial. See [`Polynomial`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Basis {
    /// `1, x, x^2, ..`.
    Monomial,
    /// The Chebyshev polynomials `T_i` of the interval `[low, high]`: `T_i(cos t) = cos(i t)` after
    /// the interval is mapped to `[-1, 1]`.
    Chebyshev {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// A polynomial with real coefficients in the monomial or the Chebyshev basis.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::{Basis, Polynomial};
///
/// let square = Polynomial::new(Basis::Monomial, vec![1.0, 0.0, 2.0])?; // 1 + 2 x^2
/// assert_eq!((square.evaluate(3.0), square.degree(), square.depth()), (19.0, 2, 2));
///
/// let sine = Polynomial::approximate(f64::sin, -1.0, 1.0, 7)?;
/// assert!((sine.evaluate(0.5) - 0.5f64.sin()).abs() < 1e-6);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredPolynomial")]
pub struct Polynomial {
    basis: Basis,
    coefficients: Vec<f64>,
}

/// The stored form of a [`Polynomial`], which may be invalid.
#[derive(Deserialize)]
struct StoredPolynomial {
    basis: Basis,
    coefficients: Vec<f64>,
}

impl TryFrom<StoredPolynomial> for Polynomial {
    type Error = CkksError;

    fn try_from(stored: StoredPolynomial) -> Result<Self, CkksError> {
        Polynomial::new(stored.basis, stored.coefficients)
    }
}

impl Polynomial {
    /// The largest degree that [`Polynomial::approximate`] accepts, `2^20`. Its run time is
    /// proportional to the square of the degree.
    pub const MAX_APPROXIMATION_DEGREE: usize = 1 << 20;

    /// Creates a polynomial from its coefficients, lowest degree first. Zeros at the end are
    /// dropped.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if there are no coefficients, one is not finite, or the
    /// interval is empty, longer than the largest double or shorter than the inverse of that.
    pub fn new(basis: Basis, mut coefficients: Vec<f64>) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: "make a polynomial", what });
        if let Some((i, c)) = coefficients.iter().enumerate().find(|(_, c)| !c.is_finite()) {
            return fail(format!("coefficient {i} is {c}"));
        }
        if let Basis::Chebyshev { low, high } = basis {
            let interval = format!("the interval [{}, {}]", Short(low), Short(high));
            if !(low.is_finite() && high.is_finite() && low < high) {
                return fail(format!("{interval} is empty"));
            }
            let length = high - low;
            if !(length.is_finite() && (2.0 / length).is_finite()) {
                return fail(format!(
                    "{interval} is too long or too short: neither its length nor the inverse may \
                     overflow a double"
                ));
            }
        }
        trim(&mut coefficients);
        if coefficients.is_empty() {
            fail("there are no coefficients".into())
        } else {
            Ok(Polynomial { basis, coefficients })
        }
    }

    /// Returns the polynomial of degree `degree` that agrees with `f` at the Chebyshev nodes of
    /// `[low, high]`. Its error is within a small factor of the best approximation of this degree.
    ///
    /// If the values at the nodes are exactly those of a function that is even or odd about the
    /// middle of the interval, so is the polynomial. It then needs fewer products.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if `f` is not finite at a node, the interval is empty or
    /// has no finite length, or the degree is above [`Polynomial::MAX_APPROXIMATION_DEGREE`].
    pub fn approximate(
        f: impl Fn(f64) -> f64,
        low: f64,
        high: f64,
        degree: usize,
    ) -> Result<Self, CkksError> {
        if degree > Self::MAX_APPROXIMATION_DEGREE {
            let most = Self::MAX_APPROXIMATION_DEGREE;
            let what = format!("degree {degree} is too high: {most} is the largest possible");
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        if !(high - low).is_finite() {
            let what =
                format!("the interval [{}, {}] has no finite length", Short(low), Short(high));
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        let n = degree + 1;
        let angle = |k: usize| PI * (k as f64 + 0.5) / n as f64;
        // Nodes in the upper half are exactly the negatives of those in the lower half.
        let cosine = |k: usize| match (2 * k + 1).cmp(&n) {
            Ordering::Less => angle(k).cos(),
            Ordering::Equal => 0.0,
            Ordering::Greater => -angle(n - 1 - k).cos(),
        };
        let (centre, reach) = (0.5 * (low + high), 0.5 * (high - low));
        let node = |k: usize| centre + reach * cosine(k);
        let values: Vec<f64> = (0..n).map(|k| f(node(k))).collect();
        if let Some((k, value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            let what = format!("the function is {value} at {}", Short(node(k)));
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        let mirrored =
            |sign: f64| values.iter().zip(values.iter().rev()).all(|(x, y)| *x == sign * y);
        let (even, odd) = (mirrored(1.0), mirrored(-1.0));
        // `cos(m pi / 2n)`: these are all values among the `cos(i angle(k))`.
        let cosines: Vec<f64> =
            (0..4 * n).map(|m| (PI * m as f64 / (2 * n) as f64).cos()).collect();
        let coefficient = |i: usize| {
            stop::check("approximate a function")?;
            let none = if i.is_multiple_of(2) { odd } else { even };
            if none {
                return Ok(0.0);
            }
            let mut m = i;
            let mut sum = 0.0;
            for value in &values {
                sum += value * cosines[m];
                m = (m + 2 * i) % (4 * n);
            }
            Ok(sum * if i == 0 { 1.0 } else { 2.0 } / n as f64)
        };
        let coefficients: Result<_, CkksError> = (0..n).map(coefficient).collect();
        Self::new(Basis::Chebyshev { low, high }, coefficients?)
    }

    /// The basis.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// The coefficients, lowest degree first.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The degree, which is 0 for constants.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Whether the polynomial is an even function on an interval around 0: every coefficient of odd
    /// degree is 0. Constants are even.
    pub fn is_even(&self) -> bool {
        let centred = self.affine().is_none_or(|(_, shift)| shift == 0.0);
        centred && self.coefficients.iter().skip(1).step_by(2).all(|c| *c == 0.0)
    }

    /// The largest depth of its evaluation on ciphertexts, in products: `ceil(log2(degree + 1))`,
    /// and one more for a Chebyshev interval other than `[-1, 1]`. With a sprout, the interval is
    /// mapped without a product.
    pub fn depth(&self) -> usize {
        let map = usize::from(self.affine().is_some() && self.degree() > 0);
        depth_of(self.coefficients.len()) + map
    }

    /// Returns its value at `x`.
    pub fn evaluate(&self, x: f64) -> f64 {
        match self.basis {
            Basis::Monomial => self.coefficients.iter().rev().fold(0.0, |acc, c| acc * x + c),
            Basis::Chebyshev { .. } => {
                // Clenshaw's recurrence.
                let y = self.affine().map_or(x, |(a, b)| a * x + b);
                let (mut b1, mut b2) = (0.0, 0.0);
                for c in self.coefficients[1..].iter().rev() {
                    (b1, b2) = (2.0 * y * b1 - b2 + c, b1);
                }
                y * b1 - b2 + self.coefficients[0]
            }
        }
    }

    /// Returns `(a, b)` such that `a x + b` maps the interval to `[-1, 1]`, or `None` if it is
    /// `[-1, 1]`.
    pub(super) fn affine(&self) -> Option<(f64, f64)> {
        match self.basis {
            Basis::Chebyshev { low, high } if (low, high) != (-1.0, 1.0) => {
                Some((2.0 / (high - low), -(low + high) / (high - low)))
            }
            _ => None,
        }
    }

    /// Returns half the width of the interval, and the number that is added after a division by it,
    /// with more digits than any scale has. They map the interval to `[-1, 1]`. `None` if the
    /// polynomial is in powers or on `[-1, 1]`.
    pub(super) fn unit_and_shift(&self) -> Option<(BigFloat, BigFloat)> {
        let Basis::Chebyshev { low, high } = self.basis else { return None };
        self.affine()?;
        let [low, high] = [low, high].map(|end| BigFloat::try_from(end).map(BigFloat::into_inner));
        let (low, high) = low.ok().zip(high.ok())?;
        let (width, sum) = (&high - &low, high + low);
        BigFloat::try_from(&width / 2).ok().zip(BigFloat::try_from(-sum / width).ok())
    }

    /// Returns the polynomial times a number.
    ///
    /// # Errors
    /// Fails if a coefficient of the result is not finite.
    pub(crate) fn times(&self, factor: f64) -> Result<Self, CkksError> {
        Self::new(self.basis, self.coefficients.iter().map(|c| c * factor).collect())
    }

    /// Returns `p - p(0)` and `p(0)`.
    ///
    /// # Errors
    /// Fails if either is not finite.
    pub fn without_constant(&self) -> Result<(Self, f64), CkksError> {
        let constant = self.evaluate(0.0);
        let mut coefficients = self.coefficients.clone();
        coefficients[0] -= constant;
        Ok((Self::new(self.basis, coefficients)?, constant))
    }

    /// Returns `m`, `q` and `r` with `p = q X^m + r` (or `p = q T_m + r`). `m` is the largest power
    /// of two up to the degree of `p`, and `q` and `r` have smaller degrees than `p`.
    ///
    /// # Errors
    /// Fails for a polynomial of degree 0 and if a coefficient is not finite.
    pub fn split(&self) -> Result<(usize, Self, Self), CkksError> {
        if self.degree() == 0 {
            let what = "a constant cannot be split".into();
            return Err(CkksError::Argument { operation: "split a polynomial", what });
        }
        let (m, q, r) = split(&self.coefficients, self.basis != Basis::Monomial);
        Ok((m, Self::new(self.basis, q)?, Self::new(self.basis, r)?))
    }

    /// Returns a bound on its absolute values for arguments up to `bound` in absolute value. In the
    /// Chebyshev basis, the arguments have to lie in the interval.
    pub fn bound(&self, bound: f64) -> f64 {
        match self.basis {
            Basis::Monomial => {
                self.coefficients.iter().rev().fold(0.0, |acc, c| acc * bound + c.abs())
            }
            Basis::Chebyshev { .. } => self.coefficients.iter().map(|c| c.abs()).sum(),
        }
    }
}

/// The coefficients of [`Polynomial::split`]: `m`, `q` and `r` for `p = q X^m + r`, or `q T_m + r`
/// if `chebyshev`.
///
/// `m` is the largest power of two up to the degree of `p`, which is at least 1. The degree of `r`
/// is less than `m`.
pub(super) fn split(coefficients: &[f64], chebyshev: bool) -> (usize, Vec<f64>, Vec<f64>) {
    let m = 1 << (coefficients.len() - 1).ilog2();
    let mut r = coefficients[..m].to_vec();
    let mut q = coefficients[m..].to_vec();
    if chebyshev {
        // c T_{m+j} = c (2 T_m T_j - T_{m-j}).
        for j in 1..q.len() {
            r[m - j] -= q[j];
            q[j] *= 2.0;
        }
    }
    trim(&mut r);
    (m, q, r)
}

/// Drops zeros of the highest degrees.
fn trim(coefficients: &mut Vec<f64>) {
    while coefficients.len() > 1 && coefficients.last() == Some(&0.0) {
        coefficients.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_polynomial_is_the_sum_of_its_parts(
            coefficients in prop::collection::vec(-1.0..1.0f64, 2..40),
            x in -1.0..1.0f64,
            chebyshev in any::<bool>(),
        ) {
            let basis =
                if chebyshev { Basis::Chebyshev { low: -1.0, high: 1.0 } } else { Basis::Monomial };
            let make = |coefficients: Vec<f64>| Polynomial::new(basis, coefficients).unwrap();
            let p = make(coefficients);
            let (m, q, r) = p.split().unwrap();
            prop_assert!(
                m.is_power_of_two() && q.degree() < m && r.degree() < m && 2 * m > p.degree()
            );
            let power = make([vec![0.0; m], vec![1.0]].concat());
            let sum = q.evaluate(x) * power.evaluate(x) + r.evaluate(x);
            prop_assert!((p.evaluate(x) - sum).abs() < 1e-12);
        }
    }

    #[test]
    fn constants_are_not_split() {
        assert!(Polynomial::new(Basis::Monomial, vec![2.0]).unwrap().split().is_err());
    }
}
