//! Files that are read and written from Python.

use hippocrene::wire;
use pyo3::prelude::*;
use std::{
    fs::{self, File},
    ops::Deref,
    path::{Path, PathBuf},
};

use crate::errors::detached;

/// The bytes of a file of one of these kinds, or of any where there are none.
pub(crate) fn read(
    py: Python<'_>,
    path: &Path,
    kinds: &[wire::Kind],
) -> PyResult<impl Deref<Target = Vec<u8>> + use<>> {
    match open_no_file(py, path)? {
        Some(stream) => detached(py, || wire::read_stream(stream, None, path, kinds)),
        None => detached(py, || wire::read(path, kinds)),
    }
}

/// What is no file, such as a pipe, opened by Python: a signal ends its wait for who writes to that.
#[cfg(unix)]
fn open_no_file(py: Python<'_>, path: &Path) -> PyResult<Option<File>> {
    use std::os::fd::FromRawFd;
    if !fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(None);
    }
    let os = py.import("os")?;
    let opened = os.call_method1("open", (path, os.getattr("O_RDONLY")?))?.extract()?;
    // SAFETY: it has been opened just now, and is nobody else's.
    Ok(Some(unsafe { File::from_raw_fd(opened) }))
}

#[cfg(not(unix))]
fn open_no_file(_: Python<'_>, _: &Path) -> PyResult<Option<File>> {
    Ok(None)
}

/// Writes a file that is not secret as all are: all or nothing, and over no secret key.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    detached(py, || wire::write(&path, data))
}
