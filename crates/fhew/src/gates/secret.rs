//! The secret key: bits in and out.

use hippocrene_ring::Seed;
use hippocrene_rlwe::Fingerprint;
use zeroize::Zeroizing;

use super::GateParameters;
use crate::{FhewError, LweCiphertext, LweSecretKey, SeededCoefficients};

/// What the two secrets are derived for.
const DOMAIN_RING: u64 = 1;
const DOMAIN_INPUT: u64 = 2;

/// The secret of the ring, under which bits are encrypted, and that of the inputs of rotations.
/// Both are wiped from memory when dropped, and nothing prints them.
#[derive(Debug)]
pub struct GateSecretKey {
    parameters: GateParameters,
    ring: LweSecretKey,
    input: LweSecretKey,
}

impl GateSecretKey {
    /// Fresh secrets from the operating system's entropy.
    ///
    /// # Errors
    /// When the operating system has none.
    pub fn generate(parameters: GateParameters) -> Result<Self, FhewError> {
        Self::from_seed(parameters, &Seed::random()?)
    }

    /// The secrets that `seed` gives.
    ///
    /// # Errors
    /// None for parameters that were made by [`GateParameters`].
    pub fn from_seed(parameters: GateParameters, seed: &Seed) -> Result<Self, FhewError> {
        let rotation = parameters.rotation();
        let ring = LweSecretKey::from_seed(rotation.ring(), &seed.derive(DOMAIN_RING))?;
        let input = LweSecretKey::from_seed(rotation.input(), &seed.derive(DOMAIN_INPUT))?;
        Ok(GateSecretKey { parameters, ring, input })
    }

    /// The parameters.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// The public name of the secret that bits are under.
    pub fn fingerprint(&self) -> Fingerprint {
        self.ring.fingerprint()
    }

    pub(super) fn secrets(&self) -> [&LweSecretKey; 2] {
        [&self.ring, &self.input]
    }

    /// Encrypts bits, `log2 q` bits for each and a seed for all.
    ///
    /// # Errors
    /// When the operating system has no entropy.
    pub fn encrypt(&self, bits: &[bool]) -> Result<SeededCoefficients, FhewError> {
        let messages: Zeroizing<Vec<u64>> =
            Zeroizing::new(bits.iter().map(|bit| self.parameters.message(*bit)).collect());
        self.ring.encrypt_coefficients(self.parameters.rotation().ring().modulus(), &messages)
    }

    /// Decrypts a bit.
    ///
    /// # Errors
    /// As [`LweSecretKey::decrypt`].
    pub fn decrypt(&self, ciphertext: &LweCiphertext) -> Result<bool, FhewError> {
        Ok(self.phase(ciphertext)? > 0)
    }

    /// The message of a bit, `q/8` or `-q/8`, with its error. Who sees it together with the
    /// ciphertext learns of the key.
    ///
    /// # Errors
    /// As [`LweSecretKey::decrypt`].
    pub fn phase(&self, ciphertext: &LweCiphertext) -> Result<i64, FhewError> {
        self.ring.decrypt(ciphertext)
    }
}
