//! The errors of this crate.

use thiserror::Error;

/// Everything that can go wrong with numbers. Each message names the operation, what it had and
/// what it needed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The ring degree is not a power of two from `2^4` to `2^17`.
    #[error("ring degree {degree} is not supported: a power of two from 16 to 131072 is needed")]
    RingDegree {
        /// The degree that was asked for.
        degree: usize,
    },
    /// A modulus is out of range.
    #[error("modulus {modulus} is not supported: an odd number from 3 to 2^61 - 1 is needed")]
    ModulusRange {
        /// The offending modulus.
        modulus: u64,
    },
    /// A power of two is out of range.
    #[error("modulus 2^{exponent} is not supported: an exponent from 1 to 60 is needed")]
    Exponent {
        /// The offending exponent.
        exponent: u32,
    },
    /// A modulus is not prime.
    #[error("modulus {modulus} is not prime")]
    NotPrime {
        /// The offending modulus.
        modulus: u64,
    },
    /// A prime has no primitive `2N`-th root of unity.
    #[error("prime {modulus} has no NTT of ring degree {degree}: it needs to be 1 modulo {}", 2 * *degree as u128)]
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
    #[error("only {found} of {wanted} primes of {bits} bits that are 1 modulo {} exist", 2 * *degree as u128)]
    TooFewPrimes {
        /// Bits of the primes.
        bits: u32,
        /// Ring degree.
        degree: usize,
        /// How many were asked for.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// The environment variable `HIPPOCRENE_KERNEL` names no kernel, or one this CPU cannot run.
    #[error("HIPPOCRENE_KERNEL={value} cannot be used: {reason}")]
    Kernel {
        /// The value that was set.
        value: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The operating system's random number generator failed.
    #[error("the operating system gave no random numbers: {reason}")]
    Entropy {
        /// What the operating system said.
        reason: String,
    },
    /// A sampler was asked for something that does not exist.
    #[error("a ternary polynomial of ring degree {degree} cannot have Hamming weight {weight}")]
    HammingWeight {
        /// Ring degree.
        degree: usize,
        /// The weight that was asked for.
        weight: usize,
    },
    /// A Galois element is even, and so no automorphism.
    #[error("X -> X^{element} is not an automorphism: the Galois element needs to be odd and below {}", 2 * *degree as u128)]
    GaloisElement {
        /// The element.
        element: usize,
        /// Ring degree.
        degree: usize,
    },
    /// The thread pool could not be started.
    #[error("a pool of {threads} threads could not be started: {reason}")]
    Threads {
        /// How many threads were asked for.
        threads: usize,
        /// What the operating system said.
        reason: String,
    },
}
