//! The wire format: how settings, keys and encrypted arrays are written to bytes and read back.
//!
//! `docs/wire-format.md` describes it byte by byte. A file is a header (magic, version, kind,
//! checksum, parameter digest, key fingerprint, length) and a payload. Reading checks the sizes,
//! the checksum and the fields before it allocates memory for residues. Then it checks every
//! residue.
//!
//! The methods belong to the types themselves, as `to_bytes`, `from_bytes`, `save` and `load`:
//!
//! - numbers, integers and bits: [`Settings`](crate::Settings), [`ClientKey`](crate::ClientKey),
//!   [`PublicKey`](crate::PublicKey), [`EvaluationKeys`](crate::EvaluationKeys),
//!   [`TransferKey`](crate::TransferKey), [`EncryptedArray`](crate::EncryptedArray),
//!   [`IntegerArray`](crate::IntegerArray) and [`BitArray`](crate::BitArray),
//! - private decision trees: [`TreeClient`](crate::TreeClient), [`TreeKeys`](crate::TreeKeys),
//!   [`TreeQuery`](crate::TreeQuery) and [`TreeReply`](crate::TreeReply),
//! - gates of single bits: [`GateClient`](crate::GateClient), [`GateKeys`](crate::GateKeys) and
//!   [`GateArray`](crate::GateArray).
//!
//! [`inspect()`] describes any file.

mod array;
mod bit_keys;
mod bits;
mod bootstrapping;
mod clustering;
mod cursor;
mod error;
mod fields;
mod file;
mod gates;
mod header;
mod inspect;
mod integers;
mod key_file;
mod keys;
mod kind;
mod limits;
mod look_ups;
mod memory;
mod numbers;
mod packing;
mod poly;
mod settings;
mod sparse;
mod switching_keys;
mod trees;
mod whole;

/// The names of the operations in errors about stop requests.
const READ: &str = "read";
const WRITE: &str = "write";

pub use array::FileForm;
pub use clustering::ClusteringDescription;
pub use error::FormatError;
pub use file::{
    Staged, check_replaceable, read, read_stream, read_stream_within, read_within,
    readable_by_others, save, write,
};
pub use gates::GatesInspection;
pub use inspect::{
    ArrayInspection, BitsInspection, BootstrappingInspection, ElementsInspection, Inspection,
    IntegersInspection, KeysInspection, SettingsInspection, TransferInspection, inspect,
};
pub use kind::{Kind, VERSION};
pub use limits::Limits;
pub use trees::TreesInspection;
