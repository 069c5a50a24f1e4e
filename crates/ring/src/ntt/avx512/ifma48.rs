//! Residues modulo `q < 2^48` in words of 52 bits: sixteen multiples of `q` fit, so that hardly anything needs reducing.

use super::arithmetic::{Arithmetic, Half, Tree, Twiddle};
use crate::{
    arith::mul_mod,
    simd512::{V, add, inv52, madd52hi, madd52lo, maxu, minu, red, set1, sub, zero},
};

/// Montgomery's product with a precomputed companion. The constant `w` is stored as `W = 2^52 w mod q` and `W' = W q^-1 mod 2^52`. For
/// `0 <= y < 2^52`, `m = y W' mod 2^52` makes `m q = y W mod 2^52`, so that
///
/// `t = floor(y W / 2^52) - floor(m q / 2^52) = (y W - m q) / 2^52 = w y mod q`, in `(-q, y W / 2^52]`, within `(-q, q)`:
///
/// three multiplications and no mask, and the first term is added to another operand at no cost.
///
/// *Forward-loose* is `[3q, 11q)`, after four layers `[3q, 13q)`. All results of a pass come from register 0, widened by `q` on both
/// sides in each layer: it is reduced, to `[6q, 8q)` (to `[7q, 9q)` before four layers). The others are widened before they are
/// multiplied, register 1 once less than register 0, and stay in `[0, 15q)`.
///
/// *Inverse-loose* is `[0, 4q)`. Differences must not be negative, and where the multiples of `q` that ensure this go is chosen
/// so that most cost nothing: they are the initial value of an accumulator, or are in `x + (y - c)` and `x - (y - c)` alike.
#[derive(Debug, Clone, Copy)]
pub(in crate::ntt) struct Ifma48 {
    q: V,
    q_inverse: V,
    v: V,
    q2: V,
    q4: V,
    q6: V,
    q8: V,
    minus_q6: V,
    minus_q7: V,
}

impl Ifma48 {
    /// `w y + offset` in `(offset - q, offset + q)`, for `y` in `[0, 2^52)`.
    #[inline(always)]
    fn product(self, y: V, w: Twiddle, offset: V) -> V {
        let m = madd52lo(zero(), y, w.companion);
        sub(madd52hi(offset, y, w.multiplier), madd52hi(zero(), m, self.q))
    }

    /// `x - minus_offset mod q` in `[0, 2q) - minus_offset`, for `x` in `[0, 2^52)` and a multiple `minus_offset` of `q`. The quotient
    /// `k = floor(v x / 2^52)` by `v = floor(2^52 / q) >= 16` is less than `1 + x / (16 q) < 2` below `x / q`.
    #[inline(always)]
    fn remainder(self, x: V, minus_offset: V) -> V {
        let k = madd52hi(zero(), x, self.v);
        sub(x, madd52lo(minus_offset, k, self.q))
    }
}

impl Arithmetic for Ifma48 {
    const MODULUS_BOUND: u64 = 1 << 48;
    const LAZY_BOUND: u64 = 11;
    const FACTORED_FROM: [usize; 2] = [1 << 14, 1 << 14];

    #[inline(always)]
    fn new(q: u64) -> Self {
        Ifma48 {
            q: set1(q),
            q_inverse: set1(inv52(q)),
            v: set1((1 << 52) / q),
            q2: set1(2 * q),
            q4: set1(4 * q),
            q6: set1(6 * q),
            q8: set1(8 * q),
            minus_q6: set1((6 * q).wrapping_neg()),
            minus_q7: set1((7 * q).wrapping_neg()),
        }
    }

    fn prepare(q: u64, w: u64) -> [u64; 2] {
        let multiplier = mul_mod(w, (1 << 52) % q, q);
        [multiplier, multiplier.wrapping_mul(inv52(q)) & ((1 << 52) - 1)]
    }

    /// The multiplier is in `(0, 17/16 q)`, since `p < 2^48`. That is as good as `(0, q)`: in a forward transform, what it multiplies
    /// is below `15q`, so that products stay below `17/16 15/16 q < q`; in an inverse one it matters only for the products of
    /// [`Arithmetic::inverse_join`], which may reach `4q`.
    #[inline(always)]
    fn derive(self, p: V, t: Twiddle) -> Twiddle {
        let multiplier = self.product(p, t, self.q);
        Twiddle { multiplier, companion: madd52lo(zero(), multiplier, self.q_inverse) }
    }

    #[inline(always)]
    fn enter_first(self, mut r: [V; 8]) -> [V; 8] {
        r[0] = add(r[0], self.q6);
        r[1] = add(r[1], self.q2);
        r[2] = add(r[2], self.q);
        r[3] = add(r[3], self.q);
        r
    }

    #[inline(always)]
    fn enter(self, r0: V, layers: u32) -> V {
        self.remainder(r0, if layers == 4 { self.minus_q7 } else { self.minus_q6 })
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let sum = self.product(y, w, x);
        (sum, sub(add(x, x), sum))
    }

    #[inline(always)]
    fn leave_lazy(self, x: V) -> V {
        x
    }

    #[inline(always)]
    fn leave_canonical(self, x: V) -> V {
        red(self.remainder(x, zero()), self.q)
    }

    #[inline(always)]
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4] {
        // s0 - s1 in (0, 16q), and s0 + s1 in [-8q, 8q) in the upper half, in [0, 16q) otherwise.
        let (s0, d0, s1, d1);
        if half == Half::Upper {
            s0 = add(r[0], r[1]);
            d0 = sub(add(r[0], self.q4), r[1]);
            let y = sub(r[3], self.q8);
            (s1, d1) = (add(r[2], y), sub(r[2], y));
        } else {
            let x = add(r[0], self.q4);
            (s0, d0) = (add(x, r[1]), sub(x, r[1]));
            let y = sub(r[3], self.q4);
            (s1, d1) = (add(r[2], y), sub(r[2], y));
        }
        // p0 - p1 in (0, 4q), and p0 + p1 in (-4q, 0) in the upper half, in (0, 4q) otherwise.
        let negative = sub(zero(), self.q2);
        let (offset0, offset1) = if half == Half::Upper { (zero(), negative) } else { (self.q2, zero()) };
        let p0 = self.product(d0, t.twiddle(self, 2 * root + 1), offset0);
        let p1 = self.product(d1, t.twiddle(self, 2 * root + 2), offset1);
        // Products for `inverse_join` in (q, 3q) below and (-q, q) above, else in (0, 2q).
        let w = t.twiddle(self, root);
        let offset = match half {
            Half::Lower => self.q2,
            Half::Upper => zero(),
            Half::Whole => self.q,
        };
        let mut s = add(s0, s1);
        if half == Half::Whole {
            s = self.remainder(s, zero());
        }
        [s, add(p0, p1), self.product(sub(s0, s1), w, offset), self.product(sub(p0, p1), w, offset)]
    }

    #[inline(always)]
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V) {
        match index {
            0 => {
                let x = red(x, self.q8); // [0, 16q) to [0, 8q)
                let y = maxu(y, sub(y, self.q8)); // [-8q, 8q) to [-8q, 0)
                let sum = add(x, y); // [-8q, 8q)
                let sum = minu(sum, add(sum, self.q8));
                (red(sum, self.q4), self.product(sub(x, y), w, self.q))
            }
            1 => {
                let sum = add(x, y); // (-4q, 4q)
                (minu(sum, add(sum, self.q4)), self.product(sub(x, y), w, self.q))
            }
            _ => (add(x, y), self.product(sub(x, y), w, self.q)),
        }
    }

    #[inline(always)]
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V) {
        (red(add(x, y), self.q4), self.product(sub(add(x, self.q4), y), w, self.q))
    }

    #[inline(always)]
    fn scale(self, x: V, w: Twiddle) -> V {
        red(self.product(x, w, self.q), self.q)
    }

    #[inline(always)]
    fn inverse_canonical(self, x: V) -> V {
        red(x, self.q)
    }
}
