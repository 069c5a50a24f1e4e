//! The integration tests in one program, which compiles and runs in less time than one for each
//! file. Tests of memory have their own.

mod convert;
mod elementwise;
mod monomials;
mod ntt;
mod rings;
