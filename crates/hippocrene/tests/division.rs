//! Tests that quotients and means have the requested precision, even beyond that of doubles.

use crate::common::insecure_grafted;
use hippocrene::{BigFloat, ClientKey, EncryptedArray, KeyRequest, Server, Values};
use hippocrene_rlwe::SecretDistribution;

fn over(numerator: i64, divisor: f64) -> BigFloat {
    let (numerator, divisor) = (BigFloat::from(numerator), BigFloat::try_from(divisor).unwrap());
    BigFloat::try_from(numerator.into_inner() / divisor.into_inner()).unwrap()
}

#[test]
fn quotients_and_means_have_the_requested_precision() {
    let settings = insecure_grafted(10, 6, SecretDistribution::Ternary);
    for precision in [25.0, 48.0, 90.0] {
        let client =
            ClientKey::generate_with(settings.clone().with_precision(precision).unwrap(), 1)
                .unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
        let x: Vec<f64> = (1..=7).map(f64::from).collect();
        let a = client.encrypt(&x, &[7]).unwrap();
        let check = |got: &EncryptedArray, expected: Vec<BigFloat>| {
            let bits = got.precision_bits(server.session());
            assert!(bits > precision - 12.0, "{bits}");
            for (got, expected) in client.decrypt_big(got).unwrap().into_iter().zip(expected) {
                let error =
                    BigFloat::try_from(got.into_inner() - expected.into_inner()).unwrap().to_f64();
                assert!(
                    error.abs() < (4.0 - bits).exp2(),
                    "{error}, where {bits} bits are claimed"
                );
            }
        };
        for divisor in [3.0, -0.1, 8.0, 1e10, 1e-3] {
            let quotient = server.div_number(&a, divisor).unwrap();
            check(&quotient, (1..=7).map(|n| over(n, divisor)).collect());
        }
        check(&server.mean(&a, None).unwrap(), vec![over(4, 1.0)]);
        let pairs = client.encrypt(&[1.0, 0.0, 0.0, 2.0, 0.0, 0.0], &[2, 3]).unwrap();
        check(&server.mean(&pairs, Some(1)).unwrap(), vec![over(1, 3.0), over(2, 3.0)]);
        for divisor in [0.0, f64::NAN, f64::INFINITY] {
            let error = server.div_number(&a, divisor).unwrap_err().to_string();
            assert!(
                error.contains("divide by a number") && error.contains("the divisor is"),
                "{error}"
            );
        }
    }
}

/// Factors with more precision than doubles are rounded as finely as doubles, which are finer for
/// large values.
#[test]
fn factors_of_large_values_are_as_fine_as_doubles() {
    let settings =
        insecure_grafted(10, 6, SecretDistribution::Ternary).with_precision(32.0).unwrap();
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    let x: Vec<f64> = (0..100).map(|i| (f64::from(i) - 50.0) * 1.7e7).collect();
    let a = client.encrypt(&x, &[100]).unwrap();
    let thousandth = BigFloat::from(1000i64).reciprocal().unwrap();
    let by_double = server.mul_number(&a, 0.001).unwrap();
    let each = vec![thousandth.clone(); 100];
    for (name, quotient, like) in [
        ("divided", server.div_number(&a, 1000.0).unwrap(), &by_double),
        ("times one number", server.mul_big_number(&a, &thousandth).unwrap(), &by_double),
        (
            "times one for each",
            server.mul_plain(&a, Values::Big(&each)).unwrap(),
            &server.mul_plain(&a, &[0.001; 100][..]).unwrap(),
        ),
    ] {
        let [bits, expected] =
            [&quotient, like].map(|array| array.precision_bits(server.session()));
        assert!((bits - expected).abs() < 0.5, "{name}: {bits} bits, by doubles {expected}");
        let got = client.decrypt(&quotient).unwrap();
        let off = got.iter().zip(&x).map(|(y, x)| (y - x / 1000.0).powi(2));
        let off = (off.sum::<f64>() / 100.0).sqrt();
        assert!(off < (1.0 - bits).exp2(), "{name}: off by {off}, {bits} bits");
    }
    // A factor that is a double costs only as much capacity as that double.
    let quarter = server.mul_big_number(&a, &"0.25".parse().unwrap()).unwrap();
    let taken = a.capacity_bits(server.session()) - quarter.capacity_bits(server.session());
    assert!(taken < 2.0 && quarter.bound() == 0.25 * a.bound(), "{taken} bits");
    let error = server.mul_big_number(&a, &"1e400".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("multiply by a number"), "{error}");
}
