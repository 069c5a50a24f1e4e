//! Files and bytes that are read and written from Python.

use hippocrene::{
    Error,
    wire::{self, Kind, Limits},
};
use pyo3::{
    exceptions::PyUserWarning,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyType},
};
use std::{
    ffi::CString,
    fs::{self, File},
    ops::Deref,
    path::{Path, PathBuf},
};

use crate::errors::detached;

/// So many bytes are copied at a time while the interpreter lock is held.
const PIECE: usize = 1 << 20;

/// Limits as Python hands them over: bytes, memory, work, the names of kinds and of presets.
pub(crate) type PyLimits =
    (Option<u64>, Option<u64>, Option<u64>, Option<Vec<String>>, Option<Vec<String>>);

/// The limits, or those by default.
pub(crate) fn limits(limits: Option<PyLimits>) -> Result<Limits, Error> {
    let Some((max_bytes, max_memory, max_work, kinds, presets)) = limits else {
        return Ok(Limits::default());
    };
    let kind = |name: &String| {
        Kind::by_name(name).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            let what = format!("there is no kind of file {name:?} (there are {names})");
            Error::Argument { operation: "limits", what }
        })
    };
    let kinds = kinds.map(|names| names.iter().map(kind).collect()).transpose()?;
    let limits = Limits { max_bytes, max_memory, max_work, kinds, parameters: None };
    match presets {
        Some(names) => limits.with_presets(&names),
        None => Ok(limits),
    }
}

/// Checks limits without a file.
#[pyfunction]
pub(crate) fn check_limits(py: Python<'_>, wanted: PyLimits) -> PyResult<()> {
    detached(py, || limits(Some(wanted)).map(drop))
}

/// What `parse` makes of a file of one of these kinds, or of any where there are none. It is given
/// the bytes, and may keep them. A secret key that others may read is a warning.
pub(crate) fn load<T: Send>(
    py: Python<'_>,
    path: &Path,
    kinds: &[Kind],
    limits: &Limits,
    parse: impl FnOnce(&mut Vec<u8>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stream = open_no_file(py, path)?;
    let is_secret = kinds.iter().any(|kind| kind.is_secret());
    let loaded = detached(py, || {
        let mut bytes = match stream {
            Some(stream) => wire::read_stream_within(stream, None, path, kinds, limits)?,
            None => wire::read_within(path, kinds, limits)?,
        };
        let parsed = parse(&mut bytes);
        if !(is_secret || kinds.is_empty()) {
            // To wipe gigabytes takes as long as to read them.
            drop(std::mem::take(&mut *bytes));
        }
        parsed
    })?;
    if is_secret {
        warn_if_readable(py, path)?;
    }
    Ok(loaded)
}

/// Warns of a secret key that others than its owner may read.
fn warn_if_readable(py: Python<'_>, path: &Path) -> PyResult<()> {
    let Some(mode) = wire::readable_by_others(path) else { return Ok(()) };
    let name = path.display();
    let message =
        format!("{name}: others can read this secret key (mode {mode:o}). Run: chmod 600 {name}");
    let category = py.import("hippocrene.errors")?.getattr("SecretKeyWarning")?;
    let category =
        category.cast_into::<PyType>().unwrap_or_else(|_| py.get_type::<PyUserWarning>());
    // The caller of the method of the package that called this.
    PyErr::warn(py, &category, &CString::new(message)?, 2)
}

/// What is no file, such as a pipe, opened by Python: a signal ends its wait for who writes to
/// that.
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

/// Bytes that a file held: of Python, as they are, or read from it.
pub(crate) enum Held {
    Python(PyBackedBytes),
    Read(Vec<u8>),
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::Python(bytes) => bytes,
            Held::Read(bytes) => bytes,
        }
    }
}

/// The bytes that `make` makes, as Python has them.
///
/// A `bytes` object is filled while the lock is held, since nothing may see it before. So that
/// other threads wait for one piece only, `io.BytesIO` takes it piece by piece, and gives it away
/// without a copy.
pub(crate) fn to_python<B: AsRef<[u8]> + Send>(
    py: Python<'_>,
    make: impl FnOnce() -> Result<B, Error> + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    let made = detached(py, make)?;
    if made.as_ref().len() <= PIECE {
        return Ok(PyBytes::new(py, made.as_ref()));
    }
    let buffer = py.import("io")?.call_method0("BytesIO")?.unbind();
    py.detach(|| {
        for piece in made.as_ref().chunks(PIECE) {
            Python::attach(|py| {
                buffer.call_method1(py, "write", (PyBytes::new(py, piece),))?;
                // In the main thread a signal ends this too.
                py.check_signals()
            })?;
        }
        drop(made);
        PyResult::Ok(())
    })?;
    Ok(buffer.bind(py).call_method0("getvalue")?.cast_into::<PyBytes>()?)
}

/// Writes a file that is not secret as all are: all or nothing, and over no secret key.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    detached(py, || wire::write(&path, data))
}
