//! Tests of key switching of single values and of many coefficients at once: messages, and errors
//! as estimated.

use crate::common::{assert_noise, centred_difference, ternary};
use hippocrene_fhew::{
    FhewError, LweCiphertext, LweParameters, LweSecretKey, LweSwitchingKey, RlweCoefficients,
};
use hippocrene_ring::{Domain, Poly, Sampler, Seed, Threads, primes::ntt_primes};
use hippocrene_rlwe::{
    Context, Modulus, Parameters, ParametersLiteral, RlweError, SecretDistribution, SecretKey,
    Sprout,
};

fn random(q: u64, length: usize, seed: u8) -> Vec<u64> {
    let mut out = vec![0; length];
    Sampler::new(&Seed::from_bytes([seed; 32]), 0).uniform(q, &mut out);
    out
}

/// The gadgets have digits that cover all bits, the last one with fewer bits, and digits that do
/// not. The strides are 1, 2 and 16.
#[test]
fn switched_values_have_the_estimated_error() {
    for (from, to, bits, base_log2, count) in
        [(256, 256, 26, 3, 9), (512, 256, 45, 7, 7), (1024, 64, 48, 5, 4), (1024, 64, 20, 10, 2)]
    {
        let q = ntt_primes(bits, to, 1, &[]).unwrap()[0];
        let (source, target) = (ternary(from, q), ternary(to, q));
        let key = LweSwitchingKey::generate(&source, &target, base_log2, count).unwrap();
        let prepared = key.prepare().unwrap();
        let messages = random(q, 300, 1);
        let mut errors = Vec::new();
        for &m in &messages {
            let switched = prepared.switch(&source.encrypt(m).unwrap()).unwrap();
            assert_eq!(
                (switched.key(), switched.parameters()),
                (target.fingerprint(), target.parameters())
            );
            errors.push(centred_difference(target.decrypt(&switched).unwrap(), m as i64, q));
        }
        let estimate = prepared.switch(&source.encrypt(0).unwrap()).unwrap().noise();
        assert_noise(
            &errors,
            estimate,
            &format!("{from} to {to}, {count} digits of {base_log2} bits"),
        );
    }
}

/// Switching each class of coefficients gives the same as extracting and switching each
/// coefficient.
#[test]
fn coefficients_are_switched_together() {
    let degree = 512;
    let literal = ParametersLiteral {
        log_degree: 9,
        units: ntt_primes(40, degree, 1, &[]).unwrap(),
        specials: ntt_primes(41, degree, 1, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 1,
        secret: SecretDistribution::Ternary,
    };
    let context =
        Context::new(Parameters::new_insecure(literal).unwrap(), Threads::single()).unwrap();
    let secret = SecretKey::generate(&context).unwrap();
    let modulus = Modulus::of_factor(0);
    let q = context.limb_ring(modulus, 0).modulus();
    let mut message = Poly::zero(degree, 1, Domain::Evaluation);
    message.limb_mut(0).copy_from_slice(&random(q, degree, 2));
    let ct = secret.encrypt(&context, &message, modulus).unwrap().expand(&context);
    context.to_coefficient(&mut message, modulus);

    let small = ntt_primes(30, 64, 1, &[]).unwrap()[0];
    let (source, target) =
        (LweSecretKey::of_rlwe(&context, &secret, q).unwrap(), ternary(64, small));
    let prepared = LweSwitchingKey::generate(&source, &target, 4, 6).unwrap().prepare().unwrap();
    let parts =
        RlweCoefficients::from_ciphertext(&context, &ct).unwrap().switch_modulus(small).unwrap();
    let mut errors = [Vec::new(), Vec::new()];
    for class in 0..prepared.stride() {
        let together = prepared.switch_coefficients(&parts, class).unwrap();
        for k in 0..64 {
            let index = class + prepared.stride() * k;
            let expected = (message.limb(0)[index] as f64 * small as f64 / q as f64).round() as i64;
            let alone = prepared.switch(&parts.extract(index).unwrap()).unwrap();
            for (errors, ct) in errors.iter_mut().zip([together.extract(k).unwrap(), alone]) {
                errors.push(centred_difference(target.decrypt(&ct).unwrap(), expected, small));
                assert_eq!(ct.noise(), together.noise());
            }
        }
    }
    let noise = prepared.switch_coefficients(&parts, 0).unwrap().noise();
    assert_noise(&errors[0], noise, "together");
    assert_noise(&errors[1], noise, "alone");
    assert!(matches!(
        prepared.switch_coefficients(&parts, 8),
        Err(FhewError::Range { limit: 8, .. })
    ));
}

/// A switch at a secure size, from 4096 to 1024 at 26 bits, has the estimated error.
#[test]
fn secure_parameters() {
    let q = ntt_primes(26, 1024, 1, &[]).unwrap()[0];
    let secret = |n| {
        LweSecretKey::generate(LweParameters::new(n, q, SecretDistribution::Ternary).unwrap())
            .unwrap()
    };
    let (source, target) = (secret(4096), secret(1024));
    let prepared = LweSwitchingKey::generate(&source, &target, 3, 9).unwrap().prepare().unwrap();
    let errors: Vec<f64> = (0..400)
        .map(|i| {
            let m = (i % 100) << 19;
            let switched = prepared.switch(&source.encrypt(m).unwrap()).unwrap();
            centred_difference(target.decrypt(&switched).unwrap(), m as i64, q)
        })
        .collect();
    assert_noise(&errors, prepared.noise(), "4096 to 1024");
}

#[test]
fn mistakes_are_named() {
    let q = ntt_primes(30, 64, 1, &[]).unwrap()[0];
    let (source, target) = (ternary(128, q), ternary(64, q));
    let generate = |from: &LweSecretKey, to: &LweSecretKey, base_log2, count| {
        LweSwitchingKey::generate(from, to, base_log2, count).map(|key| key.stored_bytes())
    };
    assert!(generate(&source, &target, 5, 6).is_ok());
    for (from, to, base_log2, count) in
        [(&target, &source, 5, 6), (&source, &target, 5, 8), (&source, &target, 0, 1)]
    {
        assert!(matches!(generate(from, to, base_log2, count), Err(FhewError::Parameters { .. })));
    }
    assert!(generate(&source, &ternary(64, q - 2), 5, 6).is_err());

    let prepared = LweSwitchingKey::generate(&source, &target, 5, 6).unwrap().prepare().unwrap();
    let own = target.encrypt(1).unwrap();
    assert!(matches!(prepared.switch(&own), Err(FhewError::Rlwe(RlweError::KeyMismatch { .. }))));
    let trivial = |n, q| {
        let parameters = LweParameters::insecure(n, q, SecretDistribution::Ternary).unwrap();
        LweCiphertext::trivial(parameters, 0, source.fingerprint()).unwrap()
    };
    assert!(matches!(
        prepared.switch(&trivial(64, q)),
        Err(FhewError::Dimension { have: 64, need: 128, .. })
    ));
    assert!(matches!(prepared.switch(&trivial(128, 1 << 20)), Err(FhewError::Modulus { .. })));
}
