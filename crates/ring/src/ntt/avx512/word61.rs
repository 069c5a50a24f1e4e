//! Residues modulo any `q < 2^61` in words of 64 bits. Eight multiples of `q` fit into a word.

use super::arithmetic::{Arithmetic, Half, Tree, Twiddle};
use crate::simd512::{V, add, and, madd52hi, maxu, minu, mul32, mullo64, red, set1, shl, shr, sub};

/// The constants of the arithmetic in every lane.
///
/// Products are Shoup's: the constant `w` is stored with `w' = floor(2^64 w / q)`. With an estimate
/// `h` of `w' y / 2^64`,
///
/// `t = w y - h q mod 2^64` is `w y mod q`, in `[0, 4q)`, for any `0 <= y < 2^64`.
///
/// The reason is that `h` is below `w y / q` by less than 4: by less than 1 because `w'` is rounded
/// down, and by less than 3 because of the estimate. The estimate adds up the high halves of
/// partial products without carries. With `y = 2^32 y1 + y0` and `w' = 2^32 w1 + w0` they are
/// `y1 w1`, `y1 w0 / 2^32` and `y0 w1 / 2^32`. It leaves out `y0 w0 / 2^64 < 1`. With `IFMA` the
/// last two are one instruction each, including shifts and additions.
///
/// *Forward-loose* is `[0, 8q)`. *Inverse-loose* is `[0, 4q)`. Within an inverse pass, sums that
/// will be subtracted are kept in `[-4q, 0)`, so that differences are in `(0, 8q)`.
#[derive(Debug, Clone, Copy)]
pub(in crate::ntt) struct Word61<const IFMA: bool> {
    q: V,
    q2: V,
    q4: V,
}

impl<const IFMA: bool> Word61<IFMA> {
    /// Returns `w y` in `[0, 4q)`.
    #[inline(always)]
    fn product(self, y: V, w: Twiddle) -> V {
        let (y1, w1) = (shr::<32>(y), shr::<32>(w.companion));
        let h = if IFMA {
            // The 52 multiplied bits are w0 2^20, and w' / 2^12 = w1 2^20 + w0 / 2^12.
            let h = madd52hi(mul32(y1, w1), y1, shl::<20>(w.companion));
            madd52hi(h, and(y, set1(u64::from(u32::MAX))), shr::<12>(w.companion))
        } else {
            let middle = add(shr::<32>(mul32(y, w1)), shr::<32>(mul32(y1, w.companion)));
            add(mul32(y1, w1), middle)
        };
        sub(mullo64(y, w.multiplier), mullo64(h, self.q))
    }

    /// Maps `[-4q, 4q)` to `[0, 4q)`.
    #[inline(always)]
    fn to_non_negative(self, x: V) -> V {
        minu(x, add(x, self.q4))
    }

    /// Maps `[-4q, 4q)` to `[-4q, 0)`.
    #[inline(always)]
    fn to_negative(self, x: V) -> V {
        maxu(x, sub(x, self.q4))
    }
}

impl<const IFMA: bool> Arithmetic for Word61<IFMA> {
    /// `q`.
    type Constants = u64;
    const MODULUS_BOUND: u64 = 1 << 61;
    const LAZY_BOUND: u64 = 4;

    fn constants(q: u64) -> u64 {
        q
    }

    #[inline(always)]
    fn new(&q: &u64) -> Self {
        Word61 { q: set1(q), q2: set1(2 * q), q4: set1(4 * q) }
    }

    fn prepare(q: u64, w: u64) -> [u64; 2] {
        [w, ((u128::from(w) << 64) / u128::from(q)) as u64]
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
        self.product(x, w)
    }

    #[inline(always)]
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let (x, t) = (red(x, self.q4), self.product(y, w));
        (add(x, t), sub(add(x, self.q4), t))
    }

    #[inline(always)]
    fn leave_lazy(self, x: V) -> V {
        red(x, self.q4)
    }

    #[inline(always)]
    fn leave_canonical(self, x: V) -> V {
        red(red(red(x, self.q4), self.q2), self.q)
    }

    #[inline(always)]
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4] {
        let (y0, y1) = (sub(r[1], self.q4), sub(r[3], self.q4));
        let s0 = self.to_non_negative(add(r[0], y0));
        let p0 = self.product(sub(r[0], y0), t.twiddle(2 * root + 1));
        let s1 = self.to_negative(add(r[2], y1));
        let p1 = sub(self.product(sub(r[2], y1), t.twiddle(2 * root + 2)), self.q4);
        let w = t.twiddle(root);
        let (s, p) = (add(s0, s1), add(p0, p1));
        let (ds, dp) = (self.product(sub(s0, s1), w), self.product(sub(p0, p1), w));
        if half == Half::Upper {
            [self.to_negative(s), self.to_negative(p), sub(ds, self.q4), sub(dp, self.q4)]
        } else {
            [self.to_non_negative(s), self.to_non_negative(p), ds, dp]
        }
    }

    #[inline(always)]
    fn inverse_join(self, _: usize, x: V, y: V, w: Twiddle) -> (V, V) {
        (self.to_non_negative(add(x, y)), self.product(sub(x, y), w))
    }

    #[inline(always)]
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V) {
        let y = sub(y, self.q4);
        (self.to_non_negative(add(x, y)), self.product(sub(x, y), w))
    }

    #[inline(always)]
    fn inverse_scaled(self, x: V, y: V, [sums, differences]: [Twiddle; 2]) -> (V, V) {
        (self.product(self.to_non_negative(add(x, y)), sums), self.product(sub(x, y), differences))
    }

    #[inline(always)]
    fn inverse_leave(self, x: V) -> V {
        red(red(x, self.q2), self.q)
    }
}
