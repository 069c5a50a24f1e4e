//! The errors of this crate.

use thiserror::Error;

/// An error of this crate.
///
/// Each message names the operation, the value it received and the value it needed.
///
/// ```
/// use hippocrene_ring::{Kernel, ResidueRing};
///
/// let error = ResidueRing::prime(97, 100, Kernel::Portable).unwrap_err();
/// assert!(error.to_string().starts_with("ring degree 100 is not supported"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The ring degree is not a power of two from `2^4` to `2^17`.
    #[error("ring degree {degree} is not supported: a power of two from 16 to 131072 is needed")]
    RingDegree {
        /// The requested degree.
        degree: usize,
    },
    /// A modulus is out of range.
    #[error("modulus {modulus} is not supported: an odd number from 3 to 2^61 - 1 is needed")]
    ModulusRange {
        /// The modulus.
        modulus: u64,
    },
    /// A power of two is out of range.
    #[error("modulus 2^{exponent} is not supported: an exponent from 1 to 60 is needed")]
    Exponent {
        /// The exponent.
        exponent: u32,
    },
    /// A modulus is not prime.
    #[error("modulus {modulus} is not prime")]
    NotPrime {
        /// The modulus.
        modulus: u64,
    },
    /// A prime has no primitive `2N`-th root of unity.
    #[error(
        "prime {modulus} has no NTT of ring degree {degree}: it must be 1 modulo {}",
        2 * *degree as u128
    )]
    NoRootOfUnity {
        /// The prime.
        modulus: u64,
        /// The ring degree.
        degree: usize,
    },
    /// Two moduli of one basis share a factor.
    #[error("moduli {first} and {second} of one basis are not coprime")]
    NotCoprime {
        /// The first modulus.
        first: u64,
        /// The second modulus.
        second: u64,
    },
    /// The search for primes ran out of candidates.
    #[error(
        "{wanted} primes of {bits} bits that are 1 modulo {} are needed, but only {found} exist",
        2 * *degree as u128
    )]
    TooFewPrimes {
        /// The number of bits of the primes.
        bits: u32,
        /// The ring degree.
        degree: usize,
        /// The number of primes that were requested.
        wanted: usize,
        /// The number of primes that exist.
        found: usize,
    },
    /// The environment variable `HIPPOCRENE_KERNEL` names no kernel, or one that this CPU lacks.
    #[error("HIPPOCRENE_KERNEL={value} cannot be used: {reason}")]
    Kernel {
        /// The value of the variable.
        value: String,
        /// The reason why the value cannot be used.
        reason: String,
    },
    /// The operating system's random number generator failed.
    #[error("the operating system gave no random numbers: {reason}")]
    Entropy {
        /// The reason that the operating system gave.
        reason: String,
    },
    /// A ternary polynomial cannot have the requested Hamming weight.
    #[error("a ternary polynomial of ring degree {degree} cannot have Hamming weight {weight}")]
    HammingWeight {
        /// The ring degree.
        degree: usize,
        /// The requested weight.
        weight: usize,
    },
    /// A Galois element is not odd or not below `2N`, so it gives no automorphism.
    #[error(
        "X -> X^{element} is not an automorphism: the Galois element must be odd and below {}",
        2 * *degree as u128
    )]
    GaloisElement {
        /// The Galois element.
        element: usize,
        /// The ring degree.
        degree: usize,
    },
    /// The thread pool could not be started.
    #[error("a pool of {threads} threads could not be started: {reason}")]
    Threads {
        /// The requested number of threads.
        threads: usize,
        /// The reason that the operating system gave.
        reason: String,
    },
}
