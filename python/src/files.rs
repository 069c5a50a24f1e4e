//! Reading and writing of files and bytes from Python.

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

/// Number of bytes that are copied at a time while the interpreter lock is held.
const PIECE: usize = 1 << 20;

/// Limits on loaded files: bytes, memory, work, names of kinds, names of presets.
pub(crate) type PyLimits =
    (Option<u64>, Option<u64>, Option<u64>, Option<Vec<String>>, Option<Vec<String>>);

/// The given limits, or the default ones.
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

/// Checks that limits are valid.
#[pyfunction]
pub(crate) fn check_limits(py: Python<'_>, wanted: PyLimits) -> PyResult<()> {
    detached(py, || limits(Some(wanted)).map(drop))
}

/// Loads a file of one of these kinds, or of any kind if `kinds` is empty. `parse` gets the bytes,
/// and may keep them. A secret key that others may read causes a warning.
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
            // These bytes are not secret, and wiping gigabytes takes as long as reading them.
            drop(std::mem::take(&mut *bytes));
        }
        parsed
    })?;
    if is_secret {
        warn_if_readable(py, path)?;
    }
    Ok(loaded)
}

/// Warns if others than the owner may read a secret key.
fn warn_if_readable(py: Python<'_>, path: &Path) -> PyResult<()> {
    let Some(mode) = wire::readable_by_others(path) else { return Ok(()) };
    let name = path.display();
    let message =
        format!("{name}: others can read this secret key (mode {mode:o}). Run: chmod 600 {name}");
    let category = py.import("hippocrene.errors")?.getattr("SecretKeyWarning")?;
    let category =
        category.cast_into::<PyType>().unwrap_or_else(|_| py.get_type::<PyUserWarning>());
    // The level 2 names the caller of the package's method that called this.
    PyErr::warn(py, &category, &CString::new(message)?, 2)
}

/// Opens a path that is no regular file, such as a pipe, with Python. A signal can then end the
/// wait for a writer.
#[cfg(unix)]
fn open_no_file(py: Python<'_>, path: &Path) -> PyResult<Option<File>> {
    use std::os::fd::FromRawFd;
    if !fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(None);
    }
    let os = py.import("os")?;
    let opened = os.call_method1("open", (path, os.getattr("O_RDONLY")?))?.extract()?;
    // SAFETY: the descriptor was opened above, and nothing else owns it.
    Ok(Some(unsafe { File::from_raw_fd(opened) }))
}

#[cfg(not(unix))]
fn open_no_file(_: Python<'_>, _: &Path) -> PyResult<Option<File>> {
    Ok(None)
}

/// The bytes of a file: borrowed from Python, or read from a file.
pub(crate) enum HeldBytes {
    Python(PyBackedBytes),
    Read(Vec<u8>),
}

impl Deref for HeldBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            HeldBytes::Python(bytes) => bytes,
            HeldBytes::Read(bytes) => bytes,
        }
    }
}

/// Converts the bytes that `make` returns to a Python object.
///
/// Filling a `bytes` object needs the interpreter lock, since nothing may see the object before it
/// is complete. `io.BytesIO` takes the bytes piece by piece instead, so other threads wait for one
/// piece only. It returns them without a copy.
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
                // In the main thread, a signal can end this loop too.
                py.check_signals()
            })?;
        }
        drop(made);
        PyResult::Ok(())
    })?;
    Ok(buffer.bind(py).call_method0("getvalue")?.cast_into::<PyBytes>()?)
}

/// Writes a public file, either completely or not at all. It never overwrites a secret key.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
    detached(py, || wire::write(&path, data))
}

/// Defines a class of objects of the library that are saved to files, with the methods for that.
///
/// With `threads`, the object is read for a number of threads. A second field has its default at
/// first.
macro_rules! with_files {
    (@with) => { () };
    (@with $threads:ident) => { $threads };
    (
        $(#[$about:meta])*
        $name:ident $(with $second:ty)?, $kind:ident $(, $threads:ident)?, { $($own:tt)* }
    ) => {
        $(#[$about])*
        #[pyclass(frozen, module = "hippocrene._native")]
        pub(crate) struct $name(pub(crate) hippocrene::$name $(, $second)?);

        impl From<hippocrene::$name> for $name {
            fn from(own: hippocrene::$name) -> Self {
                $name(own $(, <$second>::default())?)
            }
        }

        #[pymethods]
        impl $name {
            #[classmethod]
            fn from_bytes(
                _: &Bound<'_, pyo3::types::PyType>,
                py: Python<'_>,
                data: &[u8]
                $(, $threads: usize)?
            ) -> PyResult<Self> {
                let with = with_files!(@with $($threads)?);
                detached(py, || {
                    Stored::from_bytes(data, with).map(|own: hippocrene::$name| own.into())
                })
            }

            #[classmethod]
            fn load(
                _: &Bound<'_, pyo3::types::PyType>,
                py: Python<'_>,
                path: std::path::PathBuf
                $(, $threads: usize)?
            ) -> PyResult<Self> {
                let (kinds, limits) = ([hippocrene::wire::Kind::$kind], Default::default());
                crate::files::load(py, &path, &kinds, &limits, |bytes| {
                    let with = with_files!(@with $($threads)?);
                    Stored::from_bytes(bytes, with).map(|own: hippocrene::$name| own.into())
                })
            }

            fn to_bytes<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                crate::files::to_python(py, || Ok(self.0.to_bytes()))
            }

            fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                detached(py, || self.0.save(path))
            }

            $($own)*
        }
    };
}

pub(crate) use with_files;
