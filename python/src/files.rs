//! Files that are written from Python.

use hippocrene::wire;
use pyo3::prelude::*;
use std::path::PathBuf;

use crate::errors::detached;

/// Writes a file that is not secret as all are: all or nothing, and over no secret key.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    detached(py, || wire::write(&path, data))
}
