//! Deviations from means.

use hippocrene::Numbers;
use pyo3::prelude::*;

use crate::array::EncryptedArray;
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
