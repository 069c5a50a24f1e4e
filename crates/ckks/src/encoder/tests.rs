//! Tests of the encoder against its definition, against itself on every kernel, and against the
//! arithmetic of plaintexts.

use hippocrene_ring::{Domain, Kernel, Poly, ResidueRing, RnsBasis, arith::signed_mod, primes};
use num_bigint::BigInt;
use num_complex::Complex64;
use proptest::prelude::*;

use super::{
    EncodeError, Encoder, IntegerPolynomial, Rounding,
    fft::{SpecialFft, Split},
    roots::power_of_five,
};
use crate::{BigFloat, Scale, double_double::DoubleDouble};

/// Returns `exp(2 pi i t / order)` in double-double, by quarter turns and the series.
fn root(t: usize, order: usize) -> (DoubleDouble, DoubleDouble) {
    let t = t % order;
    if 8 * t > order {
        // Takes quarter turns off until the angle is at most an eighth of a turn.
        if 4 * t >= order {
            let (c, s) = root(t - order / 4, order);
            return (s.neg(), c);
        }
        let (c, s) = root(order / 4 - t, order);
        return (s, c);
    }
    DoubleDouble::PI.mul(DoubleDouble::from(2.0 * t as f64 / order as f64)).cos_sin()
}

/// Returns slot `j` of the coefficients `c` by definition, in double-double.
fn slot(c: &[Complex64], j: usize) -> Complex64 {
    let order = 4 * c.len();
    let base = power_of_five(j, order);
    let mut sum = (DoubleDouble::from(0.0), DoubleDouble::from(0.0));
    for (k, c) in c.iter().enumerate() {
        let (re, im) = root(base * k, order);
        let (x, y) = (DoubleDouble::from(c.re), DoubleDouble::from(c.im));
        sum.0 = sum.0.add(re.mul(x)).sub(im.mul(y));
        sum.1 = sum.1.add(re.mul(y)).add(im.mul(x));
    }
    Complex64::new(sum.0.to_f64(), sum.1.to_f64())
}

/// Returns repeatable numbers in `[-1, 1)`.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 11) as f64) * 2f64.powi(-52) - 1.0
    })
}

fn complex_noise(n: usize, seed: u64) -> Vec<Complex64> {
    noise(seed).zip(noise(seed + 77)).map(|(re, im)| Complex64::new(re, im)).take(n).collect()
}

fn split(z: &[Complex64]) -> Split {
    let mut out = Split::zero(z.len());
    for (i, z) in z.iter().enumerate() {
        (out.re[i], out.im[i]) = (z.re, z.im);
    }
    out
}

fn rings(degree: usize, bits: &[u32], kernel: Kernel) -> Vec<ResidueRing> {
    let mut moduli = Vec::new();
    for &bits in bits {
        moduli.extend(primes::ntt_primes(bits, degree, 1, &moduli).unwrap());
    }
    moduli.into_iter().map(|q| ResidueRing::prime(q, degree, kernel).unwrap()).collect()
}

fn empty(degree: usize) -> Poly {
    Poly::zero(degree, 0, Domain::Evaluation)
}

/// Returns the polynomial with these coefficients in every ring, in the coefficient domain.
fn poly_of(coefficients: &[i128], rings: &[ResidueRing]) -> Poly {
    let mut poly = Poly::zero(coefficients.len(), rings.len(), Domain::Coefficient);
    for (ring, limb) in rings.iter().zip(poly.limbs_mut()) {
        for (x, c) in limb.iter_mut().zip(coefficients) {
            *x = c.rem_euclid(i128::from(ring.modulus())) as u64;
        }
    }
    poly
}

#[test]
fn transform_is_the_definition_on_every_kernel() {
    let log_max = 14;
    let plain = SpecialFft::new(log_max, Kernel::Portable);
    for log in 0..=log_max {
        let n = 1usize << log;
        let c = complex_noise(n, u64::from(log));
        let (mut work, mut slots) = (split(&c), Split::zero(n));
        plain.forward(&mut work.re, &mut work.im, &mut slots.re, &mut slots.im);
        // The slots have a root mean square of sqrt(2n/3).
        let size = (2.0 * n as f64 / 3.0).sqrt();
        let errors: Vec<f64> = (0..n)
            .step_by((n / 64).max(1))
            .map(|j| (j + j / 64) % n)
            .map(|j| (slot(&c, j) - Complex64::new(slots.re[j], slots.im[j])).norm() / size)
            .collect();
        let mean_square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let largest = errors.iter().fold(0.0f64, |most, &e| most.max(e));
        assert!(
            mean_square.sqrt() < 2f64.powi(-51) && largest < 2f64.powi(-49),
            "{n} slots: relative error {:e}, largest {largest:e}",
            mean_square.sqrt()
        );
        let mut back = Split::zero(n);
        plain.inverse(&slots.re, &slots.im, &mut back.re, &mut back.im);
        for (k, c) in c.iter().enumerate() {
            let error = c - Complex64::new(back.re[k], back.im[k]) / n as f64;
            assert!(error.norm() < 2f64.powi(-48), "coefficient {k} of {n} is wrong by {error}");
        }
        for kernel in Kernel::supported() {
            let fft = SpecialFft::new(log_max, kernel);
            let (mut work, mut same, mut same_back) = (split(&c), Split::zero(n), Split::zero(n));
            fft.forward(&mut work.re, &mut work.im, &mut same.re, &mut same.im);
            assert!(same.re == slots.re && same.im == slots.im, "{kernel:?} differs at {n}");
            fft.inverse(&slots.re, &slots.im, &mut same_back.re, &mut same_back.im);
            assert!(
                same_back.re == back.re && same_back.im == back.im,
                "{kernel:?} differs at {n} backwards"
            );
        }
    }
}

#[test]
fn kernels_give_the_same_plaintext_and_the_same_values() {
    let degree = 1 << 12;
    let values = complex_noise(degree / 2, 5);
    let results: Vec<_> = Kernel::supported()
        .map(|kernel| {
            let encoder = Encoder::new(degree, kernel).unwrap();
            let rings = rings(degree, &[50, 40, 61, 40], kernel);
            let (mut poly, mut slots) = (empty(degree), vec![Complex64::default(); degree / 2]);
            encoder.encode_complex(&values, degree / 2, 2f64.powi(70), &rings, &mut poly).unwrap();
            encoder.decode_complex(&poly, &rings, 2f64.powi(70), None, &mut slots).unwrap();
            (poly.as_slice().to_vec(), slots)
        })
        .collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn plaintext_is_the_rounded_inverse() {
    // The polynomial of a plaintext is a polynomial in X^gap. It has the values in its slots,
    // within half a unit for each coefficient.
    let degree = 256;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    for log in 0..=7 {
        let (slots, gap) = (1usize << log, degree >> (log + 1));
        let values = complex_noise(slots, 11);
        let mut integers = IntegerPolynomial::zero(degree);
        encoder
            .quantise_complex(&values, slots, 1e6, Rounding::Nearest, 100.0, &mut integers)
            .unwrap();
        assert_eq!(integers.shift(), 0);
        let coefficients = integers.coefficients();
        assert!(coefficients.iter().enumerate().all(|(k, &c)| k % gap == 0 || c == 0));
        let folded: Vec<_> = (0..slots)
            .map(|k| {
                let (low, high) = (coefficients[k * gap], coefficients[(k + slots) * gap]);
                Complex64::new(low as f64, high as f64)
            })
            .collect();
        for (j, value) in values.iter().enumerate() {
            let error = (slot(&folded, j) - value * 1e6).norm();
            assert!(
                error <= slots as f64 * 0.5f64.sqrt(),
                "slot {j} of {slots} has an error of {error}"
            );
        }
    }
}

#[test]
fn products_and_rotations_are_those_of_the_slots() {
    let degree = 512;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[55, 55, 45], Kernel::Portable);
    let scale = 2f64.powi(45);
    for slots in [1, 8, 64, 256] {
        let (a, b) = (complex_noise(slots, 1), complex_noise(slots, 2));
        let (mut x, mut y) = (empty(degree), empty(degree));
        encoder.encode_complex(&a, slots, scale, &rings, &mut x).unwrap();
        encoder.encode_complex(&b, slots, scale, &rings, &mut y).unwrap();

        let mut product = x.clone();
        for ((ring, p), y) in rings.iter().zip(product.limbs_mut()).zip(y.limbs()) {
            ring.mul_assign(p, y);
        }
        let mut out = vec![Complex64::default(); slots];
        encoder.decode_complex(&product, &rings, scale * scale, None, &mut out).unwrap();
        for j in 0..slots {
            assert!((out[j] - a[j] * b[j]).norm() < 1e-10, "product in slot {j} of {slots}");
        }

        for (element, expected) in [
            (5, (0..slots).map(|j| a[(j + 1) % slots]).collect::<Vec<_>>()),
            (2 * degree - 1, a.iter().map(Complex64::conj).collect()),
        ] {
            let mut turned = Poly::zero(degree, rings.len(), Domain::Coefficient);
            for ((ring, from), to) in rings.iter().zip(x.limbs()).zip(turned.limbs_mut()) {
                let mut from = from.to_vec();
                ring.inverse(&mut from);
                for (k, &c) in from.iter().enumerate() {
                    let at = k * element % (2 * degree);
                    to[at % degree] = if at < degree || c == 0 { c } else { ring.modulus() - c };
                }
            }
            encoder.decode_complex(&turned, &rings, scale, None, &mut out).unwrap();
            for (j, (have, want)) in out.iter().zip(&expected).enumerate() {
                assert!((have - want).norm() < 1e-10, "X^{element}, slot {j} of {slots}");
            }
        }
    }
}

#[test]
fn large_scales_keep_the_bits_of_f64() {
    let degree = 1 << 10;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[48; 4], Kernel::Portable);
    let values: Vec<f64> = noise(3).take(degree / 2).map(|x| x * 1e6).collect();
    for scale_bits in [40, 55, 62, 80, 120, 150] {
        let scale = 2f64.powi(scale_bits);
        let mut integers = IntegerPolynomial::zero(degree);
        encoder
            .quantise_real(&values, degree / 2, scale, Rounding::Nearest, 192.0, &mut integers)
            .unwrap();
        let largest = integers.coefficients().iter().map(|c| c.unsigned_abs()).max().unwrap();
        assert!(largest <= 1 << 62 && (integers.shift() == 0 || largest >= 1 << 60));
        let (mut poly, mut out) = (empty(degree), vec![0.0; degree / 2]);
        encoder.encode_real(&values, degree / 2, scale, &rings, &mut poly).unwrap();
        encoder.decode_real(&poly, &rings, scale, None, &mut out).unwrap();
        let tolerance = 1e6 * 2f64.powi(-48) + 40.0 / scale;
        for (have, want) in out.iter().zip(&values) {
            assert!((have - want).abs() < tolerance, "{have} for {want} at scale 2^{scale_bits}");
        }
    }
}

#[test]
fn bound_saves_limbs_but_changes_nothing() {
    let degree = 128;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[40, 35, 50, 35, 20, 40], Kernel::Portable);
    let coefficients: Vec<i128> =
        noise(9).take(degree).map(|x| (x * 2f64.powi(80)) as i128).collect();
    let mut poly = poly_of(&coefficients, &rings);
    let decode = |poly: &Poly, bound| {
        let mut out = [0.0; 64];
        encoder.decode_real(poly, &rings, 2f64.powi(70), bound, &mut out).map(|()| out)
    };
    let all = decode(&poly, Some(f64::INFINITY)).unwrap();
    for bits in [-3.0, 0.0, 39.0, 60.0, 80.0, 84.0, 100.0, 150.0, 1e9, f64::NAN] {
        assert_eq!(decode(&poly, Some(bits)).unwrap(), all);
    }
    assert_eq!(decode(&poly, None).unwrap(), all);
    // The limbs beyond the bound and beyond those that check it are not read.
    poly.limb_mut(5).fill(12345);
    assert_eq!(decode(&poly, Some(80.0)).unwrap(), all);
    assert_eq!(decode(&poly, None).unwrap(), all);
    assert_ne!(decode(&poly, Some(f64::INFINITY)).unwrap(), all);
}

#[test]
fn invalid_values_are_refused() {
    let degree = 64;
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let rings = rings(degree, &[40, 40], Kernel::Portable);
    let mut poly = empty(degree);
    let mut encode =
        |values: &[f64], slots, scale| encoder.encode_real(values, slots, scale, &rings, &mut poly);

    let refused = encode(&[1.0, f64::NAN], 4, 1e3);
    assert!(matches!(refused, Err(EncodeError::NotFinite { index: 1, value }) if value.is_nan()));
    assert_eq!(
        encode(&[1.0, 2.0, f64::NEG_INFINITY], 4, 1e3),
        Err(EncodeError::NotFinite { index: 2, value: f64::NEG_INFINITY })
    );
    assert_eq!(encode(&[1.0; 9], 8, 1e3), Err(EncodeError::TooManyValues { values: 9, slots: 8 }));
    for slots in [0, 3, 33, 64, usize::MAX] {
        assert_eq!(encode(&[], slots, 1e3), Err(EncodeError::SlotCount { slots, max_slots: 32 }));
    }
    for scale in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(encode(&[1.0], 8, scale), Err(EncodeError::Scale { scale }));
    }
    assert!(matches!(encode(&[1.0], 8, f64::NAN), Err(EncodeError::Scale { .. })));

    // Four equal values give one coefficient, so the limit is known: less than half the modulus,
    // just under 2^80.
    assert_eq!(encode(&[-3.0; 4], 4, 2f64.powi(77)), Ok(()));
    let error = encode(&[-5.0; 4], 4, 2f64.powi(77)).unwrap_err();
    assert!(
        matches!(error, EncodeError::TooLarge { scale_bits: 77.0, needed_bits: 81.0, modulus_bits }
        if (modulus_bits - 80.0).abs() < 0.01)
    );
    assert_eq!(
        error.to_string(),
        "encode: values at scale 2^77.00 need a modulus of 81 bits, it has 80.0: take a smaller \
         scale (less precision) or a larger modulus (another preset)"
    );
    for huge in [[f64::MAX; 4], [f64::MAX, -f64::MAX, f64::MAX, 1.0]] {
        assert!(matches!(encode(&huge, 4, 1.0), Err(EncodeError::TooLarge { .. })));
        assert!(matches!(encode(&huge, 4, 1e300), Err(EncodeError::TooLarge { .. })));
    }

    let z = [Complex64::new(0.0, 1.0), Complex64::new(1.0, f64::INFINITY)];
    assert_eq!(
        encoder.encode_complex(&z, 2, 1.0, &rings, &mut poly),
        Err(EncodeError::NotFinite { index: 1, value: f64::INFINITY })
    );
}

#[test]
fn invalid_plaintexts_are_refused() {
    let degree = 64;
    assert!(matches!(Encoder::new(48, Kernel::Portable), Err(EncodeError::Ring(_))));
    let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
    let small = rings(degree, &[30; 3], Kernel::Portable);
    let mut out = [0.0; 32];
    let poly = poly_of(&[1; 64], &small);
    assert_eq!(
        encoder.decode_real(&poly, &small[..2], 1.0, None, &mut out),
        Err(EncodeError::Shape { what: "limbs of the plaintext", have: 3, need: 2 })
    );
    assert_eq!(
        encoder.decode_real(&poly, &small, 1.0, None, &mut out[..24]),
        Err(EncodeError::SlotCount { slots: 24, max_slots: 32 })
    );
    assert!(matches!(
        encoder.decode_real(&poly_of(&[1; 32], &small), &small, 1.0, None, &mut out),
        Err(EncodeError::Shape { what: "coefficients", have: 32, need: 64 })
    ));
    assert!(matches!(
        encoder.decode_real::<ResidueRing>(&poly, &[], 1.0, None, &mut out),
        Err(EncodeError::Shape { what: "moduli", .. })
    ));

    // Unrelated residues represent a number of the size of the modulus, here 2^1080.
    let many = rings(degree, &[60; 18], Kernel::Portable);
    let mut garbage = Poly::zero(degree, 18, Domain::Coefficient);
    for (x, r) in garbage.as_mut_slice().iter_mut().zip(noise(4)) {
        *x = (r.abs() * 1e18) as u64;
    }
    let error = encoder.decode_real(&garbage, &many, 2f64.powi(40), None, &mut out).unwrap_err();
    assert!(
        matches!(error, EncodeError::OutOfRange { bits } if (bits - 980.0).abs() < 0.1),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn round_trip(
        log_degree in 4u32..=13,
        fewer in 0u32..=12,
        scale_bits in 30.0f64..110.0,
        given_part in 0.0f64..=1.0,
        seed in 0u64..1000,
    ) {
        let degree = 1usize << log_degree;
        let slots = (degree / 2) >> fewer.min(log_degree - 1);
        let given = (slots as f64 * given_part) as usize;
        let kernel = Kernel::supported().nth(seed as usize % Kernel::supported().count()).unwrap();
        let encoder = Encoder::new(degree, kernel).unwrap();
        let rings = rings(degree, &[50, 41, 41, 41], kernel);
        let scale = scale_bits.exp2();
        let tolerance = (2.0 * slots as f64).sqrt() * 6.0 / scale + 2f64.powi(-46);
        let values = complex_noise(given, seed);
        let mut poly = empty(degree);

        encoder.encode_complex(&values, slots, scale, &rings, &mut poly).unwrap();
        prop_assert_eq!((poly.domain(), poly.limb_count()), (Domain::Evaluation, 4));
        let mut out = vec![Complex64::default(); slots];
        encoder.decode_complex(&poly, &rings, scale, Some(scale_bits + 20.0), &mut out).unwrap();
        for (j, have) in out.iter().enumerate() {
            let want = values.get(j).copied().unwrap_or_default();
            prop_assert!((have - want).norm() < tolerance, "slot {} is {}, not {}", j, have, want);
        }

        let real: Vec<f64> = values.iter().map(|z| z.re).collect();
        encoder.encode_real(&real, slots, scale, &rings, &mut poly).unwrap();
        let mut out = vec![0.0; slots];
        encoder.decode_real(&poly, &rings, scale, None, &mut out).unwrap();
        for (j, have) in out.iter().enumerate() {
            let want = real.get(j).copied().unwrap_or_default();
            prop_assert!((have - want).abs() < tolerance, "slot {} is {}, not {}", j, have, want);
        }
    }

    #[test]
    fn linear(seed in 0u64..1000, log_slots in 0u32..=9, factor in -8i64..8) {
        let (degree, slots) = (1024, 1usize << log_slots);
        let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
        let (a, b) = (complex_noise(slots, seed), complex_noise(slots, seed + 1));
        let sum: Vec<_> = a.iter().zip(&b).map(|(a, b)| a * factor as f64 + b).collect();
        let integers = [&a, &b, &sum].map(|values| {
            let mut out = IntegerPolynomial::zero(degree);
            encoder
                .quantise_complex(values, slots, 1e9, Rounding::Nearest, 60.0, &mut out)
                .unwrap();
            out
        });
        let [a, b, sum] = integers.each_ref().map(IntegerPolynomial::coefficients);
        for k in 0..degree {
            prop_assert!((factor * a[k] + b[k] - sum[k]).abs() <= factor.abs() / 2 + 1);
        }
    }

    #[test]
    fn reducing_is_reduction(seed in 0u64..1000, bits in 20u32..=61, scale_bits in 5i32..100) {
        let degree = 64;
        let encoder = Encoder::new(degree, Kernel::Portable).unwrap();
        let ring = &rings(degree, &[bits], Kernel::Portable)[0];
        let mut integers = IntegerPolynomial::zero(degree);
        encoder
            .quantise_complex(
                &complex_noise(32, seed),
                32,
                2f64.powi(scale_bits),
                Rounding::Nearest,
                120.0,
                &mut integers,
            )
            .unwrap();
        let mut limb = vec![0; degree];
        encoder.reduce(&integers, ring, &mut limb).unwrap();
        ring.inverse(&mut limb);
        for (x, &c) in limb.iter().zip(integers.coefficients()) {
            let scaled = (i128::from(c) << integers.shift()).rem_euclid(i128::from(ring.modulus()));
            prop_assert_eq!(i128::from(*x), scaled);
            prop_assert!(integers.shift() > 0 || *x == signed_mod(c, ring.modulus()));
        }
    }

    #[test]
    fn centred_values_are_exact_as_far_as_f64_reaches(
        coefficients in prop::collection::vec((any::<i128>(), 2u32..126), 16),
        order in Just(vec![61u32, 28, 50, 40, 33]).prop_shuffle(),
        bits_given in 0f64..200.0,
    ) {
        // One slot of ring degree 16 is coefficient 0 plus i times coefficient 8, so the slot is
        // the recombined number.
        let encoder = Encoder::new(16, Kernel::Portable).unwrap();
        let rings = rings(16, &order, Kernel::Portable);
        for (c, bits) in coefficients {
            let c = c >> bits;
            let mut all = [0; 16];
            (all[0], all[8]) = (c, -c / 3);
            let mut out = [Complex64::default()];
            encoder
                .decode_complex(&poly_of(&all, &rings), &rings, 1024.0, Some(bits_given), &mut out)
                .unwrap();
            for (have, want) in [(out[0].re, c), (out[0].im, -c / 3)] {
                let want = want as f64 / 1024.0;
                prop_assert!(
                    (have - want).abs() <= want.abs() * 2f64.powi(-50),
                    "{} is not {}",
                    have,
                    want
                );
            }
        }
    }
}

/// Returns a prime, a product of two primes and a power of two as rings, and their number of bits
/// in total.
fn grafted(degree: usize, exponent: u32, kernel: Kernel) -> (Vec<ResidueRing>, f64) {
    let small = primes::ntt_primes(25, degree, 2, &[]).unwrap();
    let rings = vec![
        ResidueRing::prime(primes::ntt_primes(40, degree, 1, &[]).unwrap()[0], degree, kernel)
            .unwrap(),
        ResidueRing::composite(&small, degree, kernel).unwrap(),
        ResidueRing::power_of_two(exponent, degree, kernel).unwrap(),
    ];
    let bits = rings.iter().map(ResidueRing::log2).sum();
    (rings, bits)
}

#[test]
fn integers_come_back_up_to_half_of_any_modulus() {
    // One slot of ring degree 16 is coefficient 0 plus i times coefficient 8.
    let encoder = Encoder::new(16, Kernel::Portable).unwrap();
    for exponent in [1, 2, 15, 30, 60] {
        let (rings, _) = grafted(16, exponent, Kernel::Portable);
        for subset in [&rings[..], &rings[1..], &rings[2..]] {
            let basis = RnsBasis::new(&subset.iter().map(ResidueRing::modulus).collect::<Vec<_>>())
                .unwrap();
            let half: BigInt = BigInt::from(basis.product().clone()) >> 1;
            let quarter: BigInt = half.clone() >> 1usize;
            let ends = [
                -half.clone(),
                half.clone() - 1u8,
                -quarter.clone(),
                quarter,
                1u8 - half,
                BigInt::ZERO,
            ];
            for (low, high) in ends.iter().zip(ends.iter().rev()) {
                let mut poly = Poly::zero(16, subset.len(), Domain::Coefficient);
                for (place, x) in [(0, low), (8, high)] {
                    let mut residues = vec![0; subset.len()];
                    basis.decompose(x, &mut residues);
                    residues.iter().enumerate().for_each(|(i, &r)| poly.limb_mut(i)[place] = r);
                }
                let scale = Scale::power_of_two(10);
                let exact = encoder.decode_big_complex(&poly, subset, scale, Some(3.0), 1).unwrap();
                assert_eq!(exact[0].re, BigFloat::from_parts(low, -10).unwrap());
                assert_eq!(exact[0].im, BigFloat::from_parts(high, -10).unwrap());
                let mut out = [Complex64::default()];
                encoder.decode_complex(&poly, subset, 1024.0, Some(3.0), &mut out).unwrap();
                for (have, want) in [(out[0].re, &exact[0].re), (out[0].im, &exact[0].im)] {
                    let want = want.to_f64();
                    assert!(
                        (have - want).abs() <= want.abs() * 2f64.powi(-50),
                        "{have} is not {want}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_modulus_will_do(
        log_degree in 4u32..=10,
        fewer in 0u32..=9,
        exponent in 1u32..=60,
        scale_bits in 30i32..86,
        kernel in 0usize..8,
        seed in 0u64..1000,
    ) {
        let degree = 1usize << log_degree;
        let slots = (degree / 2) >> fewer.min(log_degree - 1);
        let kernel = Kernel::supported().nth(kernel % Kernel::supported().count()).unwrap();
        let encoder = Encoder::new(degree, kernel).unwrap();
        let (rings, bits) = grafted(degree, exponent, kernel);
        let values = complex_noise(slots, seed);
        let big: Vec<_> = values
            .iter()
            .map(|z| num_complex::Complex {
                re: BigFloat::try_from(z.re).unwrap(),
                im: BigFloat::try_from(z.im).unwrap(),
            })
            .collect();

        let scale = f64::from(scale_bits).exp2();
        let tolerance = (2.0 * slots as f64).sqrt() * 6.0 / scale + 2f64.powi(-46);
        let mut poly = empty(degree);
        encoder.encode_complex(&values, slots, scale, &rings, &mut poly).unwrap();
        let mut out = vec![Complex64::default(); slots];
        encoder.decode_complex(&poly, &rings, scale, None, &mut out).unwrap();
        for (have, want) in out.iter().zip(&values) {
            prop_assert!((have - want).norm() < tolerance, "{} is not {}", have, want);
        }

        let scale = Scale::power_of_two(scale_bits);
        let mut integers = IntegerPolynomial::zero(degree);
        encoder
            .quantise_big_complex(&big, slots, scale, Rounding::Nearest, bits, &mut integers)
            .unwrap();
        for (ring, limb) in rings.iter().zip(poly.limbs_mut()) {
            encoder.reduce(&integers, ring, limb).unwrap();
        }
        // The results are equal up to the rounding of `f64`, and exact up to the rounding of the
        // plaintext.
        encoder.decode_complex(&poly, &rings, scale.to_f64(), None, &mut out).unwrap();
        let exact = encoder.decode_big_complex(&poly, &rings, scale, None, slots).unwrap();
        for ((have, exact), want) in out.iter().zip(&exact).zip(&values) {
            let exact = Complex64::new(exact.re.to_f64(), exact.im.to_f64());
            prop_assert!(
                (have - exact).norm() < 2f64.powi(-46) && (exact - want).norm() < tolerance
            );
        }
    }
}
