//! The transform in plain Rust, for any modulus below 2^61.
//!
//! It uses Cooley-Tukey forwards and Gentleman-Sande backwards, with two layers per pass (radix 4).
//! Multiplications by constants are Shoup's, and reduction is lazy as in Harvey ("Faster arithmetic
//! for number-theoretic transforms", 2014). Because `8q < 2^64`, half of Harvey's corrections are
//! unnecessary: one layer of each pass has none.

use super::InverseFactor;
use crate::{
    Kernel,
    arith::{bit_reverse, inv_mod, mul_mod},
    convert,
};

/// A constant `w` in `[0, q)` and its Shoup quotient `floor(2^64 w / q)`.
#[derive(Debug, Clone, Copy)]
struct Shoup {
    value: u64,
    quotient: u64,
}

impl Shoup {
    fn new(value: u64, q: u64) -> Self {
        Shoup { value, quotient: ((u128::from(value) << 64) / u128::from(q)) as u64 }
    }

    /// Returns a value in `[0, 2q)` that is congruent to `w y`, for any 64-bit `y`.
    ///
    /// The estimated quotient is too small by at most one.
    #[inline(always)]
    fn mul(self, y: u64, q: u64) -> u64 {
        let quotient = ((u128::from(y) * u128::from(self.quotient)) >> 64) as u64;
        y.wrapping_mul(self.value).wrapping_sub(quotient.wrapping_mul(q))
    }
}

/// Returns `x` if it is below `bound`, and `x - bound` otherwise. It maps `[0, 2 bound)` to
/// `[0, bound)`.
#[inline(always)]
fn correct(x: u64, bound: u64) -> u64 {
    x.min(x.wrapping_sub(bound))
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    q: u64,
    degree: usize,
    /// `psi^brv(k)` at index `k`, which is the root of node `k` of a tree. Node 1 is the root of
    /// the tree, and node `k` has the children `2k` and `2k + 1`.
    roots: Vec<Shoup>,
    /// The inverses of `roots`.
    inverse_roots: Vec<Shoup>,
    degree_inverse: u64,
}

impl Plan {
    pub(super) fn new(q: u64, degree: usize, root: u64) -> Self {
        let inverse = inv_mod(root, q).expect("a root of unity is invertible");
        let degree_inverse =
            inv_mod(degree as u64, q).expect("the degree is a power of two and q is odd");
        let table = |root| powers(root, q, degree).into_iter().map(|w| Shoup::new(w, q)).collect();
        Plan { q, degree, roots: table(root), inverse_roots: table(inverse), degree_inverse }
    }

    pub(super) fn lazy_bound(&self) -> u64 {
        4
    }

    /// Returns `c / N` and its product with the root of the last layer, each with its Shoup
    /// quotient.
    pub(super) fn inverse_factor(&self, c: u64) -> InverseFactor {
        let sum = mul_mod(self.degree_inverse, c, self.q);
        let difference = mul_mod(sum, self.inverse_roots[1].value, self.q);
        let (sum, difference) = (Shoup::new(sum, self.q), Shoup::new(difference, self.q));
        InverseFactor([sum.value, sum.quotient, difference.value, difference.quotient])
    }

    pub(super) fn forward(&self, a: &mut [u64]) {
        self.transform::<false>(a);
    }

    pub(super) fn forward_lazy(&self, a: &mut [u64]) {
        self.transform::<true>(a);
    }

    pub(super) fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        convert::centre(Kernel::Portable, from, self.q, y, out);
        self.forward_lazy(out);
    }

    pub(super) fn inverse(&self, a: &mut [u64]) {
        self.inverse_scaled(a, &self.inverse_factor(1));
    }

    /// Transforms `[0, 2q)` to `[0, q)`, or if `LAZY` to `[0, 4q)`.
    fn transform<const LAZY: bool>(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        let (n, q) = (self.degree, self.q);
        let mut len = n;
        if n.trailing_zeros() % 2 == 1 {
            let (lo, hi) = a.split_at_mut(n / 2);
            for (x, y) in lo.iter_mut().zip(hi) {
                let t = self.roots[1].mul(*y, q);
                (*x, *y) = (*x + t, *x + 2 * q - t);
            }
            len /= 2;
        }
        while len > 16 {
            for (i, block) in a.chunks_exact_mut(len).enumerate() {
                let w = node_roots(&self.roots, n / len + i);
                for_each_quarter(block, |x| forward_butterfly(x, w, q));
            }
            len /= 4;
        }
        if n < 64 {
            for (i, block) in a.as_chunks_mut().0.iter_mut().enumerate() {
                self.forward_end::<16, LAZY>(block, n / 16 + i);
            }
        } else {
            for (i, block) in a.as_chunks_mut().0.iter_mut().enumerate() {
                self.forward_end::<64, LAZY>(block, n / 16 + 4 * i);
            }
        }
    }

    /// Computes the last four layers and the transposition of a block of 16 or 64.
    ///
    /// The block starts at node `node` of the layer of 16ths.
    #[inline]
    fn forward_end<const BLOCK: usize, const LAZY: bool>(&self, a: &mut [u64; BLOCK], node: usize) {
        let q = self.q;
        let mut block = *a;
        for (i, sixteen) in block.chunks_exact_mut(16).enumerate() {
            let w = node_roots(&self.roots, node + i);
            for_each_quarter(sixteen, |x| forward_butterfly(x, w, q));
        }
        for (i, x) in block.as_chunks::<4>().0.iter().enumerate() {
            let x = forward_butterfly(*x, node_roots(&self.roots, 4 * node + i), q);
            for (j, x) in x.into_iter().enumerate() {
                let x = correct(x, 4 * q);
                a[position::<BLOCK>(4 * i + j)] =
                    if LAZY { x } else { correct(correct(x, 2 * q), q) };
            }
        }
    }

    /// Transforms `[0, 2q)` to `[0, q)`.
    pub(super) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        let InverseFactor([value, quotient, difference, difference_quotient]) = *factor;
        let sum = Shoup { value, quotient };
        let difference = Shoup { value: difference, quotient: difference_quotient };
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        let (n, q) = (self.degree, self.q);
        if n < 64 {
            for (i, block) in a.as_chunks_mut().0.iter_mut().enumerate() {
                self.inverse_start::<16>(block, n / 16 + i);
            }
        } else {
            for (i, block) in a.as_chunks_mut().0.iter_mut().enumerate() {
                self.inverse_start::<64>(block, n / 16 + 4 * i);
            }
        }
        let mut len = 64;
        while len < n {
            for (i, block) in a.chunks_exact_mut(len).enumerate() {
                let w = node_roots(&self.inverse_roots, n / len + i);
                for_each_quarter(block, |x| inverse_butterfly(x, w, q));
            }
            len *= 4;
        }
        match n / (len / 4) {
            1 => a.iter_mut().for_each(|x| *x = correct(sum.mul(*x, q), q)),
            2 => {
                let (lo, hi) = a.split_at_mut(n / 2);
                for (x, y) in lo.iter_mut().zip(hi) {
                    let (s, d) = (*x + *y, *x + 2 * q - *y);
                    *x = correct(sum.mul(s, q), q);
                    *y = correct(difference.mul(d, q), q);
                }
            }
            _ => {
                let w = [difference, self.inverse_roots[2], self.inverse_roots[3]];
                for_each_quarter(a, |x| {
                    let [x0, x1, x2, x3] = inverse_layers(x, w, q);
                    [sum.mul(x0, q), sum.mul(x1, q), x2, x3].map(|x| correct(x, q))
                });
            }
        }
    }

    /// Computes the first four layers within `[0, 2q)`, the inverse of [`Plan::forward_end`].
    #[inline]
    fn inverse_start<const BLOCK: usize>(&self, a: &mut [u64; BLOCK], node: usize) {
        let mut block = [0; BLOCK];
        for (i, x) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let y = std::array::from_fn(|j| a[position::<BLOCK>(4 * i + j)]);
            *x = inverse_butterfly(y, node_roots(&self.inverse_roots, 4 * node + i), self.q);
        }
        for (i, sixteen) in block.chunks_exact_mut(16).enumerate() {
            let w = node_roots(&self.inverse_roots, node + i);
            for_each_quarter(sixteen, |x| inverse_butterfly(x, w, self.q));
        }
        *a = block;
    }
}

/// Returns the position at which index `index` of a block is stored. Blocks of 64 are transposed as
/// 8 x 8 matrices.
#[inline(always)]
fn position<const BLOCK: usize>(index: usize) -> usize {
    if BLOCK == 64 { (index % 8) * 8 + index / 8 } else { index }
}

/// Returns the roots of a node and of its two children.
#[inline(always)]
fn node_roots(roots: &[Shoup], node: usize) -> [Shoup; 3] {
    [roots[node], roots[2 * node], roots[2 * node + 1]]
}

/// Applies `butterfly` to the elements at the same place in the four quarters of `block`.
#[inline(always)]
fn for_each_quarter(block: &mut [u64], butterfly: impl Fn([u64; 4]) -> [u64; 4]) {
    let (left, right) = block.split_at_mut(block.len() / 2);
    let (x0, x1) = left.split_at_mut(left.len() / 2);
    let (x2, x3) = right.split_at_mut(right.len() / 2);
    for (((x0, x1), x2), x3) in x0.iter_mut().zip(x1).zip(x2).zip(x3) {
        [*x0, *x1, *x2, *x3] = butterfly([*x0, *x1, *x2, *x3]);
    }
}

/// Computes two Cooley-Tukey layers, from `[0, 6q)` to `[0, 6q)`.
///
/// The first layer grows to `[0, 8q)`, and the second is corrected.
#[inline(always)]
fn forward_butterfly([x0, x1, x2, x3]: [u64; 4], w: [Shoup; 3], q: u64) -> [u64; 4] {
    let (t2, t3) = (w[0].mul(x2, q), w[0].mul(x3, q));
    let (x0, x1, x2, x3) = (x0 + t2, x1 + t3, x0 + 2 * q - t2, x1 + 2 * q - t3);
    let (t1, t3) = (w[1].mul(x1, q), w[2].mul(x3, q));
    let (x0, x2) = (correct(x0, 4 * q), correct(x2, 4 * q));
    [x0 + t1, x0 + 2 * q - t1, x2 + t3, x2 + 2 * q - t3]
}

/// Computes two Gentleman-Sande layers, from `[0, 2q)` to `[0, 8q)`, `[0, 4q)`, `[0, 2q)` and
/// `[0, 2q)`.
#[inline(always)]
fn inverse_layers([x0, x1, x2, x3]: [u64; 4], w: [Shoup; 3], q: u64) -> [u64; 4] {
    let (s0, d0) = (x0 + x1, w[1].mul(x0 + 2 * q - x1, q));
    let (s1, d1) = (x2 + x3, w[2].mul(x2 + 2 * q - x3, q));
    [s0 + s1, d0 + d1, w[0].mul(s0 + 4 * q - s1, q), w[0].mul(d0 + 2 * q - d1, q)]
}

/// Computes [`inverse_layers`] with corrections, from `[0, 2q)` to `[0, 2q)`.
#[inline(always)]
fn inverse_butterfly(x: [u64; 4], w: [Shoup; 3], q: u64) -> [u64; 4] {
    let [x0, x1, x2, x3] = inverse_layers(x, w, q);
    [correct(correct(x0, 4 * q), 2 * q), correct(x1, 2 * q), x2, x3]
}

/// Returns `root^brv(k)` at index `k`, for `k` in `[0, n)`.
pub(super) fn powers(root: u64, q: u64, n: usize) -> Vec<u64> {
    let mut natural = vec![1; n];
    for i in 1..n {
        natural[i] = mul_mod(natural[i - 1], root, q);
    }
    (0..n).map(|i| natural[bit_reverse(i, n.trailing_zeros())]).collect()
}
