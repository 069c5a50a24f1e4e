//! Errors that the elements of a real or complex array share.

use hippocrene_ckks::{Ciphertext, Scale, Values, circuits::Spread};
use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use crate::{CiphertextBody, EncryptedArray};

/// Corrects the stated error of the product of an array and a matrix with `rows` rows and `columns`
/// columns.
///
/// Copies of an element share its error, but the product of copies with a map of slots states the
/// error as if the errors of all copies were independent. So the error of the product is raised to
/// the error that shared errors cause through the matrix with these `entries`, unless the stated
/// error is larger.
pub(in crate::server) fn with_errors_of_matrix(
    mut product: EncryptedArray,
    a: &EncryptedArray,
    [rows, columns]: [usize; 2],
    entries: impl IntoIterator<Item = (usize, usize, f64)>,
) -> EncryptedArray {
    let entries = entries.into_iter().map(|(i, j, weight)| (i, j, Complex64::from(weight)));
    let spread = Spread::of(rows, columns, entries);
    if let Some(largest) = largest_error(a) {
        state_common(&mut product, spread.common(largest));
    }
    product
}

/// Corrects the stated error of the product of an encrypted matrix and an encrypted vector,
/// including the error that its elements share.
///
/// Each element is a sum of `inner` products with the same elements of the vector. Their errors
/// reach every element, by factors that may be as large as the bound of the matrix, so that sums of
/// elements may add them up.
pub(in crate::server) fn with_errors_of_vector(
    mut product: EncryptedArray,
    matrix: &EncryptedArray,
    vector: &EncryptedArray,
    inner: usize,
) -> EncryptedArray {
    if let Some(largest) = largest_error(vector) {
        let common = largest.scaled(log2(matrix.bound()) + 0.5 * log2(inner as f64));
        state_common(&mut product, common);
    }
    product
}

/// Raises the error that elements share to at least `common`, in the unit of the values.
fn state_common(array: &mut EncryptedArray, common: Noise) {
    for body in array.bodies_mut() {
        if let CiphertextBody::Full(c) = body {
            let (noise, here) = (c.inner().noise(), common.scaled(c.scale().log2()));
            if here.log2_std() > noise.common().log2_std() {
                c.set_noise(noise.with_common(here));
            }
        }
    }
}

/// Returns the largest error of the ciphertexts of an array, in the unit of their values.
pub(in crate::server) fn largest_error(a: &EncryptedArray) -> Option<Noise> {
    let errors = a.estimates().map(|(scale, noise, _)| noise.scaled(-scale.log2()));
    errors.max_by(|x, y| x.log2_std().total_cmp(&y.log2_std()))
}

/// Corrects the stated error of a product with plain numbers in slots, encoded at `scale`. The
/// shared error is multiplied by the mean of the numbers that are not 0.
pub(in crate::server) fn with_errors_of_factors(
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
