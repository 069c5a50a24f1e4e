//! Plaintexts over the integers, between the special FFT and the limbs.

use std::fmt;

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

/// Digits are below two to this.
pub(super) const DIGIT_BITS: u32 = 62;

/// The polynomial `2^shift (c_0 + c_1 X + ... + c_(N-1) X^(N-1))` with integers `c_k`: what an
/// encoded vector is before it is reduced modulo anything. It is wiped when dropped, and nothing
/// prints it.
///
/// The `c_k` have signed digits to the base `2^62`, all of the sign of the number: `c_k = sum_i
/// 2^(62 i) digit_(i,k)`. What comes from `f64` has one digit, and `shift` is 0 unless some
/// coefficient exceeds `2^62`; then `|c_k| <= 2^62` are rounded to units of `2^shift`, 2^-62 of the
/// largest, far below the rounding of the transform itself.
#[derive(Clone, PartialEq, Eq)]
pub struct IntegerPolynomial {
    /// The lowest digits.
    pub(super) coefficients: AVec<i64, ConstAlign<64>>,
    /// The others.
    pub(super) higher: Vec<AVec<i64, ConstAlign<64>>>,
    pub(super) shift: u32,
}

impl IntegerPolynomial {
    /// The zero polynomial of ring degree `degree`.
    pub fn zero(degree: usize) -> Self {
        IntegerPolynomial { coefficients: zeros(degree), higher: Vec::new(), shift: 0 }
    }

    /// The lowest digits of the numbers `c_k`: the numbers themselves if there is one digit.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The digits of the numbers `c_k`, the lowest first: one of each in each slice.
    pub fn digits(&self) -> impl DoubleEndedIterator<Item = &[i64]> {
        std::iter::once(&self.coefficients[..]).chain(self.higher.iter().map(|digits| &digits[..]))
    }

    /// What power of two they are multiplied by.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes so many digits, at least one, of what is zero.
    pub(super) fn set_digit_count(&mut self, count: usize) {
        self.higher = (1..count).map(|_| zeros(self.coefficients.len())).collect();
    }

    /// Sets `c_index` to an integer that has no more digits than there are here, given by its
    /// words, lowest first.
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
