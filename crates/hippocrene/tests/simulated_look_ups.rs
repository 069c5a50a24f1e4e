//! Tests that simulated look-ups give the same results as real ones with the requested keys, with
//! small insecure parameters.

use crate::common::{insecure_grafted, numbers};
use hippocrene::{
    ClientKey, Comparison, EncryptedArray, Encryption, Error, Function, Interval, KeyRequest,
    LookUps, Preset, Server, Simulation, Stored,
};
use hippocrene_rlwe::SecretDistribution;

type Program = fn(&Server, &EncryptedArray) -> Result<EncryptedArray, Error>;
type Expected = fn(&[f64]) -> Vec<f64>;

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x
}

fn place(x: &[f64], of: f64) -> Vec<f64> {
    vec![x.iter().position(|y| *y == of).expect("the number is one of the values") as f64]
}

#[test]
fn look_ups_are_simulated() {
    let settings = insecure_grafted(11, 18, SecretDistribution::Ternary);
    let asked = LookUps { tables: "lut11", capacity: Some(40.0), clusters: None };
    let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
    let simulation = Simulation::with_keys(settings.clone(), &request).unwrap();
    let client = ClientKey::generate_with(settings, 2).unwrap();
    let keys = client.evaluation_keys(&request).unwrap();
    let stored = keys.to_bytes().len() as f64;
    let server = Server::new(&keys).unwrap();
    drop(keys);

    // The last two fields are the number of look-ups, and the largest error of values without
    // noise. The unit of this error is an entry of a table on [-8, 8].
    let programs: [(&str, Program, Expected, u64, f64); 10] = [
        (
            "sigmoid",
            |s, x| s.apply_function(x, Function::Sigmoid, None, None),
            |x| x.iter().map(|x| Function::Sigmoid.value(*x)).collect(),
            0,
            1.0,
        ),
        (
            "square root",
            |s, x| s.apply(x, |x| (x + 5.0).sqrt(), Some((-4.0, 4.0)), Some(1)),
            |x| x.iter().map(|x| (x + 5.0).sqrt()).collect(),
            5,
            1.0,
        ),
        (
            "a product of look-ups",
            |s, x| {
                let y = s.apply(x, f64::cos, None, Some(1))?;
                s.mul(&y, &y)
            },
            |x| x.iter().map(|x| x.cos().powi(2)).collect(),
            5,
            2.0,
        ),
        ("sorted", |s, x| s.sort(x, None), sorted, 9, 4.0),
        ("largest", |s, x| s.largest(x, None), |x| vec![sorted(x)[4]], 4, 3.0),
        (
            "signs, the magnitude and the larger ones",
            |s, x| {
                // The capacity is reduced until it is too small for polynomials.
                let (how, mut x) = (Comparison::default(), x.clone());
                while x.capacity_bits(s.session()) > 180.0 {
                    x = s.mul_number(&x, 0.999_999)?;
                }
                let x = &x;
                let signs = s.add(&s.sign(x, how)?, &s.is_near_zero(x, 2.5)?)?;
                s.add(&signs, &s.add(&s.abs(x, how)?, &s.maximum(x, &s.negate(x)?, how)?)?)
            },
            |x| x.iter().map(|x| x.signum() + f64::from(x.abs() < 2.5) + 2.0 * x.abs()).collect(),
            20,
            2.0,
        ),
        ("pooled", |s, x| s.max_pool(x, 5), |x| vec![sorted(x)[4]], 4, 3.0),
        (
            "quantile",
            |s, x| s.quantile(x, &[0.3], None),
            |x| vec![0.8 * sorted(x)[1] + 0.2 * sorted(x)[2]],
            9,
            4.0,
        ),
        (
            "places in order",
            |s, x| s.argsort(x, None),
            |x| sorted(x).iter().flat_map(|y| place(x, *y)).collect(),
            35,
            2.0,
        ),
        ("argmax", |s, x| s.argmax(x, None), |x| place(x, sorted(x)[4]), 7, 0.2),
    ];
    let values = [3.0, -1.5, 0.25, 1.5, -3.0];
    let how = Encryption { interval: Some(Interval::symmetric(4.0)), precision: None };
    let a = simulation.encrypt((&values[..]).into(), &[5], &how).unwrap();
    let x = client.encrypt_with((&values[..]).into(), &[5], &how).unwrap();
    let (session, dry) = (server.session(), simulation.server().session());
    for (what, program, expected, look_ups, max_entries) in programs {
        simulation.restart();
        let simulated = program(simulation.server(), &a).unwrap();
        let report = simulation.report();
        assert_eq!(KeyRequest::for_simulation(&report), request, "{what}");
        let count = report
            .operations
            .iter()
            .find(|(name, _, _)| *name == "look up")
            .map_or(0, |noted| noted.1);
        assert!(
            if look_ups == 0 { count >= 5 } else { count == look_ups },
            "{what}: {count} look-ups"
        );
        assert!(
            (report.key_bytes as f64 / stored - 1.0).abs() < 0.05,
            "{stored}, {}",
            report.key_bytes
        );
        assert!(report.peak_memory > report.key_bytes && report.bootstraps == 0);

        let plain: Vec<f64> = simulation.values(&simulated).unwrap().iter().map(|z| z.re).collect();
        let expected = expected(&values);
        assert_eq!(plain.len(), expected.len());
        for (plain, expected) in plain.iter().zip(&expected) {
            let error = (plain - expected).abs();
            let limit = max_entries * 16.0 / 2048.0 + 1e-3;
            assert!(error < limit, "{what}: {plain}, not {expected}");
        }
        let real = program(&server, &x).unwrap();
        assert_eq!(real.capacity_bits(session), simulated.capacity_bits(dry), "{what}");
        assert_eq!(real.precision_bits(session), simulated.precision_bits(dry), "{what}");
        assert_eq!(
            (real.bound(), real.layout()),
            (simulated.bound(), simulated.layout()),
            "{what}"
        );
        let deviation = (-real.precision_bits(session)).exp2();
        for (real, plain) in client.decrypt(&real).unwrap().iter().zip(&plain) {
            let error = (real - plain).abs();
            assert!(
                error < 10.0 * deviation + 0.01,
                "{what}: {real}, {plain} simulated, deviation {deviation}"
            );
        }
    }

    // A simulation refuses the same programs with the same errors, before there are keys.
    let image = numbers(6, 5);
    let b = simulation.encrypt((&image[..]).into(), &[2, 3], &how).unwrap();
    let y = client.encrypt_with((&image[..]).into(), &[2, 3], &how).unwrap();
    for program in [
        (|s, x| s.sort(x, Some(2))) as Program,
        |s, x| s.max_pool(x, 2),
        |s, x| s.apply(x, |x| 1.0 / x, None, None),
    ] {
        let [simulated, real] = [program(simulation.server(), &b), program(&server, &y)];
        assert_eq!(simulated.unwrap_err().to_string(), real.unwrap_err().to_string());
    }
    // Functions and domains whose slopes overflow, and invalid tolerances and bounds.
    let (s, x) = (simulation.server(), &a);
    for refused in [
        s.apply_precisely(x, |_| f64::MAX, None).map(drop),
        s.apply_precisely(x, |x| x, Some((-f64::MAX, f64::MAX))).map(drop),
        s.is_near_zero(x, -1.0).map(drop),
        s.is_near_zero(x, -f64::MAX).map(drop),
        s.is_close(x, x, -f64::MAX).map(drop),
        s.table_gap(f64::NAN).map(drop),
        s.table_gap(f64::NEG_INFINITY).map(drop),
        s.table_gap(-1.0).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
    // A function of zeros is a constant, which is exact and takes no look-up.
    simulation.restart();
    let zeros = s.mul_number(x, 0.0).unwrap();
    let sigmoid = |x: f64| Function::Sigmoid.value(x);
    for z in [
        s.apply_function(&zeros, Function::Sigmoid, None, None),
        s.apply_precisely(&zeros, sigmoid, None),
        s.apply(&zeros, sigmoid, Some((-1.0, 1.0)), None),
    ] {
        let z = z.unwrap();
        assert_eq!((z.interval().low(), z.interval().high()), (0.5, 0.5));
        assert!(simulation.values(&z).unwrap().iter().all(|z| (z.re - 0.5).abs() < 1e-9));
        assert!(z.precision_bits(s.session()) > 20.0);
    }
    let outside = s.apply(&zeros, f64::cos, Some((-2.0, -1.0)), None).unwrap_err().to_string();
    assert!(
        outside.contains("the values are from 0 to 0, but the domain is from -2 to -1"),
        "{outside}"
    );
    let log = s.apply(&zeros, f64::ln, None, None).unwrap_err().to_string();
    assert!(log.contains("the function is -inf at 0, not finite"), "{log}");
    assert_eq!(simulation.report().look_ups, None);
    // A program without look-ups requests no tables.
    simulation.restart();
    simulation.server().mul(&a, &a).unwrap();
    assert_eq!(simulation.report().look_ups, None);
    let none = Simulation::new(simulation.server().session().settings().clone()).unwrap();
    let a = none.encrypt((&values[..]).into(), &[5], &how).unwrap();
    let refused = none.server().max_pool(&a, 5).unwrap_err().to_string();
    assert!(refused.contains("no keys of look-up tables"), "{refused}");
}

/// The results of look-ups have too little capacity for further look-ups.
#[test]
fn operations_that_lack_capacity_are_named() {
    let asked = LookUps { tables: "lut11", capacity: Some(30.0), clusters: None };
    let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
    let settings = insecure_grafted(11, 18, SecretDistribution::Ternary);
    let simulation = Simulation::with_keys(settings, &request).unwrap();
    let how = Encryption { interval: Some(Interval::symmetric(1.0)), precision: None };
    let values = [0.5, -1.0, 0.25, 0.75];
    let x = simulation.encrypt((&values[..]).into(), &[2, 2], &how).unwrap();
    let (s, any) = (simulation.server(), Comparison::default());
    let y = &s.apply_function(&x, Function::Sigmoid, None, None).unwrap();
    for (name, result) in [
        ("exp", s.apply_function(y, Function::Exp, None, None)),
        ("apply a function", s.apply(y, f64::cos, None, None)),
        ("apply a function", s.apply_precisely(y, f64::cos, None)),
        ("compare with 0", s.is_near_zero(y, 0.5)),
        ("is close", s.is_close(y, &x, 0.5)),
        ("sign", s.sign(y, any)),
        ("relu", s.relu(y, any)),
        ("absolute value", s.abs(y, any)),
        ("greater", s.greater(y, &x, any)),
        ("less", s.less(y, &x, any)),
        ("maximum", s.maximum(y, &x, any)),
        ("minimum", s.minimum(&x, y, any)),
        ("sort", s.sort(y, None)),
        ("argsort", s.argsort(y, Some(0))),
        ("top_k", s.top_k(y, 1, None)),
        ("max", s.largest(y, Some(1))),
        ("min", s.smallest(y, Some(1))),
        ("argmin", s.argmin(y, None)),
        ("argmax", s.argmax(y, None)),
        ("median", s.median(y, None)),
        ("quantile", s.quantile(y, &[0.3], None)),
        ("max_pool", s.max_pool(y, 2)),
    ] {
        let error = result.unwrap_err();
        let words = error.to_string();
        assert!(
            matches!(error, Error::Capacity { .. }) && words.starts_with(&format!("{name} needs ")),
            "{words}"
        );
        assert!(
            words.contains("Look-ups with these keys return 30 bits") && !words.contains("gap"),
            "{words}"
        );
    }
}

/// The gap of `argsort` is this fraction of the bound, as Python's `argsort` and
/// `docs/mathematics/pegasus.md` state.
#[test]
fn the_gap_of_argsort_is_as_documented() {
    for (tables, part) in [("lut11", 260.0), ("lut12", 340.0), ("lut13", 360.0)] {
        let asked = LookUps { tables, capacity: None, clusters: None };
        let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
        let settings = Preset::by_name("n15").unwrap().settings().unwrap();
        let simulation = Simulation::with_keys(settings, &request).unwrap();
        for bound in [1.0, 45.0] {
            let gap = simulation.server().argsort_gap(bound).unwrap();
            let found = bound / gap;
            assert!((found / part - 1.0).abs() < 0.02, "{tables}: a {found}th");
        }
    }
}

/// Polynomials are used if tables are too imprecise for the slope. If polynomials are too
/// imprecise as well, the function is refused.
#[test]
fn reciprocals_are_computed_or_refused() {
    let settings = Preset::by_name("n15").unwrap().settings().unwrap();
    let request = KeyRequest { look_ups: LookUps::by_name("lut11").ok(), ..KeyRequest::only([]) };
    let simulation = Simulation::with_keys(settings, &request).unwrap();
    let (server, values) = (simulation.server(), [0.5, 0.125, 1.0]);
    let encrypt = |how: &Encryption| simulation.encrypt((&values[..]).into(), &[3], how).unwrap();
    let x = encrypt(&Encryption::default());
    let within = |low: f64| {
        let interval = Some(Interval::new(low, 1.0).unwrap());
        encrypt(&Encryption { interval, ..Encryption::default() })
    };
    let result = server.apply_function(&within(0.1), Function::Reciprocal, None, None).unwrap();
    let stated = (-result.precision_bits(server.session())).exp2();
    assert!(stated < 1e-3, "{stated}");
    for (y, x) in simulation.values(&result).unwrap().iter().zip(values) {
        assert!((y.re - 1.0 / x).abs() < 4.0 * stated, "{} of {x}", y.re);
    }
    for precise in [false, true] {
        let x = within(1e-8);
        let refused = match precise {
            true => server.apply_function_precisely(&x, Function::Reciprocal, None),
            false => server.apply_function(&x, Function::Reciprocal, None, None),
        };
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("by tables the results would have an error of"), "{refused}");
        assert!(refused.contains("Declare a smaller interval"), "{refused}");
    }
    let refused =
        server.apply_function(&x, Function::Reciprocal, None, None).unwrap_err().to_string();
    assert!(refused.contains("on either side of 0, but not on all of [0, 1]"), "{refused}");
}
