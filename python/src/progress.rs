//! How far something is that takes long.

use pyo3::prelude::*;

use crate::server::Server;

/// How many values a server has looked up in tables so far.
#[pyfunction]
pub(crate) fn look_ups_done(server: &Server) -> u64 {
    server.0.look_ups_done()
}
