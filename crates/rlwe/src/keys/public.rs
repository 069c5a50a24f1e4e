//! The public key.

use hippocrene_ring::{
    Domain, Poly,
    sample::{SIGMA, Sampler, Seed},
};
use zeroize::Zeroize;

use super::secret::{error_seed, expand_uniform, rlwe_sample};
use crate::{Ciphertext, Context, Fingerprint, Modulus, RlweError, SecretKey, noise};

/// An encryption of zero, `(b, a)` with `b = -a s + e`, modulo `Q_max`: who has it can encrypt. `a`
/// is kept as a seed on disk.
#[derive(Debug, Clone)]
pub struct PublicKey {
    parameters: Fingerprint,
    key: Fingerprint,
    seed: Seed,
    b: Poly,
    a: Poly,
}

impl PublicKey {
    /// A fresh public key of `secret`.
    ///
    /// # Errors
    /// When the operating system has no entropy.
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

    /// Puts a public key together from its stored parts: the seed of `a`, and `b` modulo `Q_max` in
    /// the evaluation domain.
    ///
    /// # Errors
    /// [`RlweError::Modulus`] when `b` is not that.
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

    /// The digest of the parameters it was made with.
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

    /// `b` modulo `Q_max`, in the evaluation domain.
    pub fn b(&self) -> &Poly {
        &self.b
    }

    /// Encrypts `message`, a polynomial modulo `modulus` (a divisor of `Q_max`) in the evaluation
    /// domain: `(v b + e0 + m, v a + e1)` with `v` ternary and `e0`, `e1` Gaussian.
    ///
    /// # Errors
    /// When the moduli or parameters do not fit, or the operating system has no entropy.
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
