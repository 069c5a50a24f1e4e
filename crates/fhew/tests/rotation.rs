//! Look-ups: the right entries, errors as estimated, Theorem 1's bound.

use crate::common::{assert_noise, centred_difference, rms, secret, ternary};
use hippocrene_fhew::{
    BlindRotationKey, FhewError, LookupTable, LookupTables, LweCiphertext, LweParameters,
    LweSecretKey, PreparedBlindRotationKey, RotationGadget, RotationParameters,
};
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Noise, RlweError, SecretDistribution};

/// Keys without security: the input's secret, the ring's, and the key.
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

/// Of dimension `n` modulo `2^20` with a ternary secret, ring degree `N`, and a modulus of 45 bits.
fn insecure(n: usize, degree: usize, gadget: RotationGadget) -> Keys {
    insecure_of(SecretDistribution::Ternary, n, degree, gadget)
}

/// [`insecure`] with a secret of inputs of that distribution.
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
    // What is made on several threads is what one makes.
    let threads = Threads::new(2).unwrap();
    let key = BlindRotationKey::generate(parameters, &input, &ring, &threads)
        .unwrap()
        .prepare(&threads)
        .unwrap();
    Keys { input, ring, key }
}

/// Without noise in the input, and with `a = 0`, the rotation is exact: every entry of the table is
/// found, by both gadgets. A slow reference: the function itself.
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
        // One entry is 1 wide, and 2^20 is 4 times the domain.
        let input = keys.input.parameters();
        for x in -32i64..32 {
            let message = (x << 13).rem_euclid(1 << 20) as u64;
            let ct = LweCiphertext::trivial(input, message, keys.input.fingerprint()).unwrap();
            let value = keys.ring.decrypt(&keys.key.look_up(&ct, &table).unwrap()).unwrap();
            assert_eq!((value as f64 / scale).round(), (x * x - 7 * x) as f64, "{x}");
        }
    }
}

/// The accumulator's error, for constant tables, where that of the index does not count.
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

/// A linear function shows the error of the index; the bound is formula (3) of Theorem 1's
/// analysis.
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
        // 95 % of the domain, so that the noise does not lead out of it.
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
    assert!(rms(&errors) > bound / 20.0, "the bound says something");
}

/// `|x| - D` continues itself: the absolute value on the double domain.
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
        new(8.0, 1e13, |x| x)
            .contains("the value at -8.0 is -8.0, but at the scale 10000000000000.0 less than 1.7")
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
    assert_eq!(domains, "table: one domain is needed, but there are 1 and 2");
    assert!(LookupTables::new(&parameters, &[wrong]).is_err());
    assert!(matches!(
        keys.key.rotate_all(&[(&ct, &[u64::MAX; 64])], &Threads::single()),
        Err(FhewError::Range { .. })
    ));
}

/// Keys modulo `q p` count with both.
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

/// Every pair of coefficients of a binary secret turns the accumulator as far as it should: inputs
/// with a mask of one coefficient, or of two.
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
            // In entries, of which there are 128 around the circle: beyond the domain with the
            // other sign.
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

/// Secrets of another distribution have another limit, and the key another error.
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
            matches!(&error, FhewError::Parameters { what } if what == "a sparse ternary (Hamming weight 8) secret where the parameters are for a ternary one"),
            "{error}"
        );
    }
    let parameters =
        RotationParameters::insecure(input.parameters(), ring.parameters(), DIGITS).unwrap();
    assert!(BlindRotationKey::generate(parameters, &input, &ring, &threads).is_ok());
}

/// Three tables by one rotation: the entries of each, with the error as estimated.
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
            for (k, value) in keys.key.look_up_several(&ct, &together).unwrap().iter().enumerate() {
                errors[k].push(keys.ring.decrypt(value).unwrap() as f64 / scale - functions[k](x));
                estimates[k] = value.noise().scaled(-scale.log2());
            }
        }
        // The parabola's slope goes from 0 to its steepest.
        assert!(rms(&errors[0]) < 1.5 * estimates[0].log2_std().exp2());
        // All inputs of a constant have one rounding: the norm of the one step, at the ends of the
        // table, counts.
        assert!(rms(&errors[1]) < 1.5 * estimates[1].log2_std().exp2());
        assert_noise(&errors[2], estimates[2], &format!("linear function {gadget:?}"));
    }
}

/// With wide steps the rotation's error dominates, times the norm of the factor.
#[test]
fn noise_of_several_tables_is_as_estimated() {
    // How the sum over the steps comes out depends on the key.
    let all: Vec<Keys> = (0..16)
        .map(|_| insecure(64, 512, RotationGadget::Digits { base_log2: 10, count: 3 }))
        .collect();
    let parameters = all[0].key.parameters();
    let zigzag = |x: f64| if (x * 256.0).floor() as i64 % 2 == 0 { 8.0 } else { 7.0 };
    let scale = 2f64.powi(40);
    // Beside it a table of zeros, which shows that nothing leaks from one to the other.
    let tables = [zigzag, |_| 0.0]
        .map(|f: fn(f64) -> f64| LookupTable::new(&parameters, 1.0, scale, f).unwrap());
    let together = LookupTables::new(&parameters, &tables).unwrap();
    let q = all[0].ring.parameters().modulus();
    let mut errors = Vec::new();
    for (keys, i) in all.iter().flat_map(|keys| (0..30).map(move |i| (keys, i))) {
        let ct = keys.input.encrypt(i << 12).unwrap();
        let values = keys.key.look_up_several(&ct, &together).unwrap();
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
    // The steps of the test polynomial over the quantum; around its end with the other sign.
    let entries: Vec<f64> =
        tables[0].coefficients().iter().map(|x| centred_difference(*x as i64, 0, q)).collect();
    let before = |j: usize| if j == 0 { -entries[511] } else { entries[j - 1] };
    let square: f64 = (0..512).map(|j| (entries[j] - before(j)).powi(2)).sum();
    let estimate =
        parameters.noise().scaled(square.sqrt().log2() - (together.quantum() as f64).log2());
    assert_noise(&errors, estimate, "zigzag");
}

/// What no rotation can be computed with is refused before there are keys.
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
