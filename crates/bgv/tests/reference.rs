//! Products compared with those of textbooks in big integers: BFV (Fan and Vercauteren, ePrint
//! 2012/144, section 4) and BGV (Brakerski, Gentry and Vaikuntanathan, ePrint 2011/277).
//!
//! The textbook is slow and obvious. Its polynomials of big integers are multiplied term by term,
//! without residues, key switches or an auxiliary modulus. The fast products must have the same
//! messages, and their errors must not be larger.

use crate::common::{Setup, insecure};
use hippocrene_bgv::{Ciphertext, Scheme};
use hippocrene_ring::{Domain, Poly, RnsBasis, arith::inv_mod};
use num_bigint::{BigInt, BigUint};
use proptest::prelude::*;

/// The coefficients of a polynomial modulo `X^N + 1`.
type Polynomial = Vec<BigInt>;

/// The product modulo `X^N + 1`, term by term.
fn product(a: &[BigInt], b: &[BigInt]) -> Polynomial {
    let n = a.len();
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            match i + j < n {
                true => out[i + j] += x * y,
                false => out[i + j - n] -= x * y,
            }
        }
    }
    out
}

fn sum(a: &[BigInt], b: &[BigInt]) -> Polynomial {
    a.iter().zip(b).map(|(x, y)| x + y).collect()
}

fn times(a: &[BigInt], factor: &BigInt) -> Polynomial {
    a.iter().map(|x| x * factor).collect()
}

/// Returns the quotient rounded to the nearest integer. Halves are rounded up.
fn rounded(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    floor(&(2 * numerator + denominator), &(2 * denominator))
}

fn floor(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    let (quotient, remainder) = (numerator / denominator, numerator % denominator);
    if remainder < BigInt::ZERO { quotient - 1 } else { quotient }
}

/// Reduces coefficients modulo `q` to representatives around zero.
fn centred(a: &[BigInt], q: &BigInt) -> Polynomial {
    a.iter().map(|x| x - q * rounded(x, q)).collect()
}

/// Returns `c0 c0', c0 c1' + c1 c0', c1 c1'`.
fn tensor(a: &[Polynomial; 2], b: &[Polynomial; 2]) -> [Polynomial; 3] {
    let cross = sum(&product(&a[0], &b[1]), &product(&a[1], &b[0]));
    [product(&a[0], &b[0]), cross, product(&a[1], &b[1])]
}

/// Returns `d0 + d1 s + d2 s^2 + ..` modulo `q`, around zero.
fn phase(parts: &[Polynomial], s: &[BigInt], q: &BigInt) -> Polynomial {
    let value = parts
        .iter()
        .rev()
        .fold(vec![BigInt::ZERO; s.len()], |value, part| sum(&product(&value, s), part));
    centred(&value, q)
}

/// The contents of a ciphertext, in big integers.
struct Textbook {
    parts: [Polynomial; 2],
    modulus: BigInt,
    secret: Polynomial,
    t: BigInt,
}

impl Textbook {
    fn of(s: &Setup, c: &Ciphertext) -> Self {
        let rlwe = s.context.rlwe();
        let basis = RnsBasis::new(&rlwe.parameters().limb_moduli(c.modulus())).unwrap();
        let whole = |part: &Poly| {
            let mut part = part.clone();
            if part.domain() == Domain::Evaluation {
                rlwe.to_coefficient(&mut part, c.modulus());
            }
            basis.compose_limbs(&part.limbs().collect::<Vec<_>>())
        };
        let [c0, c1] = c.inner().parts() else { panic!("the ciphertext has two parts") };
        Textbook {
            parts: [whole(c0), whole(c1)],
            modulus: BigInt::from(basis.product().clone()),
            secret: s.secret.coefficients(rlwe).unwrap().iter().map(|x| BigInt::from(*x)).collect(),
            t: s.t().into(),
        }
    }

    /// Returns `c0 + c1 s`.
    fn phase(&self) -> Polynomial {
        phase(&self.parts, &self.secret, &self.modulus)
    }

    /// Returns the phase of the BFV product: the tensor product of the integers times `t/Q`, with
    /// each coefficient rounded.
    fn bfv(&self, other: &Textbook) -> Polynomial {
        let scaled = tensor(&self.parts, &other.parts).map(|part| {
            part.iter().map(|x| rounded(&(x * &self.t), &self.modulus)).collect::<Polynomial>()
        });
        phase(&scaled, &self.secret, &self.modulus)
    }

    /// Returns the phase of the BGV product: the tensor product of textbook BGV ciphertexts, which
    /// are `t` times those of this crate.
    fn bgv(&self, other: &Textbook) -> Polynomial {
        let [a, b] = [self, other].map(|c| c.parts.each_ref().map(|part| times(part, &c.t)));
        phase(&tensor(&a, &b), &self.secret, &self.modulus)
    }

    /// Returns the message of a BFV phase `(Q/t) m + e`, and its largest error.
    fn read_bfv(&self, phase: &[BigInt]) -> (Vec<u64>, BigUint) {
        let messages = phase.iter().map(|x| rounded(&(x * &self.t), &self.modulus));
        let off = phase
            .iter()
            .zip(messages.clone())
            .map(|(x, m)| (x * &self.t - m * &self.modulus) / &self.t);
        let largest = off.map(|e| e.magnitude().clone()).max();
        (messages.map(|m| self.residue(&m)).collect(), largest.unwrap_or_default())
    }

    /// Returns the message of a BGV phase `m + t e`.
    fn read_bgv(&self, phase: &[BigInt]) -> Vec<u64> {
        phase.iter().map(|x| self.residue(x)).collect()
    }

    /// Reduces an integer to `[0, t)`.
    fn residue(&self, x: &BigInt) -> u64 {
        u64::try_from(x - &self.t * floor(x, &self.t)).unwrap()
    }

    /// Returns `-Q` modulo `t`.
    fn minus_modulus(&self) -> u64 {
        self.residue(&-&self.modulus)
    }
}

/// Divides each coefficient by the unit `factor` modulo `t`.
fn without(messages: &[u64], factor: u64, t: u64) -> Vec<u64> {
    let inverse = u128::from(inv_mod(factor, t).expect("a unit"));
    messages.iter().map(|m| (u128::from(*m) * inverse % u128::from(t)) as u64).collect()
}

fn times_mod(a: u64, b: u64, t: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(t)) as u64
}

fn log2(x: &BigUint) -> f64 {
    hippocrene_ring::basis::log2(x).max(0.0)
}

/// Chains of ring degree 32 with plaintext moduli, with slots and without. One modulus is close to
/// the largest that fits.
fn chains() -> impl Strategy<Value = (&'static str, u64)> {
    (
        prop::sample::select(vec!["none", "sprout-15-16-32"]),
        prop::sample::select(vec![2, 1000, 193, 65537, 786_433, (1 << 40) + 15]),
    )
}

fn encrypted(s: &Setup, values: &[u64]) -> Ciphertext {
    let values: Vec<i64> = values.iter().map(|v| (*v % s.t()) as i64).collect();
    let plaintext = s.context.encoder().encode_coefficients(&values).unwrap();
    s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context)
}

fn decrypted(s: &Setup, c: &Ciphertext) -> Vec<u64> {
    s.context.encoder().decode_coefficients(&s.context.decrypt(&s.secret, c).unwrap()).unwrap()
}

/// Returns the product of both messages, modulo `X^N + 1` and `t`.
fn expected(a: &[u64], b: &[u64], t: u64) -> Vec<u64> {
    let [a, b] = [a, b].map(|v| v.iter().map(|x| BigInt::from(*x % t)).collect::<Polynomial>());
    let t = BigInt::from(t);
    product(&a, &b).iter().map(|x| u64::try_from(x - &t * floor(x, &t)).unwrap()).collect()
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..1u64 << 61, 32)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Full-RNS products have the messages of textbook products. The errors of both are within the
    /// estimate.
    #[test]
    fn products_of_bfv_are_those_of_the_textbook(
        (sprout, t) in chains(),
        x in values(),
        y in values(),
    ) {
        let s = insecure(5, 48, 5, sprout, t, &[]);
        let e = s.evaluator.clone().with_scheme(Scheme::Bfv);
        let (a, b) = (encrypted(&s, &x), encrypted(&s, &y));
        // Fresh ciphertexts, and a product.
        let once = e.mul(&a, &b).unwrap();
        let xy = expected(&x, &y, t);
        for (left, right, want) in
            [(&a, &b, &xy), (&a, &a, &expected(&x, &x, t)), (&once, &once, &expected(&xy, &xy, t))]
        {
            let fast = e.mul(left, right).unwrap();
            let [one, other] = [left, right].map(|c| Textbook::of(&s, c));
            let factor = times_mod(left.factor(), right.factor(), t);
            let (messages, error) = one.read_bfv(&one.bfv(&other));
            prop_assert_eq!(&without(&messages, factor, t), want);
            prop_assert_eq!(&decrypted(&s, &fast), want);
            let result = Textbook::of(&s, &fast);
            let (messages, fast_error) = result.read_bfv(&result.phase());
            prop_assert_eq!(&without(&messages, fast.factor(), t), want);
            // Both errors and the estimate are relative to the modulus.
            let relative =
                |error: &BigUint, modulus: &BigInt| log2(error) - log2(modulus.magnitude());
            let estimated =
                fast.inner().noise().log2_std() + 11f64.log2() - log2(result.modulus.magnitude());
            for error in [relative(&error, &one.modulus), relative(&fast_error, &result.modulus)] {
                prop_assert!(
                    error <= estimated,
                    "error 2^{} of the modulus, estimate 2^{}",
                    error,
                    estimated
                );
            }
        }
    }

    /// The same for BGV products, with factors that were reduced before.
    #[test]
    fn products_of_bgv_are_those_of_the_textbook(
        (sprout, t) in chains(),
        x in values(),
        y in values(),
    ) {
        let s = insecure(5, 48, 5, sprout, t, &[]);
        let e = &s.evaluator;
        let (a, b) = (encrypted(&s, &x), encrypted(&s, &y));
        let once = e.mul(&a, &b).unwrap();
        let xy = expected(&x, &y, t);
        for (left, right, want) in
            [(&a, &b, &xy), (&a, &a, &expected(&x, &x, t)), (&once, &once, &expected(&xy, &xy, t))]
        {
            let fast = e.mul(left, right).unwrap();
            let [left, right] = [left, right].map(|c| e.reduce(c).unwrap());
            let [one, other] = [&left, &right].map(|c| Textbook::of(&s, c));
            // The factor is (-Q g) (-Q g').
            let factor = times_mod(left.factor(), right.factor(), t);
            let factor = [one.minus_modulus(), other.minus_modulus()]
                .iter()
                .fold(factor, |f, q| times_mod(f, *q, t));
            prop_assert_eq!(&without(&one.read_bgv(&one.bgv(&other)), factor, t), want);
            prop_assert_eq!(&decrypted(&s, &fast), want);
            // `t` times the result is a textbook ciphertext too.
            let result = Textbook::of(&s, &fast);
            let parts = result.parts.each_ref().map(|part| times(part, &result.t));
            let messages = result.read_bgv(&phase(&parts, &result.secret, &result.modulus));
            prop_assert_eq!(
                &without(&messages, times_mod(result.minus_modulus(), fast.factor(), t), t),
                want
            );
        }
    }
}
