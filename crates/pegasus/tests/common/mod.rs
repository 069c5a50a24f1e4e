//! Small insecure parameters and helpers that the tests share.
#![allow(dead_code)] // each test file uses its own part

use std::sync::{Arc, LazyLock};

use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale, approximation::ModularReduction};
use hippocrene_fhew::{LweParameters, LweSecretKey, RotationGadget, RotationParameters};
use hippocrene_pegasus::{
    Numbers, Pegasus, PegasusKeys, PegasusLiteral, PegasusPlan, PegasusSecrets, SwitchingDigits,
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

/// The modulus of the LWE ciphertexts of tests: a prime of 40 bits with transforms of every degree
/// up to 512.
pub static Q: LazyLock<u64> = LazyLock::new(|| primes::ntt_primes(40, 512, 1, &[]).unwrap()[0]);

pub struct Setup {
    pub context: Arc<Context>,
    pub secret: Arc<SecretKey>,
    pub lwe: Arc<LweSecretKey>,
    pub pegasus: Pegasus,
}

/// Returns an insecure context with units of 48 bits and a sprout.
pub fn context(log_degree: u32, units: usize, threads: usize) -> Arc<Context> {
    let degree = 1 << log_degree;
    let words = primes::ntt_primes(48, degree, units + 4, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: words[..units].to_vec(),
        specials: words[units..].to_vec(),
        sprout: Sprout::for_degree(log_degree).unwrap(),
        gadget_rank: (units + 2).div_ceil(4),
        secret: SecretDistribution::Ternary,
    });
    Arc::new(Context::new(parameters.unwrap(), Threads::new(threads).unwrap()).unwrap())
}

/// Returns a reduction that is made once, because the search for its degree takes a second.
pub fn reduction() -> ModularReduction {
    static REDUCTION: LazyLock<ModularReduction> =
        LazyLock::new(|| ModularReduction::new(20, -5.0, -32.0, 3, 9).unwrap());
    REDUCTION.clone()
}

/// Returns parameters of tables of 256 entries.
pub fn tables(dimension: usize) -> RotationParameters {
    tables_of(dimension, 256)
}

/// Returns parameters of tables of this number of entries.
pub fn tables_of(dimension: usize, entries: usize) -> RotationParameters {
    let of =
        |dimension, q| LweParameters::insecure(dimension, q, SecretDistribution::Ternary).unwrap();
    let ring = primes::ntt_primes(48, entries, 1, &[]).unwrap()[0];
    let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
    RotationParameters::insecure(of(dimension, *Q), of(entries, ring), gadget).unwrap()
}

pub fn literal(slots: &[usize], dimension: usize) -> PegasusLiteral {
    PegasusLiteral {
        slots: slots.to_vec(),
        transform_bits: 30.0,
        margin: 0.125,
        tables: tables(dimension),
        extraction: SwitchingDigits { base_log2: 8, count: 5 },
        back: SwitchingDigits { base_log2: 8, count: 5 },
        reduction: reduction(),
        key_bits: 42.0,
        matrix_bits: 40.0,
        scale_bits: 46.0,
        output_scale_bits: 36.0,
        output_bits: 30.0,
        bound: 2.0,
        baby: 8,
        memory: 1 << 20,
    }
}

pub fn setup(context: Arc<Context>, literal: PegasusLiteral) -> Setup {
    let [s] = setups([context], literal);
    s
}

/// Sets up the same keys for all of these contexts, which have the same parameters.
pub fn setups<const N: usize>(contexts: [Arc<Context>; N], literal: PegasusLiteral) -> [Setup; N] {
    let context = &contexts[0];
    let secret = Arc::new(SecretKey::generate(context.rlwe()).unwrap());
    let plan = PegasusPlan::new(Arc::clone(context), literal.clone()).unwrap();
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    plan.add_keys(&mut keys, &secret).unwrap();
    let secrets = PegasusSecrets::generate(&plan).unwrap();
    let stored = PegasusKeys::generate(&plan, &secret, &secrets).unwrap();
    let lwe = Arc::new(secrets.lwe);
    contexts.map(|context| {
        let plan = Arc::new(PegasusPlan::new(Arc::clone(&context), literal.clone()).unwrap());
        let prepared = Arc::new(keys.clone().prepare(context.rlwe()).unwrap());
        let evaluator = Evaluator::new(Arc::clone(&context), prepared);
        let pegasus = Pegasus::new(plan, evaluator, &stored).unwrap();
        Setup { pegasus, context, secret: Arc::clone(&secret), lwe: Arc::clone(&lwe) }
    })
}

impl Setup {
    pub fn encrypt(&self, values: &[f64], scale_bits: i32, bits: f64) -> Ciphertext {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let scale = Scale::power_of_two(scale_bits);
        let plaintext = self.context.encode(values.into(), values.len(), scale, modulus).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    pub fn decrypt(&self, a: &Ciphertext) -> Vec<f64> {
        self.context.decode_real(&self.context.decrypt(&self.secret, a).unwrap()).unwrap()
    }

    /// Encrypts numbers one by one, at a scale at which `bound` is `epsilon` of the modulus.
    pub fn numbers(&self, values: &[f64], bound: f64) -> Numbers {
        let literal = self.pegasus.plan().literal();
        let scale = Scale::from_f64(literal.reduction.epsilon() * *Q as f64 / bound).unwrap();
        let encrypt = |x: &f64| {
            let message = (x * scale.to_f64()).round() as i64;
            self.lwe.encrypt(message.rem_euclid(*Q as i64) as u64).unwrap()
        };
        Numbers::new(values.iter().map(encrypt).collect(), scale, bound).unwrap()
    }

    pub fn decrypt_numbers(&self, x: &Numbers) -> Vec<f64> {
        let number = |c| self.lwe.decrypt(c).unwrap() as f64 / x.scale().to_f64();
        x.ciphertexts().iter().map(number).collect()
    }
}

/// Returns numbers without a pattern, in `[-r, r]`.
pub fn spread(count: usize, r: f64) -> Vec<f64> {
    (0..count)
        .map(|i| {
            let mut z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            r * ((z ^ z >> 31) as f64 / 2f64.powi(63) - 1.0)
        })
        .collect()
}

/// Checks that the errors are below seven standard deviations, which may exceed their estimate by
/// half. Checks also that their root mean square is within a factor of `2^within` of the estimate.
pub fn check(got: &[f64], expected: &[f64], precision_bits: f64, within: f64, what: &str) {
    assert_eq!(got.len(), expected.len());
    let sum: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).powi(2)).sum();
    let measured = (sum / got.len() as f64).sqrt().log2();
    assert!(
        (measured + precision_bits).abs() < within,
        "{what}: measured error 2^{measured:.2}, estimated 2^{:.2}",
        -precision_bits
    );
    let worst = got.iter().zip(expected).map(|(g, e)| (g - e).abs()).fold(0.0, f64::max);
    assert!(worst.log2() < 3.4 - precision_bits, "{what}: worst error 2^{:.2}", worst.log2());
}
