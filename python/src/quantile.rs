//! Quantiles.

use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::server::Server;

/// The quantiles of these shares along an axis or of all elements: along a first axis, a share
/// after the other.
#[pyfunction]
pub(crate) fn quantile(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    shares: Vec<f64>,
    axis: Option<usize>,
) -> PyResult<EncryptedArray> {
    server.compute::<hippocrene::Numbers>(py, array, |server, array| {
        server.quantile(array, &shares, axis)
    })
}
