//! Residues modulo `q < 2^48` in words of 52 bits.
//!
//! Sixteen multiples of `q` fit into a word, so that almost no reductions are needed.

use super::arithmetic::{Arithmetic, Half, Tree, Twiddle};
use crate::simd512::{V, add, and, madd52hi, madd52lo, red, set1, sub, zero};

const MASK_52: u64 = (1 << 52) - 1;

/// The constants of the arithmetic in every lane.
///
/// Products are Shoup's: the constant `w` is stored with `w' = floor(2^52 w / q)`. For
/// `0 <= y < 2^52` and `k = floor(y w' / 2^52)`, `w y - k q` is in `[0, (1 + y / 2^52) q)`. Modulo
/// `2^52` it is the sum of two low halves, and another number is added at no cost. So residues are
/// only known modulo `2^52`. They are in `[0, 2^52)` when they are multiplied. Higher bits, from
/// [`Ifma48::butterfly`] and [`Ifma48::product`], are removed when residues leave or are compared.
///
/// In multiples of `q`, *forward-tight* is `[4, 12)` and *forward-loose* `[1, 15)`. Each layer
/// widens residues by 1 on both sides, from `[7, 9)` after [`Arithmetic::enter`]. Registers that do
/// not enter may be in `[0, 16)` when they are multiplied.
///
/// *Inverse-loose* is `[0, 2)`, so sums of eight are in `[0, 16)`. Differences must not be
/// negative. Multiples of `q` ensure this. The first layer adds them to the summands of the first
/// sum and subtracts them from those of the second, or the other way round. Products begin at such
/// multiples too.
#[derive(Debug, Clone, Copy)]
pub(in crate::ntt) struct Ifma48 {
    one: V,
    q: V,
    minus_q: V,
    q2: V,
    minus_q2: V,
    q6: V,
    q7: V,
    minus_7: V,
    mask: V,
    v: V,
}

/// The constants of [`Ifma48`], as words.
#[derive(Debug, Clone)]
pub(in crate::ntt) struct Constants {
    q: u64,
    /// `floor(2^52 / q)`, at least 16.
    v: u64,
}

impl Ifma48 {
    /// Returns `w y` in `[offset, offset + (1 + y / 2^52) q)`, for `y` in `[0, 2^52)`.
    #[inline(always)]
    fn product(self, y: V, w: Twiddle, offset: V) -> V {
        let k = madd52hi(zero(), y, w.companion);
        madd52lo(madd52lo(offset, y, w.multiplier), k, self.minus_q)
    }

    /// Reduces `x` in `[0, 2^52)` to `[0, (1 + x / 2^52) q)`.
    ///
    /// The quotient `floor(v x / 2^52)` is below `x / q` by less than `1 + x / 2^52`.
    #[inline(always)]
    fn remainder(self, x: V) -> V {
        madd52lo(x, madd52hi(zero(), x, self.v), self.minus_q)
    }

    /// Reduces `[0, 4)` to `[0, 2)`, in multiples of `q`.
    #[inline(always)]
    fn halve(self, x: V) -> V {
        red(and(x, self.mask), self.q2)
    }
}

impl Arithmetic for Ifma48 {
    type Constants = Constants;
    const MODULUS_BOUND: u64 = 1 << 48;
    const LAZY_BOUND: u64 = 16;

    fn constants(q: u64) -> Constants {
        Constants { q, v: (1 << 52) / q }
    }

    #[inline(always)]
    fn new(c: &Constants) -> Self {
        Ifma48 {
            one: set1(1),
            q: set1(c.q),
            minus_q: set1(c.q.wrapping_neg()),
            q2: set1(2 * c.q),
            minus_q2: set1((2 * c.q).wrapping_neg()),
            q6: set1(6 * c.q),
            q7: set1(7 * c.q),
            minus_7: set1(7u64.wrapping_neg()),
            mask: set1(MASK_52),
            v: set1(c.v),
        }
    }

    fn prepare(q: u64, w: u64) -> [u64; 2] {
        [w, ((u128::from(w) << 52) / u128::from(q)) as u64]
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
    fn scale(self, x: V, w: Twiddle) -> V {
        self.product(x, w, self.q7)
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let k = madd52hi(self.one, y, w.companion);
        let sum = madd52lo(madd52lo(x, y, w.multiplier), k, self.minus_q);
        (sum, sub(add(x, x), sum))
    }

    #[inline(always)]
    fn leave_lazy(self, x: V) -> V {
        and(x, self.mask)
    }

    #[inline(always)]
    fn leave_canonical(self, x: V) -> V {
        self.inverse_leave(self.remainder(x))
    }

    #[inline(always)]
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4] {
        // The first sum is increased and the second one decreased: in all by 4, by -4 or by 0.
        // Their difference is in (4, 12), or (0, 8).
        let (raised, lowered, offsets) = match half {
            Half::Lower => (self.q6, self.q2, [self.q2, zero(), self.q2]),
            Half::Upper => (self.q2, self.q6, [zero(), self.minus_q2, self.minus_q2]),
            Half::Whole => (self.q2, self.q2, [self.q, self.minus_q, zero()]),
        };
        let (x, y) = (add(r[0], raised), sub(r[3], lowered));
        let (s0, d0) = (add(x, r[1]), sub(x, r[1]));
        let (s1, d1) = (add(r[2], y), sub(r[2], y));
        // One difference is in (0, 4) and one in (4, 8), or both are in (0, 4). So products are in
        // [0, 5/4) and [0, 3/2) from their offsets, which differ by 2.
        let p0 = self.product(d0, t.twiddle(2 * root + 1), offsets[0]);
        let p1 = self.product(d1, t.twiddle(2 * root + 2), offsets[1]);
        let w = t.twiddle(root);
        let (s, p) = (add(s0, s1), add(p0, p1));
        let (ds, dp) =
            (self.product(sub(s0, s1), w, offsets[2]), self.product(sub(p0, p1), w, offsets[2]));
        match half {
            Half::Whole => [self.remainder(s), self.halve(p), ds, dp],
            _ => [s, p, ds, dp],
        }
    }

    /// The lower inputs are in `[4, 12)`, `[2, 19/4)`, `[2, 15/4)` and `[2, 13/4)`, and the upper
    /// ones in `[-4, 4)`, `[-2, 3/4)`, `[-2, -1/4)` and `[-2, -3/4)`.
    #[inline(always)]
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V) {
        let sum = add(x, y);
        let sum = if index < 2 { self.remainder(sum) } else { self.halve(sum) };
        (sum, self.product(sub(x, y), w, zero()))
    }

    #[inline(always)]
    fn inverse_scaled(self, x: V, y: V, [sums, differences]: [Twiddle; 2]) -> (V, V) {
        (self.product(add(x, y), sums, zero()), self.product(sub(x, y), differences, zero()))
    }

    #[inline(always)]
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let difference = sub(add(x, self.q2), y);
        (self.halve(add(x, y)), self.product(difference, w, zero()))
    }

    #[inline(always)]
    fn inverse_leave(self, x: V) -> V {
        red(and(x, self.mask), self.q)
    }
}
