//! Sums over slots.

use std::borrow::Cow;

use crate::{BgvError, Ciphertext, Evaluator};

impl Evaluator {
    /// The sum of `count` rotations of both rows by multiples of `step`: slot `i` of a row of the
    /// result is the sum of slots `i + k step` of that row of `a` over `k < count`, modulo `N/2`.
    /// It takes `log2(count)` rotations, by `step 2^k`, and one more for each bit of `count` but
    /// the first.
    ///
    /// # Errors
    /// [`BgvError::Argument`] when `count` is 0; when a rotation key is missing and cannot be
    /// composed, or the noise would be too large.
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
        // The sum of 2^k rotations, and that of as many as the bits of `count` below bit k say.
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

    /// The sum of all `N` slots, in every slot: rotations by the powers of two below `N/2`, and the
    /// exchange of rows.
    ///
    /// # Errors
    /// As [`Evaluator::inner_sum`].
    pub fn total_sum(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let rows = self.inner_sum(a, 1, self.context().rlwe().degree() / 2)?;
        self.add(&rows, &self.exchange_rows(&rows)?)
    }
}
