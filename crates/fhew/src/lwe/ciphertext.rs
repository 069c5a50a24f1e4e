//! LWE ciphertexts and their linear operations.

use hippocrene_ring::arith::{add_mod, mul_mod, neg_mod, signed_mod, sub_mod};
use hippocrene_rlwe::{Fingerprint, Noise, RlweError, SecretDistribution};

use super::{LweParameters, modulus::ModulusSwitch};
use crate::FhewError;

/// An LWE ciphertext `(b, a)` with `b + <a, s> = m + e mod q`.
#[derive(Debug, Clone, PartialEq)]
pub struct LweCiphertext {
    parameters: LweParameters,
    b: u64,
    a: Vec<u64>,
    noise: Noise,
    key: Fingerprint,
}

impl LweCiphertext {
    /// The parts are known to be residues modulo `q`, as many as the dimension says.
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

    /// Puts a ciphertext together from its parts, residues modulo `q`; `key` is the fingerprint of
    /// its secret.
    ///
    /// # Errors
    /// [`FhewError::Dimension`] when `a` is not of the dimension, [`FhewError::Range`] when a
    /// residue is not below `q`.
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

    /// The encryption `(m, 0)` of the residue `message`, which hides nothing, for the secret named
    /// `key`.
    ///
    /// # Errors
    /// [`FhewError::Range`] when the message is no residue modulo `q`.
    pub fn trivial(
        parameters: LweParameters,
        message: u64,
        key: Fingerprint,
    ) -> Result<Self, FhewError> {
        Self::from_parts(parameters, message, vec![0; parameters.dimension()], Noise::NONE, key)
    }

    /// The dimension, the modulus, and how the secret is distributed.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// `b` in `[0, q)`.
    pub fn b(&self) -> u64 {
        self.b
    }

    /// `a`, in `[0, q)` each.
    pub fn a(&self) -> &[u64] {
        &self.a
    }

    /// The estimate of the error's size, in units of the message.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Replaces the estimate of the error's size.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// The fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Adds `other`. The errors are taken as independent.
    ///
    /// # Errors
    /// When the two differ in key, dimension or modulus.
    pub fn add_assign(&mut self, other: &LweCiphertext) -> Result<(), FhewError> {
        self.combine(other, "add LWE ciphertexts", add_mod)
    }

    /// Subtracts `other`. The errors are taken as independent.
    ///
    /// # Errors
    /// As [`LweCiphertext::add_assign`].
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

    /// Negates it.
    pub fn neg_assign(&mut self) {
        let q = self.parameters.modulus();
        for x in self.a.iter_mut().chain([&mut self.b]) {
            *x = neg_mod(*x, q);
        }
    }

    /// Multiplies it, error and all, by a (small) integer.
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

    /// The ciphertext modulo `modulus`: message and error are multiplied by `q'/q`, and rounding
    /// adds an error of variance `(1 + |s|^2) / 12` ([`hippocrene_rlwe::noise::rounding`]); of
    /// binary secrets `(1 + |s - 1/2|^2) / 12`, half as much, since what the mean of the secret
    /// contributes is known and taken out.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when the modulus is not in `[2^7, 2^61)`.
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
