//! Tests of multi-precision encoding and decoding against the definition, computed with the
//! library's numbers.

use dashu_float::{Context, round::mode::HalfEven};
use hippocrene_ring::{Domain, Kernel, Poly, ResidueRing, RnsBasis, primes};
use num_bigint::{BigInt, Sign};
use num_complex::Complex;
use proptest::prelude::*;

use super::super::{EncodeError, Encoder, IntegerPolynomial, Rounding, roots::power_of_five};
use crate::{BigFloat, Scale, big_float::Inner};

/// Precision of the reference in bits.
const BITS: usize = 800;

fn float(x: &BigFloat) -> Inner {
    x.clone().into_inner().with_precision(BITS).value()
}

fn integer(x: &BigInt) -> Inner {
    Inner::from_parts(dashu_int::IBig::from_le_bytes(&x.to_signed_bytes_le()), 0)
        .with_precision(BITS)
        .value()
}

fn power_of_two(exponent: i64) -> Inner {
    Inner::from_parts(1.into(), exponent as isize).with_precision(BITS).value()
}

fn of_scale(scale: Scale) -> Inner {
    let (mantissa, exponent) = scale.to_parts();
    Inner::from_parts(mantissa.into(), exponent as isize).with_precision(BITS).value()
}

type Pair = (Inner, Inner);

fn product(a: &Pair, b: &Pair) -> Pair {
    (&a.0 * &b.0 - &a.1 * &b.1, &a.0 * &b.1 + &a.1 * &b.0)
}

/// Returns `exp(2 pi i t / order)` for all `t`. The first one comes from the library's cosine and
/// sine.
fn circle(order: usize) -> Vec<Pair> {
    let pi: Inner = Context::<HalfEven>::new(BITS).pi(None).value();
    let angle = pi * Inner::from(2) / Inner::from(order);
    let step = (angle.clone().cos(), angle.sin());
    let one = (power_of_two(0), Inner::ZERO.with_precision(BITS).value());
    std::iter::successors(Some(one), |last| Some(product(last, &step))).take(order).collect()
}

/// Returns slot `j` of the polynomial `sum_k (c_k + i c_(k+n)) ..` by definition: `p(xi^(5^j))`.
fn slot(circle: &[Pair], c: &[Pair], j: usize) -> Pair {
    let order = circle.len();
    let power = power_of_five(j, order);
    let mut sum = (Inner::ZERO, Inner::ZERO);
    for (k, c) in c.iter().enumerate() {
        let term = product(c, &circle[power * k % order]);
        sum = (sum.0 + term.0, sum.1 + term.1);
    }
    sum
}

/// Returns coefficients `k` and `k + n` of the polynomial with slots `z`: the inverse of [`slot`].
fn coefficient(circle: &[Pair], z: &[Pair], k: usize) -> Pair {
    let order = circle.len();
    let mut sum = (Inner::ZERO, Inner::ZERO);
    for (j, z) in z.iter().enumerate() {
        let term = product(z, &circle[(order - power_of_five(j, order) * k % order) % order]);
        sum = (sum.0 + term.0, sum.1 + term.1);
    }
    let n = Inner::from(z.len());
    (sum.0 / &n, sum.1 / n)
}

/// Returns repeatable numbers of 400 bits in `(-size, size)`.
fn noise(count: usize, seed: u64, size: f64) -> Vec<BigFloat> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    let size = Inner::try_from(size).unwrap();
    (0..count)
        .map(|_| {
            let sign = if word() % 2 == 0 { Sign::Plus } else { Sign::Minus };
            let unit =
                BigFloat::from_parts(&BigInt::new(sign, (0..13).map(|_| word()).collect()), -416)
                    .unwrap();
            BigFloat::try_from(unit.into_inner() * &size).unwrap()
        })
        .collect()
}

fn complex_noise(count: usize, seed: u64, size: f64) -> Vec<Complex<BigFloat>> {
    let (re, im) = (noise(count, seed, size), noise(count, seed + 1000, size));
    re.into_iter().zip(im).map(|(re, im)| Complex { re, im }).collect()
}

/// Returns the integers of a polynomial.
fn integers(p: &IntegerPolynomial) -> Vec<BigInt> {
    let mut out = vec![BigInt::ZERO; p.coefficients().len()];
    for digits in p.digits().rev() {
        for (out, &digit) in out.iter_mut().zip(digits) {
            assert!(digit.unsigned_abs() < 1 << 62);
            *out = (&*out << 62) + digit;
        }
    }
    out.into_iter().map(|x| x << p.shift()).collect()
}

fn rings(degree: usize, bits: &[u32], kernel: Kernel) -> Vec<ResidueRing> {
    let mut moduli = Vec::new();
    for &bits in bits {
        moduli.extend(primes::ntt_primes(bits, degree, 1, &moduli).unwrap());
    }
    moduli.into_iter().map(|q| ResidueRing::prime(q, degree, kernel).unwrap()).collect()
}

/// Returns the polynomial with these coefficients in every ring, in the coefficient domain.
fn poly_of(coefficients: &[BigInt], rings: &[ResidueRing]) -> Poly {
    let basis = RnsBasis::new(&rings.iter().map(ResidueRing::modulus).collect::<Vec<_>>()).unwrap();
    let mut poly = Poly::zero(coefficients.len(), rings.len(), Domain::Coefficient);
    let mut residues = vec![0; rings.len()];
    for (k, c) in coefficients.iter().enumerate() {
        basis.decompose(c, &mut residues);
        for (i, &residue) in residues.iter().enumerate() {
            poly.limb_mut(i)[k] = residue;
        }
    }
    poly
}

/// Returns some indices in `0..n` to check, or all of them if there are few.
fn some(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by((n / 8).max(1)).map(move |i| (i + 5 * i / n.max(8)) % n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn plaintexts_are_exact_to_the_unit(
        log_degree in 4u32..=13,
        fewer in 0u32..=12,
        mantissa in any::<u128>(),
        scale_bits in 1i32..270,
        size_bits in -20i32..20,
        seed in 0u64..1000,
    ) {
        let degree = 1usize << log_degree;
        let slots = (degree / 2) >> fewer.min(log_degree - 1);
        let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
        let scale = Scale::from_parts(mantissa | 1 << 127, scale_bits - 127).unwrap();
        let values = complex_noise(slots, seed, f64::from(size_bits).exp2());
        let mut out = IntegerPolynomial::zero(degree);
        encoder
            .quantise_big_complex(&values, slots, scale, Rounding::Nearest, 400.0, &mut out)
            .unwrap();
        let (have, gap) = (integers(&out), degree / (2 * slots));
        for (k, c) in have.iter().enumerate() {
            prop_assert!(k % gap == 0 || *c == BigInt::ZERO);
        }
        let circle = circle(4 * slots);
        let z: Vec<Pair> = values.iter().map(|z| (float(&z.re), float(&z.im))).collect();
        for k in some(slots) {
            let want = coefficient(&circle, &z, k);
            for (have, want) in [(&have[k * gap], want.0), (&have[(k + slots) * gap], want.1)] {
                let error = (integer(have) - want * of_scale(scale)).to_f64().value().abs();
                // Numbers wider than the widest format have an error of 2^-290 n of the largest.
                let bound = 0.5
                    + 2f64.powi(-8)
                    + (f64::from(scale_bits + 1 + size_bits - 290)).exp2() * slots as f64;
                prop_assert!(
                    error <= bound,
                    "coefficient {} of {} has an error of {}",
                    k,
                    2 * slots,
                    error
                );
            }
        }
    }

    #[test]
    fn decoded_values_are_exact_beyond_the_plaintext(
        log_degree in 4u32..=13,
        fewer in 0u32..=12,
        mantissa in any::<u128>(),
        scale_bits in 1i32..270,
        extra in 0i32..30,
        seed in 0u64..1000,
        kernel in 0usize..8,
    ) {
        let degree = 1usize << log_degree;
        let slots = (degree / 2) >> fewer.min(log_degree - 1);
        let kernel = Kernel::supported().nth(kernel % Kernel::supported().count()).unwrap();
        let encoder = Encoder::new(degree, kernel).unwrap();
        let rings = rings(degree, &[50, 48, 61, 41, 41, 40, 60, 50], kernel);
        let scale = Scale::from_parts(mantissa | 1 << 127, scale_bits - 127).unwrap();
        let gap = degree / (2 * slots);
        let mut coefficients = vec![BigInt::ZERO; degree];
        let size = f64::from(scale_bits + extra).exp2();
        for (c, x) in coefficients.iter_mut().step_by(gap).zip(noise(2 * slots, seed, 1.0)) {
            *c = BigFloat::try_from(x.into_inner() * Inner::try_from(size).unwrap())
                .unwrap()
                .scaled(Scale::power_of_two(0))
                .unwrap();
        }
        let poly = poly_of(&coefficients, &rings);
        let have = encoder.decode_big_complex(&poly, &rings, scale, None, slots).unwrap();
        let real = encoder
            .decode_big_real(&poly, &rings, scale, Some(f64::from(scale_bits + 10)), slots)
            .unwrap();
        prop_assert!(have.iter().map(|z| &z.re).eq(&real));

        let circle = circle(4 * slots);
        let c: Vec<Pair> = (0..slots)
            .map(|k| (integer(&coefficients[k * gap]), integer(&coefficients[(k + slots) * gap])))
            .collect();
        let bound =
            2f64.powi(-8) + (f64::from(scale_bits + extra - 300)).exp2() * (slots as f64).powi(2);
        for j in some(slots) {
            let want = slot(&circle, &c, j);
            for (have, want) in [(&have[j].re, want.0), (&have[j].im, want.1)] {
                let error = (float(have) * of_scale(scale) - want).to_f64().value().abs();
                prop_assert!(error <= bound, "slot {} of {} has an error of {}", j, slots, error);
            }
        }
    }
}

#[test]
fn words_are_enough_where_their_number_changes() {
    // Tests scales at which two, three and four words of 64 bits are just enough, and slightly
    // larger ones.
    let (degree, slots) = (64, 32);
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[60, 60, 60, 60, 60, 60], Kernel::Portable);
    let circle = circle(4 * slots);
    for bits in [2, 3, 4].into_iter().flat_map(|words| 64 * words - 40..64 * words) {
        let values = complex_noise(slots, bits as u64, 1.0);
        let scale = Scale::power_of_two(bits);
        let mut out = IntegerPolynomial::zero(degree);
        encoder
            .quantise_big_complex(&values, slots, scale, Rounding::Nearest, 400.0, &mut out)
            .unwrap();
        let coefficients = integers(&out);
        let z: Vec<Pair> = values.iter().map(|z| (float(&z.re), float(&z.im))).collect();
        for k in 0..slots {
            let want = coefficient(&circle, &z, k);
            for (have, want) in [(&coefficients[k], want.0), (&coefficients[k + slots], want.1)] {
                let error = (integer(have) - want * of_scale(scale)).to_f64().value().abs();
                assert!(
                    error <= 0.5 + 2f64.powi(-8),
                    "coefficient {k} at 2^{bits} has an error of {error}"
                );
            }
        }

        let poly = poly_of(&coefficients, &rings);
        let have = encoder.decode_big_complex(&poly, &rings, scale, None, slots).unwrap();
        let c: Vec<Pair> = (0..slots)
            .map(|k| (integer(&coefficients[k]), integer(&coefficients[k + slots])))
            .collect();
        for (j, have) in have.iter().enumerate() {
            let want = slot(&circle, &c, j);
            for (have, want) in [(&have.re, want.0), (&have.im, want.1)] {
                let error = (float(have) * of_scale(scale) - want).to_f64().value().abs();
                assert!(error <= 2f64.powi(-8), "slot {j} at 2^{bits} has an error of {error}");
            }
        }
    }
}

#[test]
fn round_trips_grow_with_the_scale() {
    let (degree, slots) = (1 << 10, 1 << 9);
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[50, 48, 48, 48], Kernel::Portable);
    let values = complex_noise(slots, 3, 1.0);
    for bits in [20, 40, 60, 80, 100, 120, 140, 160] {
        let scale = Scale::power_of_two(bits);
        let mut integers = IntegerPolynomial::zero(degree);
        encoder
            .quantise_big_complex(&values, slots, scale, Rounding::Nearest, 190.0, &mut integers)
            .unwrap();
        let mut poly = Poly::zero(degree, rings.len(), Domain::Evaluation);
        for (ring, limb) in rings.iter().zip(poly.limbs_mut()) {
            encoder.reduce(&integers, ring, limb).unwrap();
        }
        let have = encoder.decode_big_complex(&poly, &rings, scale, None, slots).unwrap();
        let worst = have
            .iter()
            .zip(&values)
            .flat_map(|(have, want)| {
                [float(&have.re) - float(&want.re), float(&have.im) - float(&want.im)]
            })
            .map(|error| error.to_f64().value().abs().log2())
            .fold(f64::NEG_INFINITY, f64::max);
        // The rounding of 1024 coefficients has a standard deviation of sqrt(512/12), and the error
        // is at most five of these.
        assert!(
            (-f64::from(bits)..5.1 - f64::from(bits)).contains(&worst),
            "2^{worst:.2} at 2^{bits}"
        );

        // The transform of f64 agrees within its precision.
        let mut real = vec![0.0; slots];
        encoder.decode_real(&poly, &rings, scale.to_f64(), None, &mut real).unwrap();
        for (have, want) in real.iter().zip(&have) {
            assert!((have - want.re.to_f64()).abs() < 1e-14);
        }
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let degree = 64;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let mut out = IntegerPolynomial::zero(degree);
    let mut encode = |values: &[BigFloat], slots, bits, modulus_bits| {
        encoder.quantise_big_real(
            values,
            slots,
            Scale::power_of_two(bits),
            Rounding::Nearest,
            modulus_bits,
            &mut out,
        )
    };
    let (three, five) = (BigFloat::from(-3), BigFloat::from(-5));
    assert_eq!(encode(&[three.clone(), three.clone(), three.clone(), three], 4, 77, 80.0), Ok(()));
    let error =
        encode(&[five.clone(), five.clone(), five.clone(), five.clone()], 4, 77, 80.0).unwrap_err();
    assert!(
        matches!(
            error,
            EncodeError::TooLarge { scale_bits: 77.0, needed_bits: 81.0, modulus_bits: 80.0 }
        ),
        "{error}"
    );
    assert_eq!(
        encode(&vec![five.clone(); 9], 8, 10, 80.0),
        Err(EncodeError::TooManyValues { values: 9, slots: 8 })
    );
    for slots in [0, 3, 64] {
        assert_eq!(
            encode(&[], slots, 10, 80.0),
            Err(EncodeError::SlotCount { slots, max_slots: 32 })
        );
    }
    // The largest possible numbers and scales.
    let huge = BigFloat::from_parts(&1.into(), BigFloat::MAX_BITS - 1).unwrap();
    for bits in [-65536, 0, 1000, i32::MAX] {
        assert!(
            matches!(
                encode(std::slice::from_ref(&huge), 4, bits, 2000.0),
                Err(EncodeError::TooLarge { .. })
            ) == (bits >= 0)
        );
    }
    // A number that is too small for the scale becomes 0.
    assert_eq!(encode(&[five], 4, i32::MIN, 80.0), Ok(()));
    assert_eq!(out, IntegerPolynomial::zero(degree));
}
