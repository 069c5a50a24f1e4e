//! The size of the batches makes no difference to the results of a map.

use std::{collections::BTreeMap, sync::Arc};

use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

use super::*;
use crate::Context;

/// Returns keys for these rotations at ring degree `2^8`. Insecure.
fn insecure(rotations: impl IntoIterator<Item = i64>) -> (SecretKey, Evaluator) {
    let degree = 1 << 8;
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 8,
        units: primes::ntt_primes(48, degree, 3, &[]).unwrap(),
        specials: primes::ntt_primes(49, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 2,
        secret: SecretDistribution::Ternary,
    });
    let context = Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap());
    let secret = SecretKey::generate(context.rlwe()).unwrap();
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    keys.add_rotations(context.rlwe(), &secret, rotations).unwrap();
    let keys = Arc::new(keys.prepare(context.rlwe()).unwrap());
    (secret, Evaluator::new(context, keys))
}

#[test]
fn batches_give_the_same_results() {
    check(insecure(0..128), true);
}

/// With few keys, rotations are composed in different orders.
#[test]
fn batches_give_like_results_with_few_keys() {
    check(insecure((0..7).map(|k| 1 << k)), false);
}

fn check((secret, e): (SecretKey, Evaluator), exactly: bool) {
    let (context, scale) = (e.context(), Scale::power_of_two(40));
    let slots = context.max_slots();
    let operands: Vec<Ciphertext> = (0..5)
        .map(|k| {
            let values: Vec<f64> = (0..slots).map(|i| ((i * (k + 3)) % 17) as f64 / 17.0).collect();
            let plaintext = context
                .encode(values[..].into(), slots, scale, context.parameters().top())
                .unwrap();
            context.encrypt(&secret, &plaintext).unwrap().expand(context)
        })
        .collect();
    let operands: Vec<&Ciphertext> = operands.iter().collect();
    let diagonal = |r: usize| (0..slots).map(|i| ((i + 5 * r) % 11) as f64 / 11.0).collect();
    let diagonals: BTreeMap<usize, Vec<f64>> = (0..40).map(|r| (3 * r, diagonal(r))).collect();
    let t = LinearTransform::from_real(slots, diagonals).unwrap();
    let giants = t.steps().1.len();
    assert!(giants > 3, "{giants}");
    let (modulus, scale) = e.after_product(operands[0], scale);
    let bound = t.norm;
    let result = ResultSpec { modulus, scale, magnitude: 1.0, largest_coefficient: bound, bound };
    let mapped = |batch: Batch| {
        let results = e.linear_transforms_to(&operands, &t, &[result; 5], |_, count| {
            assert_eq!(count, 5);
            batch
        });
        results.unwrap()
    };
    let one_by_one: Vec<Ciphertext> =
        operands.iter().map(|a| e.linear_transform_to(a, &t, result).unwrap()).collect();
    for (encodings, giants, operands, sums) in [
        (Encodings::Kept, giants, 5, 5),
        (Encodings::Kept, giants, 3, 2),
        (Encodings::Whole, giants, 5, 5),
        (Encodings::Whole, 2, 5, 2),
        (Encodings::Whole, 1, 4, 1),
        (Encodings::ByLimb, 3, 2, 2),
    ] {
        let batch = Batch { encodings, giants, operands, sums };
        for (x, y) in mapped(batch).iter().zip(&one_by_one) {
            assert!(!exactly || x.inner().parts() == y.inner().parts(), "{batch:?}");
            assert!((x.precision_bits() - y.precision_bits()).abs() < 0.5, "{batch:?}");
            let [x, y] = [x, y]
                .map(|x| context.decode_complex(&context.decrypt(&secret, x).unwrap()).unwrap());
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).norm() < 1e-6), "{batch:?}");
        }
    }
}
