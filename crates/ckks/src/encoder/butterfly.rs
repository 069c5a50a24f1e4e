//! The arithmetic of the special FFT on eight complex numbers at a time, as real and imaginary
//! parts.
//!
//! Products are rounded before they are added (no fused multiply-add) on every CPU. So the
//! transform, and with it the encoding, gives the same bits everywhere.

use super::lanes::Lanes;

/// Eight complex numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Complex8<L> {
    re: L,
    im: L,
}

impl<L: Lanes> Complex8<L> {
    /// Returns the same number eight times.
    #[inline(always)]
    pub(super) fn splat((re, im): (f64, f64)) -> Self {
        Complex8 { re: L::splat(re), im: L::splat(im) }
    }

    /// Loads the numbers at `at .. at + 8`.
    #[inline(always)]
    pub(super) fn load(re: &[f64], im: &[f64], at: usize) -> Self {
        let (re, im) = (re[at..].first_chunk(), im[at..].first_chunk());
        Complex8 {
            re: L::load(re.expect("eight numbers from there")),
            im: L::load(im.expect("eight numbers from there")),
        }
    }

    /// Stores the numbers at `at .. at + 8`.
    #[inline(always)]
    pub(super) fn store(self, re: &mut [f64], im: &mut [f64], at: usize) {
        self.re.store(re[at..].first_chunk_mut().expect("room for eight numbers"));
        self.im.store(im[at..].first_chunk_mut().expect("room for eight numbers"));
    }

    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Complex8 { re: self.re + other.re, im: self.im + other.im }
    }

    #[inline(always)]
    pub(super) fn sub(self, other: Self) -> Self {
        Complex8 { re: self.re - other.re, im: self.im - other.im }
    }

    /// Returns `self + i other`.
    #[inline(always)]
    pub(super) fn add_i(self, other: Self) -> Self {
        Complex8 { re: self.re - other.im, im: self.im + other.re }
    }

    /// Returns `self - i other`.
    #[inline(always)]
    pub(super) fn sub_i(self, other: Self) -> Self {
        Complex8 { re: self.re + other.im, im: self.im - other.re }
    }

    /// Returns `i (self - other)`.
    #[inline(always)]
    pub(super) fn i_times_difference(self, other: Self) -> Self {
        Complex8 { re: other.im - self.im, im: self.re - other.re }
    }

    #[inline(always)]
    pub(super) fn mul(self, w: Self) -> Self {
        Complex8 { re: self.re * w.re - self.im * w.im, im: self.re * w.im + self.im * w.re }
    }

    /// Returns `self` times the conjugate of `w`.
    #[inline(always)]
    pub(super) fn mul_conj(self, w: Self) -> Self {
        Complex8 { re: self.re * w.re + self.im * w.im, im: self.im * w.re - self.re * w.im }
    }

    /// Transposes an 8 x 8 matrix.
    #[inline(always)]
    pub(super) fn transpose([a, b, c, d, e, f, g, h]: [Self; 8]) -> [Self; 8] {
        let re = L::transpose([a.re, b.re, c.re, d.re, e.re, f.re, g.re, h.re]);
        let im = L::transpose([a.im, b.im, c.im, d.im, e.im, f.im, g.im, h.im]);
        let mut columns = [a, b, c, d, e, f, g, h];
        for (i, column) in columns.iter_mut().enumerate() {
            *column = Complex8 { re: re[i], im: im[i] };
        }
        columns
    }
}

/// The roots of a radix-4 butterfly: `single`, its square and its cube.
#[derive(Debug, Clone, Copy)]
pub(super) struct Powers<L> {
    pub single: Complex8<L>,
    pub square: Complex8<L>,
    pub cube: Complex8<L>,
}

/// A radix-4 butterfly between coefficients and values.
pub(super) trait Radix4 {
    /// Applies the butterfly with the roots `w`. `TOP` is true for the node at the top of the tree.
    fn apply<L: Lanes, const TOP: bool>(x: [Complex8<L>; 4], w: &Powers<L>) -> [Complex8<L>; 4];
}

/// `p(w), p(-w), p(w'), p(-w')` for `p = x0 + x1 Y + x2 Y^2 + x3 Y^3`, where `w = single` and `w' =
/// -i w` (`i w` at the top).
pub(super) struct Forward;

/// Four times the inverse of [`Forward`].
pub(super) struct Inverse;

impl Radix4 for Forward {
    #[inline(always)]
    fn apply<L: Lanes, const TOP: bool>(x: [Complex8<L>; 4], w: &Powers<L>) -> [Complex8<L>; 4] {
        let (b, c, e) = (x[1].mul(w.single), x[2].mul(w.square), x[3].mul(w.cube));
        let (s, t) = (x[0].add(c), b.add(e));
        let (p, r) = (x[0].sub(c), b.sub(e));
        if TOP {
            [s.add(t), s.sub(t), p.add_i(r), p.sub_i(r)]
        } else {
            [s.add(t), s.sub(t), p.sub_i(r), p.add_i(r)]
        }
    }
}

impl Radix4 for Inverse {
    #[inline(always)]
    fn apply<L: Lanes, const TOP: bool>(y: [Complex8<L>; 4], w: &Powers<L>) -> [Complex8<L>; 4] {
        let (s, t) = (y[0].add(y[1]), y[0].sub(y[1]));
        let (p, u) = (y[2].add(y[3]), y[2].sub(y[3]));
        let (b, e) = if TOP { (t.sub_i(u), t.add_i(u)) } else { (t.add_i(u), t.sub_i(u)) };
        [s.add(p), b.mul_conj(w.single), s.sub(p).mul_conj(w.square), e.mul_conj(w.cube)]
    }
}
