//! BGV (Brakerski, Gentry, Vaikuntanathan) and BFV (Brakerski; Fan, Vercauteren): exact arithmetic
//! on encrypted integers modulo a plaintext modulus `t`, on the moduli, keys and key switching of
//! [`hippocrene_rlwe`].
//!
//! # One form for both
//! A ciphertext `(c0, c1)` modulo `Q`, coprime to `t`, holds a message `m` as
//!
//! `t (c0 + c1 s) = [-Q g m]_t + t e  mod Q`,  or, which is the same,  `c0 + c1 s = (Q/t) g m + e'
//! mod (Q, Q)`,
//!
//! with a small error `e` (`e'` differs from it by less than 1/2), centred `[.]_t`, and a known
//! unit `g` modulo `t`, its *factor*. The second line is a BFV ciphertext with the exact scaling of
//! Kim, Polyakov and Zucca (ePrint 2021/204); the first says that `t` times it is a BGV ciphertext,
//! so that the two differ by a scalar (Alperin-Sheriff and Peikert, ePrint 2013/372), and all that
//! is left of the choice between the schemes is how products are computed ([`Scheme`]). What
//! follows from keeping BGV ciphertexts divided by `t`:
//!
//! - The plaintext modulus does not occur in encryption, keys, key switching and modulus switching:
//!   those of CKKS serve, with `t = 1` (MG23 2.2 calls `t` the error scale). One set of keys serves
//!   all three schemes and every `t`.
//! - Modulus switching leaves the factor as it is, and rounding adds `(1 + |s|^2)/12` to the
//!   variance of the error whatever `t` is.
//! - A product in the manner of BGV is `t` times the tensor product, and has the factor `-Q g g'`;
//!   one in the manner of BFV has `g g'`.

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
