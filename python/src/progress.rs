//! The progress of long computations.

use pyo3::prelude::*;

use crate::server::Server;

/// The number of values that a server has looked up in tables so far.
#[pyfunction]
pub(crate) fn look_ups_done(server: &Server) -> u64 {
    server.0.look_ups_done()
}
