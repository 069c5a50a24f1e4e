//! Simulations: keys without samples, and what would be done with them.
//!
//! A ciphertext of a simulation is its message, `(m, 0)`. Sums, multiples and switches of the
//! modulus are what they always are; a blind rotation by exponents that are 0 takes no step, and a
//! key switch of zeros is zero: only the time that they would take has to be added.

use hippocrene_ring::ResidueRing;
use hippocrene_rlwe::{Context, RlweError, WordSize};

use crate::{FhewError, RotationParameters};

/// What look-ups are noted as.
pub const LOOK_UP: &str = "look up";

pub(crate) fn check_hollow(context: &Context) -> Result<(), FhewError> {
    if context.is_dry_run() {
        return Ok(());
    }
    Err(RlweError::Parameters { what: "keys without samples are for what is hollow".into() }.into())
}

/// Notes a switch with so many samples: each a digit of a polynomial, whose products with both
/// parts of the sample are added up.
pub(crate) fn note_switch(context: &Context, ring: &ResidueRing, samples: usize) {
    let elementwise = ring.elementwise();
    let key = (samples * elementwise.key_bytes(ring.degree())) as u64;
    let nanoseconds = context.priced(|prices| {
        let missed = prices.missed(key);
        let limb = prices.limb(ring.degree().ilog2(), WordSize::of(ring.modulus()), missed);
        let each = limb.forward + limb.product + limb.pass;
        let from_memory = missed * key as f64 / prices.memory().key_bytes_per_ns;
        samples as f64 * each + limb.sum + 2.0 * limb.inverse + from_memory
    });
    context.note("switch LWE keys", 1e-9 * nanoseconds, samples as u64 + 2);
}

/// Notes a blind rotation: in every step the rows of the accumulator are transformed, multiplied by
/// the key of each bit, turned, and transformed back.
pub(crate) fn note_look_up(
    context: &Context,
    parameters: &RotationParameters,
    rings: &[ResidueRing],
) {
    let (rows, steps, bits) = (parameters.rows(), parameters.steps(), parameters.bits());
    let nanoseconds: f64 = rings
        .iter()
        .map(|ring| {
            let (log_degree, size) = (ring.degree().ilog2(), WordSize::of(ring.modulus()));
            let limb = context.priced(|prices| prices.limb(log_degree, size, 0.0));
            let transforms = rows as f64 * limb.forward + 2.0 * limb.inverse;
            // Digits, the products by monomials, and what is added at the end.
            let products = (bits * rows) as f64 * limb.product + (1 + bits) as f64 * limb.sum;
            transforms + products + (rows + bits + 2) as f64 * limb.pass
        })
        .sum();
    let transforms = steps * rings.len() * (rows + 2);
    context.note(LOOK_UP, 1e-9 * steps as f64 * nanoseconds, transforms as u64);
}
