//! Matrix products, with plain matrices or of two encrypted ones, and sums of products.

pub(in crate::server) mod by_diagonals;
pub(in crate::server) mod by_tiles;
pub(in crate::server) mod encrypted;
pub(in crate::server) mod few_rows;
pub(in crate::server) mod many_rows;
pub(in crate::server) mod per_ciphertext;
pub(in crate::server) mod plain;
pub(in crate::server) mod sum_of_products;
