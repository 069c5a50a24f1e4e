//! The wire format: `docs/wire-format.md`, byte by byte.

mod error;

pub use error::FormatError;
