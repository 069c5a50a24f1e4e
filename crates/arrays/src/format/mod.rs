//! The names of the wire format: the kinds of files, and the errors in their bytes.
//!
//! The readers and writers themselves are above this crate, in `hippocrene::wire`.

mod error;
mod kind;

pub use error::FormatError;
pub use kind::{KIND_AND_FLAGS, Kind, MAGIC, VERSION, says_secret};
