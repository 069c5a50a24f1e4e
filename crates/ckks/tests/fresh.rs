//! Tests of linear maps that are used once, against plain computations.

use crate::common::{Setup, grafted, insecure};
use hippocrene_ckks::{
    Ciphertext, CkksError, Scale,
    circuits::{LinearTransform, OneTimeTransform},
};
use num_complex::Complex64;
use proptest::prelude::*;

/// Returns numbers in `[-r, r]` without a pattern.
fn spread(seed: usize, i: usize, r: f64) -> f64 {
    let mut z =
        ((seed as u64) << 32 | i as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    r * ((z ^ z >> 31) as f64 / 2f64.powi(63) - 1.0)
}

/// Encrypts `operand` numbers, maps them to `slots` by `count` diagonals, and checks the result and
/// its noise.
fn check(
    s: &Setup,
    (operand, slots, count, baby): (usize, usize, usize, usize),
    memory: usize,
) -> Ciphertext {
    let x: Vec<Complex64> = (0..operand).map(|i| spread(77, i, 1.0).signum().into()).collect();
    let a = s.encrypt_at(&x, operand, s.scale, s.top());
    let (entry, bits) = (0.5, 30);
    let diagonal = |r: usize, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(i, d)| *d = spread(r, i, entry))
    };
    let t = OneTimeTransform {
        slots,
        count,
        baby,
        diagonal: &diagonal,
        magnitude: entry / 3f64.sqrt(),
        operand: 1.0,
        bound: entry * count as f64,
        scale: Scale::power_of_two(bits),
        memory,
    };
    let y = s.evaluator.fresh_linear_transform(&a, &t, s.scale).unwrap();
    let row = |i: usize| (0..count).map(|r| spread(r, i, entry) * x[(i + r) % operand]).sum();
    let expected: Vec<Complex64> = (0..slots).map(row).collect();
    s.check(&y, &expected, &format!("{operand} to {slots}, {count} diagonals in steps of {baby}"));
    let rotations = t.rotations();
    assert!(
        rotations
            .iter()
            .all(|r| (1..count as i64).contains(r) && (*r < baby as i64 || *r % baby as i64 == 0))
    );
    y
}

fn rotations() -> Vec<i64> {
    (1..8).chain((8..64).step_by(8)).collect()
}

#[test]
fn fresh_transforms_of_all_shapes() {
    let s = insecure(10, 2, &rotations());
    // Fewer slots than N/8 repeat and are encoded in the small ring. All slots are not.
    for shape in [
        (64, 64, 64, 8),
        (64, 64, 10, 4),
        (32, 64, 32, 8),
        (64, 256, 64, 8),
        (64, 512, 20, 8),
        (16, 16, 1, 8),
        (16, 16, 5, 1 << 62),
    ] {
        check(&s, shape, 1 << 30);
    }
}

#[test]
fn a_sprout_and_little_memory_change_nothing() {
    let s = grafted(9, 3, "sprout-15-16-17", &rotations());
    for shape in [(16, 16, 16, 4), (32, 32, 32, 8), (64, 64, 64, 8)] {
        check(&s, shape, 1);
    }
    // The memory limit determines groups, whose sum has the same bits.
    let x: Vec<Complex64> = (0..32).map(|i| spread(1, i, 1.0).into()).collect();
    let a = s.encrypt_at(&x, 32, s.scale, s.top());
    let map = |memory| {
        let diagonal = |r: usize, out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(i, d)| *d = spread(r, i, 0.1))
        };
        let scale = Scale::power_of_two(30);
        let (slots, count, baby) = (32, 32, 8);
        let t = OneTimeTransform {
            slots,
            count,
            baby,
            diagonal: &diagonal,
            magnitude: 0.06,
            operand: 0.6,
            bound: 3.2,
            scale,
            memory,
        };
        s.evaluator.fresh_linear_transform(&a, &t, s.scale).unwrap()
    };
    assert_eq!(map(1), map(1 << 30));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn fresh_transforms_are_as_kept_ones(
        log_slots in 2u32..9,
        count in 1usize..16,
        log_baby in 0u32..4,
    ) {
        let s = insecure(9, 2, &rotations());
        let slots = (1usize << log_slots).min(s.context.max_slots());
        let count = count.min(slots);
        let x: Vec<Complex64> = (0..slots).map(|i| spread(5, i, 1.0).into()).collect();
        let a = s.encrypt_at(&x, slots, s.scale, s.top());
        let diagonals =
            (0..count).map(|r| (r, (0..slots).map(|i| spread(r, i, 0.1)).collect())).collect();
        let kept = LinearTransform::from_real(slots, diagonals).unwrap();
        let kept = s.evaluator.linear_transform(&a, &kept, s.scale).unwrap();
        let diagonal = |r: usize, out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(i, d)| *d = spread(r, i, 0.1))
        };
        let (baby, scale) = (1 << log_baby, s.scale);
        let t = OneTimeTransform {
            slots,
            count,
            baby,
            diagonal: &diagonal,
            magnitude: 0.06,
            operand: 0.6,
            bound: 1.6,
            scale,
            memory: 1 << 20,
        };
        let fresh = s.evaluator.fresh_linear_transform(&a, &t, s.scale).unwrap();
        prop_assert_eq!((fresh.modulus(), fresh.scale()), (kept.modulus(), kept.scale()));
        for (f, k) in s.decrypt(&fresh).iter().zip(s.decrypt(&kept)) {
            prop_assert!((f - k).norm() < 1e-6);
        }
    }
}

#[test]
fn invalid_maps_are_refused() {
    let s = insecure(9, 2, &[1]);
    let a = s.encrypt_at(&[Complex64::ONE; 8], 8, s.scale, s.top());
    let diagonal = |_: usize, out: &mut [f64]| out.fill(1.0);
    let t = |slots, count, bound| OneTimeTransform {
        slots,
        count,
        baby: 2,
        diagonal: &diagonal,
        magnitude: 1.0,
        operand: 1.0,
        bound,
        scale: s.scale,
        memory: 0,
    };
    for (slots, count) in [(4, 2), (12, 2), (512, 2), (8, 9), (8, 0)] {
        let refused = s.evaluator.fresh_linear_transform(&a, &t(slots, count, 8.0), s.scale);
        assert!(
            matches!(refused, Err(CkksError::Argument { .. })),
            "{slots} slots, {count} diagonals"
        );
    }
    let refused = s.evaluator.fresh_linear_transform(&a, &t(8, 2, 1e30), s.scale);
    assert!(matches!(refused, Err(CkksError::Capacity { .. })));
    let refused = s.evaluator.fresh_linear_transform(&a, &t(8, 8, 8.0), s.scale).unwrap_err();
    assert!(refused.to_string().contains("rotation by 2"), "{refused}");
}
