//! Names of Boolean functions, shared by all schemes that compute them.

use serde::{Deserialize, Serialize};

/// A symmetric function of two or three bits.
///
/// ```
/// use hippocrene_rlwe::Gate;
///
/// assert!(Gate::Majority.value(2, 3));
/// assert!(!Gate::And.value(1, 2));
/// assert_eq!(Gate::Xnor.name(), "xnor");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Gate {
    /// True if all bits are 1.
    And,
    /// True if at least one bit is 1.
    Or,
    /// True if an odd number of bits is 1.
    Xor,
    /// True if at least one bit is 0.
    Nand,
    /// True if all bits are 0.
    Nor,
    /// True if an even number of bits is 1.
    Xnor,
    /// True if more than half of the bits are 1.
    Majority,
}

impl Gate {
    /// All gates.
    pub const ALL: [Gate; 7] =
        [Gate::And, Gate::Or, Gate::Xor, Gate::Nand, Gate::Nor, Gate::Xnor, Gate::Majority];

    /// Returns the name in lower case, for example `and` or `majority`.
    pub fn name(self) -> &'static str {
        match self {
            Gate::And => "and",
            Gate::Or => "or",
            Gate::Xor => "xor",
            Gate::Nand => "nand",
            Gate::Nor => "nor",
            Gate::Xnor => "xnor",
            Gate::Majority => "majority",
        }
    }

    /// Returns the value for `count` bits, `ones` of them 1. `ones` must not exceed `count`.
    pub fn value(self, ones: usize, count: usize) -> bool {
        match self {
            Gate::And => ones == count,
            Gate::Or => ones > 0,
            Gate::Xor => !ones.is_multiple_of(2),
            Gate::Nand => ones < count,
            Gate::Nor => ones == 0,
            Gate::Xnor => ones.is_multiple_of(2),
            Gate::Majority => 2 * ones > count,
        }
    }
}
