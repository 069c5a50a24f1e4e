//! Tests of multi-precision numbers, on one grafted parameter set for every scale (GRAFT, appendix
//! E).

use std::collections::BTreeMap;

use crate::common::{Setup, circle, setup};
use hippocrene_ckks::{BigFloat, Ciphertext, Scale, Values, circuits::LinearTransform};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
use num_bigint::BigInt;
use num_complex::Complex;

/// Units of 48 bits and a sprout, about 490 bits in total. Insecure.
fn insecure() -> Setup {
    let (log_degree, degree) = (12, 1 << 12);
    let sprout = Sprout::for_degree(log_degree).unwrap();
    let primes = primes::ntt_primes(48, degree, 12, &sprout.primes).unwrap();
    let parameters = Parameters::new_insecure(ParametersLiteral {
        log_degree,
        units: primes[..9].to_vec(),
        specials: primes[9..].to_vec(),
        sprout,
        gadget_rank: 4,
        secret: SecretDistribution::Ternary,
    })
    .unwrap();
    setup(parameters, &[1, 2, 3, 4], Threads::single(), Scale::power_of_two(120))
}

/// Returns numbers of 400 bits with absolute values within 2^-50 of 1, at angles that never repeat.
fn numbers(count: usize, seed: u64) -> Vec<Complex<BigFloat>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut words = || {
        (0..11)
            .map(|_| {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (state >> 32) as u32
            })
            .collect::<Vec<_>>()
    };
    let mut part = |x: f64| {
        let low = BigFloat::from_parts(&BigInt::from_slice(num_bigint::Sign::Plus, &words()), -404)
            .unwrap();
        BigFloat::try_from(BigFloat::try_from(x).unwrap().into_inner() + low.into_inner()).unwrap()
    };
    circle(count, 1.0, seed as f64)
        .into_iter()
        .map(|z| Complex { re: part(z.re), im: part(z.im) })
        .collect()
}

fn product(a: &Complex<BigFloat>, b: &Complex<BigFloat>) -> Complex<BigFloat> {
    let [x, y, u, v] = [&a.re, &a.im, &b.re, &b.im].map(|part| part.clone().into_inner());
    let big = |x| BigFloat::try_from(x).unwrap();
    Complex { re: big(&x * &u - &y * &v), im: big(x * v + y * u) }
}

fn sum(a: &Complex<BigFloat>, b: &Complex<BigFloat>) -> Complex<BigFloat> {
    let add = |a: &BigFloat, b: &BigFloat| {
        BigFloat::try_from(a.clone().into_inner() + b.clone().into_inner()).unwrap()
    };
    Complex { re: add(&a.re, &b.re), im: add(&a.im, &b.im) }
}

impl Setup {
    fn encrypt_big(&self, values: &[Complex<BigFloat>], scale: Scale) -> Ciphertext {
        let plaintext =
            self.context.encode(values.into(), values.len(), scale, self.top()).unwrap();
        self.context.encrypt(&self.secret, &plaintext).unwrap().expand(&self.context)
    }

    /// Checks that the error's standard deviation is within a factor of 1.5 of its estimate, and
    /// that the largest error is within 16 of them. The error in a slot is a product of two nearly
    /// Gaussian numbers, one of which is the secret. Returns the number of correct bits of the
    /// worst slot.
    fn check_big(
        &self,
        ciphertext: &Ciphertext,
        expected: &[Complex<BigFloat>],
        what: &str,
    ) -> f64 {
        let plaintext = self.context.decrypt(&self.secret, ciphertext).unwrap();
        let got = self.context.decode_big_complex(&plaintext).unwrap();
        let real = self.context.decode_big_real(&plaintext).unwrap();
        assert!(got.len() == expected.len() && got.iter().map(|z| &z.re).eq(&real));
        let difference = |a: &BigFloat, b: &BigFloat| {
            BigFloat::try_from(a.clone().into_inner() - b.clone().into_inner()).unwrap().to_f64()
        };
        let errors = got
            .iter()
            .zip(expected)
            .flat_map(|(g, e)| [difference(&g.re, &e.re), difference(&g.im, &e.im)]);
        let (mut squares, mut worst) = (0.0, 0.0f64);
        for error in errors {
            squares += error * error;
            worst = worst.max(error.abs());
        }
        let measured = (squares / (2 * got.len()) as f64).sqrt().log2();
        let estimated = -ciphertext.precision_bits();
        assert!(
            (measured - estimated).abs() < 1.5f64.log2() && worst.log2() < estimated + 4.0,
            "{what}: measured error 2^{measured:.2}, estimated 2^{estimated:.2}, worst 2^{:.2}",
            worst.log2()
        );
        -worst.log2()
    }
}

#[test]
fn precision_grows_with_the_scale_on_one_insecure_set() {
    let s = insecure();
    let e = &s.evaluator;
    let n = s.context.max_slots();
    let (x, y) = (numbers(n, 1), numbers(n, 2));
    let xy: Vec<_> = x.iter().zip(&y).map(|(x, y)| product(x, y)).collect();
    let third: BigFloat = "0.333333333333333333333333333333333333333333333333".parse().unwrap();
    let x_third: Vec<_> = x
        .iter()
        .map(|x| product(x, &Complex { re: third.clone(), im: BigFloat::zero() }))
        .collect();
    let x_plus_third: Vec<_> =
        x.iter().map(|x| sum(x, &Complex { re: third.clone(), im: BigFloat::zero() })).collect();
    println!("scale  fresh  product  plain product   (bits right in the worst of {n} slots)");
    for bits in [20, 40, 60, 80, 100, 120, 128] {
        let scale = Scale::power_of_two(bits);
        let (a, b) = (s.encrypt_big(&x, scale), s.encrypt_big(&y, scale));
        let fresh = s.check_big(&a, &x, "fresh");
        let times = s.check_big(&e.mul_rescale(&a, &b, scale).unwrap(), &xy, "product");

        let plain = s.context.encode(y[..].into(), n, scale, s.top()).unwrap();
        let plain_times = e.rescale(&e.mul_plain(&a, &plain).unwrap(), scale).unwrap();
        let plain_times = s.check_big(&plain_times, &xy, "product with a plaintext");
        let constant = e.rescale(&e.mul_big_number(&a, &third, scale).unwrap(), scale).unwrap();
        s.check_big(&constant, &x_third, "product with a number");
        s.check_big(&e.add_big_number(&a, &third).unwrap(), &x_plus_third, "sum with a number");
        println!("2^{bits:<4} {fresh:6.1} {times:8.1} {plain_times:14.1}");
        let lost = f64::from(bits) - fresh.min(times).min(plain_times);
        assert!(lost < 17.0, "{lost} bits are lost at scale 2^{bits}");
    }
}

/// Tests the rounding of numbers at a large scale with a message so large that the rounding
/// matters. A constant alone has its own rounding error.
#[test]
fn roundings_of_numbers_are_counted_on_the_insecure_set() {
    let s = insecure();
    let (e, n) = (&s.evaluator, s.context.max_slots());
    let large = Complex { re: BigFloat::from(1 << 30), im: BigFloat::zero() };
    let x: Vec<_> = numbers(n, 3).iter().map(|x| product(x, &large)).collect();
    let times = |c: f64| -> Vec<_> {
        let c = Complex { re: BigFloat::try_from(c).unwrap(), im: BigFloat::zero() };
        x.iter().map(|x| product(x, &c)).collect()
    };
    let scale = Scale::from_f64(1.1 * 60f64.exp2()).unwrap();
    let a = s.encrypt_big(&x, Scale::power_of_two(60));
    for c in [0.3, -0.123456, 0.77] {
        s.check_big(&e.mul_number(&a, c, scale).unwrap(), &times(c), "product with a number");
        let combined =
            e.linear_combination(&[(&a, c)], a.modulus(), a.scale().times(scale)).unwrap();
        s.check_big(&combined, &times(c), "combination");
    }
    let nothing = e.mul_integer(&s.encrypt_big(&x, Scale::power_of_two(40)), 0).unwrap();
    let third = e.add_number(&nothing, 1.0 / 3.0).unwrap();
    let got = s.context.decode_complex(&s.context.decrypt(&s.secret, &third).unwrap()).unwrap();
    let bits = third.precision_bits();
    assert!(
        (41.0..43.0).contains(&bits) && got.iter().all(|z| (z.re - 1.0 / 3.0).abs() < 1e-12),
        "{bits}"
    );
}

#[test]
fn doubles_keep_their_bits_at_every_scale_on_the_insecure_set() {
    let s = insecure();
    let n = s.context.max_slots();
    let x = circle(n, 1.0, 3.0);
    let big = |x: f64| BigFloat::try_from(x).unwrap();
    let exact: Vec<_> = x.iter().map(|z| Complex { re: big(z.re), im: big(z.im) }).collect();
    let reals: Vec<_> =
        exact.iter().map(|z| Complex { re: z.re.clone(), im: BigFloat::zero() }).collect();
    for bits in [40, 58, 62, 70, 90, 120] {
        let scale = Scale::power_of_two(bits);
        let encrypt = |values: Values<'_>| {
            let plaintext = s.context.encode(values, n, scale, s.top()).unwrap();
            s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context)
        };
        s.check_big(&encrypt(x[..].into()), &exact, "complex doubles");
        let real: Vec<f64> = x.iter().map(|z| z.re).collect();
        s.check_big(&encrypt(real[..].into()), &reals, "doubles");
    }
    // Small values also lose nothing next to a large one, in both directions.
    let mut beside = vec![1.0; n];
    beside[0] = 1e15;
    let plaintext =
        s.context.encode(beside[..].into(), n, Scale::power_of_two(40), s.top()).unwrap();
    let c = s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context);
    let plaintext = s.context.decrypt(&s.secret, &c).unwrap();
    let real = s.context.decode_real(&plaintext).unwrap();
    let complex = s.context.decode_complex(&plaintext).unwrap();
    let tolerance = (4.0 - c.precision_bits()).exp2();
    assert!(real[1..].iter().all(|x| (x - 1.0).abs() < tolerance) && (real[0] - 1e15).abs() < 1.0);
    assert!(complex[1..].iter().all(|z| (z - 1.0).norm() < tolerance));

    let infinite = [1.0, f64::INFINITY];
    let error =
        s.context.encode(infinite[..].into(), n, Scale::power_of_two(90), s.top()).unwrap_err();
    assert!(error.to_string().contains("value 1 is inf"), "{error}");
}

#[test]
fn linear_transforms_are_as_precise_on_the_insecure_set() {
    let s = insecure();
    let n = s.context.max_slots();
    let x = numbers(n, 1);
    let diagonals: BTreeMap<usize, _> =
        [0, 1, 2, 3, 5].map(|r| (r, numbers(n, 10 + r as u64))).into();
    let t = LinearTransform::from_big(n, diagonals.clone()).unwrap();
    let zero = Complex { re: BigFloat::zero(), im: BigFloat::zero() };
    let want: Vec<_> = (0..n)
        .map(|i| {
            diagonals
                .iter()
                .fold(zero.clone(), |y, (r, d)| sum(&y, &product(&d[i], &x[(i + r) % n])))
        })
        .collect();
    for bits in [60, 120] {
        let scale = Scale::power_of_two(bits);
        let y = s.evaluator.linear_transform(&s.encrypt_big(&x, scale), &t, scale).unwrap();
        let right = s.check_big(&y, &want, "linear transform");
        println!("linear transform at 2^{bits}: {right:.1} bits right in the worst slot");
        assert!(f64::from(bits) - right < 18.0, "{right} bits at scale 2^{bits}");
    }
    let short = BTreeMap::from([(0, numbers(n / 2, 1))]);
    assert!(LinearTransform::from_big(n, short).is_err());
}

#[test]
fn numbers_too_large_for_the_insecure_set_are_refused() {
    let s = insecure();
    let values = numbers(4, 1);
    let encode = |bits| s.context.encode(values[..].into(), 4, Scale::power_of_two(bits), s.top());
    assert!(encode(400).is_ok());
    let error = encode(600).unwrap_err().to_string();
    assert!(
        error.starts_with("encode: values at scale ") && error.contains("take a smaller scale"),
        "{error}"
    );
    let five = encode(100)
        .map(|_| s.context.encode(values[..].into(), 2, Scale::power_of_two(100), s.top()));
    assert_eq!(five.unwrap().unwrap_err().to_string(), "encode: 4 values do not fit 2 slots");
    let c = s.encrypt_big(&values, Scale::power_of_two(100));
    let huge: BigFloat = "1e200".parse().unwrap();
    let error = s.evaluator.add_big_number(&c, &huge).unwrap_err().to_string();
    assert!(error.starts_with("add a number needs "), "{error}");
    let huge = BigFloat::from_parts(&1.into(), BigFloat::MAX_BITS - 1).unwrap();
    let error =
        s.evaluator.mul_big_number(&c, &huge, Scale::power_of_two(100)).unwrap_err().to_string();
    assert!(error.starts_with("multiply by a number: a number of about 2^"), "{error}");
}
