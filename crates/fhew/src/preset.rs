//! Named parameter sets of look-ups.

use hippocrene_ring::primes::ntt_primes;
use hippocrene_rlwe::SecretDistribution;

use crate::{FhewError, LweParameters, RotationGadget, RotationParameters};

/// A named parameter set of look-ups: rotations, and the gadget of the keys that switch to the
/// secret of their inputs.
///
/// The sets of [`Preset::by_name`] have 128 bits of security. Every key is checked at its own
/// dimension and modulus ([`hippocrene_rlwe::security::limit_at`]). Inputs have dimension 1024, a
/// prime modulus of 25 bits and uniform binary secrets. Rings have one prime of 48 bits, uniform
/// ternary secrets and two digits of 15 bits. So ciphertexts are switched to 25 bits before they
/// change the dimension. A switch from dimension `2^16` then adds an error of `2^-11.8` of the
/// modulus, which is 4.6 entries of the largest table. The rounding of the index adds as much
/// again.
///
/// [`Preset::paper_insecure`] has the dimensions, moduli and digits of PEGASUS Table IV, with
/// secrets of Hamming weight 64. The paper states 119 bits of security for error widths of `2^13`
/// and `2^10`. The errors here have width 3.19, so the set is **insecure** by the limits of this
/// library and serves comparisons only.
///
/// ```
/// use hippocrene_fhew::Preset;
///
/// let preset = Preset::by_name("lut12")?;
/// assert_eq!(preset.rotation().ring().dimension(), 1 << 12);
/// assert!(Preset::by_name("lut99").is_err());
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    name: &'static str,
    rotation: RotationParameters,
    switching: (u32, usize),
}

/// The names of the secure sets, with rings of degree `2^11`, `2^12` (the default) and `2^13`.
const NAMES: [&str; 3] = ["lut11", "lut12", "lut13"];

impl Preset {
    /// Returns the secure parameter set with this name.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] with the list of names if there is no such set.
    pub fn by_name(name: &str) -> Result<Self, FhewError> {
        let Some(name) = NAMES.into_iter().find(|preset| *preset == name) else {
            let what = format!("there is no set {name:?}; there are {}", NAMES.join(", "));
            return Err(FhewError::Parameters { what });
        };
        let rotation = match name {
            "lut11" => secure_rotation(1 << 11)?,
            "lut12" => secure_rotation(1 << 12)?,
            _ => secure_rotation(1 << 13)?,
        };
        Ok(Preset { name, rotation, switching: (4, 6) })
    }

    /// Returns the parameter set of the paper, which is **insecure** and for comparisons only.
    ///
    /// Its name is `pegasus-paper-insecure`, but [`Preset::by_name`] does not find it.
    ///
    /// # Errors
    /// None.
    pub fn paper_insecure() -> Result<Self, FhewError> {
        Ok(Preset {
            name: "pegasus-paper-insecure",
            rotation: paper_rotation()?,
            switching: (7, 7),
        })
    }

    /// Returns the names of all secure sets.
    pub fn names() -> [&'static str; 3] {
        NAMES
    }

    /// Returns the name of the set.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the parameters of the rotations.
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// Returns the bits and the number of the digits of keys that switch to
    /// [`RotationParameters::input`].
    pub fn switching_digits(&self) -> (u32, usize) {
        self.switching
    }
}

fn secure_rotation(degree: usize) -> Result<RotationParameters, FhewError> {
    let of = |dimension, bits, secret| {
        let q = ntt_primes(bits, dimension, 1, &[])?[0];
        LweParameters::new(dimension, q, secret)
    };
    let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
    let input = of(1024, 25, SecretDistribution::Binary)?;
    RotationParameters::new(input, of(degree, 48, SecretDistribution::Ternary)?, gadget)
}

fn paper_rotation() -> Result<RotationParameters, FhewError> {
    let degree = 1 << 12;
    // The same prime serves all dimensions, up to the ring degree of CKKS.
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
