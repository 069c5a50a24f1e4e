//! Compares the modulus switch with big integers and with the paper's algorithms, for random pairs
//! of divisors of random sprouts.

use crate::common::{
    centred, coefficients, insecure, insecure_grafted, insecure_sizes, number, polynomial,
};
use hippocrene_ring::{Domain, primes::ntt_primes};
use hippocrene_rlwe::{Ciphertext, Context, Modulus, Noise, SecretDistribution, SecretKey, Sprout};
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{RngCore, SeedableRng},
};

const LOG_DEGREE: u32 = 5;

/// A sprout of one of several kinds: none, a power of two alone, odd primes alone, or both. They
/// are small or as large as possible.
fn sprout(kind: u64) -> Sprout {
    let degree = 1 << LOG_DEGREE;
    let primes = |sizes: &[u32]| {
        let mut primes = Vec::new();
        for bits in sizes {
            primes.extend(ntt_primes(*bits, degree, 1, &primes).unwrap());
        }
        primes
    };
    match kind % 7 {
        0 => Sprout::default(),
        1 => Sprout::named("sprout-60").unwrap(),
        2 => Sprout { two: 0, primes: primes(&[9, 10, 16, 16]) },
        3 => Sprout { two: 1, primes: primes(&[31, 29]) },
        4 => Sprout { two: 20, primes: primes(&[48]) },
        5 => Sprout { two: 43, primes: primes(&[11, 11, 12, 13]) },
        _ => Sprout::named("sprout-15-16-30").unwrap(),
    }
}

/// A random divisor of `PQ_max` other than 1.
fn divisor(context: &Context, rng: &mut ChaCha20Rng) -> Modulus {
    let full = context.parameters().full();
    loop {
        let words = Modulus::from_parts(u128::from(rng.next_u64()) & 0xffff, 0, 0).unwrap();
        // Every second divisor has no power of two or the largest one.
        let two = match rng.next_u32() % 4 {
            0 => 0,
            1 => full.two(),
            _ => (rng.next_u32() % (u32::from(full.two()) + 1)) as u8,
        };
        let modulus = words.lcm(Modulus::of_sprout(rng.next_u32() as u8, two)).gcd(full);
        if !modulus.is_one() {
            return modulus;
        }
    }
}

/// Values modulo `q`, and the ends of their range.
fn values(context: &Context, q: &BigInt, rng: &mut ChaCha20Rng) -> Vec<BigInt> {
    let mut values: Vec<BigInt> = (0..context.degree())
        .map(|_| {
            let mut bytes = [0; 96];
            rng.fill_bytes(&mut bytes);
            centred(&BigInt::from_signed_bytes_le(&bytes), q)
        })
        .collect();
    values[0] = BigInt::from(0);
    values[1] = centred(&(q >> 1u32), q);
    values[2] = -(q >> 1u32);
    values[3] = centred(&((q >> 1u32) - 1), q);
    values
}

fn switched(
    context: &Context,
    values: &[BigInt],
    from: Modulus,
    to: Modulus,
    t: u64,
    evaluation: bool,
) -> Vec<BigInt> {
    let mut x = polynomial(context, values, from);
    if evaluation {
        context.to_evaluation(&mut x, from);
    }
    let mut out = context.zero(Modulus::ONE, Domain::Coefficient);
    context.switch_modulus(&mut out, &x, from, to, t).unwrap();
    assert_eq!(out.domain(), x.domain());
    coefficients(context, &out, to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rounds_to_the_nearest(
        kind in 0u64..7,
        t in prop_oneof![Just(1u64), Just(65537), Just(257), Just(2), Just(1 << 16), Just(60)],
        seed: u64,
        evaluation: bool,
    ) {
        let context = insecure_grafted(LOG_DEGREE, 4, 2, 3, sprout(kind));
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (from, to) = (divisor(&context, &mut rng), divisor(&context, &mut rng));
        let (q, q_new) = (number(&context, from), number(&context, to));
        let (s, r) = (number(&context, from.without(to)), number(&context, to.without(from)));
        let shared = (2..=t).any(|d| t.is_multiple_of(d) && (&s % d).sign() == Sign::NoSign);
        if shared {
            let x = context.zero(from, Domain::Coefficient);
            let mut out = context.zero(Modulus::ONE, Domain::Coefficient);
            let error = context.switch_modulus(&mut out, &x, from, to, t).unwrap_err();
            prop_assert!(error.to_string().contains("shares a factor"));
            return Ok(());
        }
        let values = values(&context, &q, &mut rng);
        let got = switched(&context, &values, from, to, t, evaluation);
        for (x, y) in values.iter().zip(&got) {
            // |R x - S y| <= t S/2 modulo S Q', and R x - S y = 0 mod t.
            let delta = centred(&(&r * x - &s * y), &(&s * &q_new));
            let bound = (&s * t).magnitude() + ((&s * t) >> 30u32).magnitude() + 2u32;
            prop_assert!(delta.magnitude() * 2u32 <= bound, "{delta} {s}");
            // This needs Q' > t. Otherwise the multiple cannot be told from the result.
            if q_new > BigInt::from(t + 1) {
                prop_assert_eq!(&delta % t, BigInt::from(0));
            }
        }
    }

    /// Compares with GRAFT Algorithms 5 and 6 as written, one coefficient at a time. Inv-RS is
    /// exact, and RS rounds twice.
    #[test]
    fn agrees_with_the_paper(kind in 0u64..7, seed: u64, evaluation: bool) {
        let context = insecure_grafted(LOG_DEGREE, 4, 2, 3, sprout(kind));
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (from, to) = (divisor(&context, &mut rng), divisor(&context, &mut rng));
        let all = from.lcm(to);
        let q = number(&context, from);
        let values = values(&context, &q, &mut rng);

        let raised: Vec<Residues> = values
            .iter()
            .map(|x| inv_rs(&context, &Residues::of(&context, x, from), all))
            .collect();
        let got = switched(&context, &values, from, all, 1, evaluation);
        for (expected, got) in raised.iter().zip(&got) {
            prop_assert_eq!(&Residues::of(&context, got, all), expected);
        }

        let got = switched(&context, &values, from, to, 1, evaluation);
        let power = all.without(to).two();
        for (i, (x, y)) in raised.iter().zip(&got).enumerate() {
            let paper = rs(&context, x, to).value(&context);
            let difference = centred(&(paper - y), &number(&context, to));
            // The paper rounds once more if there is a power of two. The remainders of the first
            // few values are about one half.
            let most = u32::from(power > 0 || i < 4);
            prop_assert!(*difference.magnitude() <= most.into(), "{difference}");
        }
    }
}

/// An integer, as its residues modulo the limbs of a modulus.
#[derive(Debug, PartialEq)]
struct Residues {
    modulus: Modulus,
    residues: Vec<BigInt>,
}

impl Residues {
    fn of(context: &Context, x: &BigInt, modulus: Modulus) -> Self {
        let moduli = context.parameters().limb_moduli(modulus);
        Residues {
            modulus,
            residues: moduli.into_iter().map(|q| reduced(x, &BigInt::from(q))).collect(),
        }
    }

    /// The residue at a position modulo `q`, or 0 if there is none.
    fn at(&self, position: usize) -> BigInt {
        match self.modulus.contains(position) {
            true => self.residues[self.modulus.limb_of(position)].clone(),
            false => BigInt::from(0),
        }
    }

    /// The integer in `[-Q/2, Q/2)`.
    fn value(&self, context: &Context) -> BigInt {
        let q = number(context, self.modulus);
        let moduli = context.parameters().limb_moduli(self.modulus);
        let terms = self.residues.iter().zip(moduli).map(|(x, p)| {
            let p = BigInt::from(p);
            let others = &q / &p;
            &others * reduced(&(x * inverse(&others, &p)), &p)
        });
        centred(&terms.sum(), &q)
    }
}

fn reduced(x: &BigInt, q: &BigInt) -> BigInt {
    (x % q + q) % q
}

fn inverse(x: &BigInt, q: &BigInt) -> BigInt {
    x.modinv(q).expect("coprime")
}

/// Algorithm 5, to a multiple `QR` of the modulus. It first multiplies by `2^gamma`, also modulo
/// `2^(beta + gamma)`. Then it multiplies by the odd rest, with residues 0 modulo the new factors.
fn inv_rs(context: &Context, a: &Residues, to: Modulus) -> Residues {
    let r = to.without(a.modulus);
    let power = BigInt::from(1) << r.two();
    let odd = number(context, r) / &power;
    let moduli = context.parameters().limb_moduli(to);
    let residues = to.factors().zip(moduli).map(|(position, q)| {
        let q = BigInt::from(q);
        let new = match position {
            Modulus::ODD => {
                BigInt::from(context.parameters().literal().sprout.odd_product(r.odd()))
            }
            Modulus::TWO => BigInt::from(1),
            _ if r.contains(position) => q.clone(),
            _ => BigInt::from(1),
        };
        let b = reduced(&(&power * a.at(position)), &q);
        let c = reduced(&(odd.clone() * b), &q);
        // The result is 0 modulo the new primes and unchanged modulo the old ones.
        assert!((&c % &new).sign() == Sign::NoSign);
        c
    });
    Residues { modulus: to, residues: residues.collect() }
}

/// Algorithm 6, to a divisor of the modulus. It is ModDown by the odd part and then by the power of
/// two, which is shifted out.
fn rs(context: &Context, a: &Residues, to: Modulus) -> Residues {
    let r = a.modulus.without(to);
    let power = Modulus::of_sprout(0, r.two());
    let odd = r.without(power);
    let middle = a.modulus.without(odd);
    let r = number(context, odd);
    let remainder =
        if odd.is_one() { BigInt::from(0) } else { project(context, a, odd).value(context) };
    let moduli = context.parameters().limb_moduli(middle);
    let b: Vec<BigInt> = (middle.factors().zip(moduli))
        .map(|(position, q)| {
            let q = BigInt::from(q);
            reduced(&((a.at(position) - &remainder) * inverse(&r, &q)), &q)
        })
        .collect();
    let b = Residues { modulus: middle, residues: b };
    if power.is_one() {
        return b;
    }
    let gamma = number(context, power);
    let remainder = centred(&b.at(Modulus::TWO), &gamma);
    let moduli = context.parameters().limb_moduli(to);
    let c = (to.factors().zip(moduli)).map(|(position, q)| {
        let (q, difference) = (BigInt::from(q), b.at(position) - &remainder);
        match position {
            Modulus::TWO => reduced(&(difference / &gamma), &q),
            _ => reduced(&(difference * inverse(&gamma, &q)), &q),
        }
    });
    Residues { modulus: to, residues: c.collect() }
}

/// Returns the same integer modulo a divisor.
fn project(context: &Context, a: &Residues, to: Modulus) -> Residues {
    let moduli = context.parameters().limb_moduli(to);
    let residues = to.factors().zip(moduli).map(|(i, q)| reduced(&a.at(i), &BigInt::from(q)));
    Residues { modulus: to, residues: residues.collect() }
}

/// By GRAFT Theorem 3.2, the error of a rational rescale is at most `l/2 (|s|_1 + 1)`, with `l`
/// limbs in `S`. Our conversion is exact, so `l` is 1.
#[test]
fn rational_rescale_of_ciphertexts() {
    for kind in 0..7 {
        let context = insecure_grafted(8, 4, 1, 3, sprout_at_256(kind));
        let secret = SecretKey::generate(&context).unwrap();
        let top = context.parameters().top();
        let norm: BigInt = secret_coefficients(&context, &secret)
            .iter()
            .map(|s| BigInt::from(s.magnitude().clone()))
            .sum();
        let mut rng = ChaCha20Rng::seed_from_u64(kind);
        for _ in 0..10 {
            let (from, to) =
                (divisor(&context, &mut rng).gcd(top), divisor(&context, &mut rng).gcd(top));
            if from.is_one() || to.is_one() {
                continue;
            }
            let (q, q_new) = (number(&context, from), number(&context, to));
            let message = values(&context, &q, &mut rng);
            let mut message = polynomial(&context, &message, from);
            context.to_evaluation(&mut message, from);
            let ciphertext = secret.encrypt(&context, &message, from).unwrap().expand(&context);
            let mut out = hippocrene_rlwe::Ciphertext::empty(&context);
            context.switch_ciphertext_into(&mut out, &ciphertext, to).unwrap();
            let phase =
                |c, modulus| coefficients(&context, &secret.decrypt(&context, c).unwrap(), modulus);
            let s = number(&context, from.without(to));
            let r = number(&context, to.without(from));
            for (x, y) in phase(&ciphertext, from).iter().zip(phase(&out, to)) {
                // S (y - (Q'/Q) x) modulo S Q'.
                let error = centred(&(&s * y - &r * x), &(&s * &q_new));
                let bound: BigInt = &s * (&norm + 1) + (&s >> 30u32) * (&norm + 1);
                assert!(error.magnitude() * 2u32 <= *bound.magnitude(), "{kind} {from:?} {to:?}");
            }
        }
    }
}

/// Returns [`sprout`] with primes for ring degree 256.
fn sprout_at_256(kind: u64) -> Sprout {
    let small = sprout(kind);
    let mut primes = Vec::new();
    for r in &small.primes {
        let bits = (64 - r.leading_zeros()).max(14);
        primes.extend(ntt_primes(bits, 256, 1, &primes).unwrap());
    }
    Sprout { two: small.two, primes }
}

/// Returns the secret, from the decryption of `(0, 1)`.
fn secret_coefficients(context: &Context, secret: &SecretKey) -> Vec<BigInt> {
    let modulus = Modulus::of_factor(0);
    let mut one = vec![BigInt::from(0); context.degree()];
    one[0] = BigInt::from(1);
    let parts = [vec![BigInt::from(0); context.degree()], one].map(|values| {
        let mut part = polynomial(context, &values, modulus);
        context.to_evaluation(&mut part, modulus);
        part
    });
    let noise = hippocrene_rlwe::Noise::NONE;
    let ciphertext = hippocrene_rlwe::Ciphertext::from_parts(
        context,
        parts.into(),
        modulus,
        noise,
        secret.fingerprint(),
    );
    coefficients(context, &secret.decrypt(context, &ciphertext.unwrap()).unwrap(), modulus)
}

/// Switches from the maximum number of limbs.
#[test]
fn the_maximum_number_of_limbs_can_be_switched() {
    let context = insecure_grafted(LOG_DEGREE, 100, 26, 10, sprout(6));
    let (from, to) =
        (context.parameters().full(), Modulus::of_factor(3).lcm(Modulus::of_sprout(1, 2)));
    let q = number(&context, from);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let values: Vec<BigInt> = (0..context.degree())
        .map(|_| {
            let mut bytes = [0; 800];
            rng.fill_bytes(&mut bytes);
            centred(&BigInt::from_signed_bytes_le(&bytes), &q)
        })
        .collect();
    let (got, s) =
        (switched(&context, &values, from, to, 1, true), number(&context, from.without(to)));
    for (x, y) in values.iter().zip(&got) {
        let error = centred(&(x - &s * y), &q);
        assert!(error.magnitude() * 2u32 <= (&s + (&s >> 30u32)).magnitude().clone());
    }
}

#[test]
fn a_wrong_polynomial_or_plaintext_modulus_is_refused() {
    let context = insecure(5, 3, 1, 3);
    let top = context.parameters().top();
    let x = context.zero(Modulus::of_range(0..2), Domain::Evaluation);
    let mut out = context.zero(Modulus::ONE, Domain::Evaluation);
    assert!(context.switch_modulus(&mut out, &x, top, Modulus::of_range(0..1), 1).is_err());
    let x = context.zero(top, Domain::Evaluation);
    let t = context.parameters().factor(2);
    let error = context.switch_modulus(&mut out, &x, top, Modulus::of_range(0..2), t).unwrap_err();
    assert!(error.to_string().contains("shares a factor"));
}

/// If `S` is a power of two, as many of the coefficients halfway between two integers are rounded
/// up as down, except for one.
#[test]
fn ties_go_both_ways() {
    let context = insecure_grafted(LOG_DEGREE, 2, 1, 2, Sprout::named("sprout-15-16-30").unwrap());
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let full = context.parameters().full();
    for (from_two, to_two) in [(1, 0), (4, 1), (3, 0), (15, 12)] {
        let words = Modulus::of_range(0..2);
        let [from, to] = [from_two, to_two].map(|two| words.lcm(Modulus::of_sprout(0, two)));
        assert!(from.divides(full));
        let s = BigInt::from(1u32 << (from_two - to_two));
        // All of these coefficients are ties.
        let values: Vec<BigInt> = values(&context, &number(&context, to), &mut rng)
            .into_iter()
            .map(|v| (v / &s) * &s + &s / 2)
            .collect();
        let rounded = switched(&context, &values, from, to, 1, true);
        let twice = |(x, y): (&BigInt, &BigInt)| (y * &s - x) * 2 / &s;
        let ups: Vec<BigInt> = values.iter().zip(&rounded).map(twice).collect();
        assert!(ups.iter().all(|up| up.magnitude() == BigInt::from(1).magnitude()), "{ups:?}");
        assert_eq!(ups.iter().sum::<BigInt>(), BigInt::from(0), "from 2^{from_two} to 2^{to_two}");
    }
}

/// Returns a remainder modulo the product of `moduli` that is close to one half of it and whose
/// quotient is rounded to the wrong side. It is below one half if `up` is true, and above
/// otherwise.
///
/// Each residue is the one among many candidates that moves the computed sum of fractions farthest
/// in one direction.
fn steered(moduli: &[u64], up: bool, rng: &mut ChaCha20Rng) -> BigInt {
    const FIXED: f64 = (1u128 << 64) as f64;
    // The computed sum of fractions, and the exact one, in units of 2^-64.
    let (mut computed, mut exact, mut residues) = (0f64, 0i128, Vec::new());
    let [first @ .., last] = moduli else { unreachable!("there are moduli") };
    let error = |computed: f64, exact: i128| (computed * FIXED) as i128 - exact;
    let toward = |error: i128| if up { error } else { -error };
    for &q in first {
        let choose = |_| {
            let y = q - 1 - rng.next_u64() % (q >> 4);
            let sum = computed + y as f64 * (1.0 / q as f64);
            (y, sum, exact + ((u128::from(y) << 64) / u128::from(q)) as i128)
        };
        let best = (0..64).map(choose).max_by_key(|(_, sum, exact)| toward(error(*sum, *exact)));
        let (y, sum, total) = best.expect("there are candidates");
        (computed, exact) = (sum, total);
        residues.push(y);
    }
    // The last residue brings the sum to one half, except for three quarters of the error.
    let fraction = (1i128 << 63) - error(computed, exact) * 3 / 4 - exact;
    let fraction = fraction.rem_euclid(1 << 64) as u128;
    residues.push(((fraction * u128::from(*last)) >> 64) as u64);
    let product: BigInt = moduli.iter().map(|q| BigInt::from(*q)).product();
    let terms = moduli.iter().zip(residues).map(|(q, y)| &product / BigInt::from(*q) * y);
    terms.sum::<BigInt>() % product
}

/// With `l` limbs in `S`, the result is the nearest integer unless the remainder is within
/// `l (l + 7) 2^-54` of one half of `S`.
#[test]
fn many_dropped_limbs_round_to_the_nearest_outside_of_the_stated_window() {
    let sizes = [&[48; 41][..], &[60]].concat();
    let context = insecure_sizes(LOG_DEGREE, &sizes, &[60], 42, SecretDistribution::Ternary);
    let to = Modulus::of_range(0..2);
    let key = SecretKey::generate(&context).unwrap().fingerprint();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let mut beyond = 0;
    for l in 20..=40usize {
        let dropped = Modulus::of_range(42 - l..42);
        let (moduli, from) = (context.parameters().limb_moduli(dropped), dropped.lcm(to));
        let (s, q_new) = (number(&context, dropped), number(&context, to));
        let window: BigInt = (&s * (l * (l + 7))) >> 54u32;
        // Values next to the window, on both sides of its ends and of the tie, and values that are
        // rounded wrongly if any are.
        let near =
            [-32, -17, -15, -8, -1, 0, 1, 8, 15, 17, 32].map(|k| (&s >> 1u32) + &window * k / 16);
        let steered =
            (0..context.degree() - near.len()).map(|i| steered(&moduli, i % 2 == 0, &mut rng));
        let remainders: Vec<BigInt> = near.into_iter().chain(steered).collect();
        let check = |error: &BigInt, what: &str| {
            let past: BigInt = BigInt::from(error.magnitude() * 2u32) - &s;
            assert!(past <= &window * 2, "{what}: {l} limbs, {error}");
            past > &s >> 44u32
        };

        let switches =
            remainders.iter().map(|x| centred(&(x + &s * rng.next_u64()), &(&s * &q_new)));
        let values: Vec<BigInt> = switches.collect();
        for (x, y) in values.iter().zip(switched(&context, &values, from, to, 1, false)) {
            beyond += usize::from(check(&centred(&(x - &s * y), &(&s * &q_new)), "switch"));
        }

        let part = |values: &[BigInt]| {
            let mut part = polynomial(&context, values, dropped);
            context.to_evaluation(&mut part, dropped);
            part
        };
        let zero = vec![BigInt::from(0); context.degree()];
        let parts = vec![part(&remainders), part(&zero)];
        let small = Ciphertext::from_parts(&context, parts, dropped, Noise::NONE, key).unwrap();
        let mut raised = Ciphertext::empty(&context);
        context.raise_modulus_into(&mut raised, &small, from).unwrap();
        for (x, y) in remainders.iter().zip(coefficients(&context, raised.part(0), from)) {
            assert_eq!((x - &y) % &s, BigInt::from(0));
            check(&y, "raise");
        }
    }
    // With 20 limbs or more, 2^-45 is too narrow a window.
    assert!(beyond > 0);
}
