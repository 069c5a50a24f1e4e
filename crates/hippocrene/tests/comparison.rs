//! Tests of comparisons of arrays of numbers, with small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, Comparison, EncryptedArray, Encryption, Error, Function, Interval,
    KeyRequest, Server, Session, Simulation, Ties,
};
use hippocrene_rlwe::SecretDistribution;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

fn insecure(units: usize, bootstrapping: Option<Bootstrapping>) -> (ClientKey, Server) {
    let client = ClientKey::generate_with(insecure_grafted(9, units, SPARSE), 1).unwrap();
    let request = KeyRequest { conjugation: true, bootstrapping, ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

fn close(got: &[f64], expected: impl Iterator<Item = f64>, within: f64, what: &str) {
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= within, "{what}: element {i} is {g}, not {e}");
    }
}

/// Returns two vectors of 40 numbers up to 3. The numbers of a pair differ by more than 1/16, and
/// the numbers of the first vector are more than 1/16 from 0.
fn operands() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.14 - 2.73).collect();
    let other = |(i, x): (usize, &f64)| [x - 0.13, x + 0.2, -0.5 * x][i % 3];
    let y = x.iter().enumerate().map(other).collect();
    (x, y)
}

#[test]
fn every_comparison_is_right() {
    let (client, server) = insecure(10, None);
    let (x, y) = operands();
    let [a, b] = [&x, &y].map(|v| client.encrypt(&v[..], &[40]).unwrap().with_bound(3.0).unwrap());
    let how = Comparison { gap: Some(0.06), precision: Some(12.0), ..Comparison::default() };
    let e = 2f64.powi(-12);
    let read = |array| client.decrypt(&array).unwrap();
    let signs = |v: &[f64]| v.iter().map(|x| x.signum()).collect::<Vec<_>>();
    let off = |bound: f64| 1.5 * bound * e + 1e-6;
    close(&read(server.sign(&a, how).unwrap()), signs(&x).into_iter(), e, "sign");
    close(&read(server.abs(&a, how).unwrap()), x.iter().map(|x| x.abs()), off(3.0), "abs");
    close(
        &read(server.relu(&a, how).unwrap()),
        x.iter().map(|x| x.max(0.0)),
        off(3.0) / 2.0,
        "relu",
    );
    let pairs = || x.iter().zip(&y);
    close(
        &read(server.greater(&a, &b, how).unwrap()),
        pairs().map(|(x, y)| f64::from(x > y)),
        e,
        "greater",
    );
    close(
        &read(server.less(&a, &b, how).unwrap()),
        pairs().map(|(x, y)| f64::from(x < y)),
        e,
        "less",
    );
    let half = off(6.0) / 2.0;
    close(
        &read(server.maximum(&a, &b, how).unwrap()),
        pairs().map(|(x, y)| x.max(*y)),
        half,
        "maximum",
    );
    close(
        &read(server.minimum(&a, &b, how).unwrap()),
        pairs().map(|(x, y)| x.min(*y)),
        half,
        "minimum",
    );
    // The default gap depends on the bound of the array.
    let sign = server.sign(&a, Comparison::default()).unwrap();
    close(&read(sign), signs(&x).into_iter(), 2f64.powi(-10), "sign, by default");
}

#[test]
fn with_bootstraps() {
    let (client, server) = insecure(22, Some(Bootstrapping::default()));
    let session: &Session = server.session();
    let (x, _) = operands();
    let mut a = client.encrypt(&x[..], &[40]).unwrap().with_bound(3.0).unwrap();
    for _ in 0..8 {
        a = server.mul_number(&a, 0.3).unwrap();
        a = server.mul_number(&a, 1.0 / 0.3).unwrap().with_bound(3.0).unwrap();
    }
    let before = server.bootstraps();
    let how = Comparison { gap: Some(0.001), precision: Some(14.0), ..Comparison::default() };
    let sign = server.sign(&server.sign(&a, how).unwrap(), how).unwrap();
    assert!(server.bootstraps() > before);
    assert!(sign.capacity_bits(session) >= server.bootstrap_reserve().unwrap() - 1.0);
    close(&client.decrypt(&sign).unwrap(), x.iter().map(|x| x.signum()), 2f64.powi(-14), "sign");
}

/// Ties match `>` and `>=` of numpy. The gap lies on the side of the values that count as equal.
#[test]
fn ties_have_the_requested_value() {
    let simulation = Simulation::new(insecure_grafted(9, 10, SPARSE)).unwrap();
    let (server, how) = (
        simulation.server(),
        Encryption { interval: Some(Interval::symmetric(4.0)), precision: None },
    );
    let encrypt = |v: &[f64]| simulation.encrypt(v.into(), &[v.len()], &how).unwrap();
    let (x, y) = ([1.0, 2.0, 3.0, -4.0, 4.0], [2.0, 2.0, 2.0, -4.0, -4.0]);
    let [a, b] = [&x, &y].map(|v| encrypt(v));
    for gap in [None, Some(1.0)] {
        for (at_ties, tie) in [(Ties::Zero, 0.0), (Ties::Half, 0.5), (Ties::One, 1.0)] {
            let how = Comparison { gap, precision: Some(10.0), at_ties };
            let read = |array| {
                simulation.values(&array).unwrap().iter().map(|z| z.re).collect::<Vec<f64>>()
            };
            let e = 2f64.powi(-11);
            let step = |d: f64| if d == 0.0 { tie } else { f64::from(d > 0.0) };
            let pairs = || x.iter().zip(&y);
            let greater = read(server.greater(&a, &b, how).unwrap());
            close(&greater, pairs().map(|(x, y)| step(x - y)), e, "greater");
            let less = read(server.less(&a, &b, how).unwrap());
            close(&less, pairs().map(|(x, y)| step(y - x)), e, "less");
            let difference = server.sub(&a, &b).unwrap();
            let positive = server.positive(&difference, how).unwrap();
            assert!(positive.interval().low() >= -e && positive.interval().high() <= 1.0 + e);
            close(&read(positive), pairs().map(|(x, y)| step(x - y)), e, "positive");
        }
    }
}

/// If the intervals imply the result, it is exact and needs neither a key nor capacity.
#[test]
fn answers_that_follow_from_intervals_are_exact() {
    let (client, with_keys) = insecure(4, None);
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let encrypt = |x: &[f64], low, high| {
        let encryption = Encryption { interval: Interval::new(low, high), precision: None };
        client.encrypt_with(x.into(), &[x.len()], &encryption).unwrap()
    };
    let (low, high) = ([-2.0, -1.5], [1.0, 2.5]);
    let [a, b] = [encrypt(&low, -2.0, -1.0), encrypt(&high, 1.0, 3.0)];
    let zero = server.mul_number(&a, 0.0).unwrap();
    let how = Comparison::default();
    let ties = |at_ties| Comparison { at_ties, ..how };
    let exact = |array: EncryptedArray, expected: [f64; 2], what: &str| {
        let bits = array.capacity_bits(server.session());
        assert!(bits >= a.capacity_bits(server.session()) - 1.0, "{what}: {bits} bits");
        close(&client.decrypt(&array).unwrap(), expected.into_iter(), 1e-6, what);
    };
    exact(server.greater(&a, &b, how).unwrap(), [0.0; 2], "greater");
    exact(server.less(&a, &b, how).unwrap(), [1.0; 2], "less");
    exact(server.sign(&a, how).unwrap(), [-1.0; 2], "sign");
    exact(server.sign(&b, how).unwrap(), [1.0; 2], "sign");
    exact(server.relu(&a, how).unwrap(), [0.0; 2], "relu");
    exact(server.relu(&b, how).unwrap(), high, "relu");
    exact(server.abs(&a, how).unwrap(), [2.0, 1.5], "abs");
    exact(server.abs(&b, how).unwrap(), high, "abs");
    exact(server.maximum(&a, &b, how).unwrap(), high, "maximum");
    exact(server.minimum(&b, &a, how).unwrap(), low, "minimum");
    exact(server.sign(&zero, how).unwrap(), [0.0; 2], "sign of 0");
    exact(server.positive(&zero, how).unwrap(), [0.0; 2], "positive 0");
    exact(server.positive(&zero, ties(Ties::One)).unwrap(), [1.0; 2], "0 at least");
    exact(server.positive(&zero, ties(Ties::Half)).unwrap(), [0.5; 2], "0 at half");
    // The operand that holds the result is broadcast to the common shape, as in any operation.
    let one = encrypt(&high[1..], 1.0, 3.0);
    let largest = with_keys.maximum(&a, &one, how).unwrap();
    close(&client.decrypt(&largest).unwrap(), [2.5; 2].into_iter(), 1e-6, "maximum of one");
    assert_eq!(largest.shape(), [2]);
}

#[test]
fn values_below_their_noise_are_not_compared() {
    let simulation = Simulation::new(insecure_grafted(9, 10, SPARSE)).unwrap();
    let server = simulation.server();
    let x = simulation.encrypt((&[1.0, -0.5][..]).into(), &[2], &Encryption::default()).unwrap();
    let tiny = server.declare_precision(&server.mul_number(&x, 1e-9).unwrap(), 14.0).unwrap();
    for refused in
        [server.sign(&tiny, Comparison::default()), server.positive(&tiny, Comparison::default())]
    {
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("no value exceeds 1.0e-9") && refused.contains("Scale the values up"),
            "{refused}"
        );
    }
    // A requested gap that small is refused too.
    let asked = Comparison { gap: Some(5e-10), ..Comparison::default() };
    assert!(matches!(server.positive(&tiny, asked), Err(Error::Argument { .. })));
}

/// Imaginary parts are removed between stages. With only one stage this needs no key, and a
/// simulation requests none.
#[test]
fn one_stage_takes_no_conjugation() {
    let how = Comparison { gap: Some(0.5), precision: Some(5.0), ..Comparison::default() };
    let settings = insecure_grafted(8, 4, SecretDistribution::Ternary);
    let x = [0.75, -0.9, 0.51];
    let simulation = Simulation::new(settings.clone()).unwrap();
    let encryption = Encryption { interval: Some(Interval::symmetric(1.0)), precision: None };
    let dry = simulation.encrypt((&x[..]).into(), &[3], &encryption).unwrap();
    simulation.server().sign(&dry, how).unwrap();
    let request = KeyRequest::for_simulation(&simulation.report());
    assert!(request.relinearisation && !request.conjugation);

    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let a = client.encrypt_with((&x[..]).into(), &[3], &encryption).unwrap();
    let signs = server.sign(&a, how).unwrap();
    close(&client.decrypt(&signs).unwrap(), x.iter().map(|x| x.signum()), 2f64.powi(-5), "sign");
}

#[test]
fn invalid_comparisons_are_refused() {
    let (client, server) = insecure(4, None);
    let a = client.encrypt(&[0.5, -0.25][..], &[2]).unwrap();
    let precise = Comparison { precision: Some(50.0), ..Comparison::default() };
    let error = server.sign(&a, precise).unwrap_err().to_string();
    assert!(error.contains("1 to 40 bits"), "{error}");
    let wide = Comparison { gap: Some(2.0), ..Comparison::default() };
    assert!(matches!(server.relu(&a, wide), Err(Error::Argument { .. })));
    let fine = Comparison { gap: Some(1e-3), precision: Some(20.0), ..Comparison::default() };
    assert!(matches!(server.sign(&a, fine), Err(Error::Capacity { .. })));
    let bare = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let error = bare.sign(&a, fine).unwrap_err();
    assert!(
        matches!(error, Error::MissingKey { .. })
            && error.to_string().contains("lack the conjugation")
    );
}

/// Operands with another key or another shape are refused like in any operation, whatever keys
/// there are.
#[test]
fn operands_are_checked_before_keys() {
    let (client, _) = insecure(4, None);
    let (other, _) = insecure(4, None);
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let [a, theirs] =
        [&client, &other].map(|client| client.encrypt(&[0.5, -0.25][..], &[2]).unwrap());
    let long = client.encrypt(&[0.5, -0.25, 1.0][..], &[3]).unwrap();
    let how = Comparison::default();
    for one in [Server::sign, Server::relu, Server::abs] {
        assert!(matches!(one(&server, &theirs, how), Err(Error::KeyMismatch(_))));
    }
    for (name, two) in [
        ("greater", Server::greater as fn(&_, &_, &_, _) -> _),
        ("less", Server::less),
        ("maximum", Server::maximum),
        ("minimum", Server::minimum),
    ] {
        for (x, y) in [(&a, &theirs), (&theirs, &a), (&theirs, &theirs)] {
            let error = two(&server, x, y, how).unwrap_err();
            assert!(
                matches!(error, Error::KeyMismatch(_)) && error.to_string().starts_with(name),
                "{error}"
            );
        }
        let error = two(&server, &a, &long, how).unwrap_err();
        let refused = format!("{name}: shapes (2,) and (3,) do not broadcast together");
        assert!(
            matches!(error, Error::Shape { .. }) && error.to_string().starts_with(&refused),
            "{error}"
        );
    }
    let tables: [(&str, Result<_, Error>); 8] = [
        ("apply", server.apply(&theirs, f64::exp, None, None)),
        ("precisely", server.apply_precisely(&theirs, f64::exp, None)),
        ("by name", server.apply_function(&theirs, Function::Exp, None, None)),
        ("near 0", server.is_near_zero(&theirs, 0.5)),
        ("close", server.is_close(&a, &theirs, 0.5)),
        ("sort", server.sort(&theirs, None)),
        ("argmax", server.argmax(&theirs, None)),
        ("median", server.median(&theirs, None)),
    ];
    for (name, result) in tables {
        assert!(matches!(result, Err(Error::KeyMismatch(_))), "{name}: {result:?}");
    }
}

#[test]
fn advice_on_comparisons_is_about_their_gap() {
    let (client, server) = insecure(4, None);
    let a = client.encrypt(&[0.5, -0.25][..], &[2]).unwrap();
    let fine = Comparison { gap: Some(1e-3), precision: Some(20.0), ..Comparison::default() };
    for compared in [
        server.sign(&a, fine),
        server.positive(&a, fine),
        server.abs(&a, fine),
        server.greater(&a, &a, fine),
        server.minimum(&a, &a, fine),
    ] {
        let error = compared.unwrap_err().to_string();
        assert!(
            error.contains("A comparison with a wider gap or a lower precision needs less"),
            "{error}"
        );
    }
}
