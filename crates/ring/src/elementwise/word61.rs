//! The arithmetic for every odd modulus below `2^61` on AVX-512, eight residues at a time on 64-bit
//! words.
//!
//! Per eight residues, a product (Barrett) needs 6 multiplications of 32 bits and two of 64 bits. A
//! product by a constant (Shoup) needs 3 of 32 bits and two of 64 bits. A term of an inner product
//! needs 4 of 32 bits, or 7 IFMA instructions if the CPU has them.

use super::{
    Scalar,
    lanes::{KeyWord, Lanes},
};
use crate::{
    kernel::prefetches_to_l1,
    simd512::{
        V, add, and, inv52, inv64, load, madd52hi, madd52lo, minu, mul32, mulhi64,
        mulhi64_approximate, mullo64, or, prefetch, prefetch_to_l1, set1, shl, shl_by, shr, store,
        sub, zero,
    },
};

/// The constants of one modulus `q` of `k` bits.
///
/// With `IFMA`, inner products use IFMA instructions, and `q >= 2^50`.
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
    /// See [`prefetches_to_l1`].
    prefetches_to_l1: bool,
}

/// The number of bits in the low part of a split residue.
const SPLIT_BITS: u32 = 31;
const SPLIT_MASK: u64 = (1 << SPLIT_BITS) - 1;
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
            prefetches_to_l1: prefetches_to_l1(),
        }
    }

    /// Returns the top 63 bits of the product `a b`, `floor(a b / 2^(2k - 63))`, or up to 2 less.
    #[inline(always)]
    fn product_high(&self, a: V, b: V) -> V {
        mulhi64_approximate(shl_by(a, self.shift), shl_by(b, self.shift - 1))
    }

    /// Reduces a product `p`, or the sum of two, to `p mod q + i q` (Barrett).
    ///
    /// The inputs are the [`Self::product_high`] `h` of `p` and `lo = p mod 2^64`. For each product
    /// in `h`, the quotient is below `p / q` by less than `3 barrett / 2^64 < 1.5`, plus
    /// `h / 2^64`, which is 1/2. The last high product adds 3. So `i < 5` for one product and
    /// `i < 7` for two.
    #[inline(always)]
    fn barrett(&self, h: V, lo: V) -> V {
        sub(lo, mullo64(mulhi64_approximate(h, set1(self.barrett)), set1(self.q)))
    }

    /// Reduces `[0, 4q)` to `[0, q)`.
    #[inline(always)]
    fn correct_4q(&self, x: V) -> V {
        Self::subtract_if_above(Self::subtract_if_above(x, set1(2 * self.q)), set1(self.q))
    }

    /// Reduces `[0, 8q)` to `[0, q)`.
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
    /// Sums of partial products of the weights `1`, `2^31` and `2^62`, or with IFMA `1`, `2^52` and
    /// `2^104`.
    type Sum = [V; 3];
    /// [`Lanes::multiplicand`] gives the reason for 3.
    const MAX_TERMS: usize = if IFMA { 64 } else { 3 };
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
        // SAFETY: the caller guarantees `p`.
        unsafe { load(p) }
    }

    #[inline(always)]
    unsafe fn store(p: *mut u64, x: V) {
        // SAFETY: the caller guarantees `p`.
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
        // The sum is below (5 + 1) q.
        self.correct_8q(self.barrett(self.product_high(a, b), add(c, mullo64(a, b))))
    }

    #[inline(always)]
    fn mul_pair(&self, a: V, b: V, c: V, d: V) -> V {
        let h = add(self.product_high(a, b), self.product_high(c, d));
        self.correct_8q(self.barrett(h, add(mullo64(a, b), mullo64(c, d))))
    }

    /// The quotient is too small by less than 1 from the reciprocal, plus 3 from the high product.
    #[inline(always)]
    fn reduce(&self, x: V) -> V {
        let quotient = mulhi64_approximate(x, set1(self.reciprocal));
        self.correct_4q(sub(x, mullo64(quotient, set1(self.q))))
    }

    #[inline(always)]
    fn factor(&self, s: &Scalar) -> (V, V) {
        (set1(s.value), set1(s.quotient))
    }

    /// Multiplies by a constant (Shoup), for every 64-bit `x`.
    ///
    /// The quotient is too small by less than 1, plus 3 from the high product.
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
        // SAFETY: the caller guarantees 64 bytes.
        unsafe { load(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store_key(p: *mut u8, x: V) {
        // SAFETY: the caller guarantees 64 bytes.
        unsafe { store(p.cast(), x) }
    }

    #[inline(always)]
    fn prefetches_to_l1(&self) -> bool {
        self.prefetches_to_l1
    }

    #[inline(always)]
    fn prefetch(&self, p: *const u8) {
        match self.prefetches_to_l1 {
            true => prefetch_to_l1(p.cast()),
            false => prefetch(p.cast()),
        }
    }

    #[inline(always)]
    fn no_products(&self) -> [V; 3] {
        [zero(); 3]
    }

    /// Without IFMA, reduces `x < min(16q, 2^63)` below `x' = ceil(ceil(b / 2) / 2) q`, where `b`
    /// is the lazy multiple.
    ///
    /// The largest middle sum of a product is then `2^-31 x' q + 2^31 2^-31 q`. It is at most
    /// `2^62.3` (for `b = 5`, `x' = 2q < 2^61.7`), so three of them fit in 64 bits.
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
            // The instructions ignore the bits above the low 52.
            let (x1, y1) = (shr::<52>(x), shr::<52>(y));
            [
                madd52lo(s0, x, y),
                madd52lo(madd52lo(madd52hi(s1, x, y), x1, y), x, y1),
                madd52lo(madd52hi(madd52hi(s2, x1, y), x, y1), x1, y1),
            ]
        } else {
            let mask = set1(SPLIT_MASK);
            let (x0, x1) = (and(x, mask), shr::<SPLIT_BITS>(x));
            let (y0, y1) = (and(y, mask), shr::<SPLIT_BITS>(y));
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
            // This replaces the sum twice by (sum + m q) / 2^52 with m = -sum q^-1 mod 2^52. The
            // sum is below 64 2^63 q, so the result is below q + 64 2^63 q / 2^104 < 2q.
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
            // After the carries, the sum is 2^64 h + l. It is below 3 2^61.7 q, so that h < 0.61 q.
            let mask = set1(SPLIT_MASK);
            let middle = add(and(s1, mask), shr::<SPLIT_BITS>(s0));
            let top = add(s2, add(shr::<SPLIT_BITS>(s1), shr::<SPLIT_BITS>(middle)));
            let l = or(
                or(and(s0, mask), shl::<SPLIT_BITS>(and(middle, mask))),
                shl::<{ 2 * SPLIT_BITS }>(top),
            );
            let h = shr::<{ 64 - 2 * SPLIT_BITS }>(top);
            let m = mullo64(l, set1(self.q_inverse));
            Self::add_if_negative(sub(h, mulhi64(m, q)), q)
        }
    }

    #[inline(always)]
    fn sum_bound_log2(_: usize) -> u32 {
        0
    }
}
