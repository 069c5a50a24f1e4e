//! BFV products compared with plain arithmetic, on grafted and simple chains, alone and together
//! with BGV products. Their noise is compared with its estimate.

use crate::common::{Setup, insecure, setup};
use hippocrene_bgv::{BgvError, Ciphertext, Evaluator, Polynomial, Scheme};
use hippocrene_ring::primes::ntt_primes;
use hippocrene_rlwe::{Modulus, Noise, Parameters, ParametersLiteral, SecretDistribution, Sprout};
use proptest::prelude::*;

const LOG_DEGREE: u32 = 10;

const SCHEMES: [Scheme; 2] = [Scheme::Bgv, Scheme::Bfv];

fn chains() -> Vec<Setup> {
    let chain = |bits, sprout, t| insecure(LOG_DEGREE, bits, 5, sprout, t, &[1, 2, 4]);
    vec![
        chain(48, "sprout-15-16-32", 65537),
        chain(46, "sprout-15-16-32", 786_433),
        chain(48, "none", 65537),
        chain(55, "none", 12289),
    ]
}

fn of_scheme(s: &Setup, scheme: Scheme) -> Evaluator {
    s.evaluator.clone().with_scheme(scheme)
}

#[test]
fn products_are_exact() {
    for s in chains() {
        let e = of_scheme(&s, Scheme::Bfv);
        assert_eq!((s.evaluator.scheme(), e.scheme()), (Scheme::Bgv, Scheme::Bfv));
        let (x, y) = (s.values(1), s.values(2));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        let xy = s.zip(&x, &y, |x, y| x * y);
        let product = e.mul(&a, &b).unwrap();
        assert_eq!(s.decrypt(&product), xy);
        // A factor of 1 stays, so sums need no constants.
        assert_eq!(product.factor(), 1);
        let square = e.square(&a).unwrap();
        assert_eq!(s.decrypt(&square), s.zip(&x, &x, |x, y| x * y));
        assert_eq!(s.decrypt(&e.add(&product, &a).unwrap()), s.zip(&xy, &x, |p, x| p + x));
        // Factors and moduli of all kinds, in both orders, including a BGV product.
        let other = s.evaluator.mul(&b, &product).unwrap();
        let expected = s.zip(&xy, &y, |p, y| p * y);
        assert_eq!(s.decrypt(&other), expected);
        for (left, right) in [(&other, &a), (&a, &other)] {
            let mixed = e.mul(left, right).unwrap();
            assert_eq!(mixed.factor(), other.factor());
            assert_eq!(s.decrypt(&mixed), s.zip(&expected, &x, |p, x| p * x));
        }
        assert_eq!(
            s.decrypt(&e.mul(&square, &product).unwrap()),
            s.zip(&x, &xy, |x, p| x * x % s.t() as u128 * p)
        );
    }
}

/// The results are equal to the last bit.
#[test]
fn a_sum_of_one_product_is_that_product() {
    for s in chains() {
        let e = of_scheme(&s, Scheme::Bfv);
        let (a, b) = (s.encrypt(&s.values(1)), s.encrypt(&s.values(2)));
        let lower = e.mul(&a, &b).unwrap();
        for (left, right) in [(&a, &b), (&a, &a), (&lower, &lower)] {
            assert_eq!(e.sum_of_products(&[(left, right)]).unwrap(), e.mul(right, left).unwrap());
        }
    }
}

/// On a simple chain, BGV products waste the bits that primes have beyond the growth of the noise.
/// BFV polynomials leave more of the budget.
#[test]
fn bfv_polynomials_leave_more_budget_on_simple_chains() {
    let s = insecure(LOG_DEGREE, 48, 8, "none", 65537, &[]);
    let x = s.values(5);
    let p = Polynomial::new(65537, &(1..=15).collect::<Vec<_>>()).unwrap();
    let [bgv, bfv] =
        SCHEMES.map(|scheme| of_scheme(&s, scheme).polynomial(&s.encrypt(&x), &p).unwrap());
    for result in [&bgv, &bfv] {
        assert_eq!(s.decrypt(result), x.iter().map(|x| p.evaluate(*x)).collect::<Vec<_>>());
    }
    let [bgv, bfv] = [bgv, bfv].map(|result| result.budget_bits(&s.context));
    assert!(bfv > bgv + 10.0, "{bfv} bits are left with BFV, {bgv} with BGV");
}

/// Multiplies by one factor, or squares, until the budget is used up. All products are right, and
/// the next one is refused. The estimate never exceeds the measured budget, although errors contain
/// the same factors again and again. It is at most 4 bits lower, plus 1.5 bits for every product
/// where a simple chain keeps large errors.
#[test]
fn products_are_exact_to_the_last_bit_of_the_budget() {
    for s in chains() {
        for square in [false, true] {
            let e = of_scheme(&s, Scheme::Bfv);
            let (mut x, y) = (s.values(3), s.values(4));
            let (mut a, b) = (s.encrypt(&x), s.encrypt(&y));
            let mut products = 0u8;
            loop {
                let (have, there) = (a.budget_bits(&s.context), s.budget(&a));
                assert!(
                    have <= there && there < have + 4.0 + 1.5 * f64::from(products),
                    "{have} bits are estimated, but {there} are measured"
                );
                match if square { e.square(&a) } else { e.mul(&a, &b) } {
                    Ok(product) => a = product,
                    Err(error) => {
                        assert!(
                            matches!(error, BgvError::Budget { operation: "multiply", .. }),
                            "{error}"
                        );
                        break;
                    }
                }
                x = if square { s.zip(&x, &x, |x, y| x * y) } else { s.zip(&x, &y, |x, y| x * y) };
                assert_eq!(s.decrypt(&a), x);
                products += 1;
            }
            assert!(products >= 8, "{products}");
        }
    }
}

/// Returns log2 of the standard deviation of the error, which is the phase after the message has
/// been subtracted.
fn error(s: &Setup, c: &Ciphertext) -> f64 {
    let message = s
        .context
        .encoder()
        .encode(&s.decrypt(c).iter().map(|x| *x as i64).collect::<Vec<_>>())
        .unwrap();
    let nothing = s.evaluator.sub_plain(c, &message).unwrap();
    let rlwe = s.context.rlwe();
    let phase = s.secret.decrypt(rlwe, nothing.inner()).unwrap();
    let basis =
        hippocrene_ring::RnsBasis::new(&rlwe.parameters().limb_moduli(c.modulus())).unwrap();
    let values = basis.compose_limbs(&phase.limbs().collect::<Vec<_>>());
    let squares: f64 = values.iter().map(|v| v.to_string().parse::<f64>().unwrap().powi(2)).sum();
    0.5 * (squares / values.len() as f64).log2()
}

/// The errors of BFV products agree with the formula: those of squares within a factor of 1.5, and
/// those of independent factors within 2.2, because their errors are added as if they were
/// dependent (`sqrt(2)`). They are measured before the modulus is switched down, where no other
/// error matters.
///
/// At each of the 512 pairs of roots of `X^N + 1` the square of an error is a product of at least
/// four exponentially distributed numbers, two of which are the same, `|s|^2`. Means over 512 of
/// these vary by a quarter. So the mean is taken over [`SECRETS`] secrets.
#[test]
fn noise_is_as_estimated() {
    const SECRETS: usize = 24;
    let kinds: [fn() -> Setup; 4] = [
        || noise_chain(48, "sprout-15-16-32", 65537),
        || noise_chain(46, "sprout-15-16-32", 786_433),
        || noise_chain(48, "none", 65537),
        || noise_chain(55, "none", 12289),
    ];
    for kind in kinds {
        // The moduli have the size of the auxiliary one, or are far below it. The columns are
        // squares and products of two ciphertexts.
        let mut ratios = [[0.0; 2]; 3];
        for secret in 0..SECRETS as u64 {
            let s = kind();
            let e = of_scheme(&s, Scheme::Bfv);
            let fresh = [2 * secret, 2 * secret + 1].map(|seed| s.encrypt(&s.values(seed)));
            let top = fresh[0].modulus();
            let moduli = [top, Modulus::of_range(0..3), Modulus::of_range(0..2).lcm(top.sprout())];
            for (modulus, ratios) in moduli.into_iter().zip(&mut ratios) {
                let at = |c: &Ciphertext| {
                    if c.modulus() == modulus {
                        c.clone()
                    } else {
                        e.switch_modulus(c, modulus).unwrap()
                    }
                };
                let [a, b] = [at(&fresh[0]), at(&fresh[1])];
                for (right, ratio) in [&a, &b].into_iter().zip(ratios) {
                    let product = e.mul(&a, right).unwrap();
                    let difference = error(&s, &product) - product.inner().noise().log2_std();
                    *ratio += (2.0 * difference).exp2() / SECRETS as f64;
                }
            }
        }
        for [square, product] in ratios.map(|at| at.map(f64::sqrt)) {
            assert!((1.0 / 1.5..1.5).contains(&square), "a square: {square}; {ratios:?}");
            assert!((1.0 / 2.2..1.5).contains(&product), "a product: {product}; {ratios:?}");
        }
    }
}

fn noise_chain(bits: u32, sprout: &str, t: u64) -> Setup {
    insecure(LOG_DEGREE, bits, 5, sprout, t, &[])
}

/// The plaintext moduli have no slots: 2, a power of two, and one of 40 bits.
#[test]
fn bfv_products_are_exact_modulo_any_number() {
    for (t, sprout) in [
        (2u64, "none"),
        (1 << 16, "none"),
        (1 << 16, "sprout-15-16-32"),
        ((1 << 40) + 15, "sprout-15-16-32"),
    ] {
        let s = insecure(LOG_DEGREE, 48, 6, sprout, t, &[]);
        let (encoder, n) = (s.context.encoder(), s.degree());
        let encrypt = |values: &[u64]| {
            let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
            s.context
                .encrypt(&s.secret, &encoder.encode_coefficients(&values).unwrap())
                .unwrap()
                .expand(&s.context)
        };
        let e = of_scheme(&s, Scheme::Bfv);
        let (mut x, mut y) = (s.values(7), vec![0; n]);
        (y[0], y[1], y[n - 1]) = (3 % t, t - 1, 1);
        let (mut a, b) = (encrypt(&x), encrypt(&y));
        for _ in 0..2 {
            a = e.mul(&a, &b).unwrap();
            // The product is x (3 - X + X^(n-1)).
            let (big, m) = (|v: u64| u128::from(v), u128::from(t));
            x = (0..n)
                .map(|i| {
                    let before = if i == 0 { m - big(x[n - 1]) } else { big(x[i - 1]) };
                    let after = if i == n - 1 { big(x[0]) } else { m - big(x[i + 1]) };
                    ((3 * big(x[i]) + (m - before % m) + after) % m) as u64
                })
                .collect();
            let got =
                encoder.decode_coefficients(&s.context.decrypt(&s.secret, &a).unwrap()).unwrap();
            assert_eq!(got, x, "{t}");
        }
    }
}

/// A step of a circuit on two registers.
#[derive(Debug, Clone, Copy)]
enum Step {
    Multiply(Scheme),
    Square(Scheme),
    Add,
    MultiplyPlain,
    Rotate,
    Exchange,
}

fn step() -> impl Strategy<Value = Step> {
    let scheme = || prop_oneof![Just(Scheme::Bgv), Just(Scheme::Bfv)];
    prop_oneof![
        3 => scheme().prop_map(Step::Multiply),
        1 => scheme().prop_map(Step::Square),
        1 => Just(Step::Add),
        1 => Just(Step::MultiplyPlain),
        1 => Just(Step::Rotate),
        1 => Just(Step::Exchange),
    ]
}

/// Applies a step to the integers modulo `t`, in two rows.
fn plain(s: &Setup, step: Step, x: &[u64], y: &[u64]) -> Vec<u64> {
    let half = x.len() / 2;
    match step {
        Step::Multiply(_) | Step::MultiplyPlain => s.zip(x, y, |x, y| x * y),
        Step::Square(_) => s.zip(x, x, |x, y| x * y),
        Step::Add => s.zip(x, y, |x, y| x + y),
        Step::Rotate => [&x[2..half], &x[..2], &x[half + 2..], &x[half..half + 2]].concat(),
        Step::Exchange => [&x[half..], &x[..half]].concat(),
    }
}

fn encrypted(
    s: &Setup,
    step: Step,
    a: &Ciphertext,
    b: &Ciphertext,
    y: &[u64],
) -> Result<Ciphertext, BgvError> {
    let e = &s.evaluator;
    match step {
        Step::Multiply(scheme) => of_scheme(s, scheme).mul(a, b),
        Step::Square(scheme) => of_scheme(s, scheme).square(a),
        Step::Add => e.add(a, b),
        Step::MultiplyPlain => {
            let y: Vec<i64> = y.iter().map(|y| *y as i64).collect();
            e.mul_plain(a, &s.context.encoder().encode(&y)?)
        }
        Step::Rotate => e.rotate_rows(a, 2),
        Step::Exchange => e.exchange_rows(a),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Runs random circuits of both schemes until the budget refuses a step. Every result is right,
    /// and the refusal is a budget error.
    #[test]
    fn random_circuits_are_exact(steps in prop::collection::vec(step(), 12), seed: u64) {
        for s in chains() {
            let mut values = [s.values(seed), s.values(seed ^ 1)];
            let mut registers = [s.encrypt(&values[0]), s.encrypt(&values[1])];
            for (i, step) in steps.iter().enumerate() {
                let (to, other) = (i % 2, (i + 1) % 2);
                match encrypted(&s, *step, &registers[to], &registers[other], &values[other]) {
                    Ok(result) => registers[to] = result,
                    Err(error) => {
                        prop_assert!(matches!(error, BgvError::Budget { .. }), "{error}");
                        break;
                    }
                }
                values[to] = plain(&s, *step, &values[to], &values[other]);
                prop_assert_eq!(
                    &s.decrypt(&registers[to]),
                    &values[to],
                    "step {} of {:?}",
                    i,
                    &steps
                );
            }
        }
    }
}

/// A parameter set with 128 bits of security: `N = 2^14`, `log PQ = 430`.
#[test]
fn products_are_exact_with_128_bits_of_security() {
    let sprout = Sprout::named("sprout-15-16-32").unwrap();
    let mut used = sprout.primes.clone();
    let mut prime = |bits: u32| {
        used.push(ntt_primes(bits, 1 << 14, 1, &used).unwrap()[0]);
        used[used.len() - 1]
    };
    let specials = vec![prime(47), prime(47)];
    let units = [45, 46, 45, 46, 45, 46].map(&mut prime).to_vec();
    let literal = ParametersLiteral {
        log_degree: 14,
        units,
        specials,
        sprout,
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    };
    let s = setup(Parameters::new(literal).unwrap(), 65537, &[]);
    let (x, y) = (s.values(8), s.values(9));
    let (a, b) = (s.encrypt(&x), s.encrypt(&y));
    for scheme in SCHEMES {
        let e = of_scheme(&s, scheme);
        let (mut c, mut z, mut products) = (a.clone(), x.clone(), 0);
        while let Ok(product) = e.mul(&c, &b) {
            (c, products) = (product, products + 1);
            z = s.zip(&z, &y, |z, y| z * y);
        }
        assert_eq!(s.decrypt(&c), z);
        assert!(products >= 7, "{scheme:?}: {products}");
    }
}

#[test]
fn other_keys_and_used_up_budgets_are_refused() {
    let s = insecure(LOG_DEGREE, 48, 3, "none", 65537, &[]);
    let e = of_scheme(&s, Scheme::Bfv);
    let a = s.encrypt(&s.values(10));
    let other = insecure(LOG_DEGREE, 48, 3, "none", 65537, &[]);
    let error = e.mul(&a, &other.encrypt(&other.values(10))).unwrap_err().to_string();
    assert!(error.contains("multiply"), "{error}");
    let noisy = {
        let mut inner = a.inner().clone();
        inner.set_noise(Noise::from_log2_std(110.0));
        Ciphertext::from_parts(&s.context, inner, 65537, 1).unwrap()
    };
    assert!(matches!(e.mul(&a, &noisy), Err(BgvError::Budget { .. })));
}
