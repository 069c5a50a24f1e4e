//! The description of a preset in numbers.

use hippocrene_arrays::Error;
use hippocrene_rlwe::security::{self, SecurityLimit};
use serde::Serialize;

use super::{FailureDescription, Family, Preset};

/// The numbers that describe a preset, for lists. See [`Preset`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresetDescription {
    /// The name of the preset.
    pub name: &'static str,
    /// `grafted`, `simple` or `bits`.
    pub family: &'static str,
    /// The ring degree `N`.
    pub ring_degree: usize,
    /// The number of values in a ciphertext.
    pub slots: usize,
    /// The distribution of the secret, in words.
    pub secret: String,
    /// `log2(PQ)`: the size of the largest modulus, in bits.
    pub log2_pq: f64,
    /// log2 of the modulus of fresh ciphertexts, in bits.
    pub usable_bits: f64,
    /// The name of the sprout; `None` for a simple chain.
    pub sprout: Option<&'static str>,
    /// log2 of the scale of a simple chain; `None` for the other sets, which allow any scale.
    pub scale_bits: Option<u32>,
    /// The number of limbs of fresh ciphertexts.
    pub limbs: usize,
    /// The number of special primes.
    pub special_primes: usize,
    /// log2 of the product of the special primes, in bits.
    pub special_bits: f64,
    /// The gadget rank.
    pub gadget_rank: usize,
    /// The size of a relinearisation key, or of any other switching key.
    pub relinearisation_key: KeyBytes,
    /// The failure probabilities of the bootstraps of numbers and of bits that the preset has.
    pub bootstraps: Vec<FailureDescription>,
    /// The security of the preset.
    pub security: SecurityDescription,
}

/// The sizes of a switching key, in bytes. See [`Preset`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeyBytes {
    /// The size as stored, with a seed.
    pub seeded: usize,
    /// The size with the seed expanded.
    pub unseeded: usize,
    /// The size as GRAFT's Table 5 counts it: with the seed expanded, in words of 8 bytes.
    pub words: usize,
}

/// The security of a preset. See [`Preset`] for an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecurityDescription {
    /// The security level, in bits.
    pub bits: u32,
    /// The largest `log2(PQ)` with this security, in bits.
    pub log2_pq_limit: u32,
    /// The source of the limit.
    pub source: &'static str,
}

impl Preset {
    /// Describes the preset in numbers.
    ///
    /// # Errors
    /// As [`Preset::parameters`].
    pub fn describe(&self) -> Result<PresetDescription, Error> {
        let parameters = self.parameters()?;
        let (fresh, specials) = (self.fresh(&parameters), parameters.specials());
        let log2_pq = parameters.log2(parameters.full());
        let key = parameters.switching_key_size();
        let level = security::level(self.log_degree, self.secret, log2_pq);
        let SecurityLimit { bits, log2_pq: log2_pq_limit, source } =
            level.ok_or_else(|| Error::Internal("a secure set has a level of security".into()))?;
        Ok(PresetDescription {
            name: self.name,
            family: match self.family {
                Family::Grafted => "grafted",
                Family::Simple => "simple",
                Family::Bits => "bits",
            },
            ring_degree: parameters.degree(),
            slots: parameters.degree() / 2,
            secret: self.secret.to_string(),
            log2_pq,
            usable_bits: parameters.log2(fresh),
            sprout: self.sprout,
            scale_bits: self.scale_bits,
            limbs: fresh.limb_count(),
            special_primes: specials.limb_count(),
            special_bits: parameters.log2(specials),
            gadget_rank: self.gadget_rank,
            relinearisation_key: KeyBytes {
                seeded: key.seeded,
                unseeded: key.packed,
                words: key.words,
            },
            bootstraps: self.failures(),
            security: SecurityDescription { bits, log2_pq_limit, source },
        })
    }
}
