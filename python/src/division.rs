//! Division by plain numbers.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::errors::detached;
use crate::numbers::BigArray;
use crate::server::Server;

/// Divides every element by a number.
#[pyfunction]
pub(crate) fn divide(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    divisor: f64,
) -> PyResult<EncryptedArray> {
    server.compute::<Numbers>(py, array, |server, array| server.div_number(array, divisor))
}

/// Multiplies every element by a number with more precision than doubles.
#[pyfunction]
pub(crate) fn multiply(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    number: &BigArray,
) -> PyResult<EncryptedArray> {
    server.compute::<Numbers>(py, array, |server, array| {
        server.mul_big_number(array, number.single()?)
    })
}

/// True if factors of this size, rounded to doubles, would make products less precise than
/// requested.
#[pyfunction]
pub(crate) fn needs_digits(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    size: f64,
) -> PyResult<bool> {
    let session = server.0.session();
    detached(py, || Ok(server.0.needs_digits(&*array.read::<Numbers>(session)?, size)))
}
