//! Powers, and what Fermat's little theorem makes of them: tests for zero and equality.

use std::collections::BTreeMap;

use crate::{BgvError, Ciphertext, Evaluator, Plaintext};

impl Evaluator {
    /// `a^n`, `ceil(log2 n)` products deep: one product for each bit of `n` but the first, and for
    /// each bit that is set but one. `a^0` is 1.
    ///
    /// # Errors
    /// When the relinearisation key is missing, or [`BgvError::Budget`] when the noise would be too
    /// large: it says roughly what all products take, reckoned from those that there is room for.
    pub fn power(&self, a: &Ciphertext, n: u64) -> Result<Ciphertext, BgvError> {
        self.check(a, "raise to a power")?;
        if n == 0 {
            return self.add_integer(&self.mul_integer(a, 0)?, 1);
        }
        let mut powers = BTreeMap::from([(1, a.clone())]);
        if let Err(error) = self.make_power(&mut powers, n) {
            return Err(self.of_all_products(error, a, &powers, n));
        }
        Ok(powers.remove(&n).unwrap_or_else(|| a.clone()))
    }

    /// The error of one product on the way to the power `n` of `a`, of which `powers` are there.
    /// What is needed is about that of all products, as if each took as much as those up to there,
    /// and what there is is what `a` has: a user of powers knows nothing of what is left in the
    /// middle.
    fn of_all_products(
        &self,
        error: BgvError,
        a: &Ciphertext,
        powers: &BTreeMap<u64, Ciphertext>,
        n: u64,
    ) -> BgvError {
        let BgvError::Budget { operation, need, have: left } = error else { return error };
        let have = a.budget_bits(self.context());
        let done = powers.last_key_value().map_or(0, |(largest, _)| depth_of(*largest)) + 1;
        let share = f64::from(depth_of(n).max(done)) / f64::from(done);
        BgvError::Budget { operation, need: (have - left + need) * share, have }
    }

    /// Adds the power `n >= 1` to `powers`, which has the first, with those that it is made of.
    pub(super) fn make_power(
        &self,
        powers: &mut BTreeMap<u64, Ciphertext>,
        n: u64,
    ) -> Result<(), BgvError> {
        if powers.contains_key(&n) {
            return Ok(());
        }
        let (x, y) = split_power(n);
        self.make_power(powers, x)?;
        self.make_power(powers, y)?;
        let power = self.mul(&powers[&x], &powers[&y])?;
        powers.insert(n, power);
        Ok(())
    }

    /// 1 in the slots where `a` is 0 and 0 elsewhere, for a prime `t`: `1 - a^(t-1)` by Fermat's
    /// little theorem, `ceil(log2(t - 1))` products deep; for `t = 65537` it is 16 squarings.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` gives no slots; as [`Evaluator::power`].
    pub fn is_zero(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let (encoder, t) = (self.context().encoder(), self.context().plain_modulus());
        if !encoder.has_slots() {
            let slots_of = 2 * self.context().rlwe().degree();
            let what = format!(
                "a test for zero needs slots, which a prime gives that is 1 modulo {slots_of}"
            );
            return Err(BgvError::PlainModulus { t, what });
        }
        self.add_integer(&self.negate(&self.power(a, t - 1)?)?, 1)
    }

    /// 1 in the slots where `a` and `b` are equal and 0 elsewhere ([`Evaluator::is_zero`] of their
    /// difference).
    ///
    /// # Errors
    /// As [`Evaluator::sub`] and [`Evaluator::is_zero`].
    pub fn equals(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.is_zero(&self.sub(a, b)?)
    }

    /// 1 in the slots where `a` has the integer of `p` and 0 elsewhere.
    ///
    /// # Errors
    /// As [`Evaluator::sub_plain`] and [`Evaluator::is_zero`].
    pub fn equals_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, BgvError> {
        self.is_zero(&self.sub_plain(a, p)?)
    }
}

/// Of which two powers a power from the second on is the product, so that it is `ceil(log2 n)`
/// deep.
pub(super) fn split_power(n: u64) -> (u64, u64) {
    if n.is_multiple_of(2) { (n / 2, n / 2) } else { (1 << n.ilog2(), n - (1 << n.ilog2())) }
}

/// `ceil(log2 n)`, the depth of power `n >= 1`.
pub(super) fn depth_of(n: u64) -> u32 {
    u64::BITS - (n - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_as_shallow_as_can_be() {
        fn depth(n: u64) -> u32 {
            if n == 1 {
                return 0;
            }
            let (x, y) = split_power(n);
            assert_eq!(x + y, n);
            1 + depth(x).max(depth(y))
        }
        for n in 1..3000 {
            assert_eq!(depth(n), depth_of(n), "{n}");
            assert!(1 << depth_of(n) >= n && (n == 1 || 1 << (depth_of(n) - 1) < n), "{n}");
        }
    }
}
