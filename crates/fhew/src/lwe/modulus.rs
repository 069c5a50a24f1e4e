//! The switch of residues from one modulus to another.

use hippocrene_rlwe::{Noise, noise};

/// `x -> round(x to / from) mod to`, halves upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModulusSwitch {
    from: u64,
    to: u64,
    /// `floor(to 2^64 / from)`, of `to < from`.
    ratio: u64,
}

impl ModulusSwitch {
    /// Between moduli below `2^61`.
    pub(crate) fn new(from: u64, to: u64) -> Self {
        let ratio = if to < from { ((u128::from(to) << 64) / u128::from(from)) as u64 } else { 0 };
        ModulusSwitch { from, to, ratio }
    }

    /// The image of `x` in `[0, from)`.
    #[inline]
    pub(crate) fn apply(&self, x: u64) -> u64 {
        let (from, to) = (self.from, self.to);
        if to >= from {
            let rounded = (u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from);
            return if rounded == u128::from(to) { 0 } else { rounded as u64 };
        }
        // x ratio / 2^64 is less than 1 below x to / from, and its floor less than 2: with half of `from` added, the rest is below 2.5 from < 2^63.
        let mut quotient = ((u128::from(x) * u128::from(self.ratio)) >> 64) as u64;
        let mut rest = x.wrapping_mul(to).wrapping_sub(quotient.wrapping_mul(from)).wrapping_add(from / 2);
        for _ in 0..2 {
            let more = u64::from(rest >= from);
            quotient += more;
            rest -= from & more.wrapping_neg();
        }
        if quotient >= to { 0 } else { quotient }
    }

    /// The error after the switch, for a secret of squared norm `weight`: it scales, and rounding adds to it.
    pub(crate) fn noise(&self, before: Noise, weight: f64) -> Noise {
        if self.from == self.to {
            return before;
        }
        before.scaled((self.to as f64).log2() - (self.from as f64).log2()).plus(noise::rounding(weight, 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_rounded_quotient(from in 128u64..1 << 61, to in 128u64..1 << 61, x: u64, near in 0u64..4) {
            let mut cases = vec![x % from, from - 1 - near];
            // Near a half.
            cases.push((u128::from(from) * u128::from(2 * (x % to) + 1) / u128::from(2 * to)) as u64 % from);
            for x in cases {
                let expected = (u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from) % u128::from(to);
                prop_assert_eq!(u128::from(ModulusSwitch::new(from, to).apply(x)), expected);
            }
            prop_assert_eq!(ModulusSwitch::new(from, from).apply(x % from), x % from);
        }
    }
}
