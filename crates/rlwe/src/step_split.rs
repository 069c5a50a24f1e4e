//! Splits the rotations of a linear map into baby steps and giant steps.

use std::collections::BTreeSet;

use crate::{RlweError, stop};

/// The cost of a baby step, in giant steps. Fitted to times at ring degrees `2^14` and `2^15`, with
/// 16 and 64 diagonals. The fits gave 0.31 to 0.44, and 0.75 in one noisy case.
const BABY_STEP_COST_IN_GIANT_STEPS: f64 = 0.4;

/// The maximum factor by which a split may cost more than the cheapest one, if it needs fewer
/// rotations and so fewer keys.
const MAX_COST_FACTOR_FOR_FEWER_KEYS: f64 = 1.1;

/// The minimum factor by which other bases must cut the cost of the best power of two.
///
/// Powers of two are preferred: a rotation that has no key of its own is then composed of fewer
/// rotations.
const MIN_GAIN_OVER_POWERS_OF_TWO: f64 = 1.4;

/// The maximum number of distances between rotations that are tried as bases. Chosen.
const MAX_TRIED_DISTANCES: usize = 64;

/// A split of the rotations of a linear map over `slots` slots into baby steps and giant steps
/// (Halevi and Shoup, ePrint 2014/873 and 2018/244).
///
/// A rotation by `r` is split as `r = origin + g + b`, modulo the number of slots:
///
/// - The baby steps `b` share one decomposition.
/// - The giant steps `g` rotate the sums over the baby steps.
/// - One last rotation by `origin` is applied to the whole result.
///
/// Rotations that fill an interval are split by a power of two, with origin 0. Rotations at
/// distances of `s` are split by a multiple of `s`, with the first of them as the origin. They
/// arise when elements of an array move from neighbouring slots to slots that are `s + 1` apart.
/// With `n` of them, this takes `2 sqrt(n)` steps. By powers of two, hardly any two rotations would
/// share a step.
///
/// ```
/// use hippocrene_rlwe::StepSplit;
///
/// let rotations: Vec<(bool, usize)> = (0..64).map(|r| (false, r)).collect();
/// let split = StepSplit::best(1 << 13, &rotations, "an example")?;
/// let (giant, baby) = split.of(43);
/// assert_eq!((giant, baby, split.origin()), (40, 3, 0));
/// # Ok::<(), hippocrene_rlwe::RlweError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSplit {
    slots: usize,
    origin: usize,
    /// The base: giant steps are multiples of it.
    base: usize,
    /// True if baby steps are rotations to the right (`b <= 0`).
    mirrored: bool,
}

/// The numbers of rotations that a split needs.
#[derive(Debug, Default, PartialEq)]
struct Steps {
    baby: usize,
    giant: usize,
    origin: usize,
}

impl Steps {
    /// The cost in giant steps.
    fn cost(&self) -> f64 {
        BABY_STEP_COST_IN_GIANT_STEPS * self.baby as f64 + (self.giant + self.origin) as f64
    }

    /// The number of keys, one for each rotation.
    fn keys(&self) -> usize {
        self.baby + self.giant + self.origin
    }
}

impl StepSplit {
    /// Returns the best split of `rotations`.
    ///
    /// This is the cheapest split, or one that costs up to 10 % more and needs fewer keys. The base
    /// is a power of two unless another base is cheaper by far.
    ///
    /// Each rotation is given by its kind and its distance, which is below `slots`. For example,
    /// rotations with and without an exchange of rows are of two kinds. Both kinds share baby steps
    /// but not giant steps.
    ///
    /// # Errors
    /// Returns [`RlweError::Stopped`], in the name of `operation`, if the calling thread has to
    /// stop.
    ///
    /// # Panics
    /// Panics if `slots` is not a power of two, or if a rotation is not below `slots`.
    pub fn best(
        slots: usize,
        rotations: &[(bool, usize)],
        operation: &'static str,
    ) -> Result<Self, RlweError> {
        Self::best_of(slots, rotations, true, operation)
    }

    /// Returns the best split of [`StepSplit::best`] among those by powers of two.
    ///
    /// # Errors
    /// Returns the same errors as [`StepSplit::best`].
    ///
    /// # Panics
    /// Panics like [`StepSplit::best`].
    pub fn best_power_of_two(
        slots: usize,
        rotations: &[(bool, usize)],
        operation: &'static str,
    ) -> Result<Self, RlweError> {
        Self::best_of(slots, rotations, false, operation)
    }

    /// [`StepSplit::best`], which tries bases other than powers of two only if `any` is true.
    fn best_of(
        slots: usize,
        rotations: &[(bool, usize)],
        any: bool,
        operation: &'static str,
    ) -> Result<Self, RlweError> {
        assert!(
            slots.is_power_of_two() && rotations.iter().all(|(_, r)| *r < slots),
            "rotations are split below {slots}, a power of two of slots"
        );
        let powers = (0..=slots.trailing_zeros()).map(|k| (0, 1usize << k));
        let mut choices: Vec<(Self, Steps)> = Vec::new();
        let consider =
            |choices: &mut Vec<(Self, Steps)>, (origin, base)| -> Result<(), RlweError> {
                stop::check(operation)?;
                let split = StepSplit { slots, origin, base, mirrored: false };
                choices.push((split, split.count(rotations)));
                Ok(())
            };
        for choice in powers {
            consider(&mut choices, choice)?;
        }
        let lowest_cost = |choices: &[(Self, Steps)]| {
            choices.iter().map(|(_, steps)| steps.cost()).fold(f64::INFINITY, f64::min)
        };
        let cost_of_powers = lowest_cost(&choices);
        // The minimum of `0.4 b + g` for `b` baby steps and `g` giant steps with `b g` rotations.
        let lower_bound = 2.0 * (BABY_STEP_COST_IN_GIANT_STEPS * rotations.len() as f64).sqrt();
        if any && cost_of_powers > MIN_GAIN_OVER_POWERS_OF_TWO * lower_bound {
            let powers = choices.len();
            let (origin, distances) = unwrapped(slots, rotations);
            let spacing = distances.iter().copied().fold(0, gcd).max(1);
            let multiples = (0..usize::BITS).map(|k| spacing << k).take_while(|base| *base < slots);
            let bases: BTreeSet<usize> =
                multiples.chain(distances.iter().take(MAX_TRIED_DISTANCES).copied()).collect();
            for base in bases {
                consider(&mut choices, (origin, base))?;
            }
            if MIN_GAIN_OVER_POWERS_OF_TWO * lowest_cost(&choices) > cost_of_powers {
                choices.truncate(powers);
            }
        }
        let max_cost = MAX_COST_FACTOR_FOR_FEWER_KEYS * lowest_cost(&choices);
        let near = choices.into_iter().filter(|(_, steps)| steps.cost() <= max_cost);
        let best = near.min_by_key(|(_, steps)| steps.keys()).map(|(split, _)| split);
        Ok(best.unwrap_or(StepSplit { slots, origin: 0, base: 1, mirrored: false }))
    }

    /// Returns the split with baby steps to the right if `mirrored` is true. The split must be one
    /// by a power of two.
    #[must_use]
    pub fn mirrored(self, mirrored: bool) -> Self {
        StepSplit { mirrored, ..self }
    }

    /// The last rotation, which is applied to the whole result.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// Returns the giant step `g` and the baby step `b` of a rotation, `r = origin + g + b`.
    ///
    /// All are modulo the number of slots. Baby steps are in `0 <= b < base`, or in
    /// `-base < b <= 0` if the split is mirrored.
    pub fn of(&self, r: usize) -> (usize, usize) {
        let from_origin = (r + self.slots - self.origin) % self.slots;
        let offset = if self.mirrored { self.base - 1 } else { 0 };
        let baby = ((from_origin + offset) % self.base + self.slots - offset) % self.slots;
        ((from_origin + self.slots - baby) % self.slots, baby)
    }

    /// Counts the steps that are rotations by other than 0.
    fn count(&self, rotations: &[(bool, usize)]) -> Steps {
        let mut seen = [vec![false; self.slots], vec![false; self.slots], vec![false; self.slots]];
        let mut steps = Steps { origin: usize::from(self.origin != 0), ..Steps::default() };
        for (kind, r) in rotations {
            let (giant, baby) = self.of(*r);
            if baby != 0 && !std::mem::replace(&mut seen[0][baby], true) {
                steps.baby += 1;
            }
            if giant != 0 && !std::mem::replace(&mut seen[1 + usize::from(*kind)][giant], true) {
                steps.giant += 1;
            }
        }
        steps
    }
}

/// Returns the first rotation after the longest gap, and the distances of the others from it in
/// ascending order.
fn unwrapped(slots: usize, rotations: &[(bool, usize)]) -> (usize, Vec<usize>) {
    let sorted: Vec<usize> =
        rotations.iter().map(|(_, r)| *r).collect::<BTreeSet<_>>().into_iter().collect();
    let before = |i: usize| sorted[(i + sorted.len() - 1) % sorted.len()];
    let gap = |i: &usize| (sorted[*i] + slots - before(*i) - 1) % slots;
    let Some(first) = (0..sorted.len()).max_by_key(gap) else { return (0, Vec::new()) };
    let origin = sorted[first];
    let mut distances: Vec<usize> = sorted.iter().map(|r| (r + slots - origin) % slots).collect();
    distances.sort_unstable();
    distances.retain(|distance| *distance > 0);
    (origin, distances)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn best(slots: usize, rotations: impl IntoIterator<Item = usize>) -> (StepSplit, Steps) {
        let rotations: Vec<(bool, usize)> =
            rotations.into_iter().map(|r| (false, r % slots)).collect();
        let split = StepSplit::best(slots, &rotations, "split").unwrap();
        (split, split.count(&rotations))
    }

    proptest! {
        #[test]
        fn steps_add_up(
            log_slots in 3u32..10,
            rotations in prop::collection::vec((any::<bool>(), 0usize..1 << 10), 1..60),
            mirrored: bool,
        ) {
            let slots = 1 << log_slots;
            let rotations: Vec<(bool, usize)> =
                rotations.into_iter().map(|(kind, r)| (kind, r % slots)).collect();
            let any = StepSplit::best(slots, &rotations, "split").unwrap();
            let power = StepSplit::best_power_of_two(slots, &rotations, "split").unwrap();
            prop_assert_eq!((power.origin, power.base.is_power_of_two()), (0, true));
            let costs = [any, power].map(|split| split.count(&rotations).cost());
            prop_assert!(
                any == power
                    || MIN_GAIN_OVER_POWERS_OF_TWO * costs[0]
                        <= MAX_COST_FACTOR_FOR_FEWER_KEYS
                            * MAX_COST_FACTOR_FOR_FEWER_KEYS
                            * costs[1]
            );
            for split in [any, power.mirrored(mirrored)] {
                for (_, r) in &rotations {
                    let (giant, baby) = split.of(*r);
                    prop_assert!(giant < slots && baby < slots);
                    prop_assert_eq!((split.origin + giant + baby) % slots, *r);
                }
            }
        }
    }

    #[test]
    fn rotations_that_lie_apart_share_steps() {
        // A full interval is split by a power of two.
        let (split, steps) = best(1 << 13, 0..64);
        assert_eq!((split.origin, split.base, steps.baby + steps.giant), (0, 8, 14));
        // 64 elements that move to slots 64 apart, and 128 elements of two rows.
        let (split, steps) = best(1 << 13, (0..64).map(|k| 63 * k));
        assert_eq!((split.origin, split.base % 63), (0, 0));
        assert!(steps.keys() <= 15, "{steps:?}");
        let (_, steps) =
            best(1 << 13, (0..64).flat_map(|k| [63 * k + 5, (1 << 13) + 63 * k + 6 - 4096]));
        assert!(steps.keys() <= 24, "{steps:?}");
        // Rotations to the right with two distances.
        let moved = (0..8).flat_map(|i| (0..9).map(move |j| (1 << 13) - 1000 - 100 * i - 7 * j));
        let (_, steps) = best(1 << 13, moved);
        assert!(steps.keys() <= 7 + 8 + 1, "{steps:?}");
    }
}
