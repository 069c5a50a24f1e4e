//! Bits brought to other slots.

use super::{BitCiphertext, BitPacking};
use crate::{CkksError, Evaluator};

impl Evaluator {
    /// The slots rotated by `steps` to the left, real and imaginary parts alike
    /// ([`Evaluator::rotate`]).
    ///
    /// # Errors
    /// When the key of this rotation is missing and it cannot be composed, and when the bits could
    /// not be told any more.
    pub fn rotate_bits(&self, a: &BitCiphertext, steps: i64) -> Result<BitCiphertext, CkksError> {
        self.moved_bits(a, "rotate", |x| self.rotate(x, steps))
    }

    /// The bits of the imaginary parts in the real ones, and the complements of these in the
    /// imaginary ones: `1 + i (1 + i - z)`, for nothing.
    ///
    /// # Errors
    /// [`CkksError::Argument`] for bits in real slots, which have no others.
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
