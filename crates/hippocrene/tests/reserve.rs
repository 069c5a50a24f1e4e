//! Tests that results keep the capacity for their next bootstrap, with small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{Bootstrapping, ClientKey, EncryptedArray, KeyRequest, Server};
use hippocrene_ckks::circuits::{Basis, Polynomial};
use hippocrene_rlwe::SecretDistribution;
use proptest::prelude::*;

const SLOTS: usize = 128;

/// Returns a client and its server, for which a bootstrap leaves capacity for two products above
/// the reserve. Insecure.
fn insecure() -> (ClientKey, Server) {
    insecure_of_units(14)
}

fn insecure_of_units(units: usize) -> (ClientKey, Server) {
    let settings = insecure_grafted(8, units, SecretDistribution::SparseTernary { weight: 64 });
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let how = Bootstrapping { precision: Some(24.0), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

fn plain() -> Vec<f64> {
    (0..SLOTS).map(|i| 1.6 * (0.5 + i as f64 * 0.754_877_666).fract() - 0.8).collect()
}

/// Checks the values, and that they have the capacity for a bootstrap.
fn check(client: &ClientKey, server: &Server, array: &EncryptedArray, expected: &[f64]) {
    let have = array.capacity_bits(server.session());
    assert!(have >= server.bootstrap_reserve().unwrap(), "{have}");
    let got = client.decrypt(array).unwrap();
    let stated = (-array.precision_bits(server.session())).exp2();
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() < 8.0 * stated, "{g} {e}: stated {stated}");
    }
}

/// The bound of a sum is too large to bootstrap, so capacity for the scaling product has to be
/// left.
#[test]
fn scaled_down_sums_can_be_bootstrapped() {
    let (client, server) = insecure();
    let (mut x, mut plain) =
        (client.encrypt(&plain(), &[SLOTS]).unwrap().with_bound(1.0).unwrap(), plain());
    for _ in 0..24 {
        let half = server.mul_number(&x, 0.5).unwrap();
        x = server
            .add_number(&server.mul(&half, &x).unwrap(), -0.5)
            .unwrap()
            .with_bound(1.0)
            .unwrap();
        plain.iter_mut().for_each(|x| *x = 0.5 * *x * *x - 0.5);
        let large = server.sum(&server.mul_number(&x, 1000.0).unwrap(), None).unwrap();
        assert!(server.bootstrap(&large).is_err());
        let mean = server.div_number(&large, 1000.0 * SLOTS as f64).unwrap();
        check(&client, &server, &mean, &[plain.iter().sum::<f64>() / SLOTS as f64]);
    }
    assert!(server.bootstraps() > 0);
}

/// Copying needs a product, and so does the next multiplication. A bootstrap leaves capacity for
/// only one of them above the reserve.
#[test]
fn copies_are_bootstrapped_before_they_are_multiplied() {
    let (client, server) = insecure_of_units(13);
    let (rows, columns) = (8, SLOTS / 8);
    let weights = client.encrypt(&plain(), &[columns, rows]).unwrap().with_bound(1.0).unwrap();
    let mut x = client.encrypt(&plain(), &[rows, columns]).unwrap().with_bound(1.0).unwrap();
    let mut values = plain();
    for _ in 0..16 {
        let half = server.mul_number(&x, 0.5).unwrap();
        x = server
            .add_number(&server.mul(&half, &x).unwrap(), -0.5)
            .unwrap()
            .with_bound(1.0)
            .unwrap();
        values.iter_mut().for_each(|x| *x = 0.5 * *x * *x - 0.5);
        let sums =
            server.mul_number(&server.sum(&x, Some(1)).unwrap(), 1.0 / columns as f64).unwrap();
        let scaled = server.mul(&weights, &sums.with_bound(1.0).unwrap()).unwrap();
        let means: Vec<f64> =
            values.chunks(columns).map(|row| row.iter().sum::<f64>() / columns as f64).collect();
        let expected: Vec<f64> =
            plain().iter().zip(means.iter().cycle()).map(|(w, m)| w * m).collect();
        check(&client, &server, &scaled, &expected);
    }
    assert!(server.bootstraps() > 0);
}

/// Powers and polynomials that need more capacity than a bootstrap leaves above the reserve.
#[test]
fn deep_polynomials_are_bootstrapped_in_between() {
    let (client, server) = insecure();
    let x = client.encrypt(&plain(), &[SLOTS]).unwrap().with_bound(1.0).unwrap();
    let x = server.bootstrap(&x).unwrap();
    let before = server.bootstraps();
    let power = (0..2).fold(x.clone(), |x, _| server.pow(&x, 9).unwrap());
    assert!(server.bootstraps() > before);
    let expected: Vec<f64> = plain().iter().map(|x| x.powi(81)).collect();
    check(&client, &server, &power, &expected);

    let wave = Polynomial::approximate(|x| (2.0 * x).sin() * 0.9, -2.0, 2.0, 11).unwrap();
    for p in [wave, Polynomial::new(Basis::Monomial, vec![0.06; 10]).unwrap()] {
        let before = server.bootstraps();
        let (mut y, mut expected) = (x.clone(), plain());
        for _ in 0..2 {
            y = server.polynomial(&y, &p).unwrap();
            expected.iter_mut().for_each(|x| *x = p.evaluate(*x));
            y = y.with_bound(1.0).unwrap();
        }
        assert!(server.bootstraps() > before);
        check(&client, &server, &y, &expected);
    }
}

/// Values that are too large for a bootstrap are scaled down for it.
#[test]
fn polynomials_of_large_values_are_bootstrapped_in_a_unit() {
    let (client, server) = insecure();
    let x = server
        .bootstrap(&client.encrypt(&plain(), &[SLOTS]).unwrap().with_bound(1.0).unwrap())
        .unwrap();
    let terms: Vec<f64> = (0..24).map(|i| 2e4 * (0.7 * f64::from(i)).cos()).collect();
    for basis in [Basis::Chebyshev { low: -1.0, high: 1.0 }, Basis::Monomial] {
        let p = Polynomial::new(basis, terms.clone()).unwrap();
        let (y, before) = (server.polynomial(&x, &p).unwrap(), server.bootstraps());
        // The bound follows from the range of the polynomial on the interval of the values.
        assert!(before > 1 && y.bound() > 1e4);
        let expected: Vec<f64> = plain().iter().map(|x| p.evaluate(*x)).collect();
        let stated = (-y.precision_bits(server.session())).exp2();
        for (y, e) in client.decrypt(&y).unwrap().iter().zip(expected) {
            assert!((y - e).abs() < 8.0 * stated && stated < 5e3, "{y} {e}: stated {stated}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Values are right for any capacity between bootstraps. The number of bootstraps grows like
    /// the square root of the degree.
    #[test]
    fn polynomials_need_few_bootstraps(
        units in 13usize..=16,
        coefficients in prop::collection::vec(-1.0..1.0f64, 3..80),
        chebyshev in any::<bool>(),
        (step, first) in (1usize..4, 0usize..3),
        fresh in any::<bool>(),
    ) {
        let (client, server) = insecure_of_units(units);
        // Only every first, second or third term is nonzero, and the coefficients decrease.
        let term =
            |(i, c): (usize, &f64)| if i % step == first % step { c / (2 + i) as f64 } else { 0.0 };
        let mut terms: Vec<f64> = coefficients.iter().enumerate().map(term).collect();
        terms.push(0.5 / coefficients.len() as f64);
        let basis =
            if chebyshev { Basis::Chebyshev { low: -1.0, high: 1.0 } } else { Basis::Monomial };
        let p = Polynomial::new(basis, terms).unwrap();
        let x = client.encrypt(&plain(), &[SLOTS]).unwrap().with_bound(1.0).unwrap();
        let x = if fresh { x } else { server.bootstrap(&x).unwrap() };
        let before = server.bootstraps();
        let y = server.polynomial(&x, &p).unwrap();
        let expected: Vec<f64> = plain().iter().map(|x| p.evaluate(*x)).collect();
        check(&client, &server, &y, &expected);
        let (count, most) = (server.bootstraps() - before, 3.0 * (p.degree() as f64).sqrt() + 2.0);
        prop_assert!(count as f64 <= most, "{count} for a degree of {}", p.degree());
    }
}
