//! Tests of tuples: values, errors against Theorem D.6 and the estimates, and the capacity that
//! products use.

use crate::common::{
    Setup, circle,
    exact::{self, decrypted, log2_max, log2_rms, multiply},
    grafted,
};
use hippocrene_ckks::{Ciphertext, CkksError, Scale, Tuple};
use hippocrene_rlwe::noise;
use num_bigint::BigInt;
use num_complex::Complex64;

const BITS: i32 = 57;

fn setup() -> Setup {
    grafted(8, 6, "sprout-15-16-32", &[])
}

/// Encrypts the partial recombinations of a tuple one by one.
fn encrypt(s: &Setup, x: &[Complex64], scale: Scale, length: usize, divisor: u64) -> Tuple {
    let mut scales = vec![scale];
    while scales.len() < length {
        scales.insert(0, scales[0].divided_by(divisor));
    }
    let partial: Vec<Ciphertext> =
        scales.into_iter().map(|scale| s.encrypt_at(x, x.len(), scale, s.top())).collect();
    s.evaluator.tuple(&partial, divisor).unwrap()
}

/// Returns the decrypted recombination, exactly.
fn recombined(s: &Setup, a: &Tuple) -> Vec<BigInt> {
    decrypted(s, s.evaluator.rcb(a).unwrap().inner())
}

fn random(s: &Setup, seed: f64) -> Vec<Complex64> {
    circle(s.context.max_slots(), 1.0, seed)
}

/// Returns the largest coefficient as a number.
fn norm(a: &[BigInt]) -> f64 {
    log2_max(a).exp2()
}

fn check_estimates(s: &Setup, a: &Tuple, expected: &[BigInt], what: &str) {
    let message = exact::message(s, &s.evaluator.rcb(a).unwrap());
    let measured = log2_rms(&message, expected) - exact::FRACTION as f64;
    let estimated = a.noise().log2_std() - a.scale().log2();
    assert!(
        (measured - estimated).abs() < 1.5f64.log2(),
        "{what}: error 2^{measured:.2}, estimated 2^{estimated:.2}"
    );
    let zero = vec![BigInt::ZERO; expected.len()];
    let low = a.parts()[1..].iter().map(|c| log2_rms(&decrypted(s, c), &zero)).fold(0.0, f64::max);
    let estimated = a.low().log2_std();
    assert!(
        (low - estimated).abs() < 1.0,
        "{what}: low parts 2^{low:.2}, estimated 2^{estimated:.2}"
    );
}

/// `DCP` (CCKS23 Def. 3.3): the recombination is the original ciphertext. For pairs with `q_div =
/// Q_0/Q`, the remainder is one by `q_div`.
#[test]
fn decomposing_and_recombining_change_nothing() {
    let s = setup();
    let x = random(&s, 0.2);
    let scale = Scale::power_of_two(BITS);
    let a = s.encrypt_at(&x, x.len(), scale, s.top());
    let total = s.context.parameters().log2(s.top());
    for (length, power, dropped) in
        [(2, 15, 15.0), (2, 7, 7.0), (2, 20, 60.0), (3, 14, 60.0), (4, 11, 60.0)]
    {
        let to = if dropped < 16.0 {
            // 2^15 divides the top modulus, so it is an exact multiple of the divisor.
            let (words, odd, two) = s.top().to_parts();
            let parts = (words, odd, two - dropped as u8);
            let without = if parts.2 == 0 { parts.0 & !(1 << 127) } else { parts.0 };
            hippocrene_rlwe::Modulus::from_parts(without, parts.1, parts.2).unwrap()
        } else {
            s.context.parameters().grafted_modulus(total - dropped)
        };
        let tuple = s.evaluator.dcp(&a, 1 << power, length, to).unwrap();
        assert_eq!((tuple.length(), tuple.divisor(), tuple.modulus()), (length, 1 << power, to));
        check_estimates(&s, &tuple, &exact::encoded(&s, &x, scale), "DCP");
        // Every part but the first is a remainder: q_div times the error of a modulus switch.
        let rounding = 0.5 * (1.0 + s.context.parameters().degree() as f64);
        for part in &tuple.parts()[1..] {
            assert!(norm(&decrypted(&s, part)) <= (1 << power) as f64 * rounding);
        }
        if to.divides(s.top()) {
            assert_eq!(recombined(&s, &tuple), decrypted(&s, a.inner()), "tuple of {length}");
        }
    }
    let near = s.context.parameters().grafted_modulus(total - 10.0);
    assert!(matches!(s.evaluator.dcp(&a, 1 << 20, 2, near), Err(CkksError::Capacity { .. })));
    assert!(s.evaluator.dcp(&a, 1, 2, near).is_err() && s.evaluator.dcp(&a, 2, 1, near).is_err());
}

/// Tests Theorem D.6 for pairs, and for longer tuples with the terms that they omit. The
/// recombination of a product is compared with the exact product of the recombinations, both for
/// definitions D.1, D.2 and D.4 in sequence and for the combined operation.
#[test]
fn products_keep_to_the_theorem() {
    let s = setup();
    let (scale, n) = (Scale::power_of_two(BITS), s.context.parameters().degree() as f64);
    for length in 2..5 {
        let divisor = s.evaluator.tuple_divisor(scale, length, 1.0).unwrap();
        let (a, b) = (
            encrypt(&s, &random(&s, 0.1), scale, length, divisor),
            encrypt(&s, &random(&s, 1.7), scale, length, divisor),
        );
        let q = BigInt::from(divisor).pow(length as u32 - 1);
        let exact = multiply(&recombined(&s, &a), &recombined(&s, &b));

        let tensor = s.evaluator.tuple_tensor(&a, &b).unwrap();
        let relinearised = s.evaluator.tuple_relinearise(&tensor).unwrap();
        let rescaled = s.evaluator.tuple_rescale(&relinearised, scale).unwrap();
        let product = s.evaluator.tuple_mul(&a, &b, scale).unwrap();
        assert_eq!((rescaled.modulus(), rescaled.scale()), (product.modulus(), product.scale()));

        // M_ is the largest value that the low parts decrypt to. The omitted terms are those with i
        // + j >= t, divided by q_div^{i+j+1-t}.
        let low =
            |t: &Tuple| t.parts()[1..].iter().map(|c| norm(&decrypted(&s, c))).fold(0.0, f64::max);
        let terms: f64 = (length..2 * length - 1)
            .map(|sum| {
                (2 * length - 1 - sum) as f64 / (divisor as f64).powi((sum + 1 - length) as i32)
            })
            .sum();
        let left_out = n * low(&a) * low(&b) * terms;
        // E is the error of relinearisation: the actual one here, and six standard deviations if it
        // ends in another modulus.
        let before = exact.iter().map(|x| x / &q).collect::<Vec<_>>();
        let error = norm(&difference(&recombined(&s, &relinearised), &before));
        let switch =
            s.context.rlwe().key_switch_noise(a.modulus(), a.modulus()).unwrap().log2_std().exp2();
        assert!(
            error <= left_out + 6.0 * switch + 1.0,
            "relinearised: {error}, {left_out} left out, {switch}"
        );

        let parameters = s.context.parameters();
        let (from, to) =
            (parameters.limb_moduli(a.modulus()), parameters.limb_moduli(product.modulus()));
        let [from, to] = [from, to].map(|m| m.into_iter().map(BigInt::from).product::<BigInt>());
        let down = (exact::log2(&to) - exact::log2(&from)).exp2();
        let bound = (left_out + 6.0 * switch + 1.0) * down + 0.5 * (n + 1.0);
        // (Q'/Q)/q_div^{t-1} of the exact product, in units of 2^-32.
        let expected: Vec<BigInt> =
            exact.iter().map(|x| ((x * &to) << 32) / (&from * &q)).collect();
        for (what, result) in [("one by one", &rescaled), ("in one go", &product)] {
            let result: Vec<BigInt> = recombined(&s, result).into_iter().map(|x| x << 32).collect();
            let error = (log2_max(&difference(&result, &expected)) - 32.0).exp2();
            assert!(error <= bound, "tuple of {length}, {what}: {error} > {bound}");
            // The bound is not far away, because the worst of N sums reaches about half of the
            // secret's coefficients.
            assert!(error > bound * 1e-3, "tuple of {length}, {what}: {error}, bound {bound}");
        }
    }
}

/// Lemma D.5: a rescaled tuple is its rescaled recombination, by any rational number.
#[test]
fn rescaling_is_rescaling_the_recombination() {
    let s = setup();
    let x = random(&s, 0.4);
    for (bits, length) in [(70, 2), (81, 3), (57, 2)] {
        let a = encrypt(&s, &x, Scale::power_of_two(bits), length, 1 << 10);
        for target in [20, 33, 50] {
            let scaled = s.evaluator.tuple_rescale(&a, Scale::power_of_two(target)).unwrap();
            let whole = s.evaluator.rcb(&a).unwrap();
            let mut expected = Ciphertext::empty(&s.context);
            s.evaluator.rescale_to_into(&mut expected, &whole, scaled.modulus()).unwrap();
            let off = difference(&recombined(&s, &scaled), &decrypted(&s, expected.inner()));
            assert_eq!(norm(&off), 0.0, "2^{bits} to 2^{target}");
            assert_eq!(scaled.scale(), expected.scale());
        }
    }
}

/// Rounding three parts adds more error than rounding two, in proportion to the weight of the
/// square of the secret.
#[test]
fn tensor_products_are_rescaled_with_the_error_of_three_parts() {
    let s = setup();
    let scale = Scale::power_of_two(BITS);
    let x = random(&s, 0.6);
    let a = encrypt(&s, &x, scale, 2, s.evaluator.tuple_divisor(scale, 2, 1.0).unwrap());
    let tensor = s.evaluator.tuple_tensor(&a, &a).unwrap();
    let rescaled = s.evaluator.tuple_rescale(&tensor, scale).unwrap();
    let relinearised = s.evaluator.tuple_relinearise(&rescaled).unwrap();
    let expected = exact::encoded(&s, &x, scale);
    check_estimates(
        &s,
        &relinearised,
        &exact::multiply_fixed(&expected, &expected),
        "rescaled before",
    );
    assert!(rescaled.noise() >= noise::rounding(s.context.parameters().secret_weight(), 3));
}

/// The precision of a tuple is that of its recombination, for any number of slots.
#[test]
fn precision_goes_by_the_slots() {
    let s = setup();
    for slots in [1, 8, s.context.max_slots()] {
        let x = circle(slots, 1.0, 0.1);
        let a = s.encrypt_at(&x, slots, Scale::power_of_two(BITS), s.top());
        let to =
            s.context.parameters().grafted_modulus(s.context.parameters().log2(s.top()) - 60.0);
        let tuple = s.evaluator.dcp(&a, 1 << 18, 2, to).unwrap();
        assert_eq!(
            tuple.precision_bits(),
            s.evaluator.rcb(&tuple).unwrap().precision_bits(),
            "{slots} slots"
        );
    }
}

/// For successive products, noise and size of the low parts are as estimated, and so is the
/// capacity compared with plain products of the same precision.
#[test]
fn products_in_a_row_take_little_capacity() {
    let s = setup();
    let scale = Scale::power_of_two(BITS);
    let x = random(&s, 0.3);
    let mut expected = exact::encoded(&s, &x, scale);
    let mut plain = s.encrypt_at(&x, x.len(), scale, s.top());
    let mut tuples: Vec<Tuple> = [2, 3]
        .map(|t| encrypt(&s, &x, scale, t, s.evaluator.tuple_divisor(scale, t, 3.0).unwrap()))
        .into();
    for depth in 1..4 {
        expected = exact::multiply_fixed(&expected, &expected);
        plain = s.evaluator.square_rescale(&plain, scale).unwrap();
        for tuple in &mut tuples {
            let before = tuple.capacity_bits(&s.context);
            let digits = (tuple.length() - 1) as f64 * (tuple.divisor() as f64).log2();
            let takes = tuple.scale().log2() - digits;
            *tuple = s.evaluator.tuple_mul(tuple, tuple, scale).unwrap();
            check_estimates(
                &s,
                tuple,
                &expected,
                &format!("tuple of {}, square {depth}", tuple.length()),
            );
            let used = before - tuple.capacity_bits(&s.context);
            assert!(
                (used - takes).abs() < 1e-6 && used < 0.72 * f64::from(BITS),
                "{used} bits used"
            );
            assert!(
                tuple.precision_bits() > plain.precision_bits() - 1.0,
                "{} bits",
                tuple.precision_bits()
            );
        }
    }
    // Plain products, which use all bits of the scale, exhaust the capacity sooner.
    let left = |t: &Tuple| t.capacity_bits(&s.context);
    assert!(
        left(&tuples[1]) > left(&tuples[0])
            && left(&tuples[0]) > plain.capacity_bits(&s.context) + 50.0
    );
    let pair = &tuples[0];
    let sum = s.evaluator.tuple_add(pair, pair).unwrap();
    let twice: Vec<BigInt> = recombined(&s, pair).into_iter().map(|x| 2 * x).collect();
    assert_eq!(recombined(&s, &sum), twice);
}

/// Tuples are stored as their partial recombinations. After products, too, these are ciphertexts of
/// the stated scales and noise, and make the same tuple.
#[test]
fn partial_recombinations_make_the_same_tuple() {
    let s = setup();
    let (x, scale) = (random(&s, 0.4), Scale::power_of_two(BITS));
    for length in [2, 3] {
        let divisor = s.evaluator.tuple_divisor(scale, length, 1.0).unwrap();
        let fresh = encrypt(&s, &x, scale, length, divisor);
        let square = s.evaluator.tuple_mul(&fresh, &fresh, scale).unwrap();
        for a in [fresh, square] {
            let partial = s.evaluator.partial_recombinations(&a).unwrap();
            assert_eq!(partial.len(), length);
            assert_eq!(partial[length - 1], s.evaluator.rcb(&a).unwrap());
            for pair in partial.windows(2) {
                assert_eq!(pair[1].scale(), pair[0].scale().times_integer(divisor));
                let values = |c: &Ciphertext| {
                    s.context.decode_complex(&s.context.decrypt(&s.secret, c).unwrap()).unwrap()
                };
                let error = values(&pair[0])
                    .iter()
                    .zip(values(&pair[1]))
                    .map(|(a, b)| (a - b).norm())
                    .fold(0.0, f64::max);
                assert!(error.log2() < 3.0 - pair[0].precision_bits(), "{length}: {error:e}");
            }
            let again = s.evaluator.tuple(&partial, divisor).unwrap();
            assert_eq!(again.length(), a.length());
            // The estimates of the noise are rounded.
            let same = again.parts().iter().zip(a.parts()).all(|(x, y)| x.parts() == y.parts());
            assert!(same, "tuples of {length}");
            assert_eq!((again.scale(), again.bound()), (a.scale(), a.bound()));
            assert!((again.noise().log2_std() - a.noise().log2_std()).abs() < 1e-9);
            assert!((again.low().log2_std() - a.low().log2_std()).abs() < 0.1);
        }
    }
}

#[test]
fn mismatched_tuples_are_refused() {
    let s = setup();
    let x = random(&s, 0.3);
    let scale = Scale::power_of_two(BITS);
    let (pair, other) = (encrypt(&s, &x, scale, 2, 1 << 20), encrypt(&s, &x, scale, 2, 1 << 19));
    let error = s.evaluator.tuple_mul(&pair, &other, scale).unwrap_err();
    assert!(error.to_string().contains("divisor 1048576 and one of 2 with 524288"), "{error}");
    let tensor = s.evaluator.tuple_tensor(&pair, &pair).unwrap();
    assert!(
        s.evaluator.rcb(&tensor).is_err()
            && s.evaluator.tuple_mul(&tensor, &tensor, scale).is_err()
    );
    let partial = [scale, scale].map(|scale| s.encrypt_at(&x, x.len(), scale, s.top()));
    assert!(matches!(s.evaluator.tuple(&partial, 1 << 20), Err(CkksError::ScaleMismatch { .. })));
    assert!(
        s.evaluator.tuple(&partial[..1], 1 << 20).is_err()
            && s.evaluator.tuple(&partial, 0).is_err()
    );
    assert!(s.evaluator.tuple_divisor(Scale::power_of_two(15), 4, 1.0).is_err());
    let error =
        s.evaluator.tuple_divisor(Scale::power_of_two(60), 2, f64::NAN).unwrap_err().to_string();
    assert!(error.ends_with("a reserve of NaN bits"), "{error}");
    let mut deep = pair;
    let error = loop {
        match s.evaluator.tuple_mul(&deep, &deep, scale) {
            Ok(next) => deep = next,
            Err(error) => break error,
        }
    };
    let needed = deep.scale().log2() - 20.0;
    assert!(
        matches!(error, CkksError::Capacity { need, .. } if (need - needed).abs() < 1e-6),
        "{error}"
    );
}

fn difference(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
