//! Tests of ciphertexts that are transferred to a second parameter set and secret and used there
//! (MG23 3.6).

use std::sync::Arc;

use crate::common::{Setup, circle, grafted, insecure, setup};
use hippocrene_ckks::{Ciphertext, CkksError, Scale, Transfer};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{Modulus, TransferKey};

/// Returns two sets, each with its keys, and the transfer from one to the other.
fn pair(first: Setup, top: Modulus) -> (Setup, Setup, Transfer) {
    let parameters = first.context.parameters().key_transfer_set_insecure(top).unwrap();
    let second = setup(parameters, &[1], Threads::single(), first.scale);
    let (from, to) = (first.context.rlwe(), second.context.rlwe());
    let key = TransferKey::generate(from, to, &first.secret, &second.secret).unwrap();
    let transfer =
        Transfer::new(Arc::clone(&first.context), Arc::clone(&second.context), &key).unwrap();
    (first, second, transfer)
}

fn pairs() -> [(Setup, Setup, Transfer); 2] {
    let simple = insecure(10, 7, &[]);
    let grafted = grafted(10, 6, "sprout-15-16-32", &[]);
    let top = Modulus::of_range(0..4).lcm(grafted.top().sprout());
    [pair(simple, Modulus::of_range(0..4)), pair(grafted, top)]
}

/// Transfers from the top modulus and after a product of the first set, followed by a product and a
/// rotation of the second.
#[test]
fn transferred_ciphertexts_can_be_computed_with() {
    for (first, second, transfer) in pairs() {
        let slots = first.context.max_slots();
        let (x, y) = (circle(slots, 1.0, 0.3), circle(slots, 0.8, 1.1));
        let (a, b) = (first.encrypt(&x), first.encrypt(&y));
        let ab = first.evaluator.mul_rescale(&a, &b, first.scale).unwrap();
        let (a, ab) = (transfer.transfer(&a).unwrap(), transfer.transfer(&ab).unwrap());
        let xy: Vec<_> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        assert_eq!(a.modulus(), second.top());
        assert_eq!(a.scale(), first.scale);
        second.check(&a, &x, "transferred from the top");
        second.check(&ab, &xy, "transferred after a product");

        let (left, right) = second.evaluator.align(&a, &ab).unwrap();
        let product = second.evaluator.mul_rescale(&left, &right, second.scale).unwrap();
        let xxy: Vec<_> = x.iter().zip(&xy).map(|(x, z)| x * z).collect();
        second.check(&product, &xxy, "product of the second set");
        let rotated = second.evaluator.rotate(&product, 1).unwrap();
        let expected: Vec<_> = (0..slots).map(|i| xxy[(i + 1) % slots]).collect();
        second.check(&rotated, &expected, "rotation of the second set");
    }
}

/// A product that is not rescaled is brought to a modulus of the second set in a single switch.
#[test]
fn a_transfer_rescales() {
    for (first, second, transfer) in pairs() {
        let x = circle(first.context.max_slots(), 1.0, 0.7);
        let a = first.encrypt(&x);
        let square = first.evaluator.mul(&a, &a).unwrap();
        let to = Modulus::of_range(0..3);
        let named = transfer.key().modulus(to);
        let bits = |m: Modulus| first.context.parameters().log2(m);
        // The transfer starts from a divisor that has about the bits of one scale more.
        let from = Modulus::of_range(0..4);
        assert!((bits(from) - bits(named) - 40.0).abs() < 9.0);
        let square = first.evaluator.reduce_modulus(&square, from).unwrap();
        let mut out = Ciphertext::empty(&second.context);
        transfer.transfer_to_into(&mut out, &square, to).unwrap();
        assert!(
            (out.scale().log2() - 80.0 + bits(from) - bits(named)).abs() < 1e-6
                && out.modulus() == to
        );
        second.check(&out, &x.iter().map(|x| x * x).collect::<Vec<_>>(), "square");
    }
}

#[test]
fn values_too_large_for_the_second_set_are_refused() {
    let [(first, second, transfer), _] = pairs();
    let x = circle(first.context.max_slots(), 1.0, 0.7);
    let large = first.encrypt_at(&x, x.len(), Scale::power_of_two(175), first.top());
    let error = transfer.transfer(&large).unwrap_err();
    assert!(
        matches!(error, CkksError::Capacity { operation: "transfer to the second key", .. }),
        "{error}"
    );
    assert!(
        transfer
            .transfer(&second.encrypt(&x))
            .unwrap_err()
            .to_string()
            .contains("made with the parameters")
    );
    let other = insecure(10, 7, &[]);
    let error = transfer.transfer(&other.encrypt(&x)).unwrap_err().to_string();
    assert!(error.contains("encrypted under key"), "{error}");
}
