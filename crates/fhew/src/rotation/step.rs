//! The steps of a rotation, and what each needs to know of the secret of inputs.

use hippocrene_rlwe::SecretDistribution;

use super::RotationParameters;
use crate::LweSecretKey;

/// The most bits that a step has.
pub(super) const MOST_BITS: usize = 3;

impl RotationParameters {
    /// How many steps a rotation takes: one for each coefficient of the secret of inputs, or for
    /// two if it is binary.
    pub fn steps(&self) -> usize {
        self.input().dimension() / self.coefficients()
    }

    /// How many bits of the secret a step has an RGSW encryption of each of: one for each value
    /// that its coefficients have beside 0.
    pub fn bits(&self) -> usize {
        self.coefficients() + 1
    }

    /// How many coefficients of the secret a step has.
    pub(super) fn coefficients(&self) -> usize {
        match self.input().secret() {
            SecretDistribution::Binary => 2,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => 1,
        }
    }

    /// How many steps turn the accumulator, on average: in the others all bits are 0.
    pub(super) fn turns(&self) -> f64 {
        match self.input().secret() {
            SecretDistribution::Binary => 0.75 * self.steps() as f64,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
                self.input().secret_weight()
            }
        }
    }

    /// The exponents in `[0, 2N)` that go with the bits of a step where inputs have these, of the
    /// coefficients of the step.
    pub(super) fn exponents(&self, a: &[usize]) -> [usize; MOST_BITS] {
        let order = 2 * self.ring().dimension();
        match self.coefficients() {
            1 => [a[0], (order - a[0]) % order, 0],
            _ => [a[0], a[1], (a[0] + a[1]) % order],
        }
    }

    /// All ones where a bit of step `i` is 1, and else zero, for each of its bits.
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
