//! Parameter sets by name.

mod bits;
mod chain;
mod describe;
mod failure;
mod grafted;
mod plan;
mod simple;

use hippocrene_arrays::{Error, Settings};
use hippocrene_rlwe::{
    Fingerprint, MAX_UNITS_AND_SPECIALS, Modulus, Parameters, ParametersLiteral,
    SecretDistribution, Sprout, design::Design,
};

pub use describe::{KeyBytes, PresetDescription, SecurityDescription};
pub use failure::FailureDescription;
pub use plan::{Plan, Planned};

/// A named parameter set, given by the sizes of its primes.
///
/// A grafted set is not tied to a scale, since its moduli can have any number of bits.
///
/// # Examples
/// ```
/// use hippocrene::{Family, Preset};
///
/// let preset = Preset::by_name("n13")?;
/// assert_eq!((preset.family, preset.log_degree), (Family::Grafted, 13));
/// let description = preset.describe()?;
/// assert_eq!((description.ring_degree, description.slots), (8192, 4096));
/// assert_eq!(description.security.bits, 128);
/// assert!(description.relinearisation_key.seeded < description.relinearisation_key.unseeded);
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name of the preset.
    pub name: &'static str,
    /// The purpose of the preset.
    pub family: Family,
    /// log2 of the ring degree.
    pub log_degree: u32,
    /// The distribution of the secret.
    pub secret: SecretDistribution,
    /// The name of the sprout, as [`Sprout::named`] knows it; `None` for a simple chain.
    pub sprout: Option<&'static str>,
    /// Bits of the units, as runs (bits, count) from `q_0` up.
    pub units: &'static [(u32, usize)],
    /// Bits of the specials, as runs.
    pub specials: &'static [(u32, usize)],
    /// The gadget rank.
    pub gadget_rank: usize,
    /// True if fresh ciphertexts have the sprout's power of two, see [`Preset::fresh`].
    pub fresh_two: bool,
    /// log2 of the scale for which the primes of a simple chain are chosen; `None` for grafted
    /// sets.
    pub scale_bits: Option<u32>,
}

/// The family of a parameter set, which is its purpose. See [`Preset`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Our sets for numbers: 48-bit words with a sprout, and a modulus near the security limit.
    Grafted,
    /// Simple chains for the scale `2^40` at the same ring degrees, for comparisons.
    Simple,
    /// Our sets for bits.
    Bits,
}

/// The sets, by family.
const FAMILIES: [&[Preset]; 3] = [&grafted::SETS, &simple::SETS, &bits::SETS];

/// The number of presets.
const COUNT: usize = {
    let (mut count, mut i) = (0, 0);
    while i < FAMILIES.len() {
        count += FAMILIES[i].len();
        i += 1;
    }
    count
};

/// All presets: our sets for numbers, their simple counterparts, and our sets for bits. All of them
/// are within the security limits.
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
    /// Returns the preset of this name.
    ///
    /// # Errors
    /// [`Error::Parameters`] when there is none; the message names all presets.
    pub fn by_name(name: &str) -> Result<Preset, Error> {
        PRESETS.into_iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
            Error::Parameters(format!(
                "presets: there is none named {name:?}. There are {}.",
                names.join(", ")
            ))
        })
    }

    /// Returns the preset whose parameters have this ring degree and this digest, if there is one.
    pub fn by_digest(digest: Fingerprint, degree: usize) -> Option<Preset> {
        let is_this =
            |p: &Preset| p.parameters().is_ok_and(|parameters| parameters.digest() == digest);
        PRESETS.into_iter().filter(|p| 1 << p.log_degree == degree).find(is_this)
    }

    /// Describes parameters with this digest, with the name of their preset if they have one.
    ///
    /// It looks through all presets, which takes longer than [`Preset::by_digest`].
    pub fn describe_digest(digest: Fingerprint) -> String {
        let degrees = PRESETS.iter().map(|preset| 1 << preset.log_degree);
        match degrees.into_iter().find_map(|degree| Self::by_digest(digest, degree)) {
            Some(preset) => format!("the preset {}", preset.name),
            None => format!("parameters of no preset (digest {digest})"),
        }
    }

    /// True if it has a sprout, so that its ciphertexts can be scaled down by any number of bits.
    pub fn is_grafted(&self) -> bool {
        self.sprout.is_some()
    }

    /// Returns the parameter set with its primes.
    ///
    /// They are the largest primes of their sizes, or for simple chains those that keep the scale
    /// steady (KPP22).
    ///
    /// # Errors
    /// [`Error::Security`] for a set beyond the security limits, and [`Error::Parameters`] for an
    /// invalid set. A test checks that [`PRESETS`] are neither.
    pub fn parameters(&self) -> Result<Parameters, Error> {
        Ok(Parameters::new(self.literal()?)?)
    }

    /// Returns the primes of the parameter set, without a security check.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an invalid set.
    pub fn literal(&self) -> Result<ParametersLiteral, Error> {
        let Preset { log_degree, secret, sprout, units, specials, gadget_rank, .. } = *self;
        if !(4..=17).contains(&log_degree)
            || units
                .iter()
                .chain(specials)
                .any(|(bits, n)| !(2..=61).contains(bits) || *n > MAX_UNITS_AND_SPECIALS)
        {
            return Err(Error::Parameters(format!(
                "{self:?}: ring degrees from 2^4 to 2^17, primes of 2 to 61 bits and up to \
                 {MAX_UNITS_AND_SPECIALS} of them are possible"
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

    /// The modulus of fresh ciphertexts, a divisor of `parameters.top()`.
    ///
    /// `parameters` have to be those of this preset.
    ///
    /// A limb modulo a power of two costs as much as several others. So fresh ciphertexts of most
    /// of our sets leave the power of two out, and smaller moduli use it. In the smallest sets,
    /// where every bit counts, and in our sets for bits, fresh ciphertexts have the whole sprout.
    pub fn fresh(&self, parameters: &Parameters) -> Modulus {
        let top = parameters.top();
        match self.fresh_two {
            true => top,
            false => top.words().lcm(Modulus::of_sprout(top.odd(), 0)),
        }
    }

    /// Returns settings of the parameter set with [`Settings::DEFAULT_PRECISION`].
    ///
    /// For a simple chain the precision is that of the scale for which its primes are chosen.
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
