//! Convolutions and cumulative sums.

use hippocrene::{Numbers, Residues};
use pyo3::prelude::*;

use crate::array::EncryptedArray;
use crate::numbers::{FromPlain, Plain};
use crate::server::Server;

/// Elements of the convolution with a plain vector: `length` of them, starting with `first`.
#[pyfunction]
pub(crate) fn convolve_plain(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    kernel: Plain<'_>,
    first: usize,
    length: usize,
) -> PyResult<EncryptedArray> {
    let kernel = kernel.slices()?;
    if array.is_integers() {
        server.compute::<Residues>(py, array, |server, array| {
            server.convolve_plain(array, Residues::of_matrix(kernel)?, first, length)
        })
    } else {
        server.compute::<Numbers>(py, array, |server, array| {
            server.convolve_plain(array, Numbers::of_matrix(kernel)?, first, length)
        })
    }
}

/// The cumulative sums along an axis.
#[pyfunction]
pub(crate) fn cumsum(
    py: Python<'_>,
    server: &Server,
    array: &EncryptedArray,
    axis: usize,
) -> PyResult<EncryptedArray> {
    if array.is_integers() {
        server.compute::<Residues>(py, array, |server, array| server.cumsum(array, axis))
    } else {
        server.compute::<Numbers>(py, array, |server, array| server.cumsum(array, axis))
    }
}
