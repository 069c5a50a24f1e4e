//! What goes between numpy and the library.

use hippocrene::Values;
use numpy::{Complex64, Element, IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A C-ordered numpy array of doubles or of pairs of them.
#[derive(FromPyObject)]
pub(crate) enum Numbers<'py> {
    Real(PyReadonlyArrayDyn<'py, f64>),
    Complex(PyReadonlyArrayDyn<'py, Complex64>),
}

impl Numbers<'_> {
    /// The numbers in row-major order.
    pub(crate) fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Numbers::Real(array) => Values::Real(array.as_slice()?),
            Numbers::Complex(array) => Values::Complex(array.as_slice()?),
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Numbers::Real(array) => array.shape(),
            Numbers::Complex(array) => array.shape(),
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
