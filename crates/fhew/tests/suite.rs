//! All integration tests in one program, which takes less time to compile and run than one program
//! per file.

mod common;

mod gates;
mod lwe;
mod rotation;
mod switching;
