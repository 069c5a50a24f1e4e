//! Tests of bootstrapping at small insecure parameters: both orders, full and sparse slots, real
//! and complex values, grafted and simple chains.

use std::{
    borrow::Cow,
    f64::consts::{FRAC_PI_2, TAU},
    sync::{Arc, LazyLock},
};

use hippocrene_ckks::{
    BigFloat, Ciphertext, CkksError, Context, Evaluator, NoRefresh, Refresh, Scale,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Bootstrapper, Order, SineErrors, SineUse, Sines},
    circuits::{DftLevel, EntriesLiteral, SineEntriesPlan},
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{
    EvaluationKeys, Parameters, ParametersLiteral, PreparedEncapsulationKeys,
    PreparedEvaluationKeys, RlweError, SecretDistribution, SecretKey, Sprout,
};
use num_bigint::BigInt;
use num_complex::{Complex, Complex64};

struct Setup {
    context: Arc<Context>,
    secret: SecretKey,
    keys: Arc<PreparedEvaluationKeys>,
    encapsulation: Option<Arc<PreparedEncapsulationKeys>>,
    bootstrapper: Bootstrapper,
}

/// Returns units of 48 bits and a sprout, or a simple chain with a base of 48 bits and `units`
/// primes of 45. Insecure.
fn context(log_degree: u32, units: usize, grafted: bool) -> Arc<Context> {
    let degree = 1 << log_degree;
    let mut chain = primes::ntt_primes(48, degree, if grafted { units } else { 1 }, &[]).unwrap();
    if !grafted {
        chain.extend(primes::ntt_primes(45, degree, units, &[]).unwrap());
    }
    let sprout = if grafted { Sprout::for_degree(log_degree).unwrap() } else { Sprout::default() };
    let specials = primes::ntt_primes(49, degree, 5, &[]).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        gadget_rank: (chain.len() + 1).div_ceil(4),
        units: chain,
        specials,
        sprout,
        secret: SecretDistribution::SparseTernary { weight: 192 },
    });
    Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap())
}

fn setup(context: Arc<Context>, literal: BootstrapLiteral) -> Setup {
    let secret = SecretKey::generate(context.rlwe()).unwrap();
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&context), literal).unwrap());
    let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
    plan.add_keys(&mut keys, &secret).unwrap();
    let keys = Arc::new(keys.prepare(context.rlwe()).unwrap());
    let encapsulation = plan.encapsulation_keys(&secret).unwrap();
    let encapsulation = encapsulation
        .map(|k| Arc::new(k.prepare(context.rlwe(), plan.sparse_context().unwrap()).unwrap()));
    let evaluator = Evaluator::new(Arc::clone(&context), Arc::clone(&keys));
    let bootstrapper = Bootstrapper::new(plan, evaluator, encapsulation.clone()).unwrap();
    Setup { context, secret, keys, encapsulation, bootstrapper }
}

impl Setup {
    fn encrypt(&self, values: &[Complex64], scale: Scale, bits: f64) -> Ciphertext {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let plaintext = self.context.encode(values.into(), values.len(), scale, modulus).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    fn is_real(&self) -> bool {
        self.bootstrapper.plan().literal().real
    }

    /// Bootstraps `values`, and checks the result and the estimate of its error within a factor of
    /// `2^within`.
    fn check(&self, values: &[Complex64], a: &Ciphertext, within: f64, what: &str) -> Ciphertext {
        self.check_to(values, a, None, within, what)
    }

    /// Like [`Setup::check`], for a bootstrap to a modulus of a given number of bits.
    fn check_to(
        &self,
        values: &[Complex64],
        a: &Ciphertext,
        output: Option<f64>,
        within: f64,
        what: &str,
    ) -> Ciphertext {
        let y = self.bootstrapper.bootstrap_to(a, output).unwrap();
        let got =
            self.context.decode_complex(&self.context.decrypt(&self.secret, &y).unwrap()).unwrap();
        let sum: f64 = got.iter().zip(values).map(|(g, v)| square_of(g - v, self.is_real())).sum();
        let measured = (sum / values.len() as f64).sqrt().log2();
        let estimated = -y.precision_bits();
        assert!(
            (measured - estimated).abs() < within,
            "{what}: 2^{measured:.2}, estimated 2^{estimated:.2}"
        );
        assert_eq!(y.bound(), a.bound());
        y
    }
}

/// Returns the square of the error of a part: that of the real part for real slots, and the mean of
/// both parts otherwise.
fn square_of(e: Complex64, real: bool) -> f64 {
    if real { e.re * e.re } else { 0.5 * e.norm_sqr() }
}

/// Returns numbers whose real and imaginary parts fill `[-r, r]` evenly, with absolute values up to
/// 1.
fn square(count: usize, real: bool) -> Vec<Complex64> {
    let part = |i: usize, step: f64| 2.0 * (0.5 + i as f64 * step).fract() - 1.0;
    let (x, y) = (0.754_877_666, 0.569_840_291);
    (0..count)
        .map(|i| match real {
            true => Complex64::from(part(i, x)),
            false => Complex64::new(part(i, x), part(i, y)) * std::f64::consts::FRAC_1_SQRT_2,
        })
        .collect()
}

fn levels(radices: &[u32], scale_bits: f64) -> Vec<DftLevel> {
    radices.iter().map(|&radix_log2| DftLevel { radix_log2, scale_bits }).collect()
}

/// The reduction is computed once, because the search for the degree takes a second.
fn reduction() -> ModularReduction {
    static REDUCTION: LazyLock<ModularReduction> =
        LazyLock::new(|| ModularReduction::new(17, -8.0, -36.0, 3, 3).unwrap());
    REDUCTION.clone()
}

fn literal(slots: usize, order: Order, real: bool) -> BootstrapLiteral {
    let stages = slots.ilog2();
    let first = stages.div_ceil(2);
    BootstrapLiteral {
        slots,
        real,
        first_slots: false,
        order,
        bound: 1.0,
        base_bits: 48.0,
        sparse_weight: Some(32),
        reduction: reduction(),
        scale_bits: 54.0,
        coefficients_to_slots: levels(&[first, stages - first], 48.0),
        slots_to_coefficients: levels(&[first, stages - first], 35.0),
        output_scale_bits: 40.0,
        output_bits: None,
        precision: None,
    }
}

/// Bootstraps `slots` numbers from the smallest capacity that the plan accepts.
fn bootstrapped(c: &Arc<Context>, literal: BootstrapLiteral, within: f64) -> (Setup, Ciphertext) {
    let (slots, order, real) = (literal.slots, literal.order, literal.real);
    let values: Vec<Complex64> = square(slots, real).iter().map(|z| z * literal.bound).collect();
    let s = setup(Arc::clone(c), literal);
    let scale = Scale::power_of_two(38);
    let bits = scale.log2() + s.bootstrapper.plan().literal().bound.log2() + 1.0;
    let capacity = s.bootstrapper.plan().capacity_needed() + 1.0;
    let a = s.encrypt(&values, scale, bits + capacity);
    let y = s.check(&values, &a, within, &format!("{slots} {order:?} {real}"));
    (s, y)
}

#[test]
fn any_slots_in_both_orders() {
    let c = context(8, 16, true);
    let (first, last) = (Order::SlotsToCoefficientsFirst, Order::SlotsToCoefficientsLast);
    for (slots, order, real) in [
        (128, first, false),
        (128, last, false),
        (128, first, true),
        (128, last, true),
        (16, first, false),
        (16, last, false),
        (64, last, false),
        (16, last, true),
    ] {
        // With 16 slots there are few errors, so the roundings vary by chance.
        let within = if slots > 16 { 1.0 } else { 2.0 };
        let (s, y) = bootstrapped(&c, literal(slots, order, real), within);
        let plan = s.bootstrapper.plan();
        assert_eq!(plan.log2_failure_probability(), f64::NEG_INFINITY);
        assert_eq!(
            plan.reductions(),
            if !real && (order == first || slots == 128) { 2 } else { 1 }
        );
        assert!(y.precision_bits() > 24.0 && (y.scale().log2() - 40.0).abs() < 1.0);
        let used = c.parameters().log2(plan.raised()) - c.parameters().log2(y.modulus());
        assert!((used - plan.bits()).abs() < 4.0, "{used} {}", plan.bits());
    }
}

/// With two threads, both parts of complex slots are reduced at the same time.
#[test]
fn bootstraps_are_the_same_with_any_number_of_threads() {
    let c = context(8, 16, true);
    let (s, _) = bootstrapped(&c, literal(128, Order::SlotsToCoefficientsFirst, false), 1.0);
    let plan = s.bootstrapper.plan();
    let a = s.encrypt(&square(128, false), Scale::power_of_two(38), 40.0 + plan.capacity_needed());
    let expected = s.bootstrapper.bootstrap(&a).unwrap();
    for count in [2, 3] {
        let threads = Threads::new(count).unwrap();
        let context = Arc::new(Context::new(c.parameters().clone(), threads).unwrap());
        let plan =
            Arc::new(BootstrapPlan::new(Arc::clone(&context), plan.literal().clone()).unwrap());
        let evaluator = Evaluator::new(context, Arc::clone(&s.keys));
        let bootstrapper = Bootstrapper::new(plan, evaluator, s.encapsulation.clone()).unwrap();
        assert!(bootstrapper.bootstrap(&a).unwrap() == expected, "{count} threads");
    }
}

/// Tests other bounds of the values. The modulus is raised only as far as the output needs.
#[test]
fn outputs_are_as_large_as_is_asked_for() {
    let c = context(8, 16, true);
    let bits = |m| c.parameters().log2(m);
    for (bound, output) in [(1.0, 60.0), (20.0, 100.0), (0.2, 75.0)] {
        let literal = BootstrapLiteral {
            bound,
            output_bits: Some(output),
            ..literal(128, Order::SlotsToCoefficientsFirst, false)
        };
        let (s, y) = bootstrapped(&c, literal, 1.0);
        assert!((output - 2.0..output + 4.0).contains(&bits(y.modulus())), "{}", bits(y.modulus()));
        assert!(bits(s.bootstrapper.plan().raised()) < bits(c.parameters().top()));
        assert!((y.precision_bits() + bound.log2() - 28.5).abs() < 1.0, "{}", y.precision_bits());
    }
}

/// A ciphertext with enough capacity does not change. One with too little is bootstrapped, and an
/// impossible request is refused.
#[test]
fn refreshed_where_capacity_lacks() {
    let c = context(8, 16, true);
    let (s, full) = bootstrapped(&c, literal(16, Order::SlotsToCoefficientsLast, true), 2.0);
    let (refresh, none) = (&s.bootstrapper as &dyn Refresh, NoRefresh(&c));
    let values = square(16, true);
    let bits = 38.0 + 1.0 + refresh.reserve();
    let a = s.encrypt(&values, Scale::power_of_two(38), bits + 1.0);
    let have = a.capacity_bits(&c);
    for kept in [
        refresh.refresh(Cow::Borrowed(&a), have, 500.0, "test"),
        none.refresh(Cow::Borrowed(&a), have, 500.0, "test"),
    ] {
        assert!(matches!(kept.unwrap(), Cow::Borrowed(kept) if std::ptr::eq(kept, &a)));
    }
    let most = refresh.max_capacity();
    assert!(have < most && (0.0..8.0).contains(&(full.capacity_bits(&c) - most)), "{most}");
    let y = refresh.refresh(Cow::Borrowed(&a), most, most, "test").unwrap();
    assert!(y.capacity_bits(&c) >= most && y.precision_bits() > 24.0);
    let (need, useful) = (most - 12.0, most - 10.0);
    assert!(have < need);
    let less = refresh.refresh(Cow::Borrowed(&a), need, useful, "test").unwrap().capacity_bits(&c);
    assert!((useful..most).contains(&less), "{useful} {less} {most}");
    let lacks = |r: Result<Cow<'_, Ciphertext>, CkksError>, wanted: f64| {
        assert!(
            matches!(r, Err(CkksError::Capacity { operation: "test", need, .. }) if need == wanted),
            "{r:?}"
        );
    };
    lacks(none.refresh(Cow::Borrowed(&a), most, most, "test"), most);
    lacks(refresh.refresh(Cow::Borrowed(&a), 5000.0, 5000.0, "test"), 5000.0);
}

/// Bootstraps with the keys of one plan to any smaller modulus.
#[test]
fn each_call_says_how_much_it_needs() {
    let c = context(8, 16, true);
    let bits = |m| c.parameters().log2(m);
    for order in [Order::SlotsToCoefficientsFirst, Order::SlotsToCoefficientsLast] {
        let (s, most) = bootstrapped(&c, literal(128, order, false), 1.0);
        let plan = s.bootstrapper.plan();
        assert!((plan.output_bits() - bits(most.modulus())).abs() < 4.0);
        let values = square(128, false);
        let a = s.encrypt(&values, Scale::power_of_two(38), 40.0 + plan.capacity_needed());
        let outputs = [0.0, 51.0, 64.0, 77.0, 103.0, 129.0, plan.output_bits()];
        for output in outputs.into_iter().filter(|bits| *bits <= plan.output_bits()) {
            let y =
                s.check_to(&values, &a, Some(output), 1.0, &format!("{order:?} to {output} bits"));
            let (got, wanted) = (bits(y.modulus()), if output < 60.0 { 50.0 } else { output });
            assert!(
                (wanted - 5.0..wanted + 5.0).contains(&got),
                "{order:?} to {output} bits: {got}"
            );
            assert!((y.precision_bits() - most.precision_bits()).abs() < 1.0);
        }
        for output in [plan.output_bits() + 1.0, f64::NAN] {
            let error = s.bootstrapper.bootstrap_to(&a, Some(output)).unwrap_err();
            assert!(matches!(error, CkksError::Capacity { .. }), "{error}");
        }
    }
}

#[test]
fn simple_chains_bootstrap_without_a_sparse_secret() {
    let c = context(8, 16, false);
    let literal = BootstrapLiteral {
        sparse_weight: None,
        reduction: ModularReduction::new(28, -7.0, -18.0, 3, 0).unwrap(),
        coefficients_to_slots: levels(&[4, 3], 45.0),
        slots_to_coefficients: levels(&[7], 45.0),
        scale_bits: 45.0,
        ..literal(128, Order::SlotsToCoefficientsFirst, true)
    };
    let (s, y) = bootstrapped(&c, literal, 1.0);
    let fails = s.bootstrapper.plan().log2_failure_probability();
    assert!((-60.0..-30.0).contains(&fails), "{fails}");
    assert!(c.parameters().log2(y.modulus()) > 100.0);
}

/// Levels with fewer bits than the primes are deferred. Their keys are made for the moduli that
/// result.
#[test]
fn levels_share_primes() {
    let c = context(8, 16, false);
    let literal = BootstrapLiteral {
        sparse_weight: None,
        reduction: ModularReduction::new(28, -7.0, -18.0, 3, 0).unwrap(),
        coefficients_to_slots: levels(&[3, 2, 2], 30.0),
        slots_to_coefficients: levels(&[7], 45.0),
        scale_bits: 45.0,
        ..literal(128, Order::SlotsToCoefficientsFirst, true)
    };
    bootstrapped(&c, literal, 1.0);
}

#[test]
fn invalid_plans_and_operands_are_refused() {
    let c = context(8, 16, true);
    let good = || literal(16, Order::SlotsToCoefficientsLast, true);
    let plan = |l: BootstrapLiteral| BootstrapPlan::new(Arc::clone(&c), l);
    let argument = |l: BootstrapLiteral, words: &str| {
        let error = plan(l).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    argument(BootstrapLiteral { slots: 12, ..good() }, "12 slots");
    argument(BootstrapLiteral { bound: 0.0, ..good() }, "a bound of 0");
    argument(BootstrapLiteral { bound: f64::NAN, ..good() }, "a bound of NaN");
    argument(BootstrapLiteral { scale_bits: f64::INFINITY, ..good() }, "inf bits");
    argument(BootstrapLiteral { output_bits: Some(500.0), ..good() }, "fewer than 500.0 are left");
    argument(BootstrapLiteral { scale_bits: 90.0, ..good() }, "the bootstrap uses");
    argument(BootstrapLiteral { coefficients_to_slots: levels(&[3], 40.0), ..good() }, "3 stages");
    argument(BootstrapLiteral { base_bits: 16.0, ..good() }, "one with a unit is needed");

    let s = setup(Arc::clone(&c), good());
    let values = square(16, true);
    let scale = Scale::power_of_two(40);
    let mut large = s.encrypt(&values, scale, 60.0);
    large.set_bound(1.5);
    let error = s.bootstrapper.bootstrap(&large).unwrap_err().to_string();
    assert!(error.contains("values up to 1.5") && error.contains("up to 1"), "{error}");
    let low = s.encrypt(&values, scale, 45.0);
    assert!(matches!(s.bootstrapper.bootstrap(&low), Err(CkksError::Capacity { .. })));
    let other = s.encrypt(&values[..8], scale, 60.0);
    assert!(matches!(s.bootstrapper.bootstrap(&other), Err(CkksError::SlotMismatch { .. })));
    let first = setup(Arc::clone(&c), literal(16, Order::SlotsToCoefficientsFirst, true));
    assert!(matches!(first.bootstrapper.bootstrap(&low), Err(CkksError::Capacity { .. })));
    let fine = s.encrypt(&values, scale, 60.0);
    assert!(matches!(
        first.bootstrapper.bootstrap(&fine),
        Err(CkksError::Capacity { .. }) | Err(CkksError::Rlwe(_))
    ));

    // A plan without its keys, and too few keys.
    let (plan, e) = (s.bootstrapper.plan(), s.bootstrapper.evaluator());
    let error = Bootstrapper::new(Arc::clone(plan), e.clone(), None).unwrap_err().to_string();
    assert!(error.contains("sparse secret"), "{error}");
    let keys = EvaluationKeys::empty(c.rlwe(), s.secret.fingerprint()).prepare(c.rlwe()).unwrap();
    let bare = Evaluator::new(Arc::clone(&c), Arc::new(keys));
    let encapsulation = plan.encapsulation_keys(&s.secret).unwrap().unwrap();
    let encapsulation =
        Arc::new(encapsulation.prepare(c.rlwe(), plan.sparse_context().unwrap()).unwrap());
    assert!(matches!(
        Bootstrapper::new(Arc::clone(plan), bare, Some(encapsulation)),
        Err(CkksError::Rlwe(RlweError::MissingGaloisKey { .. }))
    ));
}

/// Bootstraps multi-precision numbers to 50 and to more than 80 bits, by bootstraps of about 28
/// bits each.
#[test]
fn errors_are_bootstrapped_until_the_precision_is_reached() {
    let c = context(8, 22, true);
    let numbers = |real: bool| -> Vec<Complex<BigFloat>> {
        let big = |x: f64, y: f64| {
            let low =
                BigFloat::from_parts(&BigInt::from((y * 2f64.powi(52)) as i64), -105).unwrap();
            BigFloat::try_from(BigFloat::try_from(x).unwrap().into_inner() + low.into_inner())
                .unwrap()
        };
        let (high, low) = (square(128, real), square(256, false));
        high.iter()
            .zip(low.iter().rev())
            .map(|(z, w)| Complex {
                re: big(0.99 * z.re, w.re),
                im: if real { BigFloat::zero() } else { big(0.99 * z.im, w.im) },
            })
            .collect()
    };
    for (wanted, real, scale) in [(50.0, true, 70), (80.0, false, 100)] {
        let values = numbers(real);
        let first = literal(128, Order::SlotsToCoefficientsFirst, real);
        let s = setup(Arc::clone(&c), BootstrapLiteral { precision: Some(wanted), ..first });
        let bits = f64::from(scale) + 2.0 + s.bootstrapper.plan().capacity_needed();
        let modulus = c.parameters().grafted_modulus(bits);
        let scale = Scale::power_of_two(scale);
        let plaintext = c.encode((&values[..]).into(), 128, scale, modulus).unwrap();
        let a = c.encrypt(&s.secret, &plaintext).unwrap().expand(&c);
        let y = s.bootstrapper.bootstrap(&a).unwrap();
        let got = c.decode_big_complex(&c.decrypt(&s.secret, &y).unwrap()).unwrap();
        let difference = |a: &BigFloat, b: &BigFloat| {
            BigFloat::try_from(a.clone().into_inner() - b.clone().into_inner()).unwrap().to_f64()
        };
        let square = |(g, v): (&Complex<BigFloat>, &Complex<BigFloat>)| {
            difference(&g.re, &v.re).powi(2) + difference(&g.im, &v.im).powi(2)
        };
        let sum: f64 = got.iter().zip(&values).map(square).sum();
        let parts = if real { 128.0 } else { 256.0 };
        let (measured, estimated) = (-0.5 * (sum / parts).log2(), y.precision_bits());
        assert!(measured > wanted && estimated > wanted, "{measured:.1}, estimated {estimated:.1}");
        assert!(
            (-0.5..1.0).contains(&(measured - estimated)),
            "{measured:.1}, estimated {estimated:.1}"
        );
        assert_eq!(y.bound(), a.bound());
        assert!(y.capacity_bits(&c) > s.bootstrapper.plan().capacity_needed());
        // The guarantee in advance is for an iteration that begins at the wanted precision.
        let more = y.capacity_bits(&c) - s.bootstrapper.max_capacity();
        assert!((0.0..32.0).contains(&more), "{more:.1}");
        // The scale of the operand is too small for a higher precision.
        let coarse = c.encode((&values[..]).into(), 128, Scale::power_of_two(40), modulus).unwrap();
        let coarse = c.encrypt(&s.secret, &coarse).unwrap().expand(&c);
        let rough = s.bootstrapper.bootstrap(&coarse).unwrap();
        assert!((rough.precision_bits() - coarse.precision_bits()).abs() < 1.1);
        // The modulus of a small output is still large enough for the iterations.
        let low = s.bootstrapper.bootstrap_to(&a, Some(60.0)).unwrap();
        assert!(low.precision_bits() > wanted, "{:.1}", low.precision_bits());
        assert!(low.capacity_bits(&c) < y.capacity_bits(&c) - 50.0, "{:.1}", low.capacity_bits(&c));
        let error = s.bootstrapper.bootstrap_to(&a, Some(1e4)).unwrap_err();
        assert!(matches!(error, CkksError::Capacity { .. }), "{error}");
    }
    let last = literal(16, Order::SlotsToCoefficientsLast, true);
    let refused = |l: BootstrapLiteral, bits: f64| {
        BootstrapPlan::new(Arc::clone(&c), BootstrapLiteral { precision: Some(bits), ..l })
            .unwrap_err()
            .to_string()
    };
    assert!(refused(last.clone(), 50.0).contains("first"));
    assert!(refused(last, f64::NAN).contains("NaN"));
}

/// Bootstraps the first of all slots, with arbitrary values in the others.
#[test]
fn the_first_of_all_slots() {
    let c = context(10, 18, true);
    let most = c.max_slots();
    for (slots, real) in [(512, true), (256, true), (64, true), (64, false), (8, true), (1, true)] {
        let first = Order::SlotsToCoefficientsFirst;
        let mut l =
            BootstrapLiteral { slots, first_slots: true, ..literal(slots.max(4), first, real) };
        if slots == 1 {
            (l.coefficients_to_slots, l.slots_to_coefficients) =
                (levels(&[0], 50.0), levels(&[0], 35.0));
        }
        let s = setup(Arc::clone(&c), l);
        let values = square(most, real);
        let bits = 40.0 + 2.0 + s.bootstrapper.plan().capacity_needed();
        let a = s.encrypt(&values, Scale::power_of_two(40), bits);
        let repeated: Vec<Complex64> = (0..most).map(|i| values[i % slots]).collect();
        // The error of few values may be much smaller than the estimate for a value at the full
        // bound.
        let within = if slots > 8 { 1.5 } else { 10.0 };
        let y = s.check(&repeated, &a, within, &format!("{slots} {real}"));
        assert!(y.precision_bits() > 26.5, "{slots} {real}: {}", y.precision_bits());
        assert_eq!(y.slots(), most);
        // Repeated bootstraps carry the errors through unchanged.
        let first = y.precision_bits();
        let last = (1..4).fold(y, |y, k| {
            s.check(&repeated, &y, 2.0 * within, &format!("{slots} {real}, after {k}"))
        });
        assert!(
            first - last.precision_bits() < 1.5,
            "{slots} {real}: {first}, {}",
            last.precision_bits()
        );
    }
}

/// Returns the mean square of the errors of bootstraps under several secrets, and the stated
/// precision, both in bits.
fn measured_and_stated(c: &Arc<Context>, secrets: usize, literal: &BootstrapLiteral) -> (f64, f64) {
    let (slots, real) = (literal.slots, literal.real);
    let (mut square_sum, mut stated) = (0.0, 0.0);
    for seed in 0..secrets {
        let s = setup(Arc::clone(c), literal.clone());
        let values = square(slots + seed, real).split_off(seed);
        let bits = 40.0 + s.bootstrapper.plan().capacity_needed();
        let a = s.encrypt(&values, Scale::power_of_two(38), bits);
        let (y, expected) = match literal.reduction.is_sine() {
            true => {
                let y = s.bootstrapper.bootstrap_to_sines(&a).unwrap();
                (y.sines, sines(&values, y.unit))
            }
            false => (s.bootstrapper.bootstrap(&a).unwrap(), values),
        };
        let got = c.decode_complex(&c.decrypt(&s.secret, &y).unwrap()).unwrap();
        let sum: f64 = got.iter().zip(&expected).map(|(g, v)| square_of(g - v, real)).sum();
        square_sum += sum / (slots * secrets) as f64;
        stated = y.precision_bits();
    }
    (-0.5 * square_sum.log2(), stated)
}

/// The test takes the mean of several secrets, because roundings are multiplied by the secret, and
/// 32 slots have few of them.
#[test]
fn estimates_are_as_large_as_errors() {
    let c = context(10, 19, true);
    let (first, last) = (Order::SlotsToCoefficientsFirst, Order::SlotsToCoefficientsLast);
    // The polynomials have a small error of their own, which depends on the values.
    let reduction = ModularReduction::new(17, -8.0, -42.0, 3, 5).unwrap();
    for (slots, order, real) in [
        (512, first, false),
        (512, first, true),
        (32, first, false),
        (512, last, true),
        (256, last, false),
        (64, last, true),
        (64, last, false),
    ] {
        let literal =
            BootstrapLiteral { reduction: reduction.clone(), ..literal(slots, order, real) };
        let (measured, estimated) = measured_and_stated(&c, 6, &literal);
        let within = if slots >= 256 { 0.2 } else { 1.5f64.log2() };
        assert!(
            (measured - estimated).abs() < within,
            "{slots} {order:?} {real}: {measured:.2}, estimated {estimated:.2}"
        );
    }
}

/// Returns the sines of the real and the imaginary parts, times `unit`.
fn sines(values: &[Complex64], unit: f64) -> Vec<Complex64> {
    values.iter().map(|x| Complex64::new((unit * x.re).sin(), (unit * x.im).sin())).collect()
}

/// The stated error is that of the worst value, and the measured one the mean over all values.
#[test]
fn sines_are_as_precise_as_stated() {
    let c = context(10, 19, true);
    let reduction = ModularReduction::sine(17, -7f64.log2(), -40.0, 3).unwrap();
    for (slots, real) in [(512, true), (512, false), (32, true)] {
        let literal = literal(slots, Order::SlotsToCoefficientsFirst, real);
        let literal = BootstrapLiteral { reduction: reduction.clone(), ..literal };
        let (measured, stated) = measured_and_stated(&c, 3, &literal);
        let excess = measured - stated;
        assert!((-0.3..1.5).contains(&excess), "{slots} {real}: {measured:.2}, stated {stated:.2}");
        // Larger values in the range make the result more precise than with a small ratio.
        assert!(stated > 28.0, "{stated}");
    }
    let last = literal(512, Order::SlotsToCoefficientsLast, true);
    let literal = BootstrapLiteral { reduction, ..last };
    let refused = BootstrapPlan::new(c, literal).unwrap_err().to_string();
    assert!(refused.contains("a sine needs slots to coefficients first"), "{refused}");
}

/// The values fill more of the range, so that sines leave more capacity at the same precision.
#[test]
fn keys_of_values_serve_sines() {
    let c = context(8, 16, true);
    for real in [true, false] {
        let s = setup(Arc::clone(&c), literal(128, Order::SlotsToCoefficientsFirst, real));
        let plan = s.bootstrapper.plan();
        let plan_of_sines = Arc::new(plan.of_sines(SineUse::SmoothFunctions).unwrap());
        let values = square(128, true);
        let bits = 40.0 + plan_of_sines.capacity_needed();
        let a = s.encrypt(&values, Scale::power_of_two(38), bits);
        let bootstrapper = s.bootstrapper.with_plan(Arc::clone(&plan_of_sines)).unwrap();
        assert!(
            s.bootstrapper.bootstrap_to_sines(&a).is_err() && bootstrapper.bootstrap(&a).is_err()
        );
        let Sines { sines: y, unit, .. } = bootstrapper.bootstrap_to_sines(&a).unwrap();
        let largest = TAU * plan_of_sines.literal().reduction.epsilon();
        assert!((15.0 / 16.0..=1.0).contains(&(unit / largest)), "{unit} {largest}");
        let got = c.decode_complex(&c.decrypt(&s.secret, &y).unwrap()).unwrap();
        let expected = sines(&values, unit);
        let error = |(g, v): (&Complex64, &Complex64)| (g - v).re.abs();
        let worst = got.iter().zip(&expected).map(error).fold(0.0, f64::max);
        assert!(y.precision_bits() > 24.0, "{}", y.precision_bits());
        assert!(worst < 8.0 * (-y.precision_bits()).exp2(), "{worst:e} {}", y.precision_bits());
        assert!(plan_of_sines.output_bits() > plan.output_bits() + 40.0);
        let used = c.parameters().log2(plan_of_sines.raised()) - c.parameters().log2(y.modulus());
        assert!((used - plan_of_sines.bits()).abs() < 4.0, "{used} {}", plan_of_sines.bits());
    }
    let last = literal(128, Order::SlotsToCoefficientsLast, true);
    let last = BootstrapPlan::new(c, last).unwrap();
    let refused = last.of_sines(SineUse::Tables { saved_bits: 0 }).unwrap_err().to_string();
    assert!(refused.contains("sines need slots to coefficients first"), "{refused}");
}

/// The values fill half of a period. With the scales of the plan, sines are more precise than
/// values.
#[test]
fn keys_of_values_serve_tables() {
    let c = context(8, 18, true);
    let s = setup(Arc::clone(&c), literal(128, Order::SlotsToCoefficientsFirst, true));
    let plan = Arc::new(s.bootstrapper.plan().of_sines(SineUse::Tables { saved_bits: 0 }).unwrap());
    assert!(plan.capacity_needed() <= s.bootstrapper.plan().capacity_needed() + 1e-9);
    let bootstrapper = s.bootstrapper.with_plan(Arc::clone(&plan)).unwrap();
    let bits = 40.0 + plan.capacity_needed();
    for count in [5usize, 16, 33] {
        // The places, in a unit in which they fill the bound of the plan.
        let place = |slot: usize| (slot * 7 % count) as f64;
        let share = |x: f64| (2.0 * x + 1.0 - count as f64) / count as f64;
        let values: Vec<_> = (0..128).map(|i| Complex64::new(share(place(i)), 0.0)).collect();
        let a = s.encrypt(&values, Scale::power_of_two(38), bits);
        let Sines { sines: y, unit, errors } = bootstrapper.bootstrap_to_sines(&a).unwrap();
        assert!(unit <= FRAC_PI_2 && unit > 0.99 * FRAC_PI_2, "{unit}");
        let stated = errors.argument.hypot(errors.sine);
        assert!((-y.precision_bits()).exp2() / stated < 1.01);

        let entries: Vec<f64> = (0..count).map(|j| (j * j % 11) as f64).collect();
        let literal = EntriesLiteral { slots: 128, entries: entries.clone(), precision: 10.0 };
        let table = SineEntriesPlan::new(&c, literal, 2.0 * unit / count as f64).unwrap();
        let found = s.bootstrapper.evaluator().entries_of_sines(&y, &table, errors).unwrap();
        let got = c.decode_complex(&c.decrypt(&s.secret, &found).unwrap()).unwrap();
        let error = |i: usize| (got[i].re + table.offset() - entries[place(i) as usize]).abs();
        let worst = (0..128).map(error).fold(0.0, f64::max);
        assert!(worst < 2f64.powi(-10), "{worst} of {count}");
        assert!(worst < 8.0 * (-found.precision_bits()).exp2(), "{worst} of {count}");
        let largest = entries.iter().map(|x| (x - table.offset()).abs()).fold(0.0, f64::max);
        assert!((1.0..1.2).contains(&(found.bound() / largest)), "{}", found.bound());

        let rough = SineErrors { sine: 1e-2, ..errors };
        let refused = s.bootstrapper.evaluator().entries_of_sines(&y, &table, rough);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("has errors of 2^-6.6 in sines"), "{refused}");
        let rough = SineErrors { argument: 1e-1, ..errors };
        let refused = s.bootstrapper.evaluator().entries_of_sines(&y, &table, rough);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("needs places with an error of 2^-"), "{refused}");
    }
}

/// The keys of a plan serve its plans of sines at all scales.
#[test]
fn keys_of_values_serve_sines_at_all_scales() {
    let c = context(8, 18, true);
    let plan = BootstrapPlan::new(c, literal(128, Order::SlotsToCoefficientsFirst, true)).unwrap();
    let own = plan.key_moduli().unwrap();
    assert!(plan.most_saved_bits() > 3, "{}", plan.most_saved_bits());
    for saved_bits in 0..=plan.most_saved_bits() {
        let sines = plan.of_sines(SineUse::Tables { saved_bits }).unwrap();
        for (element, modulus) in sines.key_moduli().unwrap() {
            let fits = own.get(&element).is_some_and(|own| modulus.divides(*own));
            assert!(fits, "{saved_bits}: {element} at {modulus:?}");
        }
    }
}

/// Two ciphertexts of real slots share one bootstrap of complex slots, for values, for sines and
/// for iterations.
#[test]
fn pairs_are_bootstrapped_at_once() {
    let c = context(8, 22, true);
    let first = Order::SlotsToCoefficientsFirst;
    for precision in [None, Some(30.0)] {
        let literal = BootstrapLiteral { precision, ..literal(128, first, true) };
        let s = setup(Arc::clone(&c), literal);
        let plan = s.bootstrapper.plan();
        let complex = Arc::new(plan.of_complex().unwrap());
        let (own, more) = (plan.key_moduli().unwrap(), complex.key_moduli().unwrap());
        assert_eq!(own, more);
        assert!(complex.of_complex().is_err());
        let pairs = s.bootstrapper.with_plan(complex).unwrap();
        let values = [square(128, true), square(128, true)];
        let bits = 50.0 + plan.capacity_needed();
        let [a, b] = values.each_ref().map(|x| s.encrypt(x, Scale::power_of_two(45), bits));
        let single = s.bootstrapper.bootstrap(&a).unwrap();
        let before = s.bootstrapper.bootstraps();
        let found = pairs.bootstrap_pair_to([&a, &b], None).unwrap();
        assert!(precision.is_some() || pairs.bootstraps() - before == 1);
        for (y, expected) in found.iter().zip(&values) {
            let got = c.decode_complex(&c.decrypt(&s.secret, y).unwrap()).unwrap();
            let error = |(g, v): (&Complex64, &Complex64)| (g - v).re.abs();
            let worst = got.iter().zip(expected).map(error).fold(0.0, f64::max);
            assert!(worst < 8.0 * (-y.precision_bits()).exp2(), "{worst:e} {}", y.precision_bits());
            assert!((y.precision_bits() - single.precision_bits()).abs() < 1.5);
            assert!((y.capacity_bits(&c) - single.capacity_bits(&c)).abs() < 2.0);
        }
        let refused = s.bootstrapper.bootstrap_pair_to([&a, &b], None).unwrap_err().to_string();
        assert!(refused.contains("needs a plan of complex slots"), "{refused}");

        let sines_of = plan.of_sines(SineUse::SmoothFunctions).unwrap().of_complex().unwrap();
        let pairs = s.bootstrapper.with_plan(Arc::new(sines_of)).unwrap();
        assert!(pairs.bootstrap_pair_to([&a, &b], None).is_err());
        for (y, values) in pairs.bootstrap_pair_to_sines([&a, &b]).unwrap().iter().zip(&values) {
            let got = c.decode_complex(&c.decrypt(&s.secret, &y.sines).unwrap()).unwrap();
            let expected = sines(values, y.unit);
            let error = |(g, v): (&Complex64, &Complex64)| (g - v).re.abs();
            let worst = got.iter().zip(&expected).map(error).fold(0.0, f64::max);
            assert!(worst < 8.0 * y.errors.argument.hypot(y.errors.sine), "{worst:e}");
        }
    }
}

/// If the reduction's polynomials are coarse, their error dominates. For real slots it is in the
/// real parts only.
#[test]
fn errors_of_coarse_polynomials_are_stated() {
    let c = context(8, 16, true);
    let reduction = ModularReduction::new(17, -8.0, -28.0, 3, 3).unwrap();
    for order in [Order::SlotsToCoefficientsFirst, Order::SlotsToCoefficientsLast] {
        for (slots, real) in [(128, true), (128, false), (64, true), (64, false)] {
            let literal =
                BootstrapLiteral { reduction: reduction.clone(), ..literal(slots, order, real) };
            let (measured, stated) = measured_and_stated(&c, 3, &literal);
            assert!(
                (measured - stated).abs() < 0.25,
                "{slots} {order:?} {real}: {measured:.2}, stated {stated:.2}"
            );
        }
    }
}
