//! Fixed-point numbers of a few words.

use zeroize::{DefaultIsZeroes, Zeroize};

/// An integer of `64 W` bits in two's complement, lowest word first. It represents a real number in
/// units that the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fixed<const W: usize>(pub [u64; W]);

/// A number in `[0, 1)` in units of `2^(-64 W)`, lowest word first.
pub(super) type Fraction<const W: usize> = [u64; W];

impl<const W: usize> Fixed<W> {
    pub(super) const ZERO: Self = Fixed([0; W]);

    #[inline(always)]
    pub(super) fn is_negative(self) -> bool {
        self.0[W - 1] >> 63 == 1
    }

    /// Returns `self + other`.
    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        self.sum(other, false)
    }

    /// Returns `self - other`.
    #[inline(always)]
    pub(super) fn sub(self, mut other: Self) -> Self {
        for word in &mut other.0 {
            *word = !*word;
        }
        self.sum(other, true)
    }

    /// Returns `-self`.
    #[inline(always)]
    pub(super) fn neg(self) -> Self {
        Self::ZERO.sub(self)
    }

    /// Returns `self + other + carry`.
    #[inline(always)]
    fn sum(mut self, other: Self, mut carry: bool) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            let (sum, first) = a.overflowing_add(b);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*a, carry) = (sum, first | second);
        }
        self
    }

    /// Returns `self f`, rounded to nearest, halves upwards.
    #[inline(always)]
    pub(super) fn mul(self, f: &Fraction<W>) -> Self {
        // Multiplies as if `self` were unsigned. If it is negative, the product is `2^(64 W) f` too
        // large.
        let (mut low, mut high) = ([0u64; W], [0u64; W]);
        for i in 0..W {
            let mut carry = 0u64;
            for j in 0..W {
                let place = if i + j < W { &mut low[i + j] } else { &mut high[i + j - W] };
                // (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1.
                let t = u128::from(self.0[i]) * u128::from(f[j])
                    + u128::from(*place)
                    + u128::from(carry);
                (*place, carry) = (t as u64, (t >> 64) as u64);
            }
            high[i] = carry;
        }
        let round = low[W - 1] >> 63 == 1;
        let product = if self.is_negative() { Fixed(high).sub(Fixed(*f)) } else { Fixed(high) };
        product.sum(Self::ZERO, round)
    }

    /// Returns the absolute value as an unsigned integer.
    pub(super) fn magnitude(self) -> [u64; W] {
        if self.is_negative() { self.neg().0 } else { self.0 }
    }

    /// Returns the integer `(-1)^negative magnitude 2^shift`, rounded to nearest, halves away from
    /// zero. Its absolute value has to be below `2^(64 W - 1)`, before and after rounding.
    pub(super) fn from_shifted(negative: bool, magnitude: &[u64], shift: i64) -> Self {
        let mut out = [0; W];
        shifted(&mut out, magnitude, shift);
        if negative { Fixed(out).neg() } else { Fixed(out) }
    }
}

impl<const W: usize> Default for Fixed<W> {
    fn default() -> Self {
        Self::ZERO
    }
}

impl<const W: usize> DefaultIsZeroes for Fixed<W> {}

/// Computes `out = magnitude 2^shift`, rounded to nearest, halves up, for unsigned integers, lowest
/// word first. Bits that do not fit `out` are cut off.
pub(super) fn shifted(out: &mut [u64], magnitude: &[u64], shift: i64) {
    let word =
        |i: i64| usize::try_from(i).ok().and_then(|i| magnitude.get(i)).copied().unwrap_or(0);
    let (words, bits) = (shift.div_euclid(64), shift.rem_euclid(64) as u32);
    for (i, out) in out.iter_mut().enumerate() {
        let i = i as i64 - words;
        *out = if bits == 0 { word(i) } else { word(i) << bits | word(i - 1) >> (64 - bits) };
    }
    if shift < 0 {
        // The highest of the bits that were shifted out decides the rounding.
        let place = -1 - shift;
        let mut carry = word(place / 64) >> (place % 64) & 1;
        for out in out {
            let (sum, overflow) = out.overflowing_add(carry);
            (*out, carry) = (sum, u64::from(overflow));
        }
    }
}

/// Returns the number of bits of an unsigned integer, lowest word first.
pub(super) fn bit_length(words: &[u64]) -> i64 {
    match words.iter().rposition(|&word| word != 0) {
        Some(i) => 64 * (i as i64 + 1) - i64::from(words[i].leading_zeros()),
        None => 0,
    }
}

/// A complex number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point<const W: usize> {
    pub re: Fixed<W>,
    pub im: Fixed<W>,
}

impl<const W: usize> Zeroize for Point<W> {
    fn zeroize(&mut self) {
        self.re.zeroize();
        self.im.zeroize();
    }
}

/// A root of unity that is not a power of `i`: signs and absolute values of its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root<'a, const W: usize> {
    pub cos: &'a Fraction<W>,
    pub sin: &'a Fraction<W>,
    pub cos_negative: bool,
    pub sin_negative: bool,
}

impl<const W: usize> Root<'_, W> {
    /// Returns the conjugate root.
    pub(super) fn conj(self) -> Self {
        Root { sin_negative: !self.sin_negative, ..self }
    }
}

impl<const W: usize> Point<W> {
    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Point { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    #[inline(always)]
    pub(super) fn sub(self, other: Self) -> Self {
        Point { re: self.re.sub(other.re), im: self.im.sub(other.im) }
    }

    /// Returns the product with a root of unity. The error of each part is at most one unit for the
    /// rounding of two products, and one more for that of the root, because `|self|` is below
    /// `2^(64 W - 1)` units.
    #[inline(always)]
    pub(super) fn mul(self, root: Root<'_, W>) -> Self {
        let (xc, ys) = (self.re.mul(root.cos), self.im.mul(root.sin));
        let (xs, yc) = (self.re.mul(root.sin), self.im.mul(root.cos));
        // c = +-cos, s = +-sin: x c - y s and x s + y c.
        let (re, im) = if root.cos_negative == root.sin_negative {
            (xc.sub(ys), xs.add(yc))
        } else {
            (xc.add(ys), yc.sub(xs))
        };
        if root.cos_negative { Point { re: re.neg(), im: im.neg() } } else { Point { re, im } }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::{BigInt, Sign};
    use proptest::prelude::*;

    use super::*;

    fn big<const W: usize>(x: Fixed<W>) -> BigInt {
        BigInt::from_signed_bytes_le(&x.0.map(u64::to_le_bytes).concat())
    }

    fn unsigned(words: &[u64]) -> BigInt {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        BigInt::from_bytes_le(Sign::Plus, &bytes)
    }

    /// Returns `x / 2^shift`, rounded to nearest, halves upwards.
    fn divided(x: BigInt, shift: usize) -> BigInt {
        (x + (BigInt::from(1) << (shift - 1))) >> shift
    }

    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just(1 << 63)]
    }

    fn check<const W: usize>(
        a: [u64; W],
        b: [u64; W],
        f: [u64; W],
        signs: (bool, bool),
    ) -> Result<(), TestCaseError> {
        let half = |x: [u64; W]| {
            // Half of the range, so that sums fit.
            let mut x = Fixed(x);
            x.0[W - 1] = ((x.0[W - 1] as i64) >> 1) as u64;
            x
        };
        let (a, b) = (half(a), half(b));
        prop_assert_eq!(big(a.add(b)), big(a) + big(b));
        prop_assert_eq!(big(a.sub(b)), big(a) - big(b));
        prop_assert_eq!(big(a.neg()), -big(a));
        prop_assert_eq!(unsigned(&a.magnitude()), big(a).magnitude().clone().into());
        prop_assert_eq!(big(a.mul(&f)), divided(big(a) * unsigned(&f), 64 * W));
        prop_assert_eq!(bit_length(&a.magnitude()), big(a).bits() as i64);

        let (mut cos, mut sin) = (f, b.magnitude());
        (cos[W - 1], sin[W - 1]) = (cos[W - 1] / 2, sin[W - 1] / 2);
        let root = Root { cos: &cos, sin: &sin, cos_negative: signs.0, sin_negative: signs.1 };
        let sign = |negative, x: &[u64]| if negative { -unsigned(x) } else { unsigned(x) };
        let (c, s) = (sign(signs.0, &cos), sign(signs.1, &sin));
        let got = Point { re: a, im: b }.mul(root);
        let one = BigInt::from(1) << (64 * W);
        for (got, want) in
            [(got.re, big(a) * &c - big(b) * &s), (got.im, big(a) * &s + big(b) * &c)]
        {
            prop_assert!((big(got) * &one - want).magnitude() <= one.magnitude());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_integers(
            a in prop::array::uniform5(word()),
            b in prop::array::uniform5(word()),
            f in prop::array::uniform5(word()),
            signs: (bool, bool),
        ) {
            check::<5>(a, b, f, signs)?;
            check::<2>([a[0], a[1]], [b[0], b[1]], [f[0], f[1]], signs)?;
            check::<1>([a[2]], [b[2]], [f[2]], signs)?;
        }

        #[test]
        fn shifts_round_to_nearest(
            words in prop::collection::vec(word(), 0..5),
            shift in -400i64..400,
        ) {
            let mut out = [7; 12];
            shifted(&mut out, &words, shift);
            let x = unsigned(&words);
            let want = if shift >= 0 { x << shift } else { divided(x, -shift as usize) };
            prop_assert_eq!(unsigned(&out), want.clone());
            let mut cut = [7; 2];
            shifted(&mut cut, &words, shift);
            prop_assert_eq!(unsigned(&cut), want.clone() % (BigInt::from(1) << 128u8));
            let fixed = Fixed::<12>::from_shifted(true, &words, shift);
            prop_assert_eq!(big(fixed), -want);
        }
    }
}
