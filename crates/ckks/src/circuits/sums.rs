//! Sums over slots.

use crate::{Ciphertext, CkksError, Evaluator};

const SUM: &str = "sum of slots";

impl Evaluator {
    /// Returns the sum of `count` rotations by multiples of `step`: slot `i` of the result is the
    /// sum of slots `i + k step` of `a` over `k < count`.
    ///
    /// It uses `floor(log2(count))` rotations by `step 2^k`, and one more for each further bit that
    /// is set in `count`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if `count` is 0. Fails also if a rotation key is missing
    /// or the sum does not fit the modulus.
    /// does not fit the modulus.
    pub fn inner_sum(
        &self,
        a: &Ciphertext,
        step: usize,
        count: usize,
    ) -> Result<Ciphertext, CkksError> {
        if count == 0 {
            let what = "a sum of 0 rotations: at least 1 is needed".into();
            return Err(CkksError::Argument { operation: SUM, what });
        }
        self.check_own(a, SUM)?;
        // `power` is the sum of 2^k rotations. `sum` is the sum of `count mod 2^k` rotations.
        let (mut power, mut sum): (_, Option<Ciphertext>) = (a.clone(), None);
        for k in 0..=count.ilog2() {
            let by = (step << k) as i64;
            if count >> k & 1 == 1 {
                let mut both = power.clone();
                if let Some(sum) = &sum {
                    self.add_alike(&mut both, &self.rotate(sum, by)?)?;
                }
                sum = Some(both);
            }
            if k < count.ilog2() {
                let rotated = self.rotate(&power, by)?;
                self.add_alike(&mut power, &rotated)?;
            }
        }
        let mut sum = sum.unwrap_or(power);
        if step == 1 && count == a.slots() {
            // All slots hold the same sum with the same error.
            let noise = sum.inner().noise();
            sum.inner_mut().set_noise(noise.with_common(noise));
        }
        Ok(sum)
    }
}
