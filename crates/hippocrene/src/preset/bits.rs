//! The parameters of bootstraps of bits, preset by preset.

use hippocrene_arrays::{Error, Settings};
use hippocrene_ckks::{
    approximation::Wave,
    bits::{BitLiteral, BitPacking},
    circuits::DftLevel,
};
use hippocrene_rlwe::SecretDistribution;

use super::{Family, Preset};

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
    },
];

/// The sizes that differ from one preset to the next, in bits.
struct Sizes {
    packing: BitPacking,
    /// The size of the base modulus `q0`.
    base: f64,
    /// log2 of the scale of the cosine's argument, and its decrease in bits.
    scale: (f64, f64),
    /// Radices of the transforms.
    radices: &'static [u32],
    /// The bits of a level of the transform to slots, and of the one to coefficients.
    levels: (f64, f64),
    bit_scale: u32,
}

/// A cosine with a range that no sum of 33 numbers below one half can leave: the range, the number
/// of doublings, and log2 of the error.
const COSINE_PARAMETERS: (u32, u32, f64) = (17, 3, -12.0);

impl Preset {
    /// The preset of these settings, if it is one for bits.
    pub fn of_bits(settings: &Settings) -> Option<Preset> {
        let parameters = settings.parameters();
        Preset::by_digest(parameters.digest(), parameters.degree())
            .filter(|p| p.family == Family::Bits)
    }

    /// Returns the literal of a bootstrap of bits with this set.
    ///
    /// There is one for `bits14`, `bits16` and `n16s`.
    ///
    /// # Errors
    /// [`Error::Parameters`] for any other set; the message names those that have one.
    pub fn bits(&self) -> Result<BitLiteral, Error> {
        let sizes = |packing, base, scale, radices, levels, bit_scale| Sizes {
            packing,
            base,
            scale,
            radices,
            levels,
            bit_scale,
        };
        let (small, large): (&[u32], &[u32]) = (&[7, 6], &[5, 5, 5]);
        let Sizes { packing, base, scale, radices, levels, bit_scale } = match self.name {
            "bits14" => sizes(BitPacking::Real, 20.0, (32.25, 5.0), small, (26.5, 13.0), 23),
            "bits16" => sizes(BitPacking::Complex, 34.0, (36.0, 5.0), large, (30.0, 16.0), 28),
            "n16s" => sizes(BitPacking::Complex, 48.0, (35.0, 3.0), large, (30.0, 17.0), 30),
            name => {
                return Err(Error::Parameters(format!(
                    "{name} cannot hold bits: use bits14, bits16 or n16s"
                )));
            }
        };
        let levels_of = |scale_bits| {
            radices
                .iter()
                .map(|&radix_log2| DftLevel { radix_log2, scale_bits })
                .collect::<Vec<_>>()
        };
        let (range, doublings, log2_error) = COSINE_PARAMETERS;
        Ok(BitLiteral {
            packing,
            base_bits: base,
            sparse_weight: 32,
            wave: Wave::new(range, doublings, log2_error)?,
            scale_bits: scale.0,
            falling_bits: scale.1,
            coefficients_to_slots: levels_of(levels.0),
            slots_to_coefficients: levels_of(levels.1),
            bit_scale,
            clean: true,
            output_bits: None,
        })
    }
}
