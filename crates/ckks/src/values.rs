//! The values that are encoded into the slots of a plaintext.

use num_complex::{Complex, Complex64};

use crate::BigFloat;

/// Values for the slots: real or complex, in double precision or more.
///
/// # Examples
/// ```
/// use hippocrene_ckks::Values;
///
/// let values = Values::from(&[1.5, -2.0]);
/// assert_eq!((values.len(), values.bound(), values.is_complex()), (2, 2.0, false));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Real numbers.
    Real(&'a [f64]),
    /// Complex numbers.
    Complex(&'a [Complex64]),
    /// Real numbers of more than 53 bits. Encoding them takes several times as long; see
    /// [`crate::encoder`] for the accuracy.
    Big(&'a [BigFloat]),
    /// Complex numbers of more than 53 bits.
    BigComplex(&'a [Complex<BigFloat>]),
}

impl Values<'_> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Real(v) => v.len(),
            Values::Complex(v) => v.len(),
            Values::Big(v) => v.len(),
            Values::BigComplex(v) => v.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the largest absolute value, as the nearest `f64` or one of its neighbours, and 0 if
    /// there are no values.
    pub fn bound(&self) -> f64 {
        match self {
            Values::Real(v) => v.iter().fold(0.0, |b, x| b.max(x.abs())),
            Values::Complex(v) => v.iter().map(|x| x.norm()).fold(0.0, f64::max),
            Values::Big(v) => v.iter().map(BigFloat::to_f64).fold(0.0, |b, x| b.max(x.abs())),
            Values::BigComplex(v) => v
                .iter()
                .map(|z| Complex64::new(z.re.to_f64(), z.im.to_f64()).norm())
                .fold(0.0, f64::max),
        }
    }

    /// Whether the values are complex numbers.
    pub fn is_complex(&self) -> bool {
        matches!(self, Values::Complex(_) | Values::BigComplex(_))
    }
}

/// Arrays count as slices of their elements.
impl<'a, T, const N: usize> From<&'a [T; N]> for Values<'a>
where
    Values<'a>: From<&'a [T]>,
{
    fn from(values: &'a [T; N]) -> Self {
        values.as_slice().into()
    }
}

/// Vectors count as slices of their elements.
impl<'a, T> From<&'a Vec<T>> for Values<'a>
where
    Values<'a>: From<&'a [T]>,
{
    fn from(values: &'a Vec<T>) -> Self {
        values.as_slice().into()
    }
}

impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(values: &'a [f64]) -> Self {
        Values::Real(values)
    }
}

impl<'a> From<&'a [Complex64]> for Values<'a> {
    fn from(values: &'a [Complex64]) -> Self {
        Values::Complex(values)
    }
}

impl<'a> From<&'a [BigFloat]> for Values<'a> {
    fn from(values: &'a [BigFloat]) -> Self {
        Values::Big(values)
    }
}

impl<'a> From<&'a [Complex<BigFloat>]> for Values<'a> {
    fn from(values: &'a [Complex<BigFloat>]) -> Self {
        Values::BigComplex(values)
    }
}
