//! Blind rotation: the look-up of an encrypted number in a table (PEGASUS III.B, Fig. 2).
//!
//! The table stands in the coefficients of a polynomial `f` of the ring `R_N`, and the decryption
//! formula of the input, switched to the modulus `2N`, in the exponent of `X`: `f X^(b + <a, s>)`
//! has the entry in its constant coefficient. The exponent is built up step by step: with RGSW
//! encryptions `K_j` of bits of which at most one is 1, and the exponent `e_j` that goes with each,
//!
//! `acc X^(sum_j e_j m_j) = acc + sum_j (X^e_j - 1) (acc (.) K_j)`.
//!
//! A step is one coefficient of a ternary secret, with the bits `[s_i = 1]` and `[s_i = -1]`, or
//! two of a binary one, with the bits `s_i (1 - s_k)`, `(1 - s_i) s_k` and `s_i s_k` (unrolling:
//! Bourse, Minelli, Minihold and Paillier, ePrint 2017/1114). The paper takes one external product
//! `(.)` for each bit, one after the other; here all take the digits of one accumulator, their sum
//! is formed in the evaluation domain, and one inverse transform for each part brings it back: the
//! transforms of one external product.

mod count;
mod key;
mod parameters;
mod rotate;
mod several;
mod step;
mod table;

pub use count::LOOK_UP;
pub use key::BlindRotationKey;
pub use parameters::{RotationGadget, RotationParameters};
pub use rotate::PreparedBlindRotationKey;
pub use several::LookupTables;
pub use table::LookupTable;
