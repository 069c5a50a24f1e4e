//! Computing on encrypted arrays: a client encrypts, a server that holds no secret computes, and
//! only the client reads the result.
//!
//! [`ClientKey`] encrypts, decrypts and makes the [`EvaluationKeys`] that a [`Server`] computes
//! with. A [`PublicKey`] only encrypts. A [`TransferKey`] converts arrays so that a second key
//! decrypts them.
//!
//! Arrays of numbers come in two [forms](Form). An [`EncryptedArray`] holds real or complex numbers
//! (CKKS). An [`IntegerArray`] holds integers modulo a plaintext modulus (BGV and BFV, see
//! [`Integers`]). One key serves both forms, and the server's operations on them have the same
//! names.
//!
//! A [`BitArray`] holds bits. A [`BitServer`], which is part of a server, computes gates on them
//! without a depth limit.
//!
//! A [`TreeClient`] has its encrypted numbers evaluated by the decision trees of a [`TreeServer`],
//! which does not see the numbers.
//!
//! [`Stored`] writes all of these to bytes and files, and reads them back.

mod array;
mod bits;
mod bootstrapping;
mod client;
mod clustering;
mod elements;
mod encryption;
mod error;
mod files;
mod format;
mod fresh;
mod gates;
mod integers;
mod interval;
mod keys;
mod kind;
mod layout;
mod look_ups;
mod numbers;
mod preset;
pub mod profile;
mod room;
mod server;
mod session;
mod settings;
mod simulation;
mod slots;
mod terms;
mod trees;
pub mod wire;

pub use array::Array;
pub use bits::{BitArray, BitKeys, BitServer, Bits};
pub use bootstrapping::{Bootstrapping, BootstrappingDescription, BootstrappingKeys};
pub use client::ClientKey;
pub use clustering::{Clustering, Origin};
pub use elements::{CiphertextBody, Elements};
pub use encryption::Encryption;
pub use error::Error;
pub use fresh::Fresh;
pub use hippocrene_bgv::{Polynomial as IntegerPolynomial, Scheme};
pub use hippocrene_ckks::{
    BigFloat, BigFloatError, Values,
    bits::{BitLiteral, BitPacking, BitPlan},
    circuits::{Basis, Polynomial},
};
pub use hippocrene_pegasus::{
    DecisionTree, FeatureRanges, Function, Sectors, Shape, Tables, Tangents, TreeModel, TreeNode,
};
pub use hippocrene_ring::Seed;
pub use hippocrene_rlwe::{Fingerprint, Gate, cache_budget, set_cache_budget, stop::stoppable};
pub use num_complex::Complex64;

pub use gates::{GateArray, GateClient, GateKeys, GateServer};
pub use integers::{IntegerArray, Residues};
pub use interval::Interval;
pub use keys::{EvaluationKeys, KeyRequest, PublicKey, TransferKey};
pub use layout::Layout;
pub use look_ups::{LookUpKeys, LookUpPlan, LookUps, LookUpsDescription};
pub use numbers::{EncryptedArray, Numbers, ScaleAndBound};
pub use preset::{
    FailureDescription, Family, KeyBytes, PRESETS, Plan, Planned, Preset, PresetDescription,
    SecurityDescription,
};
pub use server::{
    Apart, Argument, Comparison, Computed, Diagonals, Extent, Form, Server, ServerMemory, Ties,
};
pub use session::Session;
pub use settings::{Integers, Settings};
pub use simulation::{Purpose, Report, Simulation, TreeSimulation, UsedKey};
pub use slots::{Padding, SlotContents};
pub use trees::{
    TreeClient, TreeInterface, TreeKeys, TreePlan, TreeQuery, TreeReply, TreeServer, TreeTables,
};
pub use wire::Stored;
/// The crates below this one: rings, RLWE and the schemes.
///
/// The signatures of this crate use their types and errors.
pub use {
    hippocrene_bgv as bgv, hippocrene_ckks as ckks, hippocrene_pegasus as pegasus,
    hippocrene_ring as ring, hippocrene_rlwe as rlwe,
};

/// Runs the programs of the page on Rust as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
