//! Sums over slots.

use std::borrow::Cow;

use crate::{BgvError, Ciphertext, Evaluator};

impl Evaluator {
    /// Returns the sum of `count` rotations of both rows by multiples of `step`.
    ///
    /// Slot `i` of a row of the result is the sum of the slots `i + k step` of that row of `a` over
    /// `k < count`, modulo `N/2`. The sum uses `log2(count)` rotations, by `step 2^k`, and one more
    /// for each set bit of `count` except the highest.
    ///
    /// # Errors
    /// Returns [`BgvError::Argument`] if `count` is 0, and an error if a rotation key is missing
    /// and cannot be composed or the noise would be too large.
    pub fn inner_sum(
        &self,
        a: &Ciphertext,
        step: i64,
        count: usize,
    ) -> Result<Ciphertext, BgvError> {
        self.check(a, "sum of slots")?;
        if count == 0 {
            let what = "a sum of 0 rotations: at least 1 is needed".into();
            return Err(BgvError::Argument { operation: "sum of slots", what });
        }
        let row = self.context().rlwe().degree() as i64 / 2;
        // `power` is the sum of 2^k rotations, and `sum` the sum of (count mod 2^k) rotations.
        let (mut power, mut sum): (_, Option<Ciphertext>) = (Cow::Borrowed(a), None);
        let mut by = step.rem_euclid(row);
        for k in 0..=count.ilog2() {
            if count >> k & 1 == 1 {
                sum = Some(match sum {
                    None => power.clone().into_owned(),
                    Some(sum) => self.add(&power, &self.rotate_rows(&sum, by)?)?,
                });
            }
            if k < count.ilog2() {
                power = Cow::Owned(self.add(&power, &self.rotate_rows(&power, by)?)?);
                by = 2 * by % row;
            }
        }
        Ok(sum.unwrap_or_else(|| a.clone()))
    }

    /// Returns the sum of all `N` slots, in every slot. It uses rotations by the powers of two
    /// below `N/2` and the exchange of rows.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::inner_sum`].
    pub fn total_sum(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let rows = self.inner_sum(a, 1, self.context().rlwe().degree() / 2)?;
        self.add(&rows, &self.exchange_rows(&rows)?)
    }
}
