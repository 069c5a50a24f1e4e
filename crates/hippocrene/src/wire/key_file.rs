//! What the files of all keys have in common: settings, and then the key itself.

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
    /// Its bytes, which are wiped if they are secret.
    type Bytes: From<Vec<u8>> + AsRef<[u8]>;

    /// The session that it belongs to.
    fn session_of(&self) -> &Session;

    /// The secret key that it belongs to.
    fn owner(&self) -> Fingerprint;

    /// Bytes of what follows the settings.
    fn body_bytes(&self) -> u64;

    /// Appends what follows the settings. `show` sees what there is time and again, and may take it
    /// away.
    ///
    /// # Errors
    /// What `show` says.
    fn write_body<E>(
        &self,
        out: &mut Vec<u8>,
        show: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E>;

    /// Reads what follows the settings, to the end: a key of the secret key `owner`, for `threads`
    /// threads.
    fn read_body(
        cursor: &mut Cursor<'_>,
        settings: Settings,
        owner: Fingerprint,
        threads: usize,
    ) -> Result<Self, Error>;
}

/// The file of a key. Its memory is allocated once, so that no copy of a secret stays behind.
pub(super) fn write<K: KeyFile>(key: &K) -> K::Bytes {
    let Ok(bytes) = write_showing(key, |_| Ok::<_, Infallible>(()));
    bytes
}

/// The file of a key, unless it is told to stop.
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

/// Bytes of what follows the header.
fn payload_bytes<K: KeyFile>(key: &K) -> usize {
    settings_bytes(key.session_of().settings()) + key.body_bytes() as usize
}

/// The header and the settings.
fn begin<K: KeyFile>(key: &K, out: Vec<u8>, payload: usize) -> Vec<u8> {
    let settings = key.session_of().settings();
    let mut out =
        header::begin_in(out, K::KIND, settings.parameters().digest(), Some(key.owner()), payload);
    write_settings(&mut out, settings);
    out
}

/// Writes the file of a key. Only its owner can read that of a secret key, and it is never written
/// over another.
pub(super) fn save<K: KeyFile>(key: &K, path: &Path) -> Result<(), Error> {
    // What is written to as it is, such as a pipe, takes the checksum first.
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

/// Writes a file piece by piece: keys take gigabytes, and no second copy of them is in memory.
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

/// A key from a file of it.
pub(super) fn load<K: KeyFile>(path: &Path, threads: usize) -> Result<K, Error> {
    load_within(path, threads, &Limits::default())
}

/// A key from a file of it that is within limits.
pub(super) fn load_within<K: KeyFile>(
    path: &Path,
    threads: usize,
    limits: &Limits,
) -> Result<K, Error> {
    let mut bytes = file::read_within(path, &[K::KIND], limits)?;
    let key = read_within(&bytes, threads, Security::Required, limits);
    if !K::KIND.is_secret() {
        // To wipe gigabytes takes as long as to read them.
        drop(std::mem::take(&mut *bytes));
    }
    key
}

/// A key from its file.
pub(super) fn read<K: KeyFile>(
    bytes: &[u8],
    threads: usize,
    security: Security,
) -> Result<K, Error> {
    read_within(bytes, threads, security, &Limits::default())
}

/// A key from its file, which is within limits.
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

/// The public face of a [`KeyFile`], but for `to_bytes`: for the type, what it is called.
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

            /// `from_bytes` that takes parameter sets of no security: for tests. **Nothing
            /// encrypted with such a set is secret.**
            ///
            /// # Errors
            #[doc = concat!("[`Error::Format`] when the bytes are not ", $what, ".")]
            pub fn from_bytes_insecure(bytes: &[u8], threads: usize) -> Result<Self, Error> {
                key_file::read(bytes, threads, Security::Waived)
            }

            #[doc = concat!("Writes ", $what, " to a file, all or nothing. Only its owner can read the file of a secret key, and it is never written over another.")]
            ///
            /// # Errors
            /// [`Error::Io`] when it cannot be written, [`Error::Stopped`] when it is told to stop.
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
