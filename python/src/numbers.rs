//! What goes between numpy and the library.

use crate::errors::detached;
use hippocrene::{BigFloat, Error, Values};
use num_bigint::BigInt;
use numpy::{Complex64, Element, IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A number of any precision: mantissa and exponent of two, or decimal notation.
#[derive(FromPyObject)]
pub(crate) enum Exact {
    Parts(BigInt, i64),
    Decimal(String),
}

/// Numbers of more precision than doubles have, and their shape.
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

/// A C-ordered numpy array of doubles or of pairs of them, or numbers of more precision.
#[derive(FromPyObject)]
pub(crate) enum Numbers<'py> {
    Real(PyReadonlyArrayDyn<'py, f64>),
    Complex(PyReadonlyArrayDyn<'py, Complex64>),
    Big(PyRef<'py, BigArray>),
}

impl Numbers<'_> {
    /// The numbers in row-major order.
    pub(crate) fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Numbers::Real(array) => Values::Real(array.as_slice()?),
            Numbers::Complex(array) => Values::Complex(array.as_slice()?),
            Numbers::Big(array) => Values::Big(&array.values),
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Numbers::Real(array) => array.shape(),
            Numbers::Complex(array) => array.shape(),
            Numbers::Big(array) => &array.shape,
        }
    }
}

/// A numpy array of these values in row-major order.
pub(crate) fn to_numpy<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(values.into_pyarray(py).reshape(shape)?.into_any())
}
