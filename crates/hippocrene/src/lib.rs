//! Computing on encrypted arrays: a client encrypts, a server that holds no secret computes, and only the client reads the result.
//!
//! [`ClientKey`] encrypts, decrypts and makes the [`EvaluationKeys`] that a [`Server`] computes with; a [`PublicKey`] only encrypts, and a [`TransferKey`]
//! brings arrays to a second key.

mod array;
mod client;
mod encryption;
mod error;
mod keys;
mod kind;
mod layout;
mod preset;
pub mod profile;
mod server;
mod session;
mod settings;
pub mod wire;

pub use array::{CiphertextBody, EncryptedArray};
pub use client::ClientKey;
pub use encryption::Encryption;
pub use error::Error;
pub use hippocrene_ckks::{
    BigFloat, BigFloatError, Values,
    circuits::{Basis, Polynomial},
};
pub use hippocrene_rlwe::Fingerprint;
pub use keys::{EvaluationKeys, KeyRequest, PublicKey, TransferKey};
pub use layout::Layout;
pub use preset::{
    Family, KeyBytes, PRESETS, Paper, PaperDescription, Plan, Planned, Preset, PresetDescription,
    SecurityDescription,
};
pub use server::Server;
pub use session::Session;
pub use settings::Settings;
