//! The public key.

use hippocrene_ring::{
    Domain, Poly,
    sample::{SIGMA, Sampler, Seed},
};
use zeroize::Zeroize;

use super::secret::{error_seed, expand_uniform, rlwe_sample};
use crate::{Ciphertext, Context, Fingerprint, Modulus, RlweError, SecretKey, noise};

/// A public key, which encrypts. It is an encryption of zero, `(b, a)` with `b = -a s + e`, modulo
/// `Q_max`. `a` is stored as a seed.
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Context, Parameters, ParametersLiteral, PublicKey, SecretDistribution, SecretKey, Sprout,
/// };
///
/// // A single prime, for the units. These parameters are not secure.
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes::ntt_primes(48, 1 << 10, 1, &[])?,
///     specials: Vec::new(),
///     sprout: Sprout::default(),
///     gadget_rank: 0,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Context::new(parameters, Threads::single())?;
/// let secret = SecretKey::generate(&context)?;
/// let public = PublicKey::generate(&context, &secret)?;
///
/// let modulus = context.parameters().top();
/// let message = context.from_signed(&[vec![1 << 30], vec![0; 1023]].concat(), modulus);
/// let decrypted = secret.decrypt(&context, &public.encrypt(&context, &message, modulus)?)?;
/// assert!(decrypted.limb(0)[0].abs_diff(1 << 30) < 1 << 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PublicKey {
    parameters: Fingerprint,
    key: Fingerprint,
    seed: Seed,
    b: Poly,
    a: Poly,
}

impl PublicKey {
    /// Generates a public key of `secret`.
    ///
    /// # Errors
    /// Returns an error if the parameters differ, or if the operating system provides no entropy.
    pub fn generate(context: &Context, secret: &SecretKey) -> Result<Self, RlweError> {
        context.check_digest(secret.parameters(), "make a public key")?;
        let seed = Seed::random()?;
        let modulus = context.parameters().top();
        let a = expand_uniform(context, &seed, 0, modulus);
        let b = rlwe_sample(context, secret.poly(), &a, modulus, &error_seed()?, 0);
        Ok(PublicKey {
            parameters: context.parameters().digest(),
            key: secret.fingerprint(),
            seed,
            b,
            a,
        })
    }

    /// Builds a public key from its stored parts: the seed of `a`, and `b` modulo `Q_max` in the
    /// evaluation domain.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if `b` is not such a polynomial.
    pub fn from_parts(
        context: &Context,
        key: Fingerprint,
        seed: Seed,
        b: Poly,
    ) -> Result<Self, RlweError> {
        let modulus = context.parameters().top();
        context.check_message(&b, modulus, "load a public key")?;
        let a = expand_uniform(context, &seed, 0, modulus);
        Ok(PublicKey { parameters: context.parameters().digest(), key, seed, b, a })
    }

    /// The digest of the key's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The fingerprint of the secret key that decrypts.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The seed of `a`.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The polynomial `b` modulo `Q_max`, in the evaluation domain.
    pub fn b(&self) -> &Poly {
        &self.b
    }

    /// Encrypts `message` as `(v b + e0 + m, v a + e1)` with a ternary `v` and Gaussian `e0` and
    /// `e1`.
    ///
    /// The message is a polynomial modulo `modulus`, a divisor of `Q_max`, in the evaluation
    /// domain.
    ///
    /// # Errors
    /// Returns an error if the modulus or the parameters do not match, or if the operating system
    /// provides no entropy.
    pub fn encrypt(
        &self,
        context: &Context,
        message: &Poly,
        modulus: Modulus,
    ) -> Result<Ciphertext, RlweError> {
        context.check_digest(self.parameters, "encrypt")?;
        context.check_message(message, modulus, "encrypt")?;
        let seed = error_seed()?;
        let mut small = vec![0i64; context.degree()];
        let mut sample = |stream: u64, fill: fn(&mut Sampler, &mut [i64])| {
            fill(&mut Sampler::new(&seed, stream), &mut small);
            context.from_signed(&small, modulus)
        };
        let mut v = sample(0, Sampler::ternary);
        let mut c0 = sample(1, Sampler::gaussian);
        let mut c1 = sample(2, Sampler::gaussian);
        small.zeroize();
        let top = context.parameters().top();
        for (c, key) in [(&mut c0, &self.b), (&mut c1, &self.a)] {
            c.for_each_limb(context.threads(), |k, c| {
                let position = modulus.factors().nth(k).expect("a limb of this modulus");
                let mut spare = context.scratch_limbs(1, Domain::Evaluation);
                let key = context.reduced_limb(key, top, modulus, position, spare.limb_mut(0));
                context.ring_at(modulus, position).mul_add_assign(c, v.limb(k), key);
            });
        }
        v.as_mut_slice().zeroize();
        c0.for_each_limb(context.threads(), |k, c| {
            context.limb_ring(modulus, k).add_assign(c, message.limb(k));
        });
        debug_assert_eq!(c0.domain(), Domain::Evaluation);
        let noise = noise::public_key_encryption(
            context.degree(),
            SIGMA,
            context.parameters().secret_weight(),
        );
        Ciphertext::from_parts(context, vec![c0, c1], modulus, noise, self.key)
    }
}
