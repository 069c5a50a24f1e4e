//! Times Hippocrene against the tables of its papers and against its peers.
//!
//! `hippocrene-bench TABLE [--json] [--peers] [--plot FILE.png]` runs a table, and
//! `hippocrene-bench list` lists the tables.
//!
//! A run is pinned to one core. It also times the crate `tfhe-ntt` as a yardstick, to convert
//! the figures of peers on another machine to this one.

pub mod figures;
pub mod floor;
pub mod live;
pub mod machine;
pub mod naive;
pub mod number;
pub mod paper_sets;
pub mod plot;
pub mod precision;
pub mod report;
pub mod scheme;
pub mod session;
pub mod side;
pub mod switching;
pub mod tables;
pub mod timing;
pub mod transforms;
pub mod yardstick;

/// The result of a fallible step of a benchmark. Callers only need the error's message.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
