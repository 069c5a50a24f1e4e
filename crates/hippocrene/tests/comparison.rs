//! Comparisons of arrays of numbers, at small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, Comparison, Encryption, Error, Function, Interval, KeyRequest, Server, Session,
    Simulation,
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

/// 40 numbers up to 3 that are not within 1/16 of each other's or of 0.
fn operands() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.14 - 2.73).collect();
    let other = |(i, x): (usize, &f64)| [x - 0.13, x + 0.2, -0.5 * x][i % 3];
    let y = x.iter().enumerate().map(other).collect();
    (x, y)
}

#[test]
fn every_operation() {
    let (client, server) = insecure(10, None);
    let (x, y) = operands();
    let [a, b] = [&x, &y].map(|v| client.encrypt(&v[..], &[40]).unwrap().with_bound(3.0).unwrap());
    let how = Comparison { gap: Some(0.06), precision: Some(12.0) };
    let e = 2f64.powi(-12);
    let read = |array| client.decrypt(&array).unwrap();
    let signs = |v: &[f64]| v.iter().map(|x| x.signum()).collect::<Vec<_>>();
    let off = |bound: f64| 1.5 * bound * e + 1e-6;
    close(&read(server.sign(&a, how).unwrap()), signs(&x).into_iter(), e, "sign");
    close(&read(server.abs(&a, how).unwrap()), x.iter().map(|x| x.abs()), off(3.0), "abs");
    close(&read(server.relu(&a, how).unwrap()), x.iter().map(|x| x.max(0.0)), off(3.0) / 2.0, "relu");
    let pairs = || x.iter().zip(&y);
    close(&read(server.greater(&a, &b, how).unwrap()), pairs().map(|(x, y)| f64::from(x > y)), e, "greater");
    close(&read(server.less(&a, &b, how).unwrap()), pairs().map(|(x, y)| f64::from(x < y)), e, "less");
    let half = off(6.0) / 2.0;
    close(&read(server.maximum(&a, &b, how).unwrap()), pairs().map(|(x, y)| x.max(*y)), half, "maximum");
    close(&read(server.minimum(&a, &b, how).unwrap()), pairs().map(|(x, y)| x.min(*y)), half, "minimum");
    // By default, of the bound of the array.
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
    let how = Comparison { gap: Some(0.001), precision: Some(14.0) };
    let sign = server.sign(&server.sign(&a, how).unwrap(), how).unwrap();
    assert!(server.bootstraps() > before);
    assert!(sign.capacity_bits(session) >= server.bootstrap_reserve().unwrap() - 1.0);
    close(&client.decrypt(&sign).unwrap(), x.iter().map(|x| x.signum()), 2f64.powi(-14), "sign");
}

/// Imaginary parts are taken away between stages: where there is one, no key is needed for that, and a simulation asks for none.
#[test]
fn one_stage_takes_no_conjugation() {
    let how = Comparison { gap: Some(0.5), precision: Some(5.0) };
    let settings = insecure_grafted(8, 4, SecretDistribution::Ternary);
    let x = [0.75, -0.9, 0.51];
    let simulation = Simulation::new(settings.clone()).unwrap();
    let encryption = Encryption { interval: Some(Interval::symmetric(1.0)), precision: None };
    let hollow = simulation.encrypt((&x[..]).into(), &[3], &encryption).unwrap();
    simulation.server().sign(&hollow, how).unwrap();
    let request = KeyRequest::for_simulation(&simulation.report());
    assert!(request.relinearisation && !request.conjugation);

    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    let a = client.encrypt_with((&x[..]).into(), &[3], &encryption).unwrap();
    let signs = server.sign(&a, how).unwrap();
    close(&client.decrypt(&signs).unwrap(), x.iter().map(|x| x.signum()), 2f64.powi(-5), "sign");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (client, server) = insecure(4, None);
    let a = client.encrypt(&[0.5, -0.25][..], &[2]).unwrap();
    let precise = Comparison { precision: Some(50.0), ..Comparison::default() };
    let error = server.sign(&a, precise).unwrap_err().to_string();
    assert!(error.contains("1 to 40 bits"), "{error}");
    let wide = Comparison { gap: Some(2.0), ..Comparison::default() };
    assert!(matches!(server.relu(&a, wide), Err(Error::Argument { .. })));
    let fine = Comparison { gap: Some(1e-3), precision: Some(20.0) };
    assert!(matches!(server.sign(&a, fine), Err(Error::Capacity { .. })));
    let bare = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let error = bare.sign(&a, fine).unwrap_err();
    assert!(matches!(error, Error::MissingKey(_)) && error.to_string().contains("KeyRequest::conjugation"));
}

/// An array of another key, and one of another shape, are refused as they are by any operation, whatever keys there are.
#[test]
fn operands_are_checked_before_keys() {
    let (client, _) = insecure(4, None);
    let (other, _) = insecure(4, None);
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let [a, theirs] = [&client, &other].map(|client| client.encrypt(&[0.5, -0.25][..], &[2]).unwrap());
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
            assert!(matches!(error, Error::KeyMismatch(_)) && error.to_string().starts_with(name), "{error}");
        }
        let error = two(&server, &a, &long, how).unwrap_err();
        let words = "shapes [2] and [3] do not broadcast together";
        assert!(
            matches!(&error, Error::Shape { operation, what } if *operation == name && what == words),
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
    let fine = Comparison { gap: Some(1e-3), precision: Some(20.0) };
    for compared in [
        server.sign(&a, fine),
        server.abs(&a, fine),
        server.greater(&a, &a, fine),
        server.minimum(&a, &a, fine),
    ] {
        let error = compared.unwrap_err().to_string();
        assert!(error.contains("a wider gap and less precision of the comparison take less"), "{error}");
    }
}
