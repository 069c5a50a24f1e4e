//! Seeds, which hold the entropy of everything random.

use rand_core::{OsRng, TryRngCore};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::stream::Keystream;
use crate::RingError;

/// 32 bytes of entropy, which are the key of a ChaCha20 keystream. A seed is wiped when dropped and
/// never printed.
///
/// ```
/// use hippocrene_ring::{Sampler, Seed};
///
/// let seed = Seed::random()?;
/// let [mut a, mut b] = [[0; 4]; 2];
/// Sampler::new(&seed, 0).uniform(97, &mut a);
/// Sampler::new(&Seed::from_bytes(*seed.as_bytes()), 0).uniform(97, &mut b);
/// assert_eq!(a, b);
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; 32]);

/// The block counter at which derived seeds are read. No [`super::Sampler`] reads so far.
const DERIVED_AT_BLOCK: u64 = 1 << 63;

impl Seed {
    /// Makes a fresh seed with the cryptographic generator of the operating system.
    ///
    /// # Errors
    /// [`RingError::Entropy`] if the operating system provides no entropy.
    pub fn random() -> Result<Self, RingError> {
        let mut seed = Seed([0; 32]);
        OsRng
            .try_fill_bytes(&mut seed.0)
            .map_err(|e| RingError::Entropy { reason: e.to_string() })?;
        Ok(seed)
    }

    /// Makes the seed with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Seed(bytes)
    }

    /// Returns the bytes of the seed. They are as secret as everything derived from it.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives a separate seed for `domain`: the first 32 bytes of block `2^63` of the keystream
    /// with number `domain`.
    ///
    /// It reveals nothing about this seed, its other derived seeds or its keystreams.
    pub fn derive(&self, domain: u64) -> Seed {
        let mut derived = Seed([0; 32]);
        let mut stream = Keystream::new(&self.0, domain, DERIVED_AT_BLOCK);
        for bytes in derived.0.chunks_exact_mut(8) {
            bytes.copy_from_slice(&stream.next_word().to_le_bytes());
        }
        derived
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_seeds_are_those_of_the_documentation() {
        let seed = Seed::from_bytes(std::array::from_fn(|i| i as u8));
        let hex: String = seed.derive(7).as_bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "5f44c8b60dc6fc2325747ce9f348b9327caeb32ebe7680d26405b1b690bde1b8");
        assert_ne!(seed.derive(8).as_bytes(), seed.derive(7).as_bytes());
    }

    #[test]
    fn random_seeds_differ_and_stay_unprinted() {
        let (a, b) = (Seed::random().unwrap(), Seed::random().unwrap());
        assert_ne!(a.as_bytes(), b.as_bytes());
        assert_eq!(
            format!("{:?} {:?}", a, super::super::Sampler::new(&a, 0)),
            "Seed(..) Sampler(..)"
        );
    }
}
