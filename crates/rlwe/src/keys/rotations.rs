//! Rotations that are composed of others.

use arrayvec::ArrayVec;
use hippocrene_ring::automorphism::galois_element_of_rotation;

use super::{EvaluationKeys, PreparedEvaluationKeys};
use crate::{Context, Modulus};

impl PreparedEvaluationKeys {
    /// Returns the Galois elements of the fewest rotations that compose the rotation by `steps` of
    /// `slots` slots.
    ///
    /// All of them have keys for ciphertexts modulo `modulus`. The number of slots is a power of
    /// two up to `N/2`. If it is smaller than `N/2`, values repeat, so that steps are modulo the
    /// number of slots. The candidates are:
    ///
    /// - the rotation itself;
    /// - rotations by powers of two, all to the left or all to the right;
    /// - rotations by powers of two in both directions, in non-adjacent form;
    /// - one or two rotations by powers of two to the right, with all others to the left. This
    ///   needs few keys to the right.
    ///
    /// If keys are missing for all of these, the result is the rotation itself.
    ///
    /// # Panics
    /// Panics if there are no slots.
    pub fn rotation_elements(
        &self,
        degree: usize,
        slots: usize,
        steps: i64,
        modulus: Modulus,
    ) -> ArrayVec<usize, 64> {
        let element =
            |steps: i64| galois_element_of_rotation(degree, steps.rem_euclid(slots as i64));
        let composed = composed(slots, steps, |steps| self.has_galois(element(steps), modulus));
        let mut elements: ArrayVec<usize, 64> = composed.into_iter().map(element).collect();
        if elements.is_empty() {
            elements.push(element(steps));
        }
        elements
    }

    /// Returns the number of rotations in [`PreparedEvaluationKeys::rotation_elements`], or `None`
    /// if keys are missing. A rotation by 0 slots counts as none.
    ///
    /// # Panics
    /// Panics if there are no slots.
    pub fn rotation_count(
        &self,
        degree: usize,
        slots: usize,
        steps: i64,
        modulus: Modulus,
    ) -> Option<usize> {
        let mut elements = self.rotation_elements(degree, slots, steps, modulus);
        elements.retain(|element| *element != 1);
        elements.iter().all(|element| self.has_galois(*element, modulus)).then_some(elements.len())
    }
}

impl EvaluationKeys {
    /// True if any ciphertext can be rotated by `steps` slots, either with the key of that rotation
    /// or with those of others that compose it. Keys for smaller moduli only do not count.
    pub fn rotates(&self, context: &Context, steps: i64) -> bool {
        let (degree, full) = (context.degree(), context.parameters().full());
        let slots = (degree / 2) as i64;
        let has = |steps: i64| {
            let element = galois_element_of_rotation(degree, steps.rem_euclid(slots));
            element == 1 || self.galois().get(&element).is_some_and(|key| key.modulus() == full)
        };
        has(steps) || !composed(slots as usize, steps, has).is_empty()
    }
}

/// Returns the powers of two of the binary digits of `word` that are 1, times `sign`.
fn digits(word: i64, sign: i64) -> impl Iterator<Item = i64> {
    (0..62).filter(move |k| word >> k & 1 == 1).map(move |k| sign << k)
}

/// Returns the steps of [`PreparedEvaluationKeys::rotation_elements`], or nothing for the rotation
/// itself.
pub(super) fn composed(slots: usize, steps: i64, has: impl Fn(i64) -> bool) -> ArrayVec<i64, 64> {
    let left = steps.rem_euclid(slots as i64);
    let mut best = ArrayVec::new();
    if has(left) {
        return best;
    }
    let right = slots as i64 - left;
    // The non-adjacent form of x has the digits +1 of (3x & !x)/2 and -1 of (x & !3x)/2.
    let signed = |x: i64| (((3 * x) & !x) >> 1, (x & !(3 * x)) >> 1);
    let (from_left, from_right) = (signed(left), signed(right));
    let mut consider = |candidate: ArrayVec<i64, 64>| {
        if candidate.iter().all(|&s| has(s)) && (best.is_empty() || candidate.len() < best.len()) {
            best = candidate;
        }
    };
    for (plus, minus) in [(left, 0), (0, right), from_left, (from_right.1, from_right.0)] {
        consider(
            digits(plus, 1).chain(digits(minus, -1)).filter(|s| s % slots as i64 != 0).collect(),
        );
    }
    let rights: ArrayVec<i64, 64> =
        (0..slots.trailing_zeros()).map(|k| -1 << k).filter(|&s| has(s)).collect();
    for (i, &first) in rights.iter().enumerate() {
        for second in rights[..=i].iter().copied().map(Some).chain([None]) {
            let moved = [first].into_iter().chain(second);
            let rest = (left - moved.clone().sum::<i64>()).rem_euclid(slots as i64);
            consider(moved.chain(digits(rest, 1)).collect());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Returns the minimum number of `moves` that lead from slot 0 to each slot.
    fn fewest(slots: i64, moves: &BTreeSet<i64>) -> Vec<Option<usize>> {
        let mut found = vec![None; slots as usize];
        let (mut frontier, mut count) = (BTreeSet::from([0]), 0);
        while !frontier.is_empty() {
            frontier.iter().for_each(|&place: &i64| found[place as usize] = Some(count));
            let next =
                frontier.iter().flat_map(|place| moves.iter().map(move |s| (place + s) % slots));
            frontier = next.filter(|&place| found[place as usize].is_none()).collect();
            count += 1;
        }
        found
    }

    proptest! {
        #[test]
        fn rotations_are_composed_of_existing_keys(
            log_slots in 1u32..8,
            keys in any::<[u64; 2]>(),
            steps in -300i64..300,
        ) {
            let slots = 1i64 << log_slots;
            let power = |keys: u64, sign: i64| {
                (0..log_slots)
                    .filter(move |k| keys >> k & 1 == 1)
                    .map(move |k| (sign << k).rem_euclid(slots))
            };
            let moves: BTreeSet<i64> = power(keys[0], 1).chain(power(keys[1], -1)).collect();
            let has = |step: i64| moves.contains(&step.rem_euclid(slots));
            let steps_taken = composed(slots as usize, steps, has);
            if !steps_taken.is_empty() {
                prop_assert!(steps_taken.iter().all(|&s| has(s)));
                prop_assert_eq!(
                    steps_taken.iter().sum::<i64>().rem_euclid(slots),
                    steps.rem_euclid(slots)
                );
                prop_assert!(
                    fewest(slots, &moves)[steps.rem_euclid(slots) as usize]
                        <= Some(steps_taken.len())
                );
            }
        }
    }

    #[test]
    fn a_few_keys_to_the_right_are_enough() {
        let left: BTreeSet<i64> = (0..10).map(|k| 1 << k).collect();
        let keys: BTreeSet<i64> = left.iter().copied().chain([1024 - 1, 1024 - 16]).collect();
        let count = |keys: &BTreeSet<i64>, steps| {
            composed(1024, steps, |s| keys.contains(&s.rem_euclid(1024))).len().max(1)
        };
        let small = [-1, -2, -3, -8, -15, -16, -17, -32, 3, 1000];
        assert_eq!(small.map(|steps| count(&left, steps)), [10, 9, 9, 7, 7, 6, 9, 5, 2, 6]);
        assert_eq!(small.map(|steps| count(&keys, steps)), [1, 2, 4, 2, 2, 1, 2, 2, 2, 3]);
        let shortest = fewest(1024, &keys);
        let mean = |of: &dyn Fn(i64) -> usize| (1..=1024).map(of).sum::<usize>();
        let (ours, least) =
            (mean(&|s| count(&keys, s)), mean(&|s| shortest[s as usize % 1024].unwrap().max(1)));
        assert!(least <= ours && ours <= least + least / 20, "{ours} {least}");
    }
}
