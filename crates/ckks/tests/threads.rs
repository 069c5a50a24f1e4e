//! Tests that the number of threads changes nothing but the time.

use std::sync::Arc;

use crate::common::circle;
use hippocrene_ckks::{Context, Evaluator, Scale, Values, circuits::LinearTransform};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
};

#[test]
fn results_are_the_same_with_any_number_of_threads() {
    let degree = 1 << 10;
    // The sets have more limbs than one group, and groups that the threads do not share evenly.
    let primes = primes::ntt_primes(45, degree, 24, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 10,
        units: primes[..19].to_vec(),
        specials: primes[19..].to_vec(),
        sprout: Sprout::default(),
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    let single = Arc::new(Context::new(parameters.clone(), Threads::single()).unwrap());
    let secret = SecretKey::generate(single.rlwe()).unwrap();
    let mut keys = EvaluationKeys::empty(single.rlwe(), secret.fingerprint());
    keys.add_relinearisation(single.rlwe(), &secret).unwrap();
    keys.add_rotations(single.rlwe(), &secret, [1, 2]).unwrap();

    let x = circle(single.max_slots(), 1.0, 0.5);
    let values = Values::Complex(&x);
    let plaintext =
        single.encode(values, x.len(), Scale::power_of_two(45), parameters.top()).unwrap();
    let a = single.encrypt(&secret, &plaintext).unwrap().expand(&single);

    let compute = |context: Arc<Context>| {
        let encoded =
            context.encode(values, x.len(), Scale::power_of_two(45), parameters.top()).unwrap();
        let keys = Arc::new(keys.prepare(context.rlwe()).unwrap());
        let e = Evaluator::new(context, keys);
        let product = e.mul_rescale(&a, &a, Scale::power_of_two(45)).unwrap();
        let rotated = e.rotate(&product, 1).unwrap();
        let mut all = e.rotate_many(&product, &[1, 2]).unwrap();
        assert_eq!(all[0], rotated);
        all.push(e.rescale(&rotated, Scale::power_of_two(10)).unwrap());
        let diagonals = [0, 1, 2, 3].map(|r| (r, circle(x.len(), 1.0, r as f64)));
        let map = LinearTransform::new(x.len(), diagonals.into()).unwrap();
        all.push(e.linear_transform(&product, &map, Scale::power_of_two(45)).unwrap());
        (encoded.poly().clone(), all)
    };
    let expected = compute(single);
    for count in [2, 3, 8] {
        let context = Context::new(parameters.clone(), Threads::new(count).unwrap()).unwrap();
        assert!(compute(Arc::new(context)) == expected, "{count} threads");
    }
}
