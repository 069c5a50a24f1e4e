//! The parameters of gates of single bits.

use hippocrene_ring::{SIGMA, digits::Digits, primes::ntt_primes};
use hippocrene_rlwe::{Gate, Noise, SecretDistribution, noise};

use super::linear_form::LinearForm;
use crate::{FhewError, LweParameters, LweSwitchingKey, RotationGadget, RotationParameters};

/// The minimum distance of a gate from a wrong result, in standard deviations.
///
/// A Gaussian error exceeds 13.2 standard deviations with probability below `2^-128`.
pub const MIN_GATE_DEVIATIONS: f64 = 13.2;

/// The parameters of gates: those of the rotations, and the gadget of the key that switches to the
/// secret of their inputs.
///
/// ```
/// use hippocrene_fhew::{MIN_GATE_DEVIATIONS, GateParameters};
/// use hippocrene_rlwe::Gate;
///
/// let parameters = GateParameters::standard()?;
/// assert_eq!(parameters.name(), "gates10");
/// assert_eq!(parameters.rotation().ring().dimension(), 1024);
/// let errors = [parameters.gate_noise(); 2];
/// assert!(parameters.deviations(Gate::And, &errors)? > MIN_GATE_DEVIATIONS);
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateParameters {
    name: &'static str,
    rotation: RotationParameters,
    switching: Digits,
}

/// The name of the standard parameter set.
const STANDARD_NAME: &str = "gates10";

impl GateParameters {
    /// Returns the standard parameter set, `gates10`, with 128 bits of security.
    ///
    /// The ring has degree `2^10`, a ternary secret and a modulus of 26 bits. Inputs have binary
    /// secrets of dimension 720 and a modulus of 17 bits. Both are checked by
    /// [`hippocrene_rlwe::security::check_dimension`].
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
        Self::with(STANDARD_NAME, RotationParameters::new(input, ring, gadget)?, (2, 8))
    }

    /// Returns parameters without a check of their security, for tests.
    ///
    /// `switching` has the bits and the number of the digits of the key that switches to the secret
    /// of inputs.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the digits do not fit the modulus, or a gate would fail with a
    /// probability above `2^-128`.
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
        // The worst case is a gate of three multiplexer results, each with twice the variance of a
        // rotation.
        let worst = parameters.deviations(Gate::Majority, &[parameters.select_noise(); 3])?;
        if worst < MIN_GATE_DEVIATIONS {
            let what = format!(
                "a gate is {worst:.1} standard deviations from the wrong result, but \
                 {MIN_GATE_DEVIATIONS} are needed"
            );
            return Err(FhewError::Parameters { what });
        }
        Ok(parameters)
    }

    /// Returns the name of the parameter set.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the parameters of rotations.
    ///
    /// Bits are LWE ciphertexts with the parameters [`RotationParameters::ring`].
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// Returns the bits and the number of the digits of the key that switches to
    /// [`RotationParameters::input`].
    pub fn switching_digits(&self) -> (u32, usize) {
        (self.switching.base_log2(), self.switching.count())
    }

    /// Returns the message of a bit modulo the ring's `q`: `q/8` or `-q/8`, rounded.
    pub fn message(&self, bit: bool) -> u64 {
        let q = self.rotation.ring().modulus();
        let eighth = self.eighth();
        // This has no branch, because the bit may be secret.
        let mask = u64::from(bit).wrapping_neg();
        (eighth & mask) | ((q - eighth) & !mask)
    }

    /// Returns `q/8`, rounded.
    pub(super) fn eighth(&self) -> u64 {
        (self.rotation.ring().modulus() + 4) / 8
    }

    /// Returns the error of fresh bits.
    pub fn fresh_noise(&self) -> Noise {
        noise::secret_key_encryption(SIGMA)
    }

    /// Returns the error of a gate's result, which is that of a rotation
    /// ([`RotationParameters::noise`]).
    pub fn gate_noise(&self) -> Noise {
        self.rotation.noise()
    }

    /// Returns the error of a multiplexer's result, which is that of two rotations.
    pub fn select_noise(&self) -> Noise {
        self.gate_noise().plus(self.gate_noise())
    }

    /// Returns the distance of a gate from a wrong result, in standard deviations of its error.
    ///
    /// `errors` are the errors of the operands. The error of the linear form is the sum of these
    /// errors times the form's weight, which is 1, or 2 for parities. The modulus switch, the key
    /// switch and the rounding to the modulus `2N` ([`RotationParameters::index_noise`]) add
    /// theirs. The margin is the weight in eighths of the circle, less half an entry.
    ///
    /// # Errors
    /// [`FhewError::Operands`] if the number of operands does not fit the gate.
    pub fn deviations(&self, gate: Gate, errors: &[Noise]) -> Result<f64, FhewError> {
        Ok(self.deviations_of(LinearForm::of(gate, errors.len())?, errors))
    }

    pub(super) fn deviations_of(&self, form: LinearForm, errors: &[Noise]) -> f64 {
        let (ring, input) = (self.rotation.ring(), self.rotation.input());
        let sum = errors.iter().fold(Noise::NONE, |sum, error| sum.plus(*error));
        let scaled = sum.scaled(form.margin().log2() + input.log2_modulus() - ring.log2_modulus());
        let switched = scaled
            .plus(noise::rounding(ring.secret_weight(), 2))
            .plus(LweSwitchingKey::noise_of(ring, &self.switching));
        let entries = self.rotation.index_noise(switched, input.modulus());
        let margin = form.margin() * ring.dimension() as f64 / 4.0 - 0.5;
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
            assert!(deviations > MIN_GATE_DEVIATIONS, "{gate:?} of {count}: {deviations}");
        }
    }
}
