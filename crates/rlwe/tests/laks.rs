//! The gadgets that one key allows (LAKS), at every modulus: noise, the paper's bound, transforms,
//! domains and memory.

use crate::common::{insecure, keyswitch::Setup, log2_std, polynomial};
use hippocrene_ring::{Domain, Poly, sample::SIGMA};
use hippocrene_rlwe::{
    Destination, EvaluationKeys, Gadget, Modulus, PreparedEvaluationKeys, noise::rounding,
};
use num_bigint::BigInt;

/// At every modulus, every gadget has its own special modulus and at most the noise of the base
/// gadget at the top. The measured noise is as estimated. Keys coalesced ahead give the same bits
/// as sums during the switch.
#[test]
fn every_gadget_at_every_modulus_has_the_noise_it_states() {
    for setup in Setup::all() {
        let (context, parameters) = (&setup.context, setup.context.parameters());
        let limit = parameters.largest_switching_noise();
        let limit = limit.plus(rounding(parameters.secret_weight(), 2)).log2_std();
        let mut largest = 1;
        for modulus in setup.moduli() {
            let c = setup.uniform(modulus, 5);
            let gadgets = parameters.gadgets(modulus);
            assert_eq!(gadgets[0].group(), 1);
            let planned = context.gadget(modulus).unwrap();
            assert!(
                gadgets.contains(&planned) || parameters.double_gadgets(modulus).contains(&planned)
            );
            // Coalesced components are tested even if they make the same digits.
            let gadgets = gadgets.into_iter().chain(parameters.gadget(modulus, 4));
            for gadget in gadgets.chain([parameters.base_gadget()]) {
                largest = largest.max(gadget.group());
                assert!(gadget.specials().gcd(modulus).is_one());
                let destination = Destination::new(modulus);
                let out = setup.switch(&c, modulus, gadget, [None, None], &destination);
                let measured = log2_std(&setup.error(&c, modulus, &out));
                let estimated =
                    context.key_switch_noise_with(modulus, gadget, modulus).unwrap().log2_std();
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
        assert!(largest >= 4, "coalesced by {largest}");
    }
}

/// The bound of LAKS 4.3 is `3/2 + N/2 (|s| + L |e| max D / P')`, with key errors up to `12 sigma`.
/// A draw of the sampler exceeds that with a probability below `2^-107`.
#[test]
fn errors_stay_below_the_bound_of_the_paper() {
    let setup = Setup::new(insecure(10, 11, 1, 11));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    let (half, units) = (context.degree() as f64 / 2.0, parameters.unit_count());
    for modulus in setup.moduli() {
        for gadget in parameters.gadgets(modulus) {
            let c = setup.uniform(modulus, 6);
            let out = setup.switch(&c, modulus, gadget, [None, None], &Destination::new(modulus));
            let errors = setup.error(&c, modulus, &out);
            let largest =
                errors.iter().map(|e| i128::try_from(e).unwrap().unsigned_abs()).max().unwrap();
            let digits = (0..units).step_by(gadget.group());
            let digits =
                digits.map(|first| Modulus::of_range(first..units.min(first + gadget.group())));
            let digit = digits.map(|digit| parameters.log2(digit)).fold(0.0, f64::max);
            let ratio = (digit - parameters.log2(gadget.specials())).exp2();
            let bound = 1.5 + half * (1.0 + units as f64 * 12.0 * SIGMA * ratio);
            assert!(largest as f64 <= bound, "{gadget:?} at {modulus:?}: {largest}, bound {bound}");
        }
    }
}

/// In all combinations of the domains of `c`, of the added polynomials and of the result, the
/// result is the same (MG23 3.1). `(omega + 2)(l + k)` transforms are enough. If the sprout has odd
/// primes, each polynomial in coefficients needs two more.
#[test]
fn every_combination_of_domains_takes_the_same_transforms() {
    for setup in Setup::all() {
        let (context, parameters) = (&setup.context, setup.context.parameters());
        for modulus in setup.moduli().into_iter().step_by(3) {
            let [c, x, y] = [7, 8, 9].map(|seed| setup.uniform(modulus, seed));
            let in_coefficients = |poly: &Poly| {
                let mut poly = poly.clone();
                context.to_coefficient(&mut poly, modulus);
                poly
            };
            for gadget in parameters.gadgets(modulus) {
                // To the same modulus, to the smaller one of a rescale, and to one that keeps the
                // special modulus.
                let smaller = Modulus::of_range(0..1);
                for to in [modulus, smaller, modulus.lcm(gadget.specials())] {
                    let expected = setup.switch(
                        &c,
                        modulus,
                        gadget,
                        [Some(&x), Some(&y)],
                        &Destination::new(to),
                    );
                    for choice in 0..16 {
                        let pick = |bit: u32, poly: &Poly| match choice >> bit & 1 {
                            0 => poly.clone(),
                            _ => in_coefficients(poly),
                        };
                        let (c, x, y) = (pick(0, &c), pick(1, &x), pick(2, &y));
                        let domain = [Domain::Evaluation, Domain::Coefficient][choice >> 3];
                        let destination = Destination { domain, ..Destination::new(to) };
                        let before = context.transforms();
                        let mut out =
                            setup.switch(&c, modulus, gadget, [Some(&x), Some(&y)], &destination);
                        let took = context.transforms() - before;
                        for out in &mut out {
                            assert_eq!(out.domain(), domain);
                            context.to_evaluation(out, to);
                        }
                        assert_eq!(
                            out, expected,
                            "{gadget:?} from {modulus:?} to {to:?}, {choice:04b}"
                        );
                        if to == modulus && modulus.sprout().is_one() {
                            let limbs = modulus.limb_count() + gadget.specials().limb_count();
                            let digits =
                                modulus.limb_count().div_ceil(gadget_limbs(parameters, gadget));
                            assert_eq!(
                                took as usize,
                                (digits + 2) * limbs,
                                "{gadget:?}, {choice:04b}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The number of units in a full digit of a gadget on a simple chain. Grafted chains also have the
/// sprout in the first block.
fn gadget_limbs(parameters: &hippocrene_rlwe::Parameters, gadget: Gadget) -> usize {
    let (_, block) = parameters.digits(parameters.top()).nth(1).unwrap();
    gadget.group() * block.words().limb_count()
}

/// Keys are dropped if there is no memory for a new one, the least recently used first. A new key
/// must have been requested twice. Keys are also dropped with their original.
#[test]
fn coalesced_keys_keep_to_their_memory() {
    let Setup { context, secret, keys, element } = Setup::new(insecure(10, 11, 1, 11));
    let parameters = context.parameters();
    let modulus = Modulus::of_range(0..4);
    let c = polynomial(&context, &vec![BigInt::from(1); context.degree()], modulus);
    let switch = |keys: &PreparedEvaluationKeys, group: usize| {
        let gadget = parameters.gadget(modulus, group).unwrap();
        let decomposed = context.decompose_with(&c, modulus, gadget).unwrap();
        let mut out = [0, 1].map(|_| context.zero(modulus, Domain::Evaluation));
        let [out0, out1] = &mut out;
        let key = keys.galois(element).unwrap();
        context
            .switch_keys_into(
                [out0, out1],
                &decomposed,
                key,
                [None, None],
                &Destination::new(modulus),
            )
            .unwrap();
        out
    };
    let base = keys.galois(element).unwrap().bytes();
    assert_eq!(context.key_memory(), (0, hippocrene_rlwe::DEFAULT_KEY_MEMORY_BYTES));
    switch(&keys, 1);
    assert_eq!(context.key_memory().0, 0, "the base key serves its own gadget");
    let first = switch(&keys, 2);
    let two = context.key_memory().0;
    assert!(two > base * 6 / 11 - base / 50 && two < base * 6 / 11 + base / 50, "{two} of {base}");
    let second = switch(&keys, 4);
    let four = context.key_memory().0 - two;
    assert!(four < two && two + four < base);
    // There is memory for either of them.
    context.set_key_memory(two);
    assert_eq!(context.key_memory(), (four, two));
    assert_eq!(switch(&keys, 2), first);
    assert_eq!(context.key_memory(), (four, two), "done without at first");
    assert_eq!(switch(&keys, 2), first);
    assert_eq!(context.key_memory(), (two, two));
    // Used in turn, neither evicts the other.
    for _ in 0..3 {
        assert_eq!(switch(&keys, 4), second);
        assert_eq!(switch(&keys, 2), first);
        assert_eq!(context.key_memory(), (two, two));
    }
    assert_eq!(switch(&keys, 4), second);
    assert_eq!(switch(&keys, 4), second);
    assert_eq!(context.key_memory(), (four, two));
    // A clone of the keys is the same key. Another key is not.
    switch(&keys.clone(), 4);
    assert_eq!(context.key_memory().0, four);
    context.set_key_memory(1 << 30);
    let mut others = EvaluationKeys::empty(&context, secret.fingerprint());
    others.add_rotations(&context, &secret, [1]).unwrap();
    let others = others.prepare(&context).unwrap();
    switch(&others, 2);
    assert_eq!(context.key_memory().0, two + four);
    drop(keys);
    switch(&others, 4);
    assert_eq!(context.key_memory().0, two + four, "what belongs to a key that is gone is dropped");
}

#[test]
fn gadgets_that_do_not_fit_are_refused() {
    let setup = Setup::new(insecure(10, 11, 1, 11));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    let (low, high) = (Modulus::of_range(0..4), Modulus::of_range(0..10));
    assert_eq!(parameters.gadget(low, 0), None);
    assert_eq!(
        parameters.gadget(parameters.top(), 2),
        None,
        "there is one special, and no unit is unused"
    );
    let gadget = parameters.gadget(low, 4).unwrap();
    let c = setup.uniform(high, 1);
    let error = context.decompose_with(&c, high, gadget).unwrap_err().to_string();
    assert!(error.contains("switch keys") && error.contains("gadget"), "{error}");
    let outside = setup.uniform(parameters.full(), 1);
    assert!(context.decompose(&outside, parameters.full()).is_err());
}
