//! The extension module `hippocrene._native`.

use pyo3::prelude::*;

#[pymodule]
mod _native {}
