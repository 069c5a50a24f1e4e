//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::{RlweError, format_need_and_have};
use std::fmt::{self, Display, LowerExp};
use thiserror::Error;

use crate::{BigFloatError, encoder::EncodeError};

/// Everything that can go wrong with encrypted approximate numbers. Each message names the
/// operation, the values that it had and the values that it needs.
///
/// # Examples
/// ```
/// use hippocrene_ckks::CkksError;
///
/// let error = CkksError::Capacity { operation: "multiply", need: 40.0, have: 31.0 };
/// assert_eq!(error.to_string(), "multiply needs 40.0 bits of capacity, 31.0 are left");
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// An error of a lower layer.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// Values could not be encoded or decoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A multi-precision number is out of range.
    #[error(transparent)]
    BigFloat(#[from] BigFloatError),
    /// The ciphertext has too little capacity left.
    #[error("{operation} needs {}", of_capacity(*need, *have))]
    Capacity {
        /// The operation.
        operation: &'static str,
        /// Bits of capacity that the operation needs.
        need: f64,
        /// Bits of capacity that are left.
        have: f64,
    },
    /// Two operands have different scales.
    #[error(
        "{operation}: the scales are 2^{left:.4} and 2^{right:.4}: adjust one operand to the \
         other first"
    )]
    ScaleMismatch {
        /// The operation.
        operation: &'static str,
        /// log2 of the left operand's scale.
        left: f64,
        /// log2 of the right operand's scale.
        right: f64,
    },
    /// Two operands have different numbers of slots.
    #[error("{operation}: the operands have {left} and {right} slots")]
    SlotMismatch {
        /// The operation.
        operation: &'static str,
        /// Slots of the left operand.
        left: usize,
        /// Slots of the right operand.
        right: usize,
    },
    /// An argument cannot be used.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// The fault of the argument, with numbers.
        what: String,
    },
}

/// Describes needed and available capacity. The needed capacity is infinite if no bound of the
/// result holds.
fn of_capacity(need: f64, have: f64) -> String {
    match format_need_and_have(need, have) {
        _ if have == f64::NEG_INFINITY => "a finite bound on the values: declare one".into(),
        [_, have] if need == f64::INFINITY => {
            format!("more bits of capacity than any modulus has, {have} are left")
        }
        [need, have] => format!("{need} bits of capacity, {have} are left"),
    }
}

impl From<RingError> for CkksError {
    fn from(error: RingError) -> Self {
        CkksError::Rlwe(error.into())
    }
}

/// A number as it appears in messages: with an exponent where it would otherwise have a long row of
/// zeros.
///
/// # Examples
/// ```
/// use hippocrene_ckks::Short;
///
/// assert_eq!(Short(-3e-9).to_string(), "-3e-9");
/// assert_eq!(Short(0.25).to_string(), "0.25");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Short(pub f64);

impl Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            size if size != 0.0 && size.is_finite() && !(1e-3..1e16).contains(&size) => {
                LowerExp::fmt(&self.0, f)
            }
            _ => Display::fmt(&self.0, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_capacity_differ() {
        let message =
            |need, have| CkksError::Capacity { operation: "multiply", need, have }.to_string();
        assert_eq!(message(64.001, 64.0), "multiply needs 64.1 bits of capacity, 64.0 are left");
        let more = "multiply needs more bits of capacity than any modulus has, 2.0 are left";
        assert_eq!(message(f64::INFINITY, 2.0), more);
        let unbounded = "multiply needs a finite bound on the values: declare one";
        assert_eq!(message(f64::NAN, f64::NEG_INFINITY), unbounded);
        assert_eq!(message(1e300, 2.0), "multiply needs 1e300 bits of capacity, 2.0 are left");
    }

    #[test]
    fn numbers_are_printed_without_rows_of_zeros() {
        for (number, told) in [
            (0.0, "0"),
            (5.0, "5"),
            (-0.3, "-0.3"),
            (1e15, "1000000000000000"),
            (1e300, "1e300"),
            (-3e-9, "-3e-9"),
        ] {
            assert_eq!(Short(number).to_string(), told);
        }
        assert_eq!(format!("{:.2} {:.2}", Short(1.0 / 3.0), Short(1e-4 / 3.0)), "0.33 3.33e-5");
        assert_eq!(format!("{} {}", Short(f64::INFINITY), Short(f64::NAN)), "inf NaN");
    }
}
