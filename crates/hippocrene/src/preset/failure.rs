//! How likely the bootstraps of the presets fail. To find it out takes plans, many seconds for all
//! of them: it is written down here, and a test holds it to the plans.

use serde::Serialize;

use super::Preset;

/// How likely a bootstrap fails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FailureDescription {
    /// What is bootstrapped: `numbers`, real ones up to 1, or `bits`.
    pub of: &'static str,
    /// log2 of the probability, rounded up to a tenth; none where it cannot fail.
    pub log2_failure_probability: Option<f64>,
}

/// Those with a bootstrap of numbers: no coefficient can leave the range of any.
const NUMBERS: [&str; 11] = [
    "n15",
    "n16",
    "n17",
    "n15s",
    "n16s",
    "n17s",
    "simple-n15",
    "simple-n16",
    "simFHE16",
    "graFHE16",
    "graBinFHE16",
];

/// Those with one of bits.
const BITS: [(&str, f64); 4] =
    [("n16s", -136.3), ("graBinFHE16", -53.4), ("bits14", -139.3), ("bits16", -136.3)];

impl Preset {
    /// How likely its bootstraps fail, where there are any. Sets that are refused have none.
    pub fn failures(&self) -> Vec<FailureDescription> {
        let numbers = NUMBERS.contains(&self.name).then_some(None);
        let bits = BITS.iter().find(|(name, _)| *name == self.name).map(|(_, log2)| Some(*log2));
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
