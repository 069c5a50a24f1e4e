//! Parameter sets by name.

use hippocrene_ring::primes::ntt_primes;
use hippocrene_rlwe::SecretDistribution;

use crate::{FhewError, LweParameters, RotationGadget, RotationParameters};

/// A parameter set by name: rotations, and the gadget of the keys that switch to the secret of
/// their inputs.
///
/// Ours have 128 bits of security, every key at its own dimension and modulus
/// ([`hippocrene_rlwe::security::limit_at`]): inputs of dimension 1024 modulo a prime of 25 bits
/// with uniform binary secrets, and rings of one prime of 48 bits with uniform ternary ones, of two
/// digits of 15 bits. So ciphertexts are switched to 25 bits before they change the dimension; a
/// switch from dimension `2^16` then adds an error of `2^-11.8` of the modulus, 4.6 entries of the
/// largest table, beside the 4.6 of the index's own rounding.
///
/// [`Preset::paper_insecure`] has the dimensions, moduli and digits of PEGASUS Table IV, with
/// secrets of Hamming weight 64; the paper says 119 bits of security at its error widths of `2^13`
/// and `2^10`. **Insecure** by our limits, and for comparisons only: it has our errors of width
/// 3.19.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    name: &'static str,
    rotation: RotationParameters,
    switching: (u32, usize),
}

/// The names: rings of degree `2^11`, `2^12` (the one to take if nothing else is said) and `2^13`.
const NAMES: [&str; 3] = ["lut11", "lut12", "lut13"];

impl Preset {
    /// The set of that name.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] with the names there are, when it is none of them.
    pub fn by_name(name: &str) -> Result<Self, FhewError> {
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            let what = format!("there is no set {name:?}; there are {}", NAMES.join(", "));
            return Err(FhewError::Parameters { what });
        };
        let rotation = match name {
            "lut11" => ours(1 << 11)?,
            "lut12" => ours(1 << 12)?,
            _ => ours(1 << 13)?,
        };
        Ok(Preset { name, rotation, switching: (4, 6) })
    }

    /// The set of the paper, which is **insecure** by our limits, and for comparisons only. Its
    /// name is `pegasus-paper-insecure`, by which it is not found.
    ///
    /// # Errors
    /// None.
    pub fn paper_insecure() -> Result<Self, FhewError> {
        Ok(Preset { name: "pegasus-paper-insecure", rotation: paper()?, switching: (7, 7) })
    }

    /// Every name.
    pub fn names() -> [&'static str; 3] {
        NAMES
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What look-ups are computed with.
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// Bits and number of the digits of keys that switch to [`RotationParameters::input`].
    pub fn switching_digits(&self) -> (u32, usize) {
        self.switching
    }
}

fn ours(degree: usize) -> Result<RotationParameters, FhewError> {
    let of = |dimension, bits, secret| {
        let q = ntt_primes(bits, dimension, 1, &[])?[0];
        LweParameters::new(dimension, q, secret)
    };
    let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
    let input = of(1024, 25, SecretDistribution::Binary)?;
    RotationParameters::new(input, of(degree, 48, SecretDistribution::Ternary)?, gadget)
}

fn paper() -> Result<RotationParameters, FhewError> {
    let degree = 1 << 12;
    // One prime for all dimensions, up to that of CKKS.
    let q = ntt_primes(45, 1 << 16, 1, &[])?[0];
    let p = ntt_primes(60, degree, 1, &[])?[0];
    let of = |dimension| {
        LweParameters::insecure(dimension, q, SecretDistribution::SparseTernary { weight: 64 })
    };
    RotationParameters::insecure(of(1024)?, of(degree)?, RotationGadget::SpecialPrime { p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_others_refused() {
        for name in Preset::names() {
            assert_eq!(Preset::by_name(name).unwrap().name(), name);
        }
        for other in ["lut", "pegasus-paper", "pegasus-paper-insecure"] {
            assert!(
                Preset::by_name(other)
                    .unwrap_err()
                    .to_string()
                    .ends_with("there are lut11, lut12, lut13")
            );
        }
    }

    #[test]
    fn all_that_are_found_are_secure() {
        let is_secure = |preset: &Preset| {
            let set = preset.rotation();
            RotationParameters::new(set.input(), set.ring(), set.gadget()).is_ok()
        };
        for name in Preset::names() {
            assert!(is_secure(&Preset::by_name(name).unwrap()), "{name}");
        }
        let paper = Preset::paper_insecure().unwrap();
        assert!(!is_secure(&paper) && paper.name().contains("insecure"));
    }
}
