//! Rotation of encrypted bits and exchange of their parts.

use super::{BitCiphertext, BitPacking};
use crate::{CkksError, Evaluator};

impl Evaluator {
    /// Rotates the slots by `steps` to the left, real and imaginary parts together
    /// ([`Evaluator::rotate`]).
    ///
    /// # Errors
    /// Fails if the key of this rotation is missing and other keys cannot compose it. Fails also if
    /// the result's bits would be too uncertain to decrypt.
    pub fn rotate_bits(&self, a: &BitCiphertext, steps: i64) -> Result<BitCiphertext, CkksError> {
        self.moved_bits(a, "rotate", |x| self.rotate(x, steps))
    }

    /// Moves the bits of the imaginary parts to the real parts, and the complements of the real
    /// parts to the imaginary parts: `1 + i (1 + i - z)`. This costs no key switch and no capacity.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] for real packing, which has no imaginary parts.
    pub fn exchange_parts(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "exchange parts";
        if a.packing() == BitPacking::Real {
            let what = "bits in real slots have no imaginary parts".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let not = self.not_bits(a)?;
        self.moved_bits(&not, OPERATION, |x| self.add_number(&self.mul_by_i(x)?, 1.0))
    }
}
