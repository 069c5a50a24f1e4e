//! Small insecure parameters, and helpers for tests of the evaluator.
#![allow(dead_code)] // each test file uses its own part

pub mod exact;

use std::sync::Arc;

use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Modulus, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};
use num_complex::Complex64;

pub struct Setup {
    pub context: Arc<Context>,
    pub secret: SecretKey,
    pub evaluator: Evaluator,
    pub scale: Scale,
}

/// Returns a base prime of 50 bits, `depth` primes of 40, and keys for `rotations` and conjugation.
/// Insecure.
pub fn insecure(log_degree: u32, depth: usize, rotations: &[i64]) -> Setup {
    let degree = 1 << log_degree;
    let mut units = primes::ntt_primes(50, degree, 1, &[]).unwrap();
    units.extend(primes::ntt_primes(40, degree, depth, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units,
        specials: primes::ntt_primes(49, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: (depth + 1).div_ceil(2),
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    setup(parameters, rotations, Threads::single(), Scale::power_of_two(40))
}

/// Returns `units` primes below 2^48 with the sprout of this name, and keys for `rotations` and
/// conjugation. Insecure.
pub fn grafted(log_degree: u32, units: usize, sprout: &str, rotations: &[i64]) -> Setup {
    grafted_words(48, log_degree, units, sprout, rotations)
}

/// Like [`grafted`], with words of `bits` bits.
pub fn grafted_words(
    bits: u32,
    log_degree: u32,
    units: usize,
    sprout: &str,
    rotations: &[i64],
) -> Setup {
    let degree = 1 << log_degree;
    let primes = primes::ntt_primes(bits, degree, units + 2, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: primes[..units].to_vec(),
        specials: primes[units..].to_vec(),
        sprout: Sprout::named(sprout).unwrap(),
        gadget_rank: (units + 2).div_ceil(2),
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    setup(parameters, rotations, Threads::single(), Scale::power_of_two(40))
}

pub fn setup(parameters: Parameters, rotations: &[i64], threads: Threads, scale: Scale) -> Setup {
    let context = Arc::new(Context::new(parameters, threads).unwrap());
    let secret = SecretKey::generate(context.rlwe()).unwrap();
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    keys.add_relinearisation(context.rlwe(), &secret).unwrap();
    keys.add_rotations(context.rlwe(), &secret, rotations.iter().copied()).unwrap();
    keys.add_conjugation(context.rlwe(), &secret).unwrap();
    let keys = Arc::new(keys.prepare(context.rlwe()).unwrap());
    let evaluator = Evaluator::new(Arc::clone(&context), keys);
    Setup { context, secret, evaluator, scale }
}

impl Setup {
    pub fn top(&self) -> Modulus {
        self.context.parameters().top()
    }

    pub fn encrypt(&self, values: &[Complex64]) -> Ciphertext {
        self.encrypt_at(values, self.context.max_slots(), self.scale, self.top())
    }

    pub fn encrypt_at(
        &self,
        values: &[Complex64],
        slots: usize,
        scale: Scale,
        modulus: Modulus,
    ) -> Ciphertext {
        let plaintext = self.context.encode(values.into(), slots, scale, modulus).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Vec<Complex64> {
        self.context
            .decode_complex(&self.context.decrypt(&self.secret, ciphertext).unwrap())
            .unwrap()
    }

    /// Checks that `ciphertext` holds `expected`, with an error whose standard deviation is within
    /// a factor of 1.5 of the estimate.
    pub fn check(&self, ciphertext: &Ciphertext, expected: &[Complex64], what: &str) {
        let got = self.decrypt(ciphertext);
        assert_eq!(got.len(), expected.len());
        let sum: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).norm_sqr()).sum();
        let measured = (sum / (2 * got.len()) as f64).sqrt().log2();
        let estimated = -ciphertext.precision_bits();
        assert!(
            (measured - estimated).abs() < 1.5f64.log2(),
            "{what}: measured error 2^{measured:.2}, estimated 2^{estimated:.2}"
        );
    }
}

/// Returns `count` numbers of absolute value `bound`, at angles that never repeat.
pub fn circle(count: usize, bound: f64, seed: f64) -> Vec<Complex64> {
    (0..count).map(|i| Complex64::from_polar(bound, seed + i as f64 * i as f64 * 0.7548)).collect()
}
