//! Dry runs have the same moduli, noise, parts, keys, errors and transforms as the same program on
//! residues.

use crate::common::{insecure, insecure_grafted};
use hippocrene_ring::{
    Domain, Poly, Threads,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
    sample::Seed,
};
use hippocrene_rlwe::{
    Ciphertext, Context, EncapsulationKeys, EvaluationKeys, KeyUse, Method, Modulus,
    PreparedEvaluationKeys, RlweError, SecretKey, Sprout, Summand, Term,
};
use proptest::prelude::*;

const LOG_DEGREE: u32 = 9;

/// A context with a secret, its keys, and the values that a program has computed.
struct Side<'a> {
    context: &'a Context,
    secret: SecretKey,
    keys: PreparedEvaluationKeys,
    values: Vec<Ciphertext>,
}

/// An operation on values that were computed before. Indices are reduced modulo the number of
/// values.
#[derive(Debug, Clone)]
struct Step {
    operation: usize,
    left: usize,
    right: usize,
    modulus: usize,
    number: u64,
}

const OPERATIONS: usize = 26;

fn step() -> impl Strategy<Value = Step> {
    (0..OPERATIONS, 0..100usize, 0..100usize, 0..100usize, 1..50u64).prop_map(
        |(operation, left, right, modulus, number)| Step {
            operation,
            left,
            right,
            modulus,
            number,
        },
    )
}

fn contexts() -> Vec<Context> {
    let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
    vec![
        insecure(LOG_DEGREE, 6, 1, 6),
        insecure(LOG_DEGREE, 6, 2, 3),
        insecure_grafted(LOG_DEGREE, 5, 2, 3, sprout),
    ]
}

fn dry_run(context: &Context) -> Context {
    Context::dry_run(context.parameters().clone(), Threads::single()).unwrap()
}

/// Moduli of ciphertexts, also with parts of the sprout.
fn moduli(context: &Context) -> Vec<Modulus> {
    let (parameters, top) = (context.parameters(), context.parameters().top());
    let bits = parameters.log2(top);
    let mut all: Vec<Modulus> =
        (1..20).map(|i| parameters.grafted_modulus(bits * f64::from(i) / 20.0)).collect();
    all.extend([top, Modulus::of_range(0..2)]);
    all.retain(|modulus| !modulus.is_one());
    all
}

impl<'a> Side<'a> {
    fn new(context: &'a Context, keys: impl Fn(&SecretKey) -> PreparedEvaluationKeys) -> Self {
        let secret = SecretKey::from_seed(context, Seed::from_bytes([7; 32])).unwrap();
        let keys = keys(&secret);
        let mut side = Side { context, secret, keys, values: Vec::new() };
        let top = context.parameters().top();
        for modulus in [top, top, Modulus::of_range(0..3)] {
            let message = side.plain(modulus, 3);
            let fresh = side.secret.encrypt(context, &message, modulus).unwrap();
            side.values.push(fresh.expand(context));
        }
        side
    }

    fn plain(&self, modulus: Modulus, seed: u64) -> Poly {
        let values: Vec<i64> =
            (0..self.context.degree() as i64).map(|i| (i * seed as i64) % 7).collect();
        self.context.from_signed(&values, modulus)
    }

    fn apply(&mut self, step: &Step) -> Result<Ciphertext, RlweError> {
        let Side { context, keys, values, .. } = &*self;
        let (a, b) = (&values[step.left % values.len()], &values[step.right % values.len()]);
        let moduli = moduli(context);
        let to = moduli[step.modulus % moduli.len()];
        let element = galois_element_of_rotation(context.degree(), (step.number % 4) as i64);
        let mut out = a.clone();
        match step.operation {
            0 => context.add_assign(&mut out, b)?,
            1 => context.sub_assign(&mut out, b)?,
            2 => context.negate_into(&mut out, a)?,
            3 => context.add_plain_into(&mut out, a, &self.plain(a.modulus(), step.number))?,
            4 => context.mul_plain_into(&mut out, a, &self.plain(to, step.number))?,
            5 => {
                context.mul_plain_add_assign(&mut out, b, &self.plain(b.modulus(), step.number))?
            }
            6 => context.mul_constant_assign(&mut out, |q| step.number % q)?,
            7 => context.mul_monomial_into(&mut out, a, step.number as usize)?,
            8 => context.add_constant_assign(&mut out, |q| step.number % q)?,
            9 => context.tensor_into(&mut out, a, b)?,
            10 => context.multiply_into(&mut out, a, b, step.number, keys, to)?,
            11 => context.multiply_into(&mut out, a, a, 1, keys, to)?,
            12 => context.relinearise_into(&mut out, a, keys, to)?,
            13 => context.apply_galois_into(&mut out, a, element, keys)?,
            14 => {
                let hoisted = context.hoist(a)?;
                context.apply_galois_hoisted_into(&mut out, a, &hoisted, element, keys)?;
                let of = if step.number.is_multiple_of(2) { b } else { a };
                context.apply_galois_hoisted_into(&mut out, of, &hoisted, 5, keys)?;
            }
            15 => context.switch_ciphertext_into(&mut out, a, to)?,
            16 => context.reduce_modulus_into(&mut out, a, to)?,
            17 => context.sub_plain_into(&mut out, a, &self.plain(a.modulus(), step.number))?,
            18 => context.add_multiple_assign(&mut out, b, |q| step.number % q)?,
            19 => {
                let mut sum = context.tensor_sum(a)?;
                sum.add(a, b, step.number)?;
                sum.add(b, b, 1)?;
                sum.multiply(3);
                match step.number % 2 {
                    0 => sum.relinearise_into(&mut out, keys, to)?,
                    _ => out = sum.to_ciphertext()?,
                }
            }
            20 => {
                let times = |n: u64| move |q: u64| n % q;
                context.sum_of_multiples_into(
                    &mut out,
                    &(a, times(step.number)),
                    &[(b, times(3)), (a, times(1))],
                    to,
                )?;
            }
            21 => context.add_into(&mut out, a, b)?,
            22 => context.sub_into(&mut out, a, b)?,
            23 => context.mul_constant_into(&mut out, a, |q| step.number % q)?,
            24 => context.add_constant_into(&mut out, a, |q| step.number % q)?,
            _ => {
                let full = context.parameters().full();
                let hoisted = context.hoist_for_sums(a, full)?;
                let summands = [Summand::Rotated(a, &hoisted, 5), Summand::Unrotated(b)];
                let extended = context.rotation_modulus(a.modulus(), full)?;
                let plain = context.rotation_factor(self.plain(extended, step.number), extended)?;
                let term = |summand| Term {
                    summand,
                    factor: (&plain).into(),
                    log2_norm: 2.0,
                    leaves_zeros: false,
                };
                let rows = [vec![term(0), term(1)], vec![term(0)]];
                let mut sums = context.rotation_sums(&summands, &rows, keys, full)?.into_iter();
                let (mut first, second) = (sums.next().unwrap(), sums.next().unwrap());
                let element =
                    galois_element_of_rotation(context.degree(), 1 + (step.number % 3) as i64);
                first.add(&second.rotated(element, keys)?)?;
                first.divide_into(&mut out, to)?;
            }
        }
        Ok(out)
    }
}

/// Everything that is known of a ciphertext without its residues.
fn facts(c: &Ciphertext) -> impl PartialEq + std::fmt::Debug + use<> {
    let parts: Vec<_> =
        c.parts().iter().map(|p| (p.degree(), p.limb_count(), p.domain())).collect();
    (parts, c.modulus(), c.noise(), c.key())
}

fn held(context: &Context, secret: &SecretKey) -> PreparedEvaluationKeys {
    let mut keys = EvaluationKeys::empty(context, secret.fingerprint());
    keys.add_relinearisation(context, secret).unwrap();
    keys.add_rotations(context, secret, 1..4).unwrap();
    keys.prepare(context).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn programs_end_alike_in_a_dry_run(
        set in 0..3usize,
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let context = &contexts()[set];
        let empty = &dry_run(context);
        let mut real = Side::new(context, |secret| held(context, secret));
        let mut every = Side::new(empty, |secret| {
            PreparedEvaluationKeys::all_for_dry_run(empty, secret.fingerprint()).unwrap()
        });
        let mut same = Side::new(empty, |secret| held(empty, secret));
        for step in &steps {
            let before = context.transforms();
            let expected = real.apply(step);
            let transforms = context.transforms() - before;
            for side in [&mut every, &mut same] {
                empty.reset_tally();
                match (side.apply(step), &expected) {
                    (Ok(got), Ok(expected)) => {
                        prop_assert_eq!(facts(&got), facts(expected), "{:?}", step);
                        prop_assert!(
                            got.parts()
                                .iter()
                                .all(|part| part.is_dry_run() && part.as_slice().is_empty())
                        );
                        side.values.push(got);
                        prop_assert_eq!(empty.tally().transforms(), transforms, "{:?}", step);
                    }
                    (Err(got), Err(expected)) => prop_assert_eq!(&got, expected),
                    (got, _) => prop_assert!(false, "{:?}: {:?}, {:?}", step, got, expected),
                }
            }
            real.values.extend(expected.ok());
        }
    }
}

/// Checks that the keys of the programs above exist, so that only the intended operations fail.
#[test]
fn used_keys_are_noted_with_their_moduli() {
    let context = &dry_run(&contexts()[2]);
    let side = Side::new(context, |secret| {
        PreparedEvaluationKeys::all_for_dry_run(context, secret.fingerprint()).unwrap()
    });
    let (top, low) = (context.parameters().top(), Modulus::of_range(0..3));
    assert!(side.keys.has_galois(3, top) && !side.keys.has_galois(4, top));
    assert!(!side.keys.has_galois(1 << 20, top));
    let mut out = Ciphertext::empty(context);
    let conjugation = galois_element_of_conjugation(context.degree());
    context.apply_galois_into(&mut out, &side.values[2], conjugation, &side.keys).unwrap();
    assert_eq!(
        context.tally().keys().clone().into_iter().collect::<Vec<_>>(),
        [(KeyUse::Galois(conjugation), low)]
    );
    context.multiply_into(&mut out, &side.values[0], &side.values[1], 1, &side.keys, top).unwrap();
    context.multiply_into(&mut out, &side.values[2], &side.values[2], 1, &side.keys, low).unwrap();
    assert_eq!(context.tally().keys()[&KeyUse::Relinearisation], top);
    assert_eq!(context.tally().count("switch keys"), 3);
    assert!(context.tally().seconds() > 0.0);
    context.reset_tally();
    assert_eq!(context.tally(), Default::default());
    let even = context.apply_galois_into(&mut out, &side.values[2], 4, &side.keys).unwrap_err();
    assert_eq!(even, contexts()[2].automorphism(4).unwrap_err());
}

/// Polynomials and keys use as much memory as in a real run.
#[test]
fn memory_is_that_of_residues() {
    let real = &contexts()[0];
    let empty = &dry_run(real);
    let sizes = [real, empty].map(|context| {
        let side = Side::new(context, |secret| held(context, secret));
        let mut out = Ciphertext::empty(context);
        let [a, b, _] = &side.values[..] else { unreachable!("three values") };
        context.switch_ciphertext_into(&mut out, a, Modulus::of_range(0..3)).unwrap();
        context.tensor_into(&mut out, a, b).unwrap();
        let simple = context.scratch_memory();
        context.multiply_into(&mut out, a, b, 1, &side.keys, a.modulus()).unwrap();
        (simple, context.scratch_memory())
    });
    assert_eq!(sizes[0].0, sizes[1].0);
    let [have, reckoned] = sizes.map(|(_, product)| product as f64);
    assert!((have / reckoned - 1.0).abs() < 0.2, "{have} bytes, {reckoned} reckoned");
    let secret = SecretKey::generate(real).unwrap();
    let mut keys = EvaluationKeys::empty(real, secret.fingerprint());
    keys.add_relinearisation(real, &secret).unwrap();
    let have = keys.prepare(real).unwrap().bytes() as f64;
    let reckoned = real.prepared_key_bytes() as f64;
    assert!((have / reckoned - 1.0).abs() < 0.1, "{have} bytes, {reckoned} reckoned");

    let modulus = empty.parameters().top();
    let meter = empty.meter().unwrap();
    let before = meter.live();
    let poly = empty.zero(modulus, Domain::Evaluation);
    assert_eq!(meter.live() - before, 8 * empty.degree() * modulus.limb_count());
    drop(poly);
    assert_eq!(meter.live(), before);
}

/// Operands of a dry run are distinguished from those of a real run.
#[test]
fn operands_of_a_dry_run_do_not_mix_with_others() {
    let real = &contexts()[1];
    let empty = &dry_run(real);
    let [a, b] = [real, empty].map(|context| Side::new(context, |secret| held(context, secret)));
    let mut out = Ciphertext::empty(real);
    for (context, side, other) in [(real, &a, &b), (empty, &b, &a)] {
        let (own, strange) = (&side.values[0], &other.values[0]);
        let mismatch = |result: Result<(), RlweError>| {
            assert!(matches!(result, Err(RlweError::ParameterMismatch { .. })), "{result:?}");
        };
        mismatch(context.negate_into(&mut out, strange));
        mismatch(context.add_assign(&mut own.clone(), strange));
        mismatch(context.multiply_into(&mut out, own, strange, 1, &side.keys, own.modulus()));
        let plain = other.plain(own.modulus(), 1);
        let error = context.mul_plain_into(&mut out, own, &plain).unwrap_err();
        assert!(error.to_string().contains("dry run"), "{error}");
        let mut poly = side.plain(own.modulus(), 1);
        let error =
            context.switch_modulus(&mut poly, &plain, own.modulus(), own.modulus(), 1).unwrap_err();
        assert!(error.to_string().contains("dry run"), "{error}");
    }
    let none = PreparedEvaluationKeys::all_for_dry_run(real, a.secret.fingerprint());
    assert_eq!(none.unwrap_err().to_string(), "parameters: only a dry run has every key");
    // A result that held residues before.
    empty.tensor_into(&mut out, &b.values[0], &b.values[1]).unwrap();
    assert!(out.parts().iter().all(Poly::is_dry_run));
}

/// The base modulus of a bootstrap may have a limb of the sprout in common with the raised modulus.
#[test]
fn raised_moduli_may_share_limbs_of_the_sprout() {
    let real = &contexts()[2];
    let empty = &dry_run(real);
    let top = real.parameters().top();
    for sprout in [top.sprout(), Modulus::of_sprout(top.odd(), 0), Modulus::of_sprout(0, 3)] {
        let base = Modulus::of_range(0..1).lcm(sprout);
        let raised = [real, empty].map(|context| {
            let side = Side::new(context, |secret| held(context, secret));
            let (mut low, mut out) = (Ciphertext::empty(context), Ciphertext::empty(context));
            context.switch_ciphertext_into(&mut low, &side.values[0], base).unwrap();
            context.raise_modulus_into(&mut out, &low, top).unwrap();
            facts(&out)
        });
        assert_eq!(raised[0], raised[1]);
    }
}

/// The double decomposition, raised moduli with and without a sparse secret, and products over the
/// integers.
#[test]
fn other_operations_have_dry_runs() {
    let real = &insecure(LOG_DEGREE, 9, 1, 9);
    let empty = &dry_run(real);
    let results = [real, empty].map(|context| {
        let side = Side::new(context, |secret| held(context, secret));
        let (top, base) = (context.parameters().top(), Modulus::of_range(0..1));
        let mut all = Vec::new();
        let mut low = Ciphertext::empty(context);
        context.switch_ciphertext_into(&mut low, &side.values[0], base).unwrap();
        let mut out = Ciphertext::empty(context);
        context.raise_modulus_into(&mut out, &low, top).unwrap();
        all.push(facts(&out));
        let narrow = context
            .sibling(context.parameters().encapsulation_insecure(base, 32).unwrap())
            .unwrap();
        assert_eq!(narrow.is_dry_run(), context.is_dry_run());
        let keys = EncapsulationKeys::generate(context, &narrow, &side.secret, top).unwrap();
        let keys = keys.prepare(context, &narrow).unwrap();
        context.raise_encapsulated_into(&mut out, &low, &keys, &narrow, top).unwrap();
        all.push(facts(&out));
        let before = (context.transforms(), context.tally().transforms());
        context
            .multiply_scaled_into(&mut out, &side.values[0], &side.values[1], 17, &side.keys, top)
            .unwrap();
        all.push(facts(&out));
        let mut sum = context.scaled_sum(&side.values[0], 17).unwrap();
        for (a, b) in [(0, 1), (1, 1), (0, 0)] {
            sum.add(&side.values[a], &side.values[b]).unwrap();
        }
        sum.relinearise_into(&mut out, &side.keys, top).unwrap();
        all.push(facts(&out));
        let scaled = context.transforms() - before.0 + context.tally().transforms() - before.1;
        let gadget = context.parameters().double_gadgets(top)[0];
        assert!(matches!(gadget.method(), Method::Double { .. }));
        let decomposed = context.decompose_with(side.values[0].part(1), top, gadget).unwrap();
        let [mut p, mut q] = [0, 1].map(|_| context.zero(top, Domain::Evaluation));
        let before = (context.transforms(), context.tally().transforms());
        let key = side.keys.galois(5).unwrap();
        let to = hippocrene_rlwe::Destination::new(top);
        context.switch_keys_into([&mut p, &mut q], &decomposed, key, [None, None], &to).unwrap();
        let transforms = context.transforms() - before.0 + context.tally().transforms() - before.1;
        (all, p.limb_count(), transforms, scaled)
    });
    assert_eq!(results[0], results[1]);
    let tally = empty.tally();
    assert_eq!(tally.raises(), 2);
    assert!(tally.derived_key_bytes() > 0);
}
