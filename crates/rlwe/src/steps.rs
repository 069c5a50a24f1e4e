//! The rotations of a linear map, split in baby steps and giant steps.

use std::collections::BTreeSet;

use crate::{RlweError, stop};

/// What a baby step costs of what a giant step costs. Fitted to times at ring degrees `2^14` and
/// `2^15`, of 16 and 64 diagonals: 0.31 to 0.44 (and 0.75 in one noisy fit).
const HOISTED_COST: f64 = 0.4;

/// What it may cost more, by this factor, to need fewer rotations, and so fewer keys.
const KEY_WORTH: f64 = 1.1;

/// Powers of two may cost more, by this factor: where rotations have no key of their own, theirs
/// are composed of fewer.
const POWER_WORTH: f64 = 1.4;

/// So many of the distances that rotations lie apart are looked at.
const TRIED: usize = 64;

/// How the rotations `r` of a linear map over `slots` slots are split (Halevi and Shoup, ePrint
/// 2014/873 and 2018/244): `r = origin + g + b`, modulo the slots, with baby steps `b`, which share
/// one decomposition, giant steps `g` of the sums over these, and one rotation of all of it by the
/// origin.
///
/// Rotations that fill an interval are split by a power of two, from 0 on. Those that lie `s`
/// apart, as where elements of an array come to stand `s + 1` apart, are by a multiple of `s`, from
/// the first of them on: for `n` of them that takes `2 sqrt(n)` steps, where powers of two would
/// have hardly any two rotations share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSplit {
    slots: usize,
    origin: usize,
    /// Giant steps are multiples of this.
    base: usize,
    /// Whether baby steps go to the right, `b <= 0`, and not to the left.
    mirrored: bool,
}

/// What a split takes.
#[derive(Debug, Default, PartialEq)]
struct Steps {
    baby: usize,
    giant: usize,
    origin: usize,
}

impl Steps {
    fn cost(&self) -> f64 {
        HOISTED_COST * self.baby as f64 + (self.giant + self.origin) as f64
    }

    fn keys(&self) -> usize {
        self.baby + self.giant + self.origin
    }
}

impl StepSplit {
    /// The split that costs least, or hardly more and needs fewer keys, by powers of two, or where
    /// that takes far less by what distances `rotations` have (below `slots`, a power of two).
    /// Rotations of two kinds, such as those with and without an exchange of rows, share baby steps
    /// and no giant steps.
    ///
    /// # Errors
    /// [`RlweError::Stopped`] when the calling thread is to stop, in the name of `operation`.
    ///
    /// # Panics
    /// When the slots are no power of two, or a rotation is not below their number.
    pub fn best(
        slots: usize,
        rotations: &[(bool, usize)],
        operation: &'static str,
    ) -> Result<Self, RlweError> {
        Self::best_of(slots, rotations, true, operation)
    }

    /// [`StepSplit::best`] by powers of two alone.
    ///
    /// # Errors
    /// As [`StepSplit::best`].
    ///
    /// # Panics
    /// As [`StepSplit::best`].
    pub fn best_power_of_two(
        slots: usize,
        rotations: &[(bool, usize)],
        operation: &'static str,
    ) -> Result<Self, RlweError> {
        Self::best_of(slots, rotations, false, operation)
    }

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
        let least = |choices: &[(Self, Steps)]| {
            choices.iter().map(|(_, steps)| steps.cost()).fold(f64::INFINITY, f64::min)
        };
        let of_powers = least(&choices);
        // The least `0.4 b + g` with `b g` rotations.
        let possible = 2.0 * (HOISTED_COST * rotations.len() as f64).sqrt();
        if any && of_powers > POWER_WORTH * possible {
            let powers = choices.len();
            let (origin, distances) = unwrapped(slots, rotations);
            let apart = distances.iter().copied().fold(0, gcd).max(1);
            let multiples = (0..usize::BITS).map(|k| apart << k).take_while(|base| *base < slots);
            let bases: BTreeSet<usize> =
                multiples.chain(distances.iter().take(TRIED).copied()).collect();
            for base in bases {
                consider(&mut choices, (origin, base))?;
            }
            if POWER_WORTH * least(&choices) > of_powers {
                choices.truncate(powers);
            }
        }
        let most = KEY_WORTH * least(&choices);
        let near = choices.into_iter().filter(|(_, steps)| steps.cost() <= most);
        let best = near.min_by_key(|(_, steps)| steps.keys()).map(|(split, _)| split);
        Ok(best.unwrap_or(StepSplit { slots, origin: 0, base: 1, mirrored: false }))
    }

    /// With baby steps to the right, of a split by a power of two.
    #[must_use]
    pub fn mirrored(self, mirrored: bool) -> Self {
        StepSplit { mirrored, ..self }
    }

    /// By what all is rotated in the end.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// `(g, b)` with `r = origin + g + b`, all modulo the number of slots: `0 <= b < base`, or
    /// where it is mirrored `-base < b <= 0`.
    pub fn of(&self, r: usize) -> (usize, usize) {
        let from_origin = (r + self.slots - self.origin) % self.slots;
        let offset = if self.mirrored { self.base - 1 } else { 0 };
        let baby = ((from_origin + offset) % self.base + self.slots - offset) % self.slots;
        ((from_origin + self.slots - baby) % self.slots, baby)
    }

    /// How many steps there are that are rotations.
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

/// The first rotation after the longest gap, and how far the others are from there, ascending.
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
            let rotations: Vec<(bool, usize)> = rotations.into_iter().map(|(kind, r)| (kind, r % slots)).collect();
            let any = StepSplit::best(slots, &rotations, "split").unwrap();
            let power = StepSplit::best_power_of_two(slots, &rotations, "split").unwrap();
            prop_assert_eq!((power.origin, power.base.is_power_of_two()), (0, true));
            let costs = [any, power].map(|split| split.count(&rotations).cost());
            prop_assert!(any == power || POWER_WORTH * costs[0] <= KEY_WORTH * KEY_WORTH * costs[1]);
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
        // All of them: as ever, by a power of two.
        let (split, steps) = best(1 << 13, 0..64);
        assert_eq!((split.origin, split.base, steps.baby + steps.giant), (0, 8, 14));
        // 64 elements that come to stand 64 apart, and 128 of two rows.
        let (split, steps) = best(1 << 13, (0..64).map(|k| 63 * k));
        assert_eq!((split.origin, split.base % 63), (0, 0));
        assert!(steps.keys() <= 15, "{steps:?}");
        let (_, steps) =
            best(1 << 13, (0..64).flat_map(|k| [63 * k + 5, (1 << 13) + 63 * k + 6 - 4096]));
        assert!(steps.keys() <= 24, "{steps:?}");
        // Two distances, to the right.
        let moved = (0..8).flat_map(|i| (0..9).map(move |j| (1 << 13) - 1000 - 100 * i - 7 * j));
        let (_, steps) = best(1 << 13, moved);
        assert!(steps.keys() <= 7 + 8 + 1, "{steps:?}");
    }
}
