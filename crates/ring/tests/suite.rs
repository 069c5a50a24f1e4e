//! All integration tests in one program, which takes less time to compile and run than one program
//! per file. The test of allocations has its own program.

mod convert;
mod elementwise;
mod monomials;
mod ntt;
mod rings;
