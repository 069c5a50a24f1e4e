//! Numbers of about 106 bits as unevaluated sums of two `f64` (Dekker 1971; Knuth, TAOCP 2, 4.2.2),
//! for tables and constants. The code uses neither fused multiply-add nor library functions, so its
//! results are the same on every CPU.

use crate::big_float::Inner;

/// `high + low`, where `low` is at most half a unit in the last place of `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
}

/// Returns `a + b` exactly, as the rounded sum and its error.
fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let b_part = high - a;
    DoubleDouble { high, low: (a - (high - b_part)) + (b - b_part) }
}

/// Returns `a + b` exactly, for `|a| >= |b|`.
fn quick_two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

/// Returns the upper 26 bits of `a` and the remainder.
fn split(a: f64) -> (f64, f64) {
    const SPLITTER: f64 = ((1u64 << 27) + 1) as f64;
    let t = SPLITTER * a;
    let upper = t - (t - a);
    (upper, a - upper)
}

/// Returns `a b` exactly, as the rounded product and its error, for `|a|` and `|b|` below 2^990.
fn two_product(a: f64, b: f64) -> DoubleDouble {
    let high = a * b;
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    DoubleDouble { high, low: ((a1 * b1 - high) + a1 * b0 + a0 * b1) + a0 * b0 }
}

impl DoubleDouble {
    pub(crate) const ONE: Self = DoubleDouble { high: 1.0, low: 0.0 };
    pub(crate) const PI: Self =
        DoubleDouble { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };

    /// The nearest `f64`.
    pub(crate) fn to_f64(self) -> f64 {
        self.high
    }

    /// Returns `self + other`, with a relative error of about 2^-104.
    pub(crate) fn add(self, other: Self) -> Self {
        let s = two_sum(self.high, other.high);
        let t = two_sum(self.low, other.low);
        let s = quick_two_sum(s.high, s.low + t.high);
        quick_two_sum(s.high, s.low + t.low)
    }

    /// `-self`.
    pub(crate) fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }

    /// Returns `self - other`, with a relative error of about 2^-104.
    pub(crate) fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    /// Returns `self * other`, with a relative error of about 2^-102.
    pub(crate) fn mul(self, other: Self) -> Self {
        let p = two_product(self.high, other.high);
        quick_two_sum(p.high, p.low + (self.high * other.low + self.low * other.high))
    }

    /// Returns `self / divisor`, with a relative error of about 2^-102.
    pub(crate) fn div_f64(self, divisor: f64) -> Self {
        let q1 = self.high / divisor;
        let rest = self.sub(two_product(q1, divisor));
        let q2 = rest.high / divisor;
        let rest = rest.sub(two_product(q2, divisor));
        let s = quick_two_sum(q1, q2);
        s.add(DoubleDouble { high: rest.high / divisor, low: 0.0 })
    }

    /// Returns `(cos, sin)` of an angle in `[0, pi/4]`, by Taylor series.
    pub(crate) fn cos_sin(self) -> (Self, Self) {
        let square = self.mul(self);
        let (mut cos, mut sin) = (Self::ONE, self);
        let (mut cos_term, mut sin_term) = (Self::ONE, self);
        for k in 1..15u32 {
            let k = f64::from(2 * k);
            cos_term = cos_term.mul(square).div_f64((k - 1.0) * k).neg();
            sin_term = sin_term.mul(square).div_f64(k * (k + 1.0)).neg();
            cos = cos.add(cos_term);
            sin = sin.add(sin_term);
        }
        (cos, sin)
    }
}

impl From<f64> for DoubleDouble {
    fn from(x: f64) -> Self {
        DoubleDouble { high: x, low: 0.0 }
    }
}

impl From<&Inner> for DoubleDouble {
    fn from(x: &Inner) -> Self {
        let high = x.to_f64().value();
        // A number that is not finite has no remainder.
        let rest = Inner::try_from(high).map_or(0.0, |high| (x - high).to_f64().value());
        quick_two_sum(high, rest)
    }
}

impl From<u64> for DoubleDouble {
    fn from(x: u64) -> Self {
        let low = x & 0xffff_ffff;
        quick_two_sum((x - low) as f64, low as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: DoubleDouble, b: DoubleDouble) -> bool {
        a.sub(b).high.abs() <= 2f64.powi(-98) * b.high.abs().max(1.0)
    }

    proptest! {
        #[test]
        fn integers_behave(a in 0u64..1 << 52, b in 0u64..1 << 52, c in any::<u64>()) {
            let product = DoubleDouble::from(a).mul(DoubleDouble::from(b));
            prop_assert_eq!(
                product.high as i128 + product.low as i128,
                i128::from(a) * i128::from(b)
            );
            let whole = DoubleDouble::from(c);
            prop_assert_eq!(whole.high as i128 + whole.low as i128, i128::from(c));
        }

        #[test]
        fn quotient_times_divisor(a in 1e-3f64..1e3, d in 1e-3f64..1e3) {
            let quotient = DoubleDouble::from(a).div_f64(d);
            prop_assert!(close(quotient.mul(d.into()), a.into()));
        }

        #[test]
        fn circle(x in 0f64..0.785) {
            let (cos, sin) = DoubleDouble::from(x).cos_sin();
            prop_assert!(close(cos.mul(cos).add(sin.mul(sin)), DoubleDouble::ONE));
            prop_assert!((cos.high - x.cos()).abs() < 3e-16 && (sin.high - x.sin()).abs() < 3e-16);
        }
    }

    #[test]
    fn numbers_of_more_bits_are_rounded() {
        let third = Inner::try_from(1.0).unwrap().with_precision(200).value() / 3;
        let pair = DoubleDouble::from(&third);
        assert_eq!(pair.high, 1.0 / 3.0);
        assert!(close(pair.add(pair).add(pair), DoubleDouble::ONE));
    }

    #[test]
    fn quarter_of_a_half_circle_is_on_the_diagonal() {
        let (cos, sin) = DoubleDouble::PI.div_f64(4.0).cos_sin();
        assert!(close(cos, sin));
        assert!(close(cos.mul(cos), DoubleDouble::from(0.5)));
    }
}
