//! The arithmetic for moduli below `2^50` on AVX-512 IFMA, eight residues at a time on 52-bit
//! words.
//!
//! Per eight residues, a product (Barrett) needs 4 IFMA instructions. A product by a constant
//! (Montgomery, with a prepared companion) needs 3. A term of an inner product, its reduction, and
//! the reduction of a word need 2 each.

use super::{
    Scalar,
    lanes::{KeyWord, Lanes},
};
use crate::{
    kernel::prefetches_to_l1,
    simd512::{
        V, add, and, inv52, load, load_packed_48, madd52hi, madd52lo, minu, prefetch,
        prefetch_to_l1, redc52, set1, shl_by, shr, store, store_packed_48, sub, zero,
    },
};

/// The constants of one modulus `q` of `k` bits.
///
/// `BELOW_48` means that `q < 2^48`. Keys are then packed to 6 bytes, and some corrections are
/// unnecessary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ifma<const BELOW_48: bool> {
    q: u64,
    q_inverse: u64,
    /// `52 - k`.
    shift: u32,
    /// `floor(2^(2k + 1) / q) < 2^52`.
    barrett: u64,
    /// `floor(2^64 / q) < 2^52`.
    reciprocal: u64,
    lazy_multiple: u64,
    /// See [`prefetches_to_l1`].
    prefetches_to_l1: bool,
}

impl<const BELOW_48: bool> Ifma<BELOW_48> {
    /// Returns true if `q` is in the range `[2^13, 2^48)`, or `[2^13, 2^50)` without `BELOW_48`.
    pub(super) fn supports(q: u64) -> bool {
        (1 << 13..1 << if BELOW_48 { 48 } else { 50 }).contains(&q)
    }

    pub(super) fn new(q: u64) -> Self {
        debug_assert!(Self::supports(q));
        let bits = 64 - q.leading_zeros();
        Ifma {
            q,
            q_inverse: inv52(q),
            shift: 52 - bits,
            barrett: ((1u128 << (2 * bits + 1)) / u128::from(q)) as u64,
            reciprocal: ((1u128 << 64) / u128::from(q)) as u64,
            lazy_multiple: ((1 << 52) / q).min(16),
            prefetches_to_l1: prefetches_to_l1(),
        }
    }

    /// Returns `hi + floor(a b / 2^(2k - 51))`, which adds 51 bits of the product.
    #[inline(always)]
    fn product_high(&self, hi: V, a: V, b: V) -> V {
        madd52hi(hi, shl_by(a, self.shift), shl_by(b, self.shift - 1))
    }

    /// Reduces a product `p`, or the sum of two, to `p mod q + i q` (Barrett).
    ///
    /// The inputs are the [`Self::product_high`] `h` of `p`, and `lo = p mod 2^52` up to multiples
    /// of `2^52`. The quotient `floor(h barrett / 2^52)` is too small for three reasons: by less
    /// than `barrett / 2^52` for each product in `h`, by `h / 2^52` from `barrett`, and by 1 from
    /// the last floor. With `barrett < 2^(k + 2)` and `h < 2^51` for each product, this gives
    ///
    /// | | one product | two |
    /// |---|---|---|
    /// | `k <= 48` | `i < 1.75` | `i < 2.5` |
    /// | `k = 49` | `i < 2` | `i < 3` |
    /// | `k = 50` | `i < 2.5` | `i < 4` |
    ///
    /// and `4q < 2^52` for `k <= 50`.
    #[inline(always)]
    fn barrett(&self, h: V, lo: V) -> V {
        let quotient = madd52hi(zero(), h, set1(self.barrett));
        let multiple = madd52lo(zero(), quotient, set1(self.q));
        and(sub(lo, multiple), set1((1 << 52) - 1))
    }

    /// Reduces `[0, 4q)` to `[0, q)`.
    #[inline(always)]
    fn correct_4q(&self, x: V) -> V {
        Self::subtract_if_above(Self::subtract_if_above(x, set1(2 * self.q)), set1(self.q))
    }
}

impl<const BELOW_48: bool> Lanes for Ifma<BELOW_48> {
    type V = V;
    const LANES: usize = 8;
    /// `c 2^52 mod q`, and this number times `q^-1 mod 2^52`.
    type Factor = (V, V);
    /// The high halves (starting at `q`) and the low halves of products.
    type Sum = (V, V);
    /// The low halves would allow `2^12` terms. But [`Lanes::reduce_sum`] needs one step for each
    /// bit of the number of terms.
    const MAX_TERMS: usize = 64;
    const KEY_WORD: KeyWord = KeyWord { bytes: if BELOW_48 { 6 } else { 8 }, montgomery_log2: 52 };

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
        let r = self.barrett(self.product_high(zero(), a, b), madd52lo(zero(), a, b));
        if BELOW_48 { Self::subtract_if_above(r, set1(self.q)) } else { self.correct_4q(r) }
    }

    #[inline(always)]
    fn mul_add(&self, c: V, a: V, b: V) -> V {
        // The sum is below (2.5 + 1) q.
        self.correct_4q(self.barrett(self.product_high(zero(), a, b), madd52lo(c, a, b)))
    }

    #[inline(always)]
    fn mul_pair(&self, a: V, b: V, c: V, d: V) -> V {
        let h = self.product_high(self.product_high(zero(), a, b), c, d);
        self.correct_4q(self.barrett(h, madd52lo(madd52lo(zero(), a, b), c, d)))
    }

    /// The quotient `floor(floor(x / 2^12) reciprocal / 2^52)` is below `2^52`. It is below `x / q`
    /// by less than `2^12 / q <= 1/2`, plus 1 twice.
    #[inline(always)]
    fn reduce(&self, x: V) -> V {
        let quotient = madd52hi(zero(), shr::<12>(x), set1(self.reciprocal));
        let multiple = madd52lo(zero(), quotient, set1(self.q));
        self.correct_4q(and(sub(x, multiple), set1((1 << 52) - 1)))
    }

    #[inline(always)]
    fn factor(&self, s: &Scalar) -> (V, V) {
        (set1(s.montgomery), set1(s.montgomery_inverse))
    }

    /// Multiplies by a constant (Montgomery).
    ///
    /// With `x w = 2^52 h + l` and `m = x w q^-1 mod 2^52`, `x w 2^-52 = h - floor(m q / 2^52)`.
    /// This is between `-q` and `q` for every `x < 2^52`.
    #[inline(always)]
    fn mul_factor(&self, x: V, (w, w_inverse): (V, V)) -> V {
        let q = set1(self.q);
        let m = madd52lo(zero(), x, w_inverse);
        Self::subtract_if_above(sub(madd52hi(q, x, w), madd52hi(zero(), m, q)), q)
    }

    /// First brings `b` below `h q`, where `h` is half of the lazy multiple, rounded up.
    ///
    /// This keeps `(h + 2) q` below `2^52`. The lazy multiple plus 2, times `q`, could exceed it.
    #[inline(always)]
    fn mul_difference(&self, a: V, b: V, f: (V, V)) -> V {
        let half = set1(self.lazy_multiple.div_ceil(2) * self.q);
        self.mul_factor(sub(add(a, half), Self::subtract_if_above(b, half)), f)
    }

    #[inline(always)]
    unsafe fn load_key(p: *const u8) -> V {
        // SAFETY: the caller guarantees 48 + 16 or 64 bytes.
        unsafe { if BELOW_48 { load_packed_48(p) } else { load(p.cast()) } }
    }

    #[inline(always)]
    unsafe fn store_key(p: *mut u8, x: V) {
        // SAFETY: the caller guarantees 48 or 64 bytes.
        unsafe { if BELOW_48 { store_packed_48(p, x) } else { store(p.cast(), x) } }
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
    fn no_products(&self) -> (V, V) {
        (set1(self.q), zero())
    }

    #[inline(always)]
    fn multiplicand(&self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn add_product(&self, (hi, lo): (V, V), x: V, y: V) -> (V, V) {
        (madd52hi(hi, x, y), madd52lo(lo, x, y))
    }

    #[inline(always)]
    fn reduce_sum(&self, (hi, lo): (V, V)) -> V {
        redc52(hi, lo, set1(self.q), set1(self.q_inverse))
    }

    /// Each product is below `2^52 q`, so Montgomery's reduction gives less than `(terms + 1) q`.
    #[inline(always)]
    fn sum_bound_log2(terms: usize) -> u32 {
        usize::BITS - terms.leading_zeros()
    }
}
