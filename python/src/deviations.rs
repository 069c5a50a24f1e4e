//! Deviations from means.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::errors::detached;
use crate::server::Server;

/// The array, whose elements add up to zero, for sums over all of them of products with such.
#[pyfunction]
pub(crate) fn as_deviations(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
) -> PyResult<EncryptedArray> {
    server.compute::<Numbers>(py, array, |_, array| Ok(array.clone().as_deviations()))
}

/// The array, whose elements are variances of numbers of the other one, with the interval that this
/// gives them.
#[pyfunction]
pub(crate) fn as_variances(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    values: &EncryptedArray,
    factor: f64,
) -> PyResult<EncryptedArray> {
    let interval = detached(py, || Ok(values.read::<Numbers>(server.0.session())?.interval()))?;
    server.compute::<Numbers>(py, array, |_, array| Ok(array.clone().as_variances(interval, factor)))
}
