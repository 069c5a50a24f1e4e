//! The failure probabilities of the bootstraps of the presets.
//!
//! Computing them needs plans, which takes many seconds for all presets. So they are listed here,
//! and a test compares them with the plans.

use serde::Serialize;

use super::Preset;

/// The failure probability of a bootstrap.
///
/// # Examples
/// ```
/// let failures = hippocrene::Preset::by_name("bits14")?.failures();
/// assert_eq!((failures.len(), failures[0].of), (1, "bits"));
/// assert!(failures[0].log2_failure_probability.is_some_and(|log2| log2 < -128.0));
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FailureDescription {
    /// The bootstrapped values: `numbers` (real ones up to 1) or `bits`.
    pub of: &'static str,
    /// log2 of the probability, rounded up to a tenth; `None` where it cannot fail.
    pub log2_failure_probability: Option<f64>,
}

/// The presets with a bootstrap of numbers.
///
/// None of these bootstraps can fail, since no coefficient can leave the range of the reduction.
const PRESETS_FOR_NUMBERS: [&str; 8] =
    ["n15", "n16", "n17", "n15s", "n16s", "n17s", "simple-n15", "simple-n16"];

/// The presets with a bootstrap of bits, with log2 of the failure probability.
const PRESETS_FOR_BITS: [(&str, f64); 3] =
    [("n16s", -136.3), ("bits14", -139.3), ("bits16", -136.3)];

impl Preset {
    /// The failure probabilities of its bootstraps, one entry for numbers and one for bits.
    ///
    /// There is no entry where there is no bootstrap.
    pub fn failures(&self) -> Vec<FailureDescription> {
        let numbers = PRESETS_FOR_NUMBERS.contains(&self.name).then_some(None);
        let bits = PRESETS_FOR_BITS
            .iter()
            .find(|(name, _)| *name == self.name)
            .map(|(_, log2)| Some(*log2));
        [("numbers", numbers), ("bits", bits)]
            .into_iter()
            .filter_map(|(of, likely)| {
                likely.map(|log2_failure_probability| FailureDescription {
                    of,
                    log2_failure_probability,
                })
            })
            .collect()
    }
}
