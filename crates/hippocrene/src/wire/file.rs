//! Files: written all or nothing, and read only when their header fits.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use zeroize::Zeroizing;

use super::{
    FormatError, Kind,
    header::{HEADER_BYTES, Header},
};
use crate::Error;

/// Writes `bytes` to a new file beside `path` and renames it to `path`, so that no reader ever sees half of it. Secret files can be
/// read by their owner only. A symbolic link stays one, and what is no file (a pipe, a device) is written to as it is.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, or when `path` holds a secret key and `kind` is not one.
pub fn save(path: &Path, bytes: &[u8], kind: Kind) -> Result<(), Error> {
    if !kind.is_secret() {
        check_replaceable(path)?;
    }
    write_whole(path, bytes, kind.is_secret())
}

/// Writes a file as [`save`] does, whatever there was.
///
/// # Errors
/// [`Error::Io`] when it cannot be written.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], secret: bool) -> Result<(), Error> {
    let fail = |source| Error::Io { path: path.display().to_string(), source };
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        return written.map_err(fail);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = temporary_beside(&target).map_err(fail)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &target)
    });
    written.map_err(|source| {
        // The failure itself is what counts; there may be nothing to remove.
        let _ = fs::remove_file(&temporary);
        fail(source)
    })
}

/// Checks that `path` does not hold a secret key: only another secret key is written over one, for what was encrypted with it could never
/// be read again.
///
/// # Errors
/// [`Error::Io`] when it does.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let mut start = Vec::with_capacity(HEADER_BYTES);
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file());
    // What cannot be read is not known to hold one: whether it can be written is for who writes it to find out.
    let read = is_file
        && File::open(path).is_ok_and(|f| f.take(HEADER_BYTES as u64).read_to_end(&mut start).is_ok());
    if read && Header::read(&start).is_ok_and(|header| header.kind.is_secret()) {
        let source = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it holds a secret key, which nothing else is written over",
        );
        return Err(Error::Io { path: path.display().to_string(), source });
    }
    Ok(())
}

/// A name in the same folder that no one else uses.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{}.part", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(temporary))
}

/// Reads a file of the kind expected, as [`read`] does.
pub(super) fn load(path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, Error> {
    read(path, &[kind])
}

/// The bytes of a file that this library wrote: the header first, and the rest only when it is of one of the kinds expected (if there are any) and as
/// long as the header says.
///
/// # Errors
/// [`Error::Format`] when the header is wrong, [`Error::Io`] when the file cannot be read.
pub fn read(path: &Path, kinds: &[Kind]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let fail = |source| Error::Io { path: path.display().to_string(), source };
    let file = File::open(path).map_err(fail)?;
    let mut start = Vec::with_capacity(HEADER_BYTES);
    (&file).take(HEADER_BYTES as u64).read_to_end(&mut start).map_err(fail)?;
    let header = Header::read(&start)?;
    if let Some(first) = kinds.first().filter(|_| !kinds.contains(&header.kind)) {
        header.expect(*first)?;
    }
    let metadata = file.metadata().map_err(fail)?;
    let mut bytes = Zeroizing::new(Vec::new());
    if metadata.is_file() {
        header.check_length(metadata.len())?;
        // No larger than the file, and in one piece: nothing of a secret is left behind in memory that was given back.
        let length = usize::try_from(metadata.len()).map_err(|_| too_large(&metadata))?;
        bytes.try_reserve_exact(length).map_err(|_| too_large(&metadata))?;
    }
    bytes.extend(&start);
    file.take(header.payload.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

fn too_large(metadata: &fs::Metadata) -> FormatError {
    FormatError::field("the length of the file", metadata.len(), "no more than there is memory for")
}
