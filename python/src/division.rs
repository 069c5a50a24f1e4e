//! Division by plain numbers.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::errors::detached;
use crate::numbers::BigArray;
use crate::server::Server;

/// Every element over a number.
#[pyfunction]
pub(crate) fn divide(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    divisor: f64,
) -> PyResult<EncryptedArray> {
    server.compute::<Numbers>(py, array, |server, array| server.div_number(array, divisor))
}

/// Every element times a number of more precision than doubles have.
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

/// Whether factors of a size that are rounded to doubles are less precise than products are asked
/// to be.
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
