//! The common parts of the files of all keys: the settings, followed by the key itself.

use std::{convert::Infallible, path::Path};

use hippocrene_rlwe::{Fingerprint, stop};

use super::{
    Kind, Limits, WRITE,
    cursor::Cursor,
    file::{self, Staged},
    header::{self, HEADER_BYTES, Header},
    inspect::inspect,
    settings::{Security, read_settings, settings_bytes, write_settings},
};
use crate::{Error, Session, Settings};

/// A key that has files.
pub(super) trait KeyFile: Sized {
    /// The kind of its files.
    const KIND: Kind;
    /// The bytes of the file, which are wiped if they are secret.
    type Bytes: From<Vec<u8>> + AsRef<[u8]>;

    /// The session of the key.
    fn session_of(&self) -> &Session;

    /// The fingerprint of the secret key that the key belongs to.
    fn owner(&self) -> Fingerprint;

    /// Bytes after the settings.
    fn body_bytes(&self) -> u64;

    /// Appends the bytes after the settings.
    ///
    /// `show` is called from time to time with the bytes so far, and may take them away.
    ///
    /// # Errors
    /// The errors of `show`.
    fn write_body<E>(
        &self,
        out: &mut Vec<u8>,
        show: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E>;

    /// Reads the bytes after the settings, up to the end.
    ///
    /// The key belongs to the secret key `owner` and computes on `threads` threads.
    fn read_body(
        cursor: &mut Cursor<'_>,
        settings: Settings,
        owner: Fingerprint,
        threads: usize,
    ) -> Result<Self, Error>;
}

/// Returns the file of a key. Its memory is allocated once, so that no copy of a secret stays
/// behind.
pub(super) fn write<K: KeyFile>(key: &K) -> K::Bytes {
    let Ok(bytes) = write_showing(key, |_| Ok::<_, Infallible>(()));
    bytes
}

/// As `write`, but can be stopped.
pub(super) fn write_or_stop<K: KeyFile>(key: &K) -> Result<K::Bytes, Error> {
    Ok(write_showing(key, |_| stop::check(WRITE))?)
}

fn write_showing<K: KeyFile, E>(
    key: &K,
    show: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<K::Bytes, E> {
    let payload = payload_bytes(key);
    let mut out = begin(key, Vec::with_capacity(HEADER_BYTES + payload), payload);
    key.write_body(&mut out, show)?;
    header::finish(&mut out);
    Ok(out.into())
}

/// Bytes after the header.
fn payload_bytes<K: KeyFile>(key: &K) -> usize {
    settings_bytes(key.session_of().settings()) + key.body_bytes() as usize
}

/// Appends the header and the settings.
fn begin<K: KeyFile>(key: &K, out: Vec<u8>, payload: usize) -> Vec<u8> {
    let settings = key.session_of().settings();
    let mut out =
        header::begin_in(out, K::KIND, settings.parameters().digest(), Some(key.owner()), payload);
    write_settings(&mut out, settings);
    out
}

/// Writes the file of a key.
///
/// The file of a secret key is readable by its owner only, and never overwrites another file.
pub(super) fn save<K: KeyFile>(key: &K, path: &Path) -> Result<(), Error> {
    // A pipe or a device cannot be written out of order, and the checksum comes before the payload.
    match K::KIND.is_secret() || file::is_no_file(path) {
        true => file::save(path, write_or_stop(key)?.as_ref(), K::KIND),
        false => in_pieces(key, path)?.replace(),
    }
}

/// Writes the file of a key beside its place.
pub(super) fn stage<K: KeyFile>(key: &K, path: &Path) -> Result<Staged, Error> {
    file::check_file(path)?;
    match K::KIND.is_secret() {
        true => Staged::secret(path, write_or_stop(key)?.as_ref()),
        false => in_pieces(key, path),
    }
}

/// Writes a file piece by piece. Keys take gigabytes, so no second copy of them is kept in memory.
fn in_pieces<K: KeyFile>(key: &K, path: &Path) -> Result<Staged, Error> {
    let payload = payload_bytes(key);
    let staged = Staged::in_pieces(path, |take| {
        let mut out =
            begin(key, Vec::with_capacity((HEADER_BYTES + payload).min(2 * file::PIECE)), payload);
        key.write_body(&mut out, |out| {
            if out.len() >= file::PIECE {
                take(out)?;
                out.clear();
            }
            stop::check(WRITE).map_err(Error::from)
        })?;
        take(&out)
    })?;
    debug_assert_eq!(staged.bytes(), (HEADER_BYTES + payload) as u64);
    Ok(staged)
}

/// Reads a key from its file.
pub(super) fn load<K: KeyFile>(path: &Path, threads: usize) -> Result<K, Error> {
    load_within(path, threads, &Limits::default())
}

/// As `load`, within limits.
pub(super) fn load_within<K: KeyFile>(
    path: &Path,
    threads: usize,
    limits: &Limits,
) -> Result<K, Error> {
    let mut bytes = file::read_within(path, &[K::KIND], limits)?;
    let key = read_within(&bytes, threads, Security::Required, limits);
    if !K::KIND.is_secret() {
        // Wiping gigabytes would take as long as reading them.
        drop(std::mem::take(&mut *bytes));
    }
    key
}

/// Reads a key from the bytes of its file.
pub(super) fn read<K: KeyFile>(
    bytes: &[u8],
    threads: usize,
    security: Security,
) -> Result<K, Error> {
    read_within(bytes, threads, security, &Limits::default())
}

/// As `read`, within limits.
pub(super) fn read_within<K: KeyFile>(
    bytes: &[u8],
    threads: usize,
    security: Security,
    limits: &Limits,
) -> Result<K, Error> {
    let start = Header::read(bytes)?;
    start.expect(K::KIND)?;
    limits.check_header(&start)?;
    if limits.max_memory.is_some() {
        limits.check(&inspect(bytes)?)?;
    }
    let (header, payload) = Header::open(bytes)?;
    let mut cursor = Cursor::new(payload, "settings");
    let settings = read_settings(&mut cursor, &header, security)?;
    K::read_body(&mut cursor, settings, header.key, threads)
}

/// The public methods of a [`KeyFile`] type except `to_bytes`. `$what` is the name used in the
/// docs.
macro_rules! key_file {
    ($key:ty, $what:literal) => {
        impl $key {
            #[doc = concat!("Reads ", $what, " from bytes that `to_bytes` made, for so many threads. The security of its settings is checked again.")]
            ///
            /// # Errors
            #[doc = concat!("[`Error::Format`] when the bytes are not ", $what, ", [`Error::Security`] when the parameter set is not secure.")]
            pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Self, Error> {
                key_file::read(bytes, threads, Security::Required)
            }

            /// As `from_bytes`, but accepts parameter sets without security, for tests.
            ///
            /// **Nothing encrypted with such a set is secret.**
            ///
            /// # Errors
            #[doc = concat!("[`Error::Format`] when the bytes are not ", $what, ".")]
            pub fn from_bytes_insecure(bytes: &[u8], threads: usize) -> Result<Self, Error> {
                key_file::read(bytes, threads, Security::Waived)
            }

            #[doc = concat!("Writes ", $what, " to a file, all or nothing. Only its owner can read the file of a secret key, and it is never written over another.")]
            ///
            /// # Errors
            /// [`Error::Io`] when it cannot be written, [`Error::Stopped`] when a stop was
            /// requested.
            pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
                key_file::save(self, path.as_ref())
            }

            #[doc = concat!("Writes ", $what, " beside the file that it is for, whose place it takes when it is told to.")]
            ///
            /// # Errors
            /// As `save`.
            pub fn stage(&self, path: impl AsRef<Path>) -> Result<file::Staged, Error> {
                key_file::stage(self, path.as_ref())
            }

            #[doc = concat!("Reads ", $what, " from a file, for so many threads.")]
            ///
            /// # Errors
            /// As `from_bytes`, and [`Error::Io`] when the file cannot be read.
            pub fn load(path: impl AsRef<Path>, threads: usize) -> Result<Self, Error> {
                key_file::load(path.as_ref(), threads)
            }
        }
    };
}
pub(super) use key_file;
