//! Prices by which candidates are compared, in products of a ciphertext with a plaintext.
//!
//! They were measured with the presets n13 to n15 on a Zen 4 (the bench tables `ops` and `linear`).
//! They are the same on every machine, so that client, server and simulation choose alike.

/// The price of a rotation.
pub(in crate::server) const ROTATION_IN_PLAIN_PRODUCTS: usize = 4;

/// The price of a rotation that shares its decomposition with others.
pub(in crate::server) const HOISTED_ROTATION_IN_PLAIN_PRODUCTS: usize = 2;

/// The price of a product of two ciphertexts without relinearisation.
pub(in crate::server) const TENSOR_IN_PLAIN_PRODUCTS: usize = 2;

/// The price of a linear map from one ciphertext to another, without its rotations: decomposition
/// and rescaling.
pub(in crate::server) const MAP_IN_PLAIN_PRODUCTS: usize = 8;

/// The weight of a ciphertext that later operations do not have to process.
pub(in crate::server) const SPARED_CIPHERTEXT_IN_PLAIN_PRODUCTS: usize = 8;

/// Maximum number of slots for the products of elements of two encrypted matrices, which are
/// several gigabytes of ciphertexts.
pub(in crate::server) const MAX_SLOTS_OF_PRODUCTS: usize = 1 << 24;
