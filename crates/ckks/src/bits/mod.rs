//! Computation on encrypted bits, `N/2` or `N` in a ciphertext (Bae, Cheon, Kim, Stehle, EUROCRYPT
//! 2024, "BCKS24"; GRAFT 4.2).
//!
//! A slot holds a bit `b` with an error, `b + e`. What is encoded on a circle tells its error away:
//! the modulus is raised while `b + e` stands for an angle, and a trigonometric function of that
//! angle, which bootstrapping computes anyway, is the value of a gate.
//!
//! **Positions.** Of one bit the angle is `pi (b + e)`, and `(1 - cos(pi (b + e)))/2 = b +-
//! sin^2(pi e/2)`: [`BitBootstrapper::refresh`] (BinBoot). Of up to three bits with the sum `s` it
//! is `pi s/2`: the sums 0, 1, 2 and 3 stand at the quarters of the circle, so that *every*
//! symmetric function of three bits is a function of one cosine. (BCKS24 has thirds of the circle,
//! for two bits. Quarters have the smaller slope: an error of `s/D` is multiplied by `pi`, not by
//! `4 pi/(2 sqrt(3)) = 3.63`.) With `delta` the error of the angle:
//!
//! | gates | function of the angle | error of the result |
//! |---|---|---|
//! | two neighbouring sums give 1: and, or, nand, nor of two, majority | `(1 - sqrt(2) cos(theta - phi))/2` | `(1 - cos delta + sin delta)/2` |
//! | two opposite ones: xor, xnor | `1 - cos^2(theta - phi)`; alone, of twice the angle, `(1 - cos)/2` | `sin^2 delta` |
//! | one, or three: and, or, nand, nor of three | `c^2 (1 + c)/2` with `c = cos(theta - phi)`, or 1 minus that | `1 - cos^2 delta (1 + cos delta)/2` |
//!
//! The derivatives of the last two vanish at every position: their errors are `O(e^2)`. That of the
//! first does not, its error is `pi e/4` for an error `e` of the sum, to first order, but it takes
//! two products less than the last. [`crate::Evaluator::clean_bits`], `3 b^2 - 2 b^3`, makes `3
//! e^2` of it, and of what noise the cosine has added.
//!
//! **Errors** are known: the noise estimate of a [`BitCiphertext`] is that of the whole difference
//! from the bits, followed by every operation. What could no longer be told is refused.

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
    BitCiphertext, BitPacking, CERTAIN, DEVIATIONS, SeededBitCiphertext, decode_bits, encode_bits,
    error_at,
};
pub use gate::gate_error;
pub use hippocrene_rlwe::Gate;
pub use parts::BitParts;
pub use plan::{BitLiteral, BitPlan};
