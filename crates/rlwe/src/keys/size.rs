//! How large switching keys are.

use crate::Parameters;

/// Bytes of one switching key: for relinearisation, for one rotation, or any other; all are of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySize {
    /// As GRAFT's Table 5 counts: `dnum` pairs of polynomials modulo `PQ_max` in words of 8 bytes, with no seed. The sprout takes two
    /// words, one for its odd primes and one for its power of two.
    pub words: usize,
    /// As stored, every residue in the bits of its modulus, but with both polynomials of each pair.
    pub packed: usize,
    /// As stored: one polynomial of each pair is the seed that it is drawn from.
    pub seeded: usize,
}

/// Bytes of the seed of a switching key.
const SEED: usize = 32;

impl Parameters {
    /// The size of one switching key.
    pub fn switching_key_size(&self) -> KeySize {
        let pairs = self.digits(self.top()).count();
        let moduli = self.limb_moduli(self.full());
        let bits: u32 = moduli.iter().map(|q| u64::BITS - (q - 1).leading_zeros()).sum();
        let half = pairs * bits as usize * self.degree() / 8;
        KeySize { words: 2 * pairs * moduli.len() * self.degree() * 8, packed: 2 * half, seeded: half + SEED }
    }
}
