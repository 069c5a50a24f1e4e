//! Compares the double decomposition with the single one, and its transforms with those of MG23, at
//! every modulus of small chains.

use crate::common::{insecure, insecure_sizes, keyswitch::Setup, log2_std};
use hippocrene_ring::{Domain, Poly, sample::Seed};
use hippocrene_rlwe::{
    Context, Destination, EvaluationKeys, Gadget, Method, Modulus, SecretDistribution, SecretKey,
    SwitchingKey,
};

const ENOUGH_KEY_BYTES: usize = 1 << 30;

/// The gadgets that the planner considers at a modulus, and those with all positions in one group
/// and with single positions as groups.
fn gadgets(context: &Context, modulus: Modulus) -> Vec<Gadget> {
    let parameters = context.parameters();
    let limbs = parameters.full().limb_count();
    let single = parameters.gadgets(modulus);
    let extremes = single
        .iter()
        .flat_map(|gadget| [1, limbs].map(|groups| gadget.with_method(Method::Double { groups })));
    let mut gadgets = parameters.double_gadgets(modulus);
    assert!(gadgets.len() >= single.len());
    gadgets.extend(extremes);
    gadgets
}

/// At every modulus, with every gadget, simple and grafted, coalesced and not, the result equals
/// that of the single decomposition to the last bit. So the noise is as stated too, because it is
/// measured for the single decomposition.
#[test]
fn both_decompositions_give_the_same_bits() {
    for setup in Setup::all() {
        let context = &setup.context;
        for modulus in setup.moduli() {
            let (c, x) = (setup.uniform(modulus, 5), setup.uniform(modulus, 6));
            for gadget in gadgets(context, modulus) {
                let single = gadget.with_method(Method::Single);
                let destination = Destination::new(modulus);
                let expected = setup.switch(&c, modulus, single, [Some(&x), None], &destination);
                let out = setup.switch(&c, modulus, gadget, [Some(&x), None], &destination);
                assert_eq!(out, expected, "{gadget:?} at {modulus:?}");

                let out = setup.switch(&c, modulus, gadget, [None, None], &destination);
                let measured = log2_std(&setup.error(&c, modulus, &out));
                let stated =
                    context.key_switch_noise_with(modulus, gadget, modulus).unwrap().log2_std();
                assert!(
                    (measured - stated).abs() < 1.5f64.log2(),
                    "{gadget:?} at {modulus:?}: 2^{measured}"
                );
            }
        }
    }
}

/// Keys that are so large that ranges of coefficients are processed one after the other.
#[test]
fn ranges_of_coefficients_make_whole_limbs() {
    let setup = Setup::new(insecure(13, 11, 1, 11));
    for limbs in [11, 4] {
        let modulus = Modulus::of_range(0..limbs);
        let c = setup.uniform(modulus, 5);
        let single = setup.context.parameters().gadget(modulus, 1).unwrap();
        let double = single.with_method(Method::Double { groups: 4 });
        let switch =
            |gadget| setup.switch(&c, modulus, gadget, [None, None], &Destination::new(modulus));
        assert_eq!(switch(double), switch(single));
    }
}

/// Tests switches to smaller and larger moduli, in all combinations of domains, with an
/// automorphism and hoisted.
#[test]
fn every_destination_is_reached() {
    for setup in Setup::all() {
        let (context, top) = (&setup.context, setup.context.parameters().top());
        let automorphism = context.automorphism(setup.element).unwrap();
        for modulus in setup.moduli().into_iter().step_by(4) {
            let [c, x, y] = [7, 8, 9].map(|seed| setup.uniform(modulus, seed));
            let in_coefficients = |poly: &Poly| {
                let mut poly = poly.clone();
                context.to_coefficient(&mut poly, modulus);
                poly
            };
            let key = setup.keys.galois(setup.element).unwrap();
            for gadget in context.parameters().double_gadgets(modulus) {
                let single = gadget.with_method(Method::Single);
                let smaller =
                    Modulus::of_range(0..1).lcm(Modulus::of_sprout(top.odd() & 2, top.two() / 2));
                for to in [modulus, smaller, modulus.lcm(gadget.specials()), top] {
                    for choice in 0..16usize {
                        let pick = |bit: u32, poly: &Poly| match choice >> bit & 1 {
                            0 => poly.clone(),
                            _ => in_coefficients(poly),
                        };
                        let (c, x, y) = (pick(0, &c), pick(1, &x), pick(2, &y));
                        let domain = [Domain::Evaluation, Domain::Coefficient][choice >> 3];
                        let automorphism = (choice.count_ones() % 2 == 1).then_some(&*automorphism);
                        let destination = Destination { modulus: to, domain, automorphism };
                        let added = [Some(&x), Some(&y)];
                        let expected = setup.switch(&c, modulus, single, added, &destination);
                        let out = setup.switch(&c, modulus, gadget, added, &destination);
                        assert_eq!(
                            out, expected,
                            "{gadget:?} from {modulus:?} to {to:?}, {choice:04b}"
                        );

                        let decomposed =
                            context.decompose_hoisted_with(&c, modulus, gadget).unwrap();
                        // Without memory for the key, the single decomposition is used.
                        let room: &[usize] =
                            if choice == 9 { &[ENOUGH_KEY_BYTES, 0] } else { &[ENOUGH_KEY_BYTES] };
                        for room in room {
                            context.set_key_memory(*room);
                            let mut out = [0, 1].map(|_| context.zero(to, domain));
                            let [out0, out1] = &mut out;
                            context
                                .switch_keys_into(
                                    [out0, out1],
                                    &decomposed,
                                    key,
                                    added,
                                    &destination,
                                )
                                .unwrap();
                            assert_eq!(out, expected, "{gadget:?} hoisted, {choice:04b}");
                        }
                        context.set_key_memory(ENOUGH_KEY_BYTES);
                    }
                }
            }
        }
    }
}

/// Compares with MG23, Table 4. There, `r` primes hold a product of typical size. Here they hold
/// the largest possible product.
#[test]
fn transforms_are_those_of_the_paper() {
    let setup = Setup::new(insecure(10, 11, 1, 11));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    for limbs in [11, 8, 3] {
        let modulus = Modulus::of_range(0..limbs);
        let [c, x, y] = [1, 2, 3].map(|seed| setup.uniform(modulus, seed));
        let in_coefficients = |poly: &Poly| {
            let mut poly = poly.clone();
            context.to_coefficient(&mut poly, modulus);
            poly
        };
        let coefficients = [&c, &x, &y].map(in_coefficients);
        let groups = 4;
        let gadget = parameters.gadget(modulus, 1).unwrap().with_method(Method::Double { groups });
        // Groups have three positions. A digit and a group have 4 words of 40 bits each. The
        // special is in the first group.
        let (omega, used) = (limbs as u64, (limbs as u64 + 1).div_ceil(3));
        let bits = (omega as f64).log2() + 10.0 + 160.0 - 1.0;
        let whole = (omega + 2 * used) * (bits / 48.0).ceil() as u64;
        let l = limbs as u64;
        for (domain, both, from_evaluation, from_coefficients) in [
            (Domain::Coefficient, false, 2 * l, 0),
            (Domain::Evaluation, false, 3 * l, 2 * l),
            (Domain::Coefficient, true, 3 * l, 0),
            (Domain::Evaluation, true, 3 * l, 2 * l),
        ] {
            let destination = Destination { domain, ..Destination::new(modulus) };
            for (polys, beside) in
                [([&c, &x, &y], from_evaluation), (coefficients.each_ref(), from_coefficients)]
            {
                let [c, x, y] = polys;
                let before = context.transforms();
                setup.switch(c, modulus, gadget, [Some(x), both.then_some(y)], &destination);
                let took = context.transforms() - before;
                assert_eq!(took, whole + beside, "{limbs} limbs, {domain:?}, {both}");
            }
        }
    }
}

/// If every digit and every residue of the key is as large as possible, of either sign, and all
/// products of a coefficient add up, the sums fill the shared basis up to a quarter of a bit and
/// are still exact.
#[test]
fn the_largest_sums_fit_the_shared_basis() {
    let context = insecure_sizes(10, &[28; 7], &[28], 7, SecretDistribution::Ternary);
    let parameters = context.parameters();
    let (top, full) = (parameters.top(), parameters.full());
    // There are seven products of a digit of 28 bits and a residue modulo a group of 56 bits, at N
    // = 2^10, and two primes of 48 bits.
    let bits = 7f64.log2() + 10.0 + 3.0 * 28.0 - 1.0;
    assert!(bits < 96.0 && bits > 95.75);
    let gadget = parameters.base_gadget().with_method(Method::Double { groups: 4 });
    let extreme = |modulus: Modulus, sign: bool, domain: Domain| {
        let mut poly = context.zero(modulus, Domain::Coefficient);
        for (k, q) in parameters.limb_moduli(modulus).into_iter().enumerate() {
            // The residue is (D - 1)/2 modulo every factor of D, or (D + 1)/2, which represents -(D
            // - 1)/2.
            poly.limb_mut(k).fill(q / 2 + u64::from(sign));
        }
        if domain == Domain::Evaluation {
            context.to_evaluation(&mut poly, modulus);
        }
        poly
    };
    let secret = SecretKey::generate(&context).unwrap();
    for (key_sign, sign) in [(false, false), (false, true), (true, false), (true, true)] {
        let components = vec![extreme(full, key_sign, Domain::Evaluation); 7];
        let key = SwitchingKey::from_parts(&context, full, Seed::from_bytes([3; 32]), components)
            .unwrap();
        let keys = EvaluationKeys::from_parts(
            &context,
            secret.fingerprint(),
            Some(key),
            Default::default(),
        );
        let keys = keys.unwrap().prepare(&context).unwrap();
        let c = extreme(top, sign, Domain::Coefficient);
        let switch = |gadget: Gadget| {
            let before = context.transforms();
            let decomposed = context.decompose_with(&c, top, gadget).unwrap();
            let mut out = [0, 1].map(|_| context.zero(full, Domain::Coefficient));
            let [out0, out1] = &mut out;
            let (key, destination) = (
                keys.relinearisation("test").unwrap(),
                Destination { domain: Domain::Coefficient, ..Destination::new(full) },
            );
            context
                .switch_keys_into([out0, out1], &decomposed, key, [None, None], &destination)
                .unwrap();
            (out, context.transforms() - before)
        };
        let (double, transforms) = switch(gadget);
        assert_eq!(double, switch(gadget.with_method(Method::Single)).0);
        assert_eq!(transforms, (7 + 2 * 4) * 2, "two primes");
    }
}

/// Keys decomposed a second time share the memory limit with coalesced keys. One of them serves all
/// moduli.
#[test]
fn keys_keep_to_their_memory() {
    let setup = Setup::new(insecure(10, 11, 1, 11));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    let switch = |limbs: usize, group: usize, method: Method| {
        let modulus = Modulus::of_range(0..limbs);
        let gadget = parameters.gadget(modulus, group).unwrap().with_method(method);
        setup.switch(
            &setup.uniform(modulus, 1),
            modulus,
            gadget,
            [None, None],
            &Destination::new(modulus),
        );
        context.key_memory().0
    };
    let method = Method::Double { groups: 3 };
    let first = switch(11, 1, method);
    assert!(first > 0);
    assert_eq!(switch(7, 1, method), first, "one key for all moduli");
    let both = switch(4, 2, method);
    assert!(both > first);
    let all = switch(4, 2, Method::Single);
    assert!(all > both, "coalesced keys beside");
    context.set_key_memory(all - 1);
    assert_eq!(
        context.key_memory().0,
        all - first,
        "the one not used for the longest time is dropped"
    );
    context.set_key_memory(first - 1);
    let before = context.key_memory().0;
    assert_eq!(switch(11, 1, method), before, "no room");
}

#[test]
fn impossible_numbers_of_groups_are_refused() {
    let setup = Setup::new(insecure(10, 4, 1, 4));
    let (context, parameters) = (&setup.context, setup.context.parameters());
    let c = setup.uniform(parameters.top(), 1);
    for groups in [0, 6, usize::MAX] {
        let gadget = parameters.base_gadget().with_method(Method::Double { groups });
        let error = context.decompose_with(&c, parameters.top(), gadget).unwrap_err().to_string();
        assert!(error.contains("switch keys") && error.contains("gadget"), "{error}");
    }
}
