//! Polynomials in the monomial and the Chebyshev basis.

use std::{cmp::Ordering, f64::consts::PI};

use hippocrene_rlwe::stop;

use crate::{BigFloat, CkksError, Short};

/// The basis of a polynomial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// `1, x, x^2, ..`.
    Monomial,
    /// The Chebyshev polynomials `T_i` of the interval `[low, high]`: `T_i(cos t) = cos(i t)`, with
    /// the interval taken to `[-1, 1]`.
    Chebyshev {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// A polynomial with real coefficients, in one of two bases.
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    basis: Basis,
    coefficients: Vec<f64>,
}

impl Polynomial {
    /// The largest degree that [`Polynomial::approximate`] takes, `2^20`. It takes a time that
    /// grows as the square of the degree.
    pub const MOST_APPROXIMATED: usize = 1 << 20;

    /// The polynomial with these coefficients, lowest degree first. Zeros at the end are dropped.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when there are no coefficients, one is not finite, or the interval
    /// is empty, longer than the largest double or shorter than the inverse of that.
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
                    "{interval} has a length that doubles do not hold, or whose inverse they do not"
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

    /// The polynomial of degree `degree` that agrees with `f` at the Chebyshev nodes of `[low,
    /// high]`: within a small factor of the best approximation of this degree. Where its values at
    /// the nodes are those of an even or an odd function of the distance from the middle of the
    /// interval, to the bit, so is the polynomial, which takes fewer products then.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when `f` is not finite at a node, the interval is empty or has no
    /// finite length, or the degree is above [`Polynomial::MOST_APPROXIMATED`].
    pub fn approximate(
        f: impl Fn(f64) -> f64,
        low: f64,
        high: f64,
        degree: usize,
    ) -> Result<Self, CkksError> {
        if degree > Self::MOST_APPROXIMATED {
            let what = format!("degree {degree}: it is {} at most", Self::MOST_APPROXIMATED);
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        if !(high - low).is_finite() {
            let what =
                format!("the interval [{}, {}] has no finite length", Short(low), Short(high));
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        let n = degree + 1;
        let angle = |k: usize| PI * (k as f64 + 0.5) / n as f64;
        // Nodes in the one half are those of the other with the sign changed, to the bit.
        let cosine = |k: usize| match (2 * k + 1).cmp(&n) {
            Ordering::Less => angle(k).cos(),
            Ordering::Equal => 0.0,
            Ordering::Greater => -angle(n - 1 - k).cos(),
        };
        let (centre, reach) = (0.5 * (low + high), 0.5 * (high - low));
        let node = |k: usize| centre + reach * cosine(k);
        let values: Vec<f64> = (0..n).map(|k| f(node(k))).collect();
        if let Some((k, value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            let what = format!("it is {value} at {}", Short(node(k)));
            return Err(CkksError::Argument { operation: "approximate a function", what });
        }
        let mirrored =
            |sign: f64| values.iter().zip(values.iter().rev()).all(|(x, y)| *x == sign * y);
        let (even, odd) = (mirrored(1.0), mirrored(-1.0));
        // `cos(m pi / 2n)`: all that there are among the `cos(i angle(k))`.
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

    /// The degree; 0 for constants.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Whether it is an even function of its argument, on an interval around 0: no coefficient of
    /// odd degree is other than 0. Constants are.
    pub fn is_even(&self) -> bool {
        let centred = self.affine().is_none_or(|(_, shift)| shift == 0.0);
        centred && self.coefficients.iter().skip(1).step_by(2).all(|c| *c == 0.0)
    }

    /// How many multiplications deep its evaluation on ciphertexts is: `ceil(log2(degree + 1))`,
    /// and one more for a Chebyshev interval other than `[-1, 1]`.
    pub fn depth(&self) -> usize {
        let map = usize::from(self.affine().is_some() && self.degree() > 0);
        (self.degree() + 1).next_power_of_two().trailing_zeros() as usize + map
    }

    /// Its value at `x`.
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

    /// `(a, b)` such that `a x + b` takes the interval to `[-1, 1]`, unless it is that.
    pub(super) fn affine(&self) -> Option<(f64, f64)> {
        match self.basis {
            Basis::Chebyshev { low, high } if (low, high) != (-1.0, 1.0) => {
                Some((2.0 / (high - low), -(low + high) / (high - low)))
            }
            _ => None,
        }
    }

    /// [`Polynomial::affine`] in more digits than any scale has.
    pub(super) fn affine_digits(&self) -> Option<(BigFloat, BigFloat)> {
        let Basis::Chebyshev { low, high } = self.basis else { return None };
        self.affine()?;
        let [low, high] = [low, high].map(|end| BigFloat::try_from(end).map(BigFloat::into_inner));
        let (low, high) = low.ok().zip(high.ok())?;
        let (width, sum) = (&high - &low, high + low);
        BigFloat::try_from(2 / &width).ok().zip(BigFloat::try_from(-sum / width).ok())
    }

    /// The polynomial times a number.
    ///
    /// # Errors
    /// When a coefficient is not finite then.
    pub(crate) fn times(&self, factor: f64) -> Result<Self, CkksError> {
        Self::new(self.basis, self.coefficients.iter().map(|c| c * factor).collect())
    }

    /// `p - p(0)`, and `p(0)`.
    ///
    /// # Errors
    /// When either is not finite.
    pub fn apart_from_constant(&self) -> Result<(Self, f64), CkksError> {
        let constant = self.evaluate(0.0);
        let mut coefficients = self.coefficients.clone();
        coefficients[0] -= constant;
        Ok((Self::new(self.basis, coefficients)?, constant))
    }

    /// `m`, `q` and `r` for `p = q X^m + r` (or `p = q T_m + r`), of which `q` and `r` have degrees
    /// smaller than `p`, with `m` the largest power of two up to the degree.
    ///
    /// # Errors
    /// For a polynomial of degree 0, and when a coefficient is not finite.
    pub fn split(&self) -> Result<(usize, Self, Self), CkksError> {
        if self.degree() == 0 {
            let what = "a constant is not split".into();
            return Err(CkksError::Argument { operation: "split a polynomial", what });
        }
        let (m, q, r) = split(&self.coefficients, self.basis != Basis::Monomial);
        Ok((m, Self::new(self.basis, q)?, Self::new(self.basis, r)?))
    }

    /// A bound on its absolute values where the absolute value of the argument is at most `bound`,
    /// and in the Chebyshev basis in the interval.
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
            let basis = if chebyshev { Basis::Chebyshev { low: -1.0, high: 1.0 } } else { Basis::Monomial };
            let make = |coefficients: Vec<f64>| Polynomial::new(basis, coefficients).unwrap();
            let p = make(coefficients);
            let (m, q, r) = p.split().unwrap();
            prop_assert!(m.is_power_of_two() && q.degree() < m && r.degree() < m && 2 * m > p.degree());
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
