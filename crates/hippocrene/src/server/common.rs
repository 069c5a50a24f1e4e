//! What the errors of elements of real and complex arrays have in common.

use hippocrene_ckks::{Ciphertext, Scale, Values, circuits::Spread};
use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use crate::{CiphertextBody, EncryptedArray};

/// The product of an array and a matrix, of so many rows and columns with these entries, with what the matrix makes the errors of its elements have in common, or more where that is said already. It may have been computed
/// from copies of elements, whose errors a map of slots takes as independent.
pub(super) fn with_errors_of_matrix(
    mut product: EncryptedArray,
    a: &EncryptedArray,
    [rows, columns]: [usize; 2],
    entries: impl IntoIterator<Item = (usize, usize, f64)>,
) -> EncryptedArray {
    let entries = entries.into_iter().map(|(i, j, weight)| (i, j, Complex64::from(weight)));
    let spread = Spread::of(rows, columns, entries);
    let Some(largest) = largest_error(a) else { return product };
    let common = spread.common(largest);
    for body in product.bodies_mut() {
        if let CiphertextBody::Full(c) = body {
            let (noise, here) = (c.inner().noise(), common.scaled(c.scale().log2()));
            if here.log2_std() > noise.common().log2_std() {
                c.set_noise(noise.with_common(here));
            }
        }
    }
    product
}

/// The largest error of the ciphertexts of an array, in the unit of their values.
pub(super) fn largest_error(a: &EncryptedArray) -> Option<Noise> {
    let errors = a.estimates().map(|(scale, noise, _)| noise.scaled(-scale.log2()));
    errors.max_by(|x, y| x.log2_std().total_cmp(&y.log2_std()))
}

/// The product with plain numbers in slots, at a scale: what errors have in common grows by the mean of the numbers that are not 0.
pub(super) fn with_errors_of_factors(
    product: Ciphertext,
    a: &Ciphertext,
    factors: Values<'_>,
    scale: Scale,
) -> Ciphertext {
    let common = a.inner().noise().common();
    if common == Noise::NONE {
        return product;
    }
    let sum_and_count = |numbers: &mut dyn Iterator<Item = Complex64>| {
        let nonzero = numbers.filter(|x| *x != Complex64::ZERO);
        nonzero.fold((Complex64::ZERO, 0.0), |(sum, count), x| (sum + x, count + 1.0))
    };
    let (sum, count) = match factors {
        Values::Real(v) => sum_and_count(&mut v.iter().map(Complex64::from)),
        Values::Complex(v) => sum_and_count(&mut v.iter().copied()),
        Values::Big(v) => sum_and_count(&mut v.iter().map(|x| Complex64::from(x.to_f64()))),
        Values::BigComplex(v) => {
            sum_and_count(&mut v.iter().map(|z| Complex64::new(z.re.to_f64(), z.im.to_f64())))
        }
    };
    let (noise, mean) = (product.inner().noise(), sum.norm() / f64::max(count, 1.0));
    product.with_noise(noise.with_common(common.scaled(scale.log2() + log2(mean))))
}
