//! Look-ups of numbers between extraction and repacking, and all steps in one.

use crate::common::{Setup, check, context, literal, setup, setups, spread};
use hippocrene_pegasus::{Layout, Numbers, PegasusError};

type Function = fn(f64) -> f64;

const FUNCTIONS: [(&str, f64, Function); 4] = [
    // The second field is a bound on the slope.
    ("sigmoid", 0.25, |x| 1.0 / (1.0 + (-x).exp())),
    ("relu", 1.0, |x| x.max(0.0)),
    ("tanh", 1.0, f64::tanh),
    ("x/4", 0.25, |x| x / 4.0),
];

const BOUND: f64 = 8.0;

/// Extracts numbers from slots.
fn extracted(s: &Setup, values: &[f64]) -> Numbers {
    let mut a = s.encrypt(values, 40, 300.0);
    a.set_bound(BOUND);
    let c = s.pegasus.to_coefficients(&a).unwrap();
    s.pegasus.extract(&c, &(0..values.len()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn functions_of_extracted_numbers_are_right() {
    let s = setup(context(9, 17, 2), literal(&[64, 256], 64));
    let plan = s.pegasus.plan();
    let values = spread(64, BOUND);
    let x = extracted(&s, &values);
    let entry = BOUND * (1.0 + plan.literal().margin) / 128.0;
    for (name, slope, f) in FUNCTIONS {
        let expected: Vec<f64> = values.iter().map(|x| f(*x)).collect();
        let bound = expected.iter().fold(0.0f64, |b, y| b.max(y.abs()));
        let y = s.pegasus.look_up(&x, plan.table_scale(BOUND).unwrap(), f).unwrap();
        assert_eq!((y.parameters(), y.key(), y.len()), (x.parameters(), x.key(), 64));
        assert!(
            y.bound() >= 0.99 * bound && y.bound() < 1.2 * bound,
            "{name}: {} and {bound}",
            y.bound()
        );
        let got = s.decrypt_numbers(&y);
        // The error of the index is its noise and at most half an entry.
        let index = plan
            .literal()
            .tables
            .index_noise(x.noise(), x.parameters().modulus())
            .log2_std()
            .exp2();
        let worst = got.iter().zip(&expected).map(|(g, e)| (g - e).abs()).fold(0.0, f64::max);
        assert!(worst < slope * entry * (6.0 * index + 0.5), "{name}: off by {worst}");
        if name == "x/4" {
            check(&got, &expected, y.precision_bits(), 1.0, name);
        }
    }
}

#[test]
fn look_ups_can_follow_one_another() {
    let s = setup(context(9, 17, 1), literal(&[64], 64));
    let values = spread(64, 3.0);
    let x = extracted(&s, &values);
    let scale = s.pegasus.plan().table_scale(BOUND).unwrap();
    // max(x, 0) - max(-x, 0) = x. A third look-up finds its magnitude.
    let relu = s.pegasus.look_up(&x, scale, |x| x.max(0.0)).unwrap();
    let other = s.pegasus.look_up(&x, scale, |x| (-x).max(0.0)).unwrap();
    let back = relu.sub(&other).unwrap().with_bound(4.0).unwrap();
    let magnitude = s.pegasus.look_up(&back, scale, f64::abs).unwrap();
    for (got, x) in s.decrypt_numbers(&magnitude).iter().zip(&values) {
        assert!((got - x.abs()).abs() < 1.0, "{got} instead of {}", x.abs());
    }
    // Numbers that may leave the domain are refused, and functions that are not finite.
    let wide = relu.add(&relu).unwrap();
    assert!(matches!(s.pegasus.look_up(&wide, scale, f64::abs), Err(PegasusError::Domain { .. })));
    assert!(s.pegasus.look_up(&x, scale, |x| 1.0 / x).is_err());
    assert!(s.pegasus.plan().table_scale(0.0).is_err());
}

#[test]
fn all_steps_run_as_one() {
    let s = setup(context(9, 17, 2), literal(&[64, 256], 64));
    for slots in [64, 256] {
        let values = spread(slots, BOUND);
        let mut a = s.encrypt(&values, 40, 300.0);
        a.set_bound(BOUND);
        let entry = BOUND * (1.0 + s.pegasus.plan().literal().margin) / 128.0;
        for (name, slope, f) in FUNCTIONS {
            let y = s.pegasus.lut(&a, f).unwrap();
            assert_eq!(y.slots(), slots);
            for (got, x) in s.decrypt(&y).iter().zip(&values) {
                assert!((got - f(*x)).abs() < slope * entry * 13.0, "{name}({x}) is {got}");
            }
            assert!(s.decrypt(&y).iter().all(|y_i| y_i.abs() <= y.bound() * 1.2));
        }
        assert!(s.pegasus.lut(&a, |x| x.ln()).is_err());
    }
}

/// Every step gives the same bits with any number of threads.
#[test]
fn threads_change_nothing() {
    let all = setups([1, 2, 3].map(|threads| context(9, 17, threads)), literal(&[64], 64));
    let values = spread(64, BOUND);
    let mut a = all[0].encrypt(&values, 40, 300.0);
    a.set_bound(BOUND);
    let scale = all[0].pegasus.plan().table_scale(BOUND).unwrap();
    let steps = all.each_ref().map(|s| {
        let coefficients = s.pegasus.to_coefficients(&a).unwrap();
        let numbers = s.pegasus.extract(&coefficients, &(0..64).collect::<Vec<_>>()).unwrap();
        let values = s.pegasus.look_up(&numbers, scale, f64::tanh).unwrap();
        let partial = s.pegasus.partial_decryption(&values, &Layout::in_order(64)).unwrap();
        let whole = s.pegasus.repack(&values, &Layout::in_order(64)).unwrap();
        (numbers, values, partial, whole)
    });
    for other in &steps[1..] {
        assert!(steps[0].0.ciphertexts() == other.0.ciphertexts(), "extraction");
        assert!(steps[0].1.ciphertexts() == other.1.ciphertexts(), "look-ups");
        assert!(steps[0].2 == other.2, "partial decryption");
        assert!(steps[0].3 == other.3, "reduction");
    }
}
