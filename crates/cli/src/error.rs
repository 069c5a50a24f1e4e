//! The errors of commands, and their exit statuses.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a command stopped.
#[derive(Debug, Error)]
pub enum CliError {
    /// An error of the library.
    #[error("{}", in_options(.0))]
    Library(#[from] hippocrene::Error),
    /// An error of the library about a file.
    #[error("{}: {}", path.display(), in_options(error))]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        error: hippocrene::Error,
    },
    /// The array is encrypted for another key.
    #[error(
        "{}: it is encrypted for the key {have}, and {} is the key {need}: use the secret key of \
         {have}",
        path.display(),
        key.display()
    )]
    WrongKey {
        /// The array.
        path: PathBuf,
        /// The secret key that was given.
        key: PathBuf,
        /// The key that the array is for, with its preset.
        have: String,
        /// The key that was given, with its preset.
        need: String,
    },
    /// The arguments contradict each other or name something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write standard output: {0}")]
    Output(io::Error),
    /// A file of numbers has invalid contents.
    #[error("{}: {reason}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        reason: String,
    },
    /// Errors of several files. The first one determines the kind and the exit status.
    #[error("{}", .0.iter().map(Self::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Self>),
}

/// The message of an error of the library, with the options of the command in its advice.
fn in_options(error: &hippocrene::Error) -> String {
    [
        ("Declare a wider interval,", "Give a wider --interval,"),
        ("reduce the values first if wrapping is meant", "give --wrap if wrapping is meant"),
    ]
    .iter()
    .fold(error.to_string(), |words, (library, option)| words.replace(library, option))
}

impl CliError {
    /// Adds the file's path to an error of the library. Errors of the system contain it already.
    pub(crate) fn of(path: &Path) -> impl FnOnce(hippocrene::Error) -> Self {
        |error| match error {
            hippocrene::Error::Io { .. } => Self::Library(error),
            error => Self::File { path: path.to_owned(), error },
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// The separate errors of [`CliError::Several`], or this error alone.
    pub(crate) fn errors(&self) -> &[Self] {
        match self {
            Self::Several(errors) => errors,
            one => std::slice::from_ref(one),
        }
    }

    /// True if the reader of standard output has closed the pipe.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The name of the kind of error.
    ///
    /// It is one of [`hippocrene::Error::KINDS`], or `UsageError` or `DataError`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Library(error) | Self::File { error, .. } => error.kind(),
            Self::WrongKey { .. } => "KeyMismatchError",
            Self::Several(errors) => errors.first().map_or("UsageError", Self::kind),
            Self::Usage(_) => "UsageError",
            Self::Io { .. } | Self::Output(_) => "FileError",
            Self::Data { .. } => "DataError",
        }
    }

    /// The exit status:
    ///
    /// - 1: the operation was refused because of the contents of files.
    /// - 2: the arguments are wrong.
    /// - 3: a file cannot be read or written.
    /// - 4: a file has other contents than the command needs.
    pub fn status(&self) -> u8 {
        match self {
            Self::Library(error) | Self::File { error, .. } => match error {
                hippocrene::Error::Io { .. } => 3,
                hippocrene::Error::Format(_) => 4,
                // Without a file, such an error comes from the arguments.
                hippocrene::Error::Parameters(_) | hippocrene::Error::Argument { .. }
                    if matches!(self, Self::Library(_)) =>
                {
                    2
                }
                _ => 1,
            },
            Self::Several(errors) => errors.first().map_or(1, Self::status),
            Self::WrongKey { .. } => 1,
            Self::Io { .. } | Self::Output(_) => 3,
            Self::Data { .. } => 4,
            Self::Usage(_) => 2,
        }
    }
}
