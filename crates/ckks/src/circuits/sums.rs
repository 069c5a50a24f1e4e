//! Sums over slots.

use crate::{Ciphertext, CkksError, Evaluator};

impl Evaluator {
    /// The sum of `count` rotations by multiples of `step`: slot `i` of the result is the sum of slots `i + k step` of `a` over
    /// `k < count`. `log2(count)` rotations, by `step 2^k`.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when `count` is not a power of two, and when a rotation key is missing or the sum does not fit the modulus.
    pub fn inner_sum(&self, a: &Ciphertext, step: usize, count: usize) -> Result<Ciphertext, CkksError> {
        if !count.is_power_of_two() {
            let what = format!("a sum of {count} rotations: a power of two is needed");
            return Err(CkksError::Argument { operation: "sum of slots", what });
        }
        let mut sum = a.clone();
        for k in 0..count.trailing_zeros() {
            let rotated = self.rotate(&sum, (step << k) as i64)?;
            self.add_assign(&mut sum, &rotated)?;
        }
        Ok(sum)
    }
}
