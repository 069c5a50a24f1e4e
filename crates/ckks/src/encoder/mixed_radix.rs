//! Conversion of residues to `f64`, as exactly as `f64` allows.
//!
//! An integer `m` with `|m| < Q/2` has balanced mixed-radix digits `v_j` in `[-q_j/2, q_j/2)`: `m =
//! sum_j v_j q_0 ... q_(j-1)` (Garner 1959). All digits above those that `|m|` needs are zero. The
//! sum of the others has hardly any cancellation, because each term is at least as large as the sum
//! of all terms below it. So its relative error in `f64` is a few 2^-53, however much larger `Q`
//! is. A small message is precise even in a large modulus, without big integers.
//!
//! One modulus may be even, and then it comes first. The digits represent exactly the numbers in
//! `[-Q/2, Q/2)` only if every modulus after the first is odd. (With 2 as the last of two moduli
//! they would represent `-3 q_0/2 .. q_0/2`.)
//!
//! The digits are computed unsigned, for `m + sum_j floor(q_j/2) q_0 ... q_(j-1)` instead of `m`.

use std::borrow::Borrow;

use hippocrene_ring::{
    Kernel, ResidueRing, RingError,
    arith::{inv_mod, mul_mod, sub_mod},
    elementwise::Scalar,
};

use super::round;
use crate::double_double::DoubleDouble;

/// Number of coefficients per block, so that all their limbs fit the cache. Chosen.
pub(super) const BLOCK: usize = 512;

/// The constants for one list of moduli.
#[derive(Debug)]
pub(super) struct MixedRadix {
    moduli: Vec<u64>,
    /// `floor(q_j/2)`.
    halves: Vec<u64>,
    /// `[j][i - j]` for `i >= j`: the value in limb `i` before step `j` if digit `j` and all above
    /// it are zero.
    zeros: Vec<Vec<u64>>,
    /// `[j][i - j - 1]` for `i > j`: the inverse of `q_j` modulo `q_i`.
    inverses: Vec<Vec<Scalar>>,
}

impl MixedRadix {
    /// Computes the constants for the moduli of `rings`.
    pub(super) fn new<R: Borrow<ResidueRing>>(rings: &[R]) -> Result<Self, RingError> {
        let moduli: Vec<u64> = rings.iter().map(|ring| ring.borrow().modulus()).collect();
        let halves: Vec<u64> = moduli.iter().map(|q| q / 2).collect();
        let offset = |q: u64| {
            // Horner's rule, from the last digit down.
            let sum = moduli.iter().zip(&halves).rev().fold(0u128, |sum, (&p, &half)| {
                (sum * u128::from(p % q) + u128::from(half)) % u128::from(q)
            });
            sum as u64
        };
        let mut left: Vec<u64> = moduli.iter().map(|&q| offset(q)).collect();
        let (mut zeros, mut inverses) = (Vec::new(), Vec::new());
        for (j, &p) in moduli.iter().enumerate() {
            zeros.push(left[j..].to_vec());
            let mut row = Vec::new();
            for (i, &q) in moduli.iter().enumerate().skip(j + 1) {
                let inverse = inv_mod(p, q).ok_or(RingError::NotCoprime { first: p, second: q })?;
                left[i] = mul_mod(sub_mod(left[i], halves[j] % q, q), inverse, q);
                row.push(rings[i].borrow().scalar(inverse));
            }
            inverses.push(row);
        }
        Ok(MixedRadix { moduli, halves, zeros, inverses })
    }

    /// Whether these are the constants for the moduli of `rings`.
    pub(super) fn is_for<R: Borrow<ResidueRing>>(&self, rings: &[R]) -> bool {
        self.moduli.len() == rings.len()
            && self.moduli.iter().zip(rings).all(|(&q, ring)| q == ring.borrow().modulus())
    }

    /// The moduli.
    pub(super) fn moduli(&self) -> &[u64] {
        &self.moduli
    }

    /// The offsets `floor(q_j/2)`, which are subtracted from unsigned digits.
    pub(super) fn halves(&self) -> &[u64] {
        &self.halves
    }

    /// Returns `log2` of the product of the first `count` moduli.
    pub(super) fn log2(&self, count: usize) -> f64 {
        self.moduli[..count].iter().map(|&q| (q as f64).log2()).sum()
    }

    /// Computes the weights `q_0 ... q_(j-1) / scale` of the digits. They are infinite from 2^900
    /// on.
    pub(super) fn weights(&self, scale: f64, out: &mut Vec<f64>) {
        out.clear();
        let mut weight = DoubleDouble::ONE.div_f64(scale);
        for &q in &self.moduli {
            let rounded = weight.to_f64();
            out.push(if rounded < 2f64.powi(900) { rounded } else { f64::INFINITY });
            if rounded < 2f64.powi(900) {
                weight = weight.mul(DoubleDouble::from(q));
            }
        }
    }

    /// Replaces the residues in `limbs` by unsigned digits, up to the last digit that is not zero,
    /// and returns their number (at least 1). Limb `i` is at `i * BLOCK` and has `length` residues,
    /// a multiple of 8.
    pub(super) fn digits<R: Borrow<ResidueRing>>(
        &self,
        kernel: Kernel,
        rings: &[R],
        limbs: &mut [u64],
        length: usize,
    ) -> usize {
        for ((ring, limb), &offset) in
            rings.iter().zip(limbs.chunks_exact_mut(BLOCK)).zip(&self.zeros[0])
        {
            ring.borrow().add_scalar_assign(&mut limb[..length], offset);
        }
        let mut reduced = [0; BLOCK];
        for j in 0..rings.len() - 1 {
            let (done, rest) = limbs.split_at_mut((j + 1) * BLOCK);
            let digit = &done[j * BLOCK..j * BLOCK + length];
            for ((ring, limb), inverse) in
                rings[j + 1..].iter().zip(rest.chunks_exact_mut(BLOCK)).zip(&self.inverses[j])
            {
                let (ring, limb) = (ring.borrow(), &mut limb[..length]);
                let subtrahend = if self.moduli[j] <= ring.modulus() {
                    digit
                } else {
                    ring.reduce(&mut reduced[..length], digit);
                    &reduced[..length]
                };
                ring.sub_assign(limb, subtrahend);
                ring.mul_scalar_assign(limb, inverse);
            }
            let finished = rest
                .chunks_exact(BLOCK)
                .zip(&self.zeros[j + 1])
                .all(|(limb, &zero)| round::all_are(kernel, &limb[..length], zero));
            if finished {
                return j + 1;
            }
        }
        rings.len()
    }

    /// Computes `out = sum_j (digit_j - floor(q_j/2)) weight_j` over the first `count` digits.
    pub(super) fn evaluate(
        &self,
        kernel: Kernel,
        limbs: &[u64],
        count: usize,
        weights: &[f64],
        out: &mut [f64],
    ) {
        let length = out.len();
        let limb = |j: usize| &limbs[j * BLOCK..j * BLOCK + length];
        round::weigh(kernel, out, limb(count - 1), self.halves[count - 1], weights[count - 1]);
        for j in (0..count - 1).rev() {
            round::weigh_add(kernel, out, limb(j), self.halves[j], weights[j]);
        }
    }
}
