//! Deviations from means.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
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

/// Repeats an array to the shape and the layout of another one.
#[pyfunction]
pub(crate) fn broadcast_like(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    other: &EncryptedArray,
) -> PyResult<EncryptedArray> {
    server.compute_from_two::<Numbers>(py, array, other, |server, array, other| {
        server.broadcast_like(array, other)
    })
}
