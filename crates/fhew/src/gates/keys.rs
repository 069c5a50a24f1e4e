//! The public keys that gates need.

use hippocrene_ring::Threads;

use super::{GateParameters, GateSecretKey};
use crate::{BlindRotationKey, FhewError, LweSwitchingKey};

/// The two public keys that gates need: one switches keys, the other rotates.
///
/// They hold no secret. See [`GateSecretKey`] for an example.
#[derive(Debug, Clone)]
pub struct GateKeys {
    parameters: GateParameters,
    switching: LweSwitchingKey,
    rotation: BlindRotationKey,
}

impl GateKeys {
    /// Makes fresh keys, in parallel on `threads`.
    ///
    /// # Errors
    /// When the operating system provides no entropy.
    pub fn generate(secret: &GateSecretKey, threads: &Threads) -> Result<Self, FhewError> {
        let (parameters, [ring, input]) = (secret.parameters(), secret.secrets());
        let (base_log2, count) = parameters.switching_digits();
        let switching = LweSwitchingKey::generate(ring, input, base_log2, count)?;
        let rotation = BlindRotationKey::generate(parameters.rotation(), input, ring, threads)?;
        Ok(GateKeys { parameters, switching, rotation })
    }

    /// Assembles keys from their parts.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if a key was made with other parameters than `parameters`, or the
    /// two keys belong to different secrets.
    pub fn from_parts(
        parameters: GateParameters,
        switching: LweSwitchingKey,
        rotation: BlindRotationKey,
    ) -> Result<Self, FhewError> {
        let (ring, input) = (parameters.rotation().ring(), parameters.rotation().input());
        let digits = (switching.digits().base_log2(), switching.digits().count());
        let [from, to] = switching.parameters();
        let refused = |what: &str| Err(FhewError::Parameters { what: what.into() });
        if rotation.parameters() != parameters.rotation()
            || digits != parameters.switching_digits()
            || (from.dimension(), from.secret(), to) != (ring.dimension(), ring.secret(), input)
        {
            return refused("the keys of gates are of other parameters");
        }
        let [input_key, ring_key] = rotation.keys();
        if switching.keys() != [ring_key, input_key] {
            return refused("the two keys of gates are of different secrets");
        }
        Ok(GateKeys { parameters, switching, rotation })
    }

    /// Returns the parameters of the gates.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// Returns the key that switches bits to the secret of the rotation's inputs.
    pub fn switching(&self) -> &LweSwitchingKey {
        &self.switching
    }

    /// Returns the blind rotation key.
    pub fn rotation(&self) -> &BlindRotationKey {
        &self.rotation
    }

    /// Returns the size of both keys in bytes, with residues packed to their bits.
    pub fn stored_bytes(&self) -> usize {
        self.switching.stored_bytes() + self.rotation.stored_bytes()
    }
}
