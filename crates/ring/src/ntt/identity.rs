//! The transform of rings of powers of two, which have none: limbs stay coefficients.

use super::InverseFactor;
use crate::{Kernel, convert, power_of_two::Words};

/// Every word stands for its low bits; what is asked to be in `[0, q)` is brought there.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) words: Words,
    pub(super) degree: usize,
}

impl Plan {
    pub(super) fn lazy_bound(&self) -> u64 {
        2
    }

    /// From `[0, q)` to `[0, q)`.
    pub(super) fn forward(&self, a: &mut [u64]) {
        self.forward_lazy(a);
    }

    /// From `[0, 2q)` to `[0, 2q)`.
    pub(super) fn forward_lazy(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb holds one residue for each coefficient");
    }

    pub(super) fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        convert::centre(Kernel::Portable, from, 1 << self.words.exponent(), y, out);
        self.forward_lazy(out);
    }

    /// From `[0, 2q)` to `[0, q)`.
    pub(super) fn inverse(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb holds one residue for each coefficient");
        self.words.reduce_assign(a);
    }

    pub(super) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        assert_eq!(a.len(), self.degree, "a limb holds one residue for each coefficient");
        self.words.mul_assign_by(a, factor.0[0]);
    }

    pub(super) fn inverse_factor(&self, c: u64) -> InverseFactor {
        InverseFactor([c, 0, 0, 0])
    }
}
