//! Small insecure parameters, and what tests of integers share.
#![allow(dead_code)] // each test file uses its own part

use std::sync::Arc;

use hippocrene_bgv::{Ciphertext, Context, Evaluator};
use hippocrene_ring::{Threads, automorphism::galois_element_of_conjugation, primes};
use hippocrene_rlwe::{
    self as rlwe, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

pub struct Setup {
    pub context: Arc<Context>,
    pub secret: SecretKey,
    pub evaluator: Evaluator,
}

/// Ring degree `2^log_degree`, `units` primes of `bits` bits, the sprout of this name (none: a simple chain), and keys for these rotations, the exchange of rows and products. Insecure.
pub fn insecure(log_degree: u32, bits: u32, units: usize, sprout: &str, t: u64, rotations: &[i64]) -> Setup {
    let degree = 1 << log_degree;
    let primes = primes::ntt_primes(bits, degree, units + 2, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: primes[..units].to_vec(),
        specials: primes[units..].to_vec(),
        sprout: Sprout::named(sprout).unwrap_or_default(),
        gadget_rank: (units + 2).div_ceil(2),
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    setup(parameters, t, rotations)
}

pub fn setup(parameters: Parameters, t: u64, rotations: &[i64]) -> Setup {
    let rlwe = Arc::new(rlwe::Context::new(parameters, Threads::single()).unwrap());
    let secret = SecretKey::generate(&rlwe).unwrap();
    let mut keys = EvaluationKeys::empty(&rlwe, secret.fingerprint());
    keys.add_relinearisation(&rlwe, &secret).unwrap();
    keys.add_rotations(&rlwe, &secret, rotations.iter().copied()).unwrap();
    keys.add_galois(&rlwe, &secret, galois_element_of_conjugation(rlwe.degree())).unwrap();
    let keys = Arc::new(keys.prepare(&rlwe).unwrap());
    let context = Arc::new(Context::new(rlwe, t).unwrap());
    let evaluator = Evaluator::new(Arc::clone(&context), keys);
    Setup { context, secret, evaluator }
}

impl Setup {
    pub fn degree(&self) -> usize {
        self.context.rlwe().degree()
    }

    pub fn t(&self) -> u64 {
        self.context.plain_modulus()
    }

    /// `N` integers modulo `t` that `seed` gives.
    pub fn values(&self, seed: u64) -> Vec<u64> {
        let mix = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed.rotate_left(17)) >> 3;
        (0..self.degree() as u64).map(|i| mix(mix(i)) % self.t()).collect()
    }

    pub fn encrypt(&self, values: &[u64]) -> Ciphertext {
        let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
        let plaintext = self.context.encoder().encode(&values).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    pub fn decrypt(&self, c: &Ciphertext) -> Vec<u64> {
        self.context.encoder().decode(&self.context.decrypt(&self.secret, c).unwrap()).unwrap()
    }

    /// The budget that there is.
    pub fn budget(&self, c: &Ciphertext) -> f64 {
        self.context.noise_budget(&self.secret, c).unwrap()
    }

    /// `f` of each pair of integers, modulo `t`.
    pub fn zip(&self, a: &[u64], b: &[u64], f: impl Fn(u128, u128) -> u128) -> Vec<u64> {
        let t = u128::from(self.t());
        a.iter().zip(b).map(|(a, b)| (f((*a).into(), (*b).into()) % t) as u64).collect()
    }
}
