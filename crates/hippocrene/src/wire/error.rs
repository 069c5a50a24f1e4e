//! What can be wrong with bytes.

use thiserror::Error;

/// Why bytes cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes end too early.
    #[error("{what}: the data ends after {have} bytes, {need} are needed")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes at hand.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
}
