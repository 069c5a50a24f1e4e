//! Tests of functions by polynomials and comparisons, with small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, Encryption, Error, Interval, KeyRequest, Preset, Server, Simulation,
    SmoothFunction,
};
use hippocrene_rlwe::SecretDistribution;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

type Function = fn(f64) -> f64;

/// Functions on `[-4, 4]` with their jumps.
const FUNCTIONS: [(&str, Function, &[f64]); 8] = [
    ("tanh", f64::tanh, &[]),
    ("constant", |_| 0.75, &[]),
    ("relu", |x| x.max(0.0), &[]),
    ("clip", |x| x.clamp(-1.0, 2.5), &[]),
    ("step", |x| if x > 0.5 { 2.0 } else { -1.0 }, &[0.5]),
    ("ceil of a half", |x| (0.5 * x).ceil(), &[-4.0, -2.0, 0.0, 2.0]),
    ("sine and line", |x| if x < 1.0 { x.sin() } else { 0.25 * x }, &[1.0]),
    ("bump", |x| if x.abs() < 2.0 { (-x * x).exp() } else { 0.0 }, &[-2.0, 2.0]),
];

/// Returns 64 numbers from -4 to 4 with their ends, zero, and some that are near breaks.
fn numbers() -> Vec<f64> {
    let mut x: Vec<f64> = (0..58).map(|i| -3.98 + f64::from(i) * 0.14).collect();
    x.extend([-4.0, 4.0, 0.0, 0.03, 2.53, -1.02]);
    x
}

/// Checks a result at all numbers that are not within `gap` of a jump.
fn check(name: &str, f: Function, jumps: &[f64], got: &[f64], within: f64, gap: f64) {
    for (x, y) in numbers().into_iter().zip(got) {
        if jumps.iter().all(|jump| (x - jump).abs() >= gap) {
            assert!((y - f(x)).abs() <= within, "{name} at {x}: {y}, not {}", f(x));
        }
    }
}

/// Each function is as near as the result states, on real ciphertexts.
#[test]
fn functions_with_and_without_breaks_are_right() {
    let client = ClientKey::generate_with(insecure_grafted(7, 40, SPARSE), 1).unwrap();
    let request = KeyRequest { conjugation: true, ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let x = client.encrypt(&numbers()[..], &[64]).unwrap().with_bound(4.0).unwrap();
    for (name, f, jumps) in FUNCTIONS {
        let function = SmoothFunction::new(f, (-4.0, 4.0), None, None).unwrap();
        assert_eq!(function.jumps(), jumps, "{name}");
        let y = server.apply_smooth(&x, &function, Some(0.02)).unwrap();
        // The largest error of the polynomials counts as eight standard deviations.
        let stated = 8.0 * (-y.precision_bits(server.session())).exp2();
        assert!(stated < 1.2 * function.error(), "{name}: {stated}, not {}", function.error());
        let got = client.decrypt(&y).unwrap();
        check(name, f, jumps, &got, stated, 0.02);
        // A value at an end of the domain is on its own side of a jump there.
        assert!((got[58] - f(-4.0)).abs() <= stated, "{name}: {} at -4", got[58]);
    }
}

/// The same with the error that is asked for, on a dry run with the parameters of a preset.
#[test]
fn a_smaller_error_can_be_asked_for() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let simulation = Simulation::new(settings).unwrap();
    let x = simulation.encrypt((&numbers()[..]).into(), &[64], &Encryption::default()).unwrap();
    let x = x.with_bound(4.0).unwrap();
    for (name, f, jumps) in &FUNCTIONS[..5] {
        let function = SmoothFunction::new(f, (-4.0, 4.0), Some(1e-2), None).unwrap();
        let y = simulation.server().apply_smooth(&x, &function, Some(0.02)).unwrap();
        let got: Vec<f64> = simulation.values(&y).unwrap().iter().map(|z| z.re).collect();
        check(name, *f, jumps, &got, 1e-2, 0.02);
    }
}

/// A default gap is widened for noisy values, and the result states it.
#[test]
fn gaps_are_wider_for_noisy_values() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let simulation = Simulation::new(settings).unwrap();
    let x = simulation.encrypt((&numbers()[..]).into(), &[64], &Encryption::default()).unwrap();
    let server = simulation.server();
    let noisy = server.declare_precision(&x.with_bound(4.0).unwrap(), 12.0).unwrap();
    let relu = |error| SmoothFunction::new(|x| x.max(0.0), (-4.0, 4.0), error, None).unwrap();
    let y = server.apply_smooth(&noisy, &relu(None), None).unwrap();
    let stated = 8.0 * (-y.precision_bits(server.session())).exp2();
    assert!(stated > 1.5 * relu(None).error(), "{stated}");
    let got: Vec<f64> = simulation.values(&y).unwrap().iter().map(|z| z.re).collect();
    check("relu", |x| x.max(0.0), &[], &got, stated, 0.0);
    let refused = server.apply_smooth(&noisy, &relu(Some(1e-3)), None).unwrap_err();
    assert!(matches!(refused, Error::Argument { .. }), "{refused}");
    // The gap of a jump shows nowhere in the result, so it is never widened in silence.
    let step = SmoothFunction::new(|x| f64::from(x > 0.5), (-4.0, 4.0), None, None).unwrap();
    assert!(server.apply_smooth(&noisy, &step, None).is_ok());
    let noisier = server.declare_precision(&noisy, 10.0).unwrap();
    let refused = server.apply_smooth(&noisier, &step, None).unwrap_err().to_string();
    assert!(refused.contains("the default gap of 0.015625, but one of "), "{refused}");
    assert!(server.apply_smooth(&noisier, &step, Some(0.25)).is_ok());
}

#[test]
fn values_outside_of_the_domain_are_refused() {
    let simulation = Simulation::new(Preset::by_name("n14").unwrap().settings().unwrap()).unwrap();
    let x = simulation.encrypt((&[3.0][..]).into(), &[1], &Encryption::default()).unwrap();
    let function = SmoothFunction::new(f64::tanh, (-1.0, 1.0), None, None).unwrap();
    let refused = simulation.server().apply_smooth(&x, &function, None).unwrap_err().to_string();
    assert!(refused.contains("but the domain is from -1 to 1"), "{refused}");
}

/// Missing capacity is restored by bootstraps on the way.
#[test]
fn functions_of_exhausted_arrays_bootstrap() {
    let client = ClientKey::generate_with(insecure_grafted(7, 24, SPARSE), 1).unwrap();
    let how = Bootstrapping { precision: Some(20.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let x: Vec<f64> = numbers().iter().map(|x| x / 4.0).collect();
    let mut a = client.encrypt(&x[..], &[64]).unwrap().with_bound(1.0).unwrap();
    while server.bootstraps() == 0 {
        a = server.mul_plain(&a, &[1.0; 64][..]).unwrap().with_bound(1.0).unwrap();
    }
    let function = SmoothFunction::new(f64::tanh, (-1.0, 1.0), Some(1e-2), None).unwrap();
    let y = server.apply_smooth(&a, &function, None).unwrap();
    for (x, y) in x.iter().zip(client.decrypt(&y).unwrap()) {
        assert!((y - x.tanh()).abs() <= 1e-2, "{y}, not {}", x.tanh());
    }
}

/// A smooth function of an array without capacity takes one bootstrap, on real ciphertexts.
#[test]
fn smooth_functions_are_computed_in_one_bootstrap() {
    let client = ClientKey::generate_with(insecure_grafted(7, 18, SPARSE), 1).unwrap();
    let how = Bootstrapping { precision: Some(16.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let functions: [(Function, (f64, f64)); 4] = [
        (|x| 1.0 / (1.0 + (-x).exp()), (-8.0, 8.0)),
        (f64::ln, (1.0, 9.0)),
        (f64::exp, (-1.0, 3.0)),
        (|x| (3.0 * x).sin(), (-20.5, -19.5)),
    ];
    for (f, (low, high)) in functions {
        // Fewer elements than slots: the others hold zeros, which may lie outside of the domain.
        let x: Vec<f64> = (0..50).map(|i| low + (high - low) * f64::from(i) / 49.0).collect();
        let interval = Interval::new(low, high).unwrap();
        let a = client.encrypt(&x[..], &[50]).unwrap().with_interval(interval).unwrap();
        let a = server.bootstrap_to(&a, Some(server.bootstrap_reserve().unwrap() + 1.0)).unwrap();
        let function = SmoothFunction::new(f, (low, high), Some(1e-2), None).unwrap();
        let before = server.bootstraps();
        let y = server.apply_smooth(&a, &function, None).unwrap();
        assert_eq!(server.bootstraps() - before, 1);
        assert!(y.capacity_bits(server.session()) > server.bootstrap_reserve().unwrap());
        // Another function of the same array shares the bootstrap, also if it needs less capacity.
        let half = SmoothFunction::new(|x| 0.5 * f(x), (low, high), Some(1e-2), None).unwrap();
        let halves = client.decrypt(&server.apply_smooth(&a, &half, None).unwrap()).unwrap();
        assert_eq!(server.bootstraps() - before, 1);
        for (x, y) in x.iter().zip(halves) {
            assert!((y - 0.5 * f(*x)).abs() <= 2e-2, "{y}, not half of {} at {x}", f(*x));
        }
        let straight = SmoothFunction::new(|x| 0.5 * x, (low, high), Some(1e-1), None).unwrap();
        server.apply_smooth(&a, &straight, None).unwrap();
        assert_eq!(server.bootstraps() - before, 1);
        let stated = (-y.precision_bits(server.session())).exp2();
        // The largest error of the polynomial counts as eight standard deviations. The noise
        // has one of up to 0.003.
        assert!(stated < f64::hypot(1e-2 / 8.0, 0.003), "{stated}");
        for (x, y) in x.iter().zip(client.decrypt(&y).unwrap()) {
            assert!((y - f(*x)).abs() <= 8.0 * stated, "{y}, not {} at {x}", f(*x));
        }
    }
}

/// Arrays of several ciphertexts have functions in bootstraps too. Keys for the first slots have
/// none.
#[test]
fn functions_in_bootstraps_of_other_keys_and_layouts() {
    let client = ClientKey::generate_with(insecure_grafted(7, 18, SPARSE), 1).unwrap();
    let function = SmoothFunction::new(|x| (x - 4.0).tanh(), (2.0, 6.0), Some(1e-2), None).unwrap();
    for (slots, count, bootstraps) in
        [(None, 150, Some(2)), (None, 50, Some(1)), (Some(32), 30, None)]
    {
        let how = Bootstrapping { precision: Some(16.0), slots, bound: 1.0 };
        let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let x: Vec<f64> = (0..count).map(|i| 2.0 + 4.0 * f64::from(i) / 149.0).collect();
        let interval = Interval::new(2.0, 6.0).unwrap();
        let a = client.encrypt(&x[..], &[count as usize]).unwrap();
        let a = a.with_interval(interval).unwrap();
        let a = server.bootstrap_to(&a, Some(server.bootstrap_reserve().unwrap() + 1.0)).unwrap();
        let before = server.bootstraps();
        let y = server.apply_smooth(&a, &function, None).unwrap();
        let used = server.bootstraps() - before;
        assert!(bootstraps.map_or(used > 0, |bootstraps| used == bootstraps), "{used}");
        let stated = (-y.precision_bits(server.session())).exp2();
        for (x, y) in x.iter().zip(client.decrypt(&y).unwrap()) {
            assert!((y - (x - 4.0).tanh()).abs() <= 8.0 * stated, "{y} at {x}");
        }
    }
}

/// Copies of elements that shifted arrays leave in other slots do not spoil the result.
#[test]
fn functions_in_bootstraps_of_slices_and_copies() {
    let client = ClientKey::generate_with(insecure_grafted(7, 18, SPARSE), 1).unwrap();
    let how = Bootstrapping { precision: Some(16.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let x: Vec<f64> = (0..16).map(|i| 2.0 + 4.0 * f64::from(i) / 15.0).collect();
    let interval = Interval::new(2.0, 6.0).unwrap();
    let a = client.encrypt(&x[..], &[16]).unwrap().with_interval(interval).unwrap();
    let repeated = server.broadcast_to(&a, &[4, 16]).unwrap();
    let sums = server.sum(&repeated, Some(0)).unwrap();
    let narrow = Interval::new(8.0, 24.0).unwrap();
    let function =
        SmoothFunction::new(|x| (0.25 * x - 4.0).tanh(), (8.0, 24.0), Some(1e-2), None).unwrap();
    let sums = server.declare_interval(&sums, narrow).unwrap();
    let low = server.bootstrap_to(&sums, Some(server.bootstrap_reserve().unwrap() + 1.0)).unwrap();
    let y = server.apply_smooth(&low, &function, None).unwrap();
    let stated = (-y.precision_bits(server.session())).exp2();
    for (x, y) in x.iter().zip(client.decrypt(&y).unwrap()) {
        assert!((y - (x - 4.0).tanh()).abs() <= 8.0 * stated, "{y} at {x}");
    }
}

/// On the parameters of n15, a sigmoid leaves capacity for the next bootstrap.
#[test]
fn layers_of_sigmoids_take_a_bootstrap_each() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let simulation = Simulation::with_bootstrapping(settings, Bootstrapping::default()).unwrap();
    let x: Vec<f64> = (0..65).map(|i| 0.25 * f64::from(i) - 8.0).collect();
    let x = simulation.encrypt((&x[..]).into(), &[65], &Encryption::default()).unwrap();
    let server = simulation.server();
    let least = server.bootstrap_reserve().unwrap() + 1.0;
    let mut x = server.bootstrap_to(&x.with_bound(8.0).unwrap(), Some(least)).unwrap();
    let before = server.bootstraps();
    for layers in 1..4 {
        let sigmoid = SmoothFunction::new(
            |x| 1.0 / (1.0 + (-x).exp()),
            (-8.0, 8.0),
            Some(2f64.powi(-10)),
            None,
        );
        x = server.apply_smooth(&x, &sigmoid.unwrap(), None).unwrap();
        assert_eq!(server.bootstraps() - before, layers);
    }
}
