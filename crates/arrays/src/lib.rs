//! Encrypted arrays: settings and keys, the layout of elements in slots, and the operations of a
//! server on them.
//!
//! [`ClientKey`] encrypts arrays and makes the [`EvaluationKeys`] that a [`Server`] computes with.
//! A [`Session`] is the settings of both, made ready to compute with. A [`Simulation`] predicts
//! the cost and the errors of a server's computation.
//!
//! Users import the crate `hippocrene` instead. It has the same names, and adds presets and the
//! wire format. This crate knows neither of them. It has [`files`] that are written all or nothing,
//! and the kinds and errors of the [`mod@format`], since profiles and errors name them.

mod array;
mod bits;
mod bootstrapping;
mod client;
mod clustering;
mod elements;
mod encryption;
mod error;
pub mod files;
pub mod format;
mod fresh;
pub mod gates;
mod integers;
mod interval;
mod keys;
mod kind;
mod layout;
mod look_ups;
mod numbers;
pub mod profile;
mod programs;
mod room;
mod server;
mod session;
mod settings;
mod simulation;
mod slots;
mod terms;
mod trees;
mod trivial;

pub use array::Array;
pub use bits::{BitArray, BitKeys, BitServer, Bits};
pub use bootstrapping::{Bootstrapping, BootstrappingDescription, BootstrappingKeys};
pub use client::ClientKey;
pub use clustering::{Clustering, KMeansMethod, Origin};
pub use elements::{CiphertextBody, Elements};
pub use encryption::Encryption;
pub use error::{Error, format_shape};
pub use fresh::Fresh;
pub use hippocrene_bgv::{Polynomial as IntegerPolynomial, Scheme};
pub use hippocrene_ckks::{
    BigFloat, BigFloatError, Values,
    bits::{BitLiteral, BitPacking, BitPlan},
    circuits::{Basis, Polynomial},
};
pub use hippocrene_pegasus::{
    DecisionTree, FeatureRanges, Function, IterationTimes, Shape, Tables, Tangents, TreeModel,
    TreeNode,
};
pub use hippocrene_ring::Seed;
pub use hippocrene_rlwe::{Fingerprint, Gate, cache_budget, set_cache_budget, stop::stoppable};
pub use num_complex::Complex64;

pub use gates::{GateArray, GateClient, GateKeys, GateServer};
pub use integers::{IntegerArray, Residues};
pub use interval::Interval;
pub use keys::{EvaluationKeys, KeyRequest, PublicKey, TransferKey, rotations_among};
pub use layout::Layout;
pub use look_ups::{LookUpKeys, LookUpPlan, LookUps, LookUpsDescription};
pub use numbers::{EncryptedArray, Numbers, ScaleAndBound, capacity_bits, precision_bits};
pub use programs::{
    AnyArray, AnyKind, Cost, InOrder, Input, Interface, InterfaceBody, LoopBody, Notes,
    OfDifference, OfSign, Operation, Part, Plain, PlainNumber, Planning, Program, ProgramBody,
    Recorder, Results, Spec, SpecKind, StepReport,
};
pub use server::{
    Apart, Application, Argument, Arithmetic, Capacity, Comparison, Computed, Diagonals, Extent,
    LinearMaps, PlainNumbers, Polynomials, Prepared, Server, ServerMemory, SharedErrors,
    SmoothFunction, Ties,
};
pub use session::Session;
pub use settings::{Integers, Settings};
pub use simulation::{Purpose, Report, Simulation, TreeSimulation, UsedKey};
pub use slots::{Padding, SlotContents};
pub use trees::{
    TreeClient, TreeInterface, TreeKeys, TreePlan, TreeQuery, TreeReply, TreeServer, TreeTables,
};
pub use trivial::TrivialEncryption;
