//! The transform in plain Rust, for any modulus.

use super::InverseFactor;
use crate::arith::{add_mod, bit_reverse, inv_mod, mul_mod, sub_mod};

#[derive(Debug, Clone)]
pub(super) struct Plan {
    q: u64,
    /// `psi^brv(k)` at `k`.
    roots: Vec<u64>,
    inverse_roots: Vec<u64>,
    degree_inverse: u64,
}

impl Plan {
    pub(super) fn new(q: u64, degree: usize, root: u64) -> Self {
        let inverse = inv_mod(root, q).expect("a root of unity is invertible");
        let degree_inverse = inv_mod(degree as u64, q).expect("the degree is a power of two and q is odd");
        Plan { q, roots: powers(root, q, degree), inverse_roots: powers(inverse, q, degree), degree_inverse }
    }

    pub(super) fn inverse_factor(&self, c: u64) -> InverseFactor {
        InverseFactor([mul_mod(self.degree_inverse, c, self.q), 0, 0, 0])
    }

    pub(super) fn lazy_bound(&self) -> u64 {
        1
    }

    pub(super) fn forward_lazy(&self, a: &mut [u64]) {
        self.forward(a);
    }

    pub(super) fn inverse(&self, a: &mut [u64]) {
        self.inverse_scaled(a, &self.inverse_factor(1));
    }

    pub(super) fn forward(&self, a: &mut [u64]) {
        let (n, q) = (a.len(), self.q);
        a.iter_mut().for_each(|x| *x %= q);
        let mut half = n / 2;
        let mut blocks = 1;
        while half >= 1 {
            for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.roots[blocks + block];
                let (lo, hi) = chunk.split_at_mut(half);
                for (x, y) in lo.iter_mut().zip(hi) {
                    let t = mul_mod(*y, w, q);
                    (*x, *y) = (add_mod(*x, t, q), sub_mod(*x, t, q));
                }
            }
            blocks *= 2;
            half /= 2;
        }
        transpose(a);
    }

    pub(super) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        let (n, q) = (a.len(), self.q);
        a.iter_mut().for_each(|x| *x %= q);
        transpose(a);
        let mut half = 1;
        let mut blocks = n / 2;
        while half < n {
            for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.inverse_roots[blocks + block];
                let (lo, hi) = chunk.split_at_mut(half);
                for (x, y) in lo.iter_mut().zip(hi) {
                    (*x, *y) = (add_mod(*x, *y, q), mul_mod(sub_mod(*x, *y, q), w, q));
                }
            }
            blocks /= 2;
            half *= 2;
        }
        a.iter_mut().for_each(|x| *x = mul_mod(*x, factor.0[0], q));
    }
}

fn powers(root: u64, q: u64, n: usize) -> Vec<u64> {
    let mut natural = vec![1; n];
    for i in 1..n {
        natural[i] = mul_mod(natural[i - 1], root, q);
    }
    (0..n).map(|i| natural[bit_reverse(i, n.trailing_zeros())]).collect()
}

/// Transposes each block of 64 as an 8 x 8 matrix (nothing below 64).
fn transpose(a: &mut [u64]) {
    for block in a.chunks_exact_mut(64) {
        for r in 0..8 {
            for c in r + 1..8 {
                block.swap(8 * r + c, 8 * c + r);
            }
        }
    }
}
