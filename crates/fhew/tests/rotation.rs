//! Tests of look-ups: entries, noise estimates and the bound of Theorem 1.

use crate::common::{assert_noise, centred_difference, rms, secret, ternary};
use hippocrene_fhew::{
    BlindRotationKey, FhewError, LookupTable, LookupTables, LweCiphertext, LweParameters,
    LweSecretKey, PreparedBlindRotationKey, RotationGadget, RotationParameters,
};
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Noise, RlweError, SecretDistribution};

/// Insecure keys: the secret of inputs, the secret of the ring, and the rotation key.
struct Keys {
    input: LweSecretKey,
    ring: LweSecretKey,
    key: PreparedBlindRotationKey,
}

/// The distributions whose rotations differ.
const SECRETS: [SecretDistribution; 2] = [SecretDistribution::Ternary, SecretDistribution::Binary];

const DIGITS: RotationGadget = RotationGadget::Digits { base_log2: 12, count: 3 };

fn special(degree: usize) -> RotationGadget {
    RotationGadget::SpecialPrime { p: ntt_primes(47, degree, 1, &[]).unwrap()[0] }
}

/// Makes insecure keys for ternary inputs of dimension `n` modulo `2^20`, and a ring of this degree
/// with a modulus of 45 bits.
fn insecure(n: usize, degree: usize, gadget: RotationGadget) -> Keys {
    insecure_of(SecretDistribution::Ternary, n, degree, gadget)
}

/// The same as [`insecure`], for inputs with secrets of this distribution.
fn insecure_of(
    distribution: SecretDistribution,
    n: usize,
    degree: usize,
    gadget: RotationGadget,
) -> Keys {
    let q = ntt_primes(45, degree, 1, &[]).unwrap()[0];
    let (input, ring) = (secret(n, 1 << 20, distribution), ternary(degree, q));
    let parameters =
        RotationParameters::insecure(input.parameters(), ring.parameters(), gadget).unwrap();
    // The number of threads does not change the key.
    let threads = Threads::new(2).unwrap();
    let key = BlindRotationKey::generate(parameters, &input, &ring, &threads)
        .unwrap()
        .prepare(&threads)
        .unwrap();
    Keys { input, ring, key }
}

/// A rotation of inputs without noise and with `a = 0` is exact, so both gadgets find every entry.
/// The reference is the function itself.
#[test]
fn every_entry_is_found() {
    let (n, degree) = (8, 64);
    for (gadget, distribution) in
        SECRETS.into_iter().flat_map(|d| [(DIGITS, d), (special(degree), d)])
    {
        let keys = insecure_of(distribution, n, degree, gadget);
        let scale = 2f64.powi(30);
        let table =
            LookupTable::new(&keys.key.parameters(), 32.0, scale, |x| x * x - 7.0 * x).unwrap();
        // An entry is 1 wide, and 2^20 is 4 times the domain.
        let input = keys.input.parameters();
        for x in -32i64..32 {
            let message = (x << 13).rem_euclid(1 << 20) as u64;
            let ct = LweCiphertext::trivial(input, message, keys.input.fingerprint()).unwrap();
            let value = keys.ring.decrypt(&keys.key.look_up(&ct, &table).unwrap()).unwrap();
            assert_eq!((value as f64 / scale).round(), (x * x - 7 * x) as f64, "{x}");
        }
    }
}

/// The accumulator's error is as estimated. The tables are constant, so the error of the index has
/// no effect.
#[test]
fn noise_of_rotations_is_as_estimated() {
    for (degree, distribution) in SECRETS.into_iter().flat_map(|d| [(256, d), (1024, d)]) {
        for gadget in [
            DIGITS,
            special(degree),
            RotationGadget::Digits { base_log2: 9, count: 5 },
            RotationGadget::Digits { base_log2: 6, count: 3 },
        ] {
            let keys = insecure_of(distribution, 64, degree, gadget);
            let scale = 2f64.powi(40);
            let table = LookupTable::new(&keys.key.parameters(), 1.0, scale, |_| 1.0).unwrap();
            let q = keys.ring.parameters().modulus();
            let mut errors = Vec::new();
            let inputs: Vec<_> =
                (0..320).map(|i| keys.input.encrypt((i % 40) << 10).unwrap()).collect();
            let items: Vec<_> = inputs.iter().map(|ct| (ct, &table)).collect();
            let before = keys.key.rotations();
            let values = keys.key.look_up_all(&items, &Threads::new(2).unwrap()).unwrap();
            assert_eq!(keys.key.rotations() - before, items.len() as u64);
            for value in &values {
                errors.push(centred_difference(keys.ring.decrypt(value).unwrap(), 1 << 40, q));
            }
            assert_noise(
                &errors,
                values[0].noise(),
                &format!("{distribution} {degree} {gadget:?}"),
            );
            assert_eq!(values[0].noise().log2_std(), keys.key.parameters().noise().log2_std());
        }
    }
}

/// The error of a linear function shows that of the index. The bound is formula (3) of the analysis
/// of Theorem 1.
#[test]
fn errors_of_values_keep_to_theorem_1() {
    SECRETS.into_iter().for_each(keeps_to_theorem_1);
}

fn keeps_to_theorem_1(distribution: SecretDistribution) {
    let (n, degree) = (256, 1024);
    let keys = insecure_of(distribution, n, degree, DIGITS);
    let parameters = keys.key.parameters();
    let (domain, scale) = (8.0, 2f64.powi(38));
    let slope = 0.75;
    let table = LookupTable::new(&parameters, domain, scale, |x| slope * x + 1.0).unwrap();
    let input_scale = table.input_scale(1 << 20);
    let (mut errors, mut estimate) = (Vec::new(), Noise::NONE);
    for i in 0..300 {
        // Inputs cover 95 % of the domain, so that the noise does not lead out of it.
        let x = domain * 0.95 * (i as f64 / 150.0 - 1.0);
        let message = ((x * input_scale).round() as i64).rem_euclid(1 << 20) as u64;
        let value = keys.key.look_up(&keys.input.encrypt(message).unwrap(), &table).unwrap();
        errors.push(keys.ring.decrypt(&value).unwrap() as f64 / scale - (slope * x + 1.0));
        estimate = value.noise().scaled(-scale.log2());
    }
    assert_noise(&errors, estimate, &format!("linear function, {distribution}"));

    let weight = parameters.input().secret_spread();
    let q = 2f64.powi(20);
    let entries = 2.0 * degree as f64;
    let index = (3.19 / input_scale).powi(2)
        + (q / (input_scale * entries)).powi(2) * (weight + 2.0) / 12.0;
    let rotation = (parameters.noise().log2_std() - scale.log2()).exp2();
    let bound = 6.0 * (slope * index.sqrt() + rotation);
    assert!(errors.iter().all(|e| e.abs() < bound), "{bound} {errors:?}");
    assert!(rms(&errors) > bound / 20.0, "the bound is within a factor 20");
}

/// `|x| - D` continues itself, so the absolute value can be looked up on the double domain.
#[test]
fn tables_go_on_beyond_their_domain_with_the_other_sign() {
    let keys = insecure(16, 512, DIGITS);
    let scale = 2f64.powi(38);
    let table = LookupTable::new(&keys.key.parameters(), 4.0, scale, |x| x.abs() - 4.0).unwrap();
    for i in -31..32 {
        let x = f64::from(i) / 4.0;
        let message = ((x * table.input_scale(1 << 20)).round() as i64).rem_euclid(1 << 20) as u64;
        let mut value = keys.key.look_up(&keys.input.encrypt(message).unwrap(), &table).unwrap();
        value.add_constant_assign((4.0 * scale) as i64);
        let got = keys.ring.decrypt(&value).unwrap() as f64 / scale;
        assert!((got - x.abs()).abs() < 0.15, "|{x}| = {got}");
    }
}

#[test]
fn mistakes_are_named() {
    let keys = insecure(8, 64, DIGITS);
    let parameters = keys.key.parameters();
    let new = |domain, scale, f: fn(f64) -> f64| {
        LookupTable::new(&parameters, domain, scale, f).unwrap_err().to_string()
    };
    assert!(new(8.0, 1e3, |x| 1.0 / x).starts_with("table: the value at 0.0 is inf, but"));
    assert!(
        new(8.0, 1e13, |x| x).contains(
            "the value at -8.0 is -8.0, but at the scale 10000000000000.0 and the modulus"
        )
    );
    assert!(new(0.0, 1.0, |x| x).contains("positive"));
    assert!(new(1.0, f64::NAN, |x| x).contains("positive"));

    let table = LookupTable::new(&parameters, 1.0, 1.0, |x| x).unwrap();
    let other = ternary(8, 1 << 20).encrypt(0).unwrap();
    assert!(matches!(
        keys.key.look_up(&other, &table),
        Err(FhewError::Rlwe(RlweError::KeyMismatch { .. }))
    ));
    let ct = keys.input.encrypt(0).unwrap();
    let larger = insecure(8, 128, DIGITS);
    let wrong = LookupTable::new(&larger.key.parameters(), 1.0, 1.0, |x| x).unwrap();
    assert!(keys.key.look_up(&ct, &wrong).is_err());
    assert!(LookupTables::new(&parameters, &[]).is_err());
    let wider = LookupTable::new(&parameters, 2.0, 1.0, |x| x).unwrap();
    let domains = LookupTables::new(&parameters, &[table, wider]).unwrap_err().to_string();
    assert_eq!(domains, "table: the domains are 1 and 2, but one domain is needed for all tables");
    assert!(LookupTables::new(&parameters, &[wrong]).is_err());
    assert!(matches!(
        keys.key.rotate_all(&[(&ct, &[u64::MAX; 64])], &Threads::single()),
        Err(FhewError::Range { .. })
    ));
}

/// The security of keys modulo `q p` is checked at this product.
#[test]
fn security_is_that_of_the_keys() {
    let primes = |bits| ntt_primes(bits, 4096, 2, &[]).unwrap();
    let of = |n, q| LweParameters::new(n, q, SecretDistribution::Ternary).unwrap();
    let (input, ring) = (of(1024, (1 << 26) - 5), of(4096, primes(48)[0]));
    assert!(
        RotationParameters::new(input, ring, RotationGadget::SpecialPrime { p: primes(58)[0] })
            .is_ok()
    );
    let beyond =
        RotationParameters::new(input, ring, RotationGadget::SpecialPrime { p: primes(59)[0] });
    assert!(matches!(beyond, Err(FhewError::Rlwe(RlweError::Insecure { limit: 106, .. }))));
    let insecure = LweParameters::insecure(1024, 1 << 45, SecretDistribution::Ternary).unwrap();
    assert!(RotationParameters::new(insecure, ring, DIGITS).is_err());
    assert!(
        RotationParameters::new(input, ring, RotationGadget::Digits { base_log2: 16, count: 4 })
            .is_err()
    );
}

/// Every pair of coefficients of a binary secret turns the accumulator as far as it should. The
/// inputs have a mask of one or two coefficients.
#[test]
fn pairs_of_binary_secrets_turn_by_both() {
    let (n, degree) = (8, 64);
    let keys = insecure_of(SecretDistribution::Binary, n, degree, DIGITS);
    let scale = 2f64.powi(30);
    let table = LookupTable::new(&keys.key.parameters(), 32.0, scale, |x| 5.0 * x).unwrap();
    let (parameters, step) = (keys.input.parameters(), 1 << 13);
    for pair in 0..n / 2 {
        for (first, second) in [(0, 5), (7, 0), (9, 4), (11, 127), (64, 64), (127, 1)] {
            let mut a = vec![0; n];
            (a[2 * pair], a[2 * pair + 1]) = (first * step, second * step);
            let ct =
                LweCiphertext::from_parts(parameters, 0, a, Noise::NONE, keys.input.fingerprint());
            let ct = ct.unwrap();
            // The index counts entries, and the circle has 128 of them. Beyond the domain
            // they have the other sign.
            let index = keys.input.decrypt(&ct).unwrap() / step as i64;
            let expected = match index {
                -32..32 => 5 * index,
                32.. => -5 * (index - 64),
                _ => -5 * (index + 64),
            };
            let value = keys.ring.decrypt(&keys.key.look_up(&ct, &table).unwrap()).unwrap();
            assert_eq!(
                (value as f64 / scale).round() as i64,
                expected,
                "{pair}: {first} and {second}"
            );
        }
    }
    let odd = LweParameters::insecure(9, 1 << 20, SecretDistribution::Binary).unwrap();
    let refused = RotationParameters::insecure(odd, keys.ring.parameters(), DIGITS).unwrap_err();
    assert!(refused.to_string().contains("in pairs, but the dimension is 9"), "{refused}");
}

/// Secrets of another distribution have another limit, and their keys another error.
#[test]
fn keys_are_for_secrets_of_their_distributions() {
    let ternary = insecure(16, 64, DIGITS);
    let parameters = ternary.key.parameters();
    let sparse = |of: LweParameters| {
        let sparse = SecretDistribution::SparseTernary { weight: 8 };
        LweSecretKey::generate(
            LweParameters::insecure(of.dimension(), of.modulus(), sparse).unwrap(),
        )
        .unwrap()
    };
    let (input, ring) = (sparse(parameters.input()), sparse(parameters.ring()));
    let threads = Threads::single();
    for (input, ring) in [(&input, &ternary.ring), (&ternary.input, &ring)] {
        let error = BlindRotationKey::generate(parameters, input, ring, &threads).unwrap_err();
        assert!(
            matches!(&error, FhewError::Parameters { what } if what
                == "the secret is sparse ternary (Hamming weight 8), but the parameters need a \
                    ternary one"),
            "{error}"
        );
    }
    let parameters =
        RotationParameters::insecure(input.parameters(), ring.parameters(), DIGITS).unwrap();
    assert!(BlindRotationKey::generate(parameters, &input, &ring, &threads).is_ok());
}

/// One rotation gives the entries of three tables, with errors as estimated.
#[test]
fn several_tables_take_one_rotation() {
    for gadget in [DIGITS, special(512)] {
        let keys = insecure(64, 512, gadget);
        let parameters = keys.key.parameters();
        let scale = 2f64.powi(40);
        let functions: [fn(f64) -> f64; 3] = [|x| x * x / 2.0, |_| 3.0, |x| (x - 3.0).abs()];
        let tables: Vec<LookupTable> = functions
            .iter()
            .map(|f| LookupTable::new(&parameters, 2.0, scale, f).unwrap())
            .collect();
        let together = LookupTables::new(&parameters, &tables).unwrap();
        assert_eq!((together.count(), together.quantum() % 2), (3, 0));
        let input_scale = tables[0].input_scale(1 << 20);
        let mut errors = [const { Vec::new() }; 3];
        let mut estimates = [Noise::NONE; 3];
        for i in 0..240 {
            let x = 1.8 * (f64::from(i) / 120.0 - 1.0);
            let message = ((x * input_scale).round() as i64).rem_euclid(1 << 20) as u64;
            let ct = keys.input.encrypt(message).unwrap();
            for (k, value) in keys.key.look_up_in_tables(&ct, &together).unwrap().iter().enumerate()
            {
                errors[k].push(keys.ring.decrypt(value).unwrap() as f64 / scale - functions[k](x));
                estimates[k] = value.noise().scaled(-scale.log2());
            }
        }
        // The slope of the parabola goes from 0 to its maximum.
        assert!(rms(&errors[0]) < 1.5 * estimates[0].log2_std().exp2());
        // All inputs of a constant have the same rounding error. Its factor has the norm of one
        // step, at the ends of the table.
        assert!(rms(&errors[1]) < 1.5 * estimates[1].log2_std().exp2());
        assert_noise(&errors[2], estimates[2], &format!("linear function {gadget:?}"));
    }
}

/// With wide steps, the rotation's error times the norm of the factor dominates.
#[test]
fn noise_of_several_tables_is_as_estimated() {
    // The sum over the steps depends on the key.
    let all: Vec<Keys> = (0..16)
        .map(|_| insecure(64, 512, RotationGadget::Digits { base_log2: 10, count: 3 }))
        .collect();
    let parameters = all[0].key.parameters();
    let zigzag = |x: f64| if (x * 256.0).floor() as i64 % 2 == 0 { 8.0 } else { 7.0 };
    let scale = 2f64.powi(40);
    // The second table is zero, which shows that its values do not depend on the first.
    let tables = [zigzag, |_| 0.0]
        .map(|f: fn(f64) -> f64| LookupTable::new(&parameters, 1.0, scale, f).unwrap());
    let together = LookupTables::new(&parameters, &tables).unwrap();
    let q = all[0].ring.parameters().modulus();
    let mut errors = Vec::new();
    for (keys, i) in all.iter().flat_map(|keys| (0..30).map(move |i| (keys, i))) {
        let ct = keys.input.encrypt(i << 12).unwrap();
        let values = keys.key.look_up_in_tables(&ct, &together).unwrap();
        let all = keys.key.look_up_several_all(&[&ct, &ct], &together, &Threads::single()).unwrap();
        assert_eq!(all, [values.clone(), values.clone()]);
        assert_eq!(values[1].noise().log2_std(), (together.quantum() as f64 / 12f64.sqrt()).log2());
        assert_eq!(keys.ring.decrypt(&values[1]).unwrap(), 0);
        let value = keys.ring.decrypt(&values[0]).unwrap();
        let quantum = together.quantum() as i64;
        let nearest = [7.0 * scale, 8.0 * scale, -7.0 * scale, -8.0 * scale]
            .map(|v| ((v / quantum as f64).round() as i64) * quantum)
            .map(|v| centred_difference(value, v, q))
            .into_iter()
            .min_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap();
        errors.push(nearest);
    }
    // The steps of the test polynomial in quanta. Around its end the sign changes.
    let entries: Vec<f64> =
        tables[0].coefficients().iter().map(|x| centred_difference(*x as i64, 0, q)).collect();
    let before = |j: usize| if j == 0 { -entries[511] } else { entries[j - 1] };
    let square: f64 = (0..512).map(|j| (entries[j] - before(j)).powi(2)).sum();
    let estimate =
        parameters.noise().scaled(square.sqrt().log2() - (together.quantum() as f64).log2());
    assert_noise(&errors, estimate, "zigzag");
}

/// Parameters without a possible rotation are refused before keys are made.
#[test]
fn moduli_that_do_not_rotate_are_refused() {
    let of = |n, q| LweParameters::insecure(n, q, SecretDistribution::Ternary).unwrap();
    let q = ntt_primes(45, 64, 1, &[]).unwrap()[0];
    let digits = RotationGadget::Digits { base_log2: 12, count: 3 };
    for (modulus, gadget, what) in [
        (1 << 45, digits, "35184372088832 is a power of two"),
        (q, RotationGadget::SpecialPrime { p: 4 }, "4 is a power of two"),
        (q, RotationGadget::SpecialPrime { p: 1 }, "1 is a power of two"),
        (1 << 45, RotationGadget::SpecialPrime { p: q }, "35184372088832 is a power of two"),
        (q, RotationGadget::SpecialPrime { p: q }, "the special prime and the modulus are both"),
    ] {
        let refused =
            RotationParameters::insecure(of(65, 1 << 20), of(64, modulus), gadget).unwrap_err();
        assert!(
            matches!(&refused, FhewError::Parameters { what: is } if is.contains(what)),
            "{refused}"
        );
    }
}
