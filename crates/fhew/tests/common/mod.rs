//! Helpers that the tests share: insecure secrets, and comparison of measured with estimated noise.
#![allow(dead_code)] // Each test file uses a part of these helpers.

use hippocrene_fhew::{LweParameters, LweSecretKey};
use hippocrene_rlwe::{Noise, SecretDistribution};

/// Returns a ternary secret without a check of its security.
pub fn ternary(dimension: usize, modulus: u64) -> LweSecretKey {
    secret(dimension, modulus, SecretDistribution::Ternary)
}

/// Returns a secret of this distribution without a check of its security.
pub fn secret(dimension: usize, modulus: u64, distribution: SecretDistribution) -> LweSecretKey {
    LweSecretKey::generate(LweParameters::insecure(dimension, modulus, distribution).unwrap())
        .unwrap()
}

/// Returns the representative of `a - b mod q` nearest to zero.
pub fn centred_difference(a: i64, b: i64, q: u64) -> f64 {
    let q = i128::from(q);
    let difference = (i128::from(a) - i128::from(b)).rem_euclid(q);
    (if 2 * difference > q { difference - q } else { difference }) as f64
}

/// Returns the root mean square.
pub fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Asserts that the root mean square of the errors is within a factor 1.5 of the estimate.
pub fn assert_noise(errors: &[f64], estimate: Noise, what: &str) {
    let (measured, estimated) = (rms(errors).log2(), estimate.log2_std());
    assert!(
        (measured - estimated).abs() < 1.5f64.log2(),
        "{what}: measured 2^{measured:.2}, estimated 2^{estimated:.2}"
    );
}
