//! Tests of bootstraps to a requested capacity, with small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, Encryption, Error, Interval, KeyRequest, Server, Values,
};
use hippocrene_rlwe::SecretDistribution;
use num_complex::Complex64;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

fn with_precision(precision: f64) -> Bootstrapping {
    Bootstrapping { precision: Some(precision), ..Bootstrapping::default() }
}

fn log2_std(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let sum: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).powi(2)).sum();
    (sum / got.len() as f64).sqrt().log2()
}

/// Bootstraps with few slots and iterated bootstraps stop at the requested capacity too.
#[test]
fn bootstraps_stop_at_the_requested_capacity() {
    let few = Bootstrapping { slots: Some(32), ..with_precision(20.0) };
    for (how, complex) in [
        (with_precision(20.0), false),
        (with_precision(20.0), true),
        (Bootstrapping { bound: 4.0, ..with_precision(20.0) }, false),
        (few, false),
        (with_precision(48.0), false),
    ] {
        let precision = how.precision.unwrap();
        let settings = insecure_grafted(8, 24, SPARSE).with_precision(precision.max(32.0)).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
        let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
        let session = server.session();
        let described = how.describe(session).unwrap();
        let x: Vec<f64> = (0..20).map(|i| 0.3 * f64::from(i) - 3.0).collect();
        let plain: Vec<Complex64> = x.iter().map(|x| Complex64::new(*x, 0.0)).collect();
        let declared = Encryption { interval: Some(Interval::symmetric(3.0)), precision: None };
        let values = if complex { Values::Complex(&plain) } else { Values::Real(&x) };
        let a = client.encrypt_with(values, &[20], &declared).unwrap();
        let full = server.bootstrap(&a).unwrap().capacity_bits(session);
        let reserve = server.bootstrap_reserve().unwrap();
        let middle = 0.5 * (reserve + described.capacity_after);
        for capacity in [40.5, reserve, middle, described.capacity_after - 8.0] {
            let y = server
                .bootstrap_to(&a, Some(capacity))
                .unwrap_or_else(|e| panic!("{how:?} {capacity}: {e}"));
            let have = y.capacity_bits(session);
            // An iterated bootstrap keeps enough capacity to compute the errors, and its scale may
            // be somewhat smaller than the largest possible one.
            let errors = reserve + session.settings().scale().log2();
            let least = if described.iterations > 1 { capacity.max(errors) } else { capacity };
            assert!(
                have >= capacity && have <= least + 64.0 && have <= full + 1.0,
                "{capacity}: {have}, {full}"
            );
            let got: Vec<f64> = client.decrypt_complex(&y).unwrap().iter().map(|z| z.re).collect();
            let (error, stated) = (log2_std(&got, &x), y.precision_bits(session));
            assert!(stated > precision - 3.0, "{capacity}: {stated}");
            // The sample deviation of 20 errors exceeds twice the true one with probability 10^-8.
            assert!(error < 1.0 - stated, "{capacity}: 2^{error}, stated 2^-{stated}");
            assert_eq!((y.bound(), y.is_clean(), y.is_complex()), (3.0, true, complex));
        }
        let beyond = described.capacity_after + 1.0;
        for (capacity, words) in [
            (beyond, "bootstraps with these keys restore at most"),
            (f64::INFINITY, "inf bits of capacity: bootstraps with these keys"),
            (1e300, "with 1.0e300 bits of capacity: bootstraps with these keys"),
            (0.0, "0 bits of capacity: a positive number is possible, up to"),
            (-1.0, "a positive number"),
            (f64::NAN, "NaN bits of capacity: a positive number"),
        ] {
            let error = server.bootstrap_to(&a, Some(capacity)).unwrap_err();
            assert!(
                matches!(error, Error::Argument { .. }) && error.to_string().contains(words),
                "{error}"
            );
        }
    }
}
