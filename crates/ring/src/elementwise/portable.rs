//! The arithmetic in plain Rust for any odd modulus below `2^61`, one residue at a time on 64-bit
//! and 128-bit integers.
//!
//! A product (Barrett) or a product by a constant (Shoup) needs 3 multiplications per residue. A
//! term of an inner product needs one multiplication and two additions with carry. There are no
//! divisions. Additions and subtractions compile to branch-free code.

use super::{
    Scalar,
    lanes::{KeyWord, Lanes},
};
use crate::arith::inv64;

/// The constants of one modulus `q` of `k` bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable {
    q: u64,
    q_inverse: u64,
    /// `k - 2`.
    shift: u32,
    /// `floor(2^(k + 62) / q) < 2^63`.
    barrett: u64,
    /// `floor(2^64 / q)`.
    reciprocal: u64,
    lazy_multiple: u64,
}

impl Portable {
    pub(super) fn new(q: u64) -> Self {
        let bits = 64 - q.leading_zeros();
        Portable {
            q,
            q_inverse: inv64(q),
            shift: bits - 2,
            barrett: ((1u128 << (bits + 62)) / u128::from(q)) as u64,
            reciprocal: ((1u128 << 64) / u128::from(q)) as u64,
            lazy_multiple: ((1 << 63) / q).min(16),
        }
    }

    /// Reduces `p < 2^(k + 62)` exactly to `p mod q` plus 0, 1 or 2 times `q`.
    ///
    /// The quotient is `h barrett / 2^64` with `h = floor(p / 2^(k - 2))`. It is below `p / q` by
    /// less than `1/2` (from `h`), plus `h / 2^64` (from `barrett`), plus 1 (from the last floor).
    /// So the result is below `2q` for `p < q^2`, where `h < 2^63`, and below `5q/2` otherwise.
    #[inline(always)]
    fn barrett(&self, p: u128) -> u64 {
        let h = (p >> (self.shift & 63)) as u64;
        (p as u64).wrapping_sub(high(h, self.barrett).wrapping_mul(self.q))
    }
}

/// Returns `floor(a b / 2^64)`.
#[inline(always)]
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Returns `a b`.
#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Lanes for Portable {
    type V = u64;
    const LANES: usize = 1;
    /// The constant and its Shoup quotient.
    type Factor = (u64, u64);
    type Sum = u128;
    /// `16 (2^63 - 1) (2^61 - 1) < 2^128`.
    const MAX_TERMS: usize = 16;
    const KEY_WORD: KeyWord = KeyWord { bytes: 8, montgomery_log2: 64 };

    #[inline(always)]
    fn modulus(&self) -> u64 {
        self.q
    }

    #[inline(always)]
    fn lazy_multiple(&self) -> u64 {
        self.lazy_multiple
    }

    #[inline(always)]
    unsafe fn load(p: *const u64) -> u64 {
        // SAFETY: the caller guarantees `p`.
        unsafe { p.read() }
    }

    #[inline(always)]
    unsafe fn store(p: *mut u64, x: u64) {
        // SAFETY: the caller guarantees `p`.
        unsafe { p.write(x) }
    }

    #[inline(always)]
    fn splat(x: u64) -> u64 {
        x
    }

    #[inline(always)]
    fn wrapping_add(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn wrapping_sub(a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn subtract_if_above(x: u64, m: u64) -> u64 {
        Self::add_if_negative(x.wrapping_sub(m), m)
    }

    #[inline(always)]
    fn add_if_negative(d: u64, m: u64) -> u64 {
        // Compilers vectorise a mask well, and a minimum of 64-bit words badly.
        d.wrapping_add(m & ((d as i64) >> 63) as u64)
    }

    #[inline(always)]
    fn mul(&self, a: u64, b: u64) -> u64 {
        Self::subtract_if_above(self.barrett(wide(a, b)), self.q)
    }

    #[inline(always)]
    fn mul_add(&self, c: u64, a: u64, b: u64) -> u64 {
        // (q - 1)^2 + q - 1 < q^2.
        Self::subtract_if_above(self.barrett(wide(a, b) + u128::from(c)), self.q)
    }

    #[inline(always)]
    fn mul_pair(&self, a: u64, b: u64, c: u64, d: u64) -> u64 {
        let r = self.barrett(wide(a, b) + wide(c, d));
        Self::subtract_if_above(Self::subtract_if_above(r, self.q), self.q)
    }

    #[inline(always)]
    fn reduce(&self, x: u64) -> u64 {
        // The quotient is too small by less than 2: by less than 1 from the reciprocal, and by less
        // than 1 from the floor.
        let r = x.wrapping_sub(high(x, self.reciprocal).wrapping_mul(self.q));
        Self::subtract_if_above(r, self.q)
    }

    #[inline(always)]
    fn factor(&self, s: &Scalar) -> (u64, u64) {
        (s.value, s.quotient)
    }

    #[inline(always)]
    fn mul_factor(&self, x: u64, (value, quotient): (u64, u64)) -> u64 {
        // Shoup's product is below 2q for every 64-bit x.
        let r = x.wrapping_mul(value).wrapping_sub(high(x, quotient).wrapping_mul(self.q));
        Self::subtract_if_above(r, self.q)
    }

    #[inline(always)]
    fn mul_difference(&self, a: u64, b: u64, f: (u64, u64)) -> u64 {
        self.mul_factor(a + self.lazy_multiple * self.q - b, f)
    }

    #[inline(always)]
    unsafe fn load_key(p: *const u8) -> u64 {
        // SAFETY: the caller guarantees `p`.
        unsafe { p.cast::<u64>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store_key(p: *mut u8, x: u64) {
        // SAFETY: the caller guarantees `p`.
        unsafe { p.cast::<u64>().write_unaligned(x) }
    }

    #[inline(always)]
    fn prefetch(&self, _: *const u8) {}

    #[inline(always)]
    fn no_products(&self) -> u128 {
        0
    }

    #[inline(always)]
    fn multiplicand(&self, x: u64) -> u64 {
        x
    }

    #[inline(always)]
    fn add_product(&self, sum: u128, x: u64, y: u64) -> u128 {
        sum + wide(x, y)
    }

    #[inline(always)]
    fn reduce_sum(&self, sum: u128) -> u64 {
        // If sum = 2^64 h + l and m q = l mod 2^64, then sum - m q = 2^64 (h - floor(m q / 2^64)).
        let m = (sum as u64).wrapping_mul(self.q_inverse);
        self.sub(self.reduce((sum >> 64) as u64), high(m, self.q))
    }

    #[inline(always)]
    fn sum_bound_log2(_: usize) -> u32 {
        0
    }
}
