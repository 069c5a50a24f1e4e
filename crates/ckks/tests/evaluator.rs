//! Tests of every operation of the evaluator: the right values, with the estimated noise.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::common::{Setup, circle, grafted, insecure, setup};
use hippocrene_ckks::{
    BigFloat, Ciphertext, CkksError, Scale, Values,
    circuits::{Basis, LinearTransform, Polynomial},
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    self as rlwe, Modulus, Parameters, ParametersLiteral, PublicKey, RlweError, SecretDistribution,
    Sprout,
};
use num_complex::Complex64;

fn zip(
    a: &[Complex64],
    b: &[Complex64],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

#[test]
fn every_operation_has_its_value_and_noise() {
    let s = insecure(11, 4, &[1, 5, -2]);
    let (e, n) = (&s.evaluator, s.context.max_slots());
    let (x, y) = (circle(n, 1.5, 0.3), circle(n, 0.75, 1.1));
    let (a, b) = (s.encrypt(&x), s.encrypt(&y));
    s.check(&a, &x, "encrypt");
    s.check(&e.add(&a, &b).unwrap(), &zip(&x, &y, |x, y| x + y), "add");
    s.check(&e.sub(&a, &b).unwrap(), &zip(&x, &y, |x, y| x - y), "sub");
    s.check(&e.negate(&a).unwrap(), &zip(&x, &x, |x, _| -x), "negate");

    let p = s.context.encode(Values::Complex(&y), n, s.scale, s.top()).unwrap();
    s.check(&e.add_plain(&a, &p).unwrap(), &zip(&x, &y, |x, y| x + y), "add plain");
    let product = e.mul_plain(&a, &p).unwrap();
    s.check(&product, &zip(&x, &y, |x, y| x * y), "mul plain");
    s.check(
        &e.rescale(&product, s.scale).unwrap(),
        &zip(&x, &y, |x, y| x * y),
        "mul plain, rescale",
    );
    let mut sum = product.clone();
    e.mul_plain_add_assign(&mut sum, &b, &p).unwrap();
    s.check(&sum, &zip(&x, &y, |x, y| (x + y) * y), "mul plain add");

    s.check(&e.add_number(&a, -2.5).unwrap(), &zip(&x, &x, |x, _| x - 2.5), "add number");
    let scaled = e.mul_number(&a, -0.3, Scale::power_of_two(40)).unwrap();
    s.check(&e.rescale(&scaled, s.scale).unwrap(), &zip(&x, &x, |x, _| x * -0.3), "mul number");
    let sum = e.linear_combination(&[(&a, -0.3), (&b, 1.7)], s.top(), scaled.scale()).unwrap();
    s.check(&sum, &zip(&x, &y, |x, y| x * -0.3 + y * 1.7), "linear combination");
    assert_eq!(e.linear_combination(&[(&a, -0.3)], s.top(), scaled.scale()).unwrap(), scaled);
    let error = e.linear_combination(&[], s.top(), s.scale).unwrap_err();
    assert_eq!(error.to_string(), "combine linearly: there are no terms");
    s.check(&e.mul_integer(&a, -7).unwrap(), &zip(&x, &x, |x, _| x * -7.0), "mul integer");

    let product = e.mul(&a, &b).unwrap();
    s.check(&product, &zip(&x, &y, |x, y| x * y), "mul");
    s.check(&e.rescale(&product, s.scale).unwrap(), &zip(&x, &y, |x, y| x * y), "mul, rescale");
    let product = e.mul_rescale(&a, &b, s.scale).unwrap();
    s.check(&product, &zip(&x, &y, |x, y| x * y), "mul_rescale");
    let square = e.square_rescale(&a, s.scale).unwrap();
    s.check(&square, &zip(&x, &x, |x, _| x * x), "square");

    for steps in [1i64, 5, -2] {
        let rotated: Vec<_> =
            (0..n).map(|i| x[(i as i64 + steps).rem_euclid(n as i64) as usize]).collect();
        s.check(&e.rotate(&a, steps).unwrap(), &rotated, "rotate");
        let many = e.rotate_many(&a, &[0, steps]).unwrap();
        assert_eq!(many[1], e.rotate(&a, steps).unwrap());
        assert_eq!(many[0], a);
    }
    s.check(&e.conjugate(&a).unwrap(), &zip(&x, &x, |x, _| x.conj()), "conjugate");

    // Operands at different moduli and scales.
    let (left, right) = e.align(&product, &a).unwrap();
    s.check(&e.add(&left, &right).unwrap(), &zip(&x, &y, |x, y| x * y + x), "align");
    for (scale, limbs) in [(38.0, 5), (39.3, 4)] {
        let other = s.encrypt_at(&y, n, Scale::from_f64(f64::exp2(scale)).unwrap(), s.top());
        let (left, right) = e.align(&a, &other).unwrap();
        s.check(&e.sub(&left, &right).unwrap(), &zip(&x, &y, |x, y| x - y), "align scales");
        let (right, left) = e.align(&other, &a).unwrap();
        s.check(
            &e.sub(&left, &right).unwrap(),
            &zip(&x, &y, |x, y| x - y),
            "align scales, swapped",
        );
        assert_eq!(left.modulus().limb_count(), limbs);
    }
}

/// Fresh ciphertexts have the stated error, also at scales where the transforms of `f64` end.
#[test]
fn fresh_errors_are_as_stated_at_every_scale() {
    let s = insecure(10, 1, &[]);
    for bits in 54..63 {
        for slots in [1usize, 4, 32, 512] {
            let repeats = 512 / slots;
            let (mut sum, mut stated) = (0.0, 0.0);
            for i in 0..repeats {
                let x = circle(slots, 1.0, 0.3 + i as f64);
                let a = s.encrypt_at(&x, slots, Scale::power_of_two(bits), s.top());
                let big = s
                    .context
                    .decode_big_complex(&s.context.decrypt(&s.secret, &a).unwrap())
                    .unwrap();
                let off = |got: &BigFloat, x: f64| {
                    let x = BigFloat::try_from(x).unwrap().into_inner();
                    BigFloat::try_from(got.clone().into_inner() - x).unwrap().to_f64()
                };
                sum += big
                    .iter()
                    .zip(&x)
                    .map(|(g, x)| off(&g.re, x.re).powi(2) + off(&g.im, x.im).powi(2))
                    .sum::<f64>();
                stated = a.precision_bits();
            }
            let measured = (sum / (2 * slots * repeats) as f64).sqrt().log2();
            assert!(
                (measured + stated).abs() < 0.4,
                "{slots} slots at 2^{bits}: 2^{measured:.2}, stated 2^-{stated:.2}"
            );
        }
    }
}

#[test]
fn few_slots_repeat() {
    let s = insecure(10, 2, &[1, 2, 3]);
    for slots in [1usize, 2, 8, 128] {
        let (x, y) = (circle(slots, 1.0, 0.2), circle(slots, 2.0, 0.9));
        let (a, b) =
            (s.encrypt_at(&x, slots, s.scale, s.top()), s.encrypt_at(&y, slots, s.scale, s.top()));
        let product = s.decrypt(&s.evaluator.mul_rescale(&a, &b, s.scale).unwrap());
        let rotated = s.decrypt(&s.evaluator.rotate(&a, 3).unwrap());
        for i in 0..slots {
            assert!((product[i] - x[i] * y[i]).norm() < 1e-6);
            assert!((rotated[i] - x[(i + 3) % slots]).norm() < 1e-6);
        }
    }
}

#[test]
fn mismatched_operands_are_refused() {
    let s = insecure(9, 1, &[]);
    let (e, n) = (&s.evaluator, s.context.max_slots());
    let a = s.encrypt(&circle(n, 1.0, 0.0));
    let low = e.mul_rescale(&a, &a, s.scale).unwrap();
    let error = e.mul_rescale(&low, &low, s.scale).unwrap_err();
    assert!(matches!(error, CkksError::Capacity { .. }), "{error}");
    assert!(error.to_string().contains("bits of capacity"));
    assert!(
        e.add(&a, &low).unwrap_err().to_string().contains("bits; bring them to one modulus first")
    );
    let other_scale = s.encrypt_at(&circle(n, 1.0, 0.0), n, Scale::power_of_two(39), s.top());
    assert!(matches!(e.add(&a, &other_scale), Err(CkksError::ScaleMismatch { .. })));
    let few = s.encrypt_at(&circle(4, 1.0, 0.0), 4, s.scale, s.top());
    assert!(matches!(e.add(&a, &few), Err(CkksError::SlotMismatch { .. })));
    assert!(e.rotate(&a, 8).unwrap_err().to_string().contains("the keys lack the rotation by 8"));
    assert!(e.mul_number(&a, f64::NAN, s.scale).unwrap_err().to_string().contains("NaN"));
    assert!(matches!(e.mul_number(&a, 1e30, s.scale), Err(CkksError::Capacity { .. })));
    assert!(matches!(e.adjust(&low, s.top(), s.scale), Err(CkksError::Capacity { .. })));
    assert!(e.adjust(&a, s.context.parameters().full(), s.scale).is_err());
    let infinite = BTreeMap::from([(3, vec![Complex64::new(0.0, f64::INFINITY); n])]);
    let error = LinearTransform::new(n, infinite).unwrap_err().to_string();
    assert_eq!(error, "encode: value 0 is inf, only finite numbers can be encoded");
}

/// Moduli that the parameters do not have, or that ciphertexts never have, are refused before
/// anything is computed. The same holds for ciphertexts of other parameters.
#[test]
fn foreign_moduli_are_refused() {
    let (s, larger) = (insecure(8, 2, &[]), insecure(8, 4, &[]));
    let (e, parameters) = (&s.evaluator, s.context.parameters());
    let is_modulus = |result: Result<Ciphertext, CkksError>| {
        assert!(matches!(result, Err(CkksError::Rlwe(RlweError::Modulus { .. }))), "{result:?}");
    };
    let a = s.encrypt(&circle(s.context.max_slots(), 1.0, 0.0));
    let foreign = larger.encrypt(&circle(s.context.max_slots(), 1.0, 0.0));
    for to in [
        Modulus::of_factor(60),
        Modulus::ONE,
        parameters.specials(),
        parameters.full(),
        larger.top(),
    ] {
        is_modulus(e.reduce_modulus(&a, to));
        is_modulus(e.bring_to(&a, to));
        is_modulus(e.adjust(&a, to, s.scale));
        is_modulus(e.linear_combination(&[(&a, 0.5)], to, s.scale));
        let auxiliary = s.context.rlwe().auxiliary_log2(to);
        assert!(matches!(auxiliary, Err(RlweError::Modulus { .. })), "{auxiliary:?}");
        let mut out = rlwe::Ciphertext::empty(s.context.rlwe());
        let mut at_specials = Ciphertext::empty(&s.context);
        if e.rescale_to_into(&mut at_specials, &a, to).is_ok() {
            let (own, other) = (a.inner(), at_specials.inner());
            for (a, b) in [(own, other), (other, own)] {
                let product =
                    s.context.rlwe().multiply_scaled_into(&mut out, a, b, 97, e.keys(), s.top());
                assert!(matches!(product, Err(RlweError::Modulus { .. })), "{product:?}");
            }
        }
        let error = e.dcp(&a, 97, 2, to).unwrap_err();
        assert!(matches!(error, CkksError::Rlwe(RlweError::Modulus { .. })), "{error}");
    }
    for to in [s.top(), larger.top(), Modulus::of_factor(0)] {
        for moved in [
            e.reduce_modulus(&foreign, to),
            e.bring_to(&foreign, to),
            e.adjust(&foreign, to, s.scale),
        ] {
            assert!(
                matches!(moved, Err(CkksError::Rlwe(RlweError::ParameterMismatch { .. }))),
                "{moved:?}"
            );
        }
    }
}

/// Plaintexts with the same number of limbs, modulo other primes.
#[test]
fn plaintexts_of_other_moduli_are_refused() {
    let s = insecure(8, 4, &[]);
    let values = circle(s.context.max_slots(), 1.0, 0.0);
    let [a, p] = [1, 2].map(|i| {
        let modulus = Modulus::of_factor(0).lcm(Modulus::of_factor(i));
        s.context.encode(Values::Complex(&values), values.len(), s.scale, modulus).unwrap()
    });
    let a = s.context.encrypt(&s.secret, &a).unwrap().expand(&s.context);
    let mut sum = s.evaluator.mul_number(&a, 1.0, s.scale).unwrap();
    let added = s.evaluator.mul_plain_add_assign(&mut sum, &a, &p).map(|()| sum);
    for result in [s.evaluator.add_plain(&a, &p), s.evaluator.mul_plain(&a, &p), added] {
        assert!(
            matches!(result, Err(CkksError::Rlwe(RlweError::ModulusMismatch { .. }))),
            "{result:?}"
        );
    }
}

/// Returns a set like [`insecure`] of ring degree `2^8` and depth 2, with other primes.
fn of_other_primes() -> Setup {
    let [base, units, specials] = [(50, 2), (40, 4), (49, 4)]
        .map(|(bits, count)| primes::ntt_primes(bits, 256, count, &[]).unwrap());
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 8,
        units: vec![base[1], units[2], units[3]],
        specials: specials[2..].to_vec(),
        sprout: Sprout::default(),
        gadget_rank: 2,
        secret: SecretDistribution::Ternary,
    });
    setup(parameters.unwrap(), &[1], Threads::single(), Scale::power_of_two(40))
}

#[test]
fn products_are_added_up_before_they_are_relinearised() {
    let s = insecure(8, 3, &[]);
    let (e, n) = (&s.evaluator, 128);
    let numbers = [circle(n, 0.7, 0.0), circle(n, 0.9, 1.0), circle(n, 0.5, 2.0)];
    let [a, b, c] = numbers.each_ref().map(|x| s.encrypt(x));
    let [x, y, z] = &numbers;
    let sum = e.sum_of_products(&[(&a, &b), (&c, &c), (&b, &c)], s.scale).unwrap();
    let expected: Vec<_> = (0..n).map(|i| x[i] * y[i] + z[i] * z[i] + y[i] * z[i]).collect();
    s.check(&sum, &expected, "three products");
    assert_eq!(sum.modulus(), e.mul_rescale(&a, &b, s.scale).unwrap().modulus());
    // Scales that differ only by rounding count as equal.
    let rounded = [3, 7, 11, 13, 49].map(|d| s.scale.divided_by(d).times_integer(d));
    let close = rounded.into_iter().find(|close| *close != s.scale).unwrap();
    let other = s.encrypt_at(x, n, close, s.top());
    assert!(e.sum_of_products(&[(&a, &b), (&other, &b)], s.scale).is_ok());
    let coarse = s.encrypt_at(x, n, Scale::power_of_two(30), s.top());
    for (pairs, told) in [
        (&[][..], "no products"),
        (&[(&a, &b), (&coarse, &b)], "products have different scales, 2^"),
    ] {
        let error = e.sum_of_products(pairs, s.scale).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// Every operation refuses operands of other parameters, with more units or with other primes of
/// the same size.
#[test]
fn operands_of_other_parameters_are_refused() {
    let s = insecure(8, 2, &[1]);
    let (e, scale, x) = (&s.evaluator, s.scale, circle(128, 1.0, 0.0));
    let own = s.encrypt(&x);
    let own_plaintext = s.context.encode(Values::Complex(&x), 128, scale, s.top()).unwrap();
    let public = PublicKey::generate(s.context.rlwe(), &s.secret).unwrap();
    let polynomial = Polynomial::new(Basis::Monomial, vec![0.0, 1.0, 1.0]).unwrap();
    let constant = Polynomial::new(Basis::Monomial, vec![1.0]).unwrap();
    let map = LinearTransform::from_real(128, [(0, vec![1.0; 128])].into()).unwrap();
    for other in [insecure(8, 4, &[1]), of_other_primes()] {
        let p = other.context.encode(Values::Complex(&x), 128, scale, other.top()).unwrap();
        let seeded = other.context.encrypt(&other.secret, &p).unwrap();
        let a = seeded.expand(&other.context);
        let pair = other.evaluator.tuple(&[a.clone().in_unit(-20), a.clone()], 1 << 20).unwrap();
        let results = [
            e.add(&a, &a).map(drop),
            e.negate(&a).map(drop),
            e.rotate(&a, 1).map(drop),
            e.rotate(&a, 0).map(drop),
            e.rotate_many(&a, &[]).map(drop),
            e.inner_sum(&a, 1, 1).map(drop),
            e.sum_of_products(&[(&own, &own), (&a, &own)], scale).map(drop),
            e.rescale(&a, Scale::power_of_two(20)).map(drop),
            e.mul(&a, &a).map(drop),
            e.mul(&own, &a).map(drop),
            e.mul_rescale(&a, &a, scale).map(drop),
            e.add_number(&a, 1.0).map(drop),
            e.add_number_assign(&mut a.clone(), 1.0),
            e.mul_number(&a, 1.0, scale).map(drop),
            e.mul_integer(&a, 2).map(drop),
            e.linear_combination(&[(&a, 2.0)], s.top(), Scale::power_of_two(60)).map(drop),
            e.power(&a, 3, scale).map(drop),
            e.power(&a, 1, scale).map(drop),
            e.polynomial(&a, &polynomial, scale).map(drop),
            e.polynomial_of_reals(&a, &constant, scale).map(drop),
            e.align(&a, &a).map(drop),
            e.align(&own, &a).map(drop),
            e.linear_transform(&a, &map, scale).map(drop),
            e.inner_sum(&a, 1, 2).map(drop),
            e.conjugate(&a).map(drop),
            e.tuple_rescale(&pair, scale).map(drop),
            e.tuple_mul(&pair, &pair, scale).map(drop),
            e.tuple_add(&pair, &pair).map(drop),
            e.rcb(&pair).map(drop),
            e.add_plain(&own, &p).map(drop),
            e.add_plain(&a, &own_plaintext).map(drop),
            e.mul_plain(&own, &p).map(drop),
            e.mul_plain(&a, &p).map(drop),
            e.mul_plain_add_assign(&mut e.mul_plain(&own, &own_plaintext).unwrap(), &own, &p),
            s.context.encrypt(&s.secret, &p).map(drop),
            s.context.encrypt_public(&public, &p).map(drop),
            s.context.decrypt(&s.secret, &a).map(drop),
            s.context.decrypt_for_sharing(&s.secret, &a, 10).map(drop),
            s.context.decode_real(&p).map(drop),
            s.context.decode_complex(&p).map(drop),
            s.context.decode_big_real(&p).map(drop),
            s.context.decode_big_complex(&p).map(drop),
        ];
        for (i, result) in results.into_iter().enumerate() {
            assert!(
                matches!(result, Err(CkksError::Rlwe(RlweError::ParameterMismatch { .. }))),
                "operation {i}: {result:?}"
            );
        }
        assert!(a.capacity_bits(&s.context).is_nan() && pair.capacity_bits(&s.context).is_nan());
        assert!(catch_unwind(AssertUnwindSafe(|| seeded.expand(&s.context))).is_err());
    }
    let (mut out, outside) = (Ciphertext::empty(&s.context), Modulus::of_factor(90));
    for result in [
        e.rescale_to_into(&mut out, &own, outside),
        e.rescale_to_into(&mut out, &own, Modulus::ONE),
        e.mul_to_into(&mut out, &own, &own, outside),
    ] {
        assert!(matches!(result, Err(CkksError::Rlwe(RlweError::Modulus { .. }))), "{result:?}");
    }
}

/// A ciphertext that no operation has written to is refused as an operand.
#[test]
fn empty_ciphertexts_are_refused() {
    let s = insecure(8, 2, &[1]);
    let (e, scale, x) = (&s.evaluator, s.scale, circle(128, 1.0, 0.0));
    let (own, a) = (s.encrypt(&x), Ciphertext::empty(&s.context));
    let p = s.context.encode(Values::Complex(&x), 128, a.scale(), s.top()).unwrap();
    let polynomial =
        Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, vec![0.0, 1.0, 1.0]).unwrap();
    let map = LinearTransform::from_real(128, [(0, vec![1.0; 128])].into()).unwrap();
    let big = BigFloat::try_from(1.5).unwrap();
    let results = [
        e.add(&own, &a).map(drop),
        e.add(&a, &own).map(drop),
        e.sub(&a, &a).map(drop),
        e.add_assign(&mut own.clone(), &a),
        e.negate(&a).map(drop),
        e.rotate(&a, 1).map(drop),
        e.rotate(&a, 0).map(drop),
        e.rotate_many(&a, &[0, 1]).map(drop),
        e.inner_sum(&a, 1, 2).map(drop),
        e.conjugate(&a).map(drop),
        e.mul_by_i(&a).map(drop),
        e.real_part(&a).map(drop),
        e.sum_of_products(&[(&a, &a)], scale).map(drop),
        e.rescale(&a, scale).map(drop),
        e.reduce_modulus(&a, s.top()).map(drop),
        e.bring_to(&a, s.top()).map(drop),
        e.adjust(&a, s.top(), scale).map(drop),
        e.align(&own, &a).map(drop),
        e.mul(&a, &own).map(drop),
        e.mul(&own, &a).map(drop),
        e.mul_rescale(&a, &a, scale).map(drop),
        e.square_rescale(&a, scale).map(drop),
        e.mul_plain(&a, &p).map(drop),
        e.add_plain(&a, &p).map(drop),
        e.add_number(&a, 1.0).map(drop),
        e.add_big_number(&a, &big).map(drop),
        e.mul_number(&a, 1.5, scale).map(drop),
        e.mul_big_number(&a, &big, scale).map(drop),
        e.mul_integer(&a, 2).map(drop),
        e.linear_combination(&[(&a, 2.0)], s.top(), Scale::power_of_two(60)).map(drop),
        e.power(&a, 3, scale).map(drop),
        e.polynomial(&a, &polynomial, scale).map(drop),
        e.polynomial_of_reals(&a, &polynomial, scale).map(drop),
        e.linear_transform(&a, &map, scale).map(drop),
        e.dcp(&a, 1 << 20, 2, s.top()).map(drop),
        s.context.decrypt(&s.secret, &a).map(drop),
        s.context.decrypt_for_sharing(&s.secret, &a, 10).map(drop),
    ];
    for (i, result) in results.into_iter().enumerate() {
        assert!(
            matches!(result, Err(CkksError::Rlwe(RlweError::Modulus { have: 0, .. }))),
            "operation {i}: {result:?}"
        );
    }
}

/// A product modulo `PQ_max` has more bits than the largest modulus of ciphertexts, and is brought
/// to that.
#[test]
fn rescaling_ends_at_the_largest_modulus() {
    for s in [insecure(8, 2, &[]), grafted(8, 2, "sprout-15-16-32", &[])] {
        let (e, full) = (&s.evaluator, s.context.parameters().full());
        let [large, target] = [80, 60].map(Scale::power_of_two);
        assert_eq!(e.rescaled_modulus(full, large, target), s.top());
        let x = circle(s.context.max_slots(), 1.0, 0.0);
        let a = s.encrypt(&x);
        let mut product = Ciphertext::empty(&s.context);
        e.mul_to_into(&mut product, &a, &a, full).unwrap();
        let rescaled = e.rescale(&product, product.scale().over(Scale::power_of_two(20))).unwrap();
        assert_eq!(rescaled.modulus(), s.top());
        s.check(&rescaled, &zip(&x, &x, |x, _| x * x), "rescale from PQ");
    }
}

#[test]
fn impossible_parts_are_refused() {
    let s = insecure(8, 2, &[1]);
    let a = s.encrypt(&circle(s.context.max_slots(), 1.0, 0.0));
    for (slots, bound) in [(0, 1.0), (3, 1.0), (256, 1.0), (128, f64::NAN), (128, -1.0)] {
        let parts = Ciphertext::from_parts(&s.context, a.inner().clone(), a.scale(), slots, bound);
        assert!(matches!(parts, Err(CkksError::Argument { .. })), "{slots} {bound}");
    }
    let foreign = insecure(9, 2, &[]);
    assert!(
        Ciphertext::from_parts(&foreign.context, a.inner().clone(), a.scale(), 128, 1.0).is_err()
    );
    assert!(
        foreign.evaluator.negate(&a).is_err() && foreign.evaluator.add_number(&a, 1.0).is_err()
    );
    for modulus in [Modulus::ONE, Modulus::of_range(0..9)] {
        assert!(s.context.encode(Values::Real(&[1.0]), 128, s.scale, modulus).is_err());
    }
    // An unknown bound fits no modulus.
    let mut unknown = a.clone();
    unknown.set_bound(f64::NAN);
    let error = s.evaluator.mul(&unknown, &a).unwrap_err().to_string();
    assert_eq!(error, "multiply needs a finite bound on the values: declare one");
    let mut out = [Ciphertext::empty(&s.context)];
    assert!(s.evaluator.rotate_many_into(&mut out, &a, &[1, 2]).is_err());
}

#[test]
fn shared_decryptions_carry_the_noise_asked_for() {
    let s = insecure(11, 2, &[]);
    let x = circle(s.context.max_slots(), 1.0, 0.0);
    let a = s.encrypt(&x);
    let shared = s.context.decrypt_for_sharing(&s.secret, &a, 20).unwrap();
    let got = s.context.decode_complex(&shared).unwrap();
    let sum: f64 = got.iter().zip(&x).map(|(g, e)| (g - e).norm_sqr()).sum();
    let measured = (sum / (2 * got.len()) as f64).sqrt().log2();
    // The noise is two to four times as wide as the estimate times 2^20.
    let wider = measured - (20.0 - a.precision_bits());
    assert!((0.9..2.1).contains(&wider), "{wider}");
    let low = s.encrypt_at(&x, x.len(), Scale::power_of_two(30), Modulus::of_range(0..1));
    assert!(s.context.decrypt_for_sharing(&s.secret, &low, 60).is_err());
}
