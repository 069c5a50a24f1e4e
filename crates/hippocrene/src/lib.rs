//! Computing on encrypted arrays: a client encrypts, a server that holds no secret computes, and
//! only the client reads the result.
//!
//! [`ClientKey`] encrypts, decrypts and makes the [`EvaluationKeys`] that a [`Server`] computes
//! with. A [`PublicKey`] only encrypts. A [`TransferKey`] converts arrays so that a second key
//! decrypts them.
//!
//! Arrays of numbers have two forms ([`Arithmetic`]). An [`EncryptedArray`] holds real or complex
//! numbers (CKKS). An [`IntegerArray`] holds integers modulo a plaintext modulus (BGV and BFV, see
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

mod preset;
pub mod wire;

pub use hippocrene_arrays::{
    AnyArray, AnyKind, Apart, Application, Argument, Arithmetic, Array, Basis, BigFloat,
    BigFloatError, BitArray, BitKeys, BitLiteral, BitPacking, BitPlan, BitServer, Bits,
    Bootstrapping, BootstrappingDescription, BootstrappingKeys, Capacity, CiphertextBody,
    ClientKey, Clustering, Comparison, Complex64, Computed, Cost, DecisionTree, Diagonals,
    Elements, EncryptedArray, Encryption, Error, EvaluationKeys, Extent, FeatureRanges,
    Fingerprint, Fresh, Function, Gate, GateArray, GateClient, GateKeys, GateServer, InOrder,
    Input, IntegerArray, IntegerPolynomial, Integers, Interface, InterfaceBody, Interval,
    IterationTimes, KMeansMethod, KeyRequest, Layout, LinearMaps, LookUpKeys, LookUpPlan, LookUps,
    LookUpsDescription, LoopBody, Notes, Numbers, OfDifference, OfSign, Operation, Origin, Padding,
    Part, Plain, PlainNumber, PlainNumbers, Planning, Polynomial, Polynomials, Prepared, Program,
    ProgramBody, PublicKey, Purpose, Recorder, Report, Residues, Results, ScaleAndBound, Scheme,
    Seed, Server, ServerMemory, Session, Settings, Shape, SharedErrors, Simulation, SlotContents,
    SmoothFunction, Spec, SpecKind, StepReport, Tables, Tangents, Ties, TransferKey, TreeClient,
    TreeInterface, TreeKeys, TreeModel, TreeNode, TreePlan, TreeQuery, TreeReply, TreeServer,
    TreeSimulation, TreeTables, TrivialEncryption, UsedKey, Values, cache_budget, format_shape,
    profile, set_cache_budget, stoppable,
};
pub use preset::{
    FailureDescription, Family, KeyBytes, PRESETS, Plan, Planned, Preset, PresetDescription,
    SecurityDescription,
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
#[doc = include_str!("../../../docs/how-to/use-rust.md")]
struct Page;

/// Runs the program of the page on tuples as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/tuples.md")]
struct Tuples;
