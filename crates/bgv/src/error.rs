//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::{RlweError, need_and_have};
use thiserror::Error;

/// Everything that can go wrong with encrypted integers. Each message names the operation, what it
/// had and what it needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BgvError {
    /// Something below went wrong.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// The noise budget is used up.
    #[error(
        "{operation} needs {} bits of noise budget, {} are left: start with a larger modulus (a preset of a larger ring degree) or a smaller plaintext modulus",
        need_and_have(*need, *have)[0], need_and_have(*need, *have)[1]
    )]
    Budget {
        /// The operation.
        operation: &'static str,
        /// Bits it needs.
        need: f64,
        /// Bits that are left.
        have: f64,
    },
    /// The plaintext modulus cannot be used, or not for this.
    #[error("plaintext modulus {t}: {what}")]
    PlainModulus {
        /// The plaintext modulus.
        t: u64,
        /// What is wrong, with numbers.
        what: String,
    },
    /// Two things have different plaintext moduli.
    #[error("{operation}: the plaintext moduli are {left} and {right}")]
    PlainModulusMismatch {
        /// The operation.
        operation: &'static str,
        /// That of the left operand.
        left: u64,
        /// That of the right operand.
        right: u64,
    },
    /// Something that was given cannot be used.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong with it, with numbers.
        what: String,
    },
}

impl From<RingError> for BgvError {
    fn from(error: RingError) -> Self {
        BgvError::Rlwe(error.into())
    }
}
