//! Bootstraps that are asked for.

use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::server::Server;

/// The array with capacity again: with so many bits at least, or as many as there are.
#[pyfunction]
pub(crate) fn bootstrap(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    capacity: Option<f64>,
) -> PyResult<EncryptedArray> {
    server.compute::<hippocrene::Numbers>(py, array, |server, array| {
        server.bootstrap_to(array, capacity)
    })
}
