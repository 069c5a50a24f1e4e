//! The steps of a rotation: their exponents, and the bits of the secret of inputs.

use super::RotationParameters;
use crate::LweSecretKey;

/// The largest number of bits of a step.
pub(super) const MOST_BITS: usize = 3;

impl RotationParameters {
    /// The exponents in `[0, 2N)` of the bits of a step, if the coefficients of the input are `a`
    /// there.
    pub(super) fn exponents(&self, a: &[usize]) -> [usize; MOST_BITS] {
        let order = 2 * self.ring().dimension();
        match self.coefficients() {
            1 => [a[0], (order - a[0]) % order, 0],
            _ => [a[0], a[1], (a[0] + a[1]) % order],
        }
    }

    /// A mask for each bit of step `i`: all ones if the bit is 1, and zero otherwise.
    pub(super) fn masks(&self, secret: &LweSecretKey, i: usize) -> [u64; MOST_BITS] {
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
