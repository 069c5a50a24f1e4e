//! Computing on encrypted arrays: a client encrypts, a server that holds no secret computes, and
//! only the client reads the result.
//!
//! [`ClientKey`] encrypts, decrypts and makes the [`EvaluationKeys`] that a [`Server`] computes
//! with; a [`PublicKey`] only encrypts, and a [`TransferKey`] brings arrays to a second key.
//!
//! Arrays come in two [forms](Form): an [`EncryptedArray`] of real or complex numbers (CKKS), an
//! [`IntegerArray`] of integers modulo a plaintext modulus (BGV and BFV, see [`Integers`]). One key
//! serves all of them, and the server's operations on both have the same names.
//!
//! A [`BitArray`] holds bits, and a [`BitServer`], which is part of a server, makes gates of them,
//! without a limit of depth.
//!
//! A [`TreeClient`] asks a [`TreeServer`] for what decision trees of the latter's say of numbers
//! that it does not see.

mod array;
mod bits;
mod bootstrapping;
mod client;
mod clustering;
mod elements;
mod encryption;
mod error;
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
pub use numbers::{EncryptedArray, Numbers};
pub use preset::{
    FailureDescription, Family, KeyBytes, PRESETS, Paper, PaperDescription, Plan, Planned, Preset,
    PresetDescription, SecurityDescription,
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
/// What is beneath: rings, RLWE, and the schemes, whose types and errors stand in the signatures
/// here.
pub use {
    hippocrene_bgv as bgv, hippocrene_ckks as ckks, hippocrene_pegasus as pegasus,
    hippocrene_ring as ring, hippocrene_rlwe as rlwe,
};

/// The programs of the page on Rust, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
