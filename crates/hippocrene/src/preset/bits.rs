//! The parameters of bootstraps of bits, preset by preset.

use hippocrene_ckks::{
    approximation::Wave,
    bits::{BitLiteral, BitPacking},
    circuits::DftLevel,
};
use hippocrene_rlwe::SecretDistribution;

use super::{Family, Preset};
use crate::{Error, Session, Settings};

/// Our sets for bits.
///
/// They have the ternary secret, for which there is a standard.
///
/// `bits14` uses real slots, a base of 20 bits and words of 44 and 45 bits. So `log2(PQ)` is near
/// the security limit, `P` is above every digit, and there is capacity for two products after a
/// bootstrap.
///
/// `bits16` uses complex slots, where there are no products. Its modulus is only as large as a gate
/// needs, which is less than half of the secure size.
pub(super) const SETS: [Preset; 2] = [
    Preset {
        name: "bits14",
        family: Family::Bits,
        log_degree: 14,
        secret: SecretDistribution::Ternary,
        sprout: Some("sprout-15-16-17.3"),
        units: &[(20, 1), (44, 5), (45, 2)],
        specials: &[(51, 1)],
        gadget_rank: 9,
        fresh_two: true,
        scale_bits: None,
        paper: None,
    },
    Preset {
        name: "bits16",
        family: Family::Bits,
        log_degree: 16,
        secret: SecretDistribution::Ternary,
        sprout: Some("sprout-19-21-23"),
        units: &[(34, 1), (46, 9)],
        specials: &[(47, 6)],
        gadget_rank: 2,
        fresh_two: true,
        scale_bits: None,
        paper: None,
    },
];

/// The sizes that differ from one preset to the next, in bits.
struct Sizes {
    packing: BitPacking,
    /// The size of the base modulus `q0`.
    base: f64,
    /// The range of the cosine, its number of doublings and log2 of its error.
    wave: (u32, u32, f64),
    /// log2 of the scale of the cosine's argument, and its decrease in bits.
    scale: (f64, f64),
    /// Radices of the transforms and the bits of a level, to slots and back.
    radices: &'static [u32],
    to_slots: f64,
    to_coefficients: f64,
    bit_scale: u32,
    clean: bool,
}

/// A cosine with a range that no sum of 33 numbers below one half can leave.
const SURE: (u32, u32, f64) = (17, 3, -12.0);
/// A cosine of GRAFT with seven levels, whose range is left once in `2^56` bits.
const SHORT: (u32, u32, f64) = (14, 2, -6.0);

impl Session {
    /// The preset of this session, if it is one for bits ([`Settings::bit_preset`]).
    pub fn bit_preset(&self) -> Option<Preset> {
        self.settings().bit_preset()
    }
}

impl Settings {
    /// The preset of these settings, if it is one for bits.
    pub fn bit_preset(&self) -> Option<Preset> {
        let parameters = self.parameters();
        Preset::by_digest(parameters.digest(), parameters.degree())
            .filter(|p| p.family == Family::Bits)
    }
}

impl Preset {
    /// Returns the literal of a bootstrap of bits with this set.
    ///
    /// There is one for `bits14`, `bits16`, `n16s` and the sets of GRAFT's Table 3.
    ///
    /// # Errors
    /// [`Error::Parameters`] for any other set; the message names those that have one.
    pub fn bits(&self) -> Result<BitLiteral, Error> {
        use BitPacking::{Complex, Real};
        let (small, large): (&[u32], &[u32]) = (&[7, 6], &[5, 5, 5]);
        let sizes =
            |packing, base, wave, scale, (radices, to_slots, to_coefficients), bit_scale, clean| {
                Sizes {
                    packing,
                    base,
                    wave,
                    scale,
                    radices,
                    to_slots,
                    to_coefficients,
                    bit_scale,
                    clean,
                }
            };
        let Sizes {
            packing,
            base,
            wave,
            scale,
            radices,
            to_slots,
            to_coefficients,
            bit_scale,
            clean,
        } = match self.name {
            "bits14" => sizes(Real, 20.0, SURE, (32.25, 5.0), (small, 26.5, 13.0), 23, true),
            "bits16" => sizes(Complex, 34.0, SURE, (36.0, 5.0), (large, 30.0, 16.0), 28, true),
            "n16s" => sizes(Complex, 48.0, SURE, (35.0, 3.0), (large, 30.0, 17.0), 30, true),
            "simBinFHE14" => sizes(Real, 32.0, SHORT, (32.0, 0.0), (small, 29.0, 14.0), 26, false),
            "graBinFHE14" => sizes(Real, 28.0, SHORT, (31.0, 3.0), (small, 28.5, 14.0), 26, false),
            "graBinFHE14Opt" => {
                sizes(Real, 26.0, SHORT, (29.5, 3.0), (small, 25.0, 12.0), 24, false)
            }
            "simBinFHE16" => {
                sizes(Complex, 32.0, SHORT, (32.0, 0.0), (large, 32.0, 10.7), 30, false)
            }
            "graBinFHE16" => {
                sizes(Complex, 34.0, SHORT, (34.0, 2.0), (large, 21.4, 10.7), 30, false)
            }
            name => {
                return Err(Error::Parameters(format!(
                    "{name} is not made for bits: bits14, bits16, n16s and the sets of GRAFT's Table 3 are"
                )));
            }
        };
        let levels = |scale_bits| {
            radices
                .iter()
                .map(|&radix_log2| DftLevel { radix_log2, scale_bits })
                .collect::<Vec<_>>()
        };
        let (k, doublings, log2_error) = wave;
        Ok(BitLiteral {
            packing,
            base_bits: base,
            sparse_weight: 32,
            wave: Wave::new(k, doublings, log2_error)?,
            scale_bits: scale.0,
            falling_bits: scale.1,
            coefficients_to_slots: levels(to_slots),
            slots_to_coefficients: levels(to_coefficients),
            bit_scale,
            clean,
            output_bits: None,
        })
    }
}
