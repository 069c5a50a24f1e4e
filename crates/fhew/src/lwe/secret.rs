//! The LWE secret key, with encryption and decryption.

use hippocrene_ring::{ResidueRing, SIGMA, Sampler, Seed};
use hippocrene_rlwe::{Context, Fingerprint, RlweError, SecretDistribution, SecretKey, noise};
use zeroize::Zeroizing;

use super::{LweCiphertext, LweParameters};
use crate::FhewError;

/// The stream number of the sampler that draws a secret from its seed.
const STREAM_SECRET: u64 = 0;

/// An LWE secret `s` of small integers, for any modulus.
///
/// Its entries are also the coefficients of a secret polynomial of the ring of degree `n` (PEGASUS
/// II.B identifies the two). It is wiped from memory when dropped and never printed. See
/// [`LweCiphertext`] for an example.
pub struct LweSecretKey {
    parameters: LweParameters,
    coefficients: Zeroizing<Vec<i64>>,
    fingerprint: Fingerprint,
}

impl LweSecretKey {
    /// Makes a fresh secret from the entropy of the operating system.
    ///
    /// # Errors
    /// When the operating system provides no entropy.
    pub fn generate(parameters: LweParameters) -> Result<Self, FhewError> {
        Self::from_seed(parameters, &Seed::random()?)
    }

    /// Derives a secret with these parameters from `seed`.
    ///
    /// # Errors
    /// None for parameters made by [`LweParameters`].
    pub fn from_seed(parameters: LweParameters, seed: &Seed) -> Result<Self, FhewError> {
        let mut coefficients = Zeroizing::new(vec![0; parameters.dimension()]);
        let mut sampler = Sampler::new(seed, STREAM_SECRET);
        match parameters.secret() {
            SecretDistribution::Ternary => sampler.ternary(&mut coefficients),
            SecretDistribution::SparseTernary { weight } => {
                sampler.sparse_ternary(weight, &mut coefficients)?;
            }
            SecretDistribution::Binary => sampler.binary(&mut coefficients),
        }
        let fingerprint =
            Fingerprint::of("hippocrene 2026-11 LWE secret key fingerprint", seed.as_bytes());
        Ok(LweSecretKey { parameters, coefficients, fingerprint })
    }

    /// Returns an RLWE secret as an LWE secret, with the same fingerprint.
    ///
    /// It decrypts the coefficients of RLWE ciphertexts. `modulus` is the modulus of those
    /// coefficients and of the ciphertexts that this key encrypts. If the parameter set is secure,
    /// the modulus must be within its limit.
    ///
    /// # Errors
    /// If the secret was made with other parameters, or the modulus is not in `[2^7, 2^61)`.
    /// [`RlweError::Insecure`] if the parameter set is secure and the modulus is beyond its limit.
    pub fn of_rlwe(context: &Context, secret: &SecretKey, modulus: u64) -> Result<Self, FhewError> {
        let distribution = context.parameters().secret();
        let make = match context.parameters().security() {
            Some(_) => LweParameters::new,
            None => LweParameters::insecure,
        };
        let parameters = make(context.degree(), modulus, distribution)?;
        let coefficients = secret.coefficients(context)?;
        Ok(LweSecretKey { parameters, coefficients, fingerprint: secret.fingerprint() })
    }

    /// Returns the parameters of the key.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// Returns the fingerprint of this key, which is public.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Sets `out` to the polynomial with the coefficients `s_(index(l))`, in the evaluation domain
    /// of `ring`.
    ///
    /// Coefficients beyond the dimension are 0.
    pub(crate) fn polynomial(
        &self,
        ring: &ResidueRing,
        index: impl Fn(usize) -> usize,
        out: &mut [u64],
    ) {
        let q = ring.modulus();
        for (l, out) in out.iter_mut().enumerate() {
            *out = residue(self.coefficients.get(index(l)).copied().unwrap_or(0), q);
        }
        ring.forward(out);
    }

    /// Returns two masks: the first is all ones if coefficient `i` is 1, the second if it is -1.
    ///
    /// A mask is zero otherwise.
    pub(crate) fn sign_masks(&self, i: usize) -> [u64; 2] {
        [mask_of_sign(-self.coefficients[i]), mask_of_sign(self.coefficients[i])]
    }

    /// Returns the coefficients, which are **the secret itself**.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Encrypts the residue `message` as `(m + e - <a, s>, a)` with uniform `a` and Gaussian `e`.
    ///
    /// # Errors
    /// [`FhewError::Message`] if the message is not below `q`, and an error of the operating system
    /// if it provides no entropy.
    pub fn encrypt(&self, message: u64) -> Result<LweCiphertext, FhewError> {
        let q = self.parameters.modulus();
        if message >= q {
            return Err(FhewError::Message { operation: "encrypt", index: 0, limit: q });
        }
        let mut a = vec![0; self.parameters.dimension()];
        Sampler::new(&Seed::random()?, 0).uniform(q, &mut a);
        let mut error = Zeroizing::new([0]);
        Sampler::new(&Seed::random()?, 0).gaussian(error.as_mut_slice());
        let masked = add(message, residue(error[0], q), q);
        let b = add(masked, q - self.product(&a, q), q);
        let noise = noise::secret_key_encryption(SIGMA);
        Ok(LweCiphertext::new(self.parameters, b, a, noise, self.fingerprint))
    }

    /// Returns the message with its error: the representative of `b + <a, s>` in `[-q/2, q/2]`.
    ///
    /// The ciphertext may have any modulus.
    ///
    /// # Errors
    /// [`RlweError::KeyMismatch`] if the ciphertext is under another key, and
    /// [`FhewError::Dimension`] if it has another dimension.
    pub fn decrypt(&self, ciphertext: &LweCiphertext) -> Result<i64, FhewError> {
        const OPERATION: &str = "decrypt";
        if ciphertext.key() != self.fingerprint {
            let (have, need) = (ciphertext.key(), self.fingerprint);
            return Err(RlweError::KeyMismatch { operation: OPERATION, have, need }.into());
        }
        let (have, need) = (ciphertext.a().len(), self.parameters.dimension());
        if have != need {
            return Err(FhewError::Dimension { operation: OPERATION, have, need });
        }
        let q = ciphertext.parameters().modulus();
        let message = add(ciphertext.b(), self.product(ciphertext.a(), q), q);
        let above = mask_of_sign((q / 2) as i64 - message as i64);
        Ok(message.wrapping_sub(q & above) as i64)
    }

    /// Returns `<a, s> mod q`.
    fn product(&self, a: &[u64], q: u64) -> u64 {
        a.iter()
            .zip(self.coefficients.iter())
            .fold(0, |sum, (a, s)| add(sum, times_ternary(*a, *s, q), q))
    }
}

impl std::fmt::Debug for LweSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweSecretKey {{ fingerprint: {}, .. }}", self.fingerprint)
    }
}

// The operands of the following functions may be secret, so the functions have no branches.

/// Returns `x + y mod q` for `x` in `[0, q)` and `y` in `[0, q]`.
pub(super) fn add(x: u64, y: u64, q: u64) -> u64 {
    let difference = (x + y).wrapping_sub(q);
    difference.wrapping_add(q & mask_of_sign(difference as i64))
}

/// Returns a number in `[0, q]` that is congruent to `a s`, for `a` in `[0, q)` and `s` in {-1, 0,
/// 1}.
fn times_ternary(a: u64, s: i64, q: u64) -> u64 {
    (a & mask_of_sign(-s)) | ((q - a) & mask_of_sign(s))
}

/// Returns `x mod q` for `-q <= x < q`.
fn residue(x: i64, q: u64) -> u64 {
    (x as u64).wrapping_add(q & mask_of_sign(x))
}

/// Returns all ones if `x` is negative, and zero otherwise.
fn mask_of_sign(x: i64) -> u64 {
    (x >> 63) as u64
}
