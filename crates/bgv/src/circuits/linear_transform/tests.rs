//! The results of a map do not depend on the batches in which it is computed.

use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    self as rlwe, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey,
    Sprout,
};

use super::*;

/// Returns insecure keys of ring degree `2^8` for these rotations and the exchange of rows.
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
    let rlwe = Arc::new(rlwe::Context::new(parameters.unwrap(), Threads::single()).unwrap());
    let secret = SecretKey::generate(&rlwe).unwrap();
    let mut keys = EvaluationKeys::empty(&rlwe, secret.fingerprint());
    keys.add_rotations(&rlwe, &secret, rotations).unwrap();
    keys.add_galois(&rlwe, &secret, galois_element_of_conjugation(degree)).unwrap();
    let keys = Arc::new(keys.prepare(&rlwe).unwrap());
    (secret, Evaluator::new(Arc::new(Context::new(rlwe, 7681).unwrap()), keys))
}

#[test]
fn batches_give_the_same_results() {
    check(insecure(0..128));
}

/// Rotations without a key are composed here.
#[test]
fn batches_give_the_same_results_with_few_keys() {
    check(insecure((0..7).map(|k| 1 << k)));
}

fn check((secret, e): (SecretKey, Evaluator)) {
    let (context, degree) = (e.context(), e.context().rlwe().degree());
    let values = |k: i64| (0..degree as i64).map(|i| i * (k + 3) % 7681).collect::<Vec<_>>();
    let encrypt =
        |k| context.encrypt(&secret, &context.encode(&values(k)).unwrap()).unwrap().expand(context);
    let operands: Vec<Ciphertext> = (0..5).map(encrypt).collect();
    let diagonal = |r: usize| (0..degree).map(|i| ((i + 5 * r) % 11) as i64).collect::<Vec<i64>>();
    let permutation = |r: usize| Permutation { exchanged: r % 2 == 1, rotation: 3 * r };
    let diagonals: BTreeMap<_, _> = (0..40).map(|r| (permutation(r), diagonal(r))).collect();
    let t = LinearTransform::new(context, &diagonals).unwrap();
    let giants = t.giant.len();
    assert!(giants > 3, "{giants}");
    let expected = |k: i64| -> Vec<u64> {
        let (row, values) = (degree / 2, values(k));
        let at = |p: &Permutation, i: usize| {
            let side = (i / row + usize::from(p.exchanged)) % 2;
            values[side * row + (i + p.rotation) % row]
        };
        let sum = |i| diagonals.iter().map(|(p, d)| d[i] * at(p, i)).sum::<i64>();
        (0..degree).map(|i| sum(i) as u64 % 7681).collect()
    };
    let modulus = operands[0].modulus();
    let common = e.modulus_of_keys(&t, modulus);
    let extended = context.rlwe().rotation_modulus(modulus, common).unwrap();
    for (encodings, giants, sums) in [
        (Encodings::Kept, giants, 5),
        (Encodings::Kept, giants, 2),
        (Encodings::Whole, giants, 5),
        (Encodings::Whole, 2, 2),
        (Encodings::Whole, 1, 1),
        (Encodings::ByLimb, 3, 2),
    ] {
        let batch = Batch { encodings, giants, operands: 5, sums };
        let totals = e.sums_of_giant_steps(&operands, &t, [common, extended], batch).unwrap();
        for ((total, a), k) in totals.into_iter().zip(&operands).zip(0..) {
            let mut out = Ciphertext::empty(context);
            total.divide_into(out.inner_mut(), a.modulus()).unwrap();
            out.set_factor(a.factor());
            let got = context.encoder().decode(&context.decrypt(&secret, &out).unwrap()).unwrap();
            assert_eq!(got, expected(k), "{batch:?}");
        }
    }
}
