//! Residues modulo `q < 2^48` in words of 52 bits: sixteen multiples of `q` fit, so that hardly anything needs reducing.

use super::arithmetic::{Arithmetic, Half, Tree, Twiddle};
use crate::{
    arith::{inv_mod, mul_mod},
    simd512::{V, add, and, inv52, madd52hi, madd52lo, red, set1, sub, zero},
};

const MASK_52: u64 = (1 << 52) - 1;

/// Montgomery's product with a precomputed companion, in three instructions. The constant `w` is stored as `W = 2^52 w mod q` and
/// `W' = -W q^-1 mod 2^52`. For `0 <= y < 2^52`, `m = y W' - q^-1 mod 2^52` makes `y W + m q = -1 mod 2^52`. The low halves of the two
/// products then add up to `2^52 - 1`, without a carry, whatever `y` is; so their high halves add up to
///
/// `floor(y W / 2^52) + floor(m q / 2^52) = (y W + m q + 1) / 2^52 - 1 = w y + (2^-52 - 1) mod q`,
///
/// in `[0, (1 + y / 2^52) q)`: the product, off by a constant that depends on `q` only. It goes where the sum begins, as `offset`:
/// a number that is `1 - 2^-52 mod q`. Two multiplications add to it at no cost.
///
/// That is for multipliers that are derived, and for the inverse. A forward transform takes Shoup's product with the quotient
/// `k = floor(y W' / 2^52) + 1` for `W' = floor(2^52 w / q)`: `w y - k q` is in `[-q, y / 2^52 q)`. Modulo `2^52` it is the sum of two low halves,
/// which adds to `x` at no cost; the other sum of the butterfly is `2x` minus the first. Residues in `[0, 2^52)` are then known modulo `2^52` alone,
/// and whatever is above that (of [`Ifma48::butterfly`] and [`Ifma48::enter`]) goes when they leave.
///
/// In multiples of `q`, *forward-tight* is `[4, 12)` and *forward-loose* `[1, 15)`. Each layer widens residues by 1 on both sides, from `[7, 9)` where they
/// [`Arithmetic::enter`]. Registers that do not enter may be in `[0, 16)` when they are multiplied. With derived multipliers, the offset is
/// chosen in `(-1.4, -0.4]`, so that products of `y < 15.6` are in `[-1.4, 1.7)`, and those of `y < 14` in `[-1.4, 1.59)`.
///
/// *Inverse-loose* is `[0, 4)`. Differences must not be negative. What ensures this is in `x + (y - c)` and `x - (y - c)` alike,
/// or in the offsets of products, which begin at the fraction `g` in `[0, 1)` of the number that is `1 - 2^-52`.
#[derive(Debug, Clone, Copy)]
pub(in crate::ntt) struct Ifma48 {
    one: V,
    q: V,
    minus_q: V,
    q2: V,
    q4: V,
    q7: V,
    minus_7: V,
    mask: V,
    negated_inverse: V,
    v: V,
    forward: V,
    inverse: Offsets<V>,
}

/// The constants of [`Ifma48`], as words.
#[derive(Debug, Clone)]
pub(in crate::ntt) struct Constants {
    q: u64,
    /// `-q^-1 mod 2^52`.
    negated_inverse: u64,
    /// `floor(2^52 / q)`, at least 16.
    v: u64,
    /// The offset of products with derived multipliers in a forward transform.
    forward: u64,
    inverse: Offsets<u64>,
}

/// Offsets of products in an inverse transform. In multiples of `q`:
#[derive(Debug, Clone, Copy)]
struct Offsets<T> {
    /// `g`.
    least: T,
    /// `g + 2`.
    lower: T,
    /// `g - 2 - floor(2g)`: with `lower` the sum is in `[0, 1)`.
    upper: T,
    /// Two that differ by 2 or 3, and whose sum with `least` and `lower` is in `[0, 1)`: `g - floor(j/2)` and `g - 2 - ceil(j/2)` for
    /// `j = floor(4g)`.
    outer: [T; 2],
}

impl Offsets<u64> {
    /// For `gq = 1 - 2^-52 mod q`.
    fn new(q: u64, gq: u64) -> Self {
        let below = |multiple: u64| gq.wrapping_sub(multiple * q);
        let j = 4 * gq / q;
        Offsets {
            least: gq,
            lower: gq + 2 * q,
            upper: below(2 + 2 * gq / q),
            outer: [below(j / 2), below(2 + j.div_ceil(2))],
        }
    }

    #[inline(always)]
    fn spread(&self) -> Offsets<V> {
        Offsets {
            least: set1(self.least),
            lower: set1(self.lower),
            upper: set1(self.upper),
            outer: [set1(self.outer[0]), set1(self.outer[1])],
        }
    }
}

impl Ifma48 {
    /// `w y` plus what `offset` exceeds `1 - 2^-52 mod q` by, in `[offset, offset + (1 + y / 2^52) q)`, for `y` in `[0, 2^52)`.
    #[inline(always)]
    fn product(self, y: V, w: Twiddle, offset: V) -> V {
        let m = madd52lo(self.negated_inverse, y, w.companion);
        madd52hi(madd52hi(offset, y, w.multiplier), m, self.q)
    }

    /// `w y` in `(0, (1 + y / 2^52) q)`, for `y` in `[0, 2^52)` and a constant of [`Arithmetic::prepare_final`], whose companion is
    /// `W q^-1`: the low halves of `y W` and `m q` are equal.
    #[inline(always)]
    fn exact_product(self, y: V, w: Twiddle) -> V {
        let m = madd52lo(zero(), y, w.companion);
        sub(madd52hi(self.q, y, w.multiplier), madd52hi(zero(), m, self.q))
    }

    /// `x mod q` in `[0, (1 + x / 2^52) q) - minus_offset`, for `x` in `[0, 2^52)` and a multiple `minus_offset` of `q`. The quotient
    /// `floor(v x / 2^52)` is less than `1 + x / 2^52` below `x / q`.
    #[inline(always)]
    fn remainder(self, x: V, minus_offset: V) -> V {
        let k = madd52hi(zero(), x, self.v);
        sub(x, madd52lo(minus_offset, k, self.q))
    }
}

impl Arithmetic for Ifma48 {
    type Constants = Constants;
    const MODULUS_BOUND: u64 = 1 << 48;
    const LAZY_BOUND: u64 = 16;
    const FACTORED_FROM: [usize; 2] = [1 << 14, 1 << 14];

    fn constants(q: u64) -> Constants {
        let power = inv_mod((1 << 52) % q, q).expect("q is odd");
        let gq = (q + 1 - power) % q;
        Constants {
            q,
            negated_inverse: (1 << 52) - inv52(q),
            v: (1 << 52) / q,
            // 10 gq <= 6q is gq - q <= -0.4 q.
            forward: gq.wrapping_sub(if 10 * gq <= 6 * q { q } else { 2 * q }),
            inverse: Offsets::new(q, gq),
        }
    }

    #[inline(always)]
    fn new(c: &Constants) -> Self {
        Ifma48 {
            one: set1(1),
            q: set1(c.q),
            minus_q: set1(c.q.wrapping_neg()),
            q2: set1(2 * c.q),
            q4: set1(4 * c.q),
            q7: set1(7 * c.q),
            minus_7: set1(7u64.wrapping_neg()),
            mask: set1(MASK_52),
            negated_inverse: set1(c.negated_inverse),
            v: set1(c.v),
            forward: set1(c.forward),
            inverse: c.inverse.spread(),
        }
    }

    fn prepare(q: u64, w: u64) -> [u64; 2] {
        let [multiplier, companion] = Self::prepare_final(q, w);
        [multiplier, companion.wrapping_neg() & MASK_52]
    }

    /// Shoup's.
    fn prepare_forward(q: u64, w: u64) -> [u64; 2] {
        [w, ((u128::from(w) << 52) / u128::from(q)) as u64]
    }

    /// An odd multiplier below `2q`.
    fn prepare_factor(q: u64, w: u64) -> [u64; 2] {
        let [multiplier, companion] = Self::prepare(q, w);
        match multiplier % 2 {
            1 => [multiplier, companion],
            _ => [multiplier + q, companion.wrapping_sub(1) & MASK_52],
        }
    }

    fn prepare_final(q: u64, w: u64) -> [u64; 2] {
        let multiplier = mul_mod(w, (1 << 52) % q, q);
        [multiplier, multiplier.wrapping_mul(inv52(q)) & MASK_52]
    }

    /// With `p > 0` and an odd multiplier `T` of `t`, `p T` is no multiple of `2^52`; the low halves of `p T` and `m q`, with `m = p T'`, add up to
    /// `2^52`; and the product is 1 more than the sum of the high halves. It is in `(0, 9/8 q)`, as `p < 2^48` and `T < 2q`.
    ///
    /// As a multiplier, that takes products of `y < 14 q` to `1.985 q`, with the offset to less than `1.59 q` (`y < 15.6 q`: `1.7 q`):
    /// the last layers of a forward transform have room for it; and the first ones of an inverse one have smaller `y` than the others.
    #[inline(always)]
    fn derive(self, p: V, t: Twiddle) -> Twiddle {
        let m = madd52lo(zero(), p, t.companion);
        let multiplier = madd52hi(madd52hi(self.one, p, t.multiplier), m, self.q);
        Twiddle { multiplier, companion: madd52lo(zero(), multiplier, self.negated_inverse) }
    }

    #[inline(always)]
    fn enter_first(self, mut r: [V; 8]) -> [V; 8] {
        r[0] = add(r[0], self.q7);
        r[1] = add(r[1], self.q2);
        r[2] = add(r[2], self.q);
        r[3] = add(r[3], self.q);
        r
    }

    #[inline(always)]
    fn enter(self, x: V) -> V {
        madd52lo(x, madd52hi(self.minus_7, x, self.v), self.minus_q)
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let k = madd52hi(self.one, y, w.companion);
        let sum = madd52lo(madd52lo(x, y, w.multiplier), k, self.minus_q);
        (sum, sub(add(x, x), sum))
    }

    #[inline(always)]
    fn derived_butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let t = self.product(y, w, self.forward);
        (add(x, t), sub(x, t))
    }

    #[inline(always)]
    fn leave_lazy(self, x: V) -> V {
        and(x, self.mask)
    }

    #[inline(always)]
    fn leave_canonical(self, x: V) -> V {
        red(and(self.remainder(x, zero()), self.mask), self.q)
    }

    #[inline(always)]
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4] {
        let Offsets { least, lower, upper, outer } = self.inverse;
        // Sums of products in [g', g' + 3): g' = 2g + 2 below; above, 4g + 2 - j less, so that the sum of both is in [0, 7).
        // Differences: of products in (0.5, 4.5) or (2.5, 6.5). Their products have the fractions g + 2 and g - 2 - floor(2g).
        let (offsets, difference) = match half {
            Half::Lower => ([lower, least], lower),
            Half::Upper => (outer, upper),
            Half::Whole => ([lower, upper], least),
        };
        // s0 in [4, 12), s1 in [-4, 4), d0 and d1 in (0, 8).
        let (x, y) = (add(r[0], self.q4), sub(r[3], self.q4));
        let (s0, d0) = (add(x, r[1]), sub(x, r[1]));
        let (s1, d1) = (add(r[2], y), sub(r[2], y));
        let p0 = self.product(d0, t.twiddle(self, 2 * root + 1), offsets[0]);
        let p1 = self.product(d1, t.twiddle(self, 2 * root + 2), offsets[1]);
        let w = t.twiddle(self, root);
        let s = add(s0, s1); // [0, 16)
        let s = match half {
            Half::Lower => self.remainder(s, self.minus_q), // [1, 3)
            Half::Upper => self.remainder(s, self.q),       // [-1, 1)
            Half::Whole => self.remainder(s, zero()),
        };
        [s, add(p0, p1), self.product(sub(s0, s1), w, difference), self.product(sub(p0, p1), w, difference)]
    }

    /// Differences are in `(0, 4)`, `(1, 10)`, `(2, 7)` and `(2, 7)`; sums in `[0, 4)`, `[0, 7)`, `[0, 5)` and `[0, 4)`.
    #[inline(always)]
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V) {
        let sum = add(x, y);
        let sum = if index == 1 || index == 2 { red(sum, self.q4) } else { sum };
        (sum, self.product(sub(x, y), w, self.inverse.least))
    }

    #[inline(always)]
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let difference = sub(add(x, self.q4), y);
        (red(add(x, y), self.q4), self.product(difference, w, self.inverse.least))
    }

    #[inline(always)]
    fn inverse_final(self, x: V, y: V, [sums, products]: [Twiddle; 2]) -> (V, V) {
        let (sum, difference) = (add(x, y), sub(x, y));
        (red(self.exact_product(sum, sums), self.q), red(self.exact_product(difference, products), self.q))
    }
}
