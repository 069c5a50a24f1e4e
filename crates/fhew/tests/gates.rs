//! Tests of gates: results, noise estimates and refused operands.

use crate::common::assert_noise;
use hippocrene_fhew::{
    FhewError, GateEvaluator, GateKeys, GateParameters, GateSecretKey, LweCiphertext,
    LweParameters, LweSwitchingKey, MIN_GATE_DEVIATIONS, RotationGadget, RotationParameters,
};
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Gate, RlweError, SecretDistribution};
use proptest::prelude::*;

struct Keys {
    secret: GateSecretKey,
    evaluator: GateEvaluator,
}

fn keys(parameters: GateParameters) -> Keys {
    let secret = GateSecretKey::generate(parameters).unwrap();
    let threads = Threads::new(2).unwrap();
    let evaluator = GateKeys::generate(&secret, &threads).unwrap().prepare(&threads).unwrap();
    Keys { secret, evaluator }
}

/// Makes insecure keys with inputs of dimension 40, which is not a power of two, and ring degree
/// 256.
fn insecure(secret: SecretDistribution) -> Keys {
    let of = |dimension: usize, bits, secret| {
        let q = ntt_primes(bits, dimension.next_power_of_two(), 1, &[]).unwrap()[0];
        LweParameters::insecure(dimension, q, secret).unwrap()
    };
    let gadget = RotationGadget::Digits { base_log2: 8, count: 3 };
    let rotation = RotationParameters::insecure(
        of(40, 16, secret),
        of(256, 30, SecretDistribution::Ternary),
        gadget,
    );
    keys(GateParameters::insecure(rotation.unwrap(), (2, 8)).unwrap())
}

fn encrypt(secret: &GateSecretKey, bits: &[bool]) -> Vec<LweCiphertext> {
    let degree = secret.parameters().rotation().ring().dimension();
    let expanded = secret.encrypt(bits).unwrap().expand().unwrap();
    (0..bits.len()).map(|i| expanded[i / degree].extract(i % degree).unwrap()).collect()
}

/// Returns the gates that need one rotation, each with its numbers of operands.
fn gates() -> impl Iterator<Item = (Gate, usize)> {
    let all = Gate::ALL.into_iter().flat_map(|gate| [(gate, 2), (gate, 3)]);
    all.filter(|(gate, count)| match gate {
        Gate::Xor | Gate::Xnor => true,
        Gate::Majority => *count == 3,
        _ => *count == 2,
    })
}

#[test]
fn every_gate_of_every_operand() {
    for distribution in [SecretDistribution::Binary, SecretDistribution::Ternary] {
        let Keys { secret, evaluator } = insecure(distribution);
        for (gate, count) in gates() {
            for word in 0..1 << count {
                let plain: Vec<bool> = (0..count).map(|i| word >> i & 1 == 1).collect();
                let bits = encrypt(&secret, &plain);
                let result = evaluator.gate(gate, &bits.iter().collect::<Vec<_>>()).unwrap();
                let ones = plain.iter().filter(|bit| **bit).count();
                assert_eq!(
                    secret.decrypt(&result).unwrap(),
                    gate.value(ones, count),
                    "{gate:?} of {plain:?}"
                );
                assert_eq!(result.noise(), secret.parameters().gate_noise());
            }
        }
        for word in 0..8 {
            let plain = [word & 1 == 1, word & 2 == 2, word & 4 == 4];
            let bits = encrypt(&secret, &plain);
            let items = [[&bits[0], &bits[1], &bits[2]]];
            let result = evaluator.select_all(&items, &Threads::single()).unwrap().swap_remove(0);
            assert_eq!(
                secret.decrypt(&result).unwrap(),
                if plain[0] { plain[1] } else { plain[2] }
            );
            assert_eq!(result.noise(), secret.parameters().select_noise());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Circuits of forty random gates, multiplexers, complements and constants give the same bits
    /// as plain computation.
    #[test]
    fn circuits(
        steps in proptest::collection::vec((0usize..11, any::<[u8; 3]>()), 40),
        start in any::<u8>(),
    ) {
        let Keys { secret, evaluator } = insecure(SecretDistribution::Binary);
        let mut plain: Vec<bool> = (0..8).map(|i| start >> i & 1 == 1).collect();
        let mut bits = encrypt(&secret, &plain);
        let all: Vec<(Gate, usize)> = gates().collect();
        for (step, places) in steps {
            let at = places.map(|place| usize::from(place) % bits.len());
            let operands = at.map(|i| &bits[i]);
            let (bit, value) = match all.get(step) {
                Some((gate, count)) => {
                    let ones = at[..*count].iter().filter(|i| plain[**i]).count();
                    (evaluator.gate(*gate, &operands[..*count]).unwrap(), gate.value(ones, *count))
                }
                None if step == 9 => {
                    let bit = evaluator
                        .select_all(&[operands], &Threads::single())
                        .unwrap()
                        .swap_remove(0);
                    (bit, if plain[at[0]] { plain[at[1]] } else { plain[at[2]] })
                }
                None if places[0] % 2 == 0 => (evaluator.not(operands[1]), !plain[at[1]]),
                None => (evaluator.trivial(places[1] % 2 == 0).unwrap(), places[1] % 2 == 0),
            };
            bits.push(bit);
            plain.push(value);
        }
        for (bit, value) in bits.iter().zip(plain) {
            prop_assert_eq!(secret.decrypt(bit).unwrap(), value);
        }
    }
}

/// The standard parameter set computes a chain of gates on several threads, with errors as
/// estimated.
#[test]
fn the_standard_set() {
    let Keys { secret, evaluator } = keys(GateParameters::standard().unwrap());
    let parameters = secret.parameters();
    let plain: Vec<bool> = (0..96).map(|i| i * 7 % 5 % 2 == 1).collect();
    let bits = encrypt(&secret, &plain);
    let two = Threads::new(2).unwrap();
    let (eighth, q) = ((parameters.message(true) as i64), parameters.rotation().ring().modulus());
    let mut errors = Vec::new();
    let operands: Vec<[&LweCiphertext; 3]> =
        (0..96).map(|i| [&bits[i], &bits[(i + 1) % 96], &bits[(i + 5) % 96]]).collect();
    for (gate, count) in gates() {
        let items: Vec<(Gate, &[&LweCiphertext])> =
            operands.iter().map(|of| (gate, &of[..count])).collect();
        for (i, result) in evaluator.gate_all(&items, &two).unwrap().iter().enumerate() {
            let ones =
                [i, (i + 1) % 96, (i + 5) % 96][..count].iter().filter(|i| plain[**i]).count();
            let value = gate.value(ones, count);
            assert_eq!(secret.decrypt(result).unwrap(), value, "{gate:?} {i}");
            errors.push(error(&secret, result, if value { eighth } else { -eighth }, q));
        }
    }
    assert_noise(&errors, parameters.gate_noise(), "results of gates");
    let selected = evaluator.select_all(&operands, &two).unwrap();
    let errors: Vec<f64> = selected
        .iter()
        .enumerate()
        .map(|(i, result)| {
            let value = if plain[i] { plain[(i + 1) % 96] } else { plain[(i + 5) % 96] };
            error(&secret, result, if value { eighth } else { -eighth }, q)
        })
        .collect();
    assert_noise(&errors, parameters.select_noise(), "results of multiplexers");
    assert_eq!(evaluator.rotations(), 9 * 96 + 2 * 96);
}

/// Returns the difference between the phase of a bit and its message.
fn error(secret: &GateSecretKey, bit: &LweCiphertext, message: i64, q: u64) -> f64 {
    let phase = secret.phase(bit).unwrap();
    crate::common::centred_difference(phase, message, q)
}

/// A switch to inputs whose dimension is not a power of two has the estimated error.
#[test]
fn switches_to_any_dimension() {
    let q = ntt_primes(20, 64, 1, &[]).unwrap()[0];
    let (source, target) = (crate::common::ternary(256, q), crate::common::ternary(40, q));
    let key = LweSwitchingKey::generate(&source, &target, 4, 5).unwrap().prepare().unwrap();
    let errors: Vec<f64> = (0..300)
        .map(|i| {
            let message = i * 1009 % q;
            let switched = key.switch(&source.encrypt(message).unwrap()).unwrap();
            assert_eq!(switched.a().len(), 40);
            crate::common::centred_difference(target.decrypt(&switched).unwrap(), message as i64, q)
        })
        .collect();
    assert_noise(&errors, key.noise(), "256 to 40");
}

#[test]
fn mistakes_are_named() {
    let Keys { secret, evaluator } = insecure(SecretDistribution::Binary);
    let [a, b, c] = &encrypt(&secret, &[true, false, true])[..] else { panic!() };
    for (gate, bits) in
        [(Gate::And, vec![a, b, c]), (Gate::Majority, vec![a, b]), (Gate::Xor, vec![a])]
    {
        let error = evaluator.gate(gate, &bits).unwrap_err();
        let words = format!("{}: {} operands, but", gate.name(), bits.len());
        assert!(
            matches!(&error, FhewError::Operands { .. }) && error.to_string().starts_with(&words),
            "{error}"
        );
    }
    let other = insecure(SecretDistribution::Binary);
    let error = evaluator.gate(Gate::And, &[a, &encrypt(&other.secret, &[true])[0]]).unwrap_err();
    assert!(
        matches!(error, FhewError::Rlwe(RlweError::KeyMismatch { operation: "and", .. })),
        "{error}"
    );
    assert!(secret.decrypt(&encrypt(&other.secret, &[true])[0]).is_err());

    // No sum of results of gates has so large an error.
    let mut sum = evaluator.gate(Gate::And, &[a, b]).unwrap();
    sum.set_noise(sum.noise().scaled(8.0));
    let error = evaluator.gate(Gate::And, &[&sum, b]).unwrap_err();
    assert!(matches!(error, FhewError::Uncertain { need: MIN_GATE_DEVIATIONS, .. }), "{error}");

    // Digits of 14 bits would leave errors that are too large, so these parameters are refused.
    let rotation = secret.parameters().rotation();
    let gadget = RotationGadget::Digits { base_log2: 15, count: 2 };
    let coarse = RotationParameters::insecure(rotation.input(), rotation.ring(), gadget).unwrap();
    assert!(matches!(GateParameters::insecure(coarse, (2, 8)), Err(FhewError::Parameters { .. })));
    assert!(!format!("{secret:?}").contains("coefficients"));
}
