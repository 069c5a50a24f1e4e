//! The exponents of a rotation's steps, and the bits of the inputs' secret.

use super::RotationParameters;
use crate::LweSecretKey;

/// The maximum number of bits of a step.
pub(super) const MAX_BITS_PER_STEP: usize = 3;

impl RotationParameters {
    /// Returns the exponents in `[0, 2N)` of a step's bits, for the input's coefficients `a` of
    /// this step.
    pub(super) fn exponents(&self, a: &[usize]) -> [usize; MAX_BITS_PER_STEP] {
        let order = 2 * self.ring().dimension();
        match self.coefficients() {
            1 => [a[0], (order - a[0]) % order, 0],
            _ => [a[0], a[1], (a[0] + a[1]) % order],
        }
    }

    /// Returns a mask for each bit of step `i`: all ones if the bit is 1, and zero otherwise.
    pub(super) fn masks(&self, secret: &LweSecretKey, i: usize) -> [u64; MAX_BITS_PER_STEP] {
        match self.coefficients() {
            1 => {
                let [plus, minus] = secret.sign_masks(i);
                [plus, minus, 0]
            }
            _ => {
                let [[first, _], [second, _]] = [2 * i, 2 * i + 1].map(|i| secret.sign_masks(i));
                [first & !second, second & !first, first & second]
            }
        }
    }
}
