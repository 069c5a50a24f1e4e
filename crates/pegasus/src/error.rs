//! The errors of this crate.

use hippocrene_ckks::CkksError;
use hippocrene_fhew::FhewError;
use hippocrene_rlwe::RlweError;
use thiserror::Error;

/// The errors of this crate. Each message names the operation, what it had and what it needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PegasusError {
    /// An error of CKKS.
    #[error(transparent)]
    Ckks(#[from] CkksError),
    /// An error of the LWE ciphertexts of single numbers.
    #[error(transparent)]
    Fhew(#[from] FhewError),
    /// Values that may be larger than their modulus or the domain of a table allows.
    #[error("{operation}: values up to {have} are not within the {limit} that there is room for")]
    Domain {
        /// The operation.
        operation: &'static str,
        /// The bound on the values.
        have: f64,
        /// The largest bound that is possible.
        limit: f64,
    },
    /// Numbers at different scales.
    #[error("{operation}: the scales are 2^{left:.4} and 2^{right:.4}: they have to be the same")]
    ScaleMismatch {
        /// The operation.
        operation: &'static str,
        /// log2 of the left operand's scale.
        left: f64,
        /// log2 of the right operand's scale.
        right: f64,
    },
    /// An argument that cannot be used.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong with it, with numbers.
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
