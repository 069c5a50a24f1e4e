//! Small insecure parameters, and one file of every kind.
#![allow(dead_code)] // each test file uses its own part

use hippocrene::{
    BootstrappingKeys, ClientKey, EncryptedArray, EvaluationKeys, IntegerArray, Integers, PublicKey, Scheme,
    Server, Settings, TransferKey,
};
use hippocrene_ckks::{
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, Order},
    circuits::DftLevel,
};
use hippocrene_ring::{Threads, primes, sample::Seed};
use hippocrene_rlwe::{
    self as rlwe, Modulus, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

/// A base prime of 48 bits, two primes of 40, one special of 48, integers modulo 65537. Insecure.
pub fn settings(log_degree: u32) -> Settings {
    let degree = 1 << log_degree;
    let large = primes::ntt_primes(48, degree, 2, &[]).unwrap();
    let mut units = vec![large[0]];
    units.extend(primes::ntt_primes(40, degree, 1, &[]).unwrap());
    units.extend(primes::ntt_primes_above(40, degree).take(1));
    let literal = ParametersLiteral {
        log_degree,
        units,
        specials: vec![large[1]],
        sprout: Sprout::default(),
        gadget_rank: 3,
        secret: SecretDistribution::Ternary,
    };
    let integers = Integers { scheme: Scheme::Bgv, plain_modulus: 65_537 };
    let settings = Settings::at_scale(Parameters::new_insecure(literal).unwrap(), 40).unwrap();
    settings.with_integers(integers).unwrap()
}

/// Four units of 48 bits with a sprout, two specials. Insecure.
pub fn grafted(log_degree: u32) -> Settings {
    let sprout = Sprout::for_degree(log_degree).unwrap();
    let mut units = primes::ntt_primes(48, 1 << log_degree, 6, &sprout.primes).unwrap();
    let literal = ParametersLiteral {
        log_degree,
        specials: units.split_off(4),
        units,
        sprout,
        gadget_rank: 3,
        secret: SecretDistribution::Ternary,
    };
    Settings::new(Parameters::new_insecure(literal).unwrap(), Settings::DEFAULT_PRECISION).unwrap()
}

/// Always the same key of [`settings`].
pub fn client(log_degree: u32) -> ClientKey {
    ClientKey::from_seed(settings(log_degree), Seed::from_bytes([7; 32]), 1).unwrap()
}

/// What the bootstrap of [`bootstrapping`] is made of: numbers that can be written, if not computed with.
pub fn bootstrap_literal(slots: usize) -> BootstrapLiteral {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    let cosine = vec![0.5, -0.25, 0.0, 0.125];
    BootstrapLiteral {
        slots,
        real: false,
        order: Order::SlotsToCoefficientsFirst,
        bound: 2.0,
        base_bits: 48.0,
        sparse_weight: Some(8),
        reduction: ModularReduction::from_parts(cosine, 17, 2, vec![0.0, 1.0, 0.0, 0.5], 0.0078125, 1e-9)
            .unwrap(),
        scale_bits: 52.0,
        coefficients_to_slots: vec![level(slots.ilog2() - 1, 45.0), level(1, 46.0)],
        slots_to_coefficients: vec![level(slots.ilog2(), 30.5)],
        output_scale_bits: 40.0,
        output_bits: None,
    }
}

fn bootstrapping(client: &ClientKey) -> EvaluationKeys {
    let (session, literal) = (client.session(), bootstrap_literal(client.session().slots()));
    let (rlwe, parameters) = (session.context().rlwe(), session.settings().parameters());
    let base = parameters.grafted_modulus(literal.base_bits);
    let narrow = parameters.encapsulation_insecure(base, 8).unwrap();
    let narrow = rlwe::Context::new(narrow, Threads::single()).unwrap();
    let secret = rlwe::SecretKey::from_seed(rlwe, client.seed().clone()).unwrap();
    let keys = rlwe::EncapsulationKeys::generate(rlwe, &narrow, &secret, Modulus::of_range(0..2)).unwrap();
    let none = rlwe::EvaluationKeys::empty(rlwe, client.fingerprint());
    let own = BootstrappingKeys::new(session, 20.125, literal, keys).unwrap();
    EvaluationKeys::new(session.clone(), none).with_bootstrapping(own)
}

/// Things of every kind under one key.
pub struct Things {
    pub client: ClientKey,
    pub public: PublicKey,
    pub keys: EvaluationKeys,
    /// None but those of a bootstrap.
    pub bootstrapping: EvaluationKeys,
    /// Of two units.
    pub second: ClientKey,
    pub transfer: TransferKey,
    /// Two ciphertexts, seeded.
    pub fresh: EncryptedArray,
    /// One ciphertext, whole, with a smaller modulus.
    pub product: EncryptedArray,
    /// Two ciphertexts, seeded.
    pub integers: IntegerArray,
    /// One ciphertext, whole, with a smaller modulus and a factor.
    pub squares: IntegerArray,
}

/// Keys of products, of the rotation by 1 and of conjugation; and of the rotation by -2 for two units only.
fn evaluation_keys(client: &ClientKey) -> EvaluationKeys {
    let context = client.session().context().rlwe();
    let secret = SecretKey::from_seed(context, Seed::from_bytes([7; 32])).unwrap();
    let mut keys = hippocrene_rlwe::EvaluationKeys::empty(context, client.fingerprint());
    keys.add_relinearisation(context, &secret).unwrap();
    keys.add_rotations(context, &secret, [1]).unwrap();
    keys.add_rotations_at(context, &secret, [-2], Modulus::of_range(0..2)).unwrap();
    keys.add_conjugation(context, &secret).unwrap();
    EvaluationKeys::new(client.session().clone(), keys)
}

pub fn things(log_degree: u32) -> Things {
    let client = client(log_degree);
    let public = client.public_key().unwrap();
    let keys = evaluation_keys(&client);
    let bootstrapping = bootstrapping(&client);
    let second = client.second(40.0).unwrap();
    let transfer = client.transfer_key(&second).unwrap();
    let slots = client.session().slots();
    let values: Vec<f64> = (0..slots + 3).map(|i| i as f64 / 8.0 - 1.0).collect();
    let fresh = client.encrypt(&values, &[slots + 3]).unwrap();
    let server = Server::new(keys.clone()).unwrap();
    let x = public.encrypt(&[0.5, -1.5, 2.0, 3.0, 0.25, 1.0], &[2, 3]).unwrap();
    let product = server.mul(&x, &x).unwrap();
    let values: Vec<i64> = (0..2 * slots as i64 + 3).map(|i| i * i * i - 70_000).collect();
    let integers = client.encrypt_integers(&values, &[values.len()]).unwrap();
    let x = public.encrypt_integers(&[5, -1, 2, 300, 40_000, 1 << 40], &[2, 3]).unwrap();
    let squares = server.mul(&x, &x).unwrap();
    Things { client, public, keys, bootstrapping, second, transfer, fresh, product, integers, squares }
}

impl Things {
    /// A file of every kind, and two of arrays of either form.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("settings", self.client.session().settings().to_bytes()),
            ("secret", self.client.to_bytes().to_vec()),
            ("public", self.public.to_bytes()),
            ("evaluation", self.keys.to_bytes()),
            ("bootstrapping", self.bootstrapping.to_bytes()),
            ("transfer", self.transfer.to_bytes()),
            ("fresh", self.fresh.to_bytes()),
            ("product", self.product.to_bytes()),
            ("integers", self.integers.to_bytes()),
            ("squares", self.squares.to_bytes()),
        ]
    }
}
