//! The secret key of gates, which encrypts and decrypts bits.

use hippocrene_ring::Seed;
use hippocrene_rlwe::Fingerprint;
use zeroize::Zeroizing;

use super::GateParameters;
use crate::{FhewError, LweCiphertext, LweSecretKey, SeededCoefficients};

/// The domains that the seeds of the two secrets are derived for.
const DOMAIN_RING: u64 = 1;
const DOMAIN_INPUT: u64 = 2;

/// The secret key of gates: the secret of the ring, under which bits are encrypted, and the secret
/// of the rotation's inputs.
///
/// Both are wiped from memory when dropped, and neither is ever printed.
///
/// ```
/// use hippocrene_fhew::{GateKeys, GateParameters, GateSecretKey};
/// use hippocrene_ring::Threads;
/// use hippocrene_rlwe::Gate;
///
/// let secret = GateSecretKey::generate(GateParameters::standard()?)?;
/// let evaluator = GateKeys::generate(&secret, &Threads::single())?.prepare(&Threads::single())?;
/// let ciphertexts = secret.encrypt(&[true, false])?.expand()?;
/// let (a, b) = (ciphertexts[0].extract(0)?, ciphertexts[0].extract(1)?);
/// let or = evaluator.gate(Gate::Or, &[&a, &b])?;
/// assert!(secret.decrypt(&or)?);
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug)]
pub struct GateSecretKey {
    parameters: GateParameters,
    ring: LweSecretKey,
    input: LweSecretKey,
}

impl GateSecretKey {
    /// Makes fresh secrets from the entropy of the operating system.
    ///
    /// # Errors
    /// When the operating system provides no entropy.
    pub fn generate(parameters: GateParameters) -> Result<Self, FhewError> {
        Self::from_seed(parameters, &Seed::random()?)
    }

    /// Derives the secrets from `seed`.
    ///
    /// # Errors
    /// None for parameters made by [`GateParameters`].
    pub fn from_seed(parameters: GateParameters, seed: &Seed) -> Result<Self, FhewError> {
        let rotation = parameters.rotation();
        let ring = LweSecretKey::from_seed(rotation.ring(), &seed.derive(DOMAIN_RING))?;
        let input = LweSecretKey::from_seed(rotation.input(), &seed.derive(DOMAIN_INPUT))?;
        Ok(GateSecretKey { parameters, ring, input })
    }

    /// Returns the parameters of the gates.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// Returns the fingerprint of the secret under which bits are encrypted.
    pub fn fingerprint(&self) -> Fingerprint {
        self.ring.fingerprint()
    }

    pub(super) fn secrets(&self) -> [&LweSecretKey; 2] {
        [&self.ring, &self.input]
    }

    /// Encrypts bits.
    ///
    /// The ciphertexts are stored as one seed for all and `log2 q` bits for each bit.
    ///
    /// # Errors
    /// When the operating system provides no entropy.
    pub fn encrypt(&self, bits: &[bool]) -> Result<SeededCoefficients, FhewError> {
        let messages: Zeroizing<Vec<u64>> =
            Zeroizing::new(bits.iter().map(|bit| self.parameters.message(*bit)).collect());
        self.ring.encrypt_coefficients(self.parameters.rotation().ring().modulus(), &messages)
    }

    /// Decrypts a bit.
    ///
    /// # Errors
    /// The same as [`LweSecretKey::decrypt`].
    pub fn decrypt(&self, ciphertext: &LweCiphertext) -> Result<bool, FhewError> {
        Ok(self.phase(ciphertext)? > 0)
    }

    /// Returns the message of a bit, `q/8` or `-q/8`, with its error.
    ///
    /// Keep it secret: the message with its error and the ciphertext together reveal information
    /// about the key.
    ///
    /// # Errors
    /// The same as [`LweSecretKey::decrypt`].
    pub fn phase(&self, ciphertext: &LweCiphertext) -> Result<i64, FhewError> {
        self.ring.decrypt(ciphertext)
    }
}
