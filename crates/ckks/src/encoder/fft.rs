//! The special FFT: the canonical embedding restricted to one of each pair of conjugate roots, in
//! the order of the powers of 5 (Cheon, Kim, Kim, Song, "Homomorphic encryption for arithmetic of
//! approximate numbers", 2017, 3.2).
//!
//! For `n` slots and `xi = exp(2 pi i / 4n)`, a real polynomial `p` of degree below `2n` is folded
//! to the `n` complex numbers `c_k = p_k + i p_(k+n)`. Since `xi^(5^j n) = i`, slot `j` is
//! `p(xi^(5^j)) = sum_k c_k xi^(5^j k)`. This is an evaluation at the roots of `Y^n - i`. It
//! descends the tree of remainders that [`Roots`] describes.
//!
//! The tree leaves slot `j` at the bit reversal of `j`. For `n >= 64`, the last three levels of the
//! tree are one pass over tiles of 8 rows of 8 numbers, `n/8` apart. Each tile is transposed in
//! registers. The rest of the tree then combines whole registers. Finally each of the eight
//! registers holds 8 slots in their natural order, so the reordering costs nothing.

use aligned_vec::{AVec, ConstAlign};
use hippocrene_ring::{Kernel, arith::bit_reverse};

#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::{
    butterfly::{Complex8, Forward, Inverse, Powers, Radix4},
    lanes::{Lanes, Portable},
    roots::{Node, Roots},
};

/// Complex numbers as an array of real parts and one of imaginary parts.
#[derive(Debug, Clone)]
pub(super) struct Split {
    pub re: AVec<f64, ConstAlign<64>>,
    pub im: AVec<f64, ConstAlign<64>>,
}

impl Split {
    /// Returns `n` zeros.
    pub(super) fn zero(n: usize) -> Self {
        let zeros = || AVec::from_iter(64, std::iter::repeat_n(0.0, n));
        Split { re: zeros(), im: zeros() }
    }
}

/// Number of complex numbers per block. Blocks of 16 KiB stay in the first-level cache through all
/// their levels.
const BLOCK: usize = 1024;

/// The reversal of three bits. It maps the rows of a tile to lanes, and the registers to eighths of
/// the slots.
const REVERSED: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

/// The transforms for every power-of-two slot count up to `N/2`.
#[derive(Debug)]
pub(super) struct SpecialFft {
    roots: Roots,
    kernel: Kernel,
}

impl SpecialFft {
    /// Prepares transforms for up to `2^log_slots` slots, with `log_slots >= 1`.
    pub(super) fn new(log_slots: u32, kernel: Kernel) -> Self {
        SpecialFft { roots: Roots::new(log_slots), kernel }
    }

    /// Transforms coefficients `c_k` to slots, in natural order. `(x, y)` holds the coefficients
    /// and is overwritten. The length of all four slices is the number of slots.
    pub(super) fn forward(&self, x: &mut [f64], y: &mut [f64], re: &mut [f64], im: &mut [f64]) {
        if re.len() < 64 {
            return self.forward_small(x, y, re, im);
        }
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Kernel` above `Portable` is chosen only where the CPU supports it.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe {
                forward_avx512(&self.roots, x, y, re, im)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx2 => unsafe { forward_avx2(&self.roots, x, y, re, im) },
            _ => forward::<Portable>(&self.roots, x, y, re, im),
        }
    }

    /// Transforms slots in natural order to `n` times the coefficients `c_k`. The length of all
    /// four slices is the number `n` of slots.
    pub(super) fn inverse(&self, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
        if re.len() < 64 {
            return self.inverse_small(re, im, x, y);
        }
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `Kernel` above `Portable` is chosen only where the CPU supports it.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe {
                inverse_avx512(&self.roots, re, im, x, y)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx2 => unsafe { inverse_avx2(&self.roots, re, im, x, y) },
            _ => inverse::<Portable>(&self.roots, re, im, x, y),
        }
    }

    /// Like [`Self::forward`], for fewer than 64 slots, level by level.
    fn forward_small(&self, x: &mut [f64], y: &mut [f64], re: &mut [f64], im: &mut [f64]) {
        let log = x.len().ilog2();
        for depth in 0..log {
            let half = x.len() >> (depth + 1);
            for (k, block) in (0..x.len()).step_by(2 * half).enumerate() {
                let (c, s) = self.roots.at(depth, bit_reverse(k, depth));
                for i in block..block + half {
                    let (a, b) = (x[i + half], y[i + half]);
                    let (tx, ty) = (a * c - b * s, a * s + b * c);
                    (x[i + half], y[i + half]) = (x[i] - tx, y[i] - ty);
                    (x[i], y[i]) = (x[i] + tx, y[i] + ty);
                }
            }
        }
        for j in 0..x.len() {
            (re[j], im[j]) = (x[bit_reverse(j, log)], y[bit_reverse(j, log)]);
        }
    }

    /// Like [`Self::inverse`], for fewer than 64 slots, level by level.
    fn inverse_small(&self, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
        let log = x.len().ilog2();
        for j in 0..x.len() {
            (x[bit_reverse(j, log)], y[bit_reverse(j, log)]) = (re[j], im[j]);
        }
        for depth in (0..log).rev() {
            let half = x.len() >> (depth + 1);
            for (k, block) in (0..x.len()).step_by(2 * half).enumerate() {
                let (c, s) = self.roots.at(depth, bit_reverse(k, depth));
                for i in block..block + half {
                    let (tx, ty) = (x[i] - x[i + half], y[i] - y[i + half]);
                    (x[i], y[i]) = (x[i] + x[i + half], y[i] + y[i + half]);
                    (x[i + half], y[i + half]) = (tx * c + ty * s, ty * c - tx * s);
                }
            }
        }
    }
}

/// Returns the depth of the first level of the radix-4 passes, and that of the first one inside a
/// block.
fn schedule(n: usize) -> (u32, u32) {
    let levels = n.ilog2() - 3;
    let first = levels % 2;
    let mut depth = first;
    while n >> depth > BLOCK && depth < levels {
        depth += 2;
    }
    (first, depth)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn forward_avx2(roots: &Roots, x: &mut [f64], y: &mut [f64], re: &mut [f64], im: &mut [f64]) {
    forward::<Avx2>(roots, x, y, re, im);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn forward_avx512(roots: &Roots, x: &mut [f64], y: &mut [f64], re: &mut [f64], im: &mut [f64]) {
    forward::<Avx512>(roots, x, y, re, im);
}

#[inline(always)]
fn forward<L: Lanes>(roots: &Roots, x: &mut [f64], y: &mut [f64], re: &mut [f64], im: &mut [f64]) {
    let n = x.len();
    let levels = n.ilog2() - 3;
    let (first, blocked) = schedule(n);
    if first == 1 {
        let w = Complex8::<L>::splat(roots.at(0, 0));
        for i in (0..n / 2).step_by(8) {
            let (a, b) = (Complex8::load(x, y, i), Complex8::load(x, y, i + n / 2).mul(w));
            a.add(b).store(x, y, i);
            a.sub(b).store(x, y, i + n / 2);
        }
    }
    for depth in (first..blocked).step_by(2) {
        pass::<L, Forward>(roots.level(depth, 0, depth), x, y, depth == 0);
    }
    let block = n >> blocked;
    for (k, (x, y)) in x.chunks_exact_mut(block).zip(y.chunks_exact_mut(block)).enumerate() {
        for depth in (blocked..levels).step_by(2) {
            pass::<L, Forward>(roots.level(depth, k, depth - blocked), x, y, depth == 0);
        }
    }
    forward_tiles::<L>(roots, x, y, re, im);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn inverse_avx2(roots: &Roots, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
    inverse::<Avx2>(roots, re, im, x, y);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn inverse_avx512(roots: &Roots, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
    inverse::<Avx512>(roots, re, im, x, y);
}

#[inline(always)]
fn inverse<L: Lanes>(roots: &Roots, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
    let n = x.len();
    let levels = n.ilog2() - 3;
    let (first, blocked) = schedule(n);
    inverse_tiles::<L>(roots, re, im, x, y);
    let block = n >> blocked;
    for (k, (x, y)) in x.chunks_exact_mut(block).zip(y.chunks_exact_mut(block)).enumerate() {
        for depth in (blocked..levels).step_by(2).rev() {
            pass::<L, Inverse>(roots.level(depth, k, depth - blocked), x, y, depth == 0);
        }
    }
    for depth in (first..blocked).step_by(2).rev() {
        pass::<L, Inverse>(roots.level(depth, 0, depth), x, y, depth == 0);
    }
    if first == 1 {
        let w = Complex8::<L>::splat(roots.at(0, 0));
        for i in (0..n / 2).step_by(8) {
            let (a, b) = (Complex8::load(x, y, i), Complex8::load(x, y, i + n / 2));
            a.add(b).store(x, y, i);
            a.sub(b).mul_conj(w).store(x, y, i + n / 2);
        }
    }
}

/// Runs two levels for the nodes that `x + i y` consists of.
#[inline(always)]
fn pass<L: Lanes, R: Radix4>(nodes: &[Node], x: &mut [f64], y: &mut [f64], top: bool) {
    if top {
        return quarters::<L, R, true>(&nodes[0], x, y);
    }
    let length = x.len() / nodes.len();
    for ((node, x), y) in
        nodes.iter().zip(x.chunks_exact_mut(length)).zip(y.chunks_exact_mut(length))
    {
        quarters::<L, R, false>(node, x, y);
    }
}

/// Applies a radix-4 butterfly to the four quarters of a node.
#[inline(always)]
fn quarters<L: Lanes, R: Radix4, const TOP: bool>(node: &Node, x: &mut [f64], y: &mut [f64]) {
    let quarter = x.len() / 4;
    let w = Powers {
        single: Complex8::<L>::splat(node.single),
        square: Complex8::splat(node.square),
        cube: Complex8::splat(node.cube),
    };
    let (x, x2) = x.split_at_mut(2 * quarter);
    let (y, y2) = y.split_at_mut(2 * quarter);
    let ((x0, x1), (x2, x3)) = (x.split_at_mut(quarter), x2.split_at_mut(quarter));
    let ((y0, y1), (y2, y3)) = (y.split_at_mut(quarter), y2.split_at_mut(quarter));
    for i in (0..quarter).step_by(8) {
        let values = [
            Complex8::load(x0, y0, i),
            Complex8::load(x1, y1, i),
            Complex8::load(x2, y2, i),
            Complex8::load(x3, y3, i),
        ];
        let [a, b, c, d] = R::apply::<L, TOP>(values, &w);
        a.store(x0, y0, i);
        b.store(x1, y1, i);
        c.store(x2, y2, i);
        d.store(x3, y3, i);
    }
}

/// Returns the roots of the last three levels for the slots `a .. a + 8` of the first eighth.
#[inline(always)]
fn tile_roots<L: Lanes>(roots: &Roots, log: u32, a: usize) -> (Powers<L>, [Complex8<L>; 2]) {
    let (third, second, last) = (1 << (log - 3), 1 << (log - 2), 1 << (log - 1));
    let (re, im) = (&roots.re, &roots.im);
    let (square, single) = (Complex8::load(re, im, third + a), Complex8::load(re, im, second + a));
    let powers = Powers { single, square, cube: square.mul(single) };
    (powers, [Complex8::load(re, im, last + a), Complex8::load(re, im, last + third + a)])
}

/// Runs the last three levels and writes every slot to its place.
#[inline(always)]
fn forward_tiles<L: Lanes>(roots: &Roots, x: &[f64], y: &[f64], re: &mut [f64], im: &mut [f64]) {
    let (n, log) = (x.len(), x.len().ilog2());
    for tile in 0..n / 64 {
        let (w, last) = tile_roots::<L>(roots, log, 8 * tile);
        let at = 8 * bit_reverse(tile, log - 6);
        let mut rows = [w.single; 8];
        for (row, r) in rows.iter_mut().zip(REVERSED) {
            *row = Complex8::load(x, y, r * (n / 8) + at);
        }
        let c = Complex8::transpose(rows);
        let even = Forward::apply::<L, false>([c[0], c[2], c[4], c[6]], &w);
        let odd = Forward::apply::<L, false>([c[1], c[3], c[5], c[7]], &w);
        for pair in 0..4 {
            // Pairs 0 and 1 share a root up to a quarter turn, and so do pairs 2 and 3.
            let (e, t) = (even[pair], odd[pair].mul(last[pair / 2]));
            let (plus, minus) =
                if pair % 2 == 0 { (e.add(t), e.sub(t)) } else { (e.sub_i(t), e.add_i(t)) };
            plus.store(re, im, REVERSED[2 * pair] * (n / 8) + 8 * tile);
            minus.store(re, im, REVERSED[2 * pair + 1] * (n / 8) + 8 * tile);
        }
    }
}

/// Computes eight times the inverse of [`forward_tiles`].
#[inline(always)]
fn inverse_tiles<L: Lanes>(roots: &Roots, re: &[f64], im: &[f64], x: &mut [f64], y: &mut [f64]) {
    let (n, log) = (x.len(), x.len().ilog2());
    for tile in 0..n / 64 {
        let (w, last) = tile_roots::<L>(roots, log, 8 * tile);
        let (mut even, mut odd) = ([w.single; 4], [w.single; 4]);
        for pair in 0..4 {
            let plus = Complex8::<L>::load(re, im, REVERSED[2 * pair] * (n / 8) + 8 * tile);
            let minus = Complex8::load(re, im, REVERSED[2 * pair + 1] * (n / 8) + 8 * tile);
            let turned =
                if pair % 2 == 0 { plus.sub(minus) } else { plus.i_times_difference(minus) };
            even[pair] = plus.add(minus);
            odd[pair] = turned.mul_conj(last[pair / 2]);
        }
        let [c0, c2, c4, c6] = Inverse::apply::<L, false>(even, &w);
        let [c1, c3, c5, c7] = Inverse::apply::<L, false>(odd, &w);
        let at = 8 * bit_reverse(tile, log - 6);
        for (row, r) in
            Complex8::transpose([c0, c1, c2, c3, c4, c5, c6, c7]).into_iter().zip(REVERSED)
        {
            row.store(x, y, r * (n / 8) + at);
        }
    }
}
