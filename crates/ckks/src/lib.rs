//! CKKS: arithmetic on encrypted approximate numbers.

pub mod encoder;
