//! Key switching at moduli with a sprout. At and to every kind of divisor, messages are exact and
//! noise is within a factor of 1.5 of the formula. Algorithm 4 of GRAFT is implemented as written,
//! for comparison. Any number of threads gives the same bits.

use crate::common::{
    centred, coefficients, insecure_grafted, insecure_threads, log2_std, number, polynomial,
};
use hippocrene_ring::{
    Domain, Poly, Threads,
    automorphism::{Automorphism, galois_element_of_conjugation, galois_element_of_rotation},
    primes::ntt_primes,
    sample::{Sampler, Seed},
};
use hippocrene_rlwe::{
    Ciphertext, Context, Destination, EvaluationKeys, Modulus, Noise, PreparedEvaluationKeys,
    SIGMA, SecretKey, Sprout, expand_uniform, noise,
};
use num_bigint::BigInt;

const LOG_DEGREE: u32 = 10;

/// Sprouts of all kinds, at ring degree `2^10`.
fn sprouts() -> Vec<Sprout> {
    let primes = |sizes: &[u32]| {
        let mut primes = Vec::new();
        for bits in sizes {
            primes.extend(ntt_primes(*bits, 1 << LOG_DEGREE, 1, &primes).unwrap());
        }
        primes
    };
    vec![
        Sprout { two: 15, primes: primes(&[16, 17]) },
        Sprout { two: 8, primes: primes(&[40]) },
        Sprout { two: 0, primes: primes(&[16, 32]) },
        Sprout::named("sprout-60").unwrap(),
    ]
}

/// Moduli of at least `bits` bits, with every kind of divisor of the sprout and several numbers of
/// units.
fn moduli(context: &Context, bits: f64) -> Vec<Modulus> {
    let sprout = context.parameters().top().sprout();
    let mut powers = vec![0, 1.min(sprout.two()), sprout.two() / 2, sprout.two()];
    powers.dedup();
    let odds = 0..=sprout.odd();
    let sprouts = odds.flat_map(|odd| powers.iter().map(move |two| Modulus::of_sprout(odd, *two)));
    let all = sprouts.flat_map(|r| [0, 1, 2, 5].map(|l| Modulus::of_range(0..l).lcm(r)));
    all.filter(|m| context.parameters().log2(*m) >= bits).collect()
}

/// Uniform coefficients in `[-2^bits, 2^bits)`.
fn message(context: &Context, bits: f64, seed: u8) -> Vec<BigInt> {
    let bits = bits as u32;
    let (high, low) = (bits.saturating_sub(40), bits.min(40));
    let mut words = vec![0; context.degree()];
    Sampler::new(&Seed::from_bytes([seed; 32]), 0).uniform(2 << low, &mut words);
    words.into_iter().map(|w| (BigInt::from(w) - (BigInt::from(1) << low)) << high).collect()
}

fn encrypt(
    context: &Context,
    secret: &SecretKey,
    values: &[BigInt],
    modulus: Modulus,
) -> Ciphertext {
    let mut poly = polynomial(context, values, modulus);
    context.to_evaluation(&mut poly, modulus);
    secret.encrypt(context, &poly, modulus).unwrap().expand(context)
}

/// Returns log2 of the standard deviation of the error of a ciphertext that should hold `expected`.
fn error(
    context: &Context,
    secret: &SecretKey,
    ciphertext: &Ciphertext,
    expected: &[BigInt],
) -> f64 {
    let modulus = ciphertext.modulus();
    let q = number(context, modulus);
    let got = coefficients(context, &secret.decrypt(context, ciphertext).unwrap(), modulus);
    let errors: Vec<BigInt> =
        got.iter().zip(expected).map(|(g, e)| centred(&(g - e), &q)).collect();
    log2_std(&errors)
}

fn check(
    context: &Context,
    secret: &SecretKey,
    ciphertext: &Ciphertext,
    expected: &[BigInt],
    what: &dyn std::fmt::Display,
) {
    let (measured, estimated) =
        (error(context, secret, ciphertext, expected), ciphertext.noise().log2_std());
    assert!(
        (measured - estimated).abs() < 1.5f64.log2(),
        "{what}, modulo {:?}: measured 2^{measured:.2}, estimated 2^{estimated:.2}",
        ciphertext.modulus()
    );
}

fn keys(context: &Context, secret: &SecretKey, rotations: &[i64]) -> PreparedEvaluationKeys {
    let mut keys = EvaluationKeys::empty(context, secret.fingerprint());
    keys.add_relinearisation(context, secret).unwrap();
    keys.add_rotations(context, secret, rotations.iter().copied()).unwrap();
    keys.add_conjugation(context, secret).unwrap();
    keys.prepare(context).unwrap()
}

fn substitute(context: &Context, x: &[BigInt], element: usize) -> Vec<BigInt> {
    let automorphism = Automorphism::new(context.degree(), element).unwrap();
    let modulus = context.parameters().top();
    let (mut out, poly) =
        (context.zero(modulus, Domain::Coefficient), polynomial(context, x, modulus));
    for (k, q) in context.parameters().limb_moduli(modulus).into_iter().enumerate() {
        automorphism.apply_coefficient(q, out.limb_mut(k), poly.limb(k));
    }
    coefficients(context, &out, modulus)
}

#[test]
fn rotations_at_every_kind_of_modulus() {
    for (i, sprout) in sprouts().into_iter().enumerate() {
        for (specials, rank) in [(1, 6), (2, 3), (5, 1)] {
            let context = insecure_grafted(LOG_DEGREE, 5, specials, rank, sprout.clone());
            let secret = SecretKey::generate(&context).unwrap();
            let keys = keys(&context, &secret, &[1]);
            for modulus in moduli(&context, 20.0) {
                let x = message(&context, context.parameters().log2(modulus) - 2.0, 3);
                let a = encrypt(&context, &secret, &x, modulus);
                check(&context, &secret, &a, &x, &format_args!("encrypt, sprout {i}"));
                let hoisted = context.hoist(&a).unwrap();
                let degree = context.degree();
                for element in
                    [galois_element_of_rotation(degree, 1), galois_element_of_conjugation(degree)]
                {
                    let (mut out, mut again) =
                        (Ciphertext::empty(&context), Ciphertext::empty(&context));
                    context.apply_galois_into(&mut out, &a, element, &keys).unwrap();
                    context
                        .apply_galois_hoisted_into(&mut again, &a, &hoisted, element, &keys)
                        .unwrap();
                    assert_eq!(out, again);
                    let expected = substitute(&context, &x, element);
                    check(
                        &context,
                        &secret,
                        &out,
                        &expected,
                        &format_args!("rotate, sprout {i}, rank {rank}"),
                    );
                }
            }
        }
    }
}

/// The result of a rotation can have any other modulus.
#[test]
fn rotations_rescaled_rationally() {
    for (i, sprout) in sprouts().into_iter().enumerate() {
        let context = insecure_grafted(LOG_DEGREE, 5, 2, 3, sprout);
        let parameters = context.parameters();
        let secret = SecretKey::generate(&context).unwrap();
        let element = galois_element_of_rotation(context.degree(), 1);
        let (keys, automorphism) =
            (keys(&context, &secret, &[1]), context.automorphism(element).unwrap());
        let all = moduli(&context, 24.0);
        for (n, from) in all.iter().copied().enumerate() {
            let x = message(&context, parameters.log2(from) - 4.0, 3);
            let a = encrypt(&context, &secret, &x, from);
            let decomposed = context.decompose(a.part(1), from).unwrap();
            let x = substitute(&context, &x, element);
            for to in all.iter().copied().skip(n % 7).step_by(7) {
                let mut parts = [0, 1].map(|_| context.zero(to, Domain::Evaluation));
                let [c0, c1] = &mut parts;
                let (key, added) = (keys.galois(element).unwrap(), [Some(a.part(0)), None]);
                let destination =
                    Destination { automorphism: Some(&automorphism), ..Destination::new(to) };
                context.switch_keys_into([c0, c1], &decomposed, key, added, &destination).unwrap();
                let noise = a.noise().scaled(parameters.log2(to) - parameters.log2(from));
                let noise = noise.plus(context.key_switch_noise(from, to).unwrap());
                let out =
                    Ciphertext::from_parts(&context, parts.into(), to, noise, a.key()).unwrap();
                let (q, q_new) = (number(&context, from), number(&context, to));
                let expected: Vec<BigInt> =
                    x.iter().map(|x| (x * &q_new + (&q >> 1u32)) / &q).collect();
                check(
                    &context,
                    &secret,
                    &out,
                    &expected,
                    &format_args!("rotate, sprout {i}, from {from:?}"),
                );
            }
        }
    }
}

/// Products go from every kind of modulus to every kind, in one switch.
#[test]
fn products_relinearised_and_rescaled_rationally() {
    for (i, sprout) in sprouts().into_iter().enumerate() {
        let context = insecure_grafted(LOG_DEGREE, 5, 2, 3, sprout);
        let parameters = context.parameters();
        let secret = SecretKey::generate(&context).unwrap();
        let keys = keys(&context, &secret, &[]);
        let all = moduli(&context, 24.0);
        for (n, from) in all.iter().copied().enumerate() {
            // One coefficient times a polynomial, so that the product is simple.
            let bits = parameters.log2(from) - 4.0;
            let mut x = vec![BigInt::from(0); context.degree()];
            x[0] = (BigInt::from(1) << (bits / 2.0) as u32) + 1;
            let y = message(&context, bits / 2.0, 4);
            let (a, b) =
                (encrypt(&context, &secret, &x, from), encrypt(&context, &secret, &y, from));
            // The error is x e_b + y e_a + e_a e_b.
            let noise = b.noise().scaled(bits / 2.0);
            let noise = noise.plus(a.noise().times_polynomial(context.degree(), log2_std(&y)));
            let noise =
                noise.plus(a.noise().times_polynomial(context.degree(), b.noise().log2_std()));
            if noise.log2_std() > parameters.log2(from) - 4.0 {
                continue;
            }
            for to in all.iter().copied().skip(n % 3).step_by(3) {
                let mut out = Ciphertext::empty(&context);
                context.multiply_into(&mut out, &a, &b, 1, &keys, to).unwrap();
                out.set_noise(
                    out.noise().plus(noise.scaled(parameters.log2(to) - parameters.log2(from))),
                );
                let (q, q_new) = (number(&context, from), number(&context, to));
                let expected: Vec<BigInt> =
                    y.iter().map(|y| (y * &x[0] * &q_new + (&q >> 1u32)) / &q).collect();
                check(
                    &context,
                    &secret,
                    &out,
                    &expected,
                    &format_args!("multiply, sprout {i}, from {from:?}"),
                );
            }
        }
    }
}

/// GRAFT Algorithm 4 as written: Inv-RS to whole blocks, ModUp, the inner product, and RS. Our
/// implementation leaves out the first step.
#[test]
fn agrees_with_the_paper() {
    for (i, sprout) in sprouts().into_iter().enumerate() {
        let context = insecure_grafted(LOG_DEGREE, 5, 2, 3, sprout);
        let parameters = context.parameters();
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        keys.add_relinearisation(&context, &secret).unwrap();
        let prepared = keys.prepare(&context).unwrap();
        let key = keys.relinearisation().unwrap();
        for modulus in moduli(&context, 20.0) {
            let c = expand_uniform(&context, &Seed::from_bytes([7; 32]), 0, modulus);
            let zero = || context.zero(modulus, Domain::Evaluation);
            let of = |parts: Vec<Poly>, noise| {
                Ciphertext::from_parts(&context, parts, modulus, noise, secret.fingerprint())
                    .unwrap()
            };
            let three = of(vec![zero(), zero(), c.clone()], Noise::NONE);
            let expected = secret.decrypt(&context, &three).unwrap();
            let expected = coefficients(&context, &expected, modulus);
            let mut ours = Ciphertext::empty(&context);
            context.relinearise_into(&mut ours, &three, &prepared, modulus).unwrap();
            check(&context, &secret, &ours, &expected, &format_args!("ours, sprout {i}"));

            // Step 1: the modulus of whole blocks.
            let blocks: Vec<(usize, Modulus)> = parameters
                .digits(parameters.top())
                .filter(|(_, block)| !block.gcd(modulus).is_one())
                .collect();
            let inter = blocks.iter().fold(Modulus::ONE, |all, (_, block)| all.lcm(*block));
            let mut raised = context.zero(inter, Domain::Evaluation);
            context.switch_modulus(&mut raised, &c, modulus, inter, 1).unwrap();
            let raised = coefficients(&context, &raised, inter);
            // Steps 2 and 3.
            let (extended, full) = (inter.lcm(parameters.specials()), parameters.full());
            let mut sums = [0, 1].map(|_| context.zero(extended, Domain::Evaluation));
            for (d, block) in &blocks {
                let q = number(&context, *block);
                let digit: Vec<BigInt> = raised.iter().map(|x| centred(x, &q)).collect();
                let mut digit = polynomial(&context, &digit, extended);
                context.to_evaluation(&mut digit, extended);
                let a = expand_uniform(&context, key.seed(), *d as u32, full);
                for (sum, key) in sums.iter_mut().zip([&key.b()[*d], &a]) {
                    for (k, position) in extended.factors().enumerate() {
                        let key = key.limb(full.limb_of(position));
                        let ring = context.limb_ring(extended, k);
                        ring.mul_add_assign(sum.limb_mut(k), digit.limb(k), key);
                    }
                }
            }
            // Step 4.
            let parts = sums.iter().map(|sum| {
                let mut out = zero();
                context.switch_modulus(&mut out, sum, extended, modulus, 1).unwrap();
                out
            });
            let digits = blocks.iter().map(|(_, block)| parameters.log2(*block));
            let product = noise::inner_product(context.degree(), SIGMA, digits);
            let product = product.scaled(parameters.log2(modulus) - parameters.log2(extended));
            let paper =
                of(parts.collect(), product.plus(noise::rounding(parameters.secret_weight(), 2)));
            check(&context, &secret, &paper, &expected, &format_args!("the paper, sprout {i}"));
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for sprout in sprouts() {
        let all = [1, 2].map(|threads| {
            let threads = Threads::new(threads).unwrap();
            insecure_threads(LOG_DEGREE, 5, 2, 3, sprout.clone(), threads)
        });
        let secret = SecretKey::from_seed(&all[0], Seed::from_bytes([1; 32])).unwrap();
        let keys = keys(&all[0], &secret, &[1]);
        let element = galois_element_of_rotation(all[0].degree(), 1);
        let moduli = moduli(&all[0], 60.0);
        for (from, to) in moduli.iter().zip(moduli.iter().rev()) {
            let x = message(&all[0], 20.0, 5);
            let a = encrypt(&all[0], &secret, &x, *from);
            let results = [0, 1].map(|i| {
                let context = &all[i];
                let mut outs = [0; 4].map(|_| Ciphertext::empty(context));
                context.multiply_into(&mut outs[0], &a, &a, 1, &keys, *to).unwrap();
                context.apply_galois_into(&mut outs[1], &a, element, &keys).unwrap();
                let hoisted = context.hoist(&a).unwrap();
                context
                    .apply_galois_hoisted_into(&mut outs[2], &a, &hoisted, element, &keys)
                    .unwrap();
                context.switch_ciphertext_into(&mut outs[3], &a, *to).unwrap();
                outs
            });
            assert_eq!(results[0], results[1]);
        }
    }
}
