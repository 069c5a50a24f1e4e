//! Tests of signs, comparisons and absolute values: the right values, with the estimated noise,
//! within the stated bounds.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
};

use crate::common::{Setup, grafted, insecure};
use hippocrene_ckks::{
    Ciphertext, CkksError, Context, Evaluator, NoRefresh, Refresh, Scale,
    approximation::{ModularReduction, sign::CompositeSign},
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper, Order},
    circuits::{
        DftLevel,
        comparison::{SignLiteral, SignPlan, SignUse},
    },
};
use num_complex::Complex64;
use proptest::prelude::*;

/// Encrypts an argument at the scale `2^bits`.
fn encrypt(s: &Setup, x: &[f64], bits: i32, bound: f64) -> Ciphertext {
    let z: Vec<Complex64> = x.iter().map(|x| Complex64::from(*x)).collect();
    let mut a = s.encrypt_at(&z, x.len(), Scale::power_of_two(bits), s.top());
    a.set_bound(bound);
    a
}

/// Returns arguments of both signs whose absolute values are spread evenly on a logarithmic scale
/// from `low` to `high`, and as many that are spread evenly over smaller values.
fn arguments(count: usize, low: f64, high: f64) -> (Vec<f64>, Vec<f64>) {
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let part = |i: usize| (i as f64 * 0.754_877_666).fract();
    let outside = |i: usize| sign(i) * (low.ln() + part(i) * (high / low).ln()).exp();
    let inside = |i: usize| sign(i) * low * part(i);
    ((0..count).map(|i| outside(i).clamp(-high, high)).collect(), (0..count).map(inside).collect())
}

fn reals(s: &Setup, a: &Ciphertext) -> Vec<f64> {
    s.decrypt(a).iter().map(|z| z.re).collect()
}

/// Checks that every value of a ciphertext is within a bound of its number, and that the noise is
/// as estimated, where `polynomials` holds the values without noise.
fn check(
    s: &Setup,
    a: &Ciphertext,
    expected: &[f64],
    bound: impl Fn(usize) -> f64,
    polynomials: Option<(&[f64], f64)>,
    what: &str,
) {
    let got = reals(s, a);
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() <= bound(i),
            "{what}: slot {i} is {g}, not {e} to within {:e}",
            bound(i)
        );
        assert!(g.abs() <= a.bound() * (1.0 + 1e-6), "{what}: {g} exceeds the bound {}", a.bound());
    }
    if let Some((polynomials, factor)) = polynomials {
        let sum: f64 = got.iter().zip(polynomials).map(|(g, e)| (g - e).powi(2)).sum();
        let measured = 0.5 * (sum / got.len() as f64).log2();
        let estimated = -a.precision_bits();
        assert!(
            (measured - estimated).abs() < factor.log2(),
            "{what}: measured error 2^{measured:.2}, estimated 2^{estimated:.2}"
        );
    }
}

fn check_sign(s: &Setup, plan: &SignPlan, scale: i32, factor: f64, what: &str) {
    let SignLiteral { slots, bound, gap, .. } = *plan.literal();
    let (outside, inside) = arguments(slots, gap, bound);
    let (e, none) = (&s.evaluator, NoRefresh(&s.context));
    let a = encrypt(s, &outside, scale, bound);
    let y = e.sign(&a, plan, &none).unwrap();
    let signs: Vec<f64> = outside.iter().map(|x| x.signum()).collect();
    let exact: Vec<f64> = outside.iter().map(|x| plan.apply(*x)).collect();
    check(s, &y, &signs, |_| plan.error(), Some((&exact, factor)), what);
    // Each product uses as many bits as the scale of its factors has, which is within half a bit of
    // the planned one. The capacity of values below 1 counts them as 1, but their scale is planned
    // for their bound.
    let unused = -bound.log2().min(0.0);
    let products: usize = plan.stages().iter().map(|stage| stage.polynomial().depth()).sum();
    let used = a.capacity_bits(&s.context) - y.capacity_bits(&s.context);
    assert!(
        (used + unused - plan.bits()).abs() < 1.0 + 0.5 * products as f64,
        "{what}: {used} bits, {} planned, {unused} unused",
        plan.bits()
    );
    let y = e.sign(&encrypt(s, &inside, scale, bound), plan, &none).unwrap();
    check(s, &y, &vec![0.0; slots], |_| 1.0 + plan.error(), None, what);
}

#[test]
fn given_compositions() {
    let s = grafted(11, 16, "sprout-15-16-32", &[]);
    let literal = SignLiteral { slots: 1 << 10, bound: 1.0, gap: 2f64.powi(-5), precision: 12.0 };
    let least = SignPlan::new(&s.context, literal).unwrap();
    for (n, g, f) in [(1, 7, 5), (2, 4, 3), (3, 3, 2), (4, 2, 2)] {
        let composition = CompositeSign::iterated(n, g, f, literal.gap).unwrap();
        let plan = SignPlan::composed(&s.context, &composition, literal).unwrap();
        assert!(least.bits() < 0.85 * plan.bits(), "{} {}", least.bits(), plan.bits());
        check_sign(&s, &plan, 40, 1.5, &format!("f_{n}, g_{n}"));
        // One scale for all stages: that of the last stage is sufficient and uses more bits.
        let last = plan.stages().last().unwrap().scale_bits();
        let fixed = SignPlan::at_scale(&s.context, &composition, last, 0.0, literal).unwrap();
        assert!(fixed.error() < 1.5 * plan.error(), "{} {}", fixed.error(), plan.error());
        assert!(fixed.bits() > 1.05 * plan.bits());
    }
    let short = CompositeSign::iterated(3, 1, 1, literal.gap).unwrap();
    let error = SignPlan::composed(&s.context, &short, literal).unwrap_err().to_string();
    assert!(error.contains("no composition"), "{error}");
}

/// A plan for larger errors of its arguments has room for them on both sides of the range.
#[test]
fn arguments_with_large_errors_have_their_sign() {
    let s = grafted(11, 16, "sprout-15-16-32", &[]);
    let literal = SignLiteral { slots: 1 << 10, bound: 1.0, gap: 2f64.powi(-5), precision: 12.0 };
    let used = |argument_error| SignUse { argument_error, ..SignUse::default() };
    let [narrow, wide] = [None, Some(0.25)]
        .map(|error| SignPlan::new_for(&s.context, literal, used(error)).unwrap());
    assert!((narrow.argument_precision() - wide.argument_precision() - 3.0).abs() < 1e-12);
    let off = |plan: &SignPlan, x: f64| (plan.apply(x) - 1.0).abs() / plan.error();
    let (low, high) = (0.7501 * literal.gap, 1.0 + 0.2499 * literal.gap);
    assert!(off(&wide, low) <= 1.0 && off(&wide, high) <= 1.0);
    assert!(off(&narrow, low) > 1.0);
    let refused = SignPlan::new_for(&s.context, literal, used(Some(0.75))).unwrap_err();
    assert!(refused.to_string().contains("errors of arguments"), "{refused}");
}

/// The search finds ranges of polynomials at one point. The cheapest composition for 16.58 bits
/// keeps to its error by so little that its proven ranges do not.
#[test]
fn plans_are_found_where_the_cheapest_one_cannot_be_proven() {
    let s = grafted(11, 20, "sprout-15-16-32", &[]);
    let bits = [16.33, 16.58, 16.83].map(|precision: f64| {
        let literal = SignLiteral { slots: 1 << 10, bound: 33.0, gap: 0.421875, precision };
        let noise_std = Some((-precision).exp2() / 3.0);
        let used = SignUse { noise_std, ..SignUse::default() };
        let plan = SignPlan::new_for(&s.context, literal, used).unwrap();
        assert!(plan.polynomial_error() <= (-precision).exp2());
        plan.bits()
    });
    assert!(bits[1] < bits[0] + 8.0 && bits[2] < bits[0] + 16.0, "{bits:?}");
}

#[test]
fn simple_chains_compare_at_one_scale() {
    let s = insecure(10, 19, &[]);
    let literal = SignLiteral { slots: 1 << 9, bound: 1.0, gap: 2f64.powi(-6), precision: 1.0 };
    let composition = CompositeSign::iterated(3, 4, 2, literal.gap).unwrap();
    let plan = SignPlan::at_scale(&s.context, &composition, 40.0, 0.0, literal).unwrap();
    assert!(plan.error() < 2f64.powi(-20));
    check_sign(&s, &plan, 40, 1.5, "simple");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_gap_precision_and_bound(
        log_gap in -9.0f64..-2.0,
        precision in 3.0f64..20.0,
        log_bound in -3.0f64..6.0,
    ) {
        let s = grafted(10, 12, "sprout-15-16-32", &[]);
        let bound = log_bound.exp2();
        let literal = SignLiteral { slots: 1 << 9, bound, gap: bound * log_gap.exp2(), precision };
        let plan = SignPlan::new(&s.context, literal).unwrap();
        prop_assert!(plan.error() <= (-precision).exp2() * (1.0 + 1e-9));
        // Scales are within half a bit of the planned ones. If the precision is low, errors are not
        // small compared with the ranges.
        let factor = if precision < 8.0 { 8.0 } else { 2.0 };
        check_sign(&s, &plan, 45, factor, &format!("{literal:?}"));
    }
}

/// A case that once failed: the scale of values far below 1 uses fewer bits than planned.
#[test]
fn small_bounds_use_fewer_bits() {
    let s = grafted(10, 12, "sprout-15-16-32", &[]);
    let (bound, gap) = (0.1259223606812477, 0.0075149684204986016);
    let literal = SignLiteral { slots: 1 << 9, bound, gap, precision: 3.537460484926054 };
    let plan = SignPlan::new(&s.context, literal).unwrap();
    check_sign(&s, &plan, 45, 8.0, "a small bound");
}

#[test]
fn comparisons_follow_from_the_sign() {
    let s = grafted(11, 13, "sprout-15-16-32", &[]);
    let (e, none) = (&s.evaluator, NoRefresh(&s.context));
    let n = s.context.max_slots();
    let literal = SignLiteral { slots: n, bound: 5.0, gap: 0.05, precision: 12.0 };
    let plan = SignPlan::new(&s.context, literal).unwrap();
    let off = plan.error();
    for (outside, x) in [arguments(n, 0.05, 5.0).0, arguments(n, 0.05, 5.0).1]
        .into_iter()
        .enumerate()
        .map(|(i, x)| (i == 0, x))
    {
        let a = encrypt(&s, &x, 45, 5.0);
        // The stated bound of a product with the sign covers x, its rounding, and the error of the
        // argument.
        let times = |share: f64| {
            let x = x.clone();
            move |i: usize| {
                share * (x[i].abs() * if outside { off } else { 2.0 + off } + 5.0 * off / 2.0)
                    + 1e-6
            }
        };
        let noiseless: Vec<f64> = x.iter().map(|x| x * plan.apply(*x)).collect();
        let abs: Vec<f64> = x.iter().map(|x| x.abs()).collect();
        let y = e.abs(&a, &plan, &none).unwrap();
        check(&s, &y, &abs, times(1.0), None, "abs");
        let relu: Vec<f64> = x.iter().map(|x| x.max(0.0)).collect();
        let z = e.relu(&a, &plan, &none).unwrap();
        check(&s, &z, &relu, times(0.5), None, "relu");
        for (got, part, name) in [(&y, 1.0, "abs"), (&z, 0.5, "relu")] {
            let noiseless: Vec<f64> = noiseless
                .iter()
                .zip(&x)
                .map(|(p, x)| if part < 1.0 { 0.5 * (p + x) } else { *p })
                .collect();
            check(&s, got, &noiseless, |_| 5.0 * off, None, name);
        }
        let step: Vec<f64> =
            x.iter().map(|x| if outside { f64::from(*x > 0.0) } else { 0.5 }).collect();
        let within = if outside { 0.5 * off } else { 0.5 + 0.5 * off };
        check(&s, &e.step(&a, &plan, &none).unwrap(), &step, |_| within, None, "step");

        // x = a - b.
        let b: Vec<f64> = (0..n).map(|i| 2.0 * (i as f64 * 0.569_840_291).fract() - 1.0).collect();
        let sum: Vec<f64> = x.iter().zip(&b).map(|(x, b)| 0.5 * x + b).collect();
        let (a, b_) = (encrypt(&s, &sum, 45, 3.5), encrypt(&s, &b, 45, 1.0));
        let half = |i: usize| times(0.5)(i);
        let (literal, larger): (_, Vec<f64>) = (
            SignLiteral { gap: 0.025, ..literal },
            sum.iter().zip(&b).map(|(a, b)| a.max(*b)).collect(),
        );
        let plan = SignPlan::new(&s.context, literal).unwrap();
        check(&s, &e.maximum(&a, &b_, &plan, &none).unwrap(), &larger, half, None, "maximum");
        let smaller: Vec<f64> = sum.iter().zip(&b).map(|(a, b)| a.min(*b)).collect();
        check(&s, &e.minimum(&a, &b_, &plan, &none).unwrap(), &smaller, half, None, "minimum");
        let opposite: Vec<f64> = step.iter().map(|x| 1.0 - x).collect();
        check(&s, &e.greater(&a, &b_, &plan, &none).unwrap(), &step, |_| within, None, "greater");
        check(&s, &e.less(&a, &b_, &plan, &none).unwrap(), &opposite, |_| within, None, "less");
    }
}

/// Checks that products with the sign have the estimated noise, for arguments near the bound.
#[test]
fn noise_of_products_with_the_sign() {
    let s = grafted(11, 10, "sprout-15-16-32", &[]);
    let n = s.context.max_slots();
    let plan =
        SignPlan::new(&s.context, SignLiteral { slots: n, bound: 2.0, gap: 0.1, precision: 10.0 })
            .unwrap();
    let x: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { -1.9 } else { 1.95 }).collect();
    let a = encrypt(&s, &x, 45, 2.0);
    let y = s.evaluator.abs(&a, &plan, &NoRefresh(&s.context)).unwrap();
    let noiseless: Vec<f64> = x.iter().map(|x| x * plan.apply(*x)).collect();
    check(&s, &y, &noiseless, |_| 2.0 * plan.error(), Some((&noiseless, 1.5)), "abs");
}

/// A bootstrapper that records the requested capacities.
struct Counted<'a>(&'a Bootstrapper, Mutex<Vec<f64>>);

impl Refresh for Counted<'_> {
    fn refresh<'a>(
        &self,
        a: Cow<'a, Ciphertext>,
        need: f64,
        useful: f64,
        operation: &'static str,
    ) -> Result<Cow<'a, Ciphertext>, CkksError> {
        if a.capacity_bits(self.0.evaluator().context()) < need {
            self.1.lock().unwrap().push(useful);
        }
        self.0.refresh(a, need, useful, operation)
    }

    fn reserve(&self) -> f64 {
        self.0.reserve()
    }

    fn max_capacity(&self) -> f64 {
        self.0.max_capacity()
    }
}

/// Number of secrets that the noise with bootstraps is averaged over.
const SECRETS: usize = 6;

fn bootstrapper(s: &Setup, literal: BootstrapLiteral) -> Bootstrapper {
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&s.context), literal).unwrap());
    let mut keys = hippocrene_rlwe::EvaluationKeys::empty(s.context.rlwe(), s.secret.fingerprint());
    plan.add_keys(&mut keys, &s.secret).unwrap();
    let keys = Arc::new(keys.prepare(s.context.rlwe()).unwrap());
    let encapsulation = plan.encapsulation_keys(&s.secret).unwrap().unwrap();
    let encapsulation =
        Arc::new(encapsulation.prepare(s.context.rlwe(), plan.sparse_context().unwrap()).unwrap());
    let evaluator = Evaluator::new(Arc::clone(&s.context), keys);
    Bootstrapper::new(plan, evaluator, Some(encapsulation)).unwrap()
}

#[test]
fn bootstraps_in_between() {
    let s = grafted(8, 19, "sprout-15-16-32", &[]);
    let slots = 128;
    let levels = |scale_bits| {
        vec![DftLevel { radix_log2: 4, scale_bits }, DftLevel { radix_log2: 3, scale_bits }]
    };
    let bootstrap = BootstrapLiteral {
        slots,
        real: true,
        first_slots: false,
        order: Order::SlotsToCoefficientsFirst,
        bound: 1.0,
        base_bits: 48.0,
        sparse_weight: Some(32),
        reduction: ModularReduction::new(17, -8.0, -36.0, 3, 3).unwrap(),
        scale_bits: 54.0,
        coefficients_to_slots: levels(48.0),
        slots_to_coefficients: levels(35.0),
        output_scale_bits: 40.0,
        output_bits: None,
        precision: None,
    };
    let bootstrapper = self::bootstrapper(&s, bootstrap.clone());
    let (e, most) = (bootstrapper.evaluator(), bootstrapper.max_capacity());

    let gap = 2f64.powi(-12);
    let literal = SignLiteral { slots, bound: 1.0, gap, precision: 12.0 };
    let sign = SignPlan::new(&s.context, literal).unwrap();
    assert!(sign.bits() > most, "{} {most}", sign.bits());
    let (x, _) = arguments(slots, gap, 1.0);
    let z: Vec<Complex64> = x.iter().map(|x| Complex64::from(*x)).collect();
    let low = s.context.parameters().grafted_modulus(40.0 + 2.0 + bootstrapper.reserve());
    let a = s.encrypt_at(&z, slots, Scale::power_of_two(40), low);
    let refresh = Counted(&bootstrapper, Mutex::default());
    let y = e.sign(&a, &sign, &refresh).unwrap();
    let asked = refresh.1.lock().unwrap().clone();
    assert!(asked.len() >= 2 && asked.iter().all(|bits| *bits <= most), "{asked:?} {most}");
    assert!(
        asked[asked.len() - 1] < most - 16.0,
        "the last one for the remaining stages: {asked:?} {most}"
    );
    let signs: Vec<f64> = x.iter().map(|x| x.signum()).collect();
    let exact: Vec<f64> = x.iter().map(|x| sign.apply(*x)).collect();
    check(&s, &y, &signs, |_| sign.error(), None, "with bootstraps");
    // In such a small ring, errors depend on the secret.
    let (mut measured, mut estimated) = (0.0, 0.0);
    for _ in 0..SECRETS {
        let s = grafted(8, 19, "sprout-15-16-32", &[]);
        let bootstrapper = self::bootstrapper(&s, bootstrap.clone());
        let a = s.encrypt_at(&z, slots, Scale::power_of_two(40), low);
        let y = bootstrapper.evaluator().sign(&a, &sign, &bootstrapper).unwrap();
        measured += reals(&s, &y).iter().zip(&exact).map(|(y, e)| (y - e).powi(2)).sum::<f64>()
            / slots as f64;
        estimated += (-2.0 * y.precision_bits()).exp2();
    }
    let off = 0.5 * (measured / estimated).log2();
    assert!(
        off.abs() < 1.5f64.log2(),
        "with bootstraps: measured error 2^{off:.2} of the estimated one"
    );
    let (abs, bits): (Vec<f64>, f64) = (x.iter().map(|x| x.abs()).collect(), (2.0f64).powi(-11));
    check(&s, &e.abs(&a, &sign, &refresh).unwrap(), &abs, |_| bits, None, "abs, with bootstraps");

    // An argument that needs a bootstrap, with a gap for which the bootstrapped values are not
    // precise enough.
    let fine = SignPlan::new(&s.context, SignLiteral { gap: 2f64.powi(-24), ..literal }).unwrap();
    let low = s.context.parameters().grafted_modulus(62.0 + bootstrapper.reserve());
    let a = s.encrypt_at(&z, slots, Scale::power_of_two(60), low);
    let error = e.sign(&a, &fine, &refresh).unwrap_err().to_string();
    assert!(error.contains("of precision after a refresh"), "{error}");
}

#[test]
fn invalid_plans_and_arguments_are_refused() {
    let s = grafted(10, 4, "sprout-15-16-32", &[]);
    let slots = s.context.max_slots();
    let good = SignLiteral { slots, bound: 1.0, gap: 0.1, precision: 5.0 };
    let refused = |literal: SignLiteral, words: &str| {
        let error = SignPlan::new(&s.context, literal).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(SignLiteral { slots: 3, ..good }, "3 slots");
    refused(SignLiteral { gap: 1.0, ..good }, "a gap of 1 among values up to 1 is not possible");
    refused(SignLiteral { gap: 1e300, ..good }, "a gap of 1e300 among values");
    refused(SignLiteral { gap: 1e-10, ..good }, "2^-30 of the bound");
    refused(SignLiteral { gap: f64::NAN, ..good }, "a gap of NaN");
    refused(SignLiteral { bound: f64::INFINITY, ..good }, "up to inf");
    refused(SignLiteral { precision: 41.0, ..good }, "a precision of 41");
    refused(SignLiteral { precision: 1e300, ..good }, "a precision of 1e300 bits");
    refused(SignLiteral { precision: f64::NAN, ..good }, "a precision of NaN");
    let tiny = grafted(10, 1, "sprout-15-16-32", &[]);
    let wide = SignPlan::new(&tiny.context, SignLiteral { precision: 30.0, ..good });
    assert!(matches!(wide.unwrap_err(), CkksError::Capacity { .. }));

    let plan = SignPlan::new(&s.context, good).unwrap();
    let (e, none) = (&s.evaluator, NoRefresh(&s.context));
    let x = vec![0.5; slots];
    let error = e.sign(&encrypt(&s, &x, 45, 1.5), &plan, &none).unwrap_err().to_string();
    assert!(error.contains("values up to 1.5") && error.contains("up to 1"), "{error}");
    let error = e.sign(&encrypt(&s, &x, 12, 1.0), &plan, &none).unwrap_err().to_string();
    assert!(error.contains("bits of precision"), "{error}");
    let half = encrypt(&s, &x[..slots / 2], 45, 1.0);
    assert!(matches!(e.relu(&half, &plan, &none), Err(CkksError::SlotMismatch { .. })));
    let low = s.context.parameters().grafted_modulus(100.0);
    let a = e.reduce_modulus(&encrypt(&s, &x, 45, 1.0), low).unwrap();
    for result in
        [e.sign(&a, &plan, &none), e.abs(&a, &plan, &none), e.maximum(&a, &a, &plan, &none)]
    {
        assert!(
            matches!(result, Err(CkksError::Capacity { .. } | CkksError::Argument { .. })),
            "{result:?}"
        );
    }
}

#[test]
fn more_of_the_modulus_is_asked_for_before_anything_is_done() {
    let s = grafted(10, 4, "sprout-15-16-32", &[]);
    let c: &Context = &s.context;
    let literal =
        SignLiteral { slots: c.max_slots(), bound: 1.0, gap: 2f64.powi(-10), precision: 10.0 };
    let plan = SignPlan::new(c, literal).unwrap();
    let a = encrypt(&s, &vec![0.5; c.max_slots()], 45, 1.0);
    let Err(CkksError::Capacity { operation, need, have }) =
        s.evaluator.sign(&a, &plan, &NoRefresh(c))
    else {
        panic!("the modulus is too small for it");
    };
    assert!(
        operation == "sign"
            && (need - plan.bits()).abs() < 1e-6
            && (have - a.capacity_bits(c)).abs() < 0.01
    );
}
