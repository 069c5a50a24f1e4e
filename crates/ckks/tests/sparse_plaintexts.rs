//! Tests of plaintexts with few non-zero slots. Their coefficients are few waves, and so would be
//! the errors of rounding to nearest. The error of a number has to keep to the stated one, however
//! small the number is compared with the scale.

use crate::common::insecure;
use hippocrene_ckks::{BigFloat, Scale, Values, circuits::LinearTransform};
use num_complex::Complex64;

const LOG_DEGREE: u32 = 13;

/// Returns the largest error of a slot, in standard deviations of `sqrt(N/2)` independent errors of
/// variance 1/6.
fn largest_error(have: &[f64], want: &[f64], scale: Scale) -> f64 {
    let deviation = (2f64.powi(LOG_DEGREE as i32 - 1) / 6.0).sqrt() / scale.to_f64();
    have.iter().zip(want).map(|(x, y)| (x - y).abs() / deviation).fold(0.0, f64::max)
}

#[test]
fn errors_are_as_if_they_were_independent() {
    let context = insecure(LOG_DEGREE, 1, &[]).context;
    let (slots, scale) = (context.max_slots(), Scale::power_of_two(30));
    let modulus = context.parameters().top();
    for amplitude in [0.02, 0.3, 0.49, 0.7, 3.0, 40.0, 1000.0] {
        for places in [&[0][..], &[1234], &[5, 6], &[0, 1000, 4000]] {
            let mut values = vec![0.0; slots];
            places.iter().for_each(|&i| values[i] = amplitude * slots as f64 / scale.to_f64());
            let big: Vec<BigFloat> =
                values.iter().map(|&x| BigFloat::try_from(x).unwrap()).collect();
            for values_given in [Values::Real(&values), Values::Big(&big)] {
                let plaintext = context.encode(values_given, slots, scale, modulus).unwrap();
                let error =
                    largest_error(&context.decode_real(&plaintext).unwrap(), &values, scale);
                assert!(error < 6.0, "coefficients of {amplitude}, {places:?}: {error} deviations");
            }
        }
    }
}

/// Computes the mean of few numbers at a low scale, by a vector and by a matrix. It is a sum with
/// other numbers in other slots, times a small number in one of them.
#[test]
fn small_factors_keep_what_is_stated() {
    let s = insecure(LOG_DEGREE, 1, &[1]);
    let (slots, scale, count) = (s.context.max_slots(), Scale::power_of_two(18), 1000.0);
    let modulus = s.context.parameters().top();
    let sums = vec![count; slots];
    let plaintext = s.context.encode(Values::Real(&sums), slots, s.scale, modulus).unwrap();
    let sums = s.context.encrypt(&s.secret, &plaintext).unwrap().expand(&s.context);
    let factor = s.context.encode(Values::Real(&[1.0 / count]), slots, scale, modulus).unwrap();
    let by_vector = s.evaluator.mul_plain(&sums, &factor).unwrap();
    let mut diagonal = vec![Complex64::ZERO; slots];
    diagonal[0].re = 1.0 / count;
    let transform = LinearTransform::new(slots, [(1, diagonal)].into()).unwrap();
    let by_matrix = s.evaluator.linear_transform(&sums, &transform, scale).unwrap();
    for mean in [by_vector, by_matrix] {
        let have = s.context.decode_real(&s.context.decrypt(&s.secret, &mean).unwrap()).unwrap()[0];
        let stated = (-mean.precision_bits()).exp2();
        assert!((have - 1.0).abs() < 6.0 * stated, "{have}, {stated} is stated");
    }
}
