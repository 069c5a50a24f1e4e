//! The secret key: encryption and decryption.

use hippocrene_ring::{ResidueRing, SIGMA, Sampler, Seed};
use hippocrene_rlwe::{Context, Fingerprint, RlweError, SecretDistribution, SecretKey, noise};
use zeroize::Zeroizing;

use super::{LweCiphertext, LweParameters};
use crate::FhewError;

/// The stream of the sampler that a secret key's seed feeds.
const STREAM_SECRET: u64 = 0;

/// A secret `s` of small integers, for any modulus. As the coefficients of a polynomial it is a
/// secret of the ring of degree `n` too (PEGASUS II.B identifies the two). It is wiped from memory
/// when dropped, and nothing prints it.
pub struct LweSecretKey {
    parameters: LweParameters,
    coefficients: Zeroizing<Vec<i64>>,
    fingerprint: Fingerprint,
}

impl LweSecretKey {
    /// A fresh secret from the operating system's entropy.
    ///
    /// # Errors
    /// When the operating system has none.
    pub fn generate(parameters: LweParameters) -> Result<Self, FhewError> {
        Self::from_seed(parameters, &Seed::random()?)
    }

    /// The secret that `seed` gives with these parameters.
    ///
    /// # Errors
    /// None for parameters that were made by [`LweParameters`].
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

    /// The coefficients of an RLWE secret, with its fingerprint: what decrypts the coefficients of
    /// its ciphertexts. `modulus` is what those are modulo, and what the key itself encrypts
    /// modulo: of a secure set it is within the limit.
    ///
    /// # Errors
    /// When the secret was made with other parameters, or the modulus is not in `[2^7, 2^61)`;
    /// [`RlweError::Insecure`] when the set is secure and the modulus beyond its limit.
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

    /// Its parameters.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Sets `out` to the polynomial with coefficients `s_(index(l))`, 0 beyond the dimension, in
    /// the evaluation domain of a ring.
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

    /// All ones where coefficient `i` is 1, and all ones where it is -1; else zero.
    pub(crate) fn sign_masks(&self, i: usize) -> [u64; 2] {
        [mask_of_sign(-self.coefficients[i]), mask_of_sign(self.coefficients[i])]
    }

    /// The coefficients: **the secret itself**.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Encrypts the residue `message`: `(m + e - <a, s>, a)` with uniform `a` and Gaussian `e`.
    ///
    /// # Errors
    /// [`FhewError::Message`] when it is no residue modulo `q`, or the operating system has no
    /// entropy.
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

    /// The message with its error, `b + <a, s>`, as its representative in `[-q/2, q/2]`, for any
    /// modulus of the ciphertext.
    ///
    /// # Errors
    /// [`RlweError::KeyMismatch`] when it is encrypted under another key, [`FhewError::Dimension`]
    /// when it has another dimension.
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

    /// `<a, s> mod q`.
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

// The operands of these may be secret: no branches.

/// `x + y mod q` for `x` in `[0, q)` and `y` in `[0, q]`.
pub(super) fn add(x: u64, y: u64, q: u64) -> u64 {
    let difference = (x + y).wrapping_sub(q);
    difference.wrapping_add(q & mask_of_sign(difference as i64))
}

/// A number congruent to `a s`, in `[0, q]`, for `a` in `[0, q)` and `s` one of -1, 0 and 1.
fn times_ternary(a: u64, s: i64, q: u64) -> u64 {
    (a & mask_of_sign(-s)) | ((q - a) & mask_of_sign(s))
}

/// `x mod q` for `-q <= x < q`.
fn residue(x: i64, q: u64) -> u64 {
    (x as u64).wrapping_add(q & mask_of_sign(x))
}

/// All ones for negative `x`, else zero.
fn mask_of_sign(x: i64) -> u64 {
    (x >> 63) as u64
}
