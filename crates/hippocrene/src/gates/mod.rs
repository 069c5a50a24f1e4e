//! Gates of single bits: each bit is a ciphertext of its own, and each gate a blind rotation
//! ([`hippocrene_fhew::GateParameters`]).
//!
//! A gate of one bit is ready many times sooner than one of [`BitArray`](crate::BitArray)s, whose
//! ciphertexts hold thousands of bits, and bits move for nothing: there are no rotations and no
//! keys for them. Gates of thousands of bits at once are much faster there.

mod array;
mod client;
mod server;

use hippocrene_fhew::GateParameters;
use hippocrene_rlwe::Fingerprint;

pub use array::GateArray;
pub(crate) use array::{Bits, check_shape, error_of};
pub use client::{GateClient, GateKeys};
pub use server::GateServer;

/// What files name the parameters by.
pub(crate) fn digest(parameters: &GateParameters) -> Fingerprint {
    Fingerprint::of("hippocrene 2026-11 gates of single bits", parameters.name().as_bytes())
}
