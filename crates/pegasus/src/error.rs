//! The errors of this crate.

use hippocrene_ckks::CkksError;
use hippocrene_fhew::FhewError;
use hippocrene_rlwe::RlweError;
use thiserror::Error;

/// The errors of this crate.
///
/// The message of each error names the operation, the state that it found and the state that it
/// needs.
///
/// ```
/// use hippocrene_pegasus::{Layout, PegasusError};
///
/// let error = Layout::new(3, vec![]).unwrap_err();
/// assert!(matches!(error, PegasusError::Argument { operation: "lay out numbers", .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PegasusError {
    /// An error of the crate `hippocrene_ckks`.
    #[error(transparent)]
    Ckks(#[from] CkksError),
    /// An error of the LWE ciphertexts of single numbers.
    #[error(transparent)]
    Fhew(#[from] FhewError),
    /// Values may be larger than their modulus or the domain of a table allows.
    #[error("{operation}: values up to {have} do not fit, and at most {limit} is possible")]
    Domain {
        /// The operation.
        operation: &'static str,
        /// The bound on the values.
        have: f64,
        /// The largest bound that is possible.
        limit: f64,
    },
    /// Two operands have different scales.
    #[error("{operation}: the scales are 2^{left:.4} and 2^{right:.4}: they have to be the same")]
    ScaleMismatch {
        /// The operation.
        operation: &'static str,
        /// log2 of the left operand's scale.
        left: f64,
        /// log2 of the right operand's scale.
        right: f64,
    },
    /// An argument of the operation is invalid.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// The reason, with numbers.
        what: String,
    },
}

impl From<RlweError> for PegasusError {
    fn from(error: RlweError) -> Self {
        PegasusError::Ckks(error.into())
    }
}

pub(crate) fn argument<T>(operation: &'static str, what: String) -> Result<T, PegasusError> {
    Err(PegasusError::Argument { operation, what })
}
