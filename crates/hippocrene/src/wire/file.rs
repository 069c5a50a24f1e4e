//! Reading files only if their header fits, and the permissions of secret keys.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
    thread,
};

use hippocrene_arrays::{
    Error,
    files::{BYTES_PER_PIECE, Staged, failed, is_no_file, write},
};
use hippocrene_rlwe::stop;
use zeroize::Zeroizing;

use super::{
    FormatError, Kind, Limits, READ,
    header::{HEADER_BYTES, Header},
};

/// Maximum number of bytes of a secret key file. It holds settings, with 8 bytes for each prime,
/// and seeds.
const MAX_SECRET_FILE_BYTES: usize = 1 << 14;

/// Writes the bytes of a file of this kind, as [`write()`] does.
///
/// Files of secret keys are readable by their owner only, and do not replace another file.
///
/// # Errors
/// [`Error::Io`] when the file cannot be written, when `kind` is secret and a file exists, or when
/// the existing file holds a secret key. [`Error::Stopped`] when a stop was requested.
pub fn save(path: &Path, bytes: &[u8], kind: Kind) -> Result<(), Error> {
    if kind.is_secret() && !is_no_file(path) {
        return Staged::write(path, bytes, true)?.create();
    }
    write(path, bytes)
}

/// The mode of a file that others than its owner may read, on systems where files have modes.
///
/// A secret key should not be such a file. `None` if only the owner can read it, or for anything
/// that is not a file, such as a pipe.
///
/// # Examples
/// ```
/// # #[cfg(unix)] {
/// use std::{fs, os::unix::fs::PermissionsExt};
///
/// let path = std::env::temp_dir().join(format!("readable-{}", std::process::id()));
/// fs::write(&path, "a secret")?;
/// fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
/// assert_eq!(hippocrene::wire::readable_by_others(&path), Some(0o640));
/// fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
/// assert_eq!(hippocrene::wire::readable_by_others(&path), None);
/// fs::remove_file(&path)?;
/// # }
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn readable_by_others(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let there = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let mode = std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o777;
        (mode & 0o044 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Reads at most `BYTES_PER_PIECE` bytes at a time.
struct Pieces<R>(R);

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        stop::check(READ).map_err(io::Error::other)?;
        let room = out.len().min(BYTES_PER_PIECE);
        let read = self.0.read(&mut out[..room]);
        if matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            // A signal interrupted the read, perhaps to request a stop. That is checked again only
            // after this delay.
            thread::sleep(stop::CHECK_INTERVAL);
        }
        read
    }
}

/// Reads the bytes of a file that this library wrote.
///
/// The header is read first. The rest is read only if the kind is one of `kinds`, or `kinds` is
/// empty, and the file is as long as the header says.
///
/// # Errors
/// [`Error::Format`] when the header is wrong, [`Error::Io`] when the file cannot be read,
/// [`Error::Stopped`] when a stop was requested.
pub fn read(path: &Path, kinds: &[Kind]) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_within(path, kinds, &Limits::default())
}

/// As [`read`], within limits that are checked against the header before the rest is read.
///
/// # Errors
/// As [`read`], and [`FormatError::Limit`] beyond the limits.
pub fn read_within(
    path: &Path,
    kinds: &[Kind],
    limits: &Limits,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let file = File::open(path).map_err(|source| failed(path, source))?;
    let metadata = file.metadata().map_err(|source| failed(path, source))?;
    read_stream_within(file, metadata.is_file().then_some(metadata.len()), path, kinds, limits)
}

/// As [`read`], from a stream of known or unknown length. Errors call the stream `name`.
///
/// # Errors
/// As [`read`].
pub fn read_stream(
    stream: impl Read,
    length: Option<u64>,
    name: &Path,
    kinds: &[Kind],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_stream_within(stream, length, name, kinds, &Limits::default())
}

/// As [`read_stream`], within limits like those of [`read_within`].
///
/// # Errors
/// As [`read_within`].
pub fn read_stream_within(
    stream: impl Read,
    length: Option<u64>,
    name: &Path,
    kinds: &[Kind],
    limits: &Limits,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let fail = |source| stop::check(READ).map_or_else(Error::from, |()| failed(name, source));
    let mut stream = Pieces(stream);
    let mut start = Vec::with_capacity(HEADER_BYTES);
    stream.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut start).map_err(fail)?;
    let header = Header::read(&start)?;
    if !kinds.is_empty() {
        header.expect_any(kinds)?;
    }
    limits.check_header(&header)?;
    // A growing buffer leaves copies in freed memory, so a secret key gets its full capacity at
    // once.
    let mut bytes = Zeroizing::new(Vec::with_capacity(if header.kind.is_secret() {
        MAX_SECRET_FILE_BYTES
    } else {
        0
    }));
    if let Some(length) = length {
        header.check_length(length)?;
        // The buffer is no larger than the file and in one piece, so no part of a secret stays in
        // freed memory.
        let room =
            usize::try_from(length).ok().filter(|length| bytes.try_reserve_exact(*length).is_ok());
        room.ok_or_else(|| {
            FormatError::field("the length of the file", length, "no more than there is memory for")
        })?;
    }
    bytes.extend(&start);
    stream.take(header.payload.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preset, Stored};
    use hippocrene_arrays::ClientKey;

    /// A growing buffer leaves copies of its contents in freed memory.
    #[test]
    fn secret_keys_of_unknown_length_have_room_from_the_start() {
        let key = ClientKey::generate(Preset::by_name("n12").unwrap().settings().unwrap()).unwrap();
        let bytes = key.to_bytes();
        let read = read_stream(&bytes[..], None, Path::new("a pipe"), &[Kind::SecretKey]).unwrap();
        assert!(*read == *bytes && read.capacity() >= MAX_SECRET_FILE_BYTES);
    }
}
