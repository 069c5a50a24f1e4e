//! Blind rotation: the look-up of an encrypted number in a table (PEGASUS III.B, Fig. 2).
//!
//! The entries of the table are the coefficients of a polynomial `f` of the ring `R_N`. The input
//! is switched to the modulus `2N`, and its decryption formula becomes an exponent of `X`. Then the
//! constant coefficient of `f X^(b + <a, s>)` is the entry that belongs to the input.
//!
//! The exponent is built up step by step. A step has RGSW encryptions `K_j` of bits `m_j`, of which
//! at most one is 1, and an exponent `e_j` for each. It computes
//!
//! `acc X^(sum_j e_j m_j) = acc + sum_j (X^e_j - 1) (acc (.) K_j)`,
//!
//! where `(.)` is the external product. A step handles one coefficient of a ternary secret, with
//! the bits `[s_i = 1]` and `[s_i = -1]`, or two coefficients of a binary one, with the bits
//! `s_i (1 - s_k)`, `(1 - s_i) s_k` and `s_i s_k` (unrolling: Bourse, Minelli, Minihold and
//! Paillier, ePrint 2017/1114).
//!
//! The paper computes one external product for each bit, one after the other. Here all bits use the
//! digits of one accumulator. Their sum is formed in the evaluation domain, and one inverse
//! transform for each part brings it back. So a step needs only the transforms of one external
//! product.

mod count;
mod key;
mod parameters;
mod rotate;
mod several;
mod step;
mod table;

pub use count::LOOK_UP_OPERATION;
pub use key::BlindRotationKey;
pub use parameters::{RotationGadget, RotationParameters};
pub use rotate::PreparedBlindRotationKey;
pub use several::LookupTables;
pub use table::LookupTable;
