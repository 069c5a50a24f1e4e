//! The time of a blind rotation, which a dry run records instead of rotating.

use hippocrene_ring::ResidueRing;
use hippocrene_rlwe::{Context, WordSize};

use super::RotationParameters;

/// The operation name under which a dry run records look-ups.
pub const LOOK_UP_OPERATION: &str = "look up";

/// Records the time of a blind rotation.
///
/// Every step transforms the rows of the accumulator, multiplies them by the key of each bit,
/// multiplies the products by monomials, and transforms the sums back.
pub(super) fn note_look_up(
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
            // These are the digits, the products by monomials, and the sums at the end.
            let products = (bits * rows) as f64 * limb.product + (1 + bits) as f64 * limb.sum;
            transforms + products + (rows + bits + 2) as f64 * limb.pass
        })
        .sum();
    let transforms = steps * rings.len() * (rows + 2);
    context.note(LOOK_UP_OPERATION, 1e-9 * steps as f64 * nanoseconds, transforms as u64);
}
