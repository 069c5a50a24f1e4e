//! The modulus switch against big integers, for random pairs of divisors.

mod common;

use common::{coefficients, insecure, polynomial};
use hippocrene_ring::Domain;
use hippocrene_rlwe::Modulus;
use num_bigint::BigInt;
use proptest::prelude::*;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{RngCore, SeedableRng},
};

fn product(context: &hippocrene_rlwe::Context, modulus: Modulus) -> BigInt {
    context.parameters().limb_moduli(modulus).into_iter().map(BigInt::from).product()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rounds_to_the_nearest(
        from in 1u128..1 << 8, to in 1u128..1 << 8, t in prop_oneof![Just(1u64), Just(65537), Just(257), Just(2)], seed: u64, evaluation: bool,
    ) {
        let context = insecure(5, 6, 2, 3);
        let (from, to) = (Modulus::from_parts(from, 0, 0).unwrap(), Modulus::from_parts(to, 0, 0).unwrap());
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (q, q_new) = (product(&context, from), product(&context, to));
        let mut values: Vec<BigInt> = (0..context.degree()).map(|_| { let mut bytes = [0; 64]; rng.fill_bytes(&mut bytes); BigInt::from_signed_bytes_le(&bytes) % (&q / 2) }).collect();
        values[0] = BigInt::from(0);
        values[1] = &q / 2;
        values[2] = -values[1].clone();
        let mut x = polynomial(&context, &values, from);
        if evaluation {
            context.to_evaluation(&mut x, from);
        }
        let mut out = context.zero(Modulus::ONE, Domain::Coefficient);
        context.switch_modulus(&mut out, &x, from, to, t).unwrap();
        prop_assert_eq!(out.domain(), x.domain());
        let got = coefficients(&context, &out, to);
        let s = product(&context, from.without(to));
        let r = product(&context, to.without(from));
        for (x, y) in values.iter().zip(&got) {
            // |R x - S y| <= t S/2 (for even t (t + 1) S/2) modulo S Q', and R x - S y = 0 mod t.
            let width = t + u64::from(t % 2 == 0);
            let modulus = &s * &q_new;
            let mut delta = (&r * x - &s * y) % &modulus;
            if delta > &modulus / 2 { delta -= &modulus; }
            if -&delta > &modulus / 2 { delta += &modulus; }
            prop_assert!(delta.magnitude() * 2u32 <= (&s * BigInt::from(width)).magnitude() + (&s >> 30u32).magnitude() + 2u32, "{delta} {s}");
            prop_assert_eq!(&delta % t, BigInt::from(0));
        }
    }
}

#[test]
fn a_wrong_polynomial_or_plaintext_modulus_is_refused() {
    let context = insecure(5, 3, 1, 3);
    let top = context.parameters().top();
    let x = context.zero(Modulus::of_range(0..2), Domain::Evaluation);
    let mut out = context.zero(Modulus::ONE, Domain::Evaluation);
    assert!(context.switch_modulus(&mut out, &x, top, Modulus::of_range(0..1), 1).is_err());
    let x = context.zero(top, Domain::Evaluation);
    let t = context.parameters().factor(2);
    let error = context.switch_modulus(&mut out, &x, top, Modulus::of_range(0..2), t).unwrap_err();
    assert!(error.to_string().contains("shares a factor"));
}
