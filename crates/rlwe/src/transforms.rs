//! Transforms of limbs, counted.

use std::sync::atomic::Ordering::Relaxed;

use hippocrene_ring::{ResidueRing, ntt::InverseFactor};

use crate::Context;

/// Each is the method of [`hippocrene_ring::ntt::NttPlan`] of that name.
impl Context {
    /// How many limbs have been transformed so far by the operations of this context, forward and
    /// inverse: the `NTT` of the papers' counts. Products modulo a power of two have transforms of
    /// their own, which are not counted.
    pub fn transforms(&self) -> u64 {
        self.transforms.load(Relaxed)
    }

    fn count(&self) {
        self.transforms.fetch_add(1, Relaxed);
    }

    pub(crate) fn forward(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.ntt().forward(limb);
    }

    pub(crate) fn forward_lazy(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.ntt().forward_lazy(limb);
    }

    pub(crate) fn forward_lazy_centred(
        &self,
        ring: &ResidueRing,
        limb: &mut [u64],
        y: &[u64],
        from: u64,
    ) {
        self.count();
        ring.ntt().forward_lazy_centred(limb, y, from);
    }

    pub(crate) fn inverse(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.ntt().inverse(limb);
    }

    pub(crate) fn inverse_scaled(
        &self,
        ring: &ResidueRing,
        limb: &mut [u64],
        factor: &InverseFactor,
    ) {
        self.count();
        ring.ntt().inverse_scaled(limb, factor);
    }

    pub(crate) fn inverse_scaled_into(
        &self,
        ring: &ResidueRing,
        out: &mut [u64],
        limb: &[u64],
        factor: &InverseFactor,
    ) {
        self.count();
        ring.ntt().inverse_scaled_into(out, limb, factor);
    }
}
