//! The transforms modulo powers of two, which leave limbs as coefficients.

use crate::{Kernel, convert, ntt::InverseFactor, words::Words};

/// The methods of [`crate::ntt::NttPlan`], which leave limbs as they are.
///
/// Only the low bits of every word count. Methods whose result lies in `[0, q)` reduce it to that
/// range.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(super) words: Words,
    pub(super) degree: usize,
}

impl Identity {
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    pub(crate) fn lazy_bound(&self) -> u64 {
        2
    }

    /// Takes words in `[0, q)` and leaves them as they are.
    pub(crate) fn forward(&self, a: &mut [u64]) {
        self.forward_lazy(a);
    }

    /// Takes words in `[0, 2q)` and leaves them as they are.
    pub(crate) fn forward_lazy(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
    }

    pub(crate) fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        convert::centre(Kernel::Portable, from, self.words.modulus(), y, out);
        self.forward_lazy(out);
    }

    /// Reduces words in `[0, 2q)` to `[0, q)`.
    pub(crate) fn inverse(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        self.words.reduce_assign(a);
    }

    pub(crate) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        self.words.mul_assign_by(a, factor.0[0]);
    }

    pub(crate) fn inverse_scaled_into(&self, out: &mut [u64], a: &[u64], factor: &InverseFactor) {
        out.copy_from_slice(a);
        self.inverse_scaled(out, factor);
    }

    pub(crate) fn inverse_factor(&self, c: u64) -> InverseFactor {
        InverseFactor([c, 0, 0, 0])
    }
}
