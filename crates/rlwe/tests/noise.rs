//! Compares measured noise with the formulas. The standard deviation of every operation's error is
//! within a factor of 1.5, and every operation's message is exact.

use crate::common::{coefficients, insecure, insecure_sizes, insecure_with, log2_std, polynomial};
use hippocrene_ring::{
    Poly,
    automorphism::{Automorphism, galois_element_of_conjugation, galois_element_of_rotation},
    sample::{Sampler, Seed},
};
use hippocrene_rlwe::{
    Ciphertext, Context, EvaluationKeys, Modulus, Noise, PreparedEvaluationKeys, PublicKey,
    SecretDistribution, SecretKey,
};
use num_bigint::BigInt;

/// A message with uniform coefficients in `[-2^bits, 2^bits)`.
fn message(context: &Context, bits: u32, seed: u8) -> Vec<BigInt> {
    let mut words = vec![0; context.degree()];
    Sampler::new(&Seed::from_bytes([seed; 32]), 0).uniform(2 << bits, &mut words);
    words.into_iter().map(|w| BigInt::from(w) - (BigInt::from(1) << bits)).collect()
}

fn encoded(context: &Context, values: &[BigInt], modulus: Modulus) -> Poly {
    let mut poly = polynomial(context, values, modulus);
    context.to_evaluation(&mut poly, modulus);
    poly
}

/// Compares the error of a ciphertext that should hold `expected` with its estimate, as log2.
fn check(
    context: &Context,
    secret: &SecretKey,
    ciphertext: &Ciphertext,
    expected: &[BigInt],
    what: &str,
) {
    let decrypted = secret.decrypt(context, ciphertext).unwrap();
    let got = coefficients(context, &decrypted, ciphertext.modulus());
    let errors: Vec<BigInt> = got.iter().zip(expected).map(|(g, e)| g - e).collect();
    let (measured, estimated) = (log2_std(&errors), ciphertext.noise().log2_std());
    assert!(
        (measured - estimated).abs() < 1.5f64.log2(),
        "{what}: measured 2^{measured:.2}, estimated 2^{estimated:.2}"
    );
}

fn keys(context: &Context, secret: &SecretKey, rotations: &[i64]) -> PreparedEvaluationKeys {
    let mut keys = EvaluationKeys::empty(context, secret.fingerprint());
    keys.add_relinearisation(context, secret).unwrap();
    keys.add_rotations(context, secret, rotations.iter().copied()).unwrap();
    keys.add_conjugation(context, secret).unwrap();
    keys.prepare(context).unwrap()
}

#[test]
fn encryption_and_linear_operations() {
    for context in [
        insecure(12, 3, 1, 3),
        insecure_with(12, 3, 1, 3, SecretDistribution::SparseTernary { weight: 64 }),
    ] {
        let secret = SecretKey::generate(&context).unwrap();
        let public = PublicKey::generate(&context, &secret).unwrap();
        let modulus = Modulus::of_range(0..2);
        let (x, y) = (message(&context, 30, 1), message(&context, 30, 2));
        let a = secret
            .encrypt(&context, &encoded(&context, &x, modulus), modulus)
            .unwrap()
            .expand(&context);
        check(&context, &secret, &a, &x, "secret-key encryption");
        let b = public.encrypt(&context, &encoded(&context, &y, modulus), modulus).unwrap();
        check(&context, &secret, &b, &y, "public-key encryption");

        let mut sum = a.clone();
        context.add_assign(&mut sum, &b).unwrap();
        check(
            &context,
            &secret,
            &sum,
            &x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>(),
            "add",
        );
        let mut out = Ciphertext::empty(&context);
        context.add_into(&mut out, &a, &b).unwrap();
        assert_eq!(out, sum);
        context.negate_into(&mut out, &sum).unwrap();
        context.sub_into(&mut sum, &out, &b).unwrap();
        context.sub_assign(&mut out, &b).unwrap();
        assert_eq!(out, sum);
        // The error of b counts twice here, so the estimate for independent errors does not apply.
        // Only the message is checked.
        sum.set_noise(b.noise().scaled(1.0));
        check(
            &context,
            &secret,
            &sum,
            &x.iter().zip(&y).map(|(x, y)| -x - y * 2).collect::<Vec<_>>(),
            "subtract",
        );

        let mut shifted = Ciphertext::empty(&context);
        context.add_plain_into(&mut shifted, &a, &encoded(&context, &y, modulus)).unwrap();
        check(
            &context,
            &secret,
            &shifted,
            &x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>(),
            "add plain",
        );

        context.sub_plain_into(&mut out, &shifted, &encoded(&context, &y, modulus)).unwrap();
        assert_eq!(out, a);

        let mut raised = a.clone();
        context.add_constant_assign(&mut raised, |_| 3).unwrap();
        context.add_constant_into(&mut out, &a, |_| 3).unwrap();
        assert_eq!(out, raised);

        let mut tripled = a.clone();
        context.mul_constant_assign(&mut tripled, |_| 3).unwrap();
        context.mul_constant_into(&mut out, &a, |_| 3).unwrap();
        assert_eq!(out, tripled);
        tripled.set_noise(a.noise().scaled(3f64.log2()));
        check(
            &context,
            &secret,
            &tripled,
            &x.iter().map(|x| x * 3).collect::<Vec<_>>(),
            "constant",
        );

        // The message is a multiple of the dropped prime, so that the quotient is exact.
        let q = context.parameters().factor(1);
        let multiple: Vec<BigInt> = x.iter().map(|x| x / 4 * q).collect();
        let c = secret
            .encrypt(&context, &encoded(&context, &multiple, modulus), modulus)
            .unwrap()
            .expand(&context);
        let mut out = Ciphertext::empty(&context);
        context.switch_ciphertext_into(&mut out, &c, Modulus::of_range(0..1)).unwrap();
        check(
            &context,
            &secret,
            &out,
            &multiple.iter().map(|x| x / q).collect::<Vec<_>>(),
            "switch modulus",
        );
    }
}

#[test]
fn rotations_at_every_gadget_rank_and_modulus() {
    for (units, specials, rank) in
        [(6, 1, 6), (6, 2, 3), (6, 3, 2), (6, 6, 1), (5, 2, 3), (6, 1, 2)]
    {
        let context = insecure(10, units, specials, rank);
        let secret = SecretKey::generate(&context).unwrap();
        let keys = keys(&context, &secret, &[1, -3]);
        for limbs in 1..=units {
            let modulus = Modulus::of_range(0..limbs);
            let x = message(&context, 25, 3);
            let a = secret
                .encrypt(&context, &encoded(&context, &x, modulus), modulus)
                .unwrap()
                .expand(&context);
            let hoisted = context.hoist(&a).unwrap();
            for element in [
                galois_element_of_rotation(context.degree(), 1),
                galois_element_of_rotation(context.degree(), -3),
                galois_element_of_conjugation(context.degree()),
            ] {
                let mut out = Ciphertext::empty(&context);
                context.apply_galois_into(&mut out, &a, element, &keys).unwrap();
                let mut again = Ciphertext::empty(&context);
                context
                    .apply_galois_hoisted_into(&mut again, &a, &hoisted, element, &keys)
                    .unwrap();
                assert_eq!(out, again);
                let expected = substitute(&context, &x, element);
                check(
                    &context,
                    &secret,
                    &out,
                    &expected,
                    &format!("rotate, rank {rank}, {limbs} of {units} limbs"),
                );
            }
        }
    }
}

/// Tests sparse secrets, a single digit, units and specials of many sizes up to 60 bits, and
/// special moduli that are far larger or somewhat smaller than the digits.
#[test]
fn key_switches_with_any_secret_and_any_primes() {
    use SecretDistribution::{SparseTernary, Ternary};
    for (units, specials, rank, secret) in [
        (&[50, 40, 40, 40][..], &[60, 60][..], 2, SparseTernary { weight: 64 }),
        (&[60, 35, 45, 30], &[60, 60, 60], 1, Ternary),
        (&[60, 45, 45], &[60], 3, SparseTernary { weight: 192 }),
        (&[40, 30, 30, 30], &[60, 55], 4, Ternary),
        (&[45, 45, 45, 45], &[45, 36], 2, Ternary),
        (&[59, 59, 59, 59], &[58, 58], 2, SparseTernary { weight: 1 }),
    ] {
        let context = insecure_sizes(10, units, specials, rank, secret);
        let key = SecretKey::generate(&context).unwrap();
        let keys = keys(&context, &key, &[5]);
        let element = galois_element_of_rotation(context.degree(), 5);
        for limbs in 1..=units.len() {
            let modulus = Modulus::of_range(0..limbs);
            let x = message(&context, 20, 5);
            let a = key
                .encrypt(&context, &encoded(&context, &x, modulus), modulus)
                .unwrap()
                .expand(&context);
            let mut out = Ciphertext::empty(&context);
            context.apply_galois_into(&mut out, &a, element, &keys).unwrap();
            let expected = substitute(&context, &x, element);
            check(
                &context,
                &key,
                &out,
                &expected,
                &format!("{units:?} {specials:?} {secret} {limbs}"),
            );
        }
    }
}

/// In a ciphertext of three parts, the rounding error of the third is multiplied by `s^2`.
#[test]
fn modulus_switch_of_a_product() {
    for secret in [SecretDistribution::Ternary, SecretDistribution::SparseTernary { weight: 64 }] {
        let context = insecure_with(10, 4, 1, 4, secret);
        let key = SecretKey::generate(&context).unwrap();
        let (top, low) = (context.parameters().top(), Modulus::of_range(0..2));
        let zero = vec![BigInt::from(0); context.degree()];
        let encrypt =
            || key.encrypt(&context, &encoded(&context, &zero, top), top).unwrap().expand(&context);
        let mut product = Ciphertext::empty(&context);
        context.tensor_into(&mut product, &encrypt(), &encrypt()).unwrap();
        let mut out = Ciphertext::empty(&context);
        context.switch_ciphertext_into(&mut out, &product, low).unwrap();
        check(&context, &key, &out, &zero, "switch modulus, three parts");
    }
}

fn substitute(context: &Context, x: &[BigInt], element: usize) -> Vec<BigInt> {
    let automorphism = Automorphism::new(context.degree(), element).unwrap();
    let modulus = Modulus::of_range(0..1);
    let (mut out, poly) = (
        context.zero(modulus, hippocrene_ring::Domain::Coefficient),
        polynomial(context, x, modulus),
    );
    automorphism.apply_coefficient(context.parameters().factor(0), out.limb_mut(0), poly.limb(0));
    coefficients(context, &out, modulus)
}

#[test]
fn products_relinearised_and_rescaled_in_one_switch() {
    let context = insecure(10, 4, 2, 2);
    let secret = SecretKey::generate(&context).unwrap();
    let keys = keys(&context, &secret, &[]);
    let top = context.parameters().top();
    // The first message has one coefficient, so that the product is simple: x0 times y(X), where x0
    // is a multiple of the prime.
    let q = context.parameters().factor(3);
    let mut x = vec![BigInt::from(0); context.degree()];
    x[0] = BigInt::from(q);
    let y = message(&context, 30, 4);
    let a = secret.encrypt(&context, &encoded(&context, &x, top), top).unwrap().expand(&context);
    let b = secret.encrypt(&context, &encoded(&context, &y, top), top).unwrap().expand(&context);
    // The error is x e_b + y e_a + e_a e_b.
    let product_noise = b
        .noise()
        .scaled((q as f64).log2())
        .plus(a.noise().times_polynomial(context.degree(), log2_std(&y)))
        .plus(a.noise().times_polynomial(context.degree(), b.noise().log2_std()));
    let at = |to: Modulus| {
        product_noise.scaled(context.parameters().log2(to) - context.parameters().log2(top))
    };

    let mut tensor = Ciphertext::empty(&context);
    context.tensor_into(&mut tensor, &a, &b).unwrap();
    tensor.set_noise(product_noise);
    let product: Vec<BigInt> = y.iter().map(|y| y * q).collect();
    check(&context, &secret, &tensor, &product, "tensor");

    let smaller = Modulus::of_range(0..3);
    let mut out = Ciphertext::empty(&context);
    context.relinearise_into(&mut out, &tensor, &keys, top).unwrap();
    check(&context, &secret, &out, &product, "relinearise");
    context.multiply_into(&mut out, &a, &b, 1, &keys, smaller).unwrap();
    let switch: Noise = out.noise();
    out.set_noise(switch.plus(at(smaller)));
    check(&context, &secret, &out, &y, "multiply");

    // A square is the product with itself.
    let mut square = Ciphertext::empty(&context);
    context.multiply_into(&mut square, &b, &b, 1, &keys, smaller).unwrap();
    context.multiply_into(&mut out, &b, &b.clone(), 1, &keys, smaller).unwrap();
    assert_eq!(square, out);
}

#[test]
fn errors_name_the_unsuitable_operand() {
    let context = insecure(8, 3, 1, 3);
    let (secret, other) =
        (SecretKey::generate(&context).unwrap(), SecretKey::generate(&context).unwrap());
    let keys = keys(&context, &secret, &[1, 2, -3]);
    let top = context.parameters().top();
    let zero = encoded(&context, &vec![BigInt::from(0); context.degree()], top);
    let a = secret.encrypt(&context, &zero, top).unwrap().expand(&context);
    let mut b = other.encrypt(&context, &zero, top).unwrap().expand(&context);
    let message = |r: Result<(), hippocrene_rlwe::RlweError>| r.unwrap_err().to_string();
    assert!(message(context.add_assign(&mut b, &a)).contains(&secret.fingerprint().to_string()));
    assert!(
        secret
            .decrypt(&context, &b)
            .unwrap_err()
            .to_string()
            .contains("decrypt: encrypted under key")
    );
    let mut out = Ciphertext::empty(&context);
    let element = galois_element_of_rotation(context.degree(), 8);
    let error = message(context.apply_galois_into(&mut out, &a, element, &keys));
    assert!(error.starts_with("the keys lack the rotation by 8"), "{error}");
    assert!(error.contains("they have rotations by -3, 1, 2"), "{error}");
    context.tensor_into(&mut out, &a, &a).unwrap();
    assert!(message(context.tensor_into(&mut b, &out, &out)).contains("relinearise it first"));
    let empty = EvaluationKeys::empty(&context, secret.fingerprint()).prepare(&context).unwrap();
    assert!(
        message(context.relinearise_into(&mut b, &out, &empty, top))
            .contains("relinearisation key")
    );
    let mut low = Ciphertext::empty(&context);
    context.reduce_modulus_into(&mut low, &a, Modulus::of_range(0..1)).unwrap();
    assert!(message(context.add_assign(&mut low, &a)).contains("40.0 and 120.0 bits"));
    assert!(!format!("{secret:?}").contains("seed"));
    // The decomposition of one ciphertext does not rotate another.
    let (element, c) = (galois_element_of_rotation(context.degree(), 1), a.clone());
    let hoisted = context.hoist(&a).unwrap();
    let refused =
        message(context.apply_galois_hoisted_into(&mut low, &c, &hoisted, element, &keys));
    assert!(refused.contains("of another ciphertext"), "{refused}");
}

#[test]
fn things_of_other_parameters_are_errors_not_panics() {
    let (context, other) = (insecure(8, 3, 1, 3), insecure(9, 5, 2, 5));
    let secret = SecretKey::generate(&other).unwrap();
    let top = other.parameters().top();
    let zero = encoded(&other, &vec![BigInt::from(0); other.degree()], top);
    let mut foreign = secret.encrypt(&other, &zero, top).unwrap().expand(&other);
    let m = context.zero(context.parameters().top(), hippocrene_ring::Domain::Evaluation);
    let mut out = Ciphertext::empty(&other);
    let two = Modulus::of_range(0..2);
    assert!(context.negate_into(&mut out, &foreign).is_err());
    assert!(context.mul_constant_assign(&mut foreign, |_| 3).is_err());
    assert!(context.add_constant_assign(&mut foreign, |_| 3).is_err());
    assert!(context.add_plain_into(&mut out, &foreign, &m).is_err());
    assert!(context.sub_plain_into(&mut out, &foreign, &m).is_err());
    assert!(context.mul_plain_into(&mut out, &foreign, &m).is_err());
    assert!(context.reduce_modulus_into(&mut out, &foreign, two).is_err());
    assert!(context.switch_ciphertext_into(&mut out, &foreign, two).is_err());
    assert!(context.tensor_into(&mut out, &foreign, &foreign).is_err());
    assert!(context.hoist(&foreign).is_err());
    assert!(secret.decrypt(&context, &foreign).is_err());
    let mut keys = EvaluationKeys::empty(&other, secret.fingerprint());
    keys.add_relinearisation(&other, &secret).unwrap();
    assert!(keys.add_galois(&other, &secret, 2 * other.degree() + 5).is_err());
    assert!(keys.prepare(&context).is_err());
    let stolen = keys.relinearisation().cloned();
    assert!(
        EvaluationKeys::from_parts(&context, secret.fingerprint(), stolen, Default::default())
            .is_err()
    );
    let (noise, key) = (Noise::NONE, secret.fingerprint());
    for parts in [vec![], vec![m.clone()], vec![zero.clone(), zero.clone()]] {
        assert!(Ciphertext::from_parts(&context, parts, two, noise, key).is_err());
    }
    // Moduli that these parameters do not have.
    let (mut poly, high) = (m.clone(), Modulus::of_range(0..9));
    for (from, to, t) in
        [(context.parameters().top(), high, 1), (two, Modulus::ONE, 1), (two, two, 0)]
    {
        let x = context.zero(from, hippocrene_ring::Domain::Evaluation);
        assert!(context.switch_modulus(&mut poly, &x, from, to, t).is_err());
    }
    // The result need not have the same parameters before. It gets them.
    let mine = SecretKey::generate(&context).unwrap();
    let a = mine.encrypt(&context, &m, context.parameters().top()).unwrap().expand(&context);
    context.reduce_modulus_into(&mut out, &a, two).unwrap();
    assert_eq!((out.parameters(), out.part(0).degree()), (context.parameters().digest(), 256));
}
