//! Plaintexts over the integers, between the special FFT and the limbs.

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

/// The polynomial `2^shift (c_0 + c_1 X + ... + c_(N-1) X^(N-1))` with signed 64-bit `c_k`: what an encoded vector is before
/// it is reduced modulo anything. `shift` is 0 unless some coefficient exceeds `2^62`; then `|c_k| <= 2^62` are rounded to
/// units of `2^shift`, 2^-62 of the largest, far below the rounding of the transform itself. It is wiped when dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerPolynomial {
    pub(super) coefficients: AVec<i64, ConstAlign<64>>,
    pub(super) shift: u32,
}

impl IntegerPolynomial {
    /// The zero polynomial of ring degree `degree`.
    pub fn zero(degree: usize) -> Self {
        IntegerPolynomial { coefficients: AVec::from_iter(64, std::iter::repeat_n(0, degree)), shift: 0 }
    }

    /// The numbers `c_k`.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// What power of two they are multiplied by.
    pub fn shift(&self) -> u32 {
        self.shift
    }
}

impl Drop for IntegerPolynomial {
    fn drop(&mut self) {
        self.coefficients.zeroize();
    }
}
