//! The common methods of types whose files hold no settings.

use hippocrene_rlwe::Fingerprint;

use super::{
    Kind,
    cursor::Cursor,
    header::{self, Header},
};
use crate::Error;

/// A type with files that hold no settings.
pub(super) trait WholeFile: Sized {
    const KIND: Kind;
    /// The name of the file's contents, for errors.
    const WHAT: &'static str;

    /// The digest of its parameters, and the fingerprint of the key that it belongs to.
    fn belongs_to(&self) -> [Fingerprint; 2];

    fn payload_bytes(&self) -> u64;

    fn write(&self, out: &mut Vec<u8>);

    /// Reads the payload, up to the end.
    fn read(cursor: &mut Cursor<'_>, header: &Header) -> Result<Self, Error>;
}

pub(super) fn to_bytes<T: WholeFile>(value: &T) -> Vec<u8> {
    let [parameters, key] = value.belongs_to();
    let payload = value.payload_bytes() as usize;
    let mut out = header::begin(T::KIND, parameters, Some(key), payload);
    value.write(&mut out);
    header::finish(&mut out);
    out
}

pub(super) fn from_bytes<T: WholeFile>(bytes: &[u8]) -> Result<T, Error> {
    let (header, payload) = Header::open_as(bytes, T::KIND)?;
    T::read(&mut Cursor::new(payload, T::WHAT), &header)
}

/// The public methods of a [`WholeFile`] type except `to_bytes`. `$what` is the name used in the
/// docs.
macro_rules! whole_file {
    ($type:ty, $what:literal) => {
        impl $type {
            #[doc = concat!("Reads ", $what, " from bytes that `to_bytes` made.")]
            ///
            /// # Errors
            #[doc = concat!("[`Error::Format`] when the bytes are not ", $what, ".")]
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
                crate::wire::whole::from_bytes(bytes)
            }

            #[doc = concat!("Writes ", $what, " to a file, all or nothing. Only its owner can read the file of a secret key, and it is never written over another.")]
            ///
            /// # Errors
            /// [`Error::Io`] when it cannot be written.
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), Error> {
                crate::wire::file::save(path.as_ref(), &self.to_bytes(), <Self as crate::wire::whole::WholeFile>::KIND)
            }

            #[doc = concat!("Reads ", $what, " from a file.")]
            ///
            /// # Errors
            /// As `from_bytes`, and [`Error::Io`] when the file cannot be read.
            pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
                Self::from_bytes(&crate::wire::file::load(path.as_ref(), <Self as crate::wire::whole::WholeFile>::KIND)?)
            }
        }
    };
}

/// Implements `to_bytes` for types without a secret.
macro_rules! public_bytes {
    ($($type:ty),*) => {
        $(impl $type {
            /// Returns the file as bytes.
            pub fn to_bytes(&self) -> Vec<u8> {
                crate::wire::whole::to_bytes(self)
            }
        })*
    };
}

pub(super) use {public_bytes, whole_file};
