//! The parameter sets of GRAFT's Tables 2 and 3.
//!
//! Nine of them are secure. Eight exceed our security limits, and are made without the check, to
//! compare measurements with the paper's.

mod table_2;
mod table_3;

use hippocrene::{
    Preset,
    ckks::{
        approximation::Wave,
        bits::{BitLiteral, BitPacking},
        circuits::DftLevel,
    },
};
use hippocrene_rlwe::Parameters;

use crate::Result;

pub use table_2::TABLE_2;
pub use table_3::TABLE_3;

/// A parameter set of the paper, with the paper's word sizes where ours allow them.
#[derive(Debug, Clone, Copy)]
pub struct PaperSet {
    /// Its primes, as a preset that is not one of the library.
    pub preset: Preset,
    /// The paper's `log2(PQ)`, in bits.
    pub log2_pq: u32,
    /// The paper's statement of its security, in bits.
    pub security: u32,
    /// The difference to our set, if there is any.
    pub differs: &'static str,
}

impl PaperSet {
    /// Returns the set of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn by_name(name: &str) -> Result<PaperSet> {
        let mut all = TABLE_2.into_iter().chain(TABLE_3);
        all.find(|set| set.preset.name == name)
            .ok_or_else(|| format!("GRAFT has no set {name:?}").into())
    }

    /// Returns its parameters, without a security check.
    ///
    /// # Errors
    /// As [`Preset::literal`].
    pub fn insecure_parameters(&self) -> Result<Parameters> {
        Ok(Parameters::new_insecure(self.preset.literal()?)?)
    }

    /// Returns the literal of a bootstrap of bits with this set of Table 3.
    ///
    /// # Errors
    /// If it is not one of Table 3.
    pub fn bits(&self) -> Result<BitLiteral> {
        use BitPacking::{Complex, Real};
        let (small, large): (&[u32], &[u32]) = (&[7, 6], &[5, 5, 5]);
        let (packing, base_bits, (scale_bits, falling_bits), radices, levels, bit_scale) =
            match self.preset.name {
                "simBinFHE14" => (Real, 32.0, (32.0, 0.0), small, (29.0, 14.0), 26),
                "graBinFHE14" => (Real, 28.0, (31.0, 3.0), small, (28.5, 14.0), 26),
                "graBinFHE14Opt" => (Real, 26.0, (29.5, 3.0), small, (25.0, 12.0), 24),
                "simBinFHE16" => (Complex, 32.0, (32.0, 0.0), large, (32.0, 10.7), 30),
                "graBinFHE16" => (Complex, 34.0, (34.0, 2.0), large, (21.4, 10.7), 30),
                name => return Err(format!("{name} is not made for bits").into()),
            };
        let levels_of = |scale_bits: f64| {
            radices.iter().map(|&radix_log2| DftLevel { radix_log2, scale_bits }).collect()
        };
        Ok(BitLiteral {
            packing,
            base_bits,
            sparse_weight: 32,
            // A cosine with seven levels, whose range is left once in 2^56 bits.
            wave: Wave::new(14, 2, -6.0)?,
            scale_bits,
            falling_bits,
            coefficients_to_slots: levels_of(levels.0),
            slots_to_coefficients: levels_of(levels.1),
            bit_scale,
            clean: false,
            output_bits: None,
        })
    }
}

/// Returns the parameters of a set of the paper or of a preset, the former without a security
/// check.
///
/// # Errors
/// If there is no such set.
pub fn parameters_of(name: &str) -> Result<Parameters> {
    match PaperSet::by_name(name) {
        Ok(set) => set.insecure_parameters(),
        Err(_) => Ok(Preset::by_name(name)?.parameters()?),
    }
}

/// Returns the literal of a bootstrap of bits with a set of the paper or a preset.
///
/// # Errors
/// If there is no such set, or it is not made for bits.
pub fn bits_of(name: &str) -> Result<BitLiteral> {
    match PaperSet::by_name(name) {
        Ok(set) => set.bits(),
        Err(_) => Ok(Preset::by_name(name)?.bits()?),
    }
}

#[cfg(test)]
mod tests;
