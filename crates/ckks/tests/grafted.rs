//! Tests of grafted parameters: any scale on the same chain.

use std::collections::BTreeMap;

use crate::common::{Setup, circle, exact, grafted, grafted_words, insecure, setup};
use hippocrene_ckks::{
    Ciphertext, CkksError, Scale,
    circuits::{Basis, LinearTransform, Polynomial},
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
use num_bigint::BigInt;
use num_complex::Complex64;
use proptest::{prelude::*, test_runner::TestCaseError};

fn capacity_is_right(s: &Setup, c: &Ciphertext) {
    let modulus = s.context.parameters().log2(c.modulus());
    let expected = modulus - c.scale().log2() - c.bound().max(1.0).log2() - 1.0;
    assert!((c.capacity_bits(&s.context) - expected).abs() < 1e-9);
}

/// Computes `x^(2^k)` at one scale until the capacity is used up. Checks the precision as long as
/// some bits of it are left.
fn squares(s: &Setup, bits: i32, x: &[Complex64]) -> usize {
    let scale = Scale::power_of_two(bits);
    let mut expected = exact::encoded(s, x, scale);
    let mut c = s.encrypt_at(x, x.len(), scale, s.top());
    let mut depth = 0;
    loop {
        if c.precision_bits() > 3.0 {
            exact::check(s, &c, &expected, &format!("2^{bits}, {depth} squarings"));
        }
        capacity_is_right(s, &c);
        assert!(
            (c.scale().log2() - f64::from(bits)).abs() < 0.55,
            "2^{bits} has become {} after {depth} squarings",
            c.scale()
        );
        let before = c.capacity_bits(&s.context);
        match s.evaluator.square_rescale(&c, scale) {
            Ok(square) => {
                let used = before - square.capacity_bits(&s.context);
                assert!((used - c.scale().log2()).abs() < 1e-6, "{used} bits used at 2^{bits}");
                c = square;
            }
            Err(error) => {
                assert!(matches!(error, CkksError::Capacity { .. }), "{error}");
                assert!(before < c.scale().log2() + 1e-6, "{before} bits were left at 2^{bits}");
                return depth;
            }
        }
        expected = exact::multiply_fixed(&expected, &expected);
        depth += 1;
    }
}

#[test]
fn chains_of_products_at_every_scale() {
    let s = grafted(8, 6, "sprout-15-16-32", &[]);
    let total = s.context.parameters().log2(s.top());
    let x = circle(s.context.max_slots(), 1.0, 0.3);
    for bits in [15, 20, 30, 40, 60, 80, 100] {
        let depth = squares(&s, bits, &x);
        // Every squaring uses the bits of the scale, except for the first scale and the bit of the
        // sign.
        let expected = (total - 1.0) / f64::from(bits) - 1.0;
        assert!(
            (depth as f64 - expected).abs() <= 1.0,
            "2^{bits}: {depth}, {expected:.1} expected"
        );
    }
}

/// Tests every named sprout with the largest words for which it is universal.
#[test]
fn every_sprout() {
    for name in Sprout::names() {
        let sprout = Sprout::named(name).unwrap();
        let bits = f64::from(sprout.two) + (sprout.odd_product(u8::MAX) as f64).log2();
        let s = grafted_words(if bits < 55.0 { 48 } else { 60 }, 8, 4, name, &[3]);
        let (e, n) = (&s.evaluator, s.context.max_slots());
        let (x, y) = (circle(n, 1.0, 0.3), circle(n, 1.0, 1.1));
        for bits in [25, 37, 52] {
            let scale = Scale::power_of_two(bits);
            let (a, b) = (s.encrypt_at(&x, n, scale, s.top()), s.encrypt_at(&y, n, scale, s.top()));
            let product = e.mul_rescale(&a, &b, scale).unwrap();
            let square = e.square_rescale(&product, scale).unwrap();
            let off = (square.scale().log2() - f64::from(bits)).abs();
            assert!(off < 1.3, "{name}: 2^{bits} has become {}", square.scale());
            let mut expected = exact::multiply_fixed(
                &exact::encoded(&s, &x, scale),
                &exact::encoded(&s, &y, scale),
            );
            exact::check(&s, &product, &expected, name);
            expected = exact::multiply_fixed(&expected, &expected);
            exact::check(&s, &square, &expected, name);
            let (left, right) = e.align(&square, &a).unwrap();
            exact::check(&s, &left, &expected, name);
            exact::check(&s, &right, &exact::encoded(&s, &x, scale), name);
            let rotated: Vec<Complex64> =
                (0..n).map(|i| (x[(i + 3) % n] * y[(i + 3) % n]).powu(2)).collect();
            let error = largest(&s.decrypt(&e.rotate(&square, 3).unwrap()), &rotated);
            assert!(error.log2() < 12.0 - f64::from(bits), "{name}, rotated at 2^{bits}: {error}");
        }
    }
}

/// Returns a ciphertext of `x` at `scale` with a modulus of about `bits` bits.
fn at(s: &Setup, x: &[Complex64], scale: Scale, bits: f64) -> Ciphertext {
    let modulus = s.context.parameters().grafted_modulus(bits);
    s.encrypt_at(x, x.len(), scale, modulus)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// GRAFT C.3: the error of an adjusted ciphertext consists of the scaled error of the
    /// ciphertext, the error of the rescale, and `Delta m/2c`.
    #[test]
    fn adjusting_keeps_to_its_bound(
        bits in 20.0f64..100.0,
        to_bits in 20.0f64..100.0,
        down in 0.0f64..200.0,
        bound in 0.01f64..8.0,
    ) {
        let s = grafted(9, 6, "sprout-15-16-32", &[]);
        let x = circle(s.context.max_slots(), bound, 0.3);
        let [scale, wanted] = [bits, to_bits].map(|b| Scale::from_f64(b.exp2()).unwrap());
        let a = s.encrypt_at(&x, x.len(), scale, s.top());
        let (before, log2_top) = (exact::message(&s, &a), s.context.parameters().log2(s.top()));
        let to = s.context.parameters().grafted_modulus(log2_top - down);
        let fits = s.context.parameters().log2(to) >= to_bits + bound.max(1.0).log2() + 1.0;
        // The size of the integer in bits, if Q_mid is all of Q.
        let constant = log2_top - s.context.parameters().log2(to) + wanted.log2() - scale.log2();
        match s.evaluator.adjust(&a, to, wanted) {
            Ok(out) => {
                prop_assert!((out.modulus(), out.scale()) == (to, wanted));
                exact::check(&s, &out, &exact::encoded(&s, &x, scale), "adjusted");
                // In addition to the scaled error: (1 + |s|_1)/2, and the largest rounding error of
                // the constant.
                let off = exact::log2_max(&difference(&exact::message(&s, &out), &before))
                    - exact::FRACTION as f64
                    + wanted.log2();
                let rescale = 0.5 * (1.0 + x.len() as f64 * 2.0);
                let added = rescale + (out.inner().noise().log2_std().exp2() * 8.0);
                prop_assert!(off <= added.log2(), "{off} {added}");
            }
            Err(CkksError::Capacity { .. }) => {
                prop_assert!(!fits || constant < bits.min(to_bits), "{constant} bits would do");
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    /// Operands of any modulus and scale are aligned, and neither loses noticeable precision.
    #[test]
    fn random_pairs_are_aligned(
        bits in (20.0f64..80.0, 20.0f64..80.0),
        at in (150.0f64..351.0, 150.0f64..351.0),
        near in 0..3,
        large in prop_oneof![Just(0.0), 1.0f64..36.0],
    ) {
        // Some pairs have almost the same scale, and some the same modulus.
        let other = if near > 0 { bits.0 + 0.01 } else { bits.1 };
        check_aligned((bits.0, other), (at.0, if near > 1 { at.0 } else { at.1 }), large)?;
    }
}

/// The operand with the larger modulus is more precise, so the other takes its scale.
#[test]
fn the_less_precise_of_a_pair_is_off() {
    check_aligned(
        (63.51210599889109, 46.07381958698064),
        (261.63116347191175, 241.5521832176767),
        0.0,
    )
    .unwrap();
}

/// The constant is a multiple of the power of two that is divided away, so nothing is rounded.
#[test]
fn exact_divisions_add_no_noise() {
    check_aligned(
        (34.27897459778338, 34.28897459778338),
        (204.88341373360294, 218.97513208320305),
        0.0,
    )
    .unwrap();
    // All of the power of two is divided away.
    check_aligned((79.71487639095317, 20.0), (231.433445655564, 161.96925604140097), 0.0).unwrap();
}

/// Large fresh values are aligned with small ones after several products. Neither the divisor that
/// is enough for values up to 1 nor the whole modulus gives a constant.
#[test]
fn large_values_meet_small_ones_of_any_depth() {
    for at in [150.0, 180.0, 210.0, 240.0, 270.0, 300.0] {
        for large in [10.0, 20.0, 30.0, 40.0] {
            check_aligned((45.0, 45.3), (351.0, at), large).unwrap();
        }
    }
}

/// Aligns ciphertexts with scales and moduli of the given bits. The values of the first one are up
/// to `2^large`.
fn check_aligned(
    (bits, other_bits): (f64, f64),
    (at_a, at_b): (f64, f64),
    large: f64,
) -> Result<(), TestCaseError> {
    let s = grafted(9, 6, "sprout-15-16-32", &[]);
    let n = s.context.max_slots();
    let (x, y) = (circle(n, large.exp2(), 0.3), circle(n, 1.0, 1.9));
    let [scale, other] = [bits, other_bits].map(|b| Scale::from_f64(b.exp2()).unwrap());
    let (a, b) = (at(&s, &x, scale, at_a), at(&s, &y, other, at_b));
    let left = a.capacity_bits(&s.context).min(b.capacity_bits(&s.context));
    match s.evaluator.align(&a, &b) {
        Ok((p, q)) => {
            prop_assert!(p.modulus() == q.modulus() && p.scale() == q.scale());
            exact::check(&s, &p, &exact::encoded(&s, &x, scale), "left");
            exact::check(&s, &q, &exact::encoded(&s, &y, other), "right");
            let used = left - p.capacity_bits(&s.context);
            prop_assert!(used < 0.75 * bits.min(other_bits) + large, "{used} bits used");
            // The less precise operand keeps its precision, except for the error of a rescale.
            let before = a.precision_bits().min(b.precision_bits());
            let after = p.precision_bits().min(q.precision_bits());
            prop_assert!(after > before - 4.0, "{after} bits after {before}");
            prop_assert!(s.evaluator.add(&p, &q).is_ok() || p.capacity_bits(&s.context) < 1.0);
        }
        Err(error) => {
            prop_assert!(
                left < 0.75 * bits.max(other_bits) + large,
                "{error}, {left} bits were left"
            )
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn polynomials_and_linear_transforms_at_random_scales(
        bits in 24.0f64..56.0,
        coefficients in prop::collection::vec(
            prop_oneof![3 => -1.0f64..1.0, 1 => Just(0.0)],
            2..24,
        ),
        chebyshev in any::<bool>(),
        modulus_bits in 330.0f64..351.0,
        rotations in prop::collection::btree_set(0usize..128, 1..9),
    ) {
        let powers: Vec<i64> = (0..7).map(|k| 1 << k).collect();
        let s = grafted(8, 6, "sprout-15-16-32", &powers);
        let n = s.context.max_slots();
        let target = Scale::from_f64(bits.exp2()).unwrap();
        let reals: Vec<f64> = (0..n).map(|i| (i as f64 * 0.731).sin()).collect();
        let x: Vec<Complex64> = reals.iter().map(|x| Complex64::from(*x)).collect();
        let a = at(&s, &x, target, modulus_bits);

        // A linear transform ends at the modulus of a square, whatever limbs its modulus has.
        let diagonals: BTreeMap<usize, Vec<Complex64>> =
            rotations.iter().map(|&r| (r, circle(n, 0.3, r as f64))).collect();
        let t = LinearTransform::new(n, diagonals.clone()).unwrap();
        let y = s.evaluator.linear_transform(&a, &t, target).unwrap();
        let square = s.evaluator.square_rescale(&a, target).unwrap();
        prop_assert!(y.modulus() == square.modulus() && y.scale().is_close(square.scale()));
        s.evaluator.add(&y, &square).unwrap();
        let expected: Vec<Complex64> =
            (0..n).map(|i| diagonals.iter().map(|(r, d)| d[i] * x[(i + r) % n]).sum()).collect();
        let error = largest(&s.decrypt(&y), &expected);
        prop_assert!(
            error < (14.0 - bits).exp2(),
            "linear transform at 2^{bits}: {}",
            error.log2()
        );
        prop_assert!(
            error.log2() < 3.5 - y.precision_bits(),
            "{} {}",
            error.log2(),
            y.precision_bits()
        );

        // A polynomial ends at the modulus of as many squarings as its depth.
        let basis =
            if chebyshev { Basis::Chebyshev { low: -1.0, high: 1.0 } } else { Basis::Monomial };
        let p = Polynomial::new(basis, coefficients).unwrap();
        let expected: Vec<Complex64> =
            reals.iter().map(|x| Complex64::from(p.evaluate(*x))).collect();
        let (mut modulus, mut scale) = (a.modulus(), a.scale());
        let size: f64 = p.coefficients().iter().map(|c| c.abs()).sum::<f64>().max(1.0);
        let mut need = 0.0;
        for _ in 0..p.depth() {
            need += scale.log2();
            let square = scale.times(scale);
            let to = s.evaluator.rescaled_modulus(modulus, square, target);
            (scale, modulus) = (s.evaluator.switched_scale(square, modulus, to), to);
        }
        match s.evaluator.polynomial(&a, &p, target) {
            Ok(y) => {
                prop_assert!(y.modulus() == modulus && y.scale().is_close(scale));
                let error = largest(&s.decrypt(&y), &expected);
                let allowed = size * (14.0 + 1.5 * p.depth() as f64 - bits).exp2();
                prop_assert!(
                    error < allowed,
                    "degree {} at 2^{bits}: {}",
                    p.degree(),
                    error.log2()
                );
            }
            Err(CkksError::Capacity { .. }) => {
                // Intermediate values are up to twice as large as the result.
                prop_assert!(need + size.log2() + 1.0 > a.capacity_bits(&s.context));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

fn largest(a: &[Complex64], b: &[Complex64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

fn difference(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Returns the mean over `runs` products of log2 of the error in the worst slot, rescaled in one
/// step and separately.
fn worst_slots(s: &Setup, runs: usize) -> [f64; 2] {
    let n = s.context.max_slots();
    let mut sums = [0.0; 2];
    for run in 0..runs {
        let (x, y) = (circle(n, 1.0, run as f64), circle(n, 1.0, 0.5 - run as f64));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        let expected: Vec<Complex64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        let fused = s.evaluator.mul_rescale(&a, &b, s.scale).unwrap();
        let apart = s.evaluator.rescale(&s.evaluator.mul(&a, &b).unwrap(), s.scale).unwrap();
        for (sum, c) in sums.iter_mut().zip([fused, apart]) {
            *sum += largest(&s.decrypt(&c), &expected).log2() / runs as f64;
        }
    }
    sums
}

/// GRAFT Theorem 3.2: a rational rescale is as precise as a plain one. The difference of two means
/// of 100 worst slots has a standard deviation of about 0.05 bits, mostly due to the weights of the
/// two secrets.
#[test]
fn rational_rescales_are_as_precise_as_those_of_the_simple_twin() {
    let simple = insecure(11, 5, &[]);
    let grafted = grafted(11, 4, "sprout-15-16-32", &[]);
    let (plain, rational) = (worst_slots(&simple, 100), worst_slots(&grafted, 100));
    for (plain, rational) in plain.into_iter().zip(rational) {
        assert!(rational < plain + 0.2, "worst slot 2^{rational:.3}, simple twin 2^{plain:.3}");
    }
}

/// A set with 128 bits of security, with every operation of the evaluator at two scales.
#[test]
fn secure_parameters() {
    let (log_degree, degree) = (14, 1 << 14);
    let primes = primes::ntt_primes(48, degree, 7, &[]).unwrap();
    let parameters = Parameters::new(ParametersLiteral {
        log_degree,
        units: primes[..5].to_vec(),
        specials: primes[5..].to_vec(),
        sprout: Sprout::for_degree(log_degree).unwrap(),
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    let s = setup(parameters, &[1, 2], Threads::single(), Scale::power_of_two(40));
    let (e, n) = (&s.evaluator, s.context.max_slots());
    let (x, y) = (circle(n, 1.0, 0.3), circle(n, 1.0, 1.1));
    for bits in [27, 43] {
        let scale = Scale::power_of_two(bits);
        let (a, b) = (s.encrypt_at(&x, n, scale, s.top()), s.encrypt_at(&y, n, scale, s.top()));
        let mut expected: Vec<Complex64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        let mut product = e.mul_rescale(&a, &b, scale).unwrap();
        s.check(&product, &expected, "multiply");
        for _ in 0..2 {
            let (left, right) = e.align(&product, &a).unwrap();
            product = e.mul_rescale(&left, &right, scale).unwrap();
            expected.iter_mut().zip(&x).for_each(|(e, x)| *e *= x);
            s.check(&product, &expected, "align and multiply");
        }
        let rotated: Vec<Complex64> = (0..n).map(|i| expected[(i + 1) % n]).collect();
        s.check(&e.rotate(&product, 1).unwrap(), &rotated, "rotate");
        let conjugate: Vec<Complex64> = expected.iter().map(Complex64::conj).collect();
        s.check(&e.conjugate(&product).unwrap(), &conjugate, "conjugate");
        let sum = e.inner_sum(&product, 1, 4).unwrap();
        let sums: Vec<Complex64> =
            (0..n).map(|i| (0..4).map(|k| expected[(i + k) % n]).sum()).collect();
        let error = largest(&s.decrypt(&sum), &sums).log2();
        assert!(error < 4.0 - sum.precision_bits(), "{error} {}", sum.precision_bits());
    }
}
