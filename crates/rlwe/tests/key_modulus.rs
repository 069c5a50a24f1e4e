//! Keys for smaller moduli: their noise, their sizes and their errors.

use crate::common::{insecure, keyswitch::Setup, log2_std};
use hippocrene_ring::{Domain, automorphism::galois_element_of_rotation, sample::Seed};
use hippocrene_rlwe::{
    Ciphertext, Destination, EvaluationKeys, Modulus, RlweError, SwitchingKey, expand_uniform,
    noise::rounding,
};

/// Returns the same context with a key for ciphertexts modulo `modulus` and its divisors.
fn at(setup: Setup, modulus: Modulus) -> Setup {
    let Setup { context, secret, element, .. } = setup;
    let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
    keys.add_galois_at(&context, &secret, element, modulus).unwrap();
    let keys = keys.prepare(&context).unwrap();
    Setup { context, secret, keys, element }
}

/// This tests every divisor of the modulus, with every gadget that the key allows. The measured
/// noise is as stated and within the bound for all keys. Keys coalesced ahead give the same bits as
/// sums during the switch. The planned gadget is one of these gadgets.
#[test]
fn smaller_keys_have_the_noise_they_state_at_every_divisor() {
    for (i, setup) in Setup::all().into_iter().enumerate() {
        let moduli = setup.moduli();
        let modulus = moduli[[4, 7, 22, 16][i]];
        let setup = at(setup, modulus);
        let (context, parameters) = (&setup.context, setup.context.parameters());
        let key = setup.keys.galois(setup.element).unwrap().modulus();
        assert!(modulus.divides(key) && key != parameters.full());
        let limit = parameters.largest_switching_noise();
        let limit = limit.plus(rounding(parameters.secret_weight(), 2)).log2_std();
        let mut largest = 1;
        for modulus in moduli.into_iter().filter(|m| m.divides(modulus)) {
            let c = setup.uniform(modulus, 5);
            let gadgets = parameters.gadgets_within(modulus, key);
            assert!(gadgets.contains(&context.gadget_within(modulus, key).unwrap()));
            // Coalesced components are tested even if they make the same digits.
            for gadget in gadgets.into_iter().chain(parameters.gadget_within(modulus, 2, key)) {
                largest = largest.max(gadget.group());
                let destination = Destination::new(modulus);
                let out = setup.switch(&c, modulus, gadget, [None, None], &destination);
                let measured = log2_std(&setup.error(&c, modulus, &out));
                let estimated =
                    context.key_switch_noise_within(modulus, gadget, key, modulus).unwrap();
                let estimated = estimated.log2_std();
                assert!(
                    (measured - estimated).abs() < 1.5f64.log2(),
                    "{gadget:?} at {modulus:?}: measured 2^{measured:.2}, estimated \
                     2^{estimated:.2}"
                );
                assert!(
                    estimated <= limit + 0.1,
                    "{gadget:?} at {modulus:?}: 2^{estimated} over 2^{limit}"
                );
                context.set_key_memory(0);
                assert_eq!(out, setup.switch(&c, modulus, gadget, [None, None], &destination));
                context.set_key_memory(1 << 30);
            }
        }
        assert!(largest >= 2, "coalesced by {largest}");
    }
}

/// The components of a smaller key are those of a key modulo `PQ_max`, as far as it has them:
/// `b + a s - P g s'` is small.
#[test]
fn a_smaller_key_has_fewer_digits_and_limbs() {
    let setup = Setup::new(insecure(10, 9, 3, 3));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    let size = |units| {
        let mut keys = EvaluationKeys::empty(context, setup.secret.fingerprint());
        keys.add_galois_at(context, &setup.secret, setup.element, Modulus::of_range(0..units))
            .unwrap();
        let key = &keys.galois()[&setup.element];
        let limbs = key.b()[0].limb_count();
        assert_eq!(limbs, key.modulus().limb_count());
        assert_eq!(
            keys.stored_bytes(context).unwrap(),
            parameters.switching_key_size_at(key.modulus()).seeded
        );
        assert_eq!(
            parameters.switching_key_size_at(key.modulus()).words,
            16 * 1024 * key.b().len() * limbs
        );
        let prepared = keys.clone().into_prepared(context).unwrap();
        assert_eq!(prepared.galois(setup.element).unwrap().modulus(), key.modulus());
        (key.b().len(), limbs, prepared.bytes())
    };
    let (whole, middle, small) = (size(9), size(6), size(1));
    // Blocks have three units. A single unit needs only two of the three specials.
    assert_eq!(
        [(whole.0, whole.1), (middle.0, middle.1), (small.0, small.1)],
        [(3, 12), (2, 9), (1, 3)]
    );
    assert!(2 * middle.2 <= whole.2 && 11 * small.2 <= whole.2);
    assert_eq!(
        parameters.switching_key_size(),
        parameters.switching_key_size_at(parameters.full())
    );
}

/// A key for other moduli is replaced by one for both. A key that is large enough stays.
#[test]
fn keys_grow_to_the_requested_moduli() {
    let setup = Setup::new(insecure(10, 6, 2, 3));
    let (context, secret, element) = (&setup.context, &setup.secret, setup.element);
    let mut keys = EvaluationKeys::empty(context, secret.fingerprint());
    let mut add = |units: &[usize]| {
        let modulus = units.iter().map(|i| Modulus::of_factor(*i)).fold(Modulus::ONE, Modulus::lcm);
        keys.add_rotations_at(context, secret, [1], modulus).unwrap();
        let key = &keys.galois()[&element];
        (key.modulus().gcd(context.parameters().top()), key.seed().as_bytes().to_vec())
    };
    let first = add(&[0, 1]);
    assert_eq!(first.0, Modulus::of_range(0..2));
    assert_eq!(add(&[1]), first);
    let both = add(&[2]);
    assert!(both.0 == Modulus::of_range(0..3) && both.1 != first.1);
    assert_eq!(add(&[0, 1, 2]), both);
    keys.add_rotations(context, secret, [1]).unwrap();
    let full = keys.galois()[&element].clone();
    assert_eq!(full.modulus(), context.parameters().full());
    keys.add_rotations_at(context, secret, [1], Modulus::of_range(0..2)).unwrap();
    keys.add_rotations(context, secret, [1]).unwrap();
    assert_eq!(keys.galois()[&element].seed().as_bytes(), full.seed().as_bytes());
}

#[test]
fn above_its_modulus_a_key_is_refused_and_both_are_named() {
    let low = Modulus::of_range(0..2);
    let setup = at(Setup::new(insecure(10, 6, 2, 3)), low);
    let (context, secret) = (&setup.context, &setup.secret);
    let top = context.parameters().top();
    let message = context.zero(top, Domain::Evaluation);
    let a = secret.encrypt(context, &message, top).unwrap().expand(context);
    let mut out = Ciphertext::empty(context);
    let words = "of lower capacity: modulo 162.0 bits (4 limbs), no multiple of the 322.0 bits (8 limbs) \
                 that are needed";
    let refused = |result: Result<(), RlweError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(context.apply_galois_into(&mut out, &a, setup.element, &setup.keys));
    let key = setup.keys.galois(setup.element).unwrap();
    refused(context.hoist_within(&a, key.modulus()).map(drop));
    refused(context.gadget_within(top, key.modulus()).map(drop));
    // A decomposition for other keys.
    let hoisted = context.hoist(&a).unwrap();
    let error =
        context.apply_galois_hoisted_into(&mut out, &a, &hoisted, setup.element, &setup.keys);
    assert!(matches!(error, Err(RlweError::KeyModulus { .. })), "{error:?}");
    assert!(matches!(
        setup.keys.galois_at(setup.element, context, top),
        Err(RlweError::KeyModulus { .. })
    ));
    assert!(setup.keys.galois_at(setup.element, context, low).is_ok());
    let element = galois_element_of_rotation(context.degree(), 1);
    let mut keys = EvaluationKeys::empty(context, secret.fingerprint());
    assert!(keys.add_galois_at(context, secret, element, context.parameters().full()).is_err());
    assert!(keys.add_galois_at(context, secret, element, Modulus::ONE).is_err());

    // Moduli that keys cannot have, and parts that do not match.
    let full = context.parameters().full();
    let seed = || Seed::from_bytes([1; 32]);
    for modulus in [top, context.parameters().specials(), Modulus::of_factor(50)] {
        assert!(SwitchingKey::from_parts(context, modulus, seed(), Vec::new()).is_err());
    }
    let whole = expand_uniform(context, &seed(), 0, full);
    assert!(SwitchingKey::from_parts(context, full, seed(), vec![whole.clone(); 3]).is_ok());
    assert!(SwitchingKey::from_parts(context, key.modulus(), seed(), vec![whole.clone()]).is_err());
    assert!(SwitchingKey::from_parts(context, full, seed(), vec![whole]).is_err());
}

/// A key for smaller moduli is ignored where it does not serve, and the rotation is composed of
/// others.
#[test]
fn rotations_are_composed_where_their_own_key_is_too_small() {
    let context = insecure(6, 6, 1, 6);
    let (top, low) = (context.parameters().top(), Modulus::of_range(0..2));
    let secret = hippocrene_rlwe::SecretKey::generate(&context).unwrap();
    let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
    keys.add_rotations(&context, &secret, [1, 2]).unwrap();
    keys.add_rotations_at(&context, &secret, [3], low).unwrap();
    let keys = keys.prepare(&context).unwrap();
    let [one, two, three] =
        [1, 2, 3].map(|steps| galois_element_of_rotation(context.degree(), steps));
    let elements =
        |modulus| keys.rotation_elements(context.degree(), context.degree() / 2, 3, modulus);
    assert_eq!(
        (elements(low).as_slice(), elements(top).as_slice()),
        (&[three][..], &[one, two][..])
    );
    assert!(keys.has_galois(three, low) && !keys.has_galois(three, top));
    let full = context.parameters().full();
    assert_eq!(keys.common_modulus(&context, top, [one, three]), full);
    assert_ne!(keys.common_modulus(&context, low, [one, three]), full);
}
