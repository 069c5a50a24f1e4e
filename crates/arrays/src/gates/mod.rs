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

pub use array::{Bits, GateArray, check_shape, error_of};
pub use client::{GateClient, GateKeys};
pub use server::GateServer;
