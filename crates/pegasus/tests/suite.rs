//! All integration tests in one program. It compiles and runs faster than one program for each
//! file.

mod common;

mod coefficients;
mod functions;
mod k_means;
mod order;
mod repacking;
mod tables;
mod tree;
