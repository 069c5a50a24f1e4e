//! Tests of linear transforms, sums and polynomials against plain computations.

use std::{collections::BTreeMap, f64::consts::PI};

use crate::common::{Setup, circle, grafted, insecure, setup};
use hippocrene_ckks::{
    Ciphertext, CkksError, Scale,
    circuits::{Basis, LinearTransform, Polynomial, SlotValues},
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{Modulus, Parameters, ParametersLiteral, SecretDistribution, Sprout};
use num_complex::Complex64;
use proptest::prelude::*;

/// Returns the scales that repeated multiplication leads to, from the setup's scale at the top.
fn scales(s: &Setup) -> impl Fn(Modulus) -> Scale {
    let count = s.context.parameters().unit_count();
    let mut table = vec![s.scale; count];
    for l in (1..count).rev() {
        table[l - 1] = table[l].times(table[l]).divided_by(s.context.parameters().factor(l));
    }
    move |modulus| table[modulus.limb_count() - 1]
}

fn reals(n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * ((i * i * 7 + 3 * i) % 1009) as f64 / 1008.0).collect()
}

fn close(got: &[Complex64], expected: impl Iterator<Item = Complex64>, tolerance: f64, what: &str) {
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).norm() < tolerance, "{what}: slot {i}: {g} instead of {e}");
    }
}

#[test]
fn linear_transforms() {
    let powers: Vec<i64> = (0..9).map(|k| 1 << k).collect();
    let s = insecure(10, 2, &powers);
    let n = s.context.max_slots();
    let x = circle(n, 1.0, 0.4);
    let a = s.encrypt(&x);
    let scale_at = scales(&s);
    for rotations in [
        vec![0],
        vec![3],
        (0..17).collect(),
        vec![0, 1, n - 1, n - 2, n - 3],
        vec![5, 100, 250, 511],
    ] {
        let diagonals: BTreeMap<usize, Vec<Complex64>> =
            rotations.iter().map(|&r| (r, circle(n, 0.3, r as f64))).collect();
        let t = LinearTransform::new(n, diagonals.clone()).unwrap();
        let to = Modulus::of_range(0..2);
        for _ in 0..2 {
            let y = s.evaluator.linear_transform(&a, &t, s.scale).unwrap();
            assert_eq!((y.modulus(), y.scale()), (to, scale_at(to)));
            assert_eq!((y.modulus(), y.scale()), s.evaluator.after_product(&a, s.scale));
            let expected: Vec<Complex64> = (0..n)
                .map(|i| diagonals.iter().map(|(r, d)| d[i] * x[(i + r) % n]).sum())
                .collect();
            close(&s.decrypt(&y), expected.iter().copied(), 1e-6, "linear transform");
            assert!(expected.iter().all(|e| e.norm() <= y.bound() * (1.0 + 1e-9)));
        }
    }
    assert!(LinearTransform::new(n, BTreeMap::new()).is_err());
    assert!(LinearTransform::new(n, BTreeMap::from([(n, vec![Complex64::ONE; n])])).is_err());
}

/// Checks that diagonals given by few numbers map as those with all of their zeros.
#[test]
fn linear_transforms_of_few_entries() {
    let s = insecure(10, 2, &[1, 2, 4, 8, 16, 32, 64, 128, 256]);
    let n = s.context.max_slots();
    let x = circle(n, 1.0, 0.4);
    let a = s.encrypt(&x);
    let entries: BTreeMap<usize, Vec<(u32, f64)>> = [
        (0, vec![]),
        (3, vec![(0, 0.5), (7, -1.0)]),
        (n - 5, vec![(7, 0.25), (n as u32 - 1, 2.0)]),
    ]
    .into();
    let sparse = LinearTransform::from_entries(n, entries.clone()).unwrap();
    let dense = entries.iter().map(|(r, entries)| {
        let mut diagonal = vec![0.0; n];
        entries.iter().for_each(|(slot, x)| diagonal[*slot as usize] = *x);
        (*r, diagonal)
    });
    let dense = LinearTransform::from_real(n, dense.collect()).unwrap();
    let [y, z] = [&sparse, &dense].map(|t| s.evaluator.linear_transform(&a, t, s.scale).unwrap());
    assert_eq!((y.bound(), y.inner().noise()), (z.bound(), z.inner().noise()));
    assert_eq!(s.decrypt(&y), s.decrypt(&z));
    let mut expected = vec![Complex64::ZERO; n];
    for (r, entries) in &entries {
        entries
            .iter()
            .for_each(|(slot, c)| expected[*slot as usize] += c * x[(*slot as usize + r) % n]);
    }
    close(&s.decrypt(&y), expected.into_iter(), 1e-6, "few entries");
    for (wrong, say) in [
        (vec![(2, 1.0), (1, 1.0)], "are not in ascending order"),
        (vec![(1, 1.0), (1, 1.0)], "are not in ascending order"),
        (vec![(n as u32, 1.0)], "not below 512"),
        (vec![(1, f64::NAN)], "NaN"),
    ] {
        let error = LinearTransform::from_entries(n, [(0, wrong)].into()).unwrap_err().to_string();
        assert!(error.contains(say), "{error}");
    }
}

/// Applies the map with one rotation for every diagonal, each divided separately.
fn one_by_one(
    s: &Setup,
    a: &Ciphertext,
    diagonals: &BTreeMap<usize, Vec<Complex64>>,
) -> Ciphertext {
    let e = &s.evaluator;
    let term = |(r, d): (&usize, &Vec<Complex64>)| {
        let plain = s.context.encode(d[..].into(), a.slots(), a.scale(), a.modulus()).unwrap();
        e.mul_plain(&e.rotate(a, *r as i64).unwrap(), &plain).unwrap()
    };
    let sum = diagonals.iter().map(term).reduce(|a, b| e.add(&a, &b).unwrap()).unwrap();
    e.rescale(&sum, s.scale).unwrap()
}

/// Checks that both methods give the right values with the stated noise, and that double hoisting
/// has no more noise than the other.
fn check_transform(s: &Setup, rotations: impl IntoIterator<Item = usize>, angle: f64) {
    let slots = s.context.max_slots();
    let diagonals: BTreeMap<usize, Vec<Complex64>> =
        rotations.into_iter().map(|r| (r, circle(slots, 0.3, angle + r as f64))).collect();
    let x = circle(slots, 1.0, angle);
    let expected: Vec<Complex64> = (0..slots)
        .map(|i| diagonals.iter().map(|(r, d)| d[i] * x[(i + r) % slots]).sum())
        .collect();
    let a = s.encrypt(&x);
    let t = LinearTransform::new(slots, diagonals.clone()).unwrap();
    let y = s.evaluator.linear_transform(&a, &t, s.scale).unwrap();
    s.check(&y, &expected, "linear transform");
    let single = one_by_one(s, &a, &diagonals);
    s.check(&single, &expected, "one by one");
    assert!(y.precision_bits() > single.precision_bits() - 0.6, "{y:?}, {single:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn linear_transforms_are_as_rotations_one_by_one(
        rotations in prop::collection::btree_set(0usize..256, 1..12),
        band in 0usize..20,
        angle in 0.0f64..6.0,
    ) {
        let powers: Vec<i64> = (0..8).map(|k| 1 << k).chain([3, 5, 7]).collect();
        check_transform(&insecure(9, 2, &powers), rotations.into_iter().chain(0..band), angle);
    }
}

#[test]
fn linear_transforms_of_a_secure_set() {
    let degree = 1 << 13;
    let mut units = primes::ntt_primes(50, degree, 1, &[]).unwrap();
    units.extend(primes::ntt_primes(40, degree, 2, &[]).unwrap());
    let parameters = Parameters::new(ParametersLiteral {
        log_degree: 13,
        units,
        specials: primes::ntt_primes(60, degree, 1, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 3,
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    let steps: Vec<i64> = (1..8).chain([8, 16, 24]).collect();
    let s = setup(parameters, &steps, Threads::single(), Scale::power_of_two(40));
    check_transform(&s, 0..20, 0.7);
}

/// Checks that the stated noise is that of the slots that hold a result.
#[test]
fn maps_to_few_slots_are_as_noisy_as_is_estimated() {
    const FEW: usize = 16;
    let powers: Vec<i64> = (0..9).map(|k| 1 << k).collect();
    let s = insecure(10, 2, &powers);
    let n = s.context.max_slots();
    for factor in [0.05, 1.0, 20.0] {
        // A reversal of the first slots times a factor has one diagonal for each slot.
        let diagonals = (0..FEW).map(|i| {
            let mut diagonal = vec![Complex64::ZERO; n];
            diagonal[i] = factor.into();
            ((FEW - 1 + n - 2 * i) % n, diagonal)
        });
        let t = LinearTransform::new(n, diagonals.collect()).unwrap();
        let (mut squares, runs, mut stated) = (0.0, 60, 0.0);
        for run in 0..runs {
            let x = circle(n, 1.0, f64::from(run));
            let y = s.evaluator.linear_transform(&s.encrypt(&x), &t, s.scale).unwrap();
            stated = -y.precision_bits();
            let got = s.decrypt(&y);
            squares += (0..FEW).map(|i| (got[i] - factor * x[FEW - 1 - i]).norm_sqr()).sum::<f64>();
        }
        let measured = 0.5 * (squares / f64::from(2 * runs) / FEW as f64).log2();
        assert!((measured - stated).abs() < 1.5f64.log2(), "2^{measured:.2}, stated 2^{stated:.2}");
    }
}

/// Checks that encodings are dropped when memory is exceeded, the least recently used first, and
/// that they are computed again with the same bits.
#[test]
fn encoded_diagonals_keep_to_their_memory() {
    let s = insecure(9, 3, &[1]);
    let n = s.context.max_slots();
    let t = LinearTransform::new(n, [(0, circle(n, 0.3, 0.0)), (1, circle(n, 0.3, 1.0))].into())
        .unwrap();
    let high = s.encrypt(&circle(n, 1.0, 0.4));
    let low = s.evaluator.square_rescale(&high, s.scale).unwrap();
    let apply = |a: &Ciphertext| s.evaluator.linear_transform(a, &t, s.scale).unwrap();
    assert_eq!(t.memory(), (0, 1 << 30));
    let expected = [apply(&high), apply(&low)];
    let both = t.memory().0;
    assert_eq!([apply(&high), apply(&low)], expected);
    assert_eq!(t.memory().0, both, "they are made once");
    let limbs = |a: &Ciphertext| {
        s.context
            .rlwe()
            .rotation_modulus(a.modulus(), s.context.parameters().full())
            .unwrap()
            .limb_count()
            * s.context.rlwe().degree()
    };
    assert_eq!(both, 2 * 8 * (limbs(&high) + limbs(&low)));
    // The last one used stays in memory.
    t.set_memory(1);
    assert_eq!(t.memory(), (2 * 8 * limbs(&low), 1));
    assert_eq!(apply(&high), expected[0]);
    assert_eq!(t.memory(), (2 * 8 * limbs(&high), 1));
    t.set_memory(0);
    assert_eq!(t.memory(), (0, 0));
    assert_eq!([apply(&high), apply(&low)], expected);
    assert_eq!(t.memory(), (0, 0));
}

/// Checks that hundreds of diagonals are encoded in parts if all of them exceed the memory limit,
/// with the same bits.
#[test]
fn hundreds_of_diagonals_are_encoded_in_parts() {
    let n = 1 << 9;
    let diagonals: BTreeMap<usize, Vec<Complex64>> =
        (0..300).map(|r| (r, circle(n, 0.05, r as f64))).collect();
    let t = LinearTransform::new(n, diagonals).unwrap();
    let s = insecure(10, 2, &t.rotations());
    let a = s.encrypt(&circle(n, 1.0, 0.3));
    let whole = s.evaluator.linear_transform(&a, &t, s.scale).unwrap();
    let (used, _) = t.memory();
    assert!(used > 0);
    for limit in [used / 5, 1] {
        t.set_memory(0);
        t.set_memory(limit);
        assert_eq!(s.evaluator.linear_transform(&a, &t, s.scale).unwrap(), whole);
        assert_eq!(t.memory(), (0, limit));
    }
}

#[test]
fn rotations_without_keys_are_composed() {
    let powers: Vec<i64> = (0..9).map(|k| 1 << k).collect();
    let negative: Vec<i64> = powers.iter().map(|k| -k).collect();
    for (keys, needs_right) in
        [(powers.clone(), false), (negative.clone(), true), ([powers, negative].concat(), true)]
    {
        let s = insecure(10, 1, &keys);
        let n = s.context.max_slots();
        let x = circle(n, 1.0, 0.4);
        let a = s.encrypt(&x);
        for steps in [0i64, 1, 3, 7, 255, 509, -1, -6, 1023] {
            let y = s.evaluator.rotate(&a, steps).unwrap();
            let expected = (0..n).map(|i| x[(i as i64 + steps).rem_euclid(n as i64) as usize]);
            close(&s.decrypt(&y), expected, 1e-6, &format!("rotate by {steps}, {needs_right}"));
        }
    }
    let s = insecure(10, 1, &[1, 4]);
    let a = s.encrypt(&circle(s.context.max_slots(), 1.0, 0.4));
    assert!(s.evaluator.rotate(&a, 5).is_ok());
    assert!(s.evaluator.rotate(&a, 6).unwrap_err().to_string().contains("rotation by 6"));
}

#[test]
fn sums_add_rotations() {
    let s = insecure(9, 1, &[2, 4, 8]);
    let n = s.context.max_slots();
    let x = circle(n, 1.0, 0.1);
    for count in 1..=8 {
        let y = s.evaluator.inner_sum(&s.encrypt(&x), 2, count).unwrap();
        let expected = (0..n).map(|i| (0..count).map(|k| x[(i + 2 * k) % n]).sum());
        close(&s.decrypt(&y), expected, 1e-6, "inner sum");
    }
    let none = s.evaluator.inner_sum(&s.encrypt(&x), 2, 0).unwrap_err();
    assert!(none.to_string().contains("0 rotations"), "{none}");
}

/// Sums of a few slots and of all of them. The latter is a trace, which has the same number in all
/// slots.
#[test]
fn sums_are_as_noisy_as_is_estimated() {
    const TRIALS: usize = 60;
    let s = insecure(8, 1, &[1, 2, 4, 8, 16, 32, 64]);
    let n = s.context.max_slots();
    let x = circle(n, 1.0, 0.1);
    for (step, count) in [(1, 4), (8, 13), (8, 16), (1, n)] {
        let (mut squares, mut estimated) = (0.0, 0.0);
        for _ in 0..TRIALS {
            let y = s.evaluator.inner_sum(&s.encrypt(&x), step, count).unwrap();
            let sum = |i: usize| (0..count).map(|k| x[(i + k * step) % n]).sum::<Complex64>();
            squares +=
                s.decrypt(&y).iter().enumerate().map(|(i, y)| (y - sum(i)).norm_sqr()).sum::<f64>();
            estimated = y.precision_bits();
        }
        let measured = (squares / (2 * n * TRIALS) as f64).sqrt();
        let ratio = measured * estimated.exp2();
        assert!(
            (1.0 / 1.5..1.5).contains(&ratio),
            "{count} slots {step} apart: {ratio} times the estimate"
        );
    }
}

fn check_polynomial(s: &Setup, p: &Polynomial, x: &[f64]) {
    let values: Vec<Complex64> = x.iter().map(|x| Complex64::from(*x)).collect();
    let a = s.encrypt(&values);
    let scale_at = scales(s);
    let y = s.evaluator.polynomial(&a, p, s.scale).unwrap();
    assert_eq!(
        y.modulus().limb_count(),
        a.modulus().limb_count() - p.depth(),
        "degree {}",
        p.degree()
    );
    assert!(y.scale().is_close(scale_at(y.modulus())));
    let expected: Vec<f64> = x.iter().map(|x| p.evaluate(*x)).collect();
    let size = p.coefficients().iter().map(|c| c.abs()).sum::<f64>().max(1.0);
    close(
        &s.decrypt(&y),
        expected.iter().map(|e| Complex64::from(*e)),
        1e-6 * size * 4f64.powi(p.depth() as i32),
        "p",
    );
    assert!(expected.iter().all(|e| e.abs() <= y.bound() * (1.0 + 1e-9)), "{:?} {}", p, y.bound());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn polynomials(
        mut coefficients in prop::collection::vec(
            prop_oneof![3 => -1.0f64..1.0, 1 => Just(0.0)],
            1..40,
        ),
        kind in 0..3,
        even in any::<bool>(),
    ) {
        let s = insecure(8, 7, &[]);
        if even {
            coefficients.iter_mut().skip(1).step_by(2).for_each(|c| *c = 0.0);
        }
        let (basis, low, high) = match kind {
            0 => (Basis::Monomial, -1.0, 1.0),
            1 => (Basis::Chebyshev { low: -1.0, high: 1.0 }, -1.0, 1.0),
            _ => (Basis::Chebyshev { low: -2.0, high: 5.0 }, -2.0, 5.0),
        };
        check_polynomial(
            &s,
            &Polynomial::new(basis, coefficients).unwrap(),
            &reals(s.context.max_slots(), low, high),
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Several polynomials of one argument have the values, the scale, the modulus and about the
    /// noise that they have one by one.
    #[test]
    fn polynomials_together_are_those_one_by_one(
        all in prop::collection::vec(
            prop::collection::vec(prop_oneof![3 => -1.0f64..1.0, 1 => Just(0.0)], 1..20),
            1..5,
        ),
        chebyshev: bool,
        even: bool,
    ) {
        let s = insecure(8, 6, &[]);
        let basis = if chebyshev { UNIT } else { Basis::Monomial };
        let polynomial = |mut coefficients: Vec<f64>| {
            if even {
                coefficients.iter_mut().skip(1).step_by(2).for_each(|c| *c = 0.0);
            }
            Polynomial::new(basis, coefficients).unwrap()
        };
        let all: Vec<_> = all.into_iter().map(polynomial).collect();
        let x = reals(s.context.max_slots(), -1.0, 1.0);
        let mut a = s.encrypt(&x.iter().map(|x| Complex64::from(*x)).collect::<Vec<_>>());
        a.set_bound(1.0);
        let together = s.evaluator.polynomials(&a, &all, SlotValues::Real, s.scale).unwrap();
        prop_assert_eq!(together.len(), all.len());
        for (p, y) in all.iter().zip(&together) {
            let expected: Vec<_> = x.iter().map(|x| p.evaluate(*x)).collect();
            for (got, expected) in s.decrypt(y).iter().zip(expected) {
                prop_assert!((got - expected).norm() < 1e-4, "{:?}", p);
            }
            if p.degree() == 0 {
                continue;
            }
            let alone = s.evaluator.polynomial_of_reals(&a, p, s.scale).unwrap();
            // An even polynomial beside others is not evaluated at the square of the argument.
            if p.is_even() == all.iter().all(Polynomial::is_even) {
                prop_assert_eq!((y.modulus(), y.scale()), (alone.modulus(), alone.scale()));
                prop_assert!((y.precision_bits() - alone.precision_bits()).abs() < 1.5, "{:?}", p);
            }
        }
    }
}

#[test]
fn polynomials_of_two_bases_are_not_evaluated_together() {
    let s = insecure(8, 4, &[]);
    let a = s.encrypt(&vec![Complex64::ONE; s.context.max_slots()]);
    let all = [UNIT, Basis::Monomial].map(|basis| Polynomial::new(basis, vec![0.0, 1.0]).unwrap());
    let error = s.evaluator.polynomials(&a, &all, SlotValues::Real, s.scale).unwrap_err();
    assert_eq!(
        error.to_string(),
        "evaluate a polynomial: the polynomials have different bases: convert them to one"
    );
}

/// Returns the squared errors of `p`, divided by the estimate of their mean, for each slot.
fn polynomial_errors(
    s: &Setup,
    p: &Polynomial,
    a: &Ciphertext,
    x: &[Complex64],
    slots: SlotValues,
) -> Vec<f64> {
    let y = match slots {
        SlotValues::Real => s.evaluator.polynomial_of_reals(a, p, s.scale).unwrap(),
        SlotValues::Complex => s.evaluator.polynomial(a, p, s.scale).unwrap(),
    };
    let value = |x: &Complex64| match p.basis() {
        Basis::Monomial => {
            p.coefficients().iter().rev().fold(Complex64::ZERO, |sum, c| sum * x + c)
        }
        Basis::Chebyshev { .. } => p.evaluate(x.re).into(),
    };
    let unit = 0.5 * (2.0 * y.precision_bits()).exp2();
    s.decrypt(&y).iter().zip(x).map(|(y, x)| unit * (y - value(x)).norm_sqr()).collect()
}

/// Checks the noise of `p` at several places. At the worst of them, with all slots at that place,
/// the standard deviation has to be within a factor of 1.5 of the stated one. At any other place it
/// must not exceed 1.5 times the stated one.
fn check_polynomial_noise(
    s: &Setup,
    p: &Polynomial,
    places: &[Complex64],
    slots: SlotValues,
    name: &str,
) {
    const RUNS: usize = 2;
    let n = s.context.max_slots();
    let bound = places.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let errors = |places: &[Complex64]| {
        let x: Vec<Complex64> = (0..n).map(|i| places[i % places.len()]).collect();
        let mut squares = vec![0.0; places.len()];
        for _ in 0..RUNS {
            let mut a = s.encrypt(&x);
            a.set_bound(bound);
            let errors = polynomial_errors(s, p, &a, &x, slots);
            errors.iter().enumerate().for_each(|(i, e)| squares[i % places.len()] += e);
        }
        let mean = |sum: f64| (sum * places.len() as f64 / (RUNS * n) as f64).sqrt();
        squares.into_iter().map(mean).collect::<Vec<_>>()
    };
    let everywhere = errors(places);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|i, j| everywhere[*j].total_cmp(&everywhere[*i]));
    let worst = order[0];
    assert!(
        everywhere[worst] < 1.5,
        "{name} at {}: {} times the estimate",
        places[worst],
        everywhere[worst]
    );
    // Among a few places that are almost equal, chance determines the largest.
    let alone = |place: &usize| (errors(&places[*place..=*place])[0], places[*place]);
    let (ratio, place) =
        order.iter().take(3).map(alone).max_by(|x, y| x.0.total_cmp(&y.0)).unwrap();
    assert!((1.0 / 1.5..1.5).contains(&ratio), "{name} at {place}: {ratio} times the estimate");
}

/// Returns the extrema of `T_8` on an interval, including the ends.
fn interval(low: f64, high: f64) -> Vec<Complex64> {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    (0..=8).map(|k| (middle + half * (PI * f64::from(k) / 8.0).cos()).into()).collect()
}

const UNIT: Basis = Basis::Chebyshev { low: -1.0, high: 1.0 };

/// Returns the basis polynomial of a degree: one coefficient is 1 and the others are 0.
fn single(basis: Basis, degree: usize) -> Polynomial {
    Polynomial::new(basis, [vec![0.0; degree], vec![1.0]].concat()).unwrap()
}

/// Returns the Taylor coefficients at 0 of the sigmoid, `s' = s (1 - s)`, and of the sine.
fn series(degree: usize) -> [(&'static str, Vec<f64>); 2] {
    let (mut sigmoid, mut sine) = (vec![0.5], vec![0.0, 1.0]);
    for k in 0..degree {
        let square: f64 = (0..=k).map(|i| sigmoid[i] * sigmoid[k - i]).sum();
        sigmoid.push((sigmoid[k] - square) / (k + 1) as f64);
        sine.push(-sine[k] / ((k + 1) * (k + 2)) as f64);
    }
    sine.truncate(degree + 1);
    [("sigmoid", sigmoid), ("sine", sine)]
}

/// Checks the noise of a power and of a Chebyshev polynomial of this degree at real places.
fn check_power_noise(s: &Setup, degree: usize, places: &[Complex64]) {
    for (basis, name) in [(Basis::Monomial, "x^"), (UNIT, "T_")] {
        check_polynomial_noise(
            s,
            &single(basis, degree),
            places,
            SlotValues::Real,
            &format!("{name}{degree}"),
        );
    }
}

#[test]
fn powers_and_chebyshev_polynomials_are_as_noisy_as_is_estimated() {
    let s = insecure(10, 6, &[]);
    let reals = interval(-1.0, 1.0);
    for degree in [2, 3, 4, 7, 8, 15, 16, 31] {
        check_power_noise(&s, degree, &reals);
        let circle: Vec<Complex64> =
            (0..8).map(|k| Complex64::from_polar(1.2, f64::from(k))).collect();
        let name = format!("x^{degree}, complex");
        check_polynomial_noise(
            &s,
            &single(Basis::Monomial, degree),
            &circle,
            SlotValues::Complex,
            &name,
        );
    }
}

/// Errors that reach the result along several paths add up or cancel: `1 + 2 + .. + d` instead of
/// the root of the sum of squares.
#[test]
fn polynomials_are_as_noisy_as_is_estimated() {
    let s = insecure(10, 6, &[]);
    let circle: Vec<Complex64> =
        (0..=8).map(|k| Complex64::from_polar(1.0, PI * f64::from(k) / 8.0)).collect();
    for degree in [7, 15, 31] {
        let check = |p: &Polynomial, places: &[Complex64], slots: SlotValues, name: &str| {
            check_polynomial_noise(&s, p, places, slots, &format!("{name} of degree {degree}"));
        };
        for (basis, name) in [(Basis::Monomial, "sum"), (UNIT, "Chebyshev sum")] {
            let sum = Polynomial::new(basis, vec![1.0; degree + 1]).unwrap();
            check(&sum, &interval(-1.0, 1.0), SlotValues::Real, name);
        }
        for (name, coefficients) in series(degree) {
            let p = Polynomial::new(Basis::Monomial, coefficients).unwrap();
            check(&p, &interval(-1.5, 1.5), SlotValues::Real, &format!("series of the {name}"));
            check(&p, &circle, SlotValues::Complex, &format!("series of the {name}, complex"));
        }
        type Function = fn(f64) -> f64;
        let functions: [(&str, Function); 2] =
            [("sigmoid", |x| 1.0 / (1.0 + (-x).exp())), ("sine", f64::sin)];
        for (name, f) in functions {
            let p = Polynomial::approximate(f, -8.0, 8.0, degree).unwrap();
            check(&p, &interval(-8.0, 8.0), SlotValues::Real, name);
            check(&p, &interval(-0.5, 0.5), SlotValues::Real, &format!("{name} near 0"));
            let p = Polynomial::approximate(f, -1.0, 5.0, degree).unwrap();
            check(&p, &interval(-1.0, 5.0), SlotValues::Real, &format!("{name} to one side"));
        }
    }
}

/// With a sprout, powers have moduli that do not divide each other and are brought from one to the
/// other.
#[test]
fn polynomials_on_grafted_chains_are_as_noisy_as_is_estimated() {
    let s = grafted(10, 6, "sprout-15-16-32", &[]);
    let reals = interval(-1.0, 1.0);
    for degree in [5, 7, 15, 31] {
        check_power_noise(&s, degree, &reals);
        for (basis, name) in [(Basis::Monomial, "x^"), (UNIT, "T_")] {
            let sum = Polynomial::new(basis, vec![1.0; degree + 1]).unwrap();
            check_polynomial_noise(
                &s,
                &sum,
                &reals,
                SlotValues::Real,
                &format!("sum up to {name}{degree}"),
            );
        }
    }
}

/// Errors that reach a power through several of its factors add up.
#[test]
fn powers_are_as_noisy_as_is_estimated() {
    for s in [insecure(10, 5, &[]), grafted(10, 5, "sprout-15-16-32", &[])] {
        for (n, radius) in (1..=16).flat_map(|n| [(n, 1.0), (n, 1.2), (n, 0.8)]) {
            let x = circle(s.context.max_slots(), radius, 0.7);
            let mut a = s.encrypt(&x);
            a.set_bound(radius);
            let y = s.evaluator.power(&a, n, s.scale).unwrap();
            let expected: Vec<Complex64> = x.iter().map(|x| x.powu(n)).collect();
            assert!((y.bound() / radius.powi(n as i32) - 1.0).abs() < 1e-9, "{}", y.bound());
            let depth = f64::from(n.next_power_of_two().ilog2());
            let bits = |a: &Ciphertext| s.context.parameters().log2(a.modulus());
            let taken = bits(&a) - bits(&y);
            assert!((taken - depth * s.scale.log2()).abs() < 2.0, "{taken} bits for {n}");
            let sum: f64 =
                s.decrypt(&y).iter().zip(&expected).map(|(y, e)| (y - e).norm_sqr()).sum();
            let ratio = (0.5 * sum / x.len() as f64).sqrt() * y.precision_bits().exp2();
            assert!(
                (1.0 / 1.25..1.25).contains(&ratio),
                "power {n} of {radius}: {ratio} times the estimate"
            );
        }
    }
    let s = insecure(8, 2, &[]);
    let a = s.encrypt(&circle(s.context.max_slots(), 1.0, 0.0));
    let error = s.evaluator.power(&a, 0, s.scale).unwrap_err().to_string();
    assert!(error.contains("the exponent is 0"), "{error}");
    let error = s.evaluator.power(&a, 5, s.scale).unwrap_err();
    assert!(matches!(error, CkksError::Capacity { operation: "power", .. }), "{error}");
}

/// If values consist of errors only, the squares of these errors remain.
#[test]
fn squares_of_errors_are_estimated() {
    let s = insecure(9, 1, &[]);
    let p = single(Basis::Monomial, 2);
    for slots in [s.context.max_slots(), 16] {
        let (mut sum, runs) = (0.0, 64);
        for _ in 0..runs {
            let x = vec![Complex64::ZERO; slots];
            let a = s.encrypt_at(&x, slots, Scale::power_of_two(12), s.top());
            sum += polynomial_errors(&s, &p, &a, &x, SlotValues::Real).iter().sum::<f64>();
        }
        let ratio = (sum / (runs * slots) as f64).sqrt();
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{slots} slots: {ratio} times the estimate");
    }
}

#[test]
fn approximations_of_functions_are_close() {
    let s = insecure(9, 6, &[]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let p = Polynomial::approximate(sigmoid, -8.0, 8.0, 31).unwrap();
    assert!(reals(100, -8.0, 8.0).iter().all(|x| (p.evaluate(*x) - sigmoid(*x)).abs() < 1e-4));
    check_polynomial(&s, &p, &reals(s.context.max_slots(), -8.0, 8.0));
    for degree in 1..=16 {
        let mut coefficients = vec![0.0; degree + 1];
        coefficients[degree] = 1.0;
        check_polynomial(
            &s,
            &Polynomial::new(Basis::Monomial, coefficients).unwrap(),
            &reals(s.context.max_slots(), -1.0, 1.0),
        );
    }
}

#[test]
fn invalid_circuits_are_refused() {
    let s = insecure(8, 2, &[]);
    let a = s.encrypt(&circle(s.context.max_slots(), 2.0, 0.0));
    let p = Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, vec![0.0, 1.0]).unwrap();
    let error = s.evaluator.polynomial(&a, &p, s.scale).unwrap_err();
    assert!(error.to_string().contains("values up to 2"), "{error}");
    let p = Polynomial::new(Basis::Monomial, vec![1.0; 9]).unwrap();
    assert!(matches!(s.evaluator.polynomial(&a, &p, s.scale), Err(CkksError::Capacity { .. })));
    assert!(Polynomial::new(Basis::Monomial, vec![]).is_err());
    assert!(Polynomial::new(Basis::Monomial, vec![1.0, f64::NAN]).is_err());
    for (low, high) in [(1.0, 1.0), (-1.7e308, 1.7e308), (0.0, 1e-310)] {
        assert!(Polynomial::new(Basis::Chebyshev { low, high }, vec![1.0]).is_err());
    }
    for degree in [Polynomial::MAX_APPROXIMATION_DEGREE + 1, 1 << 40, usize::MAX] {
        let refused = Polynomial::approximate(f64::exp, 0.0, 1.0, degree).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "approximate a function: degree {degree} is too high: 1048576 is the largest \
                 possible"
            )
        );
    }
    for slots in [12, 1 << 40, usize::MAX / 2 + 1] {
        let refused =
            LinearTransform::from_entries(slots, [(0, vec![])].into()).unwrap_err().to_string();
        assert!(refused.ends_with("a power of two of slots up to 1048576"), "{refused}");
    }
    let refused =
        Polynomial::approximate(f64::sin, -f64::MAX, f64::MAX, 3).unwrap_err().to_string();
    let interval = "[-1.7976931348623157e308, 1.7976931348623157e308]";
    assert_eq!(
        refused,
        format!("approximate a function: the interval {interval} has no finite length")
    );
}

/// Returns a Chebyshev polynomial of this degree on `[-reach, reach]`.
fn long_polynomial(degree: usize, reach: f64) -> Polynomial {
    let coefficient = |j| ((j as f64 * 0.7548).fract() - 0.5) * 0.05;
    let coefficients = (0..degree).map(coefficient).chain([0.01]).collect();
    Polynomial::new(Basis::Chebyshev { low: -reach, high: reach }, coefficients).unwrap()
}

/// The scale of the argument may differ from those of later steps. The powers of the argument get
/// the later scales all the same, so that the differences do not grow from power to power.
#[test]
fn powers_get_the_scales_of_the_chain() {
    let s = grafted(10, 24, "sprout-15-16-32", &[]);
    let x: Vec<Complex64> =
        (0..512).map(|i| ((f64::from(i) * 0.618).fract() * 1.98 - 0.99).into()).collect();
    let target = Scale::power_of_two(40);
    for bits in [30.0f64, 38.0, 39.5, 40.9] {
        let mut a = s.encrypt_at(&x, 512, Scale::from_f64(bits.exp2()).unwrap(), s.top());
        a.set_bound(1.0);
        let all = [3usize, 31, 127, 511, 2047].map(|degree| long_polynomial(degree, 1.0));
        let one = |p| s.evaluator.polynomial_of_reals(&a, p, target).unwrap();
        // Polynomials that are evaluated together share their powers.
        let together = s.evaluator.polynomials(&a, &all[..3], SlotValues::Real, target).unwrap();
        for (p, y) in all.iter().zip(all.iter().map(one)).chain(all.iter().zip(together)) {
            let (found, degree) = (s.decrypt(&y), p.degree());
            let errors = found.iter().zip(&x).map(|(y, x)| (y.re - p.evaluate(x.re)).abs());
            let (worst, stated) = (errors.fold(0.0, f64::max), (-y.precision_bits()).exp2());
            assert!(worst <= 8.0 * stated, "degree {degree} at {bits}: {worst}, stated {stated}");
            // The slope of the polynomial is at most the square of its degree (Markov), times its
            // largest value. A few products at 40 bits have errors of about 2^-31.
            let slope = p.bound(1.0) * (degree * degree) as f64;
            let most = slope.max(1.0) * (-a.precision_bits()).max(-31.0).exp2();
            assert!(stated <= most, "degree {degree} at {bits}: stated {stated}, {most} at most");
        }
    }
}

/// Reading the argument in the unit of a narrow interval lowers its scale.
#[test]
fn polynomials_on_narrow_intervals_have_the_stated_noise() {
    let s = grafted(10, 16, "sprout-15-16-32", &[]);
    for (slots, reach) in [(8usize, 2f64.powi(-12)), (512, 2f64.powi(-12)), (512, 2f64.powi(-20))] {
        let place = |i| ((i as f64 * 0.618).fract() * 1.98 - 0.99) * reach;
        let x: Vec<Complex64> = (0..slots).map(|i| place(i).into()).collect();
        let mut a = s.encrypt_at(&x, slots, Scale::power_of_two(40), s.top());
        a.set_bound(reach);
        for degree in [3usize, 7, 31] {
            let p = long_polynomial(degree, reach);
            let y = s.evaluator.polynomial_of_reals(&a, &p, Scale::power_of_two(40)).unwrap();
            let found = s.decrypt(&y);
            let errors = found.iter().zip(&x).map(|(y, x)| (y.re - p.evaluate(x.re)).abs());
            let (worst, stated) = (errors.fold(0.0, f64::max), (-y.precision_bits()).exp2());
            assert!(worst <= 8.0 * stated, "degree {degree}: {worst}, stated {stated}");
        }
    }
}
