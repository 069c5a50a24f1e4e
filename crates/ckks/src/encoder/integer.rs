//! Plaintexts over the integers, between the special FFT and the reduction modulo limbs.

use std::fmt;

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

/// Number of bits of a digit.
pub(super) const DIGIT_BITS: u32 = 62;

/// The polynomial `2^shift (c_0 + c_1 X + ... + c_(N-1) X^(N-1))` with integers `c_k`: an encoded
/// vector before it is reduced modulo anything. It is wiped when dropped, and `Debug` does not
/// print it.
///
/// The `c_k` have signed digits in base `2^62`, all with the sign of the number: `c_k = sum_i 2^(62
/// i) digit_(i,k)`. Values of `f64` give one digit. Their `shift` is 0 unless some coefficient
/// exceeds `2^62`. In that case the numbers are rounded to units of `2^shift` such that `|c_k| <=
/// 2^62`. This unit is 2^-62 of the largest coefficient, far below the rounding of the transform
/// itself.
///
/// # Examples
/// ```
/// use hippocrene_ckks::encoder::{Encoder, IntegerPolynomial, Rounding};
/// use hippocrene_ring::Kernel;
///
/// let encoder = Encoder::new(16, Kernel::detect()?)?;
/// let mut plaintext = IntegerPolynomial::zero(16);
/// // One slot that holds 3 at scale 4: the constant polynomial 12.
/// encoder.quantise_real(&[3.0], 1, 4.0, Rounding::Nearest, 10.0, &mut plaintext)?;
/// assert_eq!((plaintext.coefficients()[0], plaintext.shift()), (12, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IntegerPolynomial {
    /// The lowest digit of each coefficient.
    pub(super) coefficients: AVec<i64, ConstAlign<64>>,
    /// The higher digits of the coefficients, one vector for each place.
    pub(super) higher: Vec<AVec<i64, ConstAlign<64>>>,
    pub(super) shift: u32,
}

impl IntegerPolynomial {
    /// Returns the zero polynomial of ring degree `degree`.
    pub fn zero(degree: usize) -> Self {
        IntegerPolynomial { coefficients: zeros(degree), higher: Vec::new(), shift: 0 }
    }

    /// The lowest digits of the numbers `c_k`. If there is one digit, these are the numbers.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The digits of the numbers `c_k`, the lowest first: each slice holds one digit of every
    /// number.
    pub fn digits(&self) -> impl DoubleEndedIterator<Item = &[i64]> {
        std::iter::once(&self.coefficients[..]).chain(self.higher.iter().map(|digits| &digits[..]))
    }

    /// The exponent of the power of two that the numbers are multiplied by.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Allocates `count` digits, at least one, for a polynomial that is zero.
    pub(super) fn set_digit_count(&mut self, count: usize) {
        self.higher = (1..count).map(|_| zeros(self.coefficients.len())).collect();
    }

    /// Sets `c_index` to an integer that fits the digits. The integer is given by its words, lowest
    /// first.
    pub(super) fn set(&mut self, index: usize, negative: bool, magnitude: &[u64]) {
        let digits = std::iter::once(&mut self.coefficients).chain(&mut self.higher);
        for (place, digits) in (0..).step_by(DIGIT_BITS as usize).zip(digits) {
            let (word, bit) = (place / 64, place % 64);
            let low = magnitude.get(word).map_or(0, |x| x >> bit);
            let high = magnitude.get(word + 1).map_or(0, |x| (x << 1) << (63 - bit));
            let digit = ((low | high) & ((1 << DIGIT_BITS) - 1)) as i64;
            digits[index] = if negative { -digit } else { digit };
        }
    }
}

fn zeros(degree: usize) -> AVec<i64, ConstAlign<64>> {
    AVec::from_iter(64, std::iter::repeat_n(0, degree))
}

impl fmt::Debug for IntegerPolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shape = f.debug_struct("IntegerPolynomial");
        shape.field("degree", &self.coefficients.len()).field("digits", &self.digits().count());
        shape.field("shift", &self.shift).finish_non_exhaustive()
    }
}

impl Drop for IntegerPolynomial {
    fn drop(&mut self) {
        self.coefficients.zeroize();
        self.higher.iter_mut().for_each(|digits| digits.zeroize());
    }
}
