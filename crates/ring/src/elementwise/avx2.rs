//! The arithmetic for moduli below `2^50` on AVX2 and FMA, four residues at a time as doubles
//! (module [`crate::simd256`]).
//!
//! A product and a product by a constant need 6 instructions per four residues each. A term of an
//! inner product needs 4, its reduction 9, and the reduction of a word 8. The conversion to doubles
//! adds 2 for each operand, and the conversion back 5 for each result.

use super::{
    Scalar,
    lanes::{KeyWord, Lanes},
};
use crate::simd256::*;

/// The constants of one modulus `q`.
#[derive(Debug, Clone, Copy)]
pub(super) struct F64 {
    modulus: Modulus,
    lazy_multiple: u64,
}

/// The start of the high parts of a sum of products.
///
/// Sums around `3 2^102` stay between `2^103` and `2^104` while they move by less than `2^102`. So
/// they are multiples of `2^51`.
const HIGH_START: f64 = 1.5 * (1u128 << 103) as f64;

impl F64 {
    /// Returns true if `q` is in the range `[2^13, 2^50)`.
    pub(super) fn supports(q: u64) -> bool {
        (1 << 13..1 << 50).contains(&q)
    }

    pub(super) fn new(q: u64) -> Self {
        debug_assert!(Self::supports(q));
        F64 { modulus: Modulus::new(q), lazy_multiple: ((1 << 52) / q).min(16) }
    }

    /// Returns half of the lazy multiple, rounded up, times `q`.
    #[inline(always)]
    fn half_lazy_bound(&self) -> u64 {
        self.lazy_multiple.div_ceil(2) * self.modulus.q
    }
}

impl Lanes for F64 {
    type V = I;
    const LANES: usize = 4;
    type Factor = Factor;
    /// The high parts, which are multiples of `2^51` away from [`HIGH_START`], and the remainders
    /// of the products, at most `2^50` each.
    type Sum = (V, V);
    /// Products are below `2^100`, because keys are centred and [`Lanes::multiplicand`] returns at
    /// most `2^51.3` (`3q` if `5q < 2^52`, and `2q` otherwise).
    const MAX_TERMS: usize = 4;
    const KEY_WORD: KeyWord = KeyWord { bytes: 8, montgomery_log2: 0 };

    #[inline(always)]
    fn modulus(&self) -> u64 {
        self.modulus.q
    }

    #[inline(always)]
    fn lazy_multiple(&self) -> u64 {
        self.lazy_multiple
    }

    #[inline(always)]
    unsafe fn load(p: *const u64) -> I {
        // SAFETY: the caller guarantees `p`.
        unsafe { load_integers(p) }
    }

    #[inline(always)]
    unsafe fn store(p: *mut u64, x: I) {
        // SAFETY: the caller guarantees `p`.
        unsafe { store_integers(p, x) }
    }

    #[inline(always)]
    fn splat(x: u64) -> I {
        set1_integer(x)
    }

    #[inline(always)]
    fn wrapping_add(a: I, b: I) -> I {
        add_integers(a, b)
    }

    #[inline(always)]
    fn wrapping_sub(a: I, b: I) -> I {
        sub_integers(a, b)
    }

    #[inline(always)]
    fn subtract_if_above(x: I, m: I) -> I {
        let difference = sub_integers(x, m);
        where_negative(difference, x, difference)
    }

    #[inline(always)]
    fn add_if_negative(d: I, m: I) -> I {
        where_negative(d, add_integers(d, m), d)
    }

    #[inline(always)]
    fn mul(&self, a: I, b: I) -> I {
        self.modulus.to_canonical(self.modulus.mul(from_integers(a, 0.0), from_integers(b, 0.0)))
    }

    #[inline(always)]
    fn mul_add(&self, c: I, a: I, b: I) -> I {
        let (a, b, c) = (from_integers(a, 0.0), from_integers(b, 0.0), from_integers(c, 0.0));
        self.modulus.to_canonical(self.modulus.mul_add(c, a, b))
    }

    #[inline(always)]
    fn mul_pair(&self, a: I, b: I, c: I, d: I) -> I {
        let first = self.modulus.mul(from_integers(a, 0.0), from_integers(b, 0.0));
        let both = self.modulus.mul_add(first, from_integers(c, 0.0), from_integers(d, 0.0));
        self.modulus.to_canonical(both)
    }

    /// The reduction of the high half leaves at most `3q/4`, because its quotient, up to `2^51`,
    /// has an error of at most `1/2 + 1/4`. With the low half, the sum is below `2^51`.
    #[inline(always)]
    fn reduce(&self, x: I) -> I {
        let (high, low) = halves(x);
        let m = self.modulus;
        m.to_canonical(m.reduce(add(m.reduce(high), low)))
    }

    #[inline(always)]
    fn factor(&self, s: &Scalar) -> Factor {
        Factor::splat(self.modulus.prepare(s.value))
    }

    #[inline(always)]
    fn mul_factor(&self, x: I, f: Factor) -> I {
        self.modulus.to_canonical(self.modulus.mul_factor(from_integers(x, 0.0), f))
    }

    #[inline(always)]
    fn mul_difference(&self, a: I, b: I, f: Factor) -> I {
        self.modulus.to_canonical(self.modulus.mul_factor(difference(a, b), f))
    }

    #[inline(always)]
    unsafe fn load_key(p: *const u8) -> I {
        // SAFETY: the caller guarantees 32 bytes.
        unsafe { load_integers(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store_key(p: *mut u8, x: I) {
        // SAFETY: the caller guarantees 32 bytes.
        unsafe { store_integers(p.cast(), x) }
    }

    /// Keys are centred doubles, so their sum `x` is an integer with `|x| < q`. `x/q` is at least
    /// `1/2q` away from every half of an odd number, and the error of the quotient before rounding
    /// is less than `2^-53 |x| / q < 1/8q`. So the remainder is centred.
    #[inline(always)]
    fn add_keys(&self, a: I, b: I) -> I {
        as_integers(self.modulus.reduce(add(as_doubles(a), as_doubles(b))))
    }

    #[inline(always)]
    fn key_residue(&self, x: I) -> I {
        as_integers(self.modulus.reduce(from_integers(x, 0.0)))
    }

    #[inline(always)]
    fn prefetch(&self, p: *const u8) {
        // SAFETY: prefetching touches no memory, and every x86-64 CPU has it.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(p.cast()) }
    }

    #[inline(always)]
    fn no_products(&self) -> (V, V) {
        (set1(HIGH_START), set1(0.0))
    }

    #[inline(always)]
    fn multiplicand(&self, x: I) -> I {
        as_integers(from_integers(x, self.half_lazy_bound() as f64))
    }

    #[inline(always)]
    fn add_product(&self, (high, low): (V, V), x: I, y: I) -> (V, V) {
        let (x, y) = (as_doubles(x), as_doubles(y));
        let sum = mul_add(x, y, high);
        // This is exact: the difference is one of two multiples of 2^51 that are at most 2^102, and
        // the other term is the error of the sum.
        (sum, add(low, mul_sub(x, y, sub(sum, high))))
    }

    /// The quotient of the high part, below `2^53`, has an error of at most 2 from rounding and 1
    /// from the rounded `1/q`. So its remainder is at most `3q`, and below `2^53` with the low
    /// part, which is at most `2^52`.
    #[inline(always)]
    fn reduce_sum(&self, (high, low): (V, V)) -> I {
        let m = self.modulus;
        let high = sub(high, set1(HIGH_START));
        let rest = m.subtract_quotient(high, ROUND_TO_4);
        m.to_canonical(m.reduce(add(rest, low)))
    }

    #[inline(always)]
    fn sum_bound_log2(_: usize) -> u32 {
        0
    }
}
