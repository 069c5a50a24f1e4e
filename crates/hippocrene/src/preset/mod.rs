//! Parameter sets by name.

mod bits;
mod chain;
mod describe;
mod failure;
mod grafted;
mod plan;
mod simple;
mod table_2;
mod table_3;

use hippocrene_rlwe::{
    Fingerprint, MAX_FACTORS, Modulus, Parameters, ParametersLiteral, SecretDistribution, Sprout,
    design::Design,
};

use crate::{Error, Settings};

pub use describe::{KeyBytes, PaperDescription, PresetDescription, SecurityDescription};
pub use failure::FailureDescription;
pub use plan::{Plan, Planned};

/// A named parameter set, by the sizes of its primes. No grafted set belongs to a scale: its moduli
/// have any number of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub family: Family,
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The sprout, by the name that [`Sprout::named`] knows; `None` for a simple chain.
    pub sprout: Option<&'static str>,
    /// Bits of the units, as runs (bits, count) from `q_0` up.
    pub units: &'static [(u32, usize)],
    /// Bits of the specials, as runs.
    pub specials: &'static [(u32, usize)],
    /// The gadget rank.
    pub gadget_rank: usize,
    /// Whether fresh ciphertexts have the sprout's power of two, see [`Preset::fresh`].
    pub fresh_two: bool,
    /// log2 of the scale that the primes of a simple chain are chosen for; `None` for grafted sets.
    pub scale_bits: Option<u32>,
    /// The paper that it is from.
    pub paper: Option<Paper>,
}

/// What a parameter set is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Ours: 48-bit words with a sprout, a modulus near the security limit.
    Grafted,
    /// Simple chains for the scale `2^40` at the same ring degrees, to compare with.
    Simple,
    /// The sets of GRAFT's Table 2, simple and grafted, at the paper's words.
    Table2,
    /// The sets of GRAFT's Table 3, for bits, at the paper's words.
    Table3,
    /// Ours for bits.
    Bits,
}

/// What a paper says of a parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Its `log2(PQ)`, in bits.
    pub log2_pq: u32,
    /// Its security, in bits.
    pub security: u32,
    /// Where our set differs, in words; empty where it does not.
    pub differs: &'static str,
}

/// The sets, by family.
const FAMILIES: [&[Preset]; 5] =
    [&grafted::SETS, &simple::SETS, &table_2::SETS, &table_3::SETS, &bits::SETS];

/// How many presets there are.
const COUNT: usize = {
    let (mut count, mut i) = (0, 0);
    while i < FAMILIES.len() {
        count += FAMILIES[i].len();
        i += 1;
    }
    count
};

/// The presets: ours, their simple counterparts, those of GRAFT's Tables 2 and 3, and ours for
/// bits.
pub const PRESETS: [Preset; COUNT] = {
    let mut all = [grafted::SETS[0]; COUNT];
    let (mut family, mut i, mut next) = (0, 0, 0);
    while next < COUNT {
        if i == FAMILIES[family].len() {
            (family, i) = (family + 1, 0);
        } else {
            all[next] = FAMILIES[family][i];
            (i, next) = (i + 1, next + 1);
        }
    }
    all
};

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there is none; it names those there are.
    pub fn by_name(name: &str) -> Result<Preset, Error> {
        PRESETS.into_iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
            Error::Parameters(format!(
                "there is no preset {name:?}; there are {}",
                names.join(", ")
            ))
        })
    }

    /// The preset whose parameters, at this ring degree, have this digest, if there is one. Sets
    /// that are refused are none.
    pub fn by_digest(digest: Fingerprint, degree: usize) -> Option<Preset> {
        let is_this =
            |p: &Preset| p.parameters().is_ok_and(|parameters| parameters.digest() == digest);
        PRESETS.into_iter().filter(|p| 1 << p.log_degree == degree).find(is_this)
    }

    /// Whether it has a sprout, so that its ciphertexts can be scaled down by any number of bits.
    pub fn is_grafted(&self) -> bool {
        self.sprout.is_some()
    }

    /// The parameter set, with its primes: the largest of their sizes, or for simple chains those
    /// that keep the scale steady (KPP22).
    ///
    /// # Errors
    /// [`Error::Security`] for a set beyond the security limits, as eight of GRAFT's are that have
    /// a sparse secret; never for the others of [`PRESETS`], which a test checks.
    /// [`Error::Parameters`] for one that makes no sense.
    pub fn parameters(&self) -> Result<Parameters, Error> {
        Ok(Parameters::new(self.literal()?)?)
    }

    /// [`Preset::parameters`] without the check of security, for comparisons with what papers
    /// measured. **What is encrypted with a set that [`Preset::parameters`] refuses may not be
    /// secret.**
    ///
    /// # Errors
    /// [`Error::Parameters`] for a set that makes no sense.
    pub fn parameters_insecure(&self) -> Result<Parameters, Error> {
        Ok(Parameters::new_insecure(self.literal()?)?)
    }

    fn literal(&self) -> Result<ParametersLiteral, Error> {
        let Preset { log_degree, secret, sprout, units, specials, gadget_rank, .. } = *self;
        if !(4..=17).contains(&log_degree)
            || units
                .iter()
                .chain(specials)
                .any(|(bits, n)| !(2..=61).contains(bits) || *n > MAX_FACTORS)
        {
            return Err(Error::Parameters(format!(
                "{self:?}: ring degrees from 2^4 to 2^17, primes of 2 to 61 bits and up to {MAX_FACTORS} of them are possible"
            )));
        }
        let Some(sprout) = sprout else { return chain::literal(self) };
        let sprout = Sprout::named(sprout).ok_or_else(|| {
            let names: Vec<&str> = Sprout::names().collect();
            Error::Parameters(format!(
                "there is no sprout {sprout:?}; there are {}",
                names.join(", ")
            ))
        })?;
        let sizes = |runs: &[(u32, usize)]| -> Vec<u32> {
            runs.iter().flat_map(|(bits, count)| std::iter::repeat_n(*bits, *count)).collect()
        };
        let (units, specials) = (sizes(units), sizes(specials));
        Ok(Design { log_degree, secret, sprout, units, specials, gadget_rank }.literal()?)
    }

    /// The modulus of fresh ciphertexts, a divisor of `parameters.top()`; `parameters` are those of
    /// this preset.
    ///
    /// A limb modulo a power of two costs as much as several others, so that most of our sets leave
    /// it to the moduli further down. The smallest ones, where every bit counts, and those of GRAFT
    /// have all of the sprout.
    pub fn fresh(&self, parameters: &Parameters) -> Modulus {
        let top = parameters.top();
        match self.fresh_two {
            true => top,
            false => top.words().lcm(Modulus::of_sprout(top.odd(), 0)),
        }
    }

    /// The parameter set, with [`Settings::DEFAULT_PRECISION`]; for a simple chain, with the
    /// precision of the scale that it is for.
    ///
    /// # Errors
    /// As [`Preset::parameters`].
    pub fn settings(&self) -> Result<Settings, Error> {
        let parameters = self.parameters()?;
        let fresh = self.fresh(&parameters);
        let settings = match self.scale_bits {
            Some(bits) => Settings::at_scale(parameters, bits)?,
            None => Settings::new(parameters, Settings::DEFAULT_PRECISION)?,
        };
        settings.with_fresh_two(fresh.two())
    }
}

#[cfg(test)]
mod tests;
