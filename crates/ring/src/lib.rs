//! Arithmetic for lattice cryptography, without any cryptography.
//!
//! The crate has residue rings, number-theoretic transforms, RNS bases, base conversion,
//! polynomials and samplers for the cyclotomic ring `Z_q[X]/(X^N + 1)`. Results are bit-identical
//! on every CPU. The choice of a [`Kernel`] only changes the speed.

pub mod arith;
pub mod automorphism;
pub mod basis;
pub mod convert;
pub mod digits;
pub mod elementwise;
mod error;
mod kernel;
mod memory;
mod meter;
pub mod monomial;
pub mod ntt;
mod odd;
pub mod poly;
mod power_of_two;
pub mod primes;
mod ring;
pub mod sample;
pub mod scratch;
#[cfg(target_arch = "x86_64")]
mod simd256;
#[cfg(target_arch = "x86_64")]
mod simd512;
pub mod spare;
mod threads;
mod words;

pub use automorphism::Automorphism;
pub use basis::RnsBasis;
pub use error::RingError;
pub use kernel::{Cpu, Design, Kernel};
pub use memory::{MAX_SPARE_BYTES, total_mapped_bytes};
pub use meter::MemoryMeter;
pub use odd::OddRing;
pub use poly::{Domain, Poly};
pub use power_of_two::PowerOfTwoRing;
pub use ring::ResidueRing;
pub use sample::{SIGMA, Sampler, Seed};
pub use threads::Threads;
