//! What a command can fail with, and the exit status of each.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a command stopped.
#[derive(Debug, Error)]
pub enum CliError {
    /// The arguments contradict each other or name what does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of numbers holds something else.
    #[error("{}: {reason}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
}

impl CliError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// The exit status: 1 refused by the library, 2 wrong arguments, 3 a file cannot be read or written, 4 a file holds
    /// something else than the command needs.
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Io { .. } => 3,
            Self::Data { .. } => 4,
        }
    }
}
