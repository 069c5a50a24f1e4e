//! Tests of dry runs: moduli, scales, noise and bounds equal those of the same circuit on residues,
//! and the known values are those that it decrypts to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::common::{circle, grafted, insecure};
use hippocrene_ckks::{
    Ciphertext, CkksError, Context, Evaluator, Scale,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper, Order},
    circuits::{Basis, DftLevel, LinearTransform, Polynomial},
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, KeyUse, Parameters, ParametersLiteral, PreparedEvaluationKeys, RlweError,
    SecretDistribution, SecretKey, Sprout,
};
use num_complex::Complex64;
use proptest::prelude::*;

struct Side {
    context: Arc<Context>,
    secret: SecretKey,
    evaluator: Evaluator,
    values: Vec<Ciphertext>,
}

fn scale() -> Scale {
    Scale::power_of_two(40)
}

impl Side {
    fn encrypt(&self, values: &[Complex64], bits: f64) -> Ciphertext {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let plaintext = self.context.encode(values.into(), values.len(), scale(), modulus).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    fn real(context: Arc<Context>, evaluator: Evaluator, secret: SecretKey) -> Self {
        Side { context, secret, evaluator, values: Vec::new() }.with_values()
    }

    /// Returns the same setup as a dry run with all keys. It has a secret of its own.
    fn dry_run(parameters: &Parameters) -> Self {
        let context = Arc::new(Context::dry_run(parameters.clone(), Threads::single()).unwrap());
        let secret = SecretKey::generate(context.rlwe()).unwrap();
        let keys =
            PreparedEvaluationKeys::all_for_dry_run(context.rlwe(), secret.fingerprint()).unwrap();
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys));
        Side { context, secret, evaluator, values: Vec::new() }.with_values()
    }

    fn with_values(mut self) -> Self {
        let (slots, parameters) = (self.context.max_slots(), self.context.parameters());
        let bits = parameters.log2(parameters.top());
        let values = [(bits, 0.3), (bits, 0.7), (bits - 55.0, 1.1)];
        self.values =
            values.map(|(bits, seed)| self.encrypt(&circle(slots, 0.9, seed), bits)).into();
        self
    }

    fn apply(&self, step: &Step) -> Result<Ciphertext, CkksError> {
        let Side { evaluator: e, values, context, .. } = self;
        let (a, b) = (&values[step.left % values.len()], &values[step.right % values.len()]);
        let plain = |seed: f64| {
            context.encode(
                (&circle(a.slots(), 0.8, seed)[..]).into(),
                a.slots(),
                a.scale(),
                a.modulus(),
            )
        };
        let (steps, number) = ((step.number % 4) as i64, step.number as f64 / 7.0 - 3.0);
        Ok(match step.operation {
            0 => e.add(a, b)?,
            1 => e.sub(a, b)?,
            2 => e.negate(a)?,
            3 => e.add_plain(a, &plain(number)?)?,
            4 => e.rescale(&e.mul_plain(a, &plain(number)?)?, scale())?,
            5 => {
                let p = plain(number)?;
                let mut sum = e.mul_plain(a, &p)?;
                e.mul_plain_add_assign(&mut sum, b, &p)?;
                sum
            }
            6 => e.add_number(a, number)?,
            7 => e.mul_number(a, number, scale())?,
            8 => {
                let common = a.modulus().gcd(b.modulus());
                e.linear_combination(
                    &[(a, number), (b, -number)],
                    common,
                    a.scale().times(scale()),
                )?
            }
            9 => e.mul_integer(a, step.number as i64 - 20)?,
            10 => e.mul_rescale(a, b, scale())?,
            11 => e.square_rescale(a, scale())?,
            12 => e.rotate(a, steps)?,
            13 => e.rotate_many(a, &[1, steps])?.remove(1),
            14 => e.conjugate(a)?,
            15 => e.rescale(a, scale())?,
            16 => {
                let (a, b) = e.align(a, b)?;
                e.add(&a, &b)?
            }
            17 => e.complex(a, &e.mul_by_i(a)?)?,
            18 => e.inner_sum(a, 1, 4)?,
            19 => {
                let c = vec![0.5, number, -0.25, 0.125, 0.0, 0.0625];
                e.polynomial(a, &Polynomial::new(Basis::Monomial, c)?, scale())?
            }
            20 => {
                let c = (0..12).map(|i| number / (1.0 + f64::from(i))).collect();
                // For real numbers, the interval is an interval of the real line.
                let p = Polynomial::new(Basis::Chebyshev { low: -2.0, high: 2.0 }, c)?;
                e.polynomial(&e.real_part(a)?, &p, scale())?
            }
            _ => {
                let diagonals = (0..3)
                    .map(|r| (r, circle(a.slots(), 0.4, r as f64)))
                    .collect::<BTreeMap<_, _>>();
                e.linear_transform(a, &LinearTransform::new(a.slots(), diagonals)?, scale())?
            }
        })
    }
}

/// An operation on earlier values.
#[derive(Debug, Clone)]
struct Step {
    operation: usize,
    left: usize,
    right: usize,
    number: u64,
}

fn step() -> impl Strategy<Value = Step> {
    (0..22usize, 0..100usize, 0..100usize, 0..50u64)
        .prop_map(|(operation, left, right, number)| Step { operation, left, right, number })
}

/// Returns everything that is known about a ciphertext except its residues.
fn facts(c: &Ciphertext) -> impl PartialEq + std::fmt::Debug + use<> {
    (c.modulus(), c.scale(), c.slots(), c.bound(), c.inner().noise(), c.inner().parts().len())
}

/// Checks that the known values are the decrypted ones, to within many times the noise.
fn check_values(real: &Side, got: &Ciphertext, dry: &Ciphertext) {
    assert_eq!(got.tracked_values(), None);
    let decrypted =
        real.context.decode_complex(&real.context.decrypt(&real.secret, got).unwrap()).unwrap();
    let known = dry.tracked_values().unwrap();
    assert_eq!(known.len(), got.slots());
    let tolerance = 64.0 * (-got.precision_bits()).exp2() + 1e-9 * got.bound();
    for (i, (d, k)) in decrypted.iter().zip(known).enumerate() {
        assert!((d - k).norm() <= tolerance, "slot {i}: {d}, known as {k}, within {tolerance}");
        assert!(
            k.norm() <= dry.bound() * (1.0 + 1e-9) + 1e-9,
            "slot {i}: {k}, bound {}",
            dry.bound()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn circuits_end_where_others_do(
        set in 0..2usize,
        steps in prop::collection::vec(step(), 1..16),
    ) {
        let setup = match set {
            0 => insecure(9, 6, &[1, 2, 3]),
            _ => grafted(9, 6, "sprout-15-16-32", &[1, 2, 3]),
        };
        let mut dry = Side::dry_run(setup.context.parameters());
        let mut real = Side::real(setup.context, setup.evaluator, setup.secret);
        for step in &steps {
            match (real.apply(step), dry.apply(step)) {
                (Ok(got), Ok(expected)) => {
                    prop_assert_eq!(facts(&got), facts(&expected), "{:?}", step);
                    check_values(&real, &got, &expected);
                    real.values.push(got);
                    dry.values.push(expected);
                }
                (Err(CkksError::Rlwe(RlweError::ParameterMismatch { .. })), _) => unreachable!(),
                (got, expected) => prop_assert_eq!(got, expected, "{:?}", step),
            }
        }
        prop_assert!(dry.context.rlwe().tally().seconds() > 0.0 || steps.is_empty());
    }
}

/// Plaintexts of a dry run cannot be decoded, nor ciphertexts decrypted.
#[test]
fn there_is_nothing_to_decode() {
    let setup = insecure(9, 2, &[]);
    let dry = Side::dry_run(setup.context.parameters());
    let plain = dry.context.encode((&[1.0, 2.0][..]).into(), 4, scale(), setup.top()).unwrap();
    let error = dry.context.decode_real(&plain).unwrap_err().to_string();
    assert!(error.contains("limbs with residues: 0 given"), "{error}");
    let error = dry.context.decrypt(&dry.secret, &dry.values[0]).unwrap_err();
    assert_eq!(error.to_string(), "decrypt: this is a simulation, which computes without residues");
    let too_large = dry.context.encode((&[1e30][..]).into(), 4, scale(), setup.top()).unwrap_err();
    assert_eq!(
        Err(too_large),
        setup.context.encode((&[1e30][..]).into(), 4, scale(), setup.top()).map(|_| ())
    );
}

fn literal(slots: usize, order: Order) -> BootstrapLiteral {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    let last = slots.ilog2() - 4;
    BootstrapLiteral {
        slots,
        real: false,
        first_slots: false,
        order,
        bound: 1.0,
        base_bits: 48.0,
        sparse_weight: Some(32),
        reduction: ModularReduction::new(17, -8.0, -36.0, 3, 3).unwrap(),
        scale_bits: 54.0,
        coefficients_to_slots: vec![level(4, 48.0), level(last, 48.0)],
        slots_to_coefficients: vec![level(4, 35.0), level(last, 35.0)],
        output_scale_bits: 40.0,
        output_bits: None,
        precision: None,
    }
}

/// Checks that a dry run counts the transforms that are computed, within 1 %.
fn assert_same_transforms(done: &[u64]) {
    let (done, counted) = (done[0] as f64, done[1] as f64);
    assert!(done > 0.0 && (counted / done - 1.0).abs() < 0.01, "{done} {counted}");
}

#[test]
fn polynomials_are_counted_as_they_are_done() {
    let setup = insecure(9, 8, &[]);
    let dry = Side::dry_run(setup.context.parameters());
    let real = Side::real(setup.context, setup.evaluator, setup.secret);
    let c = (0..16).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
    let p = Polynomial::new(Basis::Monomial, c).unwrap();
    let done = [&real, &dry].map(|side| {
        let rlwe = side.context.rlwe();
        rlwe.reset_tally();
        let before = rlwe.transforms();
        side.evaluator.polynomial(&side.values[0], &p, scale()).unwrap();
        rlwe.tally().transforms() + rlwe.transforms() - before
    });
    assert_same_transforms(&done);
}

#[test]
fn bootstraps_run_dry() {
    let degree = 1 << 8;
    let units = primes::ntt_primes(48, degree, 17, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree: 8,
        gadget_rank: 5,
        units,
        specials: primes::ntt_primes(49, degree, 5, &[]).unwrap(),
        sprout: Sprout::for_degree(8).unwrap(),
        secret: SecretDistribution::SparseTernary { weight: 192 },
    })
    .unwrap();
    let (first, last) = (Order::SlotsToCoefficientsFirst, Order::SlotsToCoefficientsLast);
    for (slots, order, precision) in
        [(128, first, None), (32, last, None), (128, first, Some(32.0))]
    {
        let plan = |context: &Arc<Context>| {
            let literal = BootstrapLiteral { precision, ..literal(slots, order) };
            BootstrapPlan::new(Arc::clone(context), literal).unwrap()
        };
        let context = Arc::new(Context::new(parameters.clone(), Threads::single()).unwrap());
        let secret = SecretKey::generate(context.rlwe()).unwrap();
        let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
        plan(&context).add_keys(&mut keys, &secret).unwrap();
        let prepared = keys.prepare(context.rlwe()).unwrap();
        let real =
            Side::real(Arc::clone(&context), Evaluator::new(context, Arc::new(prepared)), secret);
        let mut dry = Side::dry_run(&parameters);
        // Both sets of keys have the same moduli.
        let mut same = EvaluationKeys::empty(dry.context.rlwe(), dry.secret.fingerprint());
        plan(&dry.context).add_keys(&mut same, &dry.secret).unwrap();
        let same =
            PreparedEvaluationKeys::all_for_dry_run_beside(dry.context.rlwe(), &same).unwrap();
        dry.evaluator = Evaluator::new(Arc::clone(&dry.context), Arc::new(same));
        let mut done = Vec::new();
        let outputs = [&real, &dry].map(|side| {
            let plan = plan(&side.context);
            let sparse_context = plan.sparse_context().unwrap();
            let keys = plan.encapsulation_keys(&side.secret).unwrap().unwrap();
            let keys = Arc::new(keys.prepare(side.context.rlwe(), sparse_context).unwrap());
            let bootstrapper =
                Bootstrapper::new(Arc::new(plan), side.evaluator.clone(), Some(keys)).unwrap();
            let a = side.encrypt(&circle(slots, 0.9, 0.5), 180.0);
            side.context.rlwe().reset_tally();
            let sparse_context = bootstrapper.plan().sparse_context().unwrap();
            let transforms = || side.context.rlwe().transforms() + sparse_context.transforms();
            let before = transforms();
            let out = bootstrapper.bootstrap(&a).unwrap();
            done.push(match side.context.rlwe().is_dry_run() {
                true => side.context.rlwe().tally().transforms(),
                false => transforms() - before,
            });
            out
        });
        assert_same_transforms(&done);
        assert_eq!(facts(&outputs[0]), facts(&outputs[1]));
        check_values(&real, &outputs[0], &outputs[1]);
        assert!(outputs[1].precision_bits() > precision.unwrap_or(24.0));
        // The used keys are those of the plan, except for keys that only a plan for real slots
        // needs.
        let tally = dry.context.rlwe().tally();
        let used: BTreeSet<usize> = tally
            .keys()
            .keys()
            .filter_map(|name| match name {
                KeyUse::Galois(element) => Some(*element),
                KeyUse::Relinearisation => None,
            })
            .collect();
        let of_real = BootstrapLiteral { real: true, ..literal(slots, order) };
        let of_real =
            BootstrapPlan::new(Arc::clone(&dry.context), of_real).unwrap().key_moduli().unwrap();
        let asked: BTreeSet<usize> = keys.galois().keys().copied().collect();
        let others: BTreeSet<usize> = asked.iter().copied().filter(|g| !used.contains(g)).collect();
        assert!(
            used.is_subset(&asked) && others.iter().all(|g| of_real.contains_key(g)),
            "{used:?} {asked:?}"
        );
        assert!(tally.keys().contains_key(&KeyUse::Relinearisation));
        assert!(tally.seconds() > 0.0 && dry.context.rlwe().meter().unwrap().peak() > 0);
    }
}
