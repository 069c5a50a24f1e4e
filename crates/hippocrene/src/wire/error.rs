//! What can be wrong with bytes.

use std::path::PathBuf;

use hippocrene_ckks::Short;
use hippocrene_rlwe::Fingerprint;
use thiserror::Error;

use super::{Kind, VERSION};

/// Why bytes cannot be loaded.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes end too early.
    #[error("{what}: the data ends after {have} bytes, {need} are needed")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes at hand.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// There are bytes after the end.
    #[error("{what}: {have} bytes where there should be {need}")]
    Trailing {
        /// What was being read.
        what: &'static str,
        /// Bytes at hand.
        have: u64,
        /// Bytes that belong to it.
        need: u64,
    },
    /// Not a file of this library.
    #[error("this is not a Hippocrene file: it starts with the bytes {have:02x?}")]
    Magic {
        /// The first bytes, up to eight.
        have: Vec<u8>,
    },
    /// Written by another version of the format.
    #[error("the file is of format version {have}; this library reads version {VERSION}")]
    Version {
        /// The version of the file.
        have: u16,
    },
    /// A kind that does not exist.
    #[error("the file is of kind {have}, which does not exist in format version {VERSION}")]
    UnknownKind {
        /// The number of the kind.
        have: u8,
    },
    /// Something else was expected.
    #[error("the file holds {have}, not {}", any_of(need))]
    Kind {
        /// The kind of the file.
        have: Kind,
        /// The kinds expected, of which there is one at least.
        need: Vec<Kind>,
    },
    /// The file is beyond the limits of who loads it ([`Limits`](super::Limits)).
    #[error(
        "load: the file {have}, and the limits allow {allowed}. Raise them if you trust its sender."
    )]
    Limit {
        /// What the file is or takes.
        have: String,
        /// What is allowed.
        allowed: String,
    },
    /// Bytes have changed since they were written.
    #[error("the file is damaged: its checksum is {have:08x}, its bytes have {need:08x}")]
    Checksum {
        /// The checksum that the file names.
        have: u32,
        /// The checksum of its bytes.
        need: u32,
    },
    /// Made with other parameters.
    #[error("the file was made with other parameters: digest {have}, needed {need}")]
    Parameters {
        /// The digest that the file names.
        have: Fingerprint,
        /// The digest needed.
        need: Fingerprint,
    },
    /// A secret key that does not have the fingerprint the file names.
    #[error("the file names key {have}, but holds key {need}")]
    Key {
        /// The fingerprint that the file names.
        have: Fingerprint,
        /// The fingerprint of the key inside.
        need: Fingerprint,
    },
    /// A file that holds no profile.
    #[error("the tuning profile {}: {what} (`hippocrene tune` makes a new one)", path.display())]
    Profile {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the field.
        what: String,
    },
    /// Parameters that make no sense.
    #[error("the settings in the file: {what}")]
    Settings {
        /// What is wrong, with numbers.
        what: String,
    },
    /// A field outside of its range.
    #[error("{field} is {have}; it must be {need}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it holds.
        have: String,
        /// What it may hold.
        need: String,
    },
    /// What nothing can be made of.
    #[error("{field}: {what}")]
    Unusable {
        /// The field or fields.
        field: &'static str,
        /// Why not, with numbers.
        what: String,
    },
    /// A residue that is not below its modulus.
    #[error(
        "{what}: residue {position} of limb {limb} is {value}, not below its modulus {modulus}"
    )]
    Residue {
        /// The polynomial.
        what: &'static str,
        /// The limb.
        limb: usize,
        /// The position in the limb.
        position: usize,
        /// The residue.
        value: u64,
        /// The modulus of the limb.
        modulus: u64,
    },
}

/// The kinds, any of which would do.
fn any_of(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    match &names[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl FormatError {
    pub(super) fn number(field: &'static str, have: f64, need: impl Into<String>) -> Self {
        Self::field(field, Short(have), need)
    }

    pub(super) fn field(field: &'static str, have: impl ToString, need: impl Into<String>) -> Self {
        FormatError::Field { field, have: have.to_string(), need: need.into() }
    }
}
