//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::{RlweError, format_need_and_have};
use thiserror::Error;

/// The errors of operations on encrypted integers.
///
/// The message of each error names the operation, the state that it found and the state that it
/// needs.
///
/// ```
/// use hippocrene_bgv::{BgvError, Polynomial};
///
/// let error = Polynomial::new(257, &[]).unwrap_err();
/// assert!(matches!(error, BgvError::Argument { operation: "make a polynomial", .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BgvError {
    /// An error of the crate `hippocrene_rlwe` or of a crate below it.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// The operation needs more noise budget than is left.
    #[error(
        "{operation} needs {} bits of noise budget, but {} are left. Start with a larger modulus \
         (a preset of a larger ring degree) or a smaller plaintext modulus.",
        format_need_and_have(*need, *have)[0], format_need_and_have(*need, *have)[1]
    )]
    Budget {
        /// The operation.
        operation: &'static str,
        /// The number of bits that the operation needs.
        need: f64,
        /// The number of bits that are left.
        have: f64,
    },
    /// The plaintext modulus cannot be used with these parameters or for this operation.
    #[error("plaintext modulus {t}: {what}")]
    PlainModulus {
        /// The plaintext modulus.
        t: u64,
        /// The reason, with numbers.
        what: String,
    },
    /// Two operands have different plaintext moduli.
    #[error("{operation}: the plaintext moduli are {left} and {right}")]
    PlainModulusMismatch {
        /// The operation.
        operation: &'static str,
        /// The plaintext modulus of the left operand.
        left: u64,
        /// The plaintext modulus of the right operand.
        right: u64,
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

impl From<RingError> for BgvError {
    fn from(error: RingError) -> Self {
        BgvError::Rlwe(error.into())
    }
}
