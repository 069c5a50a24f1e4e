//! Sums, products, rotations and modulus switches compared with plain arithmetic, on grafted and
//! simple chains. The noise is compared with its estimate.

use crate::common::{Setup, insecure, setup};
use hippocrene_bgv::{BgvError, Ciphertext, Context, Polynomial};
use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Modulus, Parameters, PublicKey, RlweError};
use std::panic::{AssertUnwindSafe, catch_unwind};

const LOG_DEGREE: u32 = 10;

/// A grafted and a simple chain, each with two plaintext moduli. 65537 is also a prime of the
/// sprout.
fn chains() -> Vec<Setup> {
    let chain = |sprout, t| insecure(LOG_DEGREE, 48, 5, sprout, t, &[1, 2, -4]);
    vec![
        chain("sprout-15-16-32", 65537),
        chain("sprout-15-16-32", 786_433),
        chain("none", 65537),
        chain("none", 12289),
    ]
}

#[test]
fn every_operation_is_exact() {
    for s in chains() {
        let (e, half) = (&s.evaluator, s.degree() / 2);
        let (x, y) = (s.values(1), s.values(2));
        let (a, b) = (s.encrypt(&x), s.encrypt(&y));
        let t = u128::from(s.t());
        let plaintext = |v: &[u64]| {
            s.context.encoder().encode(&v.iter().map(|v| *v as i64).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(s.decrypt(&a), x);
        assert_eq!(s.decrypt(&e.add(&a, &b).unwrap()), s.zip(&x, &y, |x, y| x + y));
        assert_eq!(s.decrypt(&e.sub(&a, &b).unwrap()), s.zip(&x, &y, |x, y| x + t - y));
        assert_eq!(s.decrypt(&e.negate(&a).unwrap()), s.zip(&x, &y, |x, _| t - x));
        assert_eq!(
            s.decrypt(&e.add_plain(&a, &plaintext(&y)).unwrap()),
            s.zip(&x, &y, |x, y| x + y)
        );
        assert_eq!(
            s.decrypt(&e.sub_plain(&a, &plaintext(&y)).unwrap()),
            s.zip(&x, &y, |x, y| x + t - y)
        );
        assert_eq!(
            s.decrypt(&e.mul_plain(&a, &plaintext(&y)).unwrap()),
            s.zip(&x, &y, |x, y| x * y)
        );
        assert_eq!(s.decrypt(&e.add_integer(&a, -7).unwrap()), s.zip(&x, &y, |x, _| x + t - 7));
        for c in [0i64, 1, -1, 5, 40_000] {
            let residue = c.rem_euclid(t as i64) as u128;
            assert_eq!(
                s.decrypt(&e.mul_integer(&a, c).unwrap()),
                s.zip(&x, &y, |x, _| x * residue),
                "{c}"
            );
        }
        let rotated = |v: &[u64], k: usize| {
            [&v[k..half], &v[..k], &v[half + k..], &v[half..half + k]].concat()
        };
        for (steps, k) in [(1, 1), (2, 2), (-4, half - 4), (3, 3), (0, 0)] {
            assert_eq!(s.decrypt(&e.rotate_rows(&a, steps).unwrap()), rotated(&x, k), "{steps}");
        }
        assert_eq!(s.decrypt(&e.exchange_rows(&a).unwrap()), [&x[half..], &x[..half]].concat());
        // Sums of a product and a fresh ciphertext, with different factors and moduli, in both
        // orders.
        let product = e.mul_bgv(&a, &b).unwrap();
        let (xy, square) = (s.zip(&x, &y, |x, y| x * y), e.mul_bgv(&a, &a).unwrap());
        assert_eq!(s.decrypt(&product), xy);
        assert_eq!(s.decrypt(&square), s.zip(&x, &x, |x, y| x * y));
        assert_ne!(product.factor(), a.factor());
        let sums = [e.add(&product, &a).unwrap(), e.add(&a, &product).unwrap()];
        for sum in &sums {
            assert_eq!(s.decrypt(sum), s.zip(&xy, &x, |p, x| p + x));
            // The constant multiplies the operand of the larger modulus, so no noise budget is
            // lost.
            assert!(sum.budget_bits(&s.context) > product.budget_bits(&s.context) - 1.5);
        }
        let deeper = e.mul_bgv(&sums[0], &e.mul_integer(&product, 3).unwrap()).unwrap();
        assert_eq!(s.decrypt(&deeper), s.zip(&xy, &x, |p, x| (p + x) % t * (3 * p % t)));
        let again = e.sub(&deeper, &e.mul_integer(&square, -1).unwrap()).unwrap();
        let expected = s.zip(&s.decrypt(&deeper), &x, |d, x| d + x * x % t);
        assert_eq!(s.decrypt(&again), expected);
    }
}

/// Multiplies until the budget is used up. All products are right, and the next one is refused. The
/// estimate never exceeds the measured budget and is not much lower.
#[test]
fn products_are_exact_to_the_last_bit_of_the_budget() {
    for s in chains() {
        let (mut x, y) = (s.values(3), s.values(4));
        let (mut a, b) = (s.encrypt(&x), s.encrypt(&y));
        let mut products = 0;
        loop {
            let (have, there) = (a.budget_bits(&s.context), s.budget(&a));
            assert!(
                have <= there && there < have + 8.0,
                "{have} bits are estimated, but {there} are measured"
            );
            match s.evaluator.mul_bgv(&a, &b) {
                Ok(product) => a = product,
                Err(error) => {
                    assert!(
                        matches!(error, BgvError::Budget { operation: "multiply", .. }),
                        "{error}"
                    );
                    assert!(error.to_string().contains("noise budget"), "{error}");
                    break;
                }
            }
            x = s.zip(&x, &y, |x, y| x * y);
            assert_eq!(s.decrypt(&a), x);
            products += 1;
        }
        assert!(products >= 4, "{products}");
    }
}

/// Squares of squares have dependent errors. These do not grow at single roots of unity from one
/// square to the next, and they are not underestimated.
#[test]
fn errors_of_squares_of_squares_agree_with_the_estimate() {
    for t in [65537, 786_433] {
        let s = insecure(11, 48, 12, "sprout-15-16-32", t, &[]);
        let mut x = s.values(7);
        // The error of a square has few large parts, so the mean over several squares is taken.
        let mut all: Vec<_> = (0..4).map(|_| s.encrypt(&x)).collect();
        let mut squares = 0;
        while let Ok(next) =
            all.iter().map(|a| s.evaluator.mul_bgv(a, a)).collect::<Result<Vec<_>, _>>()
        {
            all = next;
            x = s.zip(&x, &x, |x, y| x * y);
            assert!(all.iter().all(|a| s.decrypt(a) == x));
            s.check_noises(&all, "a square");
            squares += 1;
        }
        assert!(squares >= 16, "{squares}");
    }
}

/// `t` times a ciphertext is a textbook BGV ciphertext. `t` times a switched ciphertext is that one
/// switched as in BGV, with a remainder divisible by `t`.
#[test]
fn multiples_by_t_are_textbook_bgv_ciphertexts() {
    for s in chains() {
        let rlwe = s.context.rlwe();
        let a = s.encrypt(&s.values(5));
        let from = a.modulus();
        let times_t = |part: &Poly, modulus: Modulus| {
            let mut part = part.clone();
            for (k, limb) in part.limbs_mut().enumerate() {
                let ring = rlwe.limb_ring(modulus, k);
                ring.mul_scalar_assign(limb, &ring.scalar(s.t() % ring.modulus()));
            }
            part
        };
        for to in [Modulus::of_range(0..2), Modulus::of_range(1..4)] {
            let ours = s.evaluator.switch_modulus(&a, to).unwrap();
            for (ours, part) in ours.inner().parts().iter().zip(a.inner().parts()) {
                let mut textbook = rlwe.zero(to, Domain::Evaluation);
                rlwe.switch_modulus(&mut textbook, &times_t(part, from), from, to, s.t()).unwrap();
                assert_eq!(times_t(ours, to), textbook);
            }
            assert_eq!(s.decrypt(&ours), s.values(5));
        }
    }
}

/// Polynomials modulo `X^N + 1`, for plaintext moduli without slots, including even ones.
#[test]
fn products_are_right_modulo_any_number() {
    for t in [2u64, 1 << 16, 1000, (1 << 40) + 15] {
        let s =
            insecure(LOG_DEGREE, 48, 6, if t == 1000 { "sprout-15-16-32" } else { "none" }, t, &[]);
        let encoder = s.context.encoder();
        let n = s.degree();
        let sparse = |terms: &[(usize, i64)]| {
            let mut out = vec![0i64; n];
            terms.iter().for_each(|(i, c)| out[*i] += c);
            out
        };
        let encrypt = |terms: &[(usize, i64)]| {
            let plaintext = encoder.encode_coefficients(&sparse(terms)).unwrap();
            s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context)
        };
        let product = s
            .evaluator
            .mul_bgv(&encrypt(&[(0, 3), (n - 1, 5)]), &encrypt(&[(1, 1), (2, -1)]))
            .unwrap();
        let product = s.evaluator.add(&product, &encrypt(&[(7, 1)])).unwrap();
        let got =
            encoder.decode_coefficients(&s.context.decrypt(&s.secret, &product).unwrap()).unwrap();
        // (3 + 5 X^(n-1))(X - X^2) = 3X - 3X^2 + 5 X^n - 5 X^(n+1) = -5 + 8 X - 3 X^2.
        let expected = sparse(&[(0, -5), (1, 8), (2, -3), (7, 1)]);
        assert_eq!(
            got,
            expected.iter().map(|c| c.rem_euclid(t as i64) as u64).collect::<Vec<_>>(),
            "{t}"
        );
    }
}

#[test]
fn other_keys_moduli_and_lengths_are_refused() {
    let s = insecure(LOG_DEGREE, 48, 3, "none", 65537, &[]);
    let a = s.encrypt(&s.values(6));
    let rlwe = s.context.rlwe();
    assert!(s.evaluator.rotate_rows(&a, 1).unwrap_err().to_string().contains("lack the rotation"));
    assert!(Context::new(rlwe.clone(), 0).is_err());
    let shared = rlwe.parameters().factor(0);
    let error = Context::new(rlwe.clone(), shared).unwrap_err().to_string();
    assert!(error.contains("coprime"), "{error}");
    let other = Context::new(rlwe.clone(), 12289).unwrap();
    let plaintext = other.encoder().encode(&[1, 2]).unwrap();
    assert!(matches!(
        s.evaluator.add_plain(&a, &plaintext),
        Err(BgvError::PlainModulusMismatch { .. })
    ));
    assert!(other.decrypt(&s.secret, &a).unwrap_err().to_string().contains("12289 and 65537"));
    let inner = a.inner().clone();
    assert!(Ciphertext::from_parts(&s.context, inner.clone(), 65537, 0).is_err());
    assert!(Ciphertext::from_parts(&s.context, inner.clone(), 65537, 65537).is_err());
    assert!(Ciphertext::from_parts(&s.context, inner, 12289, 1).is_err());
    assert!(s.evaluator.switch_modulus(&a, Modulus::ONE).is_err());
    let error = s
        .evaluator
        .mul_bgv(&a, &setup(insecure_parameters(), 65537, &[]).encrypt(&[1]))
        .unwrap_err();
    assert!(error.to_string().contains("made with the parameters"), "{error}");
}

/// The plaintext modulus is so large that the error of a fresh ciphertext and the message do not
/// fit together. Under a public key this happens earlier.
#[test]
fn encryption_without_noise_budget_is_refused() {
    for (t, secret, public) in
        [((1 << 40) + 1, true, true), ((1 << 42) + 1, true, false), ((1 << 46) + 1, false, false)]
    {
        let s = insecure(6, 25, 2, "none", t, &[]);
        let (context, message) =
            (&s.context, s.context.encoder().encode_coefficients(&[1]).unwrap());
        let key = PublicKey::generate(context.rlwe(), &s.secret).unwrap();
        let refused = |error: BgvError| {
            let BgvError::Budget { operation: "encrypt", need, have } = error else {
                panic!("{error}")
            };
            assert!(need >= have, "{need} of {have}");
        };
        match context.encrypt(&s.secret, &message) {
            Ok(_) => assert!(secret, "{t}"),
            Err(error) => refused(error),
        }
        match context.encrypt_public(&key, &message) {
            Ok(ciphertext) => assert!(public && ciphertext.budget_bits(context) > 0.0, "{t}"),
            Err(error) => refused(error),
        }
    }
}

fn insecure_parameters() -> Parameters {
    insecure(LOG_DEGREE, 47, 3, "none", 65537, &[]).context.rlwe().parameters().clone()
}

/// Products with the same vector, with two vectors in turn, and with sums in between, until the
/// budget is used up. The largest values of a polynomial at the roots of unity dominate its powers.
#[test]
fn powers_of_plain_factors_are_exact_to_the_last_bit_of_the_budget() {
    for s in chains() {
        let e = &s.evaluator;
        let t = u128::from(s.t());
        let mut mask = vec![0; s.degree()];
        mask[..8].copy_from_slice(&[0, 1, 0, 1, 1, 1, 0, 1]);
        let nines = vec![9; s.degree()];
        let vectors = [s.values(5), s.values(6), mask, nines];
        for (turns, plus) in [
            (&[0][..], false),
            (&[2], false),
            (&[3], false),
            (&[0, 1], false),
            (&[0, 2], true),
            (&[2], true),
        ] {
            let x = s.values(7);
            let (mut a, mut y) = (s.encrypt(&x), x.clone());
            let (first, mut count) = (a.clone(), 0);
            loop {
                let w = &vectors[turns[count % turns.len()]];
                let next = e
                    .mul_plain(&a, &s.plaintext(w))
                    .and_then(|p| if plus { e.add(&p, &first) } else { Ok(p) });
                a = match next {
                    Ok(next) => next,
                    Err(error) => {
                        assert!(matches!(error, BgvError::Budget { .. }), "{error}");
                        break;
                    }
                };
                y = s.zip(&s.zip(&y, w, |y, w| y * w), &x, |y, x| if plus { y + x } else { y });
                count += 1;
                let (estimated, measured) = (a.budget_bits(&s.context), s.budget(&a));
                assert!(
                    measured >= estimated,
                    "{turns:?} {plus}: after {count}, {measured:.1} bits are measured, \
                     {estimated:.1} estimated"
                );
                // The estimate loses half a bit or more with each product, except with the first
                // one by a vector.
                assert!(
                    measured < estimated + 4.0 + 2.0 * count as f64,
                    "{turns:?} {plus}: {measured:.1}, {estimated:.1}"
                );
                assert_eq!(s.decrypt(&a), y, "{turns:?} {plus}: after {count}");
            }
            assert!(count >= if t < 1 << 17 { 8 } else { 6 }, "{turns:?} {plus}: {count}");
        }
    }
}

/// Ciphertexts of other parameters are refused, and their noise budget is unknown.
#[test]
fn ciphertexts_of_other_parameters_are_refused() {
    let of_units = |units| insecure(LOG_DEGREE, 48, units, "none", 65537, &[]);
    let (s, larger) = (of_units(3), of_units(5));
    let plaintext = larger.context.encode(&[1, 2]).unwrap();
    let seeded = larger.context.encrypt(&larger.secret, &plaintext).unwrap();
    let a = seeded.expand(&larger.context);
    let mismatch = |error: BgvError| {
        assert!(matches!(error, BgvError::Rlwe(RlweError::ParameterMismatch { .. })), "{error}");
    };
    mismatch(s.context.decrypt(&s.secret, &a).unwrap_err());
    mismatch(s.context.noise_budget(&s.secret, &a).unwrap_err());
    mismatch(s.evaluator.mul(&a, &a).unwrap_err());
    assert!(a.budget_bits(&s.context).is_nan());
    assert!(catch_unwind(AssertUnwindSafe(|| seeded.expand(&s.context))).is_err());
}

/// An empty ciphertext is not a valid operand.
#[test]
fn empty_ciphertexts_are_refused() {
    let s = insecure(LOG_DEGREE, 48, 3, "none", 65537, &[1]);
    let (e, own, a) = (&s.evaluator, s.encrypt(&s.values(1)), Ciphertext::empty(&s.context));
    let p = s.context.encode(&[1, 2]).unwrap();
    let results = [
        e.add(&own, &a).map(drop),
        e.sub(&a, &own).map(drop),
        e.negate(&a).map(drop),
        e.add_plain(&a, &p).map(drop),
        e.mul_plain(&a, &p).map(drop),
        e.add_integer(&a, 2).map(drop),
        e.mul_integer(&a, 2).map(drop),
        e.mul(&a, &own).map(drop),
        e.mul_bfv(&own, &a).map(drop),
        e.square(&a).map(drop),
        e.power(&a, 3).map(drop),
        e.polynomial(&a, &Polynomial::new(65537, &[1, 0, 1]).unwrap()).map(drop),
        e.is_zero(&a).map(drop),
        e.switch_modulus(&a, a.modulus()).map(drop),
        e.reduce(&a).map(drop),
        e.rotate_rows(&a, 1).map(drop),
        e.rotate_many(&a, &[0, 1]).map(drop),
        e.exchange_rows(&a).map(drop),
        e.inner_sum(&a, 1, 2).map(drop),
        s.context.decrypt(&s.secret, &a).map(drop),
        s.context.noise_budget(&s.secret, &a).map(drop),
    ];
    for (i, result) in results.into_iter().enumerate() {
        assert!(
            matches!(result, Err(BgvError::Rlwe(RlweError::Modulus { have: 0, .. }))),
            "operation {i}: {result:?}"
        );
    }
}
