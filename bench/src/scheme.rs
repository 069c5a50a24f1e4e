//! Parameter sets, keys and ciphertexts for measurements.

use hippocrene_ring::{Kernel, Poly, Threads, primes};
use hippocrene_rlwe::{
    Ciphertext, Context, EvaluationKeys, Modulus, Parameters, ParametersLiteral,
    PreparedEvaluationKeys, Profile, PublicKey, SecretDistribution, SecretKey, Sprout,
};

use crate::Result;

/// A parameter set given by the sizes of its primes, as pairs of bits and counts.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The units.
    pub units: Vec<(u32, usize)>,
    /// The special primes.
    pub specials: Vec<(u32, usize)>,
    /// The sprout; the default for a simple chain.
    pub sprout: Sprout,
    /// The gadget rank.
    pub dnum: usize,
    /// The secret.
    pub secret: SecretDistribution,
}

impl Sizes {
    /// Returns the parameter set with the largest primes of each size.
    ///
    /// Its security is not checked, because some of the papers' sets exceed the limits and are only
    /// timed.
    ///
    /// # Errors
    /// When there are not enough primes, or the set is invalid.
    pub fn parameters(&self) -> Result<Parameters> {
        let mut taken = self.sprout.primes.clone();
        let mut find = |sizes: &[(u32, usize)]| -> Result<Vec<u64>> {
            let mut found = Vec::new();
            for &(bits, count) in sizes {
                let primes = primes::ntt_primes(bits, 1 << self.log_n, count, &taken)?;
                taken.extend(&primes);
                found.extend(primes);
            }
            Ok(found)
        };
        Ok(Parameters::new_insecure(ParametersLiteral {
            log_degree: self.log_n,
            units: find(&self.units)?,
            specials: find(&self.specials)?,
            sprout: self.sprout.clone(),
            gadget_rank: self.dnum,
            secret: self.secret,
        })?)
    }
}

/// A context with its keys.
pub struct Scheme {
    /// The context.
    pub context: Context,
    /// The secret key.
    pub secret: SecretKey,
    /// The public key.
    pub public: PublicKey,
    /// The relinearisation key and the rotation keys.
    pub keys: PreparedEvaluationKeys,
}

impl Scheme {
    /// Returns the same scheme, with key switches planned by `profile`.
    pub fn with_profile(self, profile: Profile) -> Self {
        Scheme { context: self.context.with_profile(profile), ..self }
    }

    /// Makes keys for `sizes`, with one thread. They include relinearisation, and rotations by 1 to
    /// `rotations` slots.
    ///
    /// # Errors
    /// When the parameters are invalid, or the system has no entropy.
    pub fn new(sizes: &Sizes, kernel: Kernel, rotations: i64) -> Result<Self> {
        Scheme::of(sizes.parameters()?, kernel, rotations)
    }

    /// As [`Scheme::new`], for a parameter set with its primes.
    ///
    /// # Errors
    /// As [`Scheme::new`].
    pub fn of(parameters: Parameters, kernel: Kernel, rotations: i64) -> Result<Self> {
        Ok(Scheme::with_stored_keys(parameters, kernel, rotations)?.0)
    }

    /// As [`Scheme::of`], and also returns the keys as they are stored.
    ///
    /// # Errors
    /// As [`Scheme::new`].
    pub fn with_stored_keys(
        parameters: Parameters,
        kernel: Kernel,
        rotations: i64,
    ) -> Result<(Self, EvaluationKeys)> {
        let context = Context::with_kernel(parameters, Threads::single(), kernel)?;
        let secret = SecretKey::generate(&context)?;
        let public = PublicKey::generate(&context, &secret)?;
        let mut stored = EvaluationKeys::empty(&context, secret.fingerprint());
        stored.add_relinearisation(&context, &secret)?;
        stored.add_rotations(&context, &secret, 1..=rotations)?;
        let keys = stored.prepare(&context)?;
        Ok((Scheme { context, secret, public, keys }, stored))
    }

    /// The largest modulus of ciphertexts.
    pub fn top(&self) -> Modulus {
        self.context.parameters().top()
    }

    /// The top modulus without its last `count` units.
    pub fn below_top(&self, count: usize) -> Modulus {
        let units = self.context.parameters().unit_count();
        self.top().without(Modulus::of_range(units - count..units))
    }

    /// Returns a message modulo `modulus` with small coefficients, in the evaluation domain.
    pub fn message(&self, modulus: Modulus) -> Poly {
        let small: Vec<i64> =
            (0..self.context.degree() as i64).map(|i| i * i % 1009 - 504).collect();
        self.context.from_signed(&small, modulus)
    }

    /// Encrypts a message modulo `modulus` under the public key.
    ///
    /// # Errors
    /// When the system has no entropy.
    pub fn encrypt(&self, message: &Poly, modulus: Modulus) -> Result<Ciphertext> {
        Ok(self.public.encrypt(&self.context, message, modulus)?)
    }

    /// Returns a ciphertext to write results into.
    pub fn empty(&self) -> Ciphertext {
        Ciphertext::empty(&self.context)
    }
}

/// Returns a sprout of `bits` bits, 48 to 61, for ring degrees up to `2^15`.
///
/// It is `2^15 65537 r_2` with `r_2` of `bits - 31` bits, and its divisors reach every length
/// (GRAFT Ex. 3.2, where `bits = 61`).
///
/// # Errors
/// When there is no such prime.
pub fn sprout_of_word(log_n: u32, bits: u32) -> Result<Sprout> {
    const FERMAT: u64 = 65537;
    let rest = bits.min(61).checked_sub(31).ok_or("a sprout of less than 31 bits")?;
    let last = primes::ntt_primes(rest, 1 << log_n, 1, &[FERMAT])?[0];
    Ok(Sprout { two: 15, primes: vec![FERMAT, last] })
}

/// Returns the cheapest modulus within `slack` bits of `bits`, and the nearest of equally cheap
/// ones.
///
/// A limb modulo a power of two counts double. [`Parameters::grafted_modulus`] returns the nearest
/// modulus instead, but the modulus of a fresh ciphertext may vary by about a bit.
pub fn near(parameters: &Parameters, bits: f64, slack: f64) -> Modulus {
    let cost = |m: &Modulus| m.limb_count() + usize::from(m.two() > 0);
    let distance = |m: &Modulus| (parameters.log2(*m) - bits).abs();
    let steps =
        (-64..=64).map(|step| parameters.grafted_modulus(bits + slack * f64::from(step) / 64.0));
    let order =
        |a: &Modulus, b: &Modulus| cost(a).cmp(&cost(b)).then(distance(a).total_cmp(&distance(b)));
    steps
        .filter(|m| distance(m) <= slack)
        .min_by(order)
        .unwrap_or_else(|| parameters.grafted_modulus(bits))
}

/// Returns the megabytes (10^6 bytes) of a ciphertext in memory.
pub fn megabytes(ciphertext: &Ciphertext) -> f64 {
    let words: usize = ciphertext.parts().iter().map(|part| part.as_slice().len()).sum();
    (8 * words) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_sizes_asked_for() {
        let sizes = Sizes {
            log_n: 12,
            units: vec![(40, 1), (38, 3)],
            specials: vec![(40, 2)],
            sprout: Sprout::default(),
            dnum: 2,
            secret: SecretDistribution::Ternary,
        };
        let parameters = sizes.parameters().unwrap();
        let bits = |m: Modulus| -> Vec<u32> {
            parameters.limb_moduli(m).iter().map(|q| 64 - q.leading_zeros()).collect()
        };
        assert_eq!(bits(parameters.top()), [40, 38, 38, 38]);
        assert_eq!(bits(parameters.specials()), [40, 40]);

        let scheme = Scheme::new(&sizes, Kernel::Portable, 1).unwrap();
        let ciphertext = scheme.encrypt(&scheme.message(scheme.top()), scheme.top()).unwrap();
        assert_eq!(megabytes(&ciphertext), (2 * 4 * 8 * 4096) as f64 / 1e6);
        assert_eq!(scheme.below_top(1).limb_count(), 3);
        let mut product = scheme.empty();
        let (a, to) = (&ciphertext, scheme.below_top(1));
        scheme.context.multiply_into(&mut product, a, a, 1, &scheme.keys, to).unwrap();
        assert_eq!(product.modulus(), to);
    }
}
