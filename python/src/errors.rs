//! Errors of the library as the exceptions of `hippocrene.errors`, which has a class for every kind.

use pyo3::prelude::*;
use pyo3::types::PyType;

/// Turns an error of the library into the exception of its kind.
pub(crate) fn to_py(py: Python<'_>, error: &hippocrene::Error) -> PyErr {
    let class = py
        .import("hippocrene.errors")
        .and_then(|module| module.getattr(error.kind()))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match (class, error) {
        // As `OSError` takes them: the number, what it stands for, and the file.
        (Ok(class), hippocrene::Error::Io { path, source }) => {
            PyErr::from_type(class, (source.raw_os_error(), source.to_string(), path.clone()))
        }
        (Ok(class), error) => PyErr::from_type(class, error.to_string()),
        (Err(lookup), _) => lookup,
    }
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
