//! The extension module `hippocrene._native`: thin wrappers over the crate `hippocrene`. The public
//! Python package is in `../hippocrene`.

mod approximation;
mod array;
mod bits;
mod bootstrapping;
mod client;
mod clustering;
mod combinations;
mod complex;
mod convolution;
mod deadlines;
mod description;
mod deviations;
mod division;
mod errors;
mod files;
mod gates;
mod look_ups;
mod numbers;
mod presets;
mod progress;
mod quantile;
mod scheme;
mod server;
mod several;
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
    use super::bootstrapping::bootstrap;
    #[pymodule_export]
    use super::client::{
        BootstrappingDescription, ClientKey, EvaluationKeys, PublicKey, TransferKey,
    };
    #[pymodule_export]
    use super::clustering::{
        assign_block, assign_new_points, blocks_of_points, cluster, clustering_keys,
        decrypt_clusters, describe_clustering, encrypt_new_points, encrypt_points,
        nearest_deviation, origin_of_points, read_clustering, simulate_clustering, start_clusters,
        update_clusters,
    };
    #[pymodule_export]
    use super::combinations::{linear_combinations, moving_products};
    #[pymodule_export]
    use super::complex::{imag, real, times_i};
    #[pymodule_export]
    use super::convolution::{convolve_plain, cumsum};
    #[pymodule_export]
    use super::deadlines::Limit;
    #[pymodule_export]
    use super::description::{KeysDescription, inspect_bytes, inspect_file};
    #[pymodule_export]
    use super::deviations::{as_deviations, as_variances, broadcast_like};
    #[pymodule_export]
    use super::division::{divide, multiply, needs_digits};
    #[pymodule_export]
    use super::errors::error_kinds;
    #[pymodule_export]
    use super::files::{check_limits, write_file};
    #[pymodule_export]
    use super::gates::{GateClient, GateKeys, GateServer};
    #[pymodule_export]
    use super::look_ups::{TablesDescription, describe_tables};
    #[pymodule_export]
    use super::numbers::BigArray;
    #[pymodule_export]
    use super::presets::{Preset, plain_modulus_from, presets};
    #[pymodule_export]
    use super::progress::look_ups_done;
    #[pymodule_export]
    use super::quantile::quantile;
    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use super::scheme::with_scheme;
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
