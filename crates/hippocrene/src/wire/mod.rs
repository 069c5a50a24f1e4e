//! The wire format: how settings, keys and encrypted arrays are written to bytes and read back.
//!
//! `docs/reference/wire-format.md` describes it byte by byte. A file is a header (magic,
//! version, kind, checksum, parameter digest, key fingerprint, length) and a payload. Reading
//! checks the sizes, the checksum and the fields before it allocates memory for residues. Then it
//! checks every residue.
//!
//! One trait, [`Stored`], writes and reads everything that has files:
//!
//! - numbers, integers and bits: [`Settings`](crate::Settings), [`ClientKey`](crate::ClientKey),
//!   [`PublicKey`](crate::PublicKey), [`EvaluationKeys`](crate::EvaluationKeys),
//!   [`TransferKey`](crate::TransferKey), [`EncryptedArray`](crate::EncryptedArray),
//!   [`IntegerArray`](crate::IntegerArray), [`BitArray`](crate::BitArray) and
//!   [`Clustering`](crate::Clustering),
//! - private decision trees: [`TreeClient`](crate::TreeClient), [`TreeKeys`](crate::TreeKeys),
//!   [`TreeQuery`](crate::TreeQuery) and [`TreeReply`](crate::TreeReply),
//! - gates of single bits: [`GateClient`](crate::GateClient), [`GateKeys`](crate::GateKeys) and
//!   [`GateArray`](crate::GateArray),
//! - programs: [`Program`](crate::Program) and [`Interface`](crate::Interface).
//!
//! [`inspect()`] describes any file.

mod array;
mod bit_keys;
mod bits;
mod bootstrapping;
mod clustering;
mod cursor;
mod fields;
mod file;
mod gates;
mod header;
mod inspect;
mod integers;
mod keys;
mod limits;
mod look_ups;
mod memory;
mod numbers;
mod packing;
mod poly;
mod program;
mod settings;
mod sparse;
mod stored;
mod switching_keys;
mod trees;

/// The name of the operation in errors about stop requests.
const READ: &str = "read";

pub use array::FileForm;
pub use clustering::{ClusteringDescription, describe_clustering};
pub use file::{read, read_stream, read_stream_within, read_within, readable_by_others, save};
pub use gates::GatesInspection;
pub use hippocrene_arrays::{
    files::{Staged, check_replaceable, write},
    format::{FormatError, Kind, VERSION},
};
pub use inspect::{
    ArrayInspection, BitsInspection, BootstrappingInspection, ElementsInspection, Inspection,
    IntegersInspection, KeysInspection, SettingsInspection, TransferInspection, inspect,
};
pub use limits::Limits;
pub use program::ProgramInspection;
pub use stored::Stored;
pub use trees::TreesInspection;
