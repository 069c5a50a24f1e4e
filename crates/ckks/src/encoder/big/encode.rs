//! Encoding of multi-precision numbers.

use num_complex::Complex;
use zeroize::Zeroizing;

use super::{
    super::{
        EncodeError, Encoder, IntegerPolynomial, Rounding, encode::check_count,
        integer::DIGIT_BITS, round,
    },
    fft::{self, Fft},
    fixed::{Fixed, Point, bit_length, shifted},
    with_words, words_for,
};
use crate::{BigFloat, Scale};

impl Encoder {
    /// Like [`Encoder::quantise_real`], for multi-precision numbers.
    ///
    /// Each coefficient is within `1/2 + 2^-8` of the exact one (or `1 + 2^-8` with a dither) if
    /// the largest scaled value is below `2^290 / slots`. Beyond that, it is within `2^-290 slots`
    /// of the largest scaled value.
    ///
    /// # Errors
    /// Fails as [`Encoder::encode_real`] does.
    pub fn quantise_big_real(
        &self,
        values: &[BigFloat],
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        modulus_bits: f64,
        out: &mut IntegerPolynomial,
    ) -> Result<(), EncodeError> {
        self.quantise_big(
            values.iter().map(|x| [Some(x), None]),
            slots,
            scale,
            rounding,
            modulus_bits,
            out,
        )
    }

    /// Like [`Encoder::quantise_big_real`], for complex values.
    ///
    /// # Errors
    /// Fails as [`Encoder::encode_real`] does.
    pub fn quantise_big_complex(
        &self,
        values: &[Complex<BigFloat>],
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        modulus_bits: f64,
        out: &mut IntegerPolynomial,
    ) -> Result<(), EncodeError> {
        let parts = values.iter().map(|z| [Some(&z.re), Some(&z.im)]);
        self.quantise_big(parts, slots, scale, rounding, modulus_bits, out)
    }

    /// Quantises values that are given as real and imaginary parts.
    fn quantise_big<'a>(
        &self,
        values: impl ExactSizeIterator<Item = [Option<&'a BigFloat>; 2]> + Clone,
        slots: usize,
        scale: Scale,
        rounding: Rounding,
        modulus_bits: f64,
        out: &mut IntegerPolynomial,
    ) -> Result<(), EncodeError> {
        self.check_slots(slots)?;
        check_count(values.len(), slots)?;
        *out = IntegerPolynomial::zero(self.degree);
        // All parts are below 2^top.
        let Some(top) = values.clone().flatten().flatten().filter_map(BigFloat::log2_ceil).max()
        else {
            return Ok(());
        };
        let log = i64::from(slots.ilog2());
        // A unit, before the division by the number of slots, is at most 2^-10 of a unit of the
        // result.
        let words = words_for(top + scale.log2().ceil() as i64 + 10 + 3 + log);
        with_words!(&self.big, words, |fft| {
            let (points, unit) = transformed(&fft, values.clone(), slots, top);
            let quantised = Quantised { points: &points, unit: unit - log, scale, rounding };
            let needed_bits = quantised.needed_bits();
            if needed_bits > modulus_bits {
                let needed_bits = needed_bits.ceil();
                return Err(EncodeError::TooLarge {
                    scale_bits: scale.log2(),
                    needed_bits,
                    modulus_bits,
                });
            }
            quantised.write(self.degree / (2 * slots), out);
            Ok(())
        })
    }
}

/// Computes the inverse transform of values below `2^top`. Returns `slots` times the coefficients,
/// in natural order, and the `u` for which they are in units of `2^u`.
///
/// A sum of all values has to fit with a bit to spare, so the largest value has `64 W - 3 -
/// log2(slots)` bits. The error of the result is at most `4 slots` units.
fn transformed<'a, const W: usize>(
    fft: &Fft<'_, W>,
    values: impl Iterator<Item = [Option<&'a BigFloat>; 2]>,
    slots: usize,
    top: i64,
) -> (Zeroizing<Vec<Point<W>>>, i64) {
    let unit = top - (64 * W as i64 - 3 - i64::from(slots.ilog2()));
    let fixed = |x: Option<&BigFloat>| match x {
        Some(x) => {
            let (negative, words, exponent) = x.to_words();
            Fixed::from_shifted(negative, &words, exponent - unit)
        }
        None => Fixed::ZERO,
    };
    let mut points = Zeroizing::new(Vec::with_capacity(slots));
    points.extend(values.map(|[re, im]| Point { re: fixed(re), im: fixed(im) }));
    points.resize(slots, Point::default());
    fft::reverse(&mut points);
    fft.inverse(&mut points);
    (points, unit)
}

/// Coefficients in units of `2^unit`, which are to be multiplied by `scale`.
struct Quantised<'a, const W: usize> {
    points: &'a [Point<W>],
    unit: i64,
    scale: Scale,
    rounding: Rounding,
}

impl<const W: usize> Quantised<'_, W> {
    /// The largest absolute value of a coefficient.
    fn largest(&self) -> [u64; W] {
        let parts = self.points.iter().flat_map(|z| [z.re.magnitude(), z.im.magnitude()]);
        parts.max_by(|a, b| a.iter().rev().cmp(b.iter().rev())).unwrap_or([0; W])
    }

    /// Returns `log2` of the smallest modulus that suffices.
    fn needed_bits(&self) -> f64 {
        let largest = self.largest();
        let low = bit_length(&largest) - 64;
        let mut top = [0];
        shifted(&mut top, &largest, -low.max(0));
        // A number that rounds up to 2^64 appears as 0 here.
        let top = if top[0] == 0 && low > 0 { 64.0 } else { (top[0] as f64).log2() };
        let magnitude = top + (low.max(0) + self.unit) as f64 + self.scale.log2();
        // A centred representative needs one bit more. The last term covers the rounding of this
        // computation.
        magnitude.max(0.0) + 1.0 + 1e-9
    }

    /// Multiplies the coefficients by the scale, rounds them, and writes the digits to every
    /// `gap`-th coefficient of `out`.
    fn write(&self, gap: usize, out: &mut IntegerPolynomial) {
        let (mantissa, exponent) = self.scale.to_parts();
        let mantissa = [mantissa as u64, (mantissa >> 64) as u64];
        // At most W words of the product are needed.
        let shift = self.unit + i64::from(exponent);
        let dropped = (-shift).max(128);
        out.shift = (shift + dropped) as u32;

        let (mut product, mut integer) = (Zeroizing::new([0; 8]), Zeroizing::new([0; 8]));
        multiply(&mut product[..W + 2], &self.largest(), &mantissa);
        shifted(&mut integer[..], &product[..W + 2], -dropped);
        // A dither may increase a number by one, and a power of two has one bit more than the
        // number below it.
        increment(&mut integer[..]);
        out.set_digit_count((bit_length(&integer[..]) as usize).div_ceil(DIGIT_BITS as usize));
        for (k, z) in self.points.iter().enumerate() {
            for (part, index) in [(z.re, k), (z.im, k + self.points.len())] {
                multiply(&mut product[..W + 2], &part.magnitude(), &mantissa);
                if self.rounding == Rounding::Dithered {
                    dither(&mut product[..W + 2], dropped, index as u64);
                }
                shifted(&mut integer[..], &product[..W + 2], -dropped);
                out.set(index * gap, part.is_negative(), &integer[..]);
            }
        }
    }
}

/// Adds 1 to an unsigned integer, lowest word first.
fn increment(x: &mut [u64]) {
    let mut carry = true;
    for x in x {
        (*x, carry) = x.overflowing_add(u64::from(carry));
    }
}

/// Adds the dither of coefficient `index`, minus 1/2, to `x / 2^dropped`, which is rounded to
/// nearest afterwards. `x` is unsigned, lowest word first. A negative result becomes 0. `dropped`
/// is at least 33.
fn dither(x: &mut [u64], dropped: i64, index: u64) {
    // The dither is in units of 2^-33.
    let amount = 2 * i64::from(round::dither_bits(index)) + 1 - (1 << 32);
    let (word, bit) = (((dropped - 33) / 64) as usize, (dropped - 33) % 64);
    // A shorter number is rounded to 0 in any case.
    let Some(x) = x.get_mut(word..) else { return };
    let shifted = u128::from(amount.unsigned_abs()) << bit;
    let words = [shifted as u64, (shifted >> 64) as u64].into_iter().chain(std::iter::repeat(0));
    let mut carry = false;
    for (x, y) in x.iter_mut().zip(words) {
        let step = if amount > 0 { u64::overflowing_add } else { u64::overflowing_sub };
        let (sum, first) = step(*x, y);
        let (sum, second) = step(sum, u64::from(carry));
        (*x, carry) = (sum, first | second);
    }
    // There is no branch, because the sign depends on the message.
    let kept = u64::from(carry && amount < 0).wrapping_sub(1);
    x.iter_mut().for_each(|x| *x &= kept);
}

/// Computes `out = a b`, unsigned. The length of `out` is the sum of the other two.
pub(super) fn multiply(out: &mut [u64], a: &[u64], b: &[u64]) {
    out.fill(0);
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0;
        for (out, &b) in out[i..].iter_mut().zip(b) {
            let t = u128::from(a) * u128::from(b) + u128::from(*out) + u128::from(carry);
            (*out, carry) = (t as u64, (t >> 64) as u64);
        }
        out[i + b.len()] = carry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Just below a power of two, a dithered coefficient may have one digit more than a rounded
    /// one.
    #[test]
    fn digits_are_enough_for_what_is_rounded_up() {
        const POINTS: usize = 32;
        for bits in [DIGIT_BITS, 2 * DIGIT_BITS] {
            // 2^bits - 3/4, in units of 2^-2: rounded down, and dithered up by 1/4 and more.
            let scaled = (1u128 << (bits + 2)) - 3;
            let x = Fixed::<4>::from_shifted(false, &[scaled as u64, (scaled >> 64) as u64], 0);
            let points = vec![Point { re: x, im: x }; POINTS];
            let quantised = Quantised {
                points: &points,
                unit: -2,
                scale: Scale::power_of_two(0),
                rounding: Rounding::Dithered,
            };
            let mut out = IntegerPolynomial::zero(2 * POINTS);
            quantised.write(1, &mut out);
            let digits: Vec<&[i64]> = out.digits().collect();
            let number = |k: usize| {
                digits
                    .iter()
                    .rev()
                    .fold(0i128, |sum, digits| (sum << DIGIT_BITS) + i128::from(digits[k]))
            };
            let up = (0..2 * POINTS).filter(|k| number(*k) == 1 << bits).count();
            let down = (0..2 * POINTS).filter(|k| number(*k) == (1 << bits) - 1).count();
            assert_eq!(up + down, 2 * POINTS, "{bits} bits");
            assert!(up > 0 && down > 0);
        }
    }
}
