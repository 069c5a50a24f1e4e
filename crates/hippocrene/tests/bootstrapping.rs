//! Tests of bootstrapping with small insecure parameters: by default options, on request, and when
//! an operation lacks capacity.

use std::borrow::Cow;

use crate::common::{insecure_grafted, numbers};
use hippocrene::{
    Basis, Bootstrapping, CiphertextBody, ClientKey, EncryptedArray, Encryption, Error, Interval,
    KeyRequest, Polynomial, Preset, Server, Session, Simulation, Values, stoppable,
};
use hippocrene_ckks::Ciphertext;
use hippocrene_rlwe::{SecretDistribution, SecretKey};
use num_complex::Complex64;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

/// Returns a client with `2^(log_degree - 1)` slots and its server. Insecure.
fn insecure(log_degree: u32, how: Bootstrapping) -> (ClientKey, Server) {
    let client = ClientKey::generate_with(insecure_grafted(log_degree, 20, SPARSE), 1).unwrap();
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

fn with_precision(precision: f64) -> Bootstrapping {
    Bootstrapping { precision: Some(precision), ..Bootstrapping::default() }
}

/// Returns values spread evenly over `[-r, r]`.
fn spread(count: usize, r: f64) -> Vec<f64> {
    (0..count).map(|i| r * (2.0 * (0.5 + i as f64 * 0.754_877_666).fract() - 1.0)).collect()
}

/// Returns an encryption of `values` with little more capacity than a bootstrap needs.
///
/// Products with 1 use up the rest of the capacity.
fn spent(client: &ClientKey, server: &Server, values: &[f64], shape: &[usize]) -> EncryptedArray {
    let session = server.session();
    let bare = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let reserve = server.bootstrap_reserve().unwrap();
    let mut a = client.encrypt(values, shape).unwrap();
    let scale = session.settings().scale().log2();
    while a.capacity_bits(session) > reserve + scale + 12.0 {
        a = bare.mul_plain(&a, &vec![1.0; values.len()][..]).unwrap();
    }
    // Small steps of about one bit each use up the rest.
    while a.capacity_bits(session) > reserve + 3.0 {
        a = bare.mul_number(&a, 0.5).unwrap().with_bound(1.0).unwrap();
        a = bare.mul_number(&a, 2.0).unwrap().with_bound(1.0).unwrap();
    }
    assert!(a.capacity_bits(session) >= reserve);
    a
}

fn log2_std(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let sum: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).powi(2)).sum();
    (sum / got.len() as f64).sqrt().log2()
}

/// Planning tries lower and lower precisions until one fits, which takes seconds at `n15`.
#[test]
fn planning_can_be_stopped() {
    let client = ClientKey::generate_with(insecure_grafted(10, 20, SPARSE), 1).unwrap();
    let describe =
        || (0..1000).find_map(|_| Bootstrapping::default().describe(client.session()).err());
    let error = stoppable(|| true, describe).expect("planning is asked to stop");
    // The part of the plan that is stopped depends on the time.
    assert_eq!(error.kind(), "StoppedError");
    assert!(error.to_string().ends_with(": stopped"), "{error}");
}

/// The precision and the capacities before and after equal those described before any key is made.
#[test]
fn bootstraps_match_their_description() {
    for (log_degree, secret, bound, precision) in [
        (8, SPARSE, 1.0, 12.0),
        (9, SecretDistribution::Ternary, 1.0, 25.5),
        (9, SPARSE, 8.0, 28.0),
        (8, SPARSE, 0.25, 30.0),
    ] {
        let client = ClientKey::generate_with(insecure_grafted(log_degree, 20, secret), 1).unwrap();
        let how = Bootstrapping { bound, precision: Some(precision), ..Bootstrapping::default() };
        let described = how.describe(client.session()).unwrap();
        assert_eq!((described.precision, described.log2_failure_probability), (precision, None));
        let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::only([]) };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let session = server.session();
        let x = spread(session.slots(), bound);
        let declared = Encryption { interval: Some(Interval::symmetric(bound)), precision: None };
        let a = client.encrypt_with(Values::Real(&x), &[x.len()], &declared).unwrap();
        let y = server.bootstrap(&a).unwrap();
        let (estimated, after) = (y.precision_bits(session), y.capacity_bits(session));
        assert!(
            (precision - 1.0..precision + 2.0).contains(&estimated),
            "{precision}: {estimated}"
        );
        let measured = -log2_std(&client.decrypt(&y).unwrap(), &x);
        // The estimate assumes that all terms of a polynomial are as large as their bounds.
        let better = measured - estimated;
        assert!((-0.6..1.5).contains(&better), "{precision}: {measured}, estimated {estimated}");
        assert!((after - described.capacity_after).abs() < 4.0, "{after}, {described:?}");
        assert_eq!(Some(described.capacity_needed), server.bootstrap_reserve());
        assert_eq!((y.bound(), server.bootstraps()), (bound, 1));
    }
}

/// Precision beyond that of one bootstrap is reached by several.
#[test]
fn precision_beyond_one_bootstrap_is_iterated() {
    for (log_degree, secret, bound, precision, iterations) in [
        (8, SPARSE, 1.0, 50.0, 2),
        (9, SecretDistribution::Ternary, 4.0, 44.0, 2),
        (8, SecretDistribution::Ternary, 1.0, 48.0, 2),
    ] {
        let settings = insecure_grafted(log_degree, 24, secret).with_precision(precision).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let how = Bootstrapping { bound, ..with_precision(precision) };
        let described = how.describe(client.session()).unwrap();
        assert_eq!((described.precision, described.iterations), (precision, iterations));
        let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::only([]) };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let session = server.session();
        let x = spread(session.slots(), bound);
        let declared = Encryption { interval: Some(Interval::symmetric(bound)), precision: None };
        let fresh = client.encrypt_with(Values::Real(&x), &[x.len()], &declared).unwrap();
        let spent =
            spent(&client, &server, &x.iter().map(|x| x / bound).collect::<Vec<_>>(), &[x.len()]);
        let spent = server.mul_number(&spent, bound).unwrap();
        for a in [fresh, spent] {
            let before = server.bootstraps();
            let y = server.bootstrap(&a).unwrap();
            let (estimated, after) = (y.precision_bits(session), y.capacity_bits(session));
            // The result is at most as precise as the array itself.
            let reached = precision.min(a.precision_bits(session) - 1.5);
            assert!(estimated >= reached, "{precision}: {estimated}, {reached}");
            let measured = -log2_std(&client.decrypt(&y).unwrap(), &x);
            assert!(
                (-0.6..1.5).contains(&(measured - estimated)),
                "{precision}: {measured}, estimated {estimated}"
            );
            // The description assumes an iteration that begins at the requested precision.
            assert!(
                (-2.0..40.0).contains(&(after - described.capacity_after)),
                "{after}, {described:?}"
            );
            assert_eq!((y.bound(), server.bootstraps() - before), (bound, u64::from(iterations)));
        }
    }
}

/// Only the first slots are bootstrapped, whatever the other slots hold.
#[test]
fn only_used_slots_are_bootstrapped() {
    {
        let how = Bootstrapping { slots: Some(32), ..with_precision(20.0) };
        let (client, server) = insecure(9, how);
        let session = server.session();
        let described = how.describe(session).unwrap();
        let all = Bootstrapping { slots: None, ..how }.describe(session).unwrap();
        assert!((described.slots, all.slots) == (32, 256) && described.key_bytes < all.key_bytes);
        for shape in [vec![], vec![5], vec![3, 7], vec![32]] {
            let x = numbers(shape.iter().product(), 1);
            let a = spent(&client, &server, &x, &shape);
            // The stray slots of `b` hold other sums.
            let columns: Vec<f64> = numbers(28, 2).iter().map(|x| 0.25 * x).collect();
            let b = client.encrypt(&columns, &[7, 4]).unwrap().with_bound(0.25).unwrap();
            let b = server.sum(&b, Some(1)).unwrap();
            let sums: Vec<f64> = columns.chunks(4).map(|row| row.iter().sum()).collect();
            assert!(a.is_clean() && !b.is_clean() && b.bound() == 1.0);
            for (a, x) in [(&a, &x), (&b, &sums)] {
                let y = server.bootstrap(a).unwrap();
                assert_eq!(
                    (y.shape(), y.layout(), y.is_clean()),
                    (a.shape(), a.layout(), a.is_clean())
                );
                let limit = if x.len() < 16 { -17.0 } else { -19.0 };
                let error = log2_std(&client.decrypt(&y).unwrap(), x);
                assert!(error < limit, "{shape:?}: 2^{error}");
                assert!(-y.precision_bits(session) < -18.5, "{}", y.precision_bits(session));
                assert!((y.capacity_bits(session) - described.capacity_after) > -4.0);
                // Stray slots do not change.
                let sum = server.sum(&y, None).unwrap();
                let total: f64 = x.iter().sum();
                assert!((client.decrypt(&sum).unwrap()[0] - total).abs() < 1e-4, "{shape:?}");
            }
        }
        for shape in [vec![33], vec![5, 7], vec![300]] {
            let a = client.encrypt(&numbers(shape.iter().product(), 1), &shape).unwrap();
            let error = server.bootstrap(&a).unwrap_err().to_string();
            assert!(
                error.contains("slots, and the bootstrapping keys are for the first 32"),
                "{error}"
            );
        }
    }
    let wrong = |slots| {
        let how = Bootstrapping { slots: Some(slots), ..with_precision(20.0) };
        let client = ClientKey::generate_with(insecure_grafted(8, 20, SPARSE), 1).unwrap();
        how.describe(client.session()).unwrap_err().to_string()
    };
    assert!(
        wrong(0).contains("0 slots")
            && wrong(12).contains("12 slots")
            && wrong(256).contains("up to 128")
    );
}

/// Repeated bootstraps of few slots, with additions to all slots and of freshly encrypted numbers.
#[test]
fn few_slots_are_bootstrapped_repeatedly() {
    let how = Bootstrapping { slots: Some(16), ..with_precision(28.0) };
    let (client, server) = insecure(8, how);
    let mut plain = spread(13, 1.0);
    let mut a = client.encrypt(&plain, &[13]).unwrap();
    let shift = client.encrypt(&[0.125; 13], &[13]).unwrap();
    for _ in 0..50 {
        let square = server.square(&a).unwrap();
        let next = server.add_number(&server.mul_number(&square, -0.75).unwrap(), 0.375).unwrap();
        a = server.add(&next, &shift).unwrap().with_bound(1.0).unwrap();
        plain.iter_mut().for_each(|x| *x = 0.5 - 0.75 * *x * *x);
    }
    assert!(server.bootstraps() >= 2, "{}", server.bootstraps());
    let error = log2_std(&client.decrypt(&a).unwrap(), &plain);
    assert!(error < -22.0, "2^{error}");
}

/// Less precise arrays need fewer bootstraps, and a bootstrap that would gain nothing is skipped.
#[test]
fn iterations_stop_at_the_precision_of_the_array() {
    for secret in [SPARSE, SecretDistribution::Ternary] {
        let client = ClientKey::generate_with(insecure_grafted(8, 24, secret), 1).unwrap();
        let request =
            KeyRequest { bootstrapping: Some(with_precision(60.0)), ..KeyRequest::default() };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let session = server.session();
        let x = spread(128, 1.0);
        for precision in [12.0, 20.0, 27.0, 30.0, 36.0, 39.0, 42.0, 45.0] {
            let before = server.bootstraps();
            let how = Encryption { interval: None, precision: Some(precision) };
            let a = client.encrypt_with(Values::Real(&x), &[128], &how).unwrap();
            let y = server.bootstrap(&a).unwrap();
            let (own, estimated) = (a.precision_bits(session), y.precision_bits(session));
            let count = server.bootstraps() - before;
            assert!(estimated > precision - 1.0, "{precision}: {own}, {estimated}");
            assert!(count == if precision < 31.0 { 1 } else { 2 }, "{precision}: {count}");
            let measured = -log2_std(&client.decrypt(&y).unwrap(), &x);
            assert!(
                (-0.6..1.5).contains(&(measured - estimated)),
                "{measured}, estimated {estimated}"
            );
        }
    }
}

/// Iterates the logistic map with more bits than one bootstrap provides.
#[test]
fn precise_circuits_of_any_depth() {
    let settings = insecure_grafted(8, 24, SPARSE).with_precision(48.0).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let request = KeyRequest { bootstrapping: Some(with_precision(48.0)), ..KeyRequest::only([]) };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let mut plain = spread(128, 1.0);
    let mut a = client.encrypt(&plain, &[128]).unwrap();
    // The map keeps values in [-1, 1], and each step may multiply the error by 1.5.
    for _ in 0..32 {
        let square = server.square(&a).unwrap();
        a = server
            .add_number(&server.mul_number(&square, -0.75).unwrap(), 0.5)
            .unwrap()
            .with_bound(1.0)
            .unwrap();
        plain.iter_mut().for_each(|x| *x = 0.5 - 0.75 * *x * *x);
    }
    assert!(server.bootstraps() >= 4, "{}", server.bootstraps());
    let error = log2_std(&client.decrypt(&a).unwrap(), &plain);
    assert!(error < -44.0, "2^{error}");
}

#[test]
fn omitted_options_have_defaults() {
    let client = ClientKey::generate_with(insecure_grafted(8, 20, SPARSE), 1).unwrap();
    let described = Bootstrapping::default().describe(client.session()).unwrap();
    assert_eq!((described.precision, described.bound), (32.0, 1.0));
    // A smaller modulus gives less precision, but always leaves capacity for one product.
    let small = ClientKey::generate_with(insecure_grafted(8, 14, SPARSE), 1).unwrap();
    let described = Bootstrapping::default().describe(small.session()).unwrap();
    let product = small.session().settings().scale().log2();
    assert!(
        described.precision < 32.0
            && described.capacity_after - described.capacity_needed >= product,
        "{described:?}"
    );
    let smallest = ClientKey::generate_with(insecure_grafted(8, 6, SPARSE), 1).unwrap();
    let error = Bootstrapping::default().describe(smallest.session()).unwrap_err();
    assert!(matches!(error, Error::Parameters(_) | Error::Argument { .. }), "{error:?}");
}

#[test]
fn presets_without_a_bootstrap_are_refused() {
    for (preset, words) in [
        ("n13", "no bootstrap at the ring degree 2^13"),
        ("n14", "no bootstrap of this precision at the ring degree 2^14"),
    ] {
        let settings = Preset::by_name(preset).unwrap().settings().unwrap();
        let error =
            Bootstrapping::default().describe(&Session::new(settings, 1).unwrap()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words), "{preset}: {text}");
        assert!(
            text.contains(". Take one of the presets n15s, n15, n16s, n16, n17s and n17"),
            "{preset}: {text}"
        );
        assert_eq!(error.kind(), "ParameterError");
    }
    // A preset that the error names has a bootstrap.
    let settings = Preset::by_name("n16s").unwrap().settings().unwrap();
    let described = Bootstrapping::default().describe(&Session::new(settings, 1).unwrap());
    assert!(described.as_ref().is_ok_and(|described| described.precision >= 20.0), "{described:?}");
    let client = ClientKey::generate_with(insecure_grafted(8, 20, SPARSE), 1).unwrap();
    for (how, words) in [
        (Bootstrapping { bound: 0.0, ..Bootstrapping::default() }, "a bound of 0"),
        (Bootstrapping { bound: f64::NAN, ..Bootstrapping::default() }, "a bound of NaN"),
        (with_precision(f64::INFINITY), "a precision of inf bits"),
        (with_precision(1e300), "a precision of 1e300 bits"),
        (with_precision(100.5), "a precision of 100.5 bits"),
    ] {
        let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
        let error = client.evaluation_keys(&request).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn arrays_of_any_shape() {
    let (client, server) = insecure(8, with_precision(20.0));
    let session = server.session();
    for shape in [vec![], vec![3], vec![5, 7], vec![300]] {
        let x = numbers(shape.iter().product(), 1);
        let a = spent(&client, &server, &x, &shape);
        let before = server.bootstraps();
        let y = server.bootstrap(&a).unwrap();
        // Two ciphertexts share a bootstrap.
        assert_eq!(server.bootstraps() - before, a.layout().ciphertexts().div_ceil(2) as u64);
        assert_eq!((y.shape(), y.layout(), y.is_clean()), (a.shape(), a.layout(), a.is_clean()));
        // With only one or three values, the sample error may be many deviations.
        let limit = if x.len() < 16 { -17.0 } else { -19.0 };
        assert!(log2_std(&client.decrypt(&y).unwrap(), &x) < limit);
        assert!(y.capacity_bits(session) > a.capacity_bits(session) + 100.0);
    }
    assert_eq!(server.with_precision(25.0).unwrap().bootstraps(), server.bootstraps());
}

/// Operations on an array whose whole capacity is the bootstrap's reserve.
#[test]
fn operations_bootstrap_operands_without_capacity() {
    let (client, server) = insecure(7, with_precision(24.0));
    let (session, reserve) = (server.session(), server.bootstrap_reserve().unwrap());
    let (x, w) = (numbers(12, 3), numbers(12, 5));
    let fresh = client.encrypt(&w, &[3, 4]).unwrap();
    let p = Polynomial::new(Basis::Monomial, vec![0.5, -1.0, 0.25, 0.125]).unwrap();
    type Operation<'a> = Box<dyn Fn(&EncryptedArray) -> Result<EncryptedArray, Error> + 'a>;
    type Plain<'a> = Box<dyn Fn(&[f64]) -> Vec<f64> + 'a>;
    let each =
        |f: fn(f64) -> f64| -> Plain { Box::new(move |x| x.iter().map(|x| f(*x)).collect()) };
    let both = |f: fn(f64, f64) -> f64| -> Plain {
        let w = &w;
        Box::new(move |x| x.iter().zip(w).map(|(x, w)| f(*x, *w)).collect())
    };
    let operations: Vec<(&str, Operation, Plain)> = vec![
        ("multiply", Box::new(|a| server.mul(a, &fresh)), both(|x, w| x * w)),
        ("multiply the other way", Box::new(|a| server.mul(&fresh, a)), both(|x, w| x * w)),
        ("square", Box::new(|a| server.square(a)), each(|x| x * x)),
        ("power", Box::new(|a| server.pow(a, 7)), each(|x| x.powi(7))),
        ("multiply plain", Box::new(|a| server.mul_plain(a, &w[..])), both(|x, w| x * w)),
        ("multiply by a number", Box::new(|a| server.mul_number(a, 0.3)), each(|x| 0.3 * x)),
        ("multiply by a half", Box::new(|a| server.mul_number(a, 0.0625)), each(|x| 0.0625 * x)),
        (
            "polynomial",
            Box::new(|a| server.polynomial(a, &p)),
            each(|x| 0.5 - x + 0.25 * x * x + 0.125 * x * x * x),
        ),
        (
            "mean",
            Box::new(|a| server.mean(a, None)),
            Box::new(|x| vec![x.iter().sum::<f64>() / 12.0]),
        ),
        (
            "matrix product",
            Box::new(|a| server.matmul_plain(a, &w[..8], 2)),
            Box::new(|x| {
                let rows = x.chunks(4);
                rows.flat_map(|r| [0, 1].map(|j| (0..4).map(|i| r[i] * w[2 * i + j]).sum()))
                    .collect()
            }),
        ),
        (
            "roll",
            Box::new(|a| server.roll(a, 1, Some(1))),
            Box::new(|x| x.chunks(4).flat_map(|r| [r[3], r[0], r[1], r[2]]).collect()),
        ),
    ];
    for (name, operation, plain) in operations {
        let a = spent(&client, &server, &x, &[3, 4]);
        let before = server.bootstraps();
        let y = operation(&a).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(server.bootstraps() > before, "{name}");
        // The array is bootstrapped once, however many operations use it.
        let again = server.bootstraps();
        let repeated = operation(&a).unwrap();
        // A mean over two axes bootstraps the sum over one, which is another array.
        assert!(server.bootstraps() == again || name == "mean", "{name}");
        for y in [y, repeated] {
            assert!(y.capacity_bits(session) >= reserve, "{name}: {}", y.capacity_bits(session));
            let error = log2_std(&client.decrypt(&y).unwrap(), &plain(&x));
            assert!(error < -19.0, "{name}: 2^{error}");
        }
    }
}

/// One power that a single bootstrap suffices for, and one with bootstraps between its products.
/// The values are close to 1 so that the power is not 0.
#[test]
fn powers_of_any_height() {
    let (client, server) = insecure(7, with_precision(24.0));
    let x: Vec<f64> = numbers(64, 3).iter().map(|x| x.signum() * (1.0 - x.abs() / 1e5)).collect();
    let a = spent(&client, &server, &x, &[64]);
    let mut counts = Vec::new();
    for (n, bits) in [(15, 14.0), (65_537, 1.0)] {
        let before = server.bootstraps();
        let y = server.pow(&a, n).unwrap();
        counts.push(server.bootstraps() - before);
        let expected: Vec<f64> = x.iter().map(|x| x.powi(n as i32)).collect();
        let error = log2_std(&client.decrypt(&y).unwrap(), &expected);
        assert!(error < -bits, "power {n}: 2^{error}");
        assert!(error < 1.0 - y.precision_bits(server.session()), "power {n}: 2^{error}");
    }
    // The second power may reuse the bootstrapped copy that the first one made.
    assert!(counts[0] == 1 && counts[1] >= 1, "{counts:?} bootstraps");
}

/// At this precision the capacity after a bootstrap falls short by less than a product for a part
/// of the polynomial, which must not be split again without end.
#[test]
fn parts_of_polynomials_are_not_split_again() {
    let settings = Preset::by_name("n15s").unwrap().settings().unwrap();
    let settings = settings.with_precision(35.0).unwrap();
    let request =
        KeyRequest { bootstrapping: Some(Bootstrapping::default()), ..KeyRequest::default() };
    let simulation = Simulation::limited_to(settings, &request).unwrap();
    let p = Polynomial::approximate(f64::tanh, -4.0, 4.0, 15).unwrap();
    let mut x = simulation.encrypt((&[0.5][..]).into(), &[1], &Encryption::default()).unwrap();
    for _ in 0..2 {
        x = simulation.server().polynomial(&x, &p).unwrap().with_bound(1.0).unwrap();
    }
    assert!(x.capacity_bits(simulation.server().session()) > 0.0);
}

/// A polynomial that is one product too deep for the capacity after a bootstrap needs one more
/// bootstrap. The array remembers that bootstrap, so that a second polynomial needs none.
#[test]
fn a_polynomial_after_a_bootstrap_needs_one_more() {
    let settings = insecure_grafted(8, 13, SPARSE).with_precision(20.0).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let request = KeyRequest { bootstrapping: Some(with_precision(20.0)), ..KeyRequest::only([]) };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let (session, reserve) = (server.session(), server.bootstrap_reserve().unwrap());
    let x = spread(128, 1.0);
    let a = server.bootstrap(&client.encrypt(&x, &[128]).unwrap()).unwrap();
    let product = session.settings().scale().log2();
    let levels = ((a.capacity_bits(session) - reserve) / product) as u32;
    assert_eq!(levels, 4);
    let degree = (2 << levels) - 1;
    for basis in [Basis::Chebyshev { low: -1.0, high: 1.0 }, Basis::Monomial] {
        let coefficients = (0..=degree).map(|i| 0.5f64.powi(i % 4) / f64::from(1 + i)).collect();
        let p = Polynomial::new(basis, coefficients).unwrap();
        let before = server.bootstraps();
        let y = server.polynomial(&a, &p).unwrap();
        let expected = u64::from(basis != Basis::Monomial);
        assert_eq!(server.bootstraps() - before, expected, "{basis:?}");
        assert!(y.capacity_bits(session) >= reserve);
        let expected: Vec<f64> = x.iter().map(|x| p.evaluate(*x)).collect();
        let error = log2_std(&client.decrypt(&y).unwrap(), &expected);
        let estimated = y.precision_bits(session);
        assert!(estimated > 4.0 && error < 1.0 - estimated, "2^{error}, not 2^-{estimated}");
    }
}

/// Iterates the logistic map far beyond the depth of the modulus. Each step may double the error.
#[test]
fn circuits_of_any_depth() {
    let (client, server) = insecure(8, with_precision(28.0));
    let (session, reserve) = (server.session(), server.bootstrap_reserve().unwrap());
    let mut plain = spread(128, 1.0);
    let mut a = client.encrypt(&plain, &[128]).unwrap();
    let depth = 24;
    for _ in 0..depth {
        // x -> 1 - 1.5 x^2 keeps values in [-1, 1].
        let square = server.square(&a).unwrap();
        a = server
            .add_number(&server.mul_number(&square, -1.5).unwrap(), 1.0)
            .unwrap()
            .with_bound(1.0)
            .unwrap();
        plain.iter_mut().for_each(|x| *x = 1.0 - 1.5 * *x * *x);
        assert!(a.capacity_bits(session) >= reserve);
    }
    let error = log2_std(&client.decrypt(&a).unwrap(), &plain);
    assert!(error < -14.0, "2^{error}");
    let described = with_precision(28.0).describe(session).unwrap();
    let products = ((described.capacity_after - described.capacity_needed)
        / session.settings().scale().log2()) as u64;
    let most = depth / (products - 1);
    assert!(
        (1..=most).contains(&server.bootstraps()),
        "{} bootstraps, {most}",
        server.bootstraps()
    );
}

#[test]
fn larger_values_are_scaled_for_the_bootstrap() {
    let (client, server) = insecure(8, with_precision(24.0));
    let session = server.session();
    for bound in [1.5, 4.0, 1000.0] {
        let x = spread(128, bound);
        let declared = Encryption { interval: Some(Interval::symmetric(bound)), precision: None };
        let a = client.encrypt_with(Values::Real(&x), &[128], &declared).unwrap();
        let y = server.bootstrap(&a).unwrap();
        let (precision, estimated) = (24.0 - bound.log2().ceil(), y.precision_bits(session));
        assert!((precision - 1.0..precision + 1.0).contains(&estimated), "{bound}: {estimated}");
        let better = -log2_std(&client.decrypt(&y).unwrap(), &x) - estimated;
        assert!((-0.6..1.5).contains(&better), "{bound}: {estimated}, measured {better} more");
        assert_eq!(y.bound(), bound);
    }
    // A bootstrap would keep less than half of the bits after the binary point.
    let a = client.encrypt(&[0.25], &[]).unwrap().with_bound(8192.0).unwrap();
    let error = server.bootstrap(&a).unwrap_err();
    assert!(
        error.to_string().contains("values up to 8192") && error.to_string().contains("with_bound"),
        "{error}"
    );
    assert_eq!(error.kind(), "ArgumentError");
    assert!(server.bootstrap(&a.with_bound(1.0).unwrap()).is_ok());
    // An operation that cannot bootstrap uses the remaining capacity and then gives the reason.
    let a = spent(&client, &server, &[0.25], &[]).with_bound(8192.0).unwrap();
    let mut a = server.mul_number(&a, 0.125).unwrap();
    let error = loop {
        match server.square(&a) {
            Ok(square) => a = square,
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("Declare a tighter bound"), "{error}");
}

/// Circuits of several stages ask a server for capacity on the way.
///
/// The server gives back at least the requested capacity, and little more than the circuit can use.
#[test]
fn circuits_are_refreshed() {
    let (client, server) = insecure(7, with_precision(20.0));
    let session = server.session();
    let x = spread(64, 3.0);
    let declared = Encryption { interval: Some(Interval::symmetric(3.0)), precision: None };
    let a = client.encrypt_with(Values::Real(&x), &[64], &declared).unwrap();
    let refresh = server.refresh(a.form()).unwrap();
    let ciphertext = a.bodies().iter().map(|body| match body {
        CiphertextBody::Seeded(c) => c.seeded().expand(session.context()),
        CiphertextBody::Full(c) => c.clone(),
    });
    let fresh = ciphertext.collect::<Vec<_>>().remove(0);
    let reduced = |bits: f64| {
        let modulus = session.settings().parameters().grafted_modulus(bits);
        server.evaluator().bring_to(&fresh, modulus).unwrap()
    };
    let capacity = |c: &Ciphertext| c.capacity_bits(session.context());
    let low = reduced(refresh.reserve() + fresh.scale().log2() + 6.0);
    assert!(capacity(&low) >= refresh.reserve());
    let same = refresh.refresh(Cow::Borrowed(&low), capacity(&low) - 1.0, 100.0, "test").unwrap();
    assert!(matches!(same, Cow::Borrowed(_)) && server.bootstraps() == 0);
    let need = capacity(&low) + 10.0;
    let out = refresh.refresh(Cow::Borrowed(&low), need, need + 20.0, "test").unwrap();
    assert!(
        (need..need + 40.0).contains(&capacity(&out))
            && capacity(&out) < refresh.max_capacity() - 50.0
    );
    assert_eq!((out.bound(), server.bootstraps()), (3.0, 1));
    let got = session.context().decrypt(
        &SecretKey::from_seed(session.context().rlwe(), client.seed().clone()).unwrap(),
        &out,
    );
    let got = session.context().decode_real(&got.unwrap()).unwrap();
    assert!(log2_std(&got, &x) < -17.0);
    assert!(
        refresh
            .refresh(Cow::Borrowed(&low), 1e4, 1e4, "test")
            .unwrap_err()
            .to_string()
            .contains("test needs 10000.0 bits")
    );
}

#[test]
fn real_and_complex_arrays_take_the_same_keys() {
    let x: Vec<Complex64> = (0..128).map(|i| Complex64::from_polar(1.0, f64::from(i))).collect();
    let (client, server) = insecure(8, with_precision(20.0));
    let a = client.encrypt_complex(&x, &[128]).unwrap();
    let y = server.bootstrap(&a).unwrap();
    let got = client.decrypt_complex(&y).unwrap();
    assert!(y.is_complex() && got.iter().zip(&x).all(|(g, x)| (g - x).norm() < 1e-4));
    // The same keys bootstrap real arrays.
    let x = spread(128, 1.0);
    let y = server.bootstrap(&client.encrypt(&x, &[128]).unwrap()).unwrap();
    assert!(!y.is_complex() && log2_std(&client.decrypt(&y).unwrap(), &x) < -19.0);
}

#[test]
fn errors_name_missing_keys_and_capacity() {
    let (client, server) = insecure(7, with_precision(20.0));
    let (session, x) = (server.session(), [0.5, -0.25]);
    let bare = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    let a = client.encrypt(&x, &[2]).unwrap();
    let error = bare.bootstrap(&a).unwrap_err().to_string();
    assert!(error.contains("no bootstrapping keys"), "{error}");
    assert_eq!((bare.bootstraps(), bare.bootstrap_reserve()), (0, None));
    // The array has too little capacity left for a bootstrap.
    let mut a = spent(&client, &server, &x, &[2]);
    a = bare.mul_number(&a, 1.0 / 4096.0).unwrap();
    assert!(a.capacity_bits(session) < server.bootstrap_reserve().unwrap());
    let error = server.bootstrap(&a).unwrap_err();
    assert!(
        matches!(error, Error::Capacity { .. }) && error.to_string().contains("bootstrap needs"),
        "{error}"
    );
    assert!(error.to_string().contains("so bootstrap earlier"), "{error}");
    // Operations that need no capacity still work.
    let y = server.negate(&a).unwrap();
    assert!((client.decrypt(&y).unwrap()[0] + 0.5 / 4096.0).abs() < 1e-5);
    assert_eq!(server.bootstraps(), 0);
    // The circuit needs more capacity than one bootstrap provides, and its products leave too
    // little for the next one.
    let deep = Polynomial::new(Basis::Monomial, vec![1e-6; 1 << 6]).unwrap();
    let most = server.bootstrap(&client.encrypt(&x, &[2]).unwrap()).unwrap().capacity_bits(session);
    let precise = server.with_precision(most - server.bootstrap_reserve().unwrap()).unwrap();
    let error = precise.polynomial(&spent(&client, &server, &x, &[2]), &deep).unwrap_err();
    assert!(matches!(error, Error::Capacity { .. }), "{error}");
    assert!(error.to_string().contains("Bootstraps with these keys restore at most"), "{error}");
    // The bound is far larger than any value.
    let wide = (0..40)
        .try_fold(client.encrypt(&x, &[2]).unwrap(), |a, _| bare.square(&a.with_bound(1e30)?))
        .unwrap_err();
    assert!(
        wide.to_string().contains("declare a tighter one if it is known (with_bound)"),
        "{wide}"
    );
}
