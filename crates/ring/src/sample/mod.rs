//! Random polynomials from ChaCha20 seeds.
//!
//! # The keystream
//! A [`Sampler`] reads the keystream of ChaCha20 in its original form (Bernstein 2008). The key is
//! the seed. The 64-bit nonce (state words 14 and 15, low half first) is the stream number. The
//! 64-bit block counter (state words 12 and 13, low half first) starts at 0. The keystream bytes
//! are read as consecutive little-endian 64-bit words `w_0, w_1, ...`. Every draw starts at the
//! first word that no earlier draw has used.
//!
//! The wire format depends on three of the distributions, because files hold the seeds of uniform
//! polynomials and of secret keys. So the way in which [`Sampler::uniform`], [`Sampler::ternary`]
//! and [`Sampler::sparse_ternary`] use the keystream never changes, which tests with known answers
//! check. Anyone who has a seed can expand it without this library. Errors are never stored, so the
//! way in which [`Sampler::gaussian`] uses the keystream may change between versions.
//!
//! # Secrets
//! Seeds and keystreams are wiped when dropped. [`Sampler::ternary`], [`Sampler::sparse_ternary`]
//! and [`Sampler::gaussian`] have no branch and no index that depends on their results.

mod chacha;
mod gaussian;
mod gaussian_table;
mod seed;
mod stream;
mod ternary;
mod uniform;

pub use gaussian::SIGMA;
pub use seed::Seed;

use stream::Keystream;

/// Draws from the distributions of this module, in order, with the keystream of one seed and one
/// stream number.
///
/// ```
/// use hippocrene_ring::{Sampler, Seed};
///
/// let mut sampler = Sampler::new(&Seed::random()?, 0);
/// let (mut secret, mut residues) = ([0; 16], [0; 16]);
/// sampler.sparse_ternary(5, &mut secret)?;
/// sampler.uniform(97, &mut residues);
/// assert_eq!(secret.iter().filter(|x| **x != 0).count(), 5);
/// assert!(residues.iter().all(|x| *x < 97));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
pub struct Sampler {
    stream: Keystream,
}

impl Sampler {
    /// Starts at the beginning of the keystream number `stream` of `seed`.
    ///
    /// Different streams of one seed are independent of each other and of the seeds derived from
    /// it.
    pub fn new(seed: &Seed, stream: u64) -> Self {
        Sampler { stream: Keystream::new(seed.as_bytes(), stream, 0) }
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sampler(..)")
    }
}
