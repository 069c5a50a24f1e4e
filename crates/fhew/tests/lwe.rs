//! Tests of LWE ciphertexts and their linear operations: exact messages, and errors as estimated.

use crate::common::{assert_noise, centred_difference, ternary};
use hippocrene_fhew::{
    FhewError, LweCiphertext, LweParameters, LweSecretKey, RlweCoefficients, SeededCoefficients,
};
use hippocrene_ring::{Domain, Poly, Sampler, Seed, Threads, primes::ntt_primes};
use hippocrene_rlwe::{
    Context, Modulus, Noise, Parameters, ParametersLiteral, RlweError, SecretDistribution,
    SecretKey, Sprout,
};
use proptest::prelude::*;

const Q: u64 = (1 << 45) - 229;

/// Returns the error of each ciphertext, which should hold `expected(i)`.
fn errors(
    secret: &LweSecretKey,
    all: &[LweCiphertext],
    expected: impl Fn(usize) -> i64,
) -> Vec<f64> {
    let error = |(i, ct): (usize, &LweCiphertext)| {
        centred_difference(secret.decrypt(ct).unwrap(), expected(i), ct.parameters().modulus())
    };
    all.iter().enumerate().map(error).collect()
}

#[test]
fn noise_of_encryption_and_linear_operations() {
    for distribution in [
        SecretDistribution::Ternary,
        SecretDistribution::SparseTernary { weight: 64 },
        SecretDistribution::Binary,
    ] {
        let parameters = LweParameters::insecure(256, Q, distribution).unwrap();
        let secret = LweSecretKey::generate(parameters).unwrap();
        let message = |i: usize| (i as i64 - 500) << 34;
        let fresh: Vec<LweCiphertext> = (0..1000)
            .map(|i| secret.encrypt(message(i).rem_euclid(Q as i64) as u64).unwrap())
            .collect();
        assert_noise(&errors(&secret, &fresh, message), fresh[0].noise(), "encryption");

        let mut sums = fresh.clone();
        for (i, sum) in sums.iter_mut().enumerate() {
            sum.scale_assign(-3);
            sum.sub_assign(&fresh[(i + 1) % 1000]).unwrap();
            sum.neg_assign();
            sum.add_assign(&fresh[(i + 2) % 1000]).unwrap();
            sum.add_constant_assign(-77);
        }
        let expected =
            |i: usize| 3 * message(i) + message((i + 1) % 1000) + message((i + 2) % 1000) - 77;
        assert_noise(&errors(&secret, &sums, expected), sums[0].noise(), "linear operations");

        for to in [1 << 13, (1 << 26) - 5, (1 << 47) + 5] {
            let switched: Vec<LweCiphertext> =
                fresh.iter().map(|ct| ct.switch_modulus(to).unwrap()).collect();
            let expected = |i: usize| (message(i) as f64 * to as f64 / Q as f64).round() as i64;
            assert_noise(
                &errors(&secret, &switched, expected),
                switched[0].noise(),
                "modulus switch",
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Linear operations on ciphertexts without errors are exact.
    #[test]
    fn linear_operations_are_those_of_messages(
        x in 0..Q,
        y in 0..Q,
        factor in -1000i64..1000,
        c in any::<i32>(),
        seed: [u8; 32],
    ) {
        let parameters = LweParameters::insecure(24, Q, SecretDistribution::Ternary).unwrap();
        let secret = LweSecretKey::from_seed(parameters, &Seed::from_bytes(seed)).unwrap();
        let mut a = LweCiphertext::trivial(parameters, x, secret.fingerprint()).unwrap();
        let b = LweCiphertext::trivial(parameters, y, secret.fingerprint()).unwrap();
        a.scale_assign(factor);
        a.add_constant_assign(i64::from(c));
        a.sub_assign(&b).unwrap();
        let q = i128::from(Q);
        let expected =
            (i128::from(x) * i128::from(factor) + i128::from(c) - i128::from(y)).rem_euclid(q);
        prop_assert_eq!(i128::from(secret.decrypt(&a).unwrap()).rem_euclid(q), expected);
    }

    /// Decryption computes `b + <a, s>`. The entries of the secret are read by decrypting
    /// ciphertexts with unit vectors `a`.
    #[test]
    fn decryption_is_the_inner_product(
        a in proptest::collection::vec(0..Q, 24),
        b in 0..Q,
        seed: [u8; 32],
    ) {
        let parameters =
            LweParameters::insecure(24, Q, SecretDistribution::SparseTernary { weight: 5 })
                .unwrap();
        let secret = LweSecretKey::from_seed(parameters, &Seed::from_bytes(seed)).unwrap();
        let phase = |b: u64, a: Vec<u64>| {
            let ct = LweCiphertext::from_parts(parameters, b, a, Noise::NONE, secret.fingerprint())
                .unwrap();
            i128::from(secret.decrypt(&ct).unwrap())
        };
        let unit = |i: usize| (0..24).map(|j| u64::from(i == j)).collect::<Vec<_>>();
        let s: Vec<i128> = (0..24).map(|i| phase(0, unit(i))).collect();
        prop_assert_eq!(s.iter().map(|s| s.abs()).sum::<i128>(), 5);
        let expected =
            i128::from(b) + a.iter().zip(&s).map(|(a, s)| i128::from(*a) * s).sum::<i128>();
        prop_assert_eq!((phase(b, a) - expected).rem_euclid(i128::from(Q)), 0);
    }
}

/// Extraction gives every coefficient of an RLWE ciphertext modulo one prime.
#[test]
fn extraction_gives_the_coefficients() {
    let degree = 64;
    let literal = ParametersLiteral {
        log_degree: 6,
        units: ntt_primes(40, degree, 2, &[]).unwrap(),
        specials: ntt_primes(41, degree, 1, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 2,
        secret: SecretDistribution::Ternary,
    };
    let context =
        Context::new(Parameters::new_insecure(literal).unwrap(), Threads::single()).unwrap();
    let secret = SecretKey::generate(&context).unwrap();
    let modulus = Modulus::of_factor(1);
    let q = context.limb_ring(modulus, 0).modulus();
    let mut message = Poly::zero(degree, 1, Domain::Coefficient);
    Sampler::new(&Seed::from_bytes([5; 32]), 0).uniform(q, message.limb_mut(0));
    let coefficients = message.limb(0).to_vec();
    context.to_evaluation(&mut message, modulus);
    let ct = secret.encrypt(&context, &message, modulus).unwrap().expand(&context);

    let lwe_secret = LweSecretKey::of_rlwe(&context, &secret, q).unwrap();
    let parts = RlweCoefficients::from_ciphertext(&context, &ct).unwrap();
    let all: Vec<LweCiphertext> = (0..degree).map(|i| parts.extract(i).unwrap()).collect();
    assert!(
        all.iter().all(|ct| ct.key() == secret.fingerprint() && ct.parameters().modulus() == q)
    );
    let errors = errors(&lwe_secret, &all, |i| coefficients[i] as i64);
    assert!(
        errors.iter().all(|e| e.abs() < 42.0) && errors.iter().any(|e| *e != 0.0),
        "{errors:?}"
    );
    assert_eq!(all[0].noise(), ct.noise());

    assert!(matches!(parts.extract(degree), Err(FhewError::Range { have: 64, limit: 64, .. })));
    let both = secret.encrypt(
        &context,
        &context.zero(Modulus::of_range(0..2), Domain::Evaluation),
        Modulus::of_range(0..2),
    );
    let error =
        RlweCoefficients::from_ciphertext(&context, &both.unwrap().expand(&context)).unwrap_err();
    assert!(error.to_string().contains("one limb is needed"), "{error}");
}

/// A secret of a secure set, used as an LWE secret, is refused moduli beyond the limit of the set.
/// Otherwise it could encrypt, or be the target of switching keys, at any modulus.
#[test]
fn secrets_of_secure_sets_keep_to_their_limit() {
    let literal = ParametersLiteral {
        log_degree: 11,
        units: ntt_primes(40, 2048, 1, &[]).unwrap(),
        specials: Vec::new(),
        sprout: Sprout::default(),
        gadget_rank: 0,
        secret: SecretDistribution::Ternary,
    };
    let context = Context::new(Parameters::new(literal).unwrap(), Threads::single()).unwrap();
    let secret = SecretKey::generate(&context).unwrap();
    let of = |modulus| LweSecretKey::of_rlwe(&context, &secret, modulus);
    assert!(of(1 << 53).unwrap().encrypt(1).is_ok());
    for beyond in [(1 << 53) + (1 << 40), 1 << 60] {
        let error = of(beyond).unwrap_err();
        assert!(matches!(error, FhewError::Rlwe(RlweError::Insecure { limit: 53, .. })), "{error}");
    }
}

/// Every number of seven ciphertexts, the last of which is not full, is decrypted with the
/// estimated error.
#[test]
fn coefficients_are_encrypted_as_their_seed_and_one_residue_each() {
    let (degree, count) = (64, 410);
    let prime = ntt_primes(26, degree, 1, &[]).unwrap()[0];
    for q in [prime, 1 << 13] {
        check_coefficients(ternary(degree, prime), q, count);
    }
}

fn check_coefficients(secret: LweSecretKey, q: u64, count: usize) {
    let degree = secret.parameters().dimension();
    let messages: Vec<u64> = (0..count).map(|i| (i as u64 * 7_654_321) % q).collect();
    let sent = secret.encrypt_coefficients(q, &messages).unwrap();
    assert_eq!(sent.c0().len(), count);
    let (seed, c0) = (sent.seed().clone(), sent.c0().to_vec());
    let sent = SeededCoefficients::from_parts(sent.parameters(), seed, c0, sent.key()).unwrap();
    let expanded = sent.expand().unwrap();
    assert_eq!(expanded.len(), 7);
    let all: Vec<LweCiphertext> =
        (0..count).map(|i| expanded[i / degree].extract(i % degree).unwrap()).collect();
    assert_noise(&errors(&secret, &all, |i| messages[i] as i64), all[0].noise(), "coefficients");

    let error = secret.encrypt_coefficients(q, &[0, q + 4321]).unwrap_err();
    assert_eq!(error.to_string(), format!("encrypt coefficients: message 1 has to be below {q}"));
    let large = secret.parameters().modulus() + 1;
    let error = secret.encrypt_coefficients(large, &[0]).unwrap_err().to_string();
    assert!(error.contains("the modulus"), "{error}");
    let beyond = SeededCoefficients::from_parts(
        sent.parameters(),
        Seed::from_bytes([1; 32]),
        vec![q],
        sent.key(),
    );
    assert!(matches!(beyond, Err(FhewError::Range { .. })));
}

#[test]
fn mistakes_are_named() {
    let [small, large] = [ternary(16, Q), ternary(32, Q)];
    let (a, b) = (small.encrypt(1).unwrap(), large.encrypt(1).unwrap());
    assert!(matches!(small.decrypt(&b), Err(FhewError::Rlwe(RlweError::KeyMismatch { .. }))));
    assert!(matches!(
        a.clone().add_assign(&b),
        Err(FhewError::Rlwe(RlweError::KeyMismatch { .. }))
    ));
    let of = |n, q| LweParameters::insecure(n, q, SecretDistribution::Ternary).unwrap();
    let key = small.fingerprint();
    let trivial = |n, q| LweCiphertext::trivial(of(n, q), 0, key).unwrap();
    assert_eq!(
        a.clone().add_assign(&trivial(16, 1 << 20)).unwrap_err().to_string(),
        format!(
            "add LWE ciphertexts: the modulus is {}, but {Q} is needed. Switch the modulus first.",
            1 << 20
        )
    );
    assert_eq!(
        small.decrypt(&trivial(8, Q)).unwrap_err().to_string(),
        "decrypt: the dimension is 8, but 16 is needed"
    );
    assert_eq!(
        small.encrypt(Q + 4321).unwrap_err().to_string(),
        format!("encrypt: message 0 has to be below {Q}")
    );
    assert!(LweCiphertext::from_parts(of(2, Q), 0, vec![0, Q], Noise::NONE, key).is_err());
    assert!(LweParameters::insecure(16, 1 << 61, SecretDistribution::Ternary).is_err());
    assert!(
        LweParameters::insecure(16, Q, SecretDistribution::SparseTernary { weight: 17 }).is_err()
    );
    assert!(!format!("{small:?}").contains("coefficients"));
}

#[test]
fn security_is_checked_at_the_own_dimension_and_modulus() {
    let new = |n, bits: u32| LweParameters::new(n, 1 << bits, SecretDistribution::Ternary);
    assert!(new(1024, 26).is_ok() && new(4096, 48).is_ok());
    for (n, bits) in [(1024, 27), (2047, 27), (512, 10)] {
        assert!(matches!(
            new(n, bits),
            Err(FhewError::Rlwe(RlweError::Insecure { .. } | RlweError::NoSecurityLimit { .. }))
        ));
    }
    assert!(
        LweParameters::new(1024, 1 << 20, SecretDistribution::SparseTernary { weight: 64 })
            .is_err()
    );

    // Moduli up to the checked one are at least as secure. Larger ones are checked anew.
    let binary = LweParameters::new(1024, 1 << 24, SecretDistribution::Binary).unwrap();
    assert_eq!(binary.with_modulus(1 << 10).unwrap().modulus(), 1 << 10);
    assert_eq!(binary.with_modulus(1 << 25).unwrap().modulus(), 1 << 25);
    for beyond in [1 << 26, 1 << 60] {
        assert!(matches!(
            binary.with_modulus(beyond),
            Err(FhewError::Rlwe(RlweError::Insecure { .. }))
        ));
    }
    // Ciphertexts can be switched to any modulus.
    let secret = LweSecretKey::generate(binary).unwrap();
    let switched = secret.encrypt(1 << 20).unwrap().switch_modulus(1 << 60).unwrap();
    let off = secret.decrypt(&switched).unwrap() - (1 << 56);
    assert!(off.abs() < 1 << 44, "{off}");
}
