//! The papers' tables and the peers, side by side: `hippocrene-bench TABLE [--json] [--peers]
//! [--plot FILE.png]`, and `hippocrene-bench list`.
//!
//! Every table is one run on one pinned core. In the same run the crate `tfhe-ntt` is timed as a
//! yardstick, so that the figures of peers that were measured on another machine can be carried
//! over to this one.

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

/// What every fallible step of a benchmark returns: the message is all that is wanted of an error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
