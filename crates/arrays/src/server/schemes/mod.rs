//! The primitives on single ciphertexts, of numbers and of integers, and the errors that they
//! state.

pub(in crate::server) mod choice;
pub(in crate::server) mod integers;
pub(in crate::server) mod numbers;
pub(in crate::server) mod plain;
pub(in crate::server) mod primitives;
pub(in crate::server) mod shared_error;
