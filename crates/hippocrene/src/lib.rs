//! Computing on encrypted arrays: a client encrypts, a server that holds no secret computes, and only the client reads the result.

mod error;
mod preset;
pub mod wire;

pub use error::Error;
pub use preset::{PRESETS, Preset, Settings};
