//! Decoding into multi-precision numbers.

use std::{borrow::Borrow, ops::Range};

use hippocrene_ring::{Poly, ResidueRing};
use num_bigint::BigUint;
use num_complex::Complex;
use zeroize::{Zeroize, Zeroizing};

use super::{
    super::{
        EncodeError, Encoder,
        decode::{ASSUMED_HEADROOM_BITS, Recombined},
        mixed_radix::{BLOCK, MixedRadix},
    },
    encode::multiply,
    fft::{self, Fft},
    fixed::{Fixed, Point, bit_length, shifted},
    with_words, words_for,
};
use crate::{BigFloat, Scale};

impl Encoder {
    /// Like [`Encoder::decode_real`], for multi-precision results: decodes the real parts of
    /// `slots` slots.
    ///
    /// Each is within `2^-8/scale` of the exact one if the coefficients are below `2^300 /
    /// slots^2`. Otherwise it is within `2^-300 slots^2` of the largest coefficient divided by the
    /// scale.
    ///
    /// # Errors
    /// Fails with [`EncodeError`] if the number of slots or the shape is not possible, or if the
    /// result is outside of the range of [`BigFloat`].
    pub fn decode_big_real<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: Scale,
        magnitude_bits: Option<f64>,
        slots: usize,
    ) -> Result<Vec<BigFloat>, EncodeError> {
        let coefficients = self.big_coefficients(plaintext, rings, scale, magnitude_bits, slots)?;
        with_words!(&self.big, coefficients.words_needed(), |fft| {
            let (points, number) = coefficients.transformed(&fft, scale);
            points.iter().map(|z| number.of(z.re)).collect()
        })
    }

    /// Like [`Encoder::decode_big_real`], with the imaginary parts.
    ///
    /// # Errors
    /// Fails as [`Encoder::decode_big_real`] does.
    pub fn decode_big_complex<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: Scale,
        magnitude_bits: Option<f64>,
        slots: usize,
    ) -> Result<Vec<Complex<BigFloat>>, EncodeError> {
        let coefficients = self.big_coefficients(plaintext, rings, scale, magnitude_bits, slots)?;
        with_words!(&self.big, coefficients.words_needed(), |fft| {
            let (points, number) = coefficients.transformed(&fft, scale);
            points
                .iter()
                .map(|z| Ok(Complex { re: number.of(z.re)?, im: number.of(z.im)? }))
                .collect()
        })
    }

    /// Recombines the coefficients as integers.
    fn big_coefficients<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &Poly,
        rings: &[R],
        scale: Scale,
        magnitude_bits: Option<f64>,
        slots: usize,
    ) -> Result<Coefficients, EncodeError> {
        let mut out = Coefficients::new(slots);
        let likely_bits = magnitude_bits.unwrap_or(scale.log2() + ASSUMED_HEADROOM_BITS);
        self.pool.lend(|scratch| {
            self.recombine(plaintext, rings, likely_bits, slots, &mut scratch.blocks, &mut out)
        })?;
        Ok(out)
    }
}

/// The coefficients of the slots, as integers.
struct Coefficients {
    slots: usize,
    /// Number of words of each integer.
    length: usize,
    /// `q_0 ... q_(j-1)` for every `j`.
    weights: Vec<u64>,
    /// `sum_(i < j) floor(q_i/2) q_0 ... q_(i-1)` for `j >= 1`: the offset by which `j` unsigned
    /// digits are too large.
    offsets: Vec<u64>,
    /// The integers in two's complement. The lower half of the coefficients comes first.
    integers: Vec<u64>,
    /// Number of bits of the largest absolute value.
    bits: i64,
}

/// Wipes the coefficients, which a client has decrypted.
impl Drop for Coefficients {
    fn drop(&mut self) {
        self.integers.zeroize();
    }
}

/// Computes `sum += factor weight` for unsigned integers of equal length. An overflow is cut off.
fn add_multiple(sum: &mut [u64], weight: &[u64], factor: u64) {
    let mut carry = 0;
    for (sum, &weight) in sum.iter_mut().zip(weight) {
        let t = u128::from(factor) * u128::from(weight) + u128::from(*sum) + u128::from(carry);
        (*sum, carry) = (t as u64, (t >> 64) as u64);
    }
}

/// Computes `a -= b`, in two's complement.
fn subtract(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (a, &b) in a.iter_mut().zip(b) {
        let (difference, first) = a.overflowing_sub(b);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (*a, borrow) = (difference, first | second);
    }
}

/// Computes `a = -a`, in two's complement.
fn negate(a: &mut [u64]) {
    let mut carry = true;
    for a in a {
        (*a, carry) = (!*a).overflowing_add(u64::from(carry));
    }
}

impl Recombined for Coefficients {
    fn begin(&mut self, radix: &MixedRadix) {
        let moduli = radix.moduli();
        // Room for the sign and for the product of all moduli.
        let length = (radix.log2(moduli.len()) as usize + 2) / 64 + 1;
        let mut weight = vec![0; length];
        weight[0] = 1;
        let mut offset = vec![0; length];
        (self.weights, self.offsets) = (Vec::new(), Vec::new());
        for (&q, &half) in moduli.iter().zip(radix.halves()) {
            self.weights.extend_from_slice(&weight);
            add_multiple(&mut offset, &weight, half);
            self.offsets.extend_from_slice(&offset);
            let previous = weight.clone();
            weight.fill(0);
            add_multiple(&mut weight, &previous, q);
        }
        (self.length, self.bits) = (length, 0);
        self.integers.clear();
        self.integers.resize(2 * self.slots * length, 0);
    }

    fn block(
        &mut self,
        _radix: &MixedRadix,
        digits: &[u64],
        count: usize,
        half: usize,
        places: Range<usize>,
    ) -> Result<(), EncodeError> {
        let length = self.length;
        let offset = &self.offsets[(count - 1) * length..count * length];
        let places = half * self.slots + places.start..half * self.slots + places.end;
        let integers = &mut self.integers[places.start * length..places.end * length];
        let mut magnitude = Zeroizing::new(vec![0; length]);
        for (i, integer) in integers.chunks_exact_mut(length).enumerate() {
            for (weight, digits) in
                self.weights.chunks_exact(length).zip(digits.chunks_exact(BLOCK)).take(count)
            {
                add_multiple(integer, weight, digits[i]);
            }
            subtract(integer, offset);
            magnitude.copy_from_slice(integer);
            if integer[length - 1] >> 63 == 1 {
                negate(&mut magnitude);
            }
            self.bits = self.bits.max(bit_length(&magnitude));
        }
        Ok(())
    }
}

impl Coefficients {
    fn new(slots: usize) -> Self {
        Coefficients {
            slots,
            length: 0,
            weights: Vec::new(),
            offsets: Vec::new(),
            integers: Vec::new(),
            bits: 0,
        }
    }

    fn log_slots(&self) -> i64 {
        i64::from(self.slots.ilog2())
    }

    /// The number of words for which five units for each slot ([`Coefficients::transformed`]) are
    /// below `2^-8`.
    fn words_needed(&self) -> u32 {
        words_for(self.bits + 2 * self.log_slots() + 14)
    }

    /// Returns the slots, in natural order, and the conversion of their units to numbers.
    ///
    /// A sum of all coefficients has to fit with a bit to spare, so the largest coefficient has `64
    /// W - 3 - log2(slots)` bits. With `n` slots, the error is at most `4 n` units, and `2 n` more
    /// from the dropped bits.
    fn transformed<const W: usize>(
        &self,
        fft: &Fft<'_, W>,
        scale: Scale,
    ) -> (Zeroizing<Vec<Point<W>>>, Number<W>) {
        let unit = self.bits - (64 * W as i64 - 3 - self.log_slots());
        let mut magnitude = Zeroizing::new(vec![0; self.length]);
        let mut fixed = |index: usize| {
            magnitude
                .copy_from_slice(&self.integers[index * self.length..(index + 1) * self.length]);
            let negative = magnitude[self.length - 1] >> 63 == 1;
            if negative {
                negate(&mut magnitude);
            }
            Fixed::from_shifted(negative, &magnitude, -unit)
        };
        let mut points = Zeroizing::new(Vec::with_capacity(self.slots));
        points.extend((0..self.slots).map(|k| Point { re: fixed(k), im: fixed(k + self.slots) }));
        fft.forward(&mut points);
        fft::reverse(&mut points);
        (points, Number::new(scale, unit, self.log_slots() + 2))
    }
}

/// The conversion of fixed-point numbers to multi-precision numbers.
struct Number<const W: usize> {
    /// Number of low bits that are dropped.
    dropped: i64,
    /// `2^(64 W + 127)` divided by the mantissa of the scale, rounded. It is in `[2^(64 W - 1),
    /// 2^(64 W)]`.
    reciprocal: Vec<u64>,
    /// log2 of a unit of the result.
    exponent: i64,
}

impl<const W: usize> Number<W> {
    fn new(scale: Scale, unit: i64, dropped: i64) -> Self {
        let (mantissa, exponent) = scale.to_parts();
        let mantissa = BigUint::from(mantissa);
        let reciprocal: BigUint =
            ((BigUint::from(1u8) << (64 * W + 127)) + (&mantissa >> 1)) / mantissa;
        Number {
            dropped,
            reciprocal: reciprocal.to_u64_digits(),
            // The product with the reciprocal is divided by 2^(64 W).
            exponent: unit + dropped - 127 - i64::from(exponent),
        }
    }

    /// Returns `x` units divided by the scale.
    fn of(&self, x: Fixed<W>) -> Result<BigFloat, EncodeError> {
        let mut product = Zeroizing::new([0; 12]);
        let product = &mut product[..W + self.reciprocal.len()];
        multiply(product, &x.magnitude(), &self.reciprocal);
        let mut result = Zeroizing::new([0; 8]);
        shifted(&mut result[..W + 1], product, -(64 * W as i64) - self.dropped);
        Ok(BigFloat::from_words(x.is_negative(), &result[..W + 1], self.exponent)?)
    }
}
