//! Switching residues from one modulus to another.

use hippocrene_rlwe::{Noise, noise};

/// The map `x -> round(x to / from) mod to`, which rounds halves upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModulusSwitch {
    from: u64,
    to: u64,
    /// `floor(to 2^64 / from)` if `to < from`, otherwise 0.
    ratio: u64,
}

impl ModulusSwitch {
    /// Makes the switch between two moduli below `2^61`.
    pub(crate) fn new(from: u64, to: u64) -> Self {
        let ratio = if to < from { ((u128::from(to) << 64) / u128::from(from)) as u64 } else { 0 };
        ModulusSwitch { from, to, ratio }
    }

    /// Returns the image of `x` in `[0, from)`.
    #[inline]
    pub(crate) fn apply(&self, x: u64) -> u64 {
        let quotient = self.rounded(x);
        if quotient >= self.to { 0 } else { quotient }
    }

    /// Returns the images of the parts `b` and `a` of a ciphertext whose secret has the mean 1/2.
    ///
    /// The rounding errors of `a`, times this mean, are subtracted from `b`. Then only the
    /// deviation of the secret from its mean multiplies the rounding errors.
    pub(crate) fn apply_centred(&self, b: u64, a: &[u64]) -> (u64, Vec<u64>) {
        let (from, to) = (i128::from(self.from), i128::from(self.to));
        let mut off = 0;
        let image = |&x: &u64| {
            let rounded = self.rounded(x);
            off += i128::from(rounded) * from - i128::from(x) * to;
            if rounded >= self.to { 0 } else { rounded }
        };
        let a = a.iter().map(image).collect();
        let b = (2 * i128::from(b) * to - off + from).div_euclid(2 * from).rem_euclid(to);
        (b as u64, a)
    }

    /// Returns `round(x to / from)`, which is at most `to`.
    #[inline]
    fn rounded(&self, x: u64) -> u64 {
        let (from, to) = (self.from, self.to);
        if to >= from {
            return ((u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from))
                as u64;
        }
        // x ratio / 2^64 is below x to / from by less than 1, and its floor by less than 2. So the
        // remainder, with half of `from` added, is below 2.5 from < 2^63.
        let mut quotient = ((u128::from(x) * u128::from(self.ratio)) >> 64) as u64;
        let mut rest =
            x.wrapping_mul(to).wrapping_sub(quotient.wrapping_mul(from)).wrapping_add(from / 2);
        for _ in 0..2 {
            let more = u64::from(rest >= from);
            quotient += more;
            rest -= from & more.wrapping_neg();
        }
        quotient
    }

    /// Returns the error after the switch, for a secret of squared norm `weight`: the scaled error
    /// plus that of the rounding.
    pub(crate) fn noise(&self, before: Noise, weight: f64) -> Noise {
        if self.from == self.to {
            return before;
        }
        before
            .scaled((self.to as f64).log2() - (self.from as f64).log2())
            .plus(noise::rounding(weight, 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_rounded_quotient(
            from in 128u64..1 << 61,
            to in 128u64..1 << 61,
            x: u64,
            near in 0u64..4,
        ) {
            let mut cases = vec![x % from, from - 1 - near];
            // Close to a half.
            cases.push(
                (u128::from(from) * u128::from(2 * (x % to) + 1) / u128::from(2 * to)) as u64
                    % from,
            );
            for x in cases {
                let expected = (u128::from(x) * u128::from(to) + u128::from(from / 2))
                    / u128::from(from)
                    % u128::from(to);
                prop_assert_eq!(u128::from(ModulusSwitch::new(from, to).apply(x)), expected);
            }
            prop_assert_eq!(ModulusSwitch::new(from, from).apply(x % from), x % from);
        }

        /// The remaining rounding error of `a` is its inner product with `s - 1/2`, up to the
        /// rounding of `b`.
        #[test]
        fn the_mean_of_the_rounding_error_is_subtracted(
            from in 128u64..1 << 61,
            to in 128u64..1 << 61,
            b: u64,
            parts in proptest::collection::vec(any::<(u64, bool)>(), 1..40),
        ) {
            let (b, switch) = (b % from, ModulusSwitch::new(from, to));
            let (a, s): (Vec<u64>, Vec<bool>) = parts.iter().map(|(a, s)| (a % from, *s)).unzip();
            let (image, images) = switch.apply_centred(b, &a);
            for (x, y) in a.iter().zip(&images) {
                prop_assert_eq!(switch.apply(*x), *y);
            }
            let phase = |b: u64, a: &[u64]| {
                i128::from(b)
                    + a.iter()
                        .zip(&s)
                        .filter(|(_, s)| **s)
                        .map(|(a, _)| i128::from(*a))
                        .sum::<i128>()
            };
            // The error times `2 from`, modulo `2 from to`.
            let (from, to) = (i128::from(from), i128::from(to));
            let error = 2 * (phase(image, &images) % to) * from - 2 * (phase(b, &a) % from) * to;
            let rounded = a.iter().zip(&s).map(|(a, s)| {
                let off = (i128::from(*a) * to + from / 2).rem_euclid(from) - from / 2;
                if *s { -off } else { off }
            });
            let difference = (error - rounded.sum::<i128>()).rem_euclid(2 * from * to);
            prop_assert!(
                difference <= from || difference >= 2 * from * to - from,
                "{}",
                difference
            );
        }
    }
}
