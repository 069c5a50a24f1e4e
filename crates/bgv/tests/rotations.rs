//! Several rotations of one ciphertext, compared with single rotations.

use crate::common::{Setup, insecure};
use hippocrene_bgv::{BgvError, Ciphertext, LinearTransform, Permutation};
use proptest::prelude::*;

/// Grafted and simple chains. Two have keys of the powers of two to the left, one of them with two
/// keys to the right. The third has keys of a few other rotations.
fn chains() -> Vec<Setup> {
    let chain = |sprout, rotations: &[i64]| insecure(8, 48, 4, sprout, 65537, rotations);
    let powers: Vec<i64> = (0..7).map(|k| 1 << k).collect();
    vec![
        chain("sprout-15-16-32", &[&powers[..], &[-1, -4]].concat()),
        chain("none", &powers),
        chain("none", &[1, 2, 3, 4, 5, 8, 16, 32, 64]),
    ]
}

/// Returns the result of `f` and the number of transforms that it needs. Most of them belong to key
/// switches.
fn transforms<T>(s: &Setup, f: impl FnOnce() -> Result<T, BgvError>) -> (T, u64) {
    let before = s.context.rlwe().transforms();
    let out = f().unwrap();
    (out, s.context.rlwe().transforms() - before)
}

/// Checks that several rotations have the messages, factors and errors of single ones, and need no
/// more transforms.
fn check(s: &Setup, a: &Ciphertext, steps: &[i64]) {
    let e = &s.evaluator;
    let (many, together) = transforms(s, || e.rotate_many(a, steps));
    let each = || steps.iter().map(|steps| e.rotate_rows(a, *steps)).collect::<Result<Vec<_>, _>>();
    let (each, one_by_one) = transforms(s, each);
    assert!(together <= one_by_one, "{together} transforms for {steps:?}, {one_by_one} one by one");
    assert_eq!(many.len(), steps.len());
    for ((one, other), steps) in many.iter().zip(&each).zip(steps) {
        assert_eq!(s.decrypt(one), s.decrypt(other), "{steps}");
        assert_eq!((one.factor(), one.modulus()), (other.factor(), other.modulus()));
        let [one, other] = [one, other].map(|c| c.inner().noise().log2_std());
        assert!(
            (one - other).abs() < 1.0,
            "{steps}: {one} bits of noise, {other} for a single rotation"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn many_rotations_equal_single_ones(
        steps in prop::collection::vec(-300..300i64, 0..8),
        seed: u64,
        multiplied: bool,
    ) {
        for s in chains() {
            let fresh = s.encrypt(&s.values(seed));
            // The product has another factor and modulus.
            let a = if multiplied { s.evaluator.mul(&fresh, &fresh).unwrap() } else { fresh };
            check(&s, &a, &steps);
        }
    }
}

#[test]
fn composed_rotations_share_their_common_parts() {
    for s in &chains()[..2] {
        let a = s.encrypt(&s.values(1));
        let steps: Vec<i64> = (1..32).collect();
        check(s, &a, &steps);
        let (_, together) = transforms(s, || s.evaluator.rotate_many(&a, &steps));
        let (_, one) = transforms(s, || s.evaluator.rotate_rows(&a, 1));
        // At most 31 rotations are needed, because decompositions are shared. Single rotations need
        // up to 80.
        assert!(together < 31 * one, "{together} transforms, {one} for a rotation");
        // Equal rotations, a rotation by 0, and no rotation.
        let again = s.evaluator.rotate_many(&a, &[3, 0, 3, 128]).unwrap();
        assert_eq!((&again[0], &again[1], &again[3]), (&again[2], &a, &a));
        assert!(s.evaluator.rotate_many(&a, &[]).unwrap().is_empty());
    }
}

/// A plaintext matrix with keys of the powers of two alone. Its baby steps share the rotations that
/// they are composed of.
#[test]
fn matrices_share_the_rotations_that_they_compose() {
    let s = &chains()[1];
    let (n, x) = (s.degree(), s.values(2));
    let half = n / 2;
    let diagonals = (0..32).map(|k| (Permutation::rotated(k), vec![k as i64 + 1; n])).collect();
    let map = LinearTransform::new(&s.context, &diagonals).unwrap();
    let a = s.encrypt(&x);
    s.evaluator.linear_transform(&a, &map).unwrap();
    let (result, together) = transforms(s, || s.evaluator.linear_transform(&a, &map));
    let at = |i: usize, k: usize| u128::from(x[i / half * half + (i + k) % half]);
    let sum = |i| (0..32).map(|k| (k as u128 + 1) * at(i, k)).sum::<u128>() % 65537;
    assert_eq!(s.decrypt(&result), (0..n).map(|i| sum(i) as u64).collect::<Vec<_>>());
    let steps: Vec<i64> =
        map.rotations().into_iter().filter(|step| !(*step as u64).is_power_of_two()).collect();
    assert!(steps.len() > 3, "{steps:?}");
    let each = || {
        steps.iter().map(|steps| s.evaluator.rotate_rows(&a, *steps)).collect::<Result<Vec<_>, _>>()
    };
    let (_, one_by_one) = transforms(s, each);
    assert!(
        together < one_by_one,
        "{together} transforms, {one_by_one} for the composed rotations alone"
    );
}

#[test]
fn missing_keys_and_other_parameters_are_refused() {
    let s = insecure(8, 48, 3, "none", 65537, &[1, 2]);
    let a = s.encrypt(&s.values(3));
    assert!(s.evaluator.rotate_many(&a, &[1, 3]).is_ok());
    let error = s.evaluator.rotate_many(&a, &[1, 2, 64]).unwrap_err().to_string();
    assert!(error.contains("lack the rotation"), "{error}");
    let other = insecure(8, 47, 3, "none", 65537, &[1]);
    assert!(other.evaluator.rotate_many(&a, &[1]).unwrap_err().to_string().starts_with("rotate"));
}
