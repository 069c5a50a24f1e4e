//! Scales, kept more exactly than any precision in use.

use std::{cmp::Ordering, fmt};

/// The factor `Delta > 0` between the numbers in the slots and the integers in the plaintext: `m =
/// round(Delta z)`.
///
/// It is stored as `mantissa 2^exponent` with a 128-bit mantissa whose top bit is set. Powers of
/// two, integers below `2^128` and their products are exact. Every other operation has a relative
/// error below `2^-127`. So scales agree with the moduli that they come from to far more bits than
/// most messages have. For messages with that many bits, the noise estimate of a product includes
/// the difference. Exponents saturate: scales beyond `2^(2^31)` fit no modulus, and no operation on
/// valid scales reaches them.
///
/// # Examples
/// ```
/// use hippocrene_ckks::Scale;
///
/// let scale = Scale::power_of_two(40);
/// assert_eq!(scale.times(scale).log2(), 80.0);
/// assert!(scale.times_integer(3).divided_by(3).is_close(scale));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scale {
    mantissa: u128,
    exponent: i32,
}

impl Scale {
    /// Returns `2^bits`.
    pub fn power_of_two(bits: i32) -> Self {
        Scale { mantissa: 1 << 127, exponent: bits.saturating_sub(127) }
    }

    /// Returns the integer `value` as a scale, or `None` for zero.
    pub fn from_integer(value: u128) -> Option<Self> {
        (value != 0).then(|| Scale::normalised(value, 0))
    }

    /// Returns `value` as a scale, exactly, or `None` if it is not positive and finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !(value.is_finite() && value > 0.0) {
            return None;
        }
        // A finite positive f64 is an integer below 2^53 times a power of two.
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        let (integer, exponent) =
            if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
        Some(Scale::normalised(u128::from(integer), exponent))
    }

    /// Assembles a scale from the result of [`Scale::to_parts`]. Returns `None` if the top bit of
    /// the mantissa is not set.
    pub fn from_parts(mantissa: u128, exponent: i32) -> Option<Self> {
        (mantissa >> 127 == 1).then_some(Scale { mantissa, exponent })
    }

    /// The mantissa, with its top bit set, and the exponent.
    pub fn to_parts(self) -> (u128, i32) {
        (self.mantissa, self.exponent)
    }

    /// Returns the nearest `f64`. It is infinite or zero if the exponent is out of range.
    pub fn to_f64(self) -> f64 {
        // 64 bits first, with a sticky bit, so that the only rounding is the conversion's.
        let high = (self.mantissa >> 64) as u64 | u64::from(self.mantissa as u64 != 0);
        high as f64 * (f64::from(self.exponent) + 64.0).exp2()
    }

    /// `log2` of the scale, in bits.
    pub fn log2(self) -> f64 {
        ((self.mantissa >> 64) as f64).log2() + f64::from(self.exponent) + 64.0
    }

    /// The product of two scales.
    #[must_use]
    pub fn times(self, other: Scale) -> Scale {
        let (a1, a0) = ((self.mantissa >> 64), self.mantissa & u128::from(u64::MAX));
        let (b1, b0) = ((other.mantissa >> 64), other.mantissa & u128::from(u64::MAX));
        let low = a0 * b0;
        let middle =
            (low >> 64) + ((a1 * b0) & u128::from(u64::MAX)) + ((a0 * b1) & u128::from(u64::MAX));
        let high = a1 * b1 + ((a1 * b0) >> 64) + ((a0 * b1) >> 64) + (middle >> 64);
        // The product has 255 or 256 bits, and `high` its upper 127 or 128: one more bit is in
        // `middle`.
        let exponent = self.exponent.saturating_add(other.exponent).saturating_add(128);
        if high >> 127 == 1 {
            Scale { mantissa: high, exponent }
        } else {
            Scale { mantissa: high << 1 | (middle >> 63 & 1), exponent: exponent.saturating_sub(1) }
        }
    }

    /// Returns the scale times an integer. A factor of 0 counts as 1.
    #[must_use]
    pub fn times_integer(self, factor: u64) -> Scale {
        self.times(Scale::normalised(u128::from(factor.max(1)), 0))
    }

    /// Returns the scale divided by an integer. A divisor of 0 counts as 1.
    #[must_use]
    pub fn divided_by(self, divisor: u64) -> Scale {
        let d = u128::from(divisor.max(1));
        // Long division of mantissa 2^64 by d, 64 bits at a time.
        let (q1, r1) = (self.mantissa / d, self.mantissa % d);
        let q0 = (r1 << 64) / d; // r1 < d < 2^64
        // quotient = q1 2^64 + q0, of 128 to 192 bits.
        let shift = q1.leading_zeros();
        let (mantissa, exponent) = match shift {
            0..64 => (
                (q1 << shift) | ((q0 >> (64 - shift)) * u128::from(shift > 0)),
                self.exponent.saturating_sub(shift as i32),
            ),
            _ => (q1 << 64 | q0, self.exponent.saturating_sub(64)),
        };
        Scale { mantissa, exponent }
    }

    /// Returns `self / other` as a scale.
    #[must_use]
    pub fn over(self, other: Scale) -> Scale {
        // 128 more bits of the quotient of the mantissas, by binary long division; the quotient is
        // in (1/2, 2).
        let carry = self.mantissa >= other.mantissa;
        let mut remainder = if carry { self.mantissa - other.mantissa } else { self.mantissa };
        let mut quotient = u128::from(carry);
        for _ in 0..if carry { 127 } else { 128 } {
            let overflow = remainder >> 127 == 1;
            remainder <<= 1;
            quotient <<= 1;
            if overflow || remainder >= other.mantissa {
                remainder = remainder.wrapping_sub(other.mantissa);
                quotient |= 1;
            }
        }
        let exponent = self.exponent.saturating_sub(other.exponent).saturating_sub(if carry {
            127
        } else {
            128
        });
        Scale { mantissa: quotient, exponent }
    }

    /// Returns `self / other` as a number, with a relative error of about `2^-52`.
    pub fn ratio(self, other: Scale) -> f64 {
        (self.mantissa as f64 / other.mantissa as f64)
            * (f64::from(self.exponent) - f64::from(other.exponent)).exp2()
    }

    /// Returns `|self / other - 1|`, to within `2^-127`.
    pub fn relative_difference(self, other: Scale) -> f64 {
        let quotient = self.over(other);
        match quotient.exponent {
            -127 => (quotient.mantissa - (1 << 127)) as f64 * (-127f64).exp2(),
            -128 => (u128::MAX - quotient.mantissa) as f64 * (-128f64).exp2(),
            _ => (quotient.to_f64() - 1.0).abs(),
        }
    }

    /// Returns the integer nearest to `self / other`, or `None` if it is `2^126` or larger.
    pub fn ratio_rounded(self, other: Scale) -> Option<u128> {
        // A quotient of 128 bits or more by binary long division: 128 steps, on numbers that stay
        // below 2^129.
        let shift = self.exponent.saturating_sub(other.exponent);
        let mut integer = u128::from(self.mantissa >= other.mantissa);
        let mut remainder =
            if integer == 1 { self.mantissa - other.mantissa } else { self.mantissa };
        if shift >= 126 {
            return None;
        }
        for _ in 0..shift.max(0) {
            let carry = remainder >> 127 == 1;
            remainder <<= 1;
            integer <<= 1;
            if carry || remainder >= other.mantissa {
                remainder = remainder.wrapping_sub(other.mantissa);
                integer |= 1;
            }
        }
        match shift {
            0.. => Some(integer + u128::from(remainder >= other.mantissa - remainder)),
            // Below 2 / 2^|shift|: the ratio rounds to 1 only from one half on.
            -1 => Some(u128::from(integer == 1)),
            _ => Some(0),
        }
    }

    /// Whether two scales are equal up to the rounding of a few operations: a relative difference
    /// below `2^-100`.
    pub fn is_close(self, other: Scale) -> bool {
        let (a, b) = if (self.exponent, self.mantissa) >= (other.exponent, other.mantissa) {
            (self, other)
        } else {
            (other, self)
        };
        match a.exponent.saturating_sub(b.exponent) {
            0 => a.mantissa - b.mantissa < 1 << 27,
            // a just above a power of two, b just below it.
            1 => {
                let above = (a.mantissa - (1 << 127)).saturating_mul(2);
                above.saturating_add(u128::MAX - b.mantissa) < 1 << 27
            }
            _ => false,
        }
    }

    /// Shifts an integer, which is not zero, so that the top bit of the mantissa is set.
    fn normalised(value: u128, exponent: i32) -> Self {
        let shift = value.leading_zeros();
        Scale { mantissa: value << shift, exponent: exponent.saturating_sub(shift as i32) }
    }
}

impl PartialOrd for Scale {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some((self.exponent, self.mantissa).cmp(&(other.exponent, other.mantissa)))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2^{:.3}", self.log2())
    }
}

impl fmt::Debug for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scale({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    /// mantissa 2^(exponent + 4000), exactly.
    fn big(s: Scale) -> BigUint {
        BigUint::from(s.mantissa) << (s.exponent + 4000) as usize
    }

    fn close(a: &BigUint, b: &BigUint) -> bool {
        let difference = if a > b { a - b } else { b - a };
        (difference << 126usize) <= *a
    }

    fn scale() -> impl Strategy<Value = Scale> {
        (any::<u128>(), -200i32..200)
            .prop_map(|(m, e)| Scale { mantissa: m | 1 << 127, exponent: e })
    }

    proptest! {
        #[test]
        fn operations_are_right_to_the_last_bits(a in scale(), b in scale(), d in 1u64..) {
            prop_assert!(close(&(big(a.times(b)) << 4000usize), &(big(a) * big(b))));
            prop_assert!(close(&(big(a.divided_by(d)) * d), &big(a)));
            prop_assert!(close(&big(a.times_integer(d)), &(big(a) * d)));
            prop_assert!(a.over(b).times(b).is_close(a) && a.over(a) == Scale::power_of_two(0));
            prop_assert!(a.divided_by(d).times_integer(d).is_close(a));
            let near = a.times_integer(d).divided_by(d - d / 3);
            let off = a.times_integer(d / 3).divided_by(d - d / 3).ratio(a);
            prop_assert!((near.relative_difference(a) - off).abs() <= off * 1e-12 + 1e-37);
            prop_assert!(
                a.relative_difference(a) < 1e-37
                    && (a.relative_difference(near) - off / (1.0 + off)).abs()
                        < 1e-12 * off + 1e-37
            );
            prop_assert!((a.ratio(b).log2() - (a.log2() - b.log2())).abs() < 1e-9);
            prop_assert_eq!(Scale::from_parts(a.mantissa, a.exponent), Some(a));
            let ratio = a.ratio_rounded(b);
            let exact = (big(a) * 2u32 + big(b)) / (big(b) * 2u32);
            match ratio {
                Some(r) => prop_assert_eq!(BigUint::from(r), exact),
                None => prop_assert!(exact.bits() >= 126),
            }
        }

        #[test]
        fn numbers_are_exact(x in 1e-300f64..1e300, n in 1u128..) {
            prop_assert_eq!(Scale::from_f64(x).unwrap().to_f64(), x);
            prop_assert_eq!(Scale::from_integer(n).unwrap().to_f64(), n as f64);
        }
    }

    #[test]
    fn absurd_exponents_do_not_overflow() {
        for a in [i32::MIN, -1, i32::MAX].map(|e| Scale { mantissa: u128::MAX, exponent: e }) {
            for b in [i32::MIN, 1, i32::MAX].map(|e| Scale { mantissa: 1 << 127, exponent: e }) {
                let all = [a.times(b), a.over(b), a.divided_by(3), a.times_integer(3)];
                assert!(
                    all.iter().all(|s| s.mantissa >> 127 == 1
                        && !s.to_f64().is_nan()
                        && !s.log2().is_nan())
                );
                assert!(
                    !a.is_close(b)
                        && a.ratio(b) >= 0.0
                        && a.ratio_rounded(b).is_none_or(|r| r >> 126 == 0)
                );
            }
        }
        assert!(Scale::power_of_two(i32::MIN).to_f64() == 0.0);
    }

    #[test]
    fn powers_of_two_and_bad_numbers() {
        assert_eq!(Scale::power_of_two(40).to_f64(), 40f64.exp2());
        assert_eq!(Scale::power_of_two(40), Scale::from_f64(40f64.exp2()).unwrap());
        assert_eq!(Scale::power_of_two(80).ratio_rounded(Scale::power_of_two(40)), Some(1 << 40));
        assert_eq!(Scale::power_of_two(40).divided_by(1 << 40), Scale::power_of_two(0));
        let below = Scale { mantissa: u128::MAX, exponent: -1 };
        assert!(
            below.is_close(Scale::power_of_two(127)) && Scale::power_of_two(127).is_close(below)
        );
        assert!(!Scale::power_of_two(40).is_close(Scale::power_of_two(41)));
        let [low, high] = [0, 1].map(|exponent| Scale {
            mantissa: u128::MAX - (1 << 126) * (1 - exponent as u128),
            exponent,
        });
        assert!(!low.is_close(high) && !high.is_close(low));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Scale::from_f64(bad), None);
        }
    }
}
