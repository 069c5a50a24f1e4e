//! How large switching keys are.

use crate::{Modulus, Parameters};

/// Bytes of one switching key: for relinearisation, for one rotation, or any other; all of one
/// modulus are of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySize {
    /// As GRAFT's Table 5 counts: `dnum` pairs of polynomials modulo `PQ` in words of 8 bytes, with
    /// no seed. The sprout takes two words, one for its odd primes and one for its power of two.
    pub words: usize,
    /// As stored, every residue in the bits of its modulus, but with both polynomials of each pair.
    pub packed: usize,
    /// As stored: one polynomial of each pair is the seed that it is drawn from.
    pub seeded: usize,
}

/// Bytes of the seed of a switching key.
const SEED: usize = 32;

impl Parameters {
    /// The size of one switching key modulo `PQ_max`.
    pub fn switching_key_size(&self) -> KeySize {
        self.switching_key_size_at(self.full())
    }

    /// The size of one switching key modulo `modulus` ([`crate::SwitchingKey::modulus`]).
    ///
    /// # Panics
    /// When `modulus` does not divide `PQ_max`.
    pub fn switching_key_size_at(&self, modulus: Modulus) -> KeySize {
        let pairs = self.digits(modulus).count();
        let moduli = self.limb_moduli(modulus);
        let bits: u32 = moduli.iter().map(|q| u64::BITS - (q - 1).leading_zeros()).sum();
        let half = pairs * bits as usize * self.degree() / 8;
        KeySize {
            words: 2 * pairs * moduli.len() * self.degree() * 8,
            packed: 2 * half,
            seeded: half + SEED,
        }
    }
}
