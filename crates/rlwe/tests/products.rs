//! Compares products that are computed limb by limb in the key switch with a separate tensor
//! product and relinearisation.

use crate::common::{insecure, insecure_grafted, insecure_threads};
use hippocrene_ring::{Threads, sample::Seed};
use hippocrene_rlwe::{
    Ciphertext, Context, EvaluationKeys, Modulus, Noise, SecretKey, Sprout, expand_uniform,
};

/// A ciphertext with uniform parts. Its message does not matter.
fn uniform(context: &Context, secret: &SecretKey, modulus: Modulus, seed: u8) -> Ciphertext {
    let parts =
        [0, 1].map(|i| expand_uniform(context, &Seed::from_bytes([seed; 32]), i, modulus)).to_vec();
    Ciphertext::from_parts(context, parts, modulus, Noise::NONE, secret.fingerprint()).unwrap()
}

#[test]
fn products_in_one_pass_equal_those_in_two() {
    let sprout = |two, primes: &[u64]| Sprout { two, primes: primes.to_vec() };
    let contexts = [
        insecure(10, 5, 2, 3),
        insecure_threads(10, 5, 2, 3, Sprout::default(), Threads::new(3).unwrap()),
        insecure_grafted(10, 5, 2, 3, sprout(0, &[65537, 114_689])),
        insecure_grafted(10, 5, 2, 3, sprout(15, &[65537])),
    ];
    for context in contexts {
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        keys.add_relinearisation(&context, &secret).unwrap();
        let keys = keys.prepare(&context).unwrap();
        let top = context.parameters().top();
        let moduli = [
            top,
            top.words(),
            Modulus::of_range(0..2),
            Modulus::of_range(1..4).lcm(Modulus::of_sprout(top.odd() & 1, 0)),
        ];
        for (from, to) in moduli.into_iter().flat_map(|from| moduli.map(|to| (from, to))) {
            let (a, b) = (uniform(&context, &secret, from, 1), uniform(&context, &secret, from, 2));
            for (left, right, n) in [(&a, &b, 1), (&a, &b, 65537), (&a, &a, 1), (&a, &a, 3)] {
                let mut out = Ciphertext::empty(&context);
                context.multiply_into(&mut out, left, right, n, &keys, to).unwrap();
                let (mut tensor, mut expected) =
                    (Ciphertext::empty(&context), Ciphertext::empty(&context));
                context.tensor_into(&mut tensor, left, right).unwrap();
                context.mul_constant_assign(&mut tensor, |q| n % q).unwrap();
                context.relinearise_into(&mut expected, &tensor, &keys, to).unwrap();
                assert_eq!(out.parts(), expected.parts(), "from {from:?} to {to:?}, {n} times");
            }
        }
    }
}
