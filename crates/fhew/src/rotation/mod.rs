//! Blind rotation: the look-up of an encrypted number in a table (PEGASUS III.B, Fig. 2).
//!
//! The table stands in the coefficients of a polynomial `f` of the ring `R_N`, and the decryption formula of the input, switched to the modulus `2N`, in the
//! exponent of `X`: `f X^(b + <a, s>)` has the entry in its constant coefficient. The exponent is built up factor by factor: with RGSW encryptions
//! `K+` and `K-` of the bits `[s_i = 1]` and `[s_i = -1]`,
//!
//! `acc X^(a s_i) = acc + (X^a - 1) (acc (.) K+ - X^-a (acc (.) K-))`,
//!
//! since `X^-a - 1 = -X^-a (X^a - 1)`. The paper takes two external products `(.)` one after the other; here both take the digits of one accumulator, their
//! difference is formed in the evaluation domain, and one inverse transform for each part brings it back: the transforms of one external product.

mod key;
mod parameters;
mod rotate;
mod several;
mod table;

pub use key::BlindRotationKey;
pub use parameters::{RotationGadget, RotationParameters};
pub use rotate::PreparedBlindRotationKey;
pub use several::LookupTables;
pub use table::LookupTable;
