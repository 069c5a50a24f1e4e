//! Compares raised moduli with integers, with and without the encapsulation of a sparse secret.

use crate::common::{
    coefficients, insecure, insecure_grafted, insecure_sizes, insecure_with, log2_std, number,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{
    Ciphertext, Context, EncapsulationKeys, Modulus, Parameters, PreparedEncapsulationKeys,
    RlweError, SecretDistribution, SecretKey, Sprout,
};
use num_bigint::BigInt;

fn encrypt_zero(context: &Context, secret: &SecretKey, modulus: Modulus) -> Ciphertext {
    let zero = context.zero(modulus, hippocrene_ring::Domain::Evaluation);
    secret.encrypt(context, &zero, modulus).unwrap().expand(context)
}

fn decrypt(context: &Context, secret: &SecretKey, a: &Ciphertext) -> Vec<BigInt> {
    coefficients(context, &secret.decrypt(context, a).unwrap(), a.modulus())
}

/// The parts are the same integers as before, from any modulus to any multiple.
#[test]
fn raised_parts_are_the_same_integers() {
    let simple = insecure(8, 5, 1, 5);
    let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
    let grafted = insecure_grafted(8, 4, 1, 4, sprout);
    let units = Modulus::of_range;
    let some = |odd, two| Modulus::of_sprout(odd, two);
    let cases = [
        (&simple, units(0..1), units(0..5)),
        (&simple, units(1..3), units(0..4)),
        (&simple, units(0..2), units(0..2)),
        (&grafted, units(0..1), units(0..4).lcm(some(3, 8))),
        (&grafted, units(0..1).lcm(some(1, 3)), units(0..3).lcm(some(3, 8))),
        (&grafted, units(0..1).lcm(some(2, 8)), units(0..3).lcm(some(3, 8))),
        (&grafted, some(3, 8), units(0..2).lcm(some(3, 8))),
    ];
    for (context, from, to) in cases {
        let secret = SecretKey::generate(context).unwrap();
        let a = encrypt_zero(context, &secret, from);
        let mut raised = Ciphertext::empty(context);
        context.raise_modulus_into(&mut raised, &a, to).unwrap();
        assert_eq!((raised.modulus(), raised.noise(), raised.key()), (to, a.noise(), a.key()));
        for (part, expected) in raised.parts().iter().zip(a.parts()) {
            assert_eq!(coefficients(context, part, to), coefficients(context, expected, from));
        }
    }
}

struct Setup {
    wide: Context,
    narrow: Context,
    secret: SecretKey,
    keys: PreparedEncapsulationKeys,
    base: Modulus,
}

impl Setup {
    fn new(wide: Context, base: Modulus, weight: usize) -> Self {
        let narrow = wide.parameters().encapsulation_insecure(base, weight).unwrap();
        let narrow = Context::new(narrow, Threads::single()).unwrap();
        let secret = SecretKey::generate(&wide).unwrap();
        let keys =
            EncapsulationKeys::generate(&wide, &narrow, &secret, wide.parameters().top()).unwrap();
        let keys = keys.prepare(&wide, &narrow).unwrap();
        Setup { wide, narrow, secret, keys, base }
    }
}

/// For `t = m + e + q0 I`, `e` has the estimated size, and `t/q0` has the variance of `h' + 1`
/// uniform numbers.
#[test]
fn encapsulation_makes_the_added_multiple_small() {
    let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
    let dense = SecretDistribution::SparseTernary { weight: 192 };
    let setups = [
        Setup::new(insecure_with(11, 6, 2, 3, dense), Modulus::of_range(0..1), 32),
        Setup::new(
            insecure_grafted(11, 5, 2, 3, sprout),
            Modulus::of_range(1..2).lcm(Modulus::of_sprout(2, 3)),
            16,
        ),
    ];
    for (s, weight) in setups.iter().zip([32.0, 16.0]) {
        let (wide, top) = (&s.wide, s.wide.parameters().top());
        let mut a = encrypt_zero(wide, &s.secret, s.base);
        a.set_noise(hippocrene_rlwe::Noise::from_std(hippocrene_rlwe::SIGMA));
        let mut raised = Ciphertext::empty(wide);
        wide.raise_encapsulated_into(&mut raised, &a, &s.keys, &s.narrow, top).unwrap();
        assert_eq!((raised.modulus(), raised.key()), (top, s.secret.fingerprint()));
        let q = number(wide, s.base);
        let all = decrypt(wide, &s.secret, &raised);
        let errors: Vec<BigInt> = all.iter().map(|t| crate::common::centred(t, &q)).collect();
        let (measured, estimated) = (log2_std(&errors), raised.noise().log2_std());
        assert!(
            (measured - estimated).abs() < 1.5f64.log2(),
            "2^{measured:.2}, estimated 2^{estimated:.2}"
        );
        let float = |x: &BigInt| i64::try_from(x.clone()).unwrap() as f64;
        let ratios: Vec<f64> = all.iter().map(|t| float(t) / float(&q)).collect();
        let variance = ratios.iter().map(|x| x * x).sum::<f64>() / ratios.len() as f64;
        let expected = (weight + 1.0) / 12.0;
        assert!((variance / expected - 1.0).abs() < 0.2, "{variance}, {expected}");
        assert!(ratios.iter().all(|x| x.abs() < (weight + 1.0) / 2.0));
    }
}

#[test]
fn the_narrow_set_keeps_to_its_own_limit() {
    // The primes of a set at ring degree 2^16, which has a limit for Hamming weight 32.
    let wide = insecure_sizes(16, &[48, 40, 60, 62 - 1], &[60], 4, SecretDistribution::Ternary);
    let wide = wide.parameters();
    let bits = |p: &Parameters| p.log2(p.full());
    let narrow = wide.encapsulation(Modulus::of_range(0..1), 32).unwrap();
    assert!(narrow.security().is_some() && (108.0..109.1).contains(&bits(&narrow)));
    assert_eq!(narrow.secret(), SecretDistribution::SparseTernary { weight: 32 });
    let narrow = wide.encapsulation(Modulus::of_range(0..2), 32).unwrap();
    assert!((120.0..121.0).contains(&bits(&narrow)), "{}", bits(&narrow));
    assert!(matches!(
        wide.encapsulation(Modulus::of_range(2..4), 32),
        Err(RlweError::Parameters { .. })
    ));
    assert!(matches!(
        wide.encapsulation(Modulus::of_range(0..1), 31),
        Err(RlweError::NoSecurityLimit { .. })
    ));
    for none in [Modulus::ONE, Modulus::of_range(4..5), Modulus::of_factor(100)] {
        let error = wide.encapsulation(none, 32).unwrap_err();
        let expected = "with a base modulus of";
        assert!(
            matches!(&error, RlweError::Parameters { what } if what.contains(expected)),
            "{error}"
        );
    }
}

#[test]
fn unrelated_operands_are_refused() {
    let s = Setup::new(insecure(8, 4, 1, 4), Modulus::of_range(0..1), 8);
    let (wide, top) = (&s.wide, s.wide.parameters().top());
    let mut out = Ciphertext::empty(wide);
    let base = encrypt_zero(wide, &s.secret, s.base);
    let other = encrypt_zero(wide, &SecretKey::generate(wide).unwrap(), s.base);
    let high = encrypt_zero(wide, &s.secret, top);
    let raise = |out: &mut Ciphertext, a: &Ciphertext, to| {
        wide.raise_encapsulated_into(out, a, &s.keys, &s.narrow, to)
    };
    assert!(matches!(raise(&mut out, &other, top), Err(RlweError::KeyMismatch { .. })));
    assert!(matches!(raise(&mut out, &high, top), Err(RlweError::Modulus { .. })));
    assert!(matches!(
        raise(&mut out, &base, Modulus::of_range(1..3)),
        Err(RlweError::Modulus { .. })
    ));
    assert!(matches!(
        wide.raise_encapsulated_into(&mut out, &base, &s.keys, wide, top),
        Err(RlweError::ParameterMismatch { .. })
    ));
    assert!(matches!(
        wide.raise_modulus_into(&mut out, &high, Modulus::of_range(0..3)),
        Err(RlweError::Modulus { .. })
    ));
    assert!(wide.raise_modulus_into(&mut out, &base, wide.parameters().full()).is_err());
    let stranger = insecure(8, 3, 1, 3);
    let top = stranger.parameters().top();
    assert!(
        s.keys.bytes() > 0
            && EncapsulationKeys::generate(&stranger, &s.narrow, &s.secret, top).is_err()
    );

    // Keys for a secure set are not made if no limit is known for the sparse secret.
    let secure = Parameters::new(
        insecure_sizes(13, &[40, 40], &[50], 2, SecretDistribution::Ternary)
            .parameters()
            .literal()
            .clone(),
    );
    let secure = Context::new(secure.unwrap(), Threads::single()).unwrap();
    let narrow = secure.parameters().encapsulation_insecure(Modulus::of_range(0..1), 32).unwrap();
    let narrow = Context::new(narrow, Threads::single()).unwrap();
    let secret = SecretKey::generate(&secure).unwrap();
    assert!(matches!(
        EncapsulationKeys::generate(&secure, &narrow, &secret, secure.parameters().top()),
        Err(RlweError::NoSecurityLimit { .. })
    ));
}
