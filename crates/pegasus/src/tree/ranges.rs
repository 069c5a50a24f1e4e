//! Maps from values of features to shares of their ranges.

use crate::{PegasusError, error::argument};

/// The number of parts of a map that is made from a sample (chosen).
const SAMPLE_PARTS: usize = 64;

/// The maximum number of knots of a map (chosen).
const MAX_KNOTS: usize = 4097;

/// An increasing map from values to shares from 0 to 1, for each feature.
///
/// ```
/// use hippocrene_pegasus::FeatureRanges;
///
/// let ranges = FeatureRanges::new(vec![(0.0, 10.0)])?;
/// assert_eq!(ranges.shares(&[2.5])?, [0.25]);
/// assert_eq!(ranges.shares(&[11.0])?, [1.0]);
/// # Ok::<(), hippocrene_pegasus::PegasusError>(())
/// ```
///
/// Features are compared by their shares. The maps are **public**: the client maps its rows, and
/// the server its thresholds. Each map is linear between *knots*, the values at the shares
/// `0, 1/k, .. 1`. The first and the last knot are the smallest and the largest distinguishable
/// value. Values beyond them become the nearest end, which changes no comparison with a threshold
/// in between.
///
/// A threshold needs more digits if values are nearer to it in terms of shares
/// ([`TreeParameters::resolution`](super::TreeParameters::resolution)). So a map should be steep
/// where there are many values, like that of [`FeatureRanges::of_sample`]. It must not be made from
/// the thresholds, since it would reveal them to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRanges {
    knots: Vec<Vec<f64>>,
}

impl FeatureRanges {
    /// Creates linear maps from pairs of the smallest and the largest value, one for each feature.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no pair, or a pair is not an interval of
    /// finite length.
    pub fn new(ranges: Vec<(f64, f64)>) -> Result<Self, PegasusError> {
        Self::of_knots(ranges.into_iter().map(|(low, high)| vec![low, high]).collect())
    }

    /// Creates maps from their knots, 2 to 4097 for each feature.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there are no features, a feature has another number
    /// of knots, or its knots are not strictly increasing over an interval of finite length.
    pub fn of_knots(knots: Vec<Vec<f64>>) -> Result<Self, PegasusError> {
        const OPERATION: &str = "ranges of features";
        if knots.is_empty() {
            return argument(OPERATION, "there are no features".into());
        }
        for (i, knots) in knots.iter().enumerate() {
            let (2..=MAX_KNOTS, [low, .., high]) = (knots.len(), &knots[..]) else {
                let what = format!("feature {i} has {} knots, not 2 to {MAX_KNOTS}", knots.len());
                return argument(OPERATION, what);
            };
            if !(low < high && (high - low).is_finite()) {
                let what = format!("feature {i} goes from {low} to {high}, which is no interval");
                return argument(OPERATION, what);
            }
            let rises = |pair: &&[f64]| pair[0] < pair[1];
            if let Some(pair) = knots.windows(2).find(|pair| !rises(pair)) {
                let what =
                    format!("the knots of feature {i} do not rise from {} to {}", pair[0], pair[1]);
                return argument(OPERATION, what);
            }
        }
        Ok(FeatureRanges { knots })
    }

    /// Creates maps from the ranks of values in a sample, which is given row by row.
    ///
    /// - The knots of a feature with 2 to 65 different values are these values, so that
    ///   neighbours are equally far apart.
    /// - A feature with more values has 65 knots, and the same number of rows lies between any two
    ///   neighbouring knots. A value that occurs in more than a 64th of the rows counts for a 64th.
    /// - A feature with one value has it in the middle of its range.
    ///
    /// The knots become public. They reveal the smallest and the largest value of the sample, and
    /// its values or its quantiles in steps of a 64th.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of values is not a multiple of the number
    /// of features, a value is not finite, or the values of a feature are too far apart.
    pub fn of_sample(features: usize, rows: &[f64]) -> Result<Self, PegasusError> {
        const OPERATION: &str = "ranges of features from a sample";
        if features == 0 || rows.is_empty() || !rows.len().is_multiple_of(features) {
            let what = format!("{} values are no rows of {features} features", rows.len());
            return argument(OPERATION, what);
        }
        if let Some(place) = rows.iter().position(|x| !x.is_finite()) {
            let (row, feature) = (place / features, place % features);
            return argument(
                OPERATION,
                format!("feature {feature} of row {row} is not a finite number"),
            );
        }
        let of_feature = |feature| rows.iter().skip(feature).step_by(features).copied().collect();
        Self::of_knots((0..features).map(|feature| by_ranks(of_feature(feature))).collect())
    }

    /// The number of features.
    pub fn count(&self) -> usize {
        self.knots.len()
    }

    /// The knots of each feature.
    pub fn knots(&self) -> &[Vec<f64>] {
        &self.knots
    }

    /// The smallest and the largest value of a feature.
    pub(super) fn ends(&self, feature: usize) -> (f64, f64) {
        let knots = &self.knots[feature];
        (knots[0], knots[knots.len() - 1])
    }

    /// Maps the features of a row to shares.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the row has another number of features, or a feature
    /// is NaN.
    pub fn shares(&self, row: &[f64]) -> Result<Vec<f64>, PegasusError> {
        if row.len() != self.count() || row.iter().any(|x| x.is_nan()) {
            let what = format!("{} values are no row of {} numbers", row.len(), self.count());
            return argument("map features to shares", what);
        }
        Ok(row.iter().enumerate().map(|(feature, value)| self.share(feature, *value)).collect())
    }

    /// The share of a value, which must not be NaN.
    ///
    /// All parts are evaluated for any value, so the number of operations does not depend on it.
    pub(super) fn share(&self, feature: usize, value: f64) -> f64 {
        let knots = &self.knots[feature];
        let of_part = |part: &[f64]| ((value - part[0]) / (part[1] - part[0])).clamp(0.0, 1.0);
        knots.windows(2).map(of_part).sum::<f64>() / (knots.len() - 1) as f64
    }
}

/// The knots for the values of a feature. There must be at least one value.
fn by_ranks(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    let max_weight = values.len() as f64 / SAMPLE_PARTS as f64;
    let runs: Vec<(f64, f64)> = values
        .chunk_by(|x, y| x == y)
        .map(|run| (run[0], max_weight.min(run.len() as f64)))
        .collect();
    let ((low, _), (high, _)) = (runs[0], runs[runs.len() - 1]);
    if runs.len() == 1 {
        let around = low.abs().max(1.0);
        return vec![low - around, low + around];
    }
    if runs.len() <= SAMPLE_PARTS + 1 {
        return runs.iter().map(|(value, _)| *value).collect();
    }
    // The rank of a distinct value is the middle of its run.
    let mut ranks = vec![0.0];
    ranks.extend(runs.windows(2).scan(0.0, |rank, pair| {
        *rank += (pair[0].1 + pair[1].1) / 2.0;
        Some(*rank)
    }));
    let last = ranks[ranks.len() - 1];
    let knot = |part: usize| {
        let rank = last * part as f64 / SAMPLE_PARTS as f64;
        let below = ranks.partition_point(|x| *x <= rank).clamp(1, ranks.len() - 1) - 1;
        let fraction = (rank - ranks[below]) / (ranks[below + 1] - ranks[below]);
        runs[below].0 + fraction * (runs[below + 1].0 - runs[below].0)
    };
    let mut knots = vec![low];
    knots.extend((1..SAMPLE_PARTS).map(knot));
    knots.push(high);
    // If neighbouring knots coincide, because there are no doubles between the values, the map is
    // linear.
    if knots.windows(2).all(|pair| pair[0] < pair[1]) { knots } else { vec![low, high] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn maps_rise_from_the_least_value_to_the_largest(
            sample in prop::collection::vec(-40i16..40, 1..300),
            scale in -300i32..300,
        ) {
            let mut values: Vec<f64> =
                sample.iter().map(|x| f64::from(*x) * 10f64.powi(scale)).collect();
            let ranges = FeatureRanges::of_sample(1, &values).unwrap();
            values.sort_by(f64::total_cmp);
            values.dedup();
            let shares: Vec<f64> = values.iter().map(|x| ranges.share(0, *x)).collect();
            prop_assert!(shares.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", shares);
            let (low, high) = ranges.ends(0);
            if let [first, .., last] = values[..] {
                prop_assert_eq!((low, high), (first, last));
            }
            prop_assert_eq!((ranges.share(0, low), ranges.share(0, high)), (0.0, 1.0));
            prop_assert_eq!(
                (ranges.share(0, f64::NEG_INFINITY), ranges.share(0, f64::INFINITY)),
                (0.0, 1.0)
            );
        }
    }

    #[test]
    fn few_values_are_equally_far_apart() {
        let sample = [0.0, 0.0, 0.0, 0.5, 7.0, 7.0, 100.0].repeat(100);
        let ranges = FeatureRanges::of_sample(1, &sample).unwrap();
        assert_eq!(ranges.knots(), [[0.0, 0.5, 7.0, 100.0]]);
        let spread: Vec<f64> = (0..65).map(|i| f64::from(i).exp2()).collect();
        assert_eq!(FeatureRanges::of_sample(1, &spread).unwrap().knots(), [spread]);
    }

    /// If all values differ, the shares are the ranks. A value that most rows have is set apart by
    /// no more than a 64th of the share of the others.
    #[test]
    fn shares_are_ranks() {
        let values: Vec<f64> = (0..=1000).map(|i| f64::from(i).powi(4)).collect();
        let ranges = FeatureRanges::of_sample(1, &values).unwrap();
        for (i, value) in values.iter().enumerate() {
            // A part is linear between its ends, and the first one holds the steepest of x^4.
            let share = i as f64 / 1000.0;
            assert!((ranges.share(0, *value) - share).abs() < 1.0 / 64.0, "{i}");
            assert!(i < 300 || (ranges.share(0, *value) - share).abs() < 1e-3, "{i}");
        }
        let mut zeros: Vec<f64> = vec![0.0; 9000];
        zeros.extend((1..=1000).map(f64::from));
        let ranges = FeatureRanges::of_sample(1, &zeros).unwrap();
        let (first, middle) = (ranges.share(0, 1.0), ranges.share(0, 500.0));
        assert!((first - 0.07).abs() < 0.01 && (middle - 0.53).abs() < 0.01, "{first} {middle}");
        let numbers: Vec<f64> = (0..600).map(|i| f64::from(i * i % 6)).collect();
        let ranges = FeatureRanges::of_sample(1, &numbers).unwrap();
        assert!((ranges.share(0, 1.0) - 1.0 / 3.0).abs() < 0.01);
        assert_eq!(ranges.shares(&[1.0]).unwrap(), [ranges.share(0, 1.0)]);
        assert!(ranges.shares(&[]).is_err() && ranges.shares(&[f64::NAN]).is_err());
        assert_eq!(by_ranks(vec![0.5; 3]), [-0.5, 1.5]);
    }
}
