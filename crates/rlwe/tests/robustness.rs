//! Key switches with unsuitable operands, with nothing at all, and with threads: errors name the
//! operand, and bits do not change.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{insecure, insecure_threads, keyswitch::Setup};
use hippocrene_ring::{Domain, Poly, Threads, sample::Seed};
use hippocrene_rlwe::{
    Ciphertext, Context, Destination, EvaluationKeys, Gadget, Modulus, PreparedEvaluationKeys,
    RlweError, SecretKey, Sprout, SwitchingKey,
};

fn is_modulus<T: std::fmt::Debug>(result: Result<T, RlweError>) {
    assert!(matches!(result, Err(RlweError::Modulus { .. })), "{result:?}");
}

/// Keys with too few digits, too few limbs, in the wrong domain or of another ring degree.
#[test]
fn malformed_keys_are_refused() {
    let context = insecure(10, 5, 2, 3);
    let full = context.parameters().full();
    let load = |count: usize, make: &dyn Fn() -> Poly| {
        let b = (0..count).map(|_| make()).collect();
        SwitchingKey::from_parts(
            &context,
            context.parameters().full(),
            Seed::from_bytes([1; 32]),
            b,
        )
    };
    let good = || context.zero(full, Domain::Evaluation);
    assert!(load(3, &good).is_ok());
    for count in [0, 2, 4] {
        let have = load(count, &good);
        assert!(
            matches!(have, Err(RlweError::Parts { have, need: 3, .. }) if have == count),
            "{have:?}"
        );
    }
    is_modulus(load(3, &|| context.zero(context.parameters().top(), Domain::Evaluation)));
    is_modulus(load(3, &|| context.zero(Modulus::ONE, Domain::Evaluation)));
    is_modulus(load(3, &|| context.zero(full, Domain::Coefficient)));
    is_modulus(load(3, &|| Poly::zero(2048, full.limb_count(), Domain::Evaluation)));
}

/// Keys of other parameters and of another secret, and gadgets of other moduli and other
/// parameters.
#[test]
fn foreign_operands_are_refused() {
    let setup = Setup::new(insecure(10, 5, 2, 3));
    let Setup { context, secret, keys, element } = &setup;
    let other = Setup::new(insecure(10, 5, 1, 5));
    let modulus = Modulus::of_range(0..4);
    let c = setup.uniform(modulus, 1);
    let decomposed = context.decompose(&c, modulus).unwrap();
    let mut out = [0, 1].map(|_| context.zero(modulus, Domain::Evaluation));
    let [out0, out1] = &mut out;
    let foreign = other.keys.galois(*element).unwrap();
    let error = context
        .switch_keys_into(
            [out0, out1],
            &decomposed,
            foreign,
            [None, None],
            &Destination::new(modulus),
        )
        .unwrap_err();
    assert!(
        matches!(error, RlweError::ParameterMismatch { operation: "switch keys", .. }),
        "{error}"
    );
    let unprepared =
        EvaluationKeys::empty(&other.context, other.secret.fingerprint()).prepare(context);
    assert!(matches!(unprepared, Err(RlweError::ParameterMismatch { .. })));

    let stranger = SecretKey::generate(context).unwrap();
    let fresh = stranger.encrypt(context, &c, modulus).unwrap().expand(context);
    let mut rotated = Ciphertext::empty(context);
    let error = context.apply_galois_into(&mut rotated, &fresh, *element, keys).unwrap_err();
    assert!(matches!(error, RlweError::KeyMismatch { operation: "rotate", .. }), "{error}");
    let own = secret.encrypt(context, &c, modulus).unwrap().expand(context);
    let hoisted = context.hoist(&fresh).unwrap();
    let error = context
        .apply_galois_hoisted_into(&mut rotated, &own, &hoisted, *element, keys)
        .unwrap_err();
    assert!(matches!(error, RlweError::WrongDecomposition { .. }), "{error}");

    let elsewhere = context.parameters().gadget(Modulus::of_range(0..1), 2).unwrap();
    let foreign = other.context.parameters().gadget(Modulus::of_range(0..2), 2).unwrap();
    for gadget in [elsewhere, foreign] {
        is_modulus(context.decompose_with(&c, modulus, gadget));
        is_modulus(context.decompose_hoisted_with(&c, modulus, gadget));
        is_modulus(context.key_switch_noise_with(modulus, gadget, modulus));
    }
}

/// Polynomials without limbs, with other limbs or of another degree, and moduli that are 1 or
/// exceed `PQ`. Zero is a polynomial like any other.
#[test]
fn empty_operands_are_refused_and_zero_is_not() {
    let setup = Setup::new(insecure(10, 5, 2, 3));
    let (context, modulus) = (&setup.context, Modulus::of_range(0..4));
    let none = Poly::zero(1024, 0, Domain::Evaluation);
    is_modulus(context.decompose(&none, modulus));
    is_modulus(context.decompose(&none, Modulus::ONE));
    is_modulus(context.decompose_hoisted(&none, Modulus::ONE));
    is_modulus(context.decompose(&Poly::zero(512, 4, Domain::Evaluation), modulus));
    is_modulus(context.gadget(Modulus::ONE));
    is_modulus(context.key_switch_noise(Modulus::ONE, modulus));
    let (far, gadget) = (Modulus::of_factor(60), context.gadget(modulus).unwrap());
    is_modulus(context.gadget_within(modulus, far));
    is_modulus(context.key_switch_noise(modulus, far));
    is_modulus(context.key_switch_noise(far, modulus));
    is_modulus(context.key_switch_noise_with(far, gadget, modulus));
    is_modulus(context.key_switch_noise_with(modulus, gadget, far));
    is_modulus(context.predict(modulus, gadget, far));

    let zero = context.zero(modulus, Domain::Evaluation);
    let key = setup.keys.galois(setup.element).unwrap();
    let decomposed = context.decompose(&zero, modulus).unwrap();
    let mut out =
        [Poly::zero(1024, 0, Domain::Coefficient), Poly::zero(1024, 9, Domain::Evaluation)];
    let mut switch = |added: Option<&Poly>, to: Modulus| {
        let [out0, out1] = &mut out;
        context.switch_keys_into(
            [out0, out1],
            &decomposed,
            key,
            [added, None],
            &Destination::new(to),
        )
    };
    is_modulus(switch(Some(&none), modulus));
    is_modulus(switch(None, Modulus::ONE));
    is_modulus(switch(None, Modulus::of_factor(100)));
    is_modulus(switch(None, Modulus::of_sprout(1, 0)));

    let x = setup.uniform(modulus, 2);
    switch(Some(&x), modulus).unwrap();
    assert_eq!(out, [x, zero.clone()], "whatever limbs and domain the results had");
    let mut wrong = [0, 1].map(|_| Poly::zero(512, 4, Domain::Evaluation));
    let [wrong0, wrong1] = &mut wrong;
    is_modulus(context.switch_keys_into(
        [wrong0, wrong1],
        &decomposed,
        key,
        [None, None],
        &Destination::new(modulus),
    ));
}

/// Tasks with every gadget of both methods at every modulus, with two rotation keys.
struct Work {
    keys: PreparedEvaluationKeys,
    elements: Vec<usize>,
    tasks: Vec<(usize, Modulus, Gadget, Poly)>,
}

impl Work {
    fn new(setup: &Setup, keys: &EvaluationKeys) -> Self {
        let parameters = setup.context.parameters();
        let elements: Vec<usize> = keys.galois().keys().copied().collect();
        let tasks = setup.moduli().into_iter().enumerate().flat_map(|(i, modulus)| {
            let poly = setup.uniform(modulus, 3);
            let gadgets =
                parameters.gadgets(modulus).into_iter().chain(parameters.double_gadgets(modulus));
            let element = elements[i % elements.len()];
            gadgets.map(move |gadget| (element, modulus, gadget, poly.clone())).collect::<Vec<_>>()
        });
        let tasks = tasks.collect();
        Work { keys: keys.prepare(&setup.context).unwrap(), elements, tasks }
    }

    /// Returns the result of task `i` in `context`, with digits extended at once or during the
    /// switch.
    fn run(
        &self,
        context: &Context,
        keys: &PreparedEvaluationKeys,
        i: usize,
        hoisted: bool,
    ) -> [Poly; 2] {
        let (element, modulus, gadget, poly) = &self.tasks[i];
        let mut out = [0, 1].map(|_| context.zero(*modulus, Domain::Evaluation));
        let decomposed = match hoisted {
            true => context.decompose_hoisted_with(poly, *modulus, *gadget),
            false => context.decompose_with(poly, *modulus, *gadget),
        };
        let [out0, out1] = &mut out;
        let destination = Destination::new(*modulus);
        let key = keys.galois(*element).unwrap();
        context
            .switch_keys_into(
                [out0, out1],
                &decomposed.unwrap(),
                key,
                [Some(poly), None],
                &destination,
            )
            .unwrap();
        out
    }
}

fn two_rotations(setup: &Setup) -> EvaluationKeys {
    let mut keys = EvaluationKeys::empty(&setup.context, setup.secret.fingerprint());
    keys.add_rotations(&setup.context, &setup.secret, [1, 2]).unwrap();
    keys
}

/// Any number of threads gives the bits of one thread, with and without coalesced keys, and
/// hoisted.
#[test]
fn threads_give_the_same_bits_with_every_gadget() {
    let sprout = || Sprout { two: 8, primes: vec![12289, 40961] };
    for (units, specials, rank, sprout) in [
        (7, 1, 7, Sprout::default()),
        (7, 2, 4, Sprout::default()),
        (6, 1, 7, sprout()),
        (6, 2, 4, sprout()),
    ] {
        let make = |threads: usize| {
            insecure_threads(
                10,
                units,
                specials,
                rank,
                sprout.clone(),
                Threads::new(threads).unwrap(),
            )
        };
        let setup = Setup::new(make(1));
        let keys = two_rotations(&setup);
        let work = Work::new(&setup, &keys);
        let coalesced = work.tasks.iter().filter(|task| task.2.group() > 1).count();
        assert!(coalesced > 2, "{coalesced} of {}", work.tasks.len());
        let others = [2, 3].map(make);
        let prepared = others.each_ref().map(|context| keys.prepare(context).unwrap());
        for i in 0..work.tasks.len() {
            let expected = work.run(&setup.context, &work.keys, i, false);
            assert_eq!(work.run(&setup.context, &work.keys, i, true), expected);
            for (context, keys) in others.iter().zip(&prepared) {
                for memory in [0, 1 << 30] {
                    context.set_key_memory(memory);
                    assert_eq!(
                        work.run(context, keys, i, false),
                        expected,
                        "{:?}",
                        work.tasks[i].2
                    );
                    assert_eq!(work.run(context, keys, i, true), expected, "{:?}", work.tasks[i].2);
                }
            }
        }
    }
}

/// Two threads of the caller use one context, with memory for few coalesced keys and hardly one
/// doubly decomposed key. A third thread changes that limit. Keys are dropped and made again, and
/// never exceed the limit. The bits are those of one thread with memory for all keys.
#[test]
fn dropped_and_remade_keys_change_no_bit() {
    let setup = Setup::new(insecure(10, 9, 1, 9));
    let work = Work::new(&setup, &two_rotations(&setup));
    let context = &setup.context;
    let expected: Vec<_> =
        (0..work.tasks.len()).map(|i| work.run(context, &work.keys, i, false)).collect();
    let (all, _) = context.key_memory();
    let base = work.keys.galois(work.elements[0]).unwrap().bytes();
    assert!(all > base, "{all} bytes of coalesced keys, a key has {base}");
    let most = 2 * base;
    context.set_key_memory(most);

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|thread| {
                let (work, expected) = (&work, &expected);
                scope.spawn(move || {
                    for round in 0..6 {
                        for k in 0..expected.len() {
                            // One thread goes up, the other down.
                            let i = if thread == 0 { k } else { expected.len() - 1 - k };
                            let out = work.run(context, &work.keys, i, (round + k) % 2 == 0);
                            assert_eq!(out, expected[i], "thread {thread}, {:?}", work.tasks[i].2);
                            let (used, limit) = context.key_memory();
                            assert!(used <= limit, "{used} of {limit} bytes");
                        }
                    }
                })
            })
            .collect();
        let (done, watch) = (&done, move |memory: usize| {
            context.set_key_memory(memory);
            let (used, limit) = context.key_memory();
            assert!(used <= limit && limit == memory, "{used} of {limit} bytes");
            used
        });
        let watcher = scope.spawn(move || {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                for memory in [most, most / 2, 0, most] {
                    seen = seen.max(watch(memory));
                    std::thread::yield_now();
                }
            }
            seen
        });
        let results: Vec<_> =
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        let seen = watcher.join().unwrap();
        assert!(results.iter().all(Result::is_ok));
        assert!(seen > 0, "no key was ever stored");
    });
    let (used, limit) = context.key_memory();
    assert!(used <= limit);
}
