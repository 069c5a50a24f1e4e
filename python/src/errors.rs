//! Errors of the library as the exceptions of `hippocrene.errors`, which has a class for every kind.

use pyo3::prelude::*;
use pyo3::types::PyType;
use std::io::{self, ErrorKind};

/// Turns an error of the library into the exception of its kind.
pub(crate) fn to_py(py: Python<'_>, error: &hippocrene::Error) -> PyErr {
    let class = py
        .import("hippocrene.errors")
        .and_then(|module| module.getattr(error.kind()))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match (class, error) {
        // As `OSError` takes them: the number, what it stands for, and the file.
        (Ok(class), hippocrene::Error::Io { path, source }) => {
            PyErr::from_type(class, (number(source), words(source), path.clone()))
        }
        (Ok(class), error) => PyErr::from_type(class, error.to_string()),
        (Err(lookup), _) => lookup,
    }
}

/// The number of an error of a file: the system's, or that of its kind where it is not the system that says so.
fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::NotFound => 2,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::AlreadyExists => 17,
        ErrorKind::IsADirectory => 21,
        ErrorKind::InvalidInput => 22,
        _ => 5,
    })
}

/// What is wrong with a file, without the number of the error, which stands beside it.
fn words(error: &io::Error) -> String {
    let words = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})")).unwrap_or_default();
    words.strip_suffix(&number).unwrap_or(&words).to_owned()
}

/// Does `work` with the interpreter lock released.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, hippocrene::Error> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| to_py(py, &error))
}

/// The name of every kind of error of the library.
#[pyfunction]
pub(crate) fn error_kinds() -> Vec<&'static str> {
    hippocrene::Error::KINDS.to_vec()
}
