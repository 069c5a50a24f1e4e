//! The names of the kinds of error.

use crate::Error;

impl Error {
    /// The name of every kind of error, as in the exceptions of the Python package and the JSON of
    /// the command.
    pub const KINDS: [&str; 17] = [
        "ParameterError",
        "SecurityError",
        "EncodeError",
        "ShapeError",
        "CapacityError",
        "BudgetError",
        "ScaleError",
        "MissingKeyError",
        "KeyMismatchError",
        "ParameterMismatchError",
        "FormatError",
        "FileError",
        "ArgumentError",
        "OutOfIntervalError",
        "MachineError",
        "StoppedError",
        "InternalError",
    ];

    /// The name of this error's kind: one of [`Error::KINDS`].
    pub fn kind(&self) -> &'static str {
        let index = match self {
            Error::Parameters(_) => 0,
            Error::Security(_) => 1,
            Error::Encode(_) | Error::TooLarge { .. } => 2,
            Error::Shape { .. } => 3,
            Error::Capacity { .. } => 4,
            Error::Budget(_) => 5,
            Error::Scale(_) => 6,
            Error::MissingKey { .. } | Error::NoKeys { .. } => 7,
            Error::KeyMismatch(_) => 8,
            Error::ParameterMismatch(_) | Error::PlainModulusMismatch(_) => 9,
            Error::Format(_) => 10,
            Error::Io { .. } => 11,
            Error::Argument { .. } => 12,
            Error::OutOfInterval { .. } => 13,
            Error::System(_) => 14,
            Error::Stopped(_) => 15,
            Error::Internal(_) => 16,
        };
        Self::KINDS[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_kind_of_their_variant() {
        assert_eq!(Error::Parameters("no such preset".into()).kind(), "ParameterError");
        assert_eq!(Error::shape("add", "2 and 3").kind(), "ShapeError");
        assert_eq!(Error::argument("power", "0").kind(), "ArgumentError");
        assert_eq!(
            Error::Io { path: "a".into(), source: std::io::ErrorKind::NotFound.into() }.kind(),
            "FileError"
        );
    }
}
