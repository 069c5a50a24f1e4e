//! The time of a key switch, which a dry run records instead of switching.

use hippocrene_ring::ResidueRing;
use hippocrene_rlwe::{Context, WordSize};

/// Records the time of a key switch with this number of samples.
///
/// Each sample is multiplied by a transformed digit, and the products with both of its parts are
/// added up.
pub(super) fn note_switch(context: &Context, ring: &ResidueRing, samples: usize) {
    let key = (samples * ring.key_bytes(ring.degree())) as u64;
    let nanoseconds = context.priced(|prices| {
        let missed = prices.missed_fraction(key);
        let limb = prices.limb(ring.degree().ilog2(), WordSize::of(ring.modulus()), missed);
        let each = limb.forward + limb.product + limb.pass;
        let from_memory = missed * key as f64 / prices.memory().key_bytes_per_ns;
        samples as f64 * each + limb.sum + 2.0 * limb.inverse + from_memory
    });
    context.note("switch LWE keys", 1e-9 * nanoseconds, samples as u64 + 2);
}
