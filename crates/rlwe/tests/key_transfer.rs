//! A second parameter set and secret (MG23 3.6): the rule, the transfer with its noise, and errors
//! for operands that do not belong together.

use crate::common::{coefficients, insecure, insecure_grafted, log2_std, polynomial};
use hippocrene_ring::{
    Threads,
    automorphism::{Automorphism, galois_element_of_rotation},
    primes::ntt_primes,
    sample::{Sampler, Seed},
};
use hippocrene_rlwe::{
    Ciphertext, Context, EvaluationKeys, Modulus, Parameters, ParametersLiteral,
    PreparedTransferKey, PublicKey, RlweError, SecretDistribution, SecretKey, Sprout, TransferKey,
    noise,
};
use num_bigint::BigInt;

/// Two sets with a secret each, and the key from one to the other.
struct Setup {
    first: Context,
    second: Context,
    from: SecretKey,
    to: SecretKey,
    key: PreparedTransferKey,
}

impl Setup {
    fn new(first: Context, top: Modulus) -> Self {
        let second = first.parameters().key_transfer_set_insecure(top).unwrap();
        let second = Context::new(second, Threads::single()).unwrap();
        let (from, to) =
            (SecretKey::generate(&first).unwrap(), SecretKey::generate(&second).unwrap());
        let key = TransferKey::generate(&first, &second, &from, &to).unwrap();
        let key = key.prepare(&first, &second).unwrap();
        Setup { first, second, from, to, key }
    }

    /// Three setups: a simple chain; one whose second set leaves out units from the middle; and a
    /// grafted one that keeps one of two odd primes and a smaller power of two.
    fn all() -> [Setup; 3] {
        let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
        let holes = Modulus::of_range(0..3).lcm(Modulus::of_range(5..7));
        let grafted = Modulus::of_range(0..5).lcm(Modulus::of_sprout(0b10, 5));
        [
            Setup::new(insecure(10, 9, 2, 5), Modulus::of_range(0..5)),
            Setup::new(insecure(10, 9, 2, 5), holes),
            Setup::new(insecure_grafted(10, 8, 2, 4, sprout), grafted),
        ]
    }

    /// A fresh ciphertext of `values` modulo `modulus` of the first set.
    fn encrypt(&self, values: &[BigInt], modulus: Modulus) -> Ciphertext {
        let mut message = polynomial(&self.first, values, modulus);
        self.first.to_evaluation(&mut message, modulus);
        self.from.encrypt(&self.first, &message, modulus).unwrap().expand(&self.first)
    }

    /// Transfers `a` to the second set, modulo `to`.
    fn transfer(&self, a: &Ciphertext, to: Modulus) -> Ciphertext {
        let mut out = Ciphertext::empty(&self.second);
        self.first.transfer_into(&mut out, a, &self.key, &self.second, to).unwrap();
        out
    }

    /// Checks that `a`, of the second set, holds `expected` and has the noise that it states.
    fn check(&self, a: &Ciphertext, expected: &[BigInt]) {
        assert_eq!(
            (a.key(), a.parameters()),
            (self.to.fingerprint(), self.second.parameters().digest())
        );
        let got =
            coefficients(&self.second, &self.to.decrypt(&self.second, a).unwrap(), a.modulus());
        let errors: Vec<BigInt> = got.iter().zip(expected).map(|(g, e)| g - e).collect();
        let (measured, estimated) = (log2_std(&errors), a.noise().log2_std());
        assert!(
            (measured - estimated).abs() < 1.5f64.log2(),
            "2^{measured:.2}, estimated 2^{estimated:.2}"
        );
    }
}

fn message(degree: usize, bits: u32) -> Vec<BigInt> {
    let mut words = vec![0; degree];
    Sampler::new(&Seed::from_bytes([9; 32]), 0).uniform(2 << bits, &mut words);
    words.into_iter().map(|w| BigInt::from(w) - (BigInt::from(1) << bits)).collect()
}

/// The set of 2^14 with 40-bit units, for which 430 bits are secure.
fn secure() -> Parameters {
    let degree = 1 << 14;
    Parameters::new(ParametersLiteral {
        log_degree: 14,
        units: ntt_primes(40, degree, 8, &[]).unwrap(),
        specials: ntt_primes(50, degree, 2, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    })
    .unwrap()
}

#[test]
fn second_sets_follow_the_rule() {
    let first = secure();
    let log2_pq = first.log2(first.full());
    for (count, rank, specials) in [(7, 3, 3), (6, 2, 3), (5, 1, 5), (4, 2, 2), (3, 1, 3)] {
        let top = Modulus::of_range(0..count);
        let second = first.key_transfer_set(top).unwrap();
        assert_eq!(second.literal().units, first.literal().units[..count]);
        assert_eq!(
            (second.literal().gadget_rank, second.literal().specials.len()),
            (rank, specials),
            "{count}"
        );
        assert!(second.log2(second.full()) <= log2_pq && second.security() == first.security());
        // P' exceeds the digits by 4 bits, and blocks may exceed their size by half a bit.
        let margin = |p: &Parameters| {
            let digits = p.digits(p.top()).map(|(_, digit)| p.log2(digit));
            p.log2(p.specials()) - digits.fold(0.0, f64::max)
        };
        assert!(margin(&first) > 4.0 && margin(&second) > 3.49, "{count}: {}", margin(&second));
        let (small, large) =
            (second.switching_key_size().seeded, first.switching_key_size().seeded);
        assert!(small * 10 < large * 8, "{count}: {small} of {large}");
    }
    for nothing in [Modulus::ONE, first.full(), Modulus::of_sprout(1, 0)] {
        let error = first.key_transfer_set(nothing).unwrap_err().to_string();
        assert!(error.contains("choose a second parameter set"), "{error}");
    }
    let bare = ParametersLiteral { specials: vec![], gadget_rank: 0, ..first.literal().clone() };
    let error = Parameters::new(bare)
        .unwrap()
        .key_transfer_set(Modulus::of_range(0..2))
        .unwrap_err()
        .to_string();
    assert!(error.contains("0 here"), "{error}");
}

/// Transfers from and to moduli of every kind scale the message by `Q'/Q`.
#[test]
fn transfers_scale_and_have_the_noise_they_state() {
    for setup in Setup::all() {
        let Setup { first, second, key, .. } = &setup;
        let top = second.parameters().top();
        let narrow =
            [top, Modulus::of_range(0..2), top.words(), Modulus::of_range(1..4).lcm(top.sprout())];
        for to in narrow {
            let named = key.modulus(to);
            assert_eq!(first.parameters().limb_moduli(named), second.parameters().limb_moduli(to));
            assert_eq!(
                (key.common(named), key.common(named.lcm(first.parameters().specials()))),
                (to, to)
            );
            assert_eq!(key.common(first.parameters().top()), top);
            for from in [first.parameters().top(), named, Modulus::of_range(0..6)] {
                // The message is a multiple of the divisor, so that the quotient is exact.
                let (added, dropped) = (named.without(from), from.without(named));
                let [added, dropped] = [added, dropped].map(|m| crate::common::number(first, m));
                let small = message(first.degree(), 20);
                let x: Vec<BigInt> = small.iter().map(|x| x * &dropped).collect();
                let out = setup.transfer(&setup.encrypt(&x, from), to);
                assert_eq!(out.modulus(), to);
                setup.check(&out, &small.iter().map(|x| x * &added).collect::<Vec<_>>());
            }
        }
    }
}

/// The second set computes on transferred ciphertexts with its own keys. A rotation adds the noise
/// of its own, smaller gadget.
#[test]
fn the_second_set_computes() {
    for setup in Setup::all() {
        let Setup { first, second, to, key, .. } = &setup;
        let element = galois_element_of_rotation(second.degree(), 1);
        let mut keys = EvaluationKeys::empty(second, to.fingerprint());
        keys.add_rotations(second, to, [1]).unwrap();
        let rank = |c: &Context| c.parameters().literal().gadget_rank;
        assert!(rank(second) < rank(first));
        assert_eq!(keys.galois()[&element].b().len(), rank(second));
        let keys = keys.prepare(second).unwrap();

        let top = second.parameters().top();
        let x = message(first.degree(), 30);
        let fresh = setup.encrypt(&x, first.parameters().top());
        let mut reduced = Ciphertext::empty(first);
        first.reduce_modulus_into(&mut reduced, &fresh, key.modulus(top)).unwrap();
        let a = setup.transfer(&reduced, top);
        setup.check(&a, &x);
        let mut rotated = Ciphertext::empty(second);
        second.apply_galois_into(&mut rotated, &a, element, &keys).unwrap();
        let automorphism = Automorphism::new(second.degree(), element).unwrap();
        setup.check(&rotated, &rotate(&automorphism, &x));
    }
}

fn rotate(automorphism: &Automorphism, x: &[BigInt]) -> Vec<BigInt> {
    let (n, element) = (x.len(), automorphism.galois_element());
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in x.iter().enumerate() {
        let at = i * element % (2 * n);
        out[at % n] = if at < n { x.clone() } else { -x };
    }
    out
}

/// A public-key encryption whose modulus is switched down at once has only the noise of rounding:
/// the gain of MG23 3.6.
#[test]
fn switching_down_at_once_reduces_the_fresh_error() {
    for setup in &Setup::all() {
        let Setup { first, second, from, key, .. } = setup;
        let (wide, top) = (first.parameters().top(), second.parameters().top());
        let dropped = crate::common::number(first, wide.without(key.modulus(top)));
        let small = message(first.degree(), 20);
        let scaled: Vec<BigInt> = small.iter().map(|x| x * &dropped).collect();
        let mut encoded = polynomial(first, &scaled, wide);
        first.to_evaluation(&mut encoded, wide);
        let public = PublicKey::generate(first, from).unwrap();
        let fresh = public.encrypt(first, &encoded, wide).unwrap();
        let out = setup.transfer(&fresh, top);
        setup.check(&out, &small);
        let rounding = noise::rounding(first.parameters().secret_weight(), 2);
        assert!(out.noise().log2_std() < rounding.log2_std() + 0.5);
        assert!(fresh.noise().log2_std() > out.noise().log2_std() + 3.0);
    }
}

#[test]
fn unrelated_operands_are_refused() {
    let setup = &Setup::all()[0];
    let Setup { first, second, from, to, key } = setup;
    let top = second.parameters().top();
    let fresh = setup.encrypt(&message(first.degree(), 20), first.parameters().top());
    let mut out = Ciphertext::empty(second);

    // The secrets are of the wrong sets, or they are the same.
    let swapped = TransferKey::generate(first, second, to, from).unwrap_err();
    assert!(matches!(
        swapped,
        RlweError::ParameterMismatch { operation: "make a transfer key", .. }
    ));
    let same = SecretKey::from_seed(second, from.seed().clone()).unwrap();
    let error = TransferKey::generate(first, second, from, &same).unwrap_err().to_string();
    assert!(error.contains("a secret of its own"), "{error}");

    // A key from another secret; a ciphertext that is already in the second set; contexts in the
    // wrong order.
    let other = SecretKey::generate(first).unwrap();
    let foreign = TransferKey::generate(first, second, &other, to).unwrap();
    assert!(matches!(
        foreign.prepare(second, first),
        Err(RlweError::ParameterMismatch { operation: "prepare a transfer key", .. })
    ));
    let foreign = foreign.prepare(first, second).unwrap();
    let error = first.transfer_into(&mut out, &fresh, &foreign, second, top).unwrap_err();
    assert!(
        matches!(error, RlweError::KeyMismatch { operation: "transfer to the second key", .. }),
        "{error}"
    );
    let arrived = setup.transfer(&fresh, top);
    assert!(matches!(
        first.transfer_into(&mut out, &arrived, key, second, top),
        Err(RlweError::ParameterMismatch { .. })
    ));
    assert!(matches!(
        first.transfer_into(&mut out, &fresh, key, first, top),
        Err(RlweError::ParameterMismatch { .. })
    ));
    assert!(from.decrypt(first, &arrived).is_err() && to.decrypt(second, &fresh).is_err());

    // A modulus with a special or beyond the second set; a ciphertext of three parts.
    for bad in [second.parameters().full(), first.parameters().top(), Modulus::ONE] {
        let error = first.transfer_into(&mut out, &fresh, key, second, bad).unwrap_err();
        assert!(matches!(error, RlweError::Modulus { .. }), "{error}");
    }
    let mut product = Ciphertext::empty(first);
    first.tensor_into(&mut product, &fresh, &fresh).unwrap();
    assert!(matches!(
        first.transfer_into(&mut out, &product, key, second, top),
        Err(RlweError::Parts { have: 3, .. })
    ));
}

/// Sets that are not second sets of another because of degree, secret, units, their order, or
/// sprout.
#[test]
fn unrelated_sets_are_refused() {
    let sprout = |two, primes: &[u64]| Sprout { two, primes: primes.to_vec() };
    let context = |literal: ParametersLiteral| {
        Context::new(Parameters::new_insecure(literal).unwrap(), Threads::single()).unwrap()
    };
    let first = insecure_grafted(10, 6, 1, 3, sprout(4, &[12289]));
    let base = ParametersLiteral { gadget_rank: 2, ..first.parameters().literal().clone() };
    let mut reversed = base.clone();
    reversed.units.reverse();
    let foreign = insecure(10, 3, 1, 3).parameters().literal().specials.clone();
    let cases = [
        (insecure(11, 3, 1, 3).parameters().literal().clone(), "2^11"),
        (
            ParametersLiteral {
                secret: SecretDistribution::SparseTernary { weight: 64 },
                ..base.clone()
            },
            "weight 64",
        ),
        (reversed, "in its order"),
        (
            ParametersLiteral { units: foreign, gadget_rank: 1, ..base.clone() },
            "units of the first",
        ),
        (ParametersLiteral { sprout: sprout(5, &[12289]), ..base.clone() }, "sprout"),
        (ParametersLiteral { sprout: sprout(4, &[40961]), ..base.clone() }, "sprout"),
    ];
    let from = SecretKey::generate(&first).unwrap();
    for (literal, message) in cases {
        let second = context(literal);
        let to = SecretKey::generate(&second).unwrap();
        let error = TransferKey::generate(&first, &second, &from, &to).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let second = context(base);
    let to = SecretKey::generate(&second).unwrap();
    assert!(TransferKey::generate(&first, &second, &from, &to).is_ok());
}

/// A transfer key is a sample of the second secret modulo `PQ` of the first set. So `PQ` must not
/// exceed the limit of a secure second secret.
#[test]
fn the_transfer_key_keeps_to_the_limit_of_the_second_secret() {
    let degree = 1 << 12;
    let wide = ParametersLiteral {
        log_degree: 12,
        units: ntt_primes(34, degree, 3, &[]).unwrap(),
        specials: ntt_primes(36, degree, 1, &[]).unwrap(),
        sprout: Sprout::default(),
        gadget_rank: 3,
        secret: SecretDistribution::Ternary,
    };
    let narrow =
        ParametersLiteral { units: wide.units[..1].to_vec(), gadget_rank: 1, ..wide.clone() };
    assert!(matches!(Parameters::new(wide.clone()), Err(RlweError::Insecure { .. })));
    let insecure = Parameters::new_insecure(wide).unwrap();
    let error = insecure.key_transfer_set(Modulus::of_range(0..1)).unwrap_err();
    assert!(matches!(error, RlweError::Insecure { limit: 106, .. }), "{error}");
    let context = |parameters: Parameters| Context::new(parameters, Threads::single()).unwrap();
    let (first, second) = (context(insecure), context(Parameters::new(narrow.clone()).unwrap()));
    let (from, to) = (SecretKey::generate(&first).unwrap(), SecretKey::generate(&second).unwrap());
    let error = TransferKey::generate(&first, &second, &from, &to).unwrap_err();
    assert!(
        matches!(error, RlweError::Insecure { limit: 106, have, .. } if have > 137.0),
        "{error}"
    );
    // The key is made if the second set is declared insecure.
    let second = context(Parameters::new_insecure(narrow).unwrap());
    let to = SecretKey::generate(&second).unwrap();
    assert!(TransferKey::generate(&first, &second, &from, &to).is_ok());
}
