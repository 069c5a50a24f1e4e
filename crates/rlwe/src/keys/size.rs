//! The sizes of switching keys.

use crate::{Modulus, Parameters};

/// The sizes of one switching key, in bytes. All switching keys of one modulus have the same size,
/// whatever their use is.
///
/// ```
/// use hippocrene_ring::primes;
/// use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
///
/// // Two primes for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 10, 3, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[1..].to_vec(),
///     specials: primes[..1].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 2,
///     secret: SecretDistribution::Ternary,
/// })?;
/// // Two digits, each a pair of polynomials modulo three primes.
/// let size = parameters.switching_key_size();
/// assert_eq!(size.words, 2 * 2 * 3 * 1024 * 8);
/// assert_eq!(size.packed, 2 * 2 * 3 * 1024 * 6);
/// assert_eq!(size.seeded, 2 * 3 * 1024 * 6 + 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySize {
    /// As in GRAFT's Table 5: `dnum` pairs of polynomials modulo `PQ`, in words of 8 bytes and
    /// without a seed. The sprout has two words, one for its odd primes and one for its power of
    /// two.
    pub words: usize,
    /// As stored, with every residue in the bits of its modulus, but with both polynomials of each
    /// pair.
    pub packed: usize,
    /// As stored, with a seed in place of one polynomial of each pair.
    pub seeded: usize,
}

/// The bytes of the seed of a switching key.
const SEED_BYTES: usize = 32;

impl Parameters {
    /// The size of one switching key modulo `PQ_max`.
    pub fn switching_key_size(&self) -> KeySize {
        self.switching_key_size_at(self.full())
    }

    /// The size of one switching key modulo `modulus` ([`crate::SwitchingKey::modulus`]).
    ///
    /// # Panics
    /// Panics if `modulus` does not divide `PQ_max`.
    pub fn switching_key_size_at(&self, modulus: Modulus) -> KeySize {
        let pairs = self.digits(modulus).count();
        let moduli = self.limb_moduli(modulus);
        let bits: u32 = moduli.iter().map(|q| u64::BITS - (q - 1).leading_zeros()).sum();
        let half = pairs * bits as usize * self.degree() / 8;
        KeySize {
            words: 2 * pairs * moduli.len() * self.degree() * 8,
            packed: 2 * half,
            seeded: half + SEED_BYTES,
        }
    }
}
