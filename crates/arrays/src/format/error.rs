//! Errors in bytes of the wire format.

use std::path::PathBuf;

use hippocrene_ckks::Short;
use hippocrene_rlwe::Fingerprint;
use thiserror::Error;

use super::{Kind, VERSION};

/// Why bytes cannot be loaded.
///
/// ```
/// use hippocrene::{Error, wire};
///
/// let error = wire::inspect(b"plain text").unwrap_err();
/// assert!(matches!(error, Error::Format(wire::FormatError::Magic { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes end too early.
    #[error("{what}: the data ends after {have} bytes, {need} are needed")]
    Truncated {
        /// The part that was being read.
        what: &'static str,
        /// Bytes available.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// There are bytes after the end.
    #[error("{what}: {have} bytes where there should be {need}")]
    Trailing {
        /// The part that was being read.
        what: &'static str,
        /// Bytes available.
        have: u64,
        /// Bytes that the part should have.
        need: u64,
    },
    /// The bytes are not a file of this library.
    #[error(
        "this is not a Hippocrene file: it starts with the bytes {have:02x?}. Give a file \
         that Hippocrene wrote."
    )]
    Magic {
        /// The first bytes, up to eight.
        have: Vec<u8>,
    },
    /// The file has another version of the format.
    #[error("the file is of format version {have}; this library reads version {VERSION}")]
    Version {
        /// The version of the file.
        have: u16,
    },
    /// The file names a kind that does not exist.
    #[error("the file is of kind {have}, which does not exist in format version {VERSION}")]
    UnknownKind {
        /// The number of the kind.
        have: u8,
    },
    /// The file holds another kind than expected.
    #[error("the file holds {have}, not {}", any_of(need))]
    Kind {
        /// The kind of the file.
        have: Kind,
        /// The expected kinds, at least one.
        need: Vec<Kind>,
    },
    /// The file exceeds the limits that its reader set (`Limits`).
    #[error(
        "load: the file {have}, and the limits allow {allowed}. Raise them if you trust its sender."
    )]
    Limit {
        /// The property of the file that exceeds a limit.
        have: String,
        /// The allowed value.
        allowed: String,
    },
    /// Bytes have changed since they were written.
    #[error("the file is damaged: its checksum is {have:08x}, its bytes have {need:08x}")]
    Checksum {
        /// The checksum that the file names.
        have: u32,
        /// The checksum computed from the bytes of the file.
        need: u32,
    },
    /// The file was made with other parameters.
    #[error("the file was made with other parameters: digest {have}, needed {need}")]
    Parameters {
        /// The digest that the file names.
        have: Fingerprint,
        /// The digest needed.
        need: Fingerprint,
    },
    /// The secret key in the file does not have the fingerprint that the file names.
    #[error("the file names key {have}, but holds key {need}")]
    Key {
        /// The fingerprint that the file names.
        have: Fingerprint,
        /// The fingerprint of the key inside.
        need: Fingerprint,
    },
    /// The file does not hold a valid tuning profile.
    #[error("the tuning profile {}: {what} (`hippocrene tune` makes a new one)", path.display())]
    Profile {
        /// The file.
        path: PathBuf,
        /// The fault, with the field.
        what: String,
    },
    /// The settings in the file give no valid parameters.
    #[error("the settings in the file: {what}")]
    Settings {
        /// The fault, with numbers.
        what: String,
    },
    /// A field of the file is outside its range.
    #[error("{field} is {have}; it must be {need}")]
    Field {
        /// The field.
        field: &'static str,
        /// The value in the file.
        have: String,
        /// The allowed values.
        need: String,
    },
    /// Fields from which nothing valid can be made.
    #[error("{field}: {what}")]
    Unusable {
        /// The field or fields.
        field: &'static str,
        /// The reason, with numbers.
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

/// Lists the accepted kinds as text.
fn any_of(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    match &names[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl FormatError {
    /// The error of a number outside its range.
    pub fn number(field: &'static str, have: f64, need: impl Into<String>) -> Self {
        Self::field(field, Short(have), need)
    }

    /// The error of a field outside its range.
    pub fn field(field: &'static str, have: impl ToString, need: impl Into<String>) -> Self {
        FormatError::Field { field, have: have.to_string(), need: need.into() }
    }
}
