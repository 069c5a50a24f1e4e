//! BGV (Brakerski, Gentry, Vaikuntanathan) and BFV (Brakerski; Fan, Vercauteren): exact arithmetic
//! on encrypted integers modulo a plaintext modulus `t`.
//!
//! Moduli, keys and key switching are those of [`hippocrene_rlwe`]. [`Context`] prepares a
//! parameter set for one `t`, [`Encoder`] turns integers into plaintexts, and [`Evaluator`]
//! computes on ciphertexts.
//!
//! # One form of ciphertext for both schemes
//! A ciphertext `(c0, c1)` modulo `Q`, coprime to `t`, holds a message `m` in the form
//!
//! `t (c0 + c1 s) = [-Q g m]_t + t e  mod Q`,
//!
//! or equivalently
//!
//! `c0 + c1 s = (Q/t) g m + e'  mod Q`.
//!
//! Here `e` is a small error, `e'` differs from it by less than 1/2, and `[.]_t` is centred around
//! 0. The *factor* `g` is a known unit modulo `t`.
//!
//! The second equation describes a BFV ciphertext with the exact scaling of Kim, Polyakov and Zucca
//! (ePrint 2021/204). The first one says that `t` times this ciphertext is a BGV ciphertext. The
//! two schemes differ by this scalar only (Alperin-Sheriff and Peikert, ePrint 2013/372). What
//! remains to choose is the method that computes products ([`Scheme`]).
//!
//! BGV ciphertexts are stored divided by `t`. This has three consequences:
//!
//! - The plaintext modulus does not occur in encryption, keys, key switching and modulus switching.
//!   The algorithms of CKKS serve unchanged, with `t = 1` (MG23, section 2.2, calls `t` the error
//!   scale). One set of keys serves all three schemes and every `t`.
//! - Modulus switching keeps the factor, and rounding adds `(1 + |s|^2)/12` to the variance of the
//!   error for every `t`.
//! - A BGV product is `t` times the tensor product and has the factor `-Q g g'`. A BFV product has
//!   the factor `g g'`.

mod ciphertext;
mod circuits;
mod context;
mod encoder;
mod encryption;
mod error;
mod evaluator;
mod modulus;
mod noise;
mod plaintext;
mod pool;
mod scheme;
mod transfer;

pub use ciphertext::{Ciphertext, SeededCiphertext, budget_bits};
pub use circuits::{LinearTransform, Matrix, Permutation, Polynomial};
pub use context::Context;
pub use encoder::Encoder;
pub use error::BgvError;
pub use evaluator::Evaluator;
pub use modulus::shared_unit;
pub use plaintext::Plaintext;
pub use scheme::Scheme;
