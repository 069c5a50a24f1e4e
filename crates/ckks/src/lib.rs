//! CKKS: arithmetic on encrypted vectors of real and complex numbers (Cheon, Kim, Kim, Song, ePrint
//! 2016/421), in full RNS form with hybrid key switching (HK20).
//!
//! A [`Context`] prepares a parameter set. It encodes values into a [`Plaintext`] and encrypts that
//! as a [`Ciphertext`]. An [`Evaluator`] holds the evaluation keys and computes on ciphertexts. A
//! [`Scale`] converts between the numbers in the slots and the integers in the polynomial.
//! [`bootstrap`] restores the capacity of a ciphertext, [`circuits`] has polynomials, linear maps
//! and comparisons, and [`bits`] computes on encrypted bits.

pub mod approximation;
mod big_float;
pub mod bits;
pub mod bootstrap;
mod ciphertext;
pub mod circuits;
mod context;
mod double_double;
mod dry_run_values;
pub mod encoder;
mod encoding;
mod encryption;
mod error;
mod evaluator;
mod flood;
mod plaintext;
mod refresh;
mod scale;
mod transfer;
pub mod tuple;
mod values;

pub use big_float::{BigFloat, BigFloatError};
pub use ciphertext::{Ciphertext, SeededCiphertext};
pub use context::Context;
pub use error::{CkksError, Short};
pub use evaluator::Evaluator;
pub use plaintext::Plaintext;
pub use refresh::{NoRefresh, Refresh};
pub use scale::Scale;
pub use transfer::Transfer;
pub use tuple::Tuple;
pub use values::Values;
