//! Tests of iterations that correct themselves, with bootstraps and small insecure parameters.

use crate::common::insecure_grafted;
use hippocrene::{
    Bootstrapping, ClientKey, Comparison, EncryptedArray, Error, KeyRequest, Server, Stored,
};
use hippocrene_rlwe::SecretDistribution;

const PRECISION: f64 = 24.0;

/// Returns a client with 128 slots and its server. Insecure.
fn insecure() -> (ClientKey, Server) {
    let settings = insecure_grafted(8, 20, SecretDistribution::SparseTernary { weight: 64 });
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let how = Bootstrapping { precision: Some(PRECISION), ..Bootstrapping::default() };
    let request = KeyRequest { bootstrapping: Some(how), ..KeyRequest::default() };
    let server = Server::new(client.evaluation_keys(&request).unwrap()).unwrap();
    (client, server)
}

/// Returns values spread evenly over `[0.3, 0.9]`.
fn spread(count: usize) -> Vec<f64> {
    (0..count).map(|i| 0.3 + 0.6 * (0.5 + i as f64 * 0.754_877_666).fract()).collect()
}

fn log2_std(got: &[f64], expected: &[f64]) -> f64 {
    let sum: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).powi(2)).sum();
    (sum / got.len() as f64).sqrt().log2()
}

/// Newton's iteration for the reciprocal, `y (2 - x y)`, squares its error in each step.
///
/// The estimate only grows, until a bootstrap marks the error as unknown.
#[test]
fn iterations_correct_themselves() {
    let (client, server) = insecure();
    let session = server.session();
    let plain = spread(128);
    let x = client.encrypt(&plain, &[128]).unwrap();
    let step = |y: &EncryptedArray| -> Result<EncryptedArray, Error> {
        let rest = server.add_number(&server.negate(&server.mul(&x, y)?)?, 2.0)?;
        server.mul(y, &rest)?.with_bound(4.0)
    };
    let start = || server.add_number(&server.mul_number(&x, -2.0).unwrap(), 2.9).unwrap();
    let expected: Vec<f64> = plain.iter().map(|x| 1.0 / x).collect();
    let y = (0..40).try_fold(start(), |y, _| step(&y)).unwrap();
    assert!(server.bootstraps() > 5 && !y.is_error_known() && y.precision_bits(session).is_nan());
    let error = log2_std(&client.decrypt(&y).unwrap(), &expected);
    assert!(error < -18.0, "2^{error}");
    // Operations that rely on the error refuse the array, and its file marks the error as unknown.
    for refused in [client.decrypt_for_sharing(&y, 4).map(drop), client.sharing_bits(&y).map(drop)]
    {
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("is not known") && refused.contains("with_precision_bits"),
            "{refused}"
        );
    }
    let refused =
        server.greater(&y, &server.negate(&y).unwrap(), Comparison::default()).unwrap_err();
    assert!(refused.to_string().contains("is not known"), "{refused}");
    let read = EncryptedArray::from_bytes(&y.to_bytes(), session).unwrap();
    assert!(!read.is_error_known() && read.to_bytes() == y.to_bytes());
    let declared = server.declare_precision(&server.add(&read, &x).unwrap(), 18.0).unwrap();
    assert!((declared.precision_bits(session) - 18.0).abs() < 0.1);

    let y = (0..40).try_fold(start(), |y, _| server.declare_precision(&step(&y)?, 18.0)).unwrap();
    assert!(server.bootstraps() > 5 && (y.precision_bits(session) - 18.0).abs() < 0.1);
    let error = log2_std(&client.decrypt(&y).unwrap(), &expected);
    assert!(error < -18.0, "2^{error}");
    assert!(server.declare_precision(&y, f64::NAN).is_err());
    let fresh = server.declare_precision(&client.encrypt(&plain, &[128]).unwrap(), 12.0).unwrap();
    assert!((fresh.precision_bits(session) - 12.0).abs() < 1e-6);
}

/// The iteration `y + (y - y^2)/2` goes to 1.
///
/// In a slot that holds 0 it multiplies the error by 1.5 in every step, so such slots are set to
/// zero again.
#[test]
fn stray_slots_are_set_to_zero_again() {
    let (client, server) = insecure();
    let plain = spread(5);
    let step = |y: &EncryptedArray| {
        let more = server.mul_number(&server.sub(y, &server.mul(y, y)?)?, 0.5)?;
        server.declare_precision(&server.declare_bound(&server.add(y, &more)?, 1.2)?, 18.0)
    };
    let y = (0..60).try_fold(client.encrypt(&plain, &[5]).unwrap(), |y, _| step(&y)).unwrap();
    assert!(server.bootstraps() > 5);
    assert!(log2_std(&client.decrypt(&y).unwrap(), &[1.0; 5]) < -18.0);
    let sum = server.sum(&y, None).unwrap();
    assert!((client.decrypt(&sum).unwrap()[0] - 5.0).abs() < 2f64.powi(-12));
}

/// A declared precision does not apply to stray slots of a sum, which hold partial sums.
///
/// They are set to zero if the declared precision is higher than the estimated one, and stay
/// otherwise.
#[test]
fn declared_precision_does_not_apply_to_stray_slots() {
    let (client, server) = insecure();
    let session = server.session();
    let sums = server.sum(&client.encrypt(&spread(15), &[5, 3]).unwrap(), Some(1)).unwrap();
    let (stated, capacity) = (sums.precision_bits(session), sums.capacity_bits(session));
    let less = server.declare_precision(&sums, stated - 2.0).unwrap();
    assert_eq!(less.capacity_bits(session), capacity);
    let more = server.declare_precision(&sums, stated + 2.0).unwrap();
    assert!(more.capacity_bits(session) < capacity - 8.0);
    for declared in [less, more] {
        assert!(
            log2_std(&client.decrypt(&declared).unwrap(), &client.decrypt(&sums).unwrap()) < -15.0
        );
    }
}
