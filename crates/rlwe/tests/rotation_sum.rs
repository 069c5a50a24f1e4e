//! Sums of rotated ciphertexts modulo `P'Q` (double hoisting) at every modulus: messages, noise and
//! transforms.

use crate::common::{coefficients, insecure, insecure_grafted, insecure_threads, log2_std};
use hippocrene_ring::{
    Domain, Poly, ResidueRing, Threads,
    automorphism::galois_element_of_rotation,
    sample::{Sampler, Seed},
};
use hippocrene_rlwe::{
    Ciphertext, Context, EvaluationKeys, LimbByLimb, Modulus, Noise, PreparedEvaluationKeys,
    RlweError, RotationFactor, RotationSum, SecretKey, Sprout, Summand, Term, TermFactor,
};
use proptest::prelude::*;

const LOG_DEGREE: u32 = 9;

/// The bits of messages and plaintexts.
const BITS: u32 = 5;

/// The seed of the plaintext 1.
const ONE: u8 = 255;

/// A context with keys for rotations by 1 to 4.
struct Setup {
    context: Context,
    secret: SecretKey,
    keys: PreparedEvaluationKeys,
}

/// A term of a row: a summand, and the seed of its plaintext.
type Choice = (usize, u8);

impl Setup {
    fn new(context: Context) -> Self {
        let top = context.parameters().top();
        Self::at(context, [top; 4])
    }

    /// A setup with keys for ciphertexts modulo these moduli and their divisors.
    fn at(context: Context, moduli: [Modulus; 4]) -> Self {
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        for (steps, modulus) in (1..5).zip(moduli) {
            keys.add_rotations_at(&context, &secret, [steps], modulus).unwrap();
        }
        let keys = keys.prepare(&context).unwrap();
        Setup { context, secret, keys }
    }

    /// Simple chains with single units as blocks and with blocks of two, and a grafted chain, once
    /// with all keys and once with keys for some moduli only.
    fn all() -> [Setup; 4] {
        let grafted = || {
            let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
            insecure_grafted(LOG_DEGREE, 7, 1, 8, sprout)
        };
        let low = Modulus::of_range(0..5).lcm(grafted().parameters().top().sprout());
        [
            Setup::new(insecure(LOG_DEGREE, 9, 1, 9)),
            Setup::new(insecure(LOG_DEGREE, 8, 2, 4)),
            Setup::new(grafted()),
            Setup::at(
                grafted(),
                [low, low.lcm(Modulus::of_factor(5)), low, grafted().parameters().top()],
            ),
        ]
    }

    /// The greatest common divisor of the moduli of all keys. It is `PQ_max` if there are keys for
    /// all moduli.
    fn common(&self) -> Modulus {
        self.keys.common_modulus(
            &self.context,
            Modulus::ONE,
            (1..5).map(|steps| self.element(steps)),
        )
    }

    fn element(&self, steps: usize) -> usize {
        galois_element_of_rotation(self.context.degree(), steps as i64)
    }

    /// Moduli from the smallest to the largest, for grafted sets also with parts of the sprout.
    fn moduli(&self) -> Vec<Modulus> {
        let top = self.context.parameters().top();
        let units = self.context.parameters().unit_count();
        let parts =
            [top.sprout(), Modulus::of_sprout(top.odd() & 2, top.two().min(5)), Modulus::ONE];
        let moduli = (1..=units).map(|l| Modulus::of_range(0..l).lcm(parts[l % 3]));
        moduli.filter(|modulus| modulus.divides(self.common())).collect()
    }

    /// A polynomial with uniform coefficients in `[-2^bits, 2^bits)`.
    fn small(&self, bits: u32, seed: u8, modulus: Modulus) -> Poly {
        let mut words = vec![0; self.context.degree()];
        Sampler::new(&Seed::from_bytes([seed; 32]), 0).uniform(2 << bits, &mut words);
        let values: Vec<i64> = words.into_iter().map(|w| w as i64 - (1 << bits)).collect();
        self.context.from_signed(&values, modulus)
    }

    fn encrypt(&self, message: &Poly, modulus: Modulus) -> Ciphertext {
        self.secret.encrypt(&self.context, message, modulus).unwrap().expand(&self.context)
    }

    /// Computes `acc += m sigma(x)` modulo `modulus`.
    fn add(&self, acc: &mut Poly, x: &Poly, steps: usize, m: &Poly, modulus: Modulus) {
        let rotated = self.rotate(x, steps, modulus);
        for (k, ring) in self.context.rings(modulus).enumerate() {
            ring.mul_add_assign(acc.limb_mut(k), rotated.limb(k), m.limb(k));
        }
    }

    fn rotate(&self, x: &Poly, steps: usize, modulus: Modulus) -> Poly {
        let automorphism = self.context.automorphism(self.element(steps)).unwrap();
        let mut out = self.context.zero(modulus, Domain::Evaluation);
        for (k, ring) in self.context.rings(modulus).enumerate() {
            ring.apply_automorphism(&automorphism, Domain::Evaluation, out.limb_mut(k), x.limb(k));
        }
        out
    }

    /// Returns the sums of rows of terms. Summand 0 is `b` itself, and summand `i` is the rotation
    /// of `a` by `i`.
    fn sums(&self, a: &Ciphertext, b: &Ciphertext, rows: &[Vec<Choice>]) -> Vec<RotationSum<'_>> {
        let extended = self.context.rotation_modulus(a.modulus(), self.common()).unwrap();
        let hoisted = self.context.hoist_for_sums(a, self.common()).unwrap();
        let rotated = (1..5).map(|i| Summand::Rotated(a, &hoisted, self.element(i)));
        let summands: Vec<Summand> =
            std::iter::once(Summand::Unrotated(b)).chain(rotated).collect();
        let factor = |(_, seed): &Choice| {
            let (factor, log2_norm) = self.factor(*seed, extended);
            (self.context.rotation_factor(factor, extended).unwrap(), log2_norm)
        };
        let factors: Vec<Vec<(RotationFactor, f64)>> =
            rows.iter().map(|row| row.iter().map(factor).collect()).collect();
        let mut terms: Vec<Vec<Term>> = Vec::new();
        for (row, factors) in rows.iter().zip(&factors) {
            let row = row.iter().zip(factors);
            terms.push(
                row.map(|((summand, _), (factor, log2_norm))| Term {
                    summand: *summand,
                    factor: factor.into(),
                    log2_norm: *log2_norm,
                    leaves_zeros: false,
                })
                .collect(),
            );
        }
        self.context.rotation_sums(&summands, &terms, &self.keys, self.common()).unwrap()
    }

    /// Returns the plaintext of a seed, and the bits by which it makes noise grow. These are
    /// `log2(sqrt(N/3) 2^BITS)`, or 0 for the plaintext 1.
    fn factor(&self, seed: u8, modulus: Modulus) -> (Poly, f64) {
        if seed == ONE {
            let mut one = vec![0; self.context.degree()];
            one[0] = 1;
            return (self.context.from_signed(&one, modulus), 0.0);
        }
        let log2_norm = f64::from(BITS) + 0.5 * (self.context.degree() as f64 / 3.0).log2();
        (self.small(BITS, seed, modulus), log2_norm)
    }

    /// Returns the sum that a row should have.
    fn expected(&self, x: &Poly, y: &Poly, row: &[Choice], modulus: Modulus) -> Poly {
        let mut sum = self.context.zero(modulus, Domain::Evaluation);
        for (summand, seed) in row {
            let (factor, _) = self.factor(*seed, modulus);
            self.add(&mut sum, if *summand == 0 { y } else { x }, *summand, &factor, modulus);
        }
        sum
    }

    /// Checks that a ciphertext holds `expected` and has the noise that it states.
    fn check(&self, out: &Ciphertext, expected: &Poly, what: &str) -> Result<(), TestCaseError> {
        let Setup { context, secret, .. } = self;
        let modulus = out.modulus();
        let mut error = secret.decrypt(context, out).unwrap();
        context.to_evaluation(&mut error, modulus);
        for (k, ring) in context.rings(modulus).enumerate() {
            ring.sub_assign(error.limb_mut(k), expected.limb(k));
        }
        let measured = log2_std(&coefficients(context, &error, modulus));
        let estimated = out.noise().log2_std();
        prop_assert!(
            (measured - estimated).abs() < 1.5f64.log2(),
            "{what} at {modulus:?}: measured 2^{measured:.2}, estimated 2^{estimated:.2}"
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Tests rows of any terms, and their sums with rotated ones, at every modulus with the gadget
    /// that is planned there.
    #[test]
    fn sums_have_the_messages_and_the_noise_that_they_state(
        first in prop::collection::btree_map(0usize..5, 0..ONE, 1..6),
        second in prop::collection::btree_map(0usize..5, 0..ONE, 1..4),
        steps in 1usize..5,
    ) {
        let rows = [first.into_iter().collect(), second.into_iter().collect(), vec![(0, ONE)]];
        for setup in Setup::all() {
            let parameters = setup.context.parameters();
            for modulus in setup.moduli().into_iter().filter(|m| parameters.log2(*m) > 38.0) {
                let [x, y] = [1, 2].map(|seed| setup.small(BITS, seed, modulus));
                let (a, b) = (setup.encrypt(&x, modulus), setup.encrypt(&y, modulus));
                let [mut first, second, alone] =
                    <[_; 3]>::try_from(setup.sums(&a, &b, &rows)).unwrap();
                let mut expected = setup.expected(&x, &y, &rows[0], modulus);
                let mut out = Ciphertext::empty(&setup.context);
                first.divide_into(&mut out, modulus).unwrap();
                setup.check(&out, &expected, "sum")?;
                let alone = alone.rotated(setup.element(steps), &setup.keys).unwrap();
                alone.divide_into(&mut out, modulus).unwrap();
                setup.check(&out, &setup.rotate(&y, steps, modulus), "rotated")?;
                first.add(&second.rotated(setup.element(steps), &setup.keys).unwrap()).unwrap();
                first.divide_into(&mut out, modulus).unwrap();
                let second =
                    setup.rotate(&setup.expected(&x, &y, &rows[1], modulus), steps, modulus);
                for (k, ring) in setup.context.rings(modulus).enumerate() {
                    ring.add_assign(expected.limb_mut(k), second.limb(k));
                }
                setup.check(&out, &expected, "sum with a rotated sum")?;
            }
        }
    }
}

/// Factors that are polynomials in `X^8` give the same bits without their repeated values.
#[test]
fn factors_that_repeat_may_be_shorter() {
    for setup in Setup::all() {
        let context = &setup.context;
        for modulus in setup.moduli().into_iter().filter(|m| context.parameters().log2(*m) > 38.0) {
            let extended = context.rotation_modulus(modulus, setup.common()).unwrap();
            let mut coefficients = vec![0; context.degree()];
            coefficients.iter_mut().step_by(8).zip(1..).for_each(|(c, i)| *c = i * i % 101 - 50);
            let whole = context.from_signed(&coefficients, extended);
            let whole = context.rotation_factor(whole, extended).unwrap();
            let short = whole.repeated(context).unwrap();
            let bytes = 8 * context.degree() * context.rotation_factor_limbs(extended);
            assert_eq!((whole.degree(), whole.bytes()), (context.degree(), bytes));
            assert_eq!((short.degree(), short.bytes()), (context.degree() / 8, bytes / 8));
            let a = setup.encrypt(&setup.small(BITS, 1, modulus), modulus);
            let hoisted = context.hoist_for_sums(&a, setup.common()).unwrap();
            let summands =
                [Summand::Unrotated(&a), Summand::Rotated(&a, &hoisted, setup.element(3))];
            let sum = |factors: [&RotationFactor; 2]| {
                let row = factors.iter().zip(0..).map(|(factor, summand)| Term {
                    summand,
                    factor: (*factor).into(),
                    log2_norm: 9.0,
                    leaves_zeros: false,
                });
                let sums =
                    context.rotation_sums(&summands, &[row.collect()], &setup.keys, setup.common());
                sums.map(|sums| {
                    let mut out = Ciphertext::empty(context);
                    sums[0].divide_into(&mut out, modulus).unwrap();
                    out
                })
            };
            assert_eq!(sum([&short, &short]).unwrap(), sum([&whole, &whole]).unwrap());
            assert!(sum([&short, &whole]).unwrap_err().to_string().contains("an eighth"));
        }
    }
}

/// Coefficients whose limbs are computed on use.
#[derive(Debug)]
struct Coefficients(Vec<i64>);

impl LimbByLimb for Coefficients {
    fn write(&self, ring: &ResidueRing, limb: &mut [u64]) {
        ring.from_signed(limb, &self.0);
        ring.forward(limb);
    }
}

/// Factors whose limbs are computed on use give the same bits as stored ones, alone and mixed with
/// these.
#[test]
fn factors_may_be_made_limb_by_limb() {
    for setup in Setup::all() {
        let context = &setup.context;
        for modulus in setup.moduli().into_iter().filter(|m| context.parameters().log2(*m) > 38.0) {
            let extended = context.rotation_modulus(modulus, setup.common()).unwrap();
            let made: Vec<Coefficients> = (0..3i64)
                .map(|k| {
                    Coefficients(
                        (0..context.degree() as i64).map(|i| i * (i + k) % 101 - 50).collect(),
                    )
                })
                .collect();
            let whole = |factor: &Coefficients| {
                let poly = context.from_signed(&factor.0, extended);
                context.rotation_factor(poly, extended).unwrap()
            };
            let whole: Vec<RotationFactor> = made.iter().map(whole).collect();
            let a = setup.encrypt(&setup.small(BITS, 1, modulus), modulus);
            let hoisted = context.hoist_for_sums(&a, setup.common()).unwrap();
            let rotated = |steps| Summand::Rotated(&a, &hoisted, setup.element(steps));
            let summands = [Summand::Unrotated(&a), rotated(1), rotated(3)];
            let sums = |by_limb: [bool; 3]| {
                let factor = |k: usize| match by_limb[k] {
                    true => TermFactor::ByLimb(&made[k]),
                    false => TermFactor::Whole(&whole[k]),
                };
                let term = |k: usize| Term {
                    summand: k,
                    factor: factor(k),
                    log2_norm: 9.0,
                    leaves_zeros: false,
                };
                let rows = [vec![term(0), term(1), term(2)], vec![term(2)], vec![term(1), term(0)]];
                let sums =
                    context.rotation_sums(&summands, &rows, &setup.keys, setup.common()).unwrap();
                let divided = sums.into_iter().map(|sum| {
                    let mut out = Ciphertext::empty(context);
                    sum.divide_into(&mut out, modulus).unwrap();
                    out
                });
                divided.collect::<Vec<_>>()
            };
            let expected = sums([false; 3]);
            assert!(sums([true; 3]) == expected && sums([true, false, true]) == expected);
        }
    }
}

/// For any number of rotations in a sum, `(omega + 2)(l + k)` transforms are enough. A rotation of
/// a sum takes `(omega + 1)(l + k)`.
#[test]
fn sums_of_rotations_take_the_transforms_of_one() {
    let setup = Setup::new(insecure(LOG_DEGREE, 8, 2, 4));
    let (context, modulus) = (&setup.context, Modulus::of_range(0..6));
    let limbs = context.rotation_modulus(modulus, setup.common()).unwrap().limb_count();
    let gadget = context.gadget(modulus).unwrap();
    let digits = 6usize.div_ceil(2 * gadget.group());
    let a = setup.encrypt(&setup.small(BITS, 1, modulus), modulus);
    for row in [vec![(1, 1)], vec![(1, 2), (2, 3), (3, 4), (4, 5)]] {
        // Encoding the plaintexts takes transforms too.
        let plaintexts = row.len() * limbs;
        let before = context.transforms();
        let sum = setup.sums(&a, &a, &[row]).remove(0);
        let mut out = Ciphertext::empty(context);
        sum.divide_into(&mut out, modulus).unwrap();
        assert_eq!(context.transforms() - before, ((digits + 2) * limbs + plaintexts) as u64);
        let before = context.transforms();
        sum.rotated(setup.element(1), &setup.keys).unwrap();
        assert_eq!(context.transforms() - before, ((digits + 1) * limbs) as u64);
    }
}

/// Several threads share whole limbs, or halves of limbs from ring degrees of 2^13 on.
#[test]
fn threads_give_the_same_bits() {
    for (log_degree, primes) in [(LOG_DEGREE, [12289, 40961]), (13, [65537, 114689])] {
        let sprout = || Sprout { two: 8, primes: primes.to_vec() };
        let context = |threads| insecure_threads(log_degree, 7, 1, 8, sprout(), threads);
        let mut setup = Setup::new(context(Threads::single()));
        let modulus = setup.context.parameters().top();
        let a = setup.encrypt(&setup.small(BITS, 1, modulus), modulus);
        let rows = [vec![(0, 1), (1, 2), (4, 3)], vec![(2, 4)]];
        let both = [Threads::single(), Threads::new(3).unwrap()].map(|threads| {
            setup.context = context(threads);
            let sums = setup.sums(&a, &a, &rows);
            let mut out = Ciphertext::empty(&setup.context);
            let mut total = sums[1].rotated(setup.element(2), &setup.keys).unwrap();
            total.add(&sums[0]).unwrap();
            total.divide_into(&mut out, modulus).unwrap();
            out
        });
        assert_eq!(both[0], both[1], "N = 2^{log_degree}");
    }
}

#[test]
fn errors_name_the_unsuitable_operand() {
    let setup = Setup::new(insecure(LOG_DEGREE, 4, 1, 4));
    let Setup { context, keys, .. } = &setup;
    let (top, low) = (context.parameters().top(), Modulus::of_range(0..2));
    let (a, b) = (
        setup.encrypt(&setup.small(BITS, 1, top), top),
        setup.encrypt(&setup.small(BITS, 1, low), low),
    );
    let (hoisted, extended) = (
        context.hoist_for_sums(&a, setup.common()).unwrap(),
        context.rotation_modulus(top, setup.common()).unwrap(),
    );
    let element = setup.element(1);
    let plain = setup.small(BITS, 1, extended);
    let factor = context.rotation_factor(plain.clone(), extended).unwrap();
    let message = |summands: &[Summand], term: Term, keys: &PreparedEvaluationKeys| -> String {
        context
            .rotation_sums(summands, &[vec![term]], keys, setup.common())
            .unwrap_err()
            .to_string()
    };
    let term = Term { summand: 0, factor: (&factor).into(), log2_norm: 0.0, leaves_zeros: false };
    let rotated = Summand::Rotated(&a, &hoisted, element);
    assert!(matches!(
        context.rotation_sums(&[], &[], keys, setup.common()),
        Err(RlweError::Parts { .. })
    ));
    assert!(message(&[rotated], Term { summand: 1, ..term }, keys).contains("does not exist"));
    let short = setup.small(BITS, 1, top);
    let refused = |poly: Poly| context.rotation_factor(poly, extended).unwrap_err().to_string();
    assert!(refused(short.clone()).contains("modulo P'Q"));
    let short = context.rotation_factor(short, top).unwrap();
    assert!(
        message(&[rotated], Term { factor: (&short).into(), ..term }, keys).contains("modulo P'Q")
    );
    let smaller = Setup::new(insecure(LOG_DEGREE - 1, 4, 1, 4));
    let of_smaller =
        smaller.context.rotation_factor(smaller.small(BITS, 1, extended), extended).unwrap();
    let term_of_smaller = Term { factor: (&of_smaller).into(), ..term };
    assert!(message(&[rotated], term_of_smaller, keys).contains("ring degree"));
    let mut inverse = plain;
    context.to_coefficient(&mut inverse, extended);
    assert!(refused(inverse).contains("evaluation domain"));
    assert!(refused(Poly::zero(4, 1, Domain::Evaluation)).contains("ring degree"));
    assert!(message(&[rotated, Summand::Unrotated(&b)], term, keys).contains("bits"));
    let copy = a.clone();
    assert!(
        message(&[Summand::Rotated(&copy, &hoisted, element)], term, keys)
            .contains("another ciphertext")
    );
    let smaller = Setup::at(insecure(LOG_DEGREE, 4, 1, 4), [low; 4]);
    let error = smaller.context.hoist_for_sums(&a, smaller.common()).unwrap_err().to_string();
    let words = "modulo 121.0 bits (3 limbs), no multiple of the 201.0 bits (5 limbs)";
    assert!(error.contains(words), "{error}");
    let missing = Summand::Rotated(&a, &hoisted, setup.element(9));
    assert!(message(&[missing], term, keys).contains("rotation by 9"));
    let others = Setup::new(insecure(LOG_DEGREE, 4, 1, 4));
    assert!(message(&[rotated], term, &others.keys).contains("key"));

    let sum_of = |c: &Ciphertext, factor: &RotationFactor| {
        let row = vec![Term { factor: factor.into(), ..term }];
        context
            .rotation_sums(&[Summand::Unrotated(c)], &[row], keys, setup.common())
            .unwrap()
            .remove(0)
    };
    let mut sum = sum_of(&a, &factor);
    let below = context.rotation_modulus(low, setup.common()).unwrap();
    let lower = context.rotation_factor(setup.small(BITS, 1, below), below).unwrap();
    assert!(sum.add(&sum_of(&b, &lower)).unwrap_err().to_string().contains("bits"));
    assert!(sum.rotated(element, &others.keys).is_err());
    assert!(sum.rotated(setup.element(9), keys).unwrap_err().to_string().contains("rotation by 9"));
    let mut out = Ciphertext::empty(context);
    assert!(sum.divide_into(&mut out, Modulus::ONE).is_err());
    assert_eq!(sum.noise(), a.noise());
    sum.set_noise(Noise::NONE);
    assert_eq!(sum.noise(), Noise::NONE);
}
