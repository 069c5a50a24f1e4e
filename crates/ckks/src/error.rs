//! The errors of this crate.

use hippocrene_ring::RingError;
use hippocrene_rlwe::{RlweError, need_and_have};
use std::fmt::{self, Display, LowerExp};
use thiserror::Error;

use crate::{BigFloatError, encoder::EncodeError};

/// Everything that can go wrong with encrypted approximate numbers. Each message names the
/// operation, what it had and what it needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// Something below went wrong.
    #[error(transparent)]
    Rlwe(#[from] RlweError),
    /// Values cannot be encoded or decoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A number of many bits is out of range.
    #[error(transparent)]
    BigFloat(#[from] BigFloatError),
    /// The modulus is used up.
    #[error("{operation} needs {}", of_capacity(*need, *have))]
    Capacity {
        /// The operation.
        operation: &'static str,
        /// Bits it needs.
        need: f64,
        /// Bits that are left.
        have: f64,
    },
    /// Two operands have different scales.
    #[error(
        "{operation}: the scales are 2^{left:.4} and 2^{right:.4}: adjust one operand to the other first"
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
    /// A number that was given cannot be used.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong with it, with numbers.
        what: String,
    },
}

/// What there is of capacity and what is needed, which is infinite where no bound holds for a
/// result.
fn of_capacity(need: f64, have: f64) -> String {
    match need_and_have(need, have) {
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

/// A number as messages tell it: with an exponent where it would take a row of zeros otherwise.
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
        let says =
            |need, have| CkksError::Capacity { operation: "multiply", need, have }.to_string();
        assert_eq!(says(64.001, 64.0), "multiply needs 64.1 bits of capacity, 64.0 are left");
        let more = "multiply needs more bits of capacity than any modulus has, 2.0 are left";
        assert_eq!(says(f64::INFINITY, 2.0), more);
        let unbounded = "multiply needs a finite bound on the values: declare one";
        assert_eq!(says(f64::NAN, f64::NEG_INFINITY), unbounded);
        assert_eq!(says(1e300, 2.0), "multiply needs 1e300 bits of capacity, 2.0 are left");
    }

    #[test]
    fn numbers_are_told_without_rows_of_zeros() {
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
