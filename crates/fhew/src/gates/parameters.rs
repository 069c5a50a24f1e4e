//! What gates of single bits are computed with.

use hippocrene_ring::{SIGMA, digits::Digits, primes::ntt_primes};
use hippocrene_rlwe::{Gate, Noise, SecretDistribution, noise};

use super::reading::Reading;
use crate::{FhewError, LweParameters, LweSwitchingKey, RotationGadget, RotationParameters};

/// So many standard deviations a gate is from its decision at least: it goes wrong but for a
/// probability of `2^-128`, as the tail of a Gaussian has it.
pub const CERTAIN_DEVIATIONS: f64 = 13.2;

/// Rotations, and the gadget of the key that switches to the secret of their inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateParameters {
    name: &'static str,
    rotation: RotationParameters,
    switching: Digits,
}

/// The set there is.
const NAME: &str = "gates10";

impl GateParameters {
    /// The set for data, `gates10`: 128 bits of security, a ring of degree `2^10`.
    ///
    /// Inputs have binary secrets of dimension 720 and a modulus of 17 bits, the ring a ternary
    /// secret and a modulus of 26 bits ([`hippocrene_rlwe::security::check_dimension`] for both).
    ///
    /// # Errors
    /// None.
    pub fn standard() -> Result<Self, FhewError> {
        let of = |dimension: usize, bits, secret| {
            let q = ntt_primes(bits, dimension.next_power_of_two(), 1, &[])?[0];
            LweParameters::new(dimension, q, secret)
        };
        let gadget = RotationGadget::Digits { base_log2: 6, count: 3 };
        let input = of(720, 17, SecretDistribution::Binary)?;
        let ring = of(1 << 10, 26, SecretDistribution::Ternary)?;
        Self::with(NAME, RotationParameters::new(input, ring, gadget)?, (2, 8))
    }

    /// Parameters whose security nobody has checked, for tests. `switching` has the bits and the
    /// number of the digits of the key that leads to the inputs' secret.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when the digits make no sense for the modulus, or a gate would go
    /// wrong more often than `2^-128`.
    pub fn insecure(
        rotation: RotationParameters,
        switching: (u32, usize),
    ) -> Result<Self, FhewError> {
        Self::with("insecure", rotation, switching)
    }

    fn with(
        name: &'static str,
        rotation: RotationParameters,
        switching: (u32, usize),
    ) -> Result<Self, FhewError> {
        let ((bits, count), q) = (switching, rotation.input().modulus());
        let Some(switching) = Digits::new(q, bits, count) else {
            let what = format!("{count} digits of {bits} bits are not a gadget of the modulus {q}");
            return Err(FhewError::Parameters { what });
        };
        let parameters = GateParameters { name, rotation, switching };
        // The least certain of all: a sum of three results of multiplexers, which have twice the
        // variance of a rotation.
        let worst = parameters.deviations(Gate::Majority, &[parameters.select_noise(); 3])?;
        if worst < CERTAIN_DEVIATIONS {
            let what = format!(
                "a gate is {worst:.1} standard deviations from its decision, but {CERTAIN_DEVIATIONS} are needed"
            );
            return Err(FhewError::Parameters { what });
        }
        Ok(parameters)
    }

    /// The name of the set.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The parameters of rotations. Bits are LWE ciphertexts of [`RotationParameters::ring`].
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// Bits and number of the digits of the key that switches to [`RotationParameters::input`].
    pub fn switching_digits(&self) -> (u32, usize) {
        (self.switching.base_log2(), self.switching.count())
    }

    /// The message of a bit, a residue modulo the `q` of the ring: `q/8` or `-q/8`, rounded.
    pub fn message(&self, bit: bool) -> u64 {
        let q = self.rotation.ring().modulus();
        let eighth = self.eighth();
        // No branch: the bit may be secret.
        let mask = u64::from(bit).wrapping_neg();
        (eighth & mask) | ((q - eighth) & !mask)
    }

    /// `q/8`, rounded.
    pub(super) fn eighth(&self) -> u64 {
        (self.rotation.ring().modulus() + 4) / 8
    }

    /// The error of fresh bits.
    pub fn fresh_noise(&self) -> Noise {
        noise::secret_key_encryption(SIGMA)
    }

    /// The error of a gate's result: that of a rotation ([`RotationParameters::noise`]).
    pub fn gate_noise(&self) -> Noise {
        self.rotation.noise()
    }

    /// The error of the result of a multiplexer: that of two rotations.
    pub fn select_noise(&self) -> Noise {
        self.gate_noise().plus(self.gate_noise())
    }

    /// How many standard deviations a gate of bits with these errors is from the wrong decision.
    ///
    /// The linear form of the bits has the errors of all, times its weight, 1 or 2 (of parities).
    /// To them come those of the switch of the modulus, of the switch of keys and of the rounding
    /// to the modulus `2N` ([`RotationParameters::index_noise`]). The margin is an eighth of the
    /// circle, or a quarter, less half an entry.
    ///
    /// # Errors
    /// [`FhewError::Operands`] for a number of bits that the gate does not take.
    pub fn deviations(&self, gate: Gate, errors: &[Noise]) -> Result<f64, FhewError> {
        Ok(self.deviations_of(Reading::of(gate, errors.len())?, errors))
    }

    pub(super) fn deviations_of(&self, reading: Reading, errors: &[Noise]) -> f64 {
        let (ring, input) = (self.rotation.ring(), self.rotation.input());
        let sum = errors.iter().fold(Noise::NONE, |sum, error| sum.plus(*error));
        let scaled =
            sum.scaled(reading.margin().log2() + input.log2_modulus() - ring.log2_modulus());
        let switched = scaled
            .plus(noise::rounding(ring.secret_weight(), 2))
            .plus(LweSwitchingKey::noise_of(ring, &self.switching));
        let entries = self.rotation.index_noise(switched, input.modulus());
        let margin = reading.margin() * ring.dimension() as f64 / 4.0 - 0.5;
        margin / entries.log2_std().exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_certain() {
        let parameters = GateParameters::standard().unwrap();
        let errors = [parameters.select_noise(); 3];
        for (gate, count) in Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]) {
            let Ok(deviations) = parameters.deviations(gate, &errors[..count]) else { continue };
            assert!(deviations > CERTAIN_DEVIATIONS, "{gate:?} of {count}: {deviations}");
        }
    }
}
