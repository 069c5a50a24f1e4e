//! The planner: its counts are those of the actual work, and it chooses the cheapest gadget by its
//! profile.

use crate::common::{insecure, insecure_grafted};
use hippocrene_ring::{Cpu, Design, Domain, Kernel, Poly, Threads, primes};
use hippocrene_rlwe::{
    Context, Destination, EvaluationKeys, LimbCosts, LimbOperations, Method, Modulus, Parameters,
    ParametersLiteral, PreparedEvaluationKeys, Profile, SecretDistribution, SecretKey, Sprout,
    WordSize,
};

const LOG_DEGREE: u32 = 10;

/// A simple chain with single units as blocks, and a grafted one, with their keys.
fn chains() -> [(Context, PreparedEvaluationKeys); 2] {
    let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
    [insecure(LOG_DEGREE, 9, 1, 9), insecure_grafted(LOG_DEGREE, 7, 2, 4, sprout)].map(|context| {
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        keys.add_relinearisation(&context, &secret).unwrap();
        let keys = keys.prepare(&context).unwrap();
        (context, keys)
    })
}

/// Products of units, with and without a part of the sprout.
fn moduli(context: &Context) -> Vec<Modulus> {
    let parameters = context.parameters();
    let words = (1..=parameters.unit_count()).map(|l| Modulus::of_range(0..l));
    match parameters.top().sprout().is_one() {
        true => words.collect(),
        false => words
            .flat_map(|m| [m, m.lcm(Modulus::of_sprout(1, 0)), m.lcm(Modulus::of_sprout(2, 5))])
            .collect(),
    }
}

#[test]
fn counts_are_those_of_the_actual_transforms_and_bytes() {
    for (context, keys) in chains() {
        let key = keys.relinearisation("count").unwrap();
        let moduli = moduli(&context);
        for (i, &from) in moduli.iter().enumerate() {
            let poly = context.zero(from, Domain::Evaluation);
            // To the same modulus, to the next smaller one, and to one in the middle of all.
            for to in [from, moduli[i.saturating_sub(1)], moduli[moduli.len() / 2]] {
                let parameters = context.parameters();
                let single = parameters.gadgets(from).into_iter().chain([parameters.base_gadget()]);
                for gadget in single.chain(parameters.double_gadgets(from)) {
                    let counted = context.key_switch_operations(from, gadget, to).unwrap();
                    let mut out: [Poly; 2] = [0; 2].map(|_| context.zero(to, Domain::Evaluation));
                    let [out0, out1] = &mut out;
                    let before = context.transforms();
                    let decomposed = context.decompose_with(&poly, from, gadget).unwrap();
                    let destination = Destination::new(to);
                    context
                        .switch_keys_into(
                            [out0, out1],
                            &decomposed,
                            key,
                            [None, None],
                            &destination,
                        )
                        .unwrap();
                    assert_eq!(
                        context.transforms() - before,
                        counted.transforms(),
                        "{from:?} {gadget:?} {to:?}"
                    );
                    if gadget.method() != Method::Single {
                        continue;
                    }
                    assert!(counted.key_bytes() <= key.bytes() as u64);
                    if from == to {
                        // MG23 3.1.
                        let limbs = from.limb_count() + gadget.specials().limb_count();
                        assert_eq!(counted.transforms(), ((counted.digits() + 2) * limbs) as u64);
                    }
                }
            }
        }
        // The whole key, read once.
        let (top, base) = (context.parameters().top(), context.parameters().base_gadget());
        let whole = context.key_switch_operations(top, base, top).unwrap();
        assert_eq!(whole.key_bytes(), key.bytes() as u64);
    }
}

#[test]
fn key_switches_are_predicted_as_dry_runs_count_them() {
    for (context, _) in chains() {
        let parameters = context.parameters().clone();
        let context = Context::dry_run(parameters.clone(), Threads::single()).unwrap();
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        keys.add_relinearisation(&context, &secret).unwrap();
        let keys = keys.prepare(&context).unwrap();
        let key = keys.relinearisation("count").unwrap();
        for from in moduli(&context) {
            let poly = context.zero(from, Domain::Evaluation);
            let gadgets = parameters.gadgets(from).into_iter();
            for gadget in gadgets.chain(parameters.double_gadgets(from)) {
                let mut out: [Poly; 2] = [0; 2].map(|_| context.zero(from, Domain::Evaluation));
                let [out0, out1] = &mut out;
                context.reset_tally();
                let decomposed = context.decompose_with(&poly, from, gadget).unwrap();
                let (added, to) = ([Some(&poly); 2], Destination::new(from));
                context.switch_keys_into([out0, out1], &decomposed, key, added, &to).unwrap();
                let (tally, name) = (context.tally(), format!("{from:?} {gadget:?}"));
                let counted = context.key_switch_operations(from, gadget, from).unwrap();
                assert_eq!(tally.transforms(), counted.transforms(), "{name}");
                let predicted = context.predict(from, gadget, from).unwrap();
                let ratio = tally.seconds() / predicted;
                assert!((ratio - 1.0).abs() < 0.01, "{name}: {ratio}");
            }
        }
    }
}

/// A simple chain of 9 units of 40 bits, counted by hand: 6 limbs make `omega = 3` digits of 2
/// limbs, and `P'` has 2 limbs.
#[test]
fn a_key_switch_is_counted_as_by_hand() {
    let context = insecure(LOG_DEGREE, 9, 1, 9);
    let modulus = Modulus::of_range(0..6);
    let gadget = context.parameters().gadget(modulus, 2).unwrap();
    assert_eq!(gadget.specials().limb_count(), 2);
    let counted = context.key_switch_operations(modulus, gadget, modulus).unwrap();
    let by_hand = LimbOperations {
        // Each digit is converted to the 6 limbs that it does not have itself, and the remainders
        // to 6 limbs.
        forward: 3 * 6 + 2 * 6,
        // The coefficients, and the remainders.
        inverse: 6,
        inverse_of_sums: 2 * 2,
        // The digits are read once for the dropped limbs and once for the others. The remainders
        // follow.
        sources: 2 * 3 * 2 + 2 * 2,
        pairs: 2 * 3 * 6 + 2 * 2 * 6,
        targets: 3 * 6 + 2 * 6,
        products: 3 * 8,
        repeats: 0,
        sums: 8,
        // The ends. The additions, and the multiples of the digits' own limbs (since P' is not P),
        // are part of the inner products.
        passes: 2 * 6,
    };
    assert_eq!((counted.of_size(WordSize::Below48), counted.total()), (by_hand, by_hand));
}

/// One digit of two units from different groups of blocks is multiplied by the components of both
/// groups.
#[test]
fn components_that_share_a_digit_are_counted_as_repeated() {
    let context = insecure(LOG_DEGREE, 9, 1, 9);
    let modulus = Modulus::of_range(0..1).lcm(Modulus::of_range(2..3));
    let single = context.parameters().gadget(modulus, 2).unwrap();
    for gadget in [single, single.with_method(Method::Double { groups: 2 })] {
        let counted = context.key_switch_operations(modulus, gadget, modulus).unwrap();
        let total = counted.total();
        assert_eq!((counted.digits(), total.repeats), (1, total.products));
        assert!(total.products >= 4);
    }
}

/// The same chain with the key in two groups: the special with the units 0 to 3, and the units 4 to
/// 8. So the 2 limbs of `P'` and the 6 of `Q` are converted in two runs each.
#[test]
fn conversions_of_a_double_decomposition_are_counted_as_by_hand() {
    let context = insecure(LOG_DEGREE, 9, 1, 9);
    let modulus = Modulus::of_range(0..6);
    let gadget =
        context.parameters().gadget(modulus, 2).unwrap().with_method(Method::Double { groups: 2 });
    let operations = context.key_switch_operations(modulus, gadget, modulus).unwrap();
    let counted = operations.total();
    // Two sums for each group.
    let primes = counted.inverse_of_sums / (2 * 2);
    assert_eq!(counted.inverse, 6);
    assert!(primes > 1);
    // The digits, then both parts of the sums in four runs, then both remainders in two.
    assert_eq!(counted.sources, 3 * 2 + 2 * primes * 4 + 2 * 2 * 2);
    assert_eq!(operations.sum_bytes(), (8 << LOG_DEGREE) * 2 * primes * 4);
    assert_eq!(counted.pairs, 3 * 2 * primes + 2 * primes * 8 + 2 * 2 * 6);
    assert_eq!(counted.targets, 3 * primes + 2 * 8 + 2 * 6);
}

/// Single decompositions are planned, or double ones where single ones take 3 % longer. Double ones
/// are planned where there are many digits.
#[test]
fn the_plan_is_the_cheapest_by_the_profile_in_use() {
    let mut doubles = 0;
    let many = insecure(LOG_DEGREE, 24, 1, 24);
    for context in chains().map(|(context, _)| context).into_iter().chain([many]) {
        let other = match context.kernel() {
            Kernel::Portable => Kernel::Avx2,
            _ => Kernel::Portable,
        };
        let profile = Profile::typical(context.kernel());
        let context = context.with_profile(Profile::typical(other));
        assert_eq!(context.profile(), &profile, "a profile of another kernel");
        for modulus in moduli(&context) {
            let planned = context.gadget(modulus).unwrap();
            let time = |gadget| context.predict(modulus, gadget, modulus).unwrap();
            let mut gadgets = context.parameters().gadgets(modulus);
            if gadgets.is_empty() {
                gadgets.push(context.parameters().base_gadget());
            }
            let single = gadgets.into_iter().map(time).fold(f64::INFINITY, f64::min);
            let double = context.parameters().double_gadgets(modulus).into_iter().map(time);
            let double = double.fold(f64::INFINITY, f64::min);
            let is_double = planned.method() != Method::Single;
            assert_eq!(is_double, 1.03 * double < single, "{modulus:?}: {double} against {single}");
            assert_eq!(time(planned), if is_double { double } else { single });
            doubles += usize::from(is_double);
        }
    }
    assert!(doubles > 0);
}

/// Results are the same bits on every machine. A plan for two threads would give other rounding
/// errors.
#[test]
fn the_plan_does_not_depend_on_threads() {
    let log_degree = 15;
    let sprout = Sprout::for_degree(log_degree).unwrap();
    let words = primes::ntt_primes(48, 1 << log_degree, 17, &sprout.primes).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: words[..13].to_vec(),
        specials: words[13..].to_vec(),
        sprout,
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    let [one, two] =
        [1, 2].map(|n| Context::new(parameters.clone(), Threads::new(n).unwrap()).unwrap());
    for bits in 60..parameters.log2(parameters.top()) as u32 {
        let modulus = parameters.grafted_modulus(f64::from(bits));
        assert_eq!(one.gadget(modulus).unwrap(), two.gadget(modulus).unwrap(), "{bits} bits");
    }
}

#[test]
fn measuring_gives_a_profile() {
    let mut told = Vec::new();
    let kernel = Kernel::detect().unwrap();
    let profile = Profile::measure(kernel, |done, total| told.push((done, total))).unwrap();
    assert_eq!(told, (1..=57).map(|done| (done, 57)).collect::<Vec<_>>());
    assert_eq!(profile.kernel(), kernel);
    for size in WordSize::ALL {
        let forward = |log_degree| profile.limb(log_degree, size, 0.0).forward;
        assert!(forward(17) > 4.0 * forward(12) && forward(12) == 2.0 * forward(11));
    }
}

#[test]
fn measuring_quickly_gives_a_profile() {
    let kernel = Kernel::detect().unwrap();
    let profile = Profile::measure_quickly(kernel).unwrap();
    assert_eq!(profile.kernel(), kernel);
    let typical = Profile::typical(kernel);
    for size in WordSize::ALL {
        for missed in [0.0, 1.0] {
            // All transforms of a degree have one factor.
            let ratio = |of: fn(LimbCosts) -> f64, n| {
                of(profile.limb(n, size, missed)) / of(typical.limb(n, size, missed))
            };
            let (forward, inverse) =
                (ratio(|limb| limb.forward, 13), ratio(|limb| limb.inverse, 13));
            assert!((forward / inverse - 1.0).abs() < 1e-9, "{forward} and {inverse}");
            // The tests of this crate are compiled with checks, so they are slower than the
            // released code.
            assert!((0.05..=20.0).contains(&forward), "{forward}");
            assert!((ratio(|limb| limb.pass, 15) / ratio(|limb| limb.pass, 17) - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn figures_of_a_cpu_without_any_are_the_typical_ones() {
    for kernel in Kernel::ALL {
        let here = Profile::typical_of(kernel, Cpu::detect());
        let typical = Profile::typical(kernel);
        let ratio = here.limb(14, WordSize::Below48, 0.0).forward
            / typical.limb(14, WordSize::Below48, 0.0).forward;
        match Cpu::detect().design() {
            Design::SapphireRapids => assert!(ratio > 1.3, "{ratio}"),
            Design::Zen5 => assert!(ratio <= 1.0, "{ratio}"),
            Design::Zen4 | Design::Other => assert_eq!(here, typical),
        }
    }
}

/// The profile that predicts times does not change the plans.
#[test]
fn prices_do_not_plan_key_switches() {
    let parameters = insecure(LOG_DEGREE, 9, 1, 9).parameters().clone();
    let context = Context::dry_run(parameters, Threads::single()).unwrap();
    let top = context.parameters().top();
    let price = || {
        context.reset_tally();
        context.record_encoding(top, 1, 1);
        context.tally().seconds()
    };
    let (plan, before) = (context.gadget(top).unwrap(), price());
    let other = match context.kernel() {
        Kernel::Portable => Kernel::Avx512Ifma,
        _ => Kernel::Portable,
    };
    let dear = Profile::typical(other);
    context.set_cost_profile(dear.clone());
    assert_ne!(price(), before);
    assert_eq!(context.gadget(top).unwrap(), plan);
    assert_eq!(context.profile().kernel(), context.kernel());
    assert_eq!(context.priced(Clone::clone), dear);
}

/// Three quarters of the size of the cache are not missed.
#[test]
fn the_missed_fraction_is_the_excess_over_three_quarters_of_the_cache() {
    let profile = Profile::typical(Kernel::Avx512Ifma);
    let missed =
        |caches: f64| profile.missed_fraction((caches * profile.memory().cache_bytes) as u64);
    assert_eq!([0.0, 0.5, 0.75].map(missed), [0.0; 3]);
    for (caches, part) in [(1.0, 0.25), (1.5, 0.5), (3.0, 0.75), (75.0, 0.99)] {
        assert!((missed(caches) - part).abs() < 1e-6);
    }
}

/// Transforms and products of many digits at one position cost as much as from memory. Nothing else
/// does.
#[test]
fn digits_that_leave_the_cache_cost_more() {
    let profile = Profile::typical(Kernel::Avx512Ifma);
    let costs = |missed, digits| profile.limb_of_digits(14, WordSize::Below48, missed, digits);
    let (cached, memory) = (costs(0.0, 4), costs(1.0, 4));
    assert_eq!(cached, profile.limb(14, WordSize::Below48, 0.0));
    assert_eq!([costs(0.0, 0), costs(0.0, 1)], [cached; 2]);
    let [some, many] = [6, 8].map(|digits| costs(0.0, digits));
    let of_digits = |costs: LimbCosts| [costs.forward, costs.product, costs.repeat, costs.sum];
    assert_eq!(of_digits(many), of_digits(memory));
    assert_eq!(
        [many.inverse, many.inverse_of_sum, many.source, many.pair, many.target, many.pass],
        [
            cached.inverse,
            cached.inverse_of_sum,
            cached.source,
            cached.pair,
            cached.target,
            cached.pass
        ]
    );
    assert!(cached.forward < some.forward && some.forward < many.forward);
    assert_eq!([costs(0.0, 40), costs(1.0, 8)], [many, memory]);
}
