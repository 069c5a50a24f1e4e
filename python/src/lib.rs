//! The extension module `hippocrene._native`: thin wrappers over the crate `hippocrene`. The public
//! Python package is in `../hippocrene`.

mod approximation;
mod array;
mod bits;
mod client;
mod clustering;
mod combinations;
mod deadlines;
mod description;
mod errors;
mod files;
mod gates;
mod numbers;
mod presets;
mod program;
mod server;
mod simulation;
mod trees;

use pyo3::prelude::*;

/// The extension module of the package `hippocrene`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::approximation::approximate;
    #[pymodule_export]
    use super::array::EncryptedArray;
    #[pymodule_export]
    use super::client::{
        BootstrappingDescription, ClientKey, EvaluationKeys, PublicKey, TablesDescription,
        TransferKey, TrivialEncryption,
    };
    #[pymodule_export]
    use super::clustering::{Clusters, simulate_clustering};
    #[pymodule_export]
    use super::deadlines::Limit;
    #[pymodule_export]
    use super::description::{KeysDescription, inspect_bytes, inspect_file};
    #[pymodule_export]
    use super::errors::error_kinds;
    #[pymodule_export]
    use super::files::{check_limits, write_file};
    #[pymodule_export]
    use super::gates::{GateClient, GateKeys, GateServer};
    #[pymodule_export]
    use super::numbers::BigArray;
    #[pymodule_export]
    use super::presets::{Preset, plain_modulus_from, presets};
    #[pymodule_export]
    use super::program::{Interface, Program, Recorder};
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::server::{Server, cache_budget, set_cache_budget};
    #[pymodule_export]
    use super::simulation::{Simulation, SimulationReport};
    #[pymodule_export]
    use super::trees::{
        TreeClient, TreeInterface, TreeKeys, TreeModel, TreeQuery, TreeReply, TreeServer,
        feature_knots, feature_shares,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::errors::note_main_thread(module.py())?;
        module.add("limits", super::deadlines::context_variable(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the command `hippocrene` and returns its exit status. `closed` tells that standard output
/// is closed.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<std::ffi::OsString>, closed: bool) -> u8 {
    py.detach(|| {
        if closed { hippocrene_cli::run_closed(arguments) } else { hippocrene_cli::run(arguments) }
    })
}
