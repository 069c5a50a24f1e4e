//! What the files of all keys have in common: settings, and then the key itself.

use std::convert::Infallible;

use hippocrene_rlwe::{Fingerprint, stop};

use super::{
    Kind, WRITE,
    cursor::Cursor,
    header::{self, Header},
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

    /// Appends what follows the settings; `ask` whether to go on, time and again.
    ///
    /// # Errors
    /// What `ask` says.
    fn write_body<E>(&self, out: &mut Vec<u8>, ask: impl Fn() -> Result<(), E>) -> Result<(), E>;

    /// Reads what follows the settings, to the end: a key of the secret key `owner`, for `threads` threads.
    fn read_body(
        cursor: &mut Cursor<'_>,
        settings: Settings,
        owner: Fingerprint,
        threads: usize,
    ) -> Result<Self, Error>;
}

/// The file of a key. Its memory is allocated once, so that no copy of a secret stays behind.
pub(super) fn write<K: KeyFile>(key: &K) -> K::Bytes {
    let Ok(bytes) = write_asking(key, || Ok::<_, Infallible>(()));
    bytes
}

/// The file of a key, unless it is told to stop.
pub(super) fn write_or_stop<K: KeyFile>(key: &K) -> Result<K::Bytes, Error> {
    Ok(write_asking(key, || stop::check(WRITE))?)
}

fn write_asking<K: KeyFile, E>(key: &K, ask: impl Fn() -> Result<(), E>) -> Result<K::Bytes, E> {
    let settings = key.session_of().settings();
    let payload = settings_bytes(settings) + key.body_bytes() as usize;
    let mut out = header::begin(K::KIND, settings.parameters().digest(), Some(key.owner()), payload);
    write_settings(&mut out, settings);
    key.write_body(&mut out, ask)?;
    header::finish(&mut out);
    Ok(out.into())
}

/// A key from its file.
pub(super) fn read<K: KeyFile>(bytes: &[u8], threads: usize, security: Security) -> Result<K, Error> {
    let (header, payload) = Header::open_as(bytes, K::KIND)?;
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

            /// `from_bytes` that takes parameter sets of no security: for tests. **Nothing encrypted with such a set is secret.**
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
                file::save(path.as_ref(), key_file::write_or_stop(self)?.as_ref(), <Self as KeyFile>::KIND)
            }

            #[doc = concat!("Writes ", $what, " beside the file that it is for, whose place it takes when it is told to.")]
            ///
            /// # Errors
            /// As `save`.
            pub fn stage(&self, path: impl AsRef<Path>) -> Result<file::Staged, Error> {
                file::Staged::new(path.as_ref(), key_file::write_or_stop(self)?.as_ref(), <Self as KeyFile>::KIND)
            }

            #[doc = concat!("Reads ", $what, " from a file, for so many threads.")]
            ///
            /// # Errors
            /// As `from_bytes`, and [`Error::Io`] when the file cannot be read.
            pub fn load(path: impl AsRef<Path>, threads: usize) -> Result<Self, Error> {
                Self::from_bytes(&file::load(path.as_ref(), <Self as KeyFile>::KIND)?, threads)
            }
        }
    };
}
pub(super) use key_file;
