//! LWE ciphertexts and their linear operations.

use hippocrene_ring::arith::{add_mod, mul_mod, neg_mod, signed_mod, sub_mod};
use hippocrene_rlwe::{Fingerprint, Noise, RlweError, SecretDistribution};

use super::{LweParameters, modulus::ModulusSwitch};
use crate::FhewError;

/// An LWE ciphertext `(b, a)` of a message `m`, with `b + <a, s> = m + e mod q`.
///
/// ```
/// use hippocrene_fhew::{LweParameters, LweSecretKey};
/// use hippocrene_rlwe::SecretDistribution;
///
/// let parameters = LweParameters::insecure(16, 1 << 32, SecretDistribution::Ternary)?;
/// let secret = LweSecretKey::generate(parameters)?;
/// let mut sum = secret.encrypt(1 << 20)?;
/// sum.add_assign(&secret.encrypt(2 << 20)?)?;
/// let message = secret.decrypt(&sum)?;
/// assert!((message - (3 << 20)).abs() < 100, "the error has a standard deviation of about 4.5");
/// # Ok::<(), hippocrene_fhew::FhewError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LweCiphertext {
    parameters: LweParameters,
    b: u64,
    a: Vec<u64>,
    noise: Noise,
    key: Fingerprint,
}

impl LweCiphertext {
    /// Makes a ciphertext from a residue `b` and one residue `a` modulo `q` per dimension,
    /// unchecked.
    pub(crate) fn new(
        parameters: LweParameters,
        b: u64,
        a: Vec<u64>,
        noise: Noise,
        key: Fingerprint,
    ) -> Self {
        debug_assert!(a.len() == parameters.dimension());
        debug_assert!(a.iter().chain([&b]).all(|x| *x < parameters.modulus()));
        LweCiphertext { parameters, b, a, noise, key }
    }

    /// Assembles a ciphertext from its parts, which are residues modulo `q`.
    ///
    /// `key` is the fingerprint of the secret.
    ///
    /// # Errors
    /// [`FhewError::Dimension`] if `a` has the wrong length, and [`FhewError::Range`] if a residue
    /// is not below `q`.
    pub fn from_parts(
        parameters: LweParameters,
        b: u64,
        a: Vec<u64>,
        noise: Noise,
        key: Fingerprint,
    ) -> Result<Self, FhewError> {
        const OPERATION: &str = "put an LWE ciphertext together";
        let limit = parameters.modulus();
        if a.len() != parameters.dimension() {
            let (have, need) = (a.len(), parameters.dimension());
            return Err(FhewError::Dimension { operation: OPERATION, have, need });
        }
        let beyond = a.iter().chain([&b]).copied().find(|x| *x >= limit);
        match beyond {
            Some(have) => {
                Err(FhewError::Range { operation: OPERATION, what: "a residue", have, limit })
            }
            None => Ok(Self::new(parameters, b, a, noise, key)),
        }
    }

    /// Returns the trivial encryption `(m, 0)` of the residue `message`, which hides nothing.
    ///
    /// `key` is the fingerprint of the secret that decrypts it.
    ///
    /// # Errors
    /// [`FhewError::Range`] if the message is not below `q`.
    pub fn trivial(
        parameters: LweParameters,
        message: u64,
        key: Fingerprint,
    ) -> Result<Self, FhewError> {
        Self::from_parts(parameters, message, vec![0; parameters.dimension()], Noise::NONE, key)
    }

    /// Returns the dimension, the modulus and the distribution of the secret.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// Returns `b`, in `[0, q)`.
    pub fn b(&self) -> u64 {
        self.b
    }

    /// Returns the entries of `a`, each in `[0, q)`.
    pub fn a(&self) -> &[u64] {
        &self.a
    }

    /// Returns the estimated error, in units of the message.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Replaces the estimated error.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// Returns the fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Adds `other`. The noise estimate assumes independent errors.
    ///
    /// # Errors
    /// If the two ciphertexts differ in key, dimension or modulus.
    pub fn add_assign(&mut self, other: &LweCiphertext) -> Result<(), FhewError> {
        self.combine(other, "add LWE ciphertexts", add_mod)
    }

    /// Subtracts `other`. The noise estimate assumes independent errors.
    ///
    /// # Errors
    /// The same as [`LweCiphertext::add_assign`].
    pub fn sub_assign(&mut self, other: &LweCiphertext) -> Result<(), FhewError> {
        self.combine(other, "subtract LWE ciphertexts", sub_mod)
    }

    fn combine(
        &mut self,
        other: &LweCiphertext,
        operation: &'static str,
        f: impl Fn(u64, u64, u64) -> u64,
    ) -> Result<(), FhewError> {
        let (q, need) = (self.parameters.modulus(), self.parameters.dimension());
        if self.key != other.key {
            return Err(
                RlweError::KeyMismatch { operation, have: other.key, need: self.key }.into()
            );
        }
        if other.a.len() != need {
            return Err(FhewError::Dimension { operation, have: other.a.len(), need });
        }
        if other.parameters.modulus() != q {
            return Err(FhewError::Modulus {
                operation,
                have: other.parameters.modulus(),
                need: q,
            });
        }
        self.b = f(self.b, other.b, q);
        for (x, y) in self.a.iter_mut().zip(&other.a) {
            *x = f(*x, *y, q);
        }
        self.noise = self.noise.plus(other.noise);
        Ok(())
    }

    /// Negates the ciphertext.
    pub fn neg_assign(&mut self) {
        let q = self.parameters.modulus();
        for x in self.a.iter_mut().chain([&mut self.b]) {
            *x = neg_mod(*x, q);
        }
    }

    /// Multiplies the message, and its error, by a small integer.
    pub fn scale_assign(&mut self, factor: i64) {
        let q = self.parameters.modulus();
        let residue = signed_mod(factor, q);
        for x in self.a.iter_mut().chain([&mut self.b]) {
            *x = mul_mod(*x, residue, q);
        }
        self.noise = if factor == 0 {
            Noise::NONE
        } else {
            self.noise.scaled((factor.unsigned_abs() as f64).log2())
        };
    }

    /// Adds an integer to the message.
    pub fn add_constant_assign(&mut self, constant: i64) {
        let q = self.parameters.modulus();
        self.b = add_mod(self.b, signed_mod(constant, q), q);
    }

    /// Returns the ciphertext switched to the modulus `q' = modulus`.
    ///
    /// The message and its error are multiplied by `q'/q`. Rounding adds an error of variance
    /// `(1 + |s|^2) / 12` ([`hippocrene_rlwe::noise::rounding`]). For binary secrets this variance
    /// is `(1 + |s - 1/2|^2) / 12`, about half as much, because the contribution of the secret's
    /// mean is known and subtracted.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] if the modulus is not in `[2^7, 2^61)`.
    pub fn switch_modulus(&self, modulus: u64) -> Result<Self, FhewError> {
        let parameters = self.parameters.switched(modulus)?;
        let switch = ModulusSwitch::new(self.parameters.modulus(), modulus);
        let (b, a) = match parameters.secret() {
            SecretDistribution::Binary => switch.apply_centred(self.b, &self.a),
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
                (switch.apply(self.b), self.a.iter().map(|x| switch.apply(*x)).collect())
            }
        };
        let noise = switch.noise(self.noise, parameters.secret_spread());
        Ok(Self::new(parameters, b, a, noise, self.key))
    }
}
