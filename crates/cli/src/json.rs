//! Conversions of values that JSON cannot represent directly.

use serde::{Serialize, Serializer};
use std::path::Path;

/// Writes the name of a file. Bytes that are not text become U+FFFD, as in errors.
pub(crate) fn path<S: Serializer>(
    path: impl AsRef<Path>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().display().to_string().serialize(serializer)
}

/// As [`path`], for an optional name.
pub(crate) fn some_path<S: Serializer>(
    some: &Option<&Path>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    some.map(|path| path.display().to_string()).serialize(serializer)
}
