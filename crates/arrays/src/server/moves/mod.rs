//! Moves of elements between slots: gathering, broadcasting, and how to move with few rotations.

pub(in crate::server) mod broadcast;
pub(in crate::server) mod compact;
pub(in crate::server) mod gather;
pub(in crate::server) mod several_steps;
pub(in crate::server) mod three_steps;
pub(in crate::server) mod transfer;

/// Moves of elements between slots, as pairs `(to, from)` of positions counted over all ciphertexts
/// of an array.
pub(in crate::server) type Moves = Vec<(usize, usize)>;
