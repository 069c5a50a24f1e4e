//! Deviations from means.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::errors::detached;
use crate::server::Server;

/// Declares that elements are deviations of values up to `bound` from their mean.
#[pyfunction]
pub(crate) fn as_deviations(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    bound: f64,
) -> PyResult<EncryptedArray> {
    server.compute::<Numbers>(py, array, |_, array| Ok(array.clone().as_deviations(bound)))
}

/// Repeats an array times a number, with the shape and the layout of another array.
#[pyfunction]
pub(crate) fn broadcast_like(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    other: &EncryptedArray,
    factor: f64,
) -> PyResult<EncryptedArray> {
    server.compute_from_two::<Numbers>(py, array, other, |server, array, other| {
        let copies = server.broadcast_like(array, other, factor)?;
        Ok(if array.size() == 1 { copies.as_mean() } else { copies })
    })
}

/// Declares that elements are variances of the elements of `values`, and derives their interval
/// from that.
#[pyfunction]
pub(crate) fn as_variances(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    values: &EncryptedArray,
    factor: f64,
) -> PyResult<EncryptedArray> {
    let interval = detached(py, || Ok(values.read::<Numbers>(server.0.session())?.interval()))?;
    server
        .compute::<Numbers>(py, array, |_, array| Ok(array.clone().as_variances(interval, factor)))
}
