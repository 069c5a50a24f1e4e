//! Comparisons of features with thresholds, by one or several digits of a feature.
//!
//! The first digit of a feature is its position in the whole range. Every other digit is the
//! position in a period that is a part of the range. Each digit is finer than the one before by the
//! same factor ([`TreeParameters::refinement`]). Rotations compare a digit with a threshold on half
//! of a period on either side of it.
//!
//! To compare by two digits, the first one is compared with two *bounds*, one on either side of the
//! threshold. The bounds are so far from the threshold that the error cannot reach it:
//!
//! - If the first digit is below both bounds or above both, it decides the answer alone.
//! - Between the bounds, where the first digit is above one and not above the other, the second
//!   digit decides.
//!
//! So the answer is the majority of three. If the feature is near one of the bounds, the other two
//! comparisons agree. The answer is uncertain only in a neighbourhood of the threshold as wide as
//! the error of the second digit. With more digits, the answer is the majority of the two bounds of
//! a digit and the answer of all digits after it.

use std::collections::BTreeMap;

use super::{DecisionTree, FeatureRanges, TreeNode, TreeParameters};

/// The number of bits of a place, which is a share of a range (chosen: that of a double's
/// mantissa).
const PLACE_BITS: i32 = 52;

/// The comparison of a feature with a threshold: true if the feature is above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Comparison {
    pub(super) feature: usize,
    /// The threshold as a share of the range, half-way between two positions of the last digit.
    pub(super) place: i64,
    /// The number of digits that are compared.
    pub(super) digits: usize,
}

/// The comparison of a digit with a position modulo `2N`: a coefficient of the rotated polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) digit: usize,
    pub(super) position: usize,
}

impl Comparison {
    pub(super) fn new(
        feature: usize,
        threshold: f64,
        digits: usize,
        ranges: &FeatureRanges,
        parameters: &TreeParameters,
    ) -> Self {
        let scale = parameters.scale(digits - 1);
        let boundary = (ranges.share(feature, threshold) * scale).floor() + 0.5;
        let place = (boundary / scale * f64::from(PLACE_BITS).exp2()).round() as i64;
        Comparison { feature, place, digits }
    }

    /// The place of the upper end of the range: no value of the range is above a threshold there.
    pub(super) const END: i64 = 1 << PLACE_BITS;

    /// The threshold as a share of the range.
    pub(super) fn share(&self) -> f64 {
        self.place as f64 / f64::from(PLACE_BITS).exp2()
    }

    /// The distance from the threshold, as a share of the range, from which on the answer is
    /// certain.
    fn margin(&self, parameters: &TreeParameters) -> f64 {
        parameters.margin() / parameters.scale(self.digits - 1)
    }

    /// The comparison of the last digit.
    pub(super) fn last(&self, parameters: &TreeParameters) -> Reading {
        let digit = self.digits - 1;
        reading(parameters, digit, (self.share() * parameters.scale(digit)).floor())
    }

    /// The comparisons with the bounds of the digits before the last, from the finest to the first.
    pub(super) fn bounds(&self, parameters: &TreeParameters) -> Vec<[Reading; 2]> {
        // Position `p` is not above a threshold at `p + 1/2`.
        let away = parameters.margin() + 1.0;
        let bounds = |digit: usize| {
            let middle = self.share() * parameters.scale(digit) - 0.5;
            [(middle - away).floor(), (middle + away).ceil()]
                .map(|at| reading(parameters, digit, at))
        };
        (0..self.digits - 1).rev().map(bounds).collect()
    }
}

/// The comparison of a digit with a position that is counted from the smallest value of the
/// feature.
fn reading(parameters: &TreeParameters, digit: usize, position: f64) -> Reading {
    let position = parameters.start(digit) + position;
    let position = match digit {
        0 => position.clamp(0.0, parameters.positions() - 1.0),
        _ => position.rem_euclid(2.0 * parameters.positions()),
    };
    Reading { digit, position: position as usize }
}

/// Returns the number of digits that each node compares, and 0 for leaves.
///
/// Two thresholds of a feature may be too near to each other for both comparisons to be certain.
/// Both are then compared by the larger of their two numbers of digits. So both comparisons use the
/// same numbers and are consistent: a feature above the larger threshold is also above the smaller
/// one.
pub(super) fn digits(
    tree: &DecisionTree,
    ranges: &FeatureRanges,
    parameters: &TreeParameters,
) -> Vec<usize> {
    let mut all = vec![0; tree.nodes().len()];
    let mut of_features = BTreeMap::<usize, Vec<(Comparison, usize, f64)>>::new();
    for (node, split) in tree.nodes().iter().enumerate() {
        if let TreeNode::Split { feature, threshold, digits, .. } = split {
            let comparison = Comparison::new(*feature, *threshold, *digits, ranges, parameters);
            of_features.entry(*feature).or_default().push((comparison, node, *threshold));
        }
    }
    for (feature, splits) in &mut of_features {
        // Numbers of digits only grow, so this loop ends.
        let mut changed = true;
        while changed {
            changed = false;
            splits.sort_by_key(|(comparison, ..)| *comparison);
            for i in 1..splits.len() {
                let (below, above) = (splits[i - 1].0, splits[i].0);
                let certain = below.margin(parameters) + above.margin(parameters);
                if below.digits != above.digits && above.share() - below.share() < certain {
                    let digits = below.digits.max(above.digits);
                    for (comparison, _, threshold) in &mut splits[i - 1..=i] {
                        *comparison =
                            Comparison::new(*feature, *threshold, digits, ranges, parameters);
                    }
                    changed = true;
                }
            }
        }
        splits.iter().for_each(|(comparison, node, _)| all[*node] = comparison.digits);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use hippocrene_fhew::Preset;
    use proptest::prelude::*;

    /// The answer of the rotations and majorities for a feature whose digits have these errors.
    fn answer(
        parameters: &TreeParameters,
        comparison: &Comparison,
        share: f64,
        errors: &[i64],
    ) -> bool {
        let circle = 2 * parameters.positions() as i64;
        let above = |reading: Reading| {
            let digit = parameters.message(share, reading.digit) as i64 + errors[reading.digit];
            let beyond = (digit - reading.position as i64).rem_euclid(circle);
            (1..=circle / 2).contains(&beyond)
        };
        let last = above(comparison.last(parameters));
        comparison.bounds(parameters).into_iter().fold(last, |answer, [low, high]| {
            usize::from(above(low)) + usize::from(above(high)) + usize::from(answer) >= 2
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// The answer is right from the margin on, with any errors smaller than the margin.
        #[test]
        fn answers_are_certain_beyond_the_margin(
            tables in 0usize..3,
            threshold in 0.0f64..1.0,
            digits in 1usize..=5,
            way in 0usize..5,
            other in 0.0f64..1.0,
            errors in prop::collection::vec(-21i64..=21, 5),
        ) {
            let preset = Preset::by_name(["lut11", "lut12", "lut13"][tables]).unwrap();
            let parameters = TreeParameters::of(&preset);
            let ranges = FeatureRanges::new(vec![(0.0, 1.0)]).unwrap();
            let comparison = Comparison::new(0, threshold, digits, &ranges, &parameters);
            prop_assert!(
                (comparison.share() - threshold).abs() <= 0.51 * parameters.resolution(digits)
            );
            let margin = comparison.margin(&parameters) * (1.0 + 1e-4);
            // Next to the threshold, next to the bounds of a digit, at its period, or anywhere.
            let period = 2.0 * parameters.positions() / parameters.scale(digits - 1);
            let away = match way {
                0 => margin,
                1 => margin + other * margin,
                2 => (22.0 + 4.0 * other) / parameters.scale((digits - 1).saturating_sub(1)),
                3 => period * (0.5 + 0.1 * (other - 0.5)),
                _ => other,
            };
            for share in
                [comparison.share() - away.max(margin), comparison.share() + away.max(margin)]
            {
                if (0.0..=1.0).contains(&share) {
                    let above = share > comparison.share();
                    prop_assert_eq!(
                        answer(&parameters, &comparison, share, &errors),
                        above,
                        "{}",
                        share
                    );
                }
            }
        }
    }

    /// Two neighbouring thresholds. The model compares one of them by one digit.
    #[test]
    fn close_thresholds_are_compared_by_equal_numbers_of_digits() {
        let parameters = TreeParameters::of(&Preset::by_name("lut11").unwrap());
        let ranges = FeatureRanges::new(vec![(0.0, 1.0)]).unwrap();
        let leaf = || TreeNode::Leaf { values: vec![0.0] };
        let digits_of = |thresholds: [(f64, usize); 3]| {
            let mut nodes = Vec::new();
            for (i, (threshold, digits)) in thresholds.into_iter().enumerate() {
                let (left, right) = (2 * i + 1, 2 * i + 2);
                nodes.push(TreeNode::Split { feature: 0, threshold, digits, left, right });
                nodes.push(leaf());
            }
            nodes.push(leaf());
            let tree = DecisionTree::new(nodes).unwrap();
            let found = digits(&tree, &ranges, &parameters);
            [0, 2, 4].map(|node| found[node])
        };
        assert_eq!(digits_of([(0.2, 1), (0.21, 3), (0.3, 1)]), [3, 3, 1]);
        assert_eq!(digits_of([(0.2, 1), (0.25, 3), (0.3, 2)]), [1, 3, 2]);
        // The first threshold makes the second finer, and then the third is far enough from it.
        assert_eq!(digits_of([(0.2, 2), (0.2001, 3), (0.209, 1)]), [3, 3, 3]);
    }
}
