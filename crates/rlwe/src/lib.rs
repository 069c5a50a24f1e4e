//! The RLWE layer that CKKS, BGV and BFV share.
//!
//! It has keys, ciphertexts, key switching, security limits and noise estimates. All moduli of a
//! parameter set divide one number, `PQ_max`. One operation, [`Context::switch_modulus`], moves a
//! polynomial from one divisor to another.

pub mod budget;
mod cache;
mod ciphertext;
mod combination;
mod context;
pub mod design;
mod dry_run;
mod encapsulation;
mod error;
mod fingerprint;
mod gate;
mod hybrid_attack;
mod in_progress;
mod inclusion;
mod key_transfer;
mod keys;
mod keyswitch;
mod limb_groups;
mod linear;
mod linear_map_batch;
mod memory;
mod modulus;
pub mod noise;
mod ops;
mod parameters;
mod plans;
mod profile;
mod raise_modulus;
mod rings;
mod scaled_product;
pub mod security;
mod sized_cache;
mod sprout;
mod step_split;
pub mod stop;
mod switch;
mod tensor_sum;
mod transforms;
mod work_sharing;

pub use budget::{DEFAULT_CACHE_BUDGET_BYTES, cache_budget, set_cache_budget};
pub use ciphertext::{Ciphertext, SeededCiphertext};
pub use context::Context;
pub use dry_run::{KeyUse, OperationCost, Tally};
pub use error::{RlweError, format_need_and_have};
pub use fingerprint::Fingerprint;
pub use gate::Gate;
pub use keys::{
    EncapsulationKeys, EvaluationKeys, KeySize, PreparedEncapsulationKeys, PreparedEvaluationKeys,
    PreparedSwitchingKey, PreparedTransferKey, PublicKey, RotationNode, RotationTree, SecretKey,
    SwitchingKey, TransferKey, expand_uniform,
};
pub use keyswitch::{
    DEFAULT_KEY_MEMORY_BYTES, Decomposed, Destination, Gadget, LimbByLimb, LimbOperations, Method,
    Operations, RotationFactor, RotationSum, Summand, Term, TermFactor,
};
pub use linear::CombineInto;
pub use linear_map_batch::{Batch, Encodings};
pub use modulus::{MAX_UNITS_AND_SPECIALS, Modulus};
pub use noise::Noise;
pub use parameters::{Parameters, ParametersLiteral, SIGMA};
pub use profile::{LimbCosts, MemoryCosts, Profile, WordSize};
pub use scaled_product::ScaledSum;
pub use security::SecretDistribution;
pub use sized_cache::SizedCache;
pub use sprout::{MAX_SPROUT_PRIMES, Sprout};
pub use step_split::StepSplit;
pub use tensor_sum::TensorSum;
