//! Conversion of values between numpy and the library.

use crate::{combinations::in_order, errors::detached};
use hippocrene::{BigFloat, Error, PlainNumber, Values};
use num_bigint::BigInt;
use numpy::{
    Complex64, Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyValueError, prelude::*};

/// A number of any precision: a mantissa and an exponent of two, or decimal notation.
#[derive(FromPyObject)]
pub(crate) enum Exact {
    Parts(BigInt, i64),
    Decimal(String),
}

/// Numbers with more precision than doubles, and their shape.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct BigArray {
    values: Vec<BigFloat>,
    shape: Vec<usize>,
}

#[pymethods]
impl BigArray {
    #[new]
    fn new(py: Python<'_>, numbers: Vec<Exact>, shape: Vec<usize>) -> PyResult<Self> {
        let values = detached(py, || {
            let read = |number| match number {
                Exact::Parts(mantissa, exponent) => Ok(BigFloat::from_parts(&mantissa, exponent)?),
                Exact::Decimal(text) => Ok(text.trim().parse()?),
            };
            numbers.into_iter().map(read).collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(BigArray { values, shape })
    }
}

impl BigArray {
    /// The number, if there is exactly one.
    pub(crate) fn single(&self) -> Result<&BigFloat, Error> {
        match &self.values[..] {
            [number] => Ok(number),
            _ => {
                let what = "these plain numbers are not one number".into();
                Err(Error::Argument { operation: "compute", what })
            }
        }
    }
}

/// A C-ordered numpy array of integers, doubles or complex doubles, or numbers with more precision.
pub(crate) enum Plain<'py> {
    Integers(PyReadonlyArrayDyn<'py, i64>),
    Real(PyReadonlyArrayDyn<'py, f64>),
    Complex(PyReadonlyArrayDyn<'py, Complex64>),
    Big(PyRef<'py, BigArray>),
}

/// An integer or a double.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) enum Number {
    Integer(i64),
    Real(f64),
}

impl From<Number> for PlainNumber {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(integer) => PlainNumber::Integer(integer),
            Number::Real(number) => PlainNumber::Real(number),
        }
    }
}

/// Plain numbers in row-major order, for arrays of any form.
#[derive(Clone, Copy)]
pub(crate) enum Slices<'a> {
    Integers(&'a [i64]),
    Numbers(Values<'a>),
}

// A derived implementation would format an error for each type that an array does not have.
impl<'a, 'py> FromPyObject<'a, 'py> for Plain<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>() {
            Ok(Plain::Real(array.try_readonly()?))
        } else if let Ok(array) = object.cast::<PyArrayDyn<i64>>() {
            Ok(Plain::Integers(array.try_readonly()?))
        } else if let Ok(array) = object.cast::<PyArrayDyn<Complex64>>() {
            Ok(Plain::Complex(array.try_readonly()?))
        } else {
            Ok(Plain::Big(object.extract()?))
        }
    }
}

impl Plain<'_> {
    pub(crate) fn slices(&self) -> PyResult<Slices<'_>> {
        Ok(match self {
            Plain::Integers(array) => Slices::Integers(row_major(array)?),
            Plain::Real(array) => Slices::Numbers(Values::Real(row_major(array)?)),
            Plain::Complex(array) => Slices::Numbers(Values::Complex(row_major(array)?)),
            Plain::Big(array) => Slices::Numbers(Values::Big(&array.values)),
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Plain::Integers(array) => array.shape(),
            Plain::Real(array) => array.shape(),
            Plain::Complex(array) => array.shape(),
            Plain::Big(array) => &array.shape,
        }
    }
}

/// Plain numbers for an operation, copied from numpy.
pub(crate) struct PlainArray {
    pub(crate) plain: hippocrene::Plain,
    pub(crate) shape: Vec<usize>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for PlainArray {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        use hippocrene::Plain as Owned;
        let array: Plain<'py> = object.extract()?;
        let plain = match &array {
            Plain::Integers(array) => Owned::Integers(copied(array)),
            Plain::Real(array) => Owned::Reals(copied(array)),
            Plain::Complex(array) => Owned::Complex(copied(array)),
            Plain::Big(array) => Owned::Big(array.values.clone()),
        };
        Ok(PlainArray { plain, shape: array.shape().to_vec() })
    }
}

/// The elements of an array with any strides, in row-major order.
fn copied<T: Element + Copy>(array: &PyReadonlyArrayDyn<'_, T>) -> Vec<T> {
    match row_major(array) {
        Ok(elements) => elements.to_vec(),
        Err(_) => in_order(&array.as_array(), |x| *x),
    }
}

/// The elements of an array that numpy stores in row-major order. Its own slices may also be in
/// column-major order.
pub(crate) fn row_major<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("the array is not stored in row-major order"));
    }
    Ok(array.as_slice()?)
}

/// Makes a numpy array of these values in row-major order.
pub(crate) fn to_numpy<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(values.into_pyarray(py).reshape(shape)?.into_any())
}
