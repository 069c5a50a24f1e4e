//! Quantiles.

use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::server::Server;

/// Quantiles along an axis or of all elements. The first axis of the result has one entry for each
/// of the shares.
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
