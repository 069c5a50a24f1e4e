//! The special FFT of [`super::super::fft`] in fixed point.

use hippocrene_ring::arith::bit_reverse;

use super::{fixed::Point, roots::Circle};

/// A transform. The number of slots is at most the number of entries of `exponents`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fft<'a, const W: usize> {
    pub circle: &'a Circle<W>,
    pub exponents: &'a [u32],
}

impl<const W: usize> Fft<'_, W> {
    /// Transforms coefficients `c_k`, in natural order, to slots in bit-reversed order. Slots are
    /// sums of as many terms as there are coefficients, and have to fit.
    ///
    /// Each level adds two numbers, one of them multiplied by a root. An absolute error of `e`
    /// units becomes at most `2 e + 3` (two units in each part of the product, [`Point::mul`]).
    /// After all levels it is at most `(e + 3) n`.
    pub(super) fn forward(&self, c: &mut [Point<W>]) {
        for depth in 0..c.len().ilog2() {
            for (k, block) in c.chunks_exact_mut(c.len() >> depth).enumerate() {
                let root = self.circle.point(self.exponents[(1 << depth) + k]);
                let (low, high) = block.split_at_mut(block.len() / 2);
                for (low, high) in low.iter_mut().zip(high) {
                    let t = high.mul(root);
                    (*low, *high) = (low.add(t), low.sub(t));
                }
            }
        }
    }

    /// Transforms slots, in bit-reversed order, to `n` times the coefficients. Errors are bounded
    /// as in [`Fft::forward`].
    pub(super) fn inverse(&self, z: &mut [Point<W>]) {
        for depth in (0..z.len().ilog2()).rev() {
            for (k, block) in z.chunks_exact_mut(z.len() >> depth).enumerate() {
                let root = self.circle.point(self.exponents[(1 << depth) + k]).conj();
                let (low, high) = block.split_at_mut(block.len() / 2);
                for (low, high) in low.iter_mut().zip(high) {
                    (*low, *high) = (low.add(*high), low.sub(*high).mul(root));
                }
            }
        }
    }
}

/// Exchanges every element with the one at the bit reversal of its index.
pub(super) fn reverse<T>(a: &mut [T]) {
    let log = a.len().ilog2();
    for i in 0..a.len() {
        let j = bit_reverse(i, log);
        if i < j {
            a.swap(i, j);
        }
    }
}
