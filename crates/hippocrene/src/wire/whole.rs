//! What has files of its own, without settings: their public face.

use hippocrene_rlwe::Fingerprint;

use super::{
    Kind,
    cursor::Cursor,
    header::{self, Header},
};
use crate::Error;

/// What has a file.
pub(super) trait WholeFile: Sized {
    const KIND: Kind;
    /// What is read, for errors.
    const WHAT: &'static str;

    /// The digest of its parameters, and the fingerprint of the key that it belongs to.
    fn belongs_to(&self) -> [Fingerprint; 2];

    fn payload_bytes(&self) -> u64;

    fn write(&self, out: &mut Vec<u8>);

    /// Reads the payload, to the end.
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

/// The public face of a [`WholeFile`], but for `to_bytes`.
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

/// `to_bytes` of what is not secret.
macro_rules! public_bytes {
    ($($type:ty),*) => {
        $(impl $type {
            /// The file as bytes.
            pub fn to_bytes(&self) -> Vec<u8> {
                crate::wire::whole::to_bytes(self)
            }
        })*
    };
}

pub(super) use {public_bytes, whole_file};
