//! Standard input and standard output where files are named: `-`, or the names that the system has
//! for them.

use crate::console::Console;
use crate::error::CliError;
use hippocrene::wire::{self, Kind};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

/// Whether a file that is read is standard input.
pub(crate) fn is_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// Whether a file that is written is standard output. It is a stream, wherever it leads: no other
/// file takes its place.
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

/// What `take` takes from a file.
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

/// Warns of a file with a secret key that others than its owner may read.
pub(crate) fn warn_if_readable(path: &Path, console: &mut Console<'_>) {
    if let Some(mode) = wire::readable_by_others(path) {
        let name = path.display();
        console.warn(format!(
            "{name}: others can read this secret key (mode {mode:o}). Run: chmod 600 {name}"
        ));
    }
}

/// All of a file that Hippocrene wrote, of one of these kinds (of any where there are none).
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
