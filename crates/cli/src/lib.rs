//! The command `hippocrene`: keys, encryption and decryption of files of numbers, and a look into any file that
//! Hippocrene wrote. The same code runs as the binary that `cargo install` makes and inside the Python package.

pub mod arrays;
pub mod error;
