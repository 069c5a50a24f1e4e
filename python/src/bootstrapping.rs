//! Explicit bootstraps.

use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::server::Server;

/// Bootstraps the array to at least `capacity` bits, or to the largest capacity without it.
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
