//! Parts of complex numbers.

use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::server::Server;

/// Multiplies every element by the imaginary unit.
#[pyfunction]
pub(crate) fn times_i(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
) -> PyResult<EncryptedArray> {
    server.compute(py, array, |server, array| server.times_i(array))
}

/// The real parts.
#[pyfunction]
pub(crate) fn real(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
) -> PyResult<EncryptedArray> {
    server.compute(py, array, |server, array| server.real(array))
}

/// The imaginary parts.
#[pyfunction]
pub(crate) fn imag(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
) -> PyResult<EncryptedArray> {
    server.compute(py, array, |server, array| server.imaginary(array))
}
