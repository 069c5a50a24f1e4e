//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::RlweError;
use thiserror::Error;

/// Everything that can go wrong with LWE ciphertexts, their keys and tables. Each message names the
/// operation, what it had and what it needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FhewError {
    /// Something below went wrong: parameters beyond the security limit and mismatches of keys are
    /// among it.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// Parameters that make no sense.
    #[error("parameters: {what}")]
    Parameters {
        /// What is wrong, with numbers.
        what: String,
    },
    /// An operand of the wrong dimension.
    #[error("{operation}: the dimension is {have}, but {need} is needed")]
    Dimension {
        /// The operation.
        operation: &'static str,
        /// The dimension at hand.
        have: usize,
        /// The dimension needed.
        need: usize,
    },
    /// An operand modulo another number.
    #[error("{operation}: the modulus is {have}, but {need} is needed; switch it first")]
    Modulus {
        /// The operation.
        operation: &'static str,
        /// The modulus at hand.
        have: u64,
        /// The modulus needed.
        need: u64,
    },
    /// A table that cannot be made.
    #[error("table: {what}")]
    Table {
        /// What is wrong, with numbers.
        what: String,
    },
    /// A message that is to be encrypted is beyond the modulus.
    #[error("{operation}: message {index} has to be below {limit}")]
    Message {
        /// The operation.
        operation: &'static str,
        /// Which one.
        index: usize,
        /// The modulus.
        limit: u64,
    },
    /// A gate of more or fewer bits than it takes.
    #[error("{operation}: {what}")]
    Operands {
        /// The gate.
        operation: &'static str,
        /// How many there are, and how many it takes.
        what: String,
    },
    /// Bits with errors too large for a gate.
    #[error(
        "{operation}: the errors of its bits leave it {have:.1} standard deviations from the wrong decision, but {need} are \
         needed"
    )]
    Uncertain {
        /// The gate.
        operation: &'static str,
        /// The standard deviations at hand.
        have: f64,
        /// The standard deviations needed.
        need: f64,
    },
    /// A number beyond its range.
    #[error("{operation}: {what} is {have}, but has to be below {limit}")]
    Range {
        /// The operation.
        operation: &'static str,
        /// What it is.
        what: &'static str,
        /// The number at hand.
        have: u64,
        /// The least that is too large.
        limit: u64,
    },
}

impl From<RingError> for FhewError {
    fn from(error: RingError) -> Self {
        FhewError::Rlwe(error.into())
    }
}
