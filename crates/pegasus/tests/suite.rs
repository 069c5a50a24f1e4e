//! The integration tests in one program, which compiles and runs in less time than one for each
//! file.

mod common;

mod coefficients;
mod functions;
mod k_means;
mod order;
mod repacking;
mod tables;
mod tree;
