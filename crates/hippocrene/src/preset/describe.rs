//! What a preset is, in numbers.

use hippocrene_rlwe::security::{self, SecurityLimit};
use serde::Serialize;

use super::{FailureDescription, Family, Paper, Preset};
use crate::Error;

/// A preset in numbers, for lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresetDescription {
    /// Its name.
    pub name: &'static str,
    /// `grafted`, `simple`, `GRAFT Table 2`, `GRAFT Table 3` or `bits`.
    pub family: &'static str,
    /// The ring degree `N`.
    pub ring_degree: usize,
    /// How many values a ciphertext holds.
    pub slots: usize,
    /// The distribution of the secret, in words.
    pub secret: String,
    /// `log2(PQ)`, in bits.
    pub log2_pq: f64,
    /// log2 of the modulus of fresh ciphertexts, in bits.
    pub usable_bits: f64,
    /// The sprout; none for a simple chain.
    pub sprout: Option<&'static str>,
    /// log2 of the scale that a simple chain is for; the other sets go with any.
    pub scale_bits: Option<u32>,
    /// Limbs of fresh ciphertexts.
    pub limbs: usize,
    /// How many special primes there are.
    pub special_primes: usize,
    /// log2 of their product, in bits.
    pub special_bits: f64,
    /// The gadget rank.
    pub gadget_rank: usize,
    /// The size of a relinearisation key, as of any other switching key.
    pub relinearisation_key: KeyBytes,
    /// How likely its bootstraps fail, of numbers and of bits, where there are any.
    pub bootstraps: Vec<FailureDescription>,
    /// Its security; none for a set beyond our limits, which is refused unless it is asked for as
    /// an insecure one.
    pub security: Option<SecurityDescription>,
    /// What the paper says that it is from.
    pub paper: Option<PaperDescription>,
}

/// Bytes of a switching key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeyBytes {
    /// As it is stored.
    pub seeded: usize,
    /// With its seed written out.
    pub unseeded: usize,
    /// As GRAFT's Table 5 counts: with its seed written out, in words of 8 bytes.
    pub words: usize,
}

/// The security of a preset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecurityDescription {
    /// In bits.
    pub bits: u32,
    /// The largest `log2(PQ)` that has it, in bits.
    pub log2_pq_limit: u32,
    /// Where that is from.
    pub source: &'static str,
}

/// What a paper says of a preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperDescription {
    /// Its `log2(PQ)`, in bits.
    pub log2_pq: u32,
    /// Its security, in bits.
    pub security_bits: u32,
    /// By how many bits `log2(PQ)` is larger here.
    pub difference_bits: f64,
    /// Where our set differs, in words; empty where it does not.
    pub differs: &'static str,
}

impl Preset {
    /// The preset in numbers. Sets that are refused are described too.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a set that makes no sense.
    pub fn describe(&self) -> Result<PresetDescription, Error> {
        let parameters = self.parameters_insecure()?;
        let (fresh, specials) = (self.fresh(&parameters), parameters.specials());
        let log2_pq = parameters.log2(parameters.full());
        let key = parameters.switching_key_size();
        let security = security::level(self.log_degree, self.secret, log2_pq);
        Ok(PresetDescription {
            name: self.name,
            family: match self.family {
                Family::Grafted => "grafted",
                Family::Simple => "simple",
                Family::Table2 => "GRAFT Table 2",
                Family::Table3 => "GRAFT Table 3",
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
            security: security.map(|SecurityLimit { bits, log2_pq, source }| SecurityDescription {
                bits,
                log2_pq_limit: log2_pq,
                source,
            }),
            paper: self.paper.map(|Paper { log2_pq: theirs, security, differs }| {
                PaperDescription {
                    log2_pq: theirs,
                    security_bits: security,
                    difference_bits: log2_pq - f64::from(theirs),
                    differs,
                }
            }),
        })
    }
}
