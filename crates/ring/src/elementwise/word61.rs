//! The arithmetic for every odd modulus below `2^61` on AVX-512: eight residues at a time, on
//! 64-bit words.
//!
//! 32-bit multiplications per eight residues: product 6 and two of 64 bits (Barrett), product by a
//! constant 3 and two of 64 bits (Shoup). A term of an inner product takes 4 of them, or 7 IFMA
//! instructions where the CPU has those.

use super::{
    Scalar,
    lanes::{KeyWord, Lanes},
};
use crate::{
    kernel::fetches_near,
    simd512::{
        V, add, and, inv52, inv64, load, madd52hi, madd52lo, minu, mul32, mulhi64,
        mulhi64_approximate, mullo64, or, prefetch, prefetch_near, set1, shl, shl_by, shr, store,
        sub, zero,
    },
};

/// The constants of one modulus `q` of `k` bits. `IFMA` says that inner products may use it; `q >=
/// 2^50` then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word61<const IFMA: bool> {
    q: u64,
    /// `q^-1 mod 2^64`; with `IFMA`, `-q^-1 mod 2^52`.
    q_inverse: u64,
    /// `64 - k`.
    shift: u32,
    /// `floor(2^(2k + 1) / q) < 2^63`.
    barrett: u64,
    /// `floor(2^64 / q)`.
    reciprocal: u64,
    lazy_multiple: u64,
    /// See [`fetches_near`].
    fetches_near: bool,
}

/// Bits of the low part of a split residue.
const SPLIT: u32 = 31;
const SPLIT_MASK: u64 = (1 << SPLIT) - 1;
const MASK_52: u64 = (1 << 52) - 1;

impl<const IFMA: bool> Word61<IFMA> {
    pub(super) fn new(q: u64) -> Self {
        debug_assert!(!IFMA || q >= 1 << 50);
        let bits = 64 - q.leading_zeros();
        Word61 {
            q,
            q_inverse: if IFMA { MASK_52 + 1 - inv52(q) } else { inv64(q) },
            shift: 64 - bits,
            barrett: ((1u128 << (2 * bits + 1)) / u128::from(q)) as u64,
            reciprocal: ((1u128 << 64) / u128::from(q)) as u64,
            lazy_multiple: ((1 << 63) / q).min(16),
            fetches_near: fetches_near(),
        }
    }

    /// The top 63 bits of the product `a b`, `floor(a b / 2^(2k - 63))`, or up to 2 less.
    #[inline(always)]
    fn product_high(&self, a: V, b: V) -> V {
        mulhi64_approximate(shl_by(a, self.shift), shl_by(b, self.shift - 1))
    }

    /// Barrett: from the [`Self::product_high`] of a product `p` (or the sum of two) and `lo = p
    /// mod 2^64` to `p mod q + i q`. The quotient falls short of `p / q` by less than `3 barrett /
    /// 2^64 < 1.5` for each product in `h`, `h / 2^64` (1/2 for each product) and 3 (the last high
    /// product): `i < 5` for one and `i < 7` for two.
    #[inline(always)]
    fn barrett(&self, h: V, lo: V) -> V {
        sub(lo, mullo64(mulhi64_approximate(h, set1(self.barrett)), set1(self.q)))
    }

    /// `[0, 4q)` to `[0, q)`.
    #[inline(always)]
    fn correct_4q(&self, x: V) -> V {
        Self::subtract_if_above(Self::subtract_if_above(x, set1(2 * self.q)), set1(self.q))
    }

    /// `[0, 8q)` to `[0, q)`.
    #[inline(always)]
    fn correct_8q(&self, x: V) -> V {
        self.correct_4q(Self::subtract_if_above(x, set1(4 * self.q)))
    }
}

impl<const IFMA: bool> Lanes for Word61<IFMA> {
    type V = V;
    const LANES: usize = 8;
    /// The constant and its Shoup quotient.
    type Factor = (V, V);
    /// Sums of partial products of weights `1`, `2^31`, `2^62`; with IFMA of weights `1`, `2^52`,
    /// `2^104`.
    type Sum = [V; 3];
    /// See [`Lanes::multiplicand`] for 3.
    const TERMS: usize = if IFMA { 64 } else { 3 };
    const KEY_WORD: KeyWord = KeyWord { bytes: 8, montgomery_log2: if IFMA { 104 } else { 64 } };

    #[inline(always)]
    fn modulus(&self) -> u64 {
        self.q
    }

    #[inline(always)]
    fn lazy_multiple(&self) -> u64 {
        self.lazy_multiple
    }

    #[inline(always)]
    unsafe fn load(p: *const u64) -> V {
        // SAFETY: the caller vouches for `p`.
        unsafe { load(p) }
    }

    #[inline(always)]
    unsafe fn store(p: *mut u64, x: V) {
        // SAFETY: the caller vouches for `p`.
        unsafe { store(p, x) }
    }

    #[inline(always)]
    fn splat(x: u64) -> V {
        set1(x)
    }

    #[inline(always)]
    fn wrapping_add(a: V, b: V) -> V {
        add(a, b)
    }

    #[inline(always)]
    fn wrapping_sub(a: V, b: V) -> V {
        sub(a, b)
    }

    #[inline(always)]
    fn subtract_if_above(x: V, m: V) -> V {
        minu(x, sub(x, m))
    }

    #[inline(always)]
    fn add_if_negative(d: V, m: V) -> V {
        minu(d, add(d, m))
    }

    #[inline(always)]
    fn mul(&self, a: V, b: V) -> V {
        self.correct_8q(self.barrett(self.product_high(a, b), mullo64(a, b)))
    }

    #[inline(always)]
    fn mul_add(&self, c: V, a: V, b: V) -> V {
        // Below (5 + 1) q.
        self.correct_8q(self.barrett(self.product_high(a, b), add(c, mullo64(a, b))))
    }

    #[inline(always)]
    fn mul_pair(&self, a: V, b: V, c: V, d: V) -> V {
        let h = add(self.product_high(a, b), self.product_high(c, d));
        self.correct_8q(self.barrett(h, add(mullo64(a, b), mullo64(c, d))))
    }

    /// The quotient falls short by less than 1 (the reciprocal) and 3 (the high product).
    #[inline(always)]
    fn reduce(&self, x: V) -> V {
        let quotient = mulhi64_approximate(x, set1(self.reciprocal));
        self.correct_4q(sub(x, mullo64(quotient, set1(self.q))))
    }

    #[inline(always)]
    fn factor(&self, s: &Scalar) -> (V, V) {
        (set1(s.value), set1(s.quotient))
    }

    /// Shoup, for every 64-bit `x`: the quotient falls short by less than 1 and 3.
    #[inline(always)]
    fn mul_factor(&self, x: V, (value, quotient): (V, V)) -> V {
        let quotient = mulhi64_approximate(x, quotient);
        self.correct_4q(sub(mullo64(x, value), mullo64(quotient, set1(self.q))))
    }

    #[inline(always)]
    fn mul_difference(&self, a: V, b: V, f: (V, V)) -> V {
        self.mul_factor(sub(add(a, set1(self.lazy_multiple * self.q)), b), f)
    }

    #[inline(always)]
    unsafe fn load_key(p: *const u8) -> V {
        // SAFETY: the caller vouches for 64 bytes.
        unsafe { load(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store_key(p: *mut u8, x: V) {
        // SAFETY: the caller vouches for 64 bytes.
        unsafe { store(p.cast(), x) }
    }

    #[inline(always)]
    fn fetches_near(&self) -> bool {
        self.fetches_near
    }

    #[inline(always)]
    fn prefetch(&self, p: *const u8) {
        match self.fetches_near {
            true => prefetch_near(p.cast()),
            false => prefetch(p.cast()),
        }
    }

    #[inline(always)]
    fn no_products(&self) -> [V; 3] {
        [zero(); 3]
    }

    /// Without IFMA, `x < min(16q, 2^63)` is brought below `x' = ceil(ceil(b / 2) / 2) q`, with `b`
    /// the lazy multiple. The largest middle sum of a product is then `2^-31 x' q + 2^31 2^-31 q`,
    /// at most `2^62.3` (for `b = 5`, `x' = 2q < 2^61.7`), so that three of them fit in 64 bits.
    #[inline(always)]
    fn multiplicand(&self, x: V) -> V {
        if IFMA {
            return x;
        }
        let half = self.lazy_multiple.div_ceil(2);
        let x = Self::subtract_if_above(x, set1(half * self.q));
        Self::subtract_if_above(x, set1(half.div_ceil(2) * self.q))
    }

    #[inline(always)]
    fn add_product(&self, [s0, s1, s2]: [V; 3], x: V, y: V) -> [V; 3] {
        if IFMA {
            // The instructions ignore what is above 52 bits.
            let (x1, y1) = (shr::<52>(x), shr::<52>(y));
            [
                madd52lo(s0, x, y),
                madd52lo(madd52lo(madd52hi(s1, x, y), x1, y), x, y1),
                madd52lo(madd52hi(madd52hi(s2, x1, y), x, y1), x1, y1),
            ]
        } else {
            let mask = set1(SPLIT_MASK);
            let (x0, x1) = (and(x, mask), shr::<SPLIT>(x));
            let (y0, y1) = (and(y, mask), shr::<SPLIT>(y));
            [
                add(s0, mul32(x0, y0)),
                add(s1, add(mul32(x0, y1), mul32(x1, y0))),
                add(s2, mul32(x1, y1)),
            ]
        }
    }

    #[inline(always)]
    fn reduce_sum(&self, [s0, s1, s2]: [V; 3]) -> V {
        let q = set1(self.q);
        if IFMA {
            // Twice (sum + m q) / 2^52 with m = -sum q^-1 mod 2^52: the sum is below 64 2^63 q, the
            // result below q + 64 2^63 q / 2^104 < 2q.
            let (q1, q_inverse) = (shr::<52>(q), set1(self.q_inverse));
            let m = madd52lo(zero(), s0, q_inverse);
            let s0 = madd52lo(s0, m, q);
            let s1 = add(madd52lo(madd52hi(s1, m, q), m, q1), shr::<52>(s0));
            let s2 = madd52hi(s2, m, q1);
            let m = madd52lo(zero(), s1, q_inverse);
            let s1 = madd52lo(s1, m, q);
            let s2 = add(madd52lo(madd52hi(s2, m, q), m, q1), shr::<52>(s1));
            let s3 = madd52hi(zero(), m, q1);
            Self::subtract_if_above(add(s2, shl::<52>(s3)), q)
        } else {
            // Carried, the sum is 2^64 h + l; below 3 2^61.7 q, so that h < 0.61 q.
            let mask = set1(SPLIT_MASK);
            let middle = add(and(s1, mask), shr::<SPLIT>(s0));
            let top = add(s2, add(shr::<SPLIT>(s1), shr::<SPLIT>(middle)));
            let l =
                or(or(and(s0, mask), shl::<SPLIT>(and(middle, mask))), shl::<{ 2 * SPLIT }>(top));
            let h = shr::<{ 64 - 2 * SPLIT }>(top);
            let m = mullo64(l, set1(self.q_inverse));
            Self::add_if_negative(sub(h, mulhi64(m, q)), q)
        }
    }

    #[inline(always)]
    fn sum_bound_log2(_: usize) -> u32 {
        0
    }
}
