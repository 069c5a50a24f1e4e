//! Standard input and standard output as file names: `-`, or the system's names for them.

use crate::console::Console;
use crate::error::CliError;
use hippocrene::wire::{self, Kind};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

/// True if an input file is standard input.
pub(crate) fn is_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// True if an output file is standard output.
///
/// It is written as a stream wherever it leads, and never replaced by another file.
pub(crate) fn is_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// A standard output that is closed.
pub(crate) struct Closed;

impl Closed {
    /// Bad file descriptor: `EBADF`, on every system that has one.
    const NUMBER: i32 = 9;
}

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(Self::NUMBER))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file or standard input with `take`.
pub(crate) fn read(
    path: &Path,
    take: impl FnOnce(&mut dyn Read) -> io::Result<Vec<u8>>,
) -> Result<Vec<u8>, CliError> {
    let read = match is_input(path) {
        true => take(&mut io::stdin().lock()),
        false => File::open(path).and_then(|mut file| take(&mut file)),
    };
    read.map_err(|source| CliError::io("read", path, source))
}

/// Warns if others than its owner may read the file of a secret key.
pub(crate) fn warn_if_readable(path: &Path, console: &mut Console<'_>) {
    if let Some(mode) = wire::readable_by_others(path) {
        let name = path.display();
        console.warn(format!(
            "{name}: others can read this secret key (mode {mode:o}). Run: chmod 600 {name}"
        ));
    }
}

/// Reads a whole file that Hippocrene wrote, of one of these kinds, or of any kind if there are
/// none.
pub(crate) fn read_ours(
    path: &Path,
    kinds: &[Kind],
) -> Result<impl Deref<Target = Vec<u8>>, CliError> {
    let read = match is_input(path) {
        true => wire::read_stream(io::stdin().lock(), None, path, kinds),
        false => wire::read(path, kinds),
    };
    read.map_err(CliError::of(path))
}
