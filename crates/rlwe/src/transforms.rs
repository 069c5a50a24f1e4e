//! Transforms of polynomials and limbs, counted.

use std::sync::atomic::Ordering::Relaxed;

use hippocrene_ring::{Domain, Poly, ResidueRing, ntt::InverseFactor};

use crate::{Context, Modulus};

/// Transforms of polynomials.
impl Context {
    /// Transforms `poly` modulo `modulus` to the evaluation domain, unless it is there already.
    pub fn to_evaluation(&self, poly: &mut Poly, modulus: Modulus) {
        if poly.domain() == Domain::Coefficient {
            self.record("transform", |count| count.forward(modulus, 1));
            poly.for_each_limb(self.threads(), |k, limb| {
                self.forward(self.limb_ring(modulus, k), limb)
            });
            poly.set_domain(Domain::Evaluation);
        }
    }

    /// Transforms `poly` modulo `modulus` to the coefficient domain, unless it is there already.
    pub fn to_coefficient(&self, poly: &mut Poly, modulus: Modulus) {
        if poly.domain() == Domain::Evaluation {
            self.record("transform", |count| count.inverse(modulus, 1));
            poly.for_each_limb(self.threads(), |k, limb| {
                self.inverse(self.limb_ring(modulus, k), limb)
            });
            poly.set_domain(Domain::Coefficient);
        }
    }

    /// Returns the polynomial with the small signed coefficients `values`, modulo `modulus` in the
    /// evaluation domain.
    pub fn from_signed(&self, values: &[i64], modulus: Modulus) -> Poly {
        let mut poly = self.zero(modulus, Domain::Evaluation);
        self.record("transform", |count| {
            count.passes(modulus, 1);
            count.forward(modulus, 1);
        });
        poly.for_each_limb(self.threads(), |k, limb| {
            let ring = self.limb_ring(modulus, k);
            ring.from_signed(limb, values);
            self.forward(ring, limb);
        });
        poly
    }
}

/// Transforms of limbs. Each calls the method of [`ResidueRing`] with the same name.
impl Context {
    /// The number of limbs that this context has transformed so far, forward and inverse.
    ///
    /// The papers count these as `NTT`. Products modulo a power of two use further transforms,
    /// which are not counted.
    pub fn transforms(&self) -> u64 {
        self.transforms.load(Relaxed)
    }

    fn count(&self) {
        self.transforms.fetch_add(1, Relaxed);
    }

    pub(crate) fn forward(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.forward(limb);
    }

    pub(crate) fn forward_lazy(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.forward_lazy(limb);
    }

    pub(crate) fn forward_lazy_centred(
        &self,
        ring: &ResidueRing,
        limb: &mut [u64],
        y: &[u64],
        from: u64,
    ) {
        self.count();
        ring.forward_lazy_centred(limb, y, from);
    }

    pub(crate) fn inverse(&self, ring: &ResidueRing, limb: &mut [u64]) {
        self.count();
        ring.inverse(limb);
    }

    pub(crate) fn inverse_scaled(
        &self,
        ring: &ResidueRing,
        limb: &mut [u64],
        factor: &InverseFactor,
    ) {
        self.count();
        ring.inverse_scaled(limb, factor);
    }

    pub(crate) fn inverse_scaled_into(
        &self,
        ring: &ResidueRing,
        out: &mut [u64],
        limb: &[u64],
        factor: &InverseFactor,
    ) {
        self.count();
        ring.inverse_scaled_into(out, limb, factor);
    }
}
