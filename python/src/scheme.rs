//! Servers of the schemes for integers.

use hippocrene::Integers;
use pyo3::prelude::*;

use crate::description::KeysDescription;
use crate::errors::detached;
use crate::server::Server;

/// A server with the same keys, whose products are those of the named scheme, and its description.
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
