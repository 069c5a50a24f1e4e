//! Computation on encrypted bits, `N/2` or `N` in a ciphertext (Bae, Cheon, Kim, Stehle, EUROCRYPT
//! 2024, "BCKS24"; GRAFT 4.2).
//!
//! A slot holds `b + e`, a bit `b` with an error `e`. Bootstrapping reduces the error: the modulus
//! is raised while `b + e` represents an angle, and the result of a gate is a trigonometric
//! function of that angle. Bootstrapping computes this function in any case.
//!
//! **Positions.** For one bit the angle is `pi (b + e)`, and `(1 - cos(pi (b + e)))/2 = b +-
//! sin^2(pi e/2)`. This is [`BitBootstrapper::refresh`] (BinBoot). For two or three bits with the
//! sum `s` the angle is `pi s/2`. The sums 0, 1, 2 and 3 lie at the quarters of the circle, so
//! *every* symmetric function of three bits is a function of one cosine. BCKS24 uses thirds of the
//! circle for two bits. Quarters have the smaller slope: an error of `s/D` is multiplied by `pi`
//! instead of `4 pi/(2 sqrt(3)) = 3.63`. With `delta` the error of the angle:
//!
//! - Two neighbouring sums give 1 (majority, and the and, or, nand and nor of two bits). The
//!   function of the angle is `(1 - sqrt(2) cos(theta - phi))/2`, and the error of the result is
//!   `(1 - cos delta + sin delta)/2`.
//! - Two opposite sums give 1 (xor, xnor). The function is `1 - cos^2(theta - phi)`, or
//!   `(1 - cos)/2` of twice the angle if no other gate is computed. The error is `sin^2 delta`.
//! - One sum gives 1, or three do (the and, or, nand and nor of three bits). The function is
//!   `c^2 (1 + c)/2` with `c = cos(theta - phi)`, or 1 minus that. The error is
//!   `1 - cos^2 delta (1 + cos delta)/2`.
//!
//! The derivatives of the last two functions vanish at every position, so their errors are
//! `O(e^2)`. The error of the first is `pi e/4` for an error `e` of the sum, to first order. In
//! return it uses two products less than the last. [`crate::Evaluator::clean_bits`] computes `3 b^2
//! - 2 b^3`, which reduces that error and the noise of the cosine from `e` to `3 e^2`.
//!
//! **Errors** are tracked: the noise estimate of a [`BitCiphertext`] covers the whole difference
//! from the bits, and every operation updates it. An operation whose result could no longer be read
//! is refused.

mod bootstrapper;
mod ciphertext;
mod evaluate;
mod gate;
mod leveled;
mod parts;
mod plan;
mod rotate;

pub use bootstrapper::BitBootstrapper;
pub use ciphertext::{
    BitCiphertext, BitPacking, CERTAIN_ERROR_BOUND, DEVIATIONS, SeededBitCiphertext, decode_bits,
    encode_bits, error_at,
};
pub use gate::gate_error;
pub use hippocrene_rlwe::Gate;
pub use parts::BitParts;
pub use plan::{BitLiteral, BitPlan};
