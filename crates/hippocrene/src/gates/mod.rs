//! Gates of single bits.
//!
//! Each bit is a ciphertext of its own, and each gate is a blind rotation
//! ([`hippocrene_fhew::GateParameters`]). The ciphertexts of a [`BitArray`](crate::BitArray) hold
//! thousands of bits instead. A single gate is many times faster here, and moving bits is free: it
//! needs no rotations of slots and no keys for them. For thousands of bits at once,
//! [`BitArray`](crate::BitArray)s are much faster.

mod array;
mod client;
mod server;

use hippocrene_fhew::GateParameters;
use hippocrene_rlwe::Fingerprint;

pub use array::GateArray;
pub(crate) use array::{Bits, check_shape, error_of};
pub use client::{GateClient, GateKeys};
pub use server::GateServer;

/// The digest that identifies the parameters in files.
pub(crate) fn digest(parameters: &GateParameters) -> Fingerprint {
    Fingerprint::of("hippocrene 2026-11 gates of single bits", parameters.name().as_bytes())
}
