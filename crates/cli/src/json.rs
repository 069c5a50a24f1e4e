//! What JSON cannot say as it is.

use serde::{Serialize, Serializer};
use std::path::Path;

/// The name of a file, which need not be text: what is none stands as U+FFFD, as in errors.
pub(crate) fn path<S: Serializer>(
    path: impl AsRef<Path>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().display().to_string().serialize(serializer)
}

/// [`path`] where there may be none.
pub(crate) fn some_path<S: Serializer>(
    some: &Option<&Path>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    some.map(|path| path.display().to_string()).serialize(serializer)
}
