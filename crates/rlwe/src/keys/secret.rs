//! The secret key.

use hippocrene_ring::{
    Domain, Poly, RingError,
    arith::centred,
    sample::{Sampler, Seed},
};
use zeroize::{Zeroize, Zeroizing};

use crate::{Context, Fingerprint, Modulus, RlweError, security::SecretDistribution};

/// The stream of the sampler that draws a secret key from its seed.
const STREAM_SECRET: u64 = 0;
/// The domain for which error seeds are derived.
const DOMAIN_ERRORS: u64 = 1;

/// A secret `s` with small coefficients, modulo `PQ_max` in the evaluation domain.
///
/// It is wiped from memory when it is dropped, and nothing prints it. It is made from a seed of 32
/// bytes, which is its stored form.
///
/// See [`Context`] for an example.
pub struct SecretKey {
    seed: Seed,
    parameters: Fingerprint,
    fingerprint: Fingerprint,
    /// The polynomial `s` modulo `PQ_max`.
    poly: Poly,
}

impl SecretKey {
    /// Generates a secret from the operating system's entropy.
    ///
    /// # Errors
    /// Returns an error if the operating system provides no entropy.
    pub fn generate(context: &Context) -> Result<Self, RlweError> {
        Self::from_seed(context, Seed::random()?)
    }

    /// Returns the secret of `seed` with these parameters.
    ///
    /// A seed must be used for one parameter set only. With another set it gives a related secret.
    /// With the same ring degree and distribution it even gives the same secret. No security limit
    /// covers samples of related secrets of two ring degrees.
    ///
    /// # Errors
    /// Returns an error if the parameters ask for a Hamming weight above the ring degree.
    pub fn from_seed(context: &Context, seed: Seed) -> Result<Self, RlweError> {
        Self::of_distribution(context, seed, context.parameters().secret())
    }

    /// Returns the secret of `seed` with another parameter set, modulo `PQ_max` of this one.
    ///
    /// The other set has the same ring degree and secrets of `distribution`.
    pub(crate) fn of_distribution(
        context: &Context,
        seed: Seed,
        distribution: SecretDistribution,
    ) -> Result<Self, RlweError> {
        let mut coefficients = vec![0i64; context.degree()];
        let sampled = sample_secret(&seed, distribution, &mut coefficients);
        let poly = context.from_signed(&coefficients, context.parameters().full());
        coefficients.zeroize();
        sampled?;
        let fingerprint =
            Fingerprint::of("hippocrene 2026-11 secret key fingerprint", seed.as_bytes());
        Ok(SecretKey { seed, parameters: context.parameters().digest(), fingerprint, poly })
    }

    /// The seed of the key, which is **the secret itself**.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The digest of the key's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the coefficients of `s`, which are **the secret itself**. They are wiped when they
    /// are dropped.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if the key was made with other parameters.
    pub fn coefficients(&self, context: &Context) -> Result<Zeroizing<Vec<i64>>, RlweError> {
        context.check_digest(self.parameters, "read the coefficients of a secret key")?;
        let ring = context.limb_ring(context.parameters().full(), 0);
        let mut limb = Zeroizing::new(self.poly.limb(0).to_vec());
        ring.inverse(&mut limb);
        Ok(Zeroizing::new(limb.iter().map(|x| centred(*x, ring.modulus())).collect()))
    }

    /// The polynomial `s` modulo `PQ_max`, in the evaluation domain.
    pub(crate) fn poly(&self) -> &Poly {
        &self.poly
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey {{ fingerprint: {}, .. }}", self.fingerprint)
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.poly.as_mut_slice().zeroize();
    }
}

/// Draws a secret from `seed`.
fn sample_secret(
    seed: &Seed,
    distribution: SecretDistribution,
    out: &mut [i64],
) -> Result<(), RingError> {
    let mut sampler = Sampler::new(seed, STREAM_SECRET);
    match distribution {
        SecretDistribution::Ternary => {
            sampler.ternary(out);
            Ok(())
        }
        SecretDistribution::SparseTernary { weight } => sampler.sparse_ternary(weight, out),
        SecretDistribution::Binary => {
            sampler.binary(out);
            Ok(())
        }
    }
}

/// Returns `-a s + e` modulo `modulus`, in the evaluation domain, for the secret `s` modulo
/// `PQ_max`.
///
/// With `a` it forms an RLWE sample. The error is Gaussian, from the stream `stream` of `errors`.
pub(crate) fn rlwe_sample(
    context: &Context,
    secret: &Poly,
    a: &Poly,
    modulus: Modulus,
    errors: &Seed,
    stream: u64,
) -> Poly {
    let mut error = vec![0i64; context.degree()];
    if !context.is_dry_run() {
        Sampler::new(errors, stream).gaussian(&mut error);
    }
    let mut b = context.from_signed(&error, modulus);
    error.zeroize();
    b.for_each_limb(context.threads(), |k, b| {
        let position = modulus.factors().nth(k).expect("a limb of this modulus");
        subtract_product(context, b, a.limb(k), secret, modulus, position);
    });
    b
}

/// Computes `b -= a s` at one position of `modulus`, for the secret `s` modulo `PQ_max`.
pub(crate) fn subtract_product(
    context: &Context,
    b: &mut [u64],
    a: &[u64],
    secret: &Poly,
    modulus: Modulus,
    position: usize,
) {
    let ring = context.ring_at(modulus, position);
    let mut scratch = context.scratch_limbs(2, Domain::Evaluation);
    let (product, spare) = scratch.as_mut_slice().split_at_mut(context.degree());
    let full = context.parameters().full();
    ring.mul(product, a, context.reduced_limb(secret, full, modulus, position, spare));
    ring.sub_assign(b, product);
    scratch.as_mut_slice().zeroize();
}

/// Returns a fresh seed for errors.
pub(crate) fn error_seed() -> Result<Seed, RlweError> {
    Ok(Seed::random()?.derive(DOMAIN_ERRORS))
}

/// Returns the uniform polynomial of `seed` modulo `modulus`, in the evaluation domain.
///
/// The limb at position `i` is drawn from the stream `256 stream + i`. There are 128 positions, so
/// the polynomials of one seed do not share a stream.
pub fn expand_uniform(context: &Context, seed: &Seed, stream: u32, modulus: Modulus) -> Poly {
    let mut a = context.zero(modulus, Domain::Evaluation);
    a.for_each_limb(context.threads(), |k, limb| {
        let position = modulus.factors().nth(k).expect("a limb of this modulus");
        expand_uniform_limb(context, seed, stream, modulus, position, limb);
    });
    a
}

/// Draws the limb of [`expand_uniform`] at one position of `modulus`.
pub(crate) fn expand_uniform_limb(
    context: &Context,
    seed: &Seed,
    stream: u32,
    modulus: Modulus,
    position: usize,
    out: &mut [u64],
) {
    let q = context.ring_at(modulus, position).modulus();
    Sampler::new(seed, 256 * u64::from(stream) + position as u64).uniform(q, out);
}
