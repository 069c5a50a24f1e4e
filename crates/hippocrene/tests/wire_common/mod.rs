//! Small insecure parameters, and one file of each kind.
#![allow(dead_code)] // each test file uses its own part

use hippocrene::{
    BitArray, BitKeys, Bits, BootstrappingKeys, CiphertextBody, ClientKey, EncryptedArray,
    EvaluationKeys, Fresh, IntegerArray, Integers, KeyRequest, Layout, Notes, Operation, Plain,
    Planning, Program, PublicKey, Recorder, Results, Scheme, Server, Settings, Spec, SpecKind,
    Stored, TransferKey,
};
use hippocrene_ckks::{
    Plaintext, Scale,
    approximation::{ModularReduction, Wave},
    bits::{BitCiphertext, BitLiteral, BitPacking, SeededBitCiphertext, encode_bits},
    bootstrap::{BootstrapLiteral, Order},
    circuits::DftLevel,
};
use hippocrene_ring::{Threads, primes, sample::Seed};
use hippocrene_rlwe::{
    self as rlwe, Modulus, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

/// Returns settings with a base prime of 48 bits, two primes of 40 bits, one special prime of 48
/// bits, and integers modulo 65537. Insecure.
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

/// Returns settings with four units of 48 bits, a sprout and two special primes. Insecure.
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

/// Returns settings for look-up tables of dimension 1024, with the smallest possible keys.
///
/// They have 18 units of 48 bits, a sprout, and two digits. Insecure.
pub fn for_tables() -> Settings {
    let sprout = Sprout::for_degree(11).unwrap();
    let mut units = primes::ntt_primes(48, 1 << 11, 29, &sprout.primes).unwrap();
    let literal = ParametersLiteral {
        log_degree: 11,
        specials: units.split_off(18),
        units,
        sprout,
        gadget_rank: 2,
        secret: SecretDistribution::Ternary,
    };
    Settings::new(Parameters::new_insecure(literal).unwrap(), Settings::DEFAULT_PRECISION).unwrap()
}

/// Returns the same key for [`settings`] in each call.
pub fn client(log_degree: u32) -> ClientKey {
    ClientKey::from_seed(settings(log_degree), Seed::from_bytes([7; 32]), 1).unwrap()
}

/// Returns the plan of [`bootstrapping`].
///
/// The numbers are valid for a file, but computing with them makes no sense.
pub fn bootstrap_literal(slots: usize) -> BootstrapLiteral {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    let cosine = vec![0.5, -0.25, 0.0, 0.125];
    BootstrapLiteral {
        slots,
        real: false,
        first_slots: false,
        order: Order::SlotsToCoefficientsFirst,
        bound: 2.0,
        base_bits: 48.0,
        sparse_weight: Some(8),
        reduction: ModularReduction::from_parts(
            cosine,
            17,
            2,
            vec![0.0, 1.0, 0.0, 0.5],
            0.0078125,
            1e-9,
        )
        .unwrap(),
        scale_bits: 52.0,
        coefficients_to_slots: vec![level(slots.ilog2() - 1, 45.0), level(1, 46.0)],
        slots_to_coefficients: vec![level(slots.ilog2(), 30.5)],
        output_scale_bits: 40.0,
        output_bits: None,
        precision: Some(20.125),
    }
}

/// Returns the keys of a sparse secret of weight 8: to it modulo the first unit, and from it modulo
/// two units.
fn sparse(client: &ClientKey) -> rlwe::EncapsulationKeys {
    let session = client.session();
    let (rlwe, parameters) = (session.context().rlwe(), session.settings().parameters());
    let narrow = parameters.encapsulation_insecure(parameters.grafted_modulus(48.0), 8).unwrap();
    let narrow = rlwe::Context::new(narrow, Threads::single()).unwrap();
    let secret = rlwe::SecretKey::from_seed(rlwe, client.seed().clone()).unwrap();
    rlwe::EncapsulationKeys::generate(rlwe, &narrow, &secret, Modulus::of_range(0..2)).unwrap()
}

/// Returns evaluation keys that contain no key.
fn none(client: &ClientKey) -> EvaluationKeys {
    let rlwe = client.session().context().rlwe();
    let none = rlwe::EvaluationKeys::empty(rlwe, client.fingerprint());
    EvaluationKeys::new(client.session().clone(), none)
}

fn bootstrapping(client: &ClientKey) -> EvaluationKeys {
    let (session, literal) = (client.session(), bootstrap_literal(client.session().slots()));
    let own = BootstrappingKeys::new(session, 20.125, literal, sparse(client)).unwrap();
    none(client).with_bootstrapping(own)
}

/// Returns the plan of [`Things::gates`].
///
/// The numbers are valid for a file, but computing with them makes no sense.
pub fn bit_literal(slots: usize) -> BitLiteral {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    BitLiteral {
        packing: BitPacking::Complex,
        base_bits: 48.0,
        sparse_weight: 8,
        wave: Wave::from_parts(17, 3, vec![0.5, 0.0, 0.125], 1e-9).unwrap(),
        scale_bits: 32.25,
        falling_bits: 5.0,
        coefficients_to_slots: vec![level(slots.ilog2() - 1, 26.5), level(1, 26.5)],
        slots_to_coefficients: vec![level(slots.ilog2(), 13.0)],
        bit_scale: 23,
        clean: true,
        output_bits: Some(66.0),
    }
}

fn gates(client: &ClientKey) -> EvaluationKeys {
    let literal = bit_literal(client.session().slots());
    none(client).with_bits(BitKeys::new(client.session(), literal, sparse(client)).unwrap())
}

/// Encrypts bits as an array of this shape.
fn bits(
    client: &ClientKey,
    packing: BitPacking,
    (values, shape): (&[bool], &[usize]),
    encrypt: impl Fn(&Plaintext) -> CiphertextBody<Bits>,
) -> BitArray {
    let context = client.session().context();
    let layout = Layout::packed(shape, packing.bits(context.max_slots())).unwrap();
    let encode = |bits: &Vec<bool>| {
        let (scale, modulus) = (Scale::power_of_two(26), Modulus::of_range(0..2));
        encode_bits(context, bits, packing, context.max_slots(), scale, modulus).unwrap()
    };
    let bodies =
        layout.scatter(values).unwrap().iter().map(|bits| encrypt(&encode(bits))).collect();
    BitArray::from_parts(layout, Bits { packing }, hippocrene::SlotContents::Zero, bodies).unwrap()
}

/// Returns two seeded ciphertexts of bits in complex slots.
fn fresh_bits(client: &ClientKey) -> BitArray {
    let context = client.session().context();
    let secret = SecretKey::from_seed(context.rlwe(), client.seed().clone()).unwrap();
    let values: Vec<bool> = (0..2 * context.max_slots() + 3).map(|i| i * i % 7 > 2).collect();
    bits(client, BitPacking::Complex, (&values, &[values.len()]), |plaintext| {
        let ciphertext = context.encrypt(&secret, plaintext).unwrap();
        CiphertextBody::Seeded(Fresh::new(
            SeededBitCiphertext::declare(ciphertext, BitPacking::Complex).unwrap(),
        ))
    })
}

/// Returns one full ciphertext of bits in real slots.
fn whole_bits(client: &ClientKey, public: &PublicKey) -> BitArray {
    let context = client.session().context();
    let values = [false, true, true, false, true, false];
    bits(client, BitPacking::Real, (&values, &[2, 3]), |plaintext| {
        let ciphertext = context.encrypt_public(public.inner(), plaintext).unwrap();
        CiphertextBody::Full(BitCiphertext::declare(ciphertext, BitPacking::Real).unwrap())
    })
}

/// Keys and arrays of each kind, under one key.
pub struct Things {
    pub client: ClientKey,
    pub public: PublicKey,
    pub keys: EvaluationKeys,
    /// Only the keys of a bootstrap.
    pub bootstrapping: EvaluationKeys,
    /// Only the keys for bits.
    pub gates: EvaluationKeys,
    /// A second key, with two units.
    pub second: ClientKey,
    pub transfer: TransferKey,
    /// Two seeded ciphertexts.
    pub fresh: EncryptedArray,
    /// One full ciphertext with a smaller modulus.
    pub product: EncryptedArray,
    /// Two seeded ciphertexts.
    pub integers: IntegerArray,
    /// One full ciphertext with a smaller modulus and a factor.
    pub squares: IntegerArray,
    /// Two seeded ciphertexts with complex slots.
    pub bits: BitArray,
    /// One full ciphertext with real slots.
    pub nots: BitArray,
    /// A program on integers.
    pub program: Program,
}

/// Returns a program on integers, with plain operands and a move.
fn program(settings: &Settings) -> Program {
    let recorder = Recorder::new(settings.clone(), &KeyRequest::only([]), None).unwrap();
    let server = recorder.server();
    let spec = Spec::new(SpecKind::Integers, vec![2, 3], Some((-9.0, 9.0))).unwrap();
    let x = recorder.input("x", spec, None).unwrap();
    let places = vec![Some(4), None, Some(0)];
    let moved = Operation::Gather { shape: vec![3], places };
    let moved = recorder.perform(server, moved, &[x]).unwrap();
    let weights = Operation::MulPlain(Plain::Integers(vec![2, -3, 5]));
    let outputs = [moved.clone(), recorder.perform(server, weights, &moved).unwrap()].concat();
    let names = Results::Named(vec!["moved".into(), "weighted".into()]);
    let notes = Notes { inputs: "in metres".into(), results: "in inches".into() };
    Program::of(&recorder, &outputs, names, notes, Planning::Full).unwrap()
}

/// Returns the keys for products, the rotation by 1 and conjugation at all moduli, and the key for
/// the rotation by -2 at two units only.
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
    let second = client.second_key(40.0).unwrap();
    let transfer = client.transfer_key(&second).unwrap();
    let slots = client.session().slots();
    let values: Vec<f64> = (0..slots + 3).map(|i| i as f64 / 8.0 - 1.0).collect();
    let fresh = client.encrypt(&values, &[slots + 3]).unwrap();
    let server = Server::new(keys.clone()).unwrap();
    let x = public.encrypt(&[0.5, -1.5, 2.0, 3.0, 0.25, 1.0], &[2, 3]).unwrap();
    let notes = Notes::fingerprint_of("in metres");
    let product = server.mul(&x, &x).unwrap().with_notes(notes);
    let values: Vec<i64> =
        (0..2 * slots as i64 + 3).map(|i| (i * i * i - 70_000).rem_euclid(65_537)).collect();
    let integers = client.encrypt_integers(&values, &[values.len()]).unwrap();
    let x = public.encrypt_integers(&[5, -1, 2, 300, 40_000, (1 << 40) % 65_537], &[2, 3]).unwrap();
    let squares = server.mul(&x, &x).unwrap();
    let (gates, bits, nots) = (gates(&client), fresh_bits(&client), whole_bits(&client, &public));
    let program = program(client.session().settings());
    Things {
        client,
        public,
        keys,
        bootstrapping,
        gates,
        second,
        transfer,
        fresh,
        product,
        integers,
        squares,
        bits,
        nots,
        program,
    }
}

impl Things {
    /// Returns one file of each kind, and two for each kind of array.
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
            ("gates", self.gates.to_bytes()),
            ("bits", self.bits.to_bytes()),
            ("nots", self.nots.to_bytes()),
            ("program", self.program.to_bytes()),
            ("interface", self.program.interface().to_bytes()),
        ]
    }
}
