//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::RlweError;
use thiserror::Error;

/// An error in the work with LWE ciphertexts, their keys or look-up tables.
///
/// Each message names the operation, the value it received and the value it needed.
///
/// ```
/// use hippocrene_fhew::Preset;
///
/// let error = Preset::by_name("lut99").unwrap_err();
/// let message = "parameters: there is no set \"lut99\"; there are lut11, lut12, lut13";
/// assert_eq!(error.to_string(), message);
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FhewError {
    /// An error from the crates below, for example parameters beyond the security limit or keys
    /// that do not match.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// Parameters that contradict each other or are out of range.
    #[error("parameters: {what}")]
    Parameters {
        /// A description of the fault, with numbers.
        what: String,
    },
    /// An operand has the wrong dimension.
    #[error("{operation}: the dimension is {have}, but {need} is needed")]
    Dimension {
        /// The operation.
        operation: &'static str,
        /// The dimension of the operand.
        have: usize,
        /// The dimension that the operation needs.
        need: usize,
    },
    /// An operand has the wrong modulus.
    #[error("{operation}: the modulus is {have}, but {need} is needed. Switch the modulus first.")]
    Modulus {
        /// The operation.
        operation: &'static str,
        /// The modulus of the operand.
        have: u64,
        /// The modulus that the operation needs.
        need: u64,
    },
    /// A look-up table that cannot be built.
    #[error("table: {what}")]
    Table {
        /// A description of the fault, with numbers.
        what: String,
    },
    /// A message to be encrypted is not below the modulus.
    #[error("{operation}: message {index} has to be below {limit}")]
    Message {
        /// The operation.
        operation: &'static str,
        /// The index of the message.
        index: usize,
        /// The modulus.
        limit: u64,
    },
    /// The number of operands does not fit the gate.
    #[error("{operation}: {what}")]
    Operands {
        /// The gate.
        operation: &'static str,
        /// The number of operands, and the number that the gate needs.
        what: String,
    },
    /// The errors of the operands are too large for a gate.
    #[error(
        "{operation}: the errors of the operands leave {have:.1} standard deviations to the wrong \
         result, but {need} are needed"
    )]
    Uncertain {
        /// The gate.
        operation: &'static str,
        /// The standard deviations that the errors of the operands leave.
        have: f64,
        /// The standard deviations that a gate needs.
        need: f64,
    },
    /// A number is out of range.
    #[error("{operation}: {what} is {have}, but has to be below {limit}")]
    Range {
        /// The operation.
        operation: &'static str,
        /// The name of the number.
        what: &'static str,
        /// The number.
        have: u64,
        /// The exclusive upper limit.
        limit: u64,
    },
}

impl From<RingError> for FhewError {
    fn from(error: RingError) -> Self {
        FhewError::Rlwe(error.into())
    }
}
