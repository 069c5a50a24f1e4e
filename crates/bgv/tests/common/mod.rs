//! Small insecure parameters and helpers that the tests of integers share.
#![allow(dead_code)] // each test file uses its own part

use std::sync::Arc;

use hippocrene_bgv::{Ciphertext, Context, Evaluator, Plaintext};
use hippocrene_ring::{
    RnsBasis, Threads, arith::mul_mod, automorphism::galois_element_of_conjugation, basis::log2,
    primes,
};
use hippocrene_rlwe::{
    self as rlwe, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey,
    Sprout,
};

pub struct Setup {
    pub context: Arc<Context>,
    pub secret: SecretKey,
    pub evaluator: Evaluator,
}

/// Returns an insecure setup of ring degree `2^log_degree` with `units` primes of `bits` bits and
/// the sprout of this name. An unknown name gives a simple chain without a sprout. The keys are
/// those of these rotations, of the exchange of rows and of products.
pub fn insecure(
    log_degree: u32,
    bits: u32,
    units: usize,
    sprout: &str,
    t: u64,
    rotations: &[i64],
) -> Setup {
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

    /// Returns `N` pseudorandom integers modulo `t` for a seed.
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

    /// Returns log2 of the standard deviation of the coefficients of the error `e` in
    /// `t (c0 + c1 s) = [-Q g m]_t + t e`. It includes the error of rounding.
    pub fn error(&self, c: &Ciphertext) -> f64 {
        let rlwe = self.context.rlwe();
        let phase = self.secret.decrypt(rlwe, c.inner()).unwrap();
        let basis = RnsBasis::new(&rlwe.parameters().limb_moduli(c.modulus())).unwrap();
        let mut squares = 0.0;
        for i in 0..self.degree() {
            let times_t = |(limb, q): (&[u64], &u64)| mul_mod(limb[i], self.t() % q, *q);
            let residues: Vec<u64> = phase.limbs().zip(basis.moduli()).map(times_t).collect();
            let size =
                log2(basis.compose_centred(&residues).magnitude()) - (self.t() as f64).log2();
            squares += (2.0 * size).exp2();
        }
        0.5 * (squares / self.degree() as f64).log2()
    }

    /// Checks that the error is within a factor 1.5 of its estimate. On a simple chain, where no
    /// modulus switch makes errors independent, it may be larger by one bit and smaller by five.
    pub fn check_noise(&self, c: &Ciphertext, what: &str) {
        self.check_noises(std::slice::from_ref(c), what);
    }

    /// Checks the root mean square of the errors of several ciphertexts like
    /// [`Setup::check_noise`]. All must have the same estimate.
    pub fn check_noises(&self, all: &[Ciphertext], what: &str) {
        let estimated = all[0].inner().noise().log2_std();
        let squares: f64 = all.iter().map(|c| (2.0 * self.error(c)).exp2()).sum();
        let measured = 0.5 * (squares / all.len() as f64).log2();
        let is_simple = self.context.rlwe().parameters().top().sprout().is_one();
        let range = if is_simple { -1.0..5.0 } else { -0.585..0.585 };
        let fits = range.contains(&(estimated - measured));
        assert!(fits, "{what}: {estimated} bits are estimated, but {measured} are measured");
    }

    pub fn plaintext(&self, values: &[u64]) -> Plaintext {
        let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
        self.context.encoder().encode(&values).unwrap()
    }

    /// Measures the noise budget in bits.
    pub fn budget(&self, c: &Ciphertext) -> f64 {
        self.context.noise_budget(&self.secret, c).unwrap()
    }

    /// Applies `f` to each pair of integers, modulo `t`.
    pub fn zip(&self, a: &[u64], b: &[u64], f: impl Fn(u128, u128) -> u128) -> Vec<u64> {
        let t = u128::from(self.t());
        a.iter().zip(b).map(|(a, b)| (f((*a).into(), (*b).into()) % t) as u64).collect()
    }
}
