//! Constants that are prepared for multiplication.

use crate::arith::{mul_mod, pow_mod};

/// A constant that [`super::Elementwise::scalar`] has prepared for multiplication.
///
/// It includes the derived values that each arithmetic needs, so it works with every kernel of its
/// modulus. See [`super::Elementwise`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar {
    /// `c` in `[0, q)`.
    pub(super) value: u64,
    /// Shoup's quotient, `floor(c 2^64 / q)`.
    pub(super) quotient: u64,
    /// `c 2^52 mod q`, which is used for `q < 2^50`.
    pub(super) montgomery: u64,
    /// `montgomery q^-1 mod 2^52`.
    pub(super) montgomery_inverse: u64,
}

impl Scalar {
    /// Prepares `c` in `[0, q)`, with `q_inverse = q^-1 mod 2^64`.
    pub(crate) fn new(c: u64, q: u64, q_inverse: u64) -> Self {
        let montgomery = mul_mod(c, pow_mod(2, 52, q), q);
        Scalar {
            value: c,
            quotient: ((u128::from(c) << 64) / u128::from(q)) as u64,
            montgomery,
            montgomery_inverse: montgomery.wrapping_mul(q_inverse) & ((1 << 52) - 1),
        }
    }

    /// Returns the constant itself, in `[0, q)`.
    pub fn value(&self) -> u64 {
        self.value
    }
}
