//! Rotations composed of others.

use arrayvec::ArrayVec;
use hippocrene_ring::automorphism::galois_element_of_rotation;

use super::PreparedEvaluationKeys;
use crate::Modulus;

impl PreparedEvaluationKeys {
    /// The Galois elements of the fewest rotations that there are keys for, for ciphertexts modulo `modulus`, and that compose the one by `steps` of `slots` slots (a power of two up to `N/2`; fewer repeat, so
    /// that rotations are modulo their number): this itself, or those by powers of two to the left, to the right, or both (non-adjacent form). This itself
    /// when none of these can be had.
    ///
    /// # Panics
    /// When there are no slots.
    pub fn rotation_elements(
        &self,
        degree: usize,
        slots: usize,
        steps: i64,
        modulus: Modulus,
    ) -> ArrayVec<usize, 64> {
        let element = |steps: i64| galois_element_of_rotation(degree, steps.rem_euclid(slots as i64));
        let composed = composed(slots, steps, |steps| self.has_galois(element(steps), modulus));
        let mut elements: ArrayVec<usize, 64> = composed.into_iter().map(element).collect();
        if elements.is_empty() {
            elements.push(element(steps));
        }
        elements
    }
}

/// The steps of [`PreparedEvaluationKeys::rotation_elements`]; empty for the rotation itself.
fn composed(slots: usize, steps: i64, has: impl Fn(i64) -> bool) -> ArrayVec<i64, 64> {
    let left = steps.rem_euclid(slots as i64);
    let mut best = ArrayVec::new();
    if has(left) {
        return best;
    }
    let right = slots as i64 - left;
    // The non-adjacent form of x has the digits +1 of (3x & !x)/2 and -1 of (x & !3x)/2.
    let signed = |x: i64| (((3 * x) & !x) >> 1, (x & !(3 * x)) >> 1);
    let (from_left, from_right) = (signed(left), signed(right));
    for (plus, minus) in [(left, 0), (0, right), from_left, (from_right.1, from_right.0)] {
        let digits =
            |word: i64, sign: i64| (0..62).filter(move |k| word >> k & 1 == 1).map(move |k| sign << k);
        let candidate: ArrayVec<i64, 64> =
            digits(plus, 1).chain(digits(minus, -1)).filter(|s| s % slots as i64 != 0).collect();
        if candidate.iter().all(|&s| has(s)) && (best.is_empty() || candidate.len() < best.len()) {
            best = candidate;
        }
    }
    best
}
