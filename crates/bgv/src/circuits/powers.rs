//! Powers, and the tests for zero and equality that follow from Fermat's little theorem.

use std::collections::BTreeMap;

use crate::{BgvError, Ciphertext, Evaluator, Plaintext};

impl Evaluator {
    /// Returns `a^n`, at a depth of `ceil(log2 n)` products. `a^0` is 1.
    ///
    /// The number of products is the number of bits of `n` minus 1, plus the number of set bits
    /// minus 1.
    ///
    /// # Errors
    /// Returns an error if the relinearisation key is missing, and [`BgvError::Budget`] if the
    /// noise would be too large. That error states an estimate for all products, extrapolated from
    /// those that fit.
    pub fn power(&self, a: &Ciphertext, n: u64) -> Result<Ciphertext, BgvError> {
        self.check(a, "raise to a power")?;
        if n == 0 {
            return self.add_integer(&self.mul_integer(a, 0)?, 1);
        }
        let mut powers = BTreeMap::from([(1, a.clone())]);
        if let Err(error) = self.make_power(&mut powers, n) {
            return Err(self.extrapolated_to_all_products(error, a, &powers, n));
        }
        Ok(powers.remove(&n).unwrap_or_else(|| a.clone()))
    }

    /// Extends the error of one product, on the way to the power `n` of `a`, to all products.
    /// `powers` holds the powers that are computed.
    ///
    /// The needed noise budget is an estimate. It assumes that each level of products needs as much
    /// as the levels computed so far. The available noise budget is that of `a`, because a caller
    /// does not know the intermediate powers.
    fn extrapolated_to_all_products(
        &self,
        error: BgvError,
        a: &Ciphertext,
        powers: &BTreeMap<u64, Ciphertext>,
        n: u64,
    ) -> BgvError {
        let BgvError::Budget { operation, need, have: left } = error else { return error };
        let have = a.budget_bits(self.context());
        let done = powers.last_key_value().map_or(0, |(largest, _)| depth_of(*largest)) + 1;
        let scale = f64::from(depth_of(n).max(done)) / f64::from(done);
        BgvError::Budget { operation, need: (have - left + need) * scale, have }
    }

    /// Adds the power `n >= 1` and the powers that it is made of to `powers`, which holds the first
    /// power.
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

    /// Returns 1 in the slots where `a` is 0, and 0 in all others.
    ///
    /// The modulus `t` must be a prime. The result is `1 - a^(t-1)` by Fermat's little theorem, at
    /// a depth of `ceil(log2(t - 1))` products. For `t = 65537` it needs 16 squarings.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` gives no slots, and the errors of
    /// [`Evaluator::power`].
    pub fn is_zero(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let (encoder, t) = (self.context().encoder(), self.context().plain_modulus());
        if !encoder.has_slots() {
            let slots_of = 2 * self.context().rlwe().degree();
            let what =
                format!("a test for zero needs slots. Use a prime that is 1 modulo {slots_of}");
            return Err(BgvError::PlainModulus { t, what });
        }
        self.add_integer(&self.negate(&self.power(a, t - 1)?)?, 1)
    }

    /// Returns 1 in the slots where `a` and `b` are equal, and 0 in all others. It is
    /// [`Evaluator::is_zero`] of their difference.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::sub`] and [`Evaluator::is_zero`].
    pub fn equals(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.is_zero(&self.sub(a, b)?)
    }

    /// Returns 1 in the slots where `a` has the integer of `p`, and 0 in all others.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::sub_plain`] and [`Evaluator::is_zero`].
    pub fn equals_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, BgvError> {
        self.is_zero(&self.sub_plain(a, p)?)
    }
}

/// Returns the exponents of the two powers whose product is the power `n >= 2`. They give it a
/// depth of `ceil(log2 n)` products.
pub(super) fn split_power(n: u64) -> (u64, u64) {
    if n.is_multiple_of(2) { (n / 2, n / 2) } else { (1 << n.ilog2(), n - (1 << n.ilog2())) }
}

/// Returns `ceil(log2 n)`, the depth in products of the power `n >= 1`.
pub(super) fn depth_of(n: u64) -> u32 {
    u64::BITS - (n - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_the_least_depth() {
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
