//! Residues modulo `q < 2^50` in words of 52 bits. Four multiples of `q` fit into a word.

use super::arithmetic::{Arithmetic, Half, Tree, Twiddle};
use crate::{
    arith::mul_mod,
    simd512::{V, add, inv52, madd52hi, madd52lo, maxu, minu, red, set1, sub, zero},
};

/// The constants of the arithmetic in every lane.
///
/// Products are Montgomery's with a precomputed companion, and every butterfly has a reduction. The
/// constant `w` is stored as `W = 2^52 w mod q` and `W' = W q^-1 mod 2^52`. With
/// `m = y W' mod 2^52`, the low halves of `y W` and `m q` are equal, and the difference of the high
/// halves is `w y mod q`.
///
/// *Forward-loose* is `[0, 4q)`. *Inverse-loose* is `[0, 2q)`. Within an inverse pass, subtrahends
/// are kept in `[-2q, 0)`, so that differences are in `(0, 4q)` at no cost.
#[derive(Debug, Clone, Copy)]
pub(in crate::ntt) struct Ifma50 {
    q: V,
    minus_q: V,
    q2: V,
}

impl Ifma50 {
    /// Returns `w y + offset` in `(offset - q, offset + q)`, for `y` in `[0, 2^52)`.
    #[inline(always)]
    fn product(self, y: V, w: Twiddle, offset: V) -> V {
        let m = madd52lo(zero(), y, w.companion);
        sub(madd52hi(offset, y, w.multiplier), madd52hi(zero(), m, self.q))
    }

    /// Maps `[-2q, 2q)` to `[0, 2q)`.
    #[inline(always)]
    fn to_non_negative(self, x: V) -> V {
        minu(x, add(x, self.q2))
    }

    /// Maps `[-2q, 2q)` to `[-2q, 0)`.
    #[inline(always)]
    fn to_negative(self, x: V) -> V {
        maxu(x, sub(x, self.q2))
    }
}

impl Arithmetic for Ifma50 {
    /// `q`.
    type Constants = u64;
    const MODULUS_BOUND: u64 = 1 << 50;
    const LAZY_BOUND: u64 = 4;

    fn constants(q: u64) -> u64 {
        q
    }

    #[inline(always)]
    fn new(&q: &u64) -> Self {
        Ifma50 { q: set1(q), minus_q: set1(q.wrapping_neg()), q2: set1(2 * q) }
    }

    fn prepare(q: u64, w: u64) -> [u64; 2] {
        let multiplier = mul_mod(w, (1 << 52) % q, q);
        [multiplier, multiplier.wrapping_mul(inv52(q)) & ((1 << 52) - 1)]
    }

    #[inline(always)]
    fn enter_first(self, r: [V; 8]) -> [V; 8] {
        r
    }

    #[inline(always)]
    fn enter(self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn scale(self, x: V, w: Twiddle) -> V {
        self.product(x, w, self.q)
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let x = add(red(x, self.q2), self.q);
        let sum = self.product(y, w, x);
        (sum, sub(add(x, x), sum))
    }

    #[inline(always)]
    fn leave_lazy(self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn leave_canonical(self, x: V) -> V {
        red(red(x, self.q2), self.q)
    }

    #[inline(always)]
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4] {
        let (y0, y1) = (sub(r[1], self.q2), sub(r[3], self.q2));
        let s0 = self.to_non_negative(add(r[0], y0));
        let p0 = self.product(sub(r[0], y0), t.twiddle(2 * root + 1), self.q);
        let s1 = self.to_negative(add(r[2], y1));
        let p1 = self.product(sub(r[2], y1), t.twiddle(2 * root + 2), self.minus_q);
        let w = t.twiddle(root);
        let (s, p) = (add(s0, s1), add(p0, p1));
        let (ds, dp) = (sub(s0, s1), sub(p0, p1));
        if half == Half::Upper {
            let (ds, dp) = (self.product(ds, w, self.minus_q), self.product(dp, w, self.minus_q));
            [self.to_negative(s), self.to_negative(p), ds, dp]
        } else {
            [
                self.to_non_negative(s),
                self.to_non_negative(p),
                self.product(ds, w, self.q),
                self.product(dp, w, self.q),
            ]
        }
    }

    #[inline(always)]
    fn inverse_join(self, _: usize, x: V, y: V, w: Twiddle) -> (V, V) {
        (self.to_non_negative(add(x, y)), self.product(sub(x, y), w, self.q))
    }

    #[inline(always)]
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let y = sub(y, self.q2);
        (self.to_non_negative(add(x, y)), self.product(sub(x, y), w, self.q))
    }

    #[inline(always)]
    fn inverse_scaled(self, x: V, y: V, [sums, differences]: [Twiddle; 2]) -> (V, V) {
        let sum = self.product(self.to_non_negative(add(x, y)), sums, self.q);
        (sum, self.product(sub(x, y), differences, self.q))
    }

    #[inline(always)]
    fn inverse_leave(self, x: V) -> V {
        red(x, self.q)
    }
}
