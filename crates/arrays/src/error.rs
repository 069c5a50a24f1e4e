//! The errors of the whole library.
//!
//! Each has one of the kinds in [`Error::KINDS`], and the exceptions of the Python package mirror
//! the kinds.

use std::borrow::Cow;

use hippocrene_bgv::BgvError;
use hippocrene_ckks::{BigFloatError, CkksError, Short, encoder::EncodeError};
use hippocrene_fhew::FhewError;
use hippocrene_pegasus::PegasusError;
use hippocrene_ring::RingError;
use hippocrene_rlwe::RlweError;
use thiserror::Error;

use crate::format::FormatError;

/// An error of this library.
///
/// Each message names the operation, the quantity that it had and the one that it needed.
///
/// ```
/// use hippocrene::{Error, Preset};
///
/// let error = Preset::by_name("n99").unwrap_err();
/// assert!(matches!(error, Error::Parameters(_)));
/// assert_eq!(error.kind(), "ParameterError");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter set that does not exist or makes no sense.
    #[error("{0}")]
    Parameters(String),
    /// A parameter set beyond the security limit.
    #[error(transparent)]
    Security(RlweError),
    /// Values that cannot be encoded: NaN, infinite, too large, too many.
    #[error(transparent)]
    Encode(EncodeError),
    /// A value that is too large to be encrypted with these parameters.
    #[error("{operation}: {what}")]
    TooLarge {
        /// The operation.
        operation: &'static str,
        /// The value, its place, and the largest possible value.
        what: String,
    },
    /// Shapes that do not fit each other or an operation.
    #[error("{operation}: {what}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// A description of the mismatch, with shapes.
        what: String,
    },
    /// The capacity of a ciphertext is used up.
    #[error("{source}. {advice}.")]
    Capacity {
        /// The operation, with the capacity that it needed and had.
        source: CkksError,
        /// Advice on how to proceed: sentences without the last full stop.
        advice: String,
    },
    /// The noise budget of encrypted integers is used up.
    #[error(transparent)]
    Budget(BgvError),
    /// Operands whose scales cannot be brought together.
    #[error(transparent)]
    Scale(CkksError),
    /// An evaluation key that was not generated, or only for smaller moduli.
    #[error(
        "{}{source}. Make the evaluation keys that the whole program needs \
         (KeyRequest::for_simulation).",
        operation.map_or(String::new(), |name| format!("{name}: "))
    )]
    MissingKey {
        /// The operation, unless the source names it.
        operation: Option<&'static str>,
        /// The missing key.
        source: RlweError,
    },
    /// Evaluation keys that lack a whole kind: look-up tables, bootstraps, k-means or bits.
    #[error("{operation}: {what}")]
    NoKeys {
        /// The operation.
        operation: &'static str,
        /// The keys that are missing, and how to make them.
        what: Cow<'static, str>,
    },
    /// Arrays or keys that belong to different secret keys.
    #[error(transparent)]
    KeyMismatch(RlweError),
    /// A computation that was stopped on request ([`crate::stoppable`]).
    #[error(transparent)]
    Stopped(RlweError),
    /// Arrays or keys that were made with different parameters.
    #[error(transparent)]
    ParameterMismatch(RlweError),
    /// Integers modulo different plaintext moduli.
    #[error(transparent)]
    PlainModulusMismatch(BgvError),
    /// Bytes with an invalid format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A file that cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// An argument that an operation cannot work with.
    #[error("{operation}: {what}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// A description of the fault, with numbers.
        what: String,
    },
    /// Decrypted elements that lie far outside of the interval that they were computed to have.
    #[error(
        "decrypt: {count} of {size} values are wrong, the first one{first}. They lie far outside of \
         the interval from {} to {}, which contains all results. An input led to a value outside of \
         an interval that was declared or seen in a sample, or the server computed wrongly. One such \
         input can spoil all results. Leave such inputs out, or declare wider intervals.",
        Short(*low),
        Short(*high)
    )]
    OutOfInterval {
        /// The number of these elements.
        count: usize,
        /// The number of all elements.
        size: usize,
        /// The place of the first one in words, or nothing for a single value.
        first: String,
        /// The lower end of the interval of the array.
        low: f64,
        /// The upper end of the interval of the array.
        high: f64,
    },
    /// The machine lacks the requested kernel, or cannot provide threads or random bytes.
    #[error(transparent)]
    System(RingError),
    /// An internal failure that no argument of the caller should be able to cause.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn shape(operation: &'static str, what: impl Into<String>) -> Self {
        Error::Shape { operation, what: what.into() }
    }

    /// Returns the error of an argument of `operation`.
    pub fn argument(operation: &'static str, what: impl Into<String>) -> Self {
        Error::Argument { operation, what: what.into() }
    }

    /// Names the whole operation in an error of capacity, budget or a missing key that came from a
    /// part of it.
    pub(crate) fn during(self, operation: &'static str) -> Self {
        match self {
            Error::MissingKey { source: RlweError::MissingRelinearisationKey { .. }, .. } => {
                let source = RlweError::MissingRelinearisationKey { operation };
                Error::MissingKey { operation: None, source }
            }
            Error::MissingKey { source, .. } => {
                Error::MissingKey { operation: Some(operation), source }
            }
            Error::Budget(BgvError::Budget { need, have, .. }) => {
                Error::Budget(BgvError::Budget { operation, need, have })
            }
            Error::Capacity { source: CkksError::Capacity { need, have, .. }, advice } => {
                Error::Capacity { source: CkksError::Capacity { operation, need, have }, advice }
            }
            other => other,
        }
    }

    /// Limits the available capacity in an error of capacity to `capacity`, that of an operand, in
    /// bits.
    pub(crate) fn with_at_most(self, capacity: f64) -> Self {
        match self {
            Error::Capacity { source: CkksError::Capacity { operation, need, have }, advice } => {
                let have = have.min(capacity);
                Error::Capacity { source: CkksError::Capacity { operation, need, have }, advice }
            }
            other => other,
        }
    }
}

impl From<BgvError> for Error {
    fn from(error: BgvError) -> Self {
        match error {
            BgvError::Rlwe(e) => e.into(),
            BgvError::Budget { .. } => Error::Budget(error),
            BgvError::PlainModulus { .. } => Error::Parameters(error.to_string()),
            BgvError::PlainModulusMismatch { .. } => Error::PlainModulusMismatch(error),
            BgvError::Argument { operation, what } => Error::Argument { operation, what },
            other => Error::Internal(other.to_string()),
        }
    }
}

impl From<CkksError> for Error {
    fn from(error: CkksError) -> Self {
        match error {
            CkksError::Rlwe(e) => e.into(),
            CkksError::Encode(e) => Error::Encode(e),
            CkksError::BigFloat(e) => e.into(),
            CkksError::Capacity { .. } => Error::Capacity {
                source: error,
                advice:
                    "Bootstrap earlier, while enough capacity is left, or take a preset with a \
                         larger modulus"
                        .into(),
            },
            CkksError::ScaleMismatch { .. } => Error::Scale(error),
            CkksError::Argument { operation, what } => Error::Argument { operation, what },
            other => Error::Internal(other.to_string()),
        }
    }
}

impl From<PegasusError> for Error {
    fn from(error: PegasusError) -> Self {
        match error {
            PegasusError::Ckks(e) => e.into(),
            PegasusError::Fhew(e) => e.into(),
            PegasusError::Domain { operation, have, limit } => Error::argument(
                operation,
                format!(
                    "values up to {} do not fit, and at most {} is possible. Declare a tighter \
                     bound or a domain.",
                    Short(have),
                    Short(limit)
                ),
            ),
            PegasusError::Argument { operation, what } => Error::Argument { operation, what },
            other => Error::Internal(other.to_string()),
        }
    }
}

impl From<FhewError> for Error {
    fn from(error: FhewError) -> Self {
        match error {
            FhewError::Rlwe(e) => e.into(),
            FhewError::Parameters { what } => Error::Parameters(format!("parameters: {what}")),
            FhewError::Operands { operation, what } => Error::Argument { operation, what },
            other => Error::Internal(other.to_string()),
        }
    }
}

impl From<BigFloatError> for Error {
    fn from(error: BigFloatError) -> Self {
        Error::argument("read a number", error.to_string())
    }
}

/// Formats a shape as in numpy, such as `(4, 3)` and `(3,)`.
///
/// ```
/// use hippocrene::format_shape;
///
/// assert_eq!([&[4, 3][..], &[3], &[]].map(format_shape), ["(4, 3)", "(3,)", "()"]);
/// ```
pub fn format_shape(shape: &[usize]) -> String {
    match shape {
        [length] => format!("({length},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Names the place of element `index`, in row-major order, of an array of this shape. Rows, columns
/// and positions count from 0. A single value has no place.
pub(crate) fn place(shape: &[usize], index: usize) -> String {
    let mut rest = index;
    let mut place: Vec<usize> = shape.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
    place.reverse();
    match place[..] {
        [] => String::new(),
        [position] => format!(" at position {position} (counted from 0)"),
        [row, column] => format!(" at row {row}, column {column} (counted from 0)"),
        _ => format!(" at position {} (counted from 0)", format_shape(&place)),
    }
}

impl From<RlweError> for Error {
    fn from(error: RlweError) -> Self {
        match error {
            RlweError::Ring(e) => e.into(),
            RlweError::Insecure { .. } | RlweError::NoSecurityLimit { .. } => {
                Error::Security(error)
            }
            RlweError::Parameters { .. } => Error::Parameters(error.to_string()),
            RlweError::KeyMismatch { .. } => Error::KeyMismatch(error),
            RlweError::Stopped { .. } => Error::Stopped(error),
            RlweError::ParameterMismatch { .. } => Error::ParameterMismatch(error),
            RlweError::MissingGaloisKey { .. }
            | RlweError::MissingRelinearisationKey { .. }
            | RlweError::KeyModulus { .. } => Error::MissingKey { operation: None, source: error },
            other => Error::Internal(other.to_string()),
        }
    }
}

impl From<RingError> for Error {
    fn from(error: RingError) -> Self {
        match error {
            RingError::Kernel { .. } | RingError::Threads { .. } => Error::System(error),
            other => Error::Parameters(other.to_string()),
        }
    }
}
