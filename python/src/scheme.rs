//! Servers of either scheme for integers.

use hippocrene::Integers;
use pyo3::prelude::*;

use crate::description::KeysDescription;
use crate::errors::detached;
use crate::server::Server;

/// A server with these keys and products in the manner of the scheme of this name, and what it says
/// of itself.
#[pyfunction]
pub(crate) fn with_scheme(
    py: Python<'_>,
    server: &Server,
    description: &KeysDescription,
    scheme: &str,
) -> PyResult<(Server, KeysDescription)> {
    detached(py, || {
        let scheme = Integers::scheme_by_name(scheme)?;
        Ok((Server(server.0.with_scheme(scheme)?), description.clone().of_scheme(scheme)))
    })
}
