//! Encoding of values into plaintexts.

use std::borrow::Borrow;

use hippocrene_ring::{Domain, Poly, ResidueRing, arith::pow_mod};
use num_complex::Complex64;

use super::{
    EncodeError, Encoder, IntegerPolynomial, Rounding, integer::DIGIT_BITS, round, scratch::Scratch,
};

/// Coefficients up to `2^62` are exact to the unit.
const INTEGER_BITS: i32 = 62;

impl Encoder {
    /// Encodes real `values` into the first of `slots` slots, with zeros in the others.
    ///
    /// The slots of the plaintext are `scale * values`, up to the rounding of its coefficients to
    /// nearest, modulo the product of the moduli of `rings`. `out` gets one limb for each ring, in
    /// the evaluation domain.
    ///
    /// # Errors
    /// Fails with [`EncodeError`] if a value is not finite, the scaled values do not fit the
    /// modulus, there are more values than slots, or the number of slots, the scale or a ring is
    /// not possible.
    pub fn encode_real<R: Borrow<ResidueRing>>(
        &self,
        values: &[f64],
        slots: usize,
        scale: f64,
        rings: &[R],
        out: &mut Poly,
    ) -> Result<(), EncodeError> {
        self.check_rings(rings)?;
        self.pool.lend(|scratch| {
            self.load_real(values, slots, scratch)?;
            self.quantise(slots, scale, Rounding::Nearest, modulus_bits(rings), scratch)?;
            self.reduce_all(&scratch.integers, rings, out)
        })
    }

    /// Like [`Encoder::encode_real`], for complex values.
    ///
    /// # Errors
    /// Fails as [`Encoder::encode_real`] does.
    pub fn encode_complex<R: Borrow<ResidueRing>>(
        &self,
        values: &[Complex64],
        slots: usize,
        scale: f64,
        rings: &[R],
        out: &mut Poly,
    ) -> Result<(), EncodeError> {
        self.check_rings(rings)?;
        self.pool.lend(|scratch| {
            self.load_complex(values, slots, scratch)?;
            self.quantise(slots, scale, Rounding::Nearest, modulus_bits(rings), scratch)?;
            self.reduce_all(&scratch.integers, rings, out)
        })
    }

    /// Runs the first half of [`Encoder::encode_real`]: computes the plaintext over the integers,
    /// for a modulus of `modulus_bits` bits. [`Encoder::reduce`] can reduce it modulo many primes,
    /// in any order and on many threads.
    ///
    /// # Errors
    /// Fails as [`Encoder::encode_real`] does.
    pub fn quantise_real(
        &self,
        values: &[f64],
        slots: usize,
        scale: f64,
        rounding: Rounding,
        modulus_bits: f64,
        out: &mut IntegerPolynomial,
    ) -> Result<(), EncodeError> {
        self.pool.lend(|scratch| {
            self.load_real(values, slots, scratch)?;
            self.quantise(slots, scale, rounding, modulus_bits, scratch)?;
            self.hand_over(scratch, out);
            Ok(())
        })
    }

    /// Like [`Encoder::quantise_real`], for complex values.
    ///
    /// # Errors
    /// Fails as [`Encoder::encode_real`] does.
    pub fn quantise_complex(
        &self,
        values: &[Complex64],
        slots: usize,
        scale: f64,
        rounding: Rounding,
        modulus_bits: f64,
        out: &mut IntegerPolynomial,
    ) -> Result<(), EncodeError> {
        self.pool.lend(|scratch| {
            self.load_complex(values, slots, scratch)?;
            self.quantise(slots, scale, rounding, modulus_bits, scratch)?;
            self.hand_over(scratch, out);
            Ok(())
        })
    }

    /// Runs the second half of encoding for one limb: computes `plaintext` modulo the modulus of
    /// `ring`, in the evaluation domain.
    ///
    /// # Errors
    /// Fails with [`EncodeError::Shape`] if the plaintext, the ring or the limb has another ring
    /// degree.
    pub fn reduce(
        &self,
        plaintext: &IntegerPolynomial,
        ring: &ResidueRing,
        out: &mut [u64],
    ) -> Result<(), EncodeError> {
        for have in [plaintext.coefficients.len(), ring.degree(), out.len()] {
            if have != self.degree {
                return Err(EncodeError::Shape { what: "coefficients", have, need: self.degree });
            }
        }
        let mut digits = plaintext.digits().rev();
        ring.from_signed(out, digits.next().unwrap_or_default());
        if !plaintext.higher.is_empty() {
            // Horner's rule, from the highest digits down.
            let base = ring.scalar(pow_mod(2, u64::from(DIGIT_BITS), ring.modulus()));
            let mut digit = self.limbs.take(1, Domain::Coefficient);
            for digits in digits {
                ring.mul_scalar_assign(out, &base);
                ring.from_signed(digit.limb_mut(0), digits);
                ring.add_assign(out, digit.limb(0));
            }
        }
        if plaintext.shift > 0 {
            let unit = pow_mod(2, u64::from(plaintext.shift), ring.modulus());
            ring.mul_scalar_assign(out, &ring.scalar(unit));
        }
        ring.forward(out);
        Ok(())
    }

    /// Reduces a plaintext modulo all rings.
    fn reduce_all<R: Borrow<ResidueRing>>(
        &self,
        plaintext: &IntegerPolynomial,
        rings: &[R],
        out: &mut Poly,
    ) -> Result<(), EncodeError> {
        if out.degree() != self.degree {
            return Err(EncodeError::Shape {
                what: "coefficients",
                have: out.degree(),
                need: self.degree,
            });
        }
        out.resize_limbs(rings.len());
        out.set_domain(Domain::Evaluation);
        rings
            .iter()
            .zip(out.limbs_mut())
            .try_for_each(|(ring, limb)| self.reduce(plaintext, ring.borrow(), limb))
    }

    /// Exchanges the quantised polynomial, which has one digit for each coefficient, with `out`.
    fn hand_over(&self, scratch: &mut Scratch, out: &mut IntegerPolynomial) {
        std::mem::swap(&mut scratch.integers, out);
        scratch.integers.coefficients.resize(self.degree, 0);
        scratch.integers.set_digit_count(1);
    }

    /// Copies real values and zeros into the slots of `scratch`.
    fn load_real(
        &self,
        values: &[f64],
        slots: usize,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        self.check_slots(slots)?;
        check_count(values.len(), slots)?;
        if !round::largest(self.kernel, values).is_finite() {
            return Err(not_finite(values.iter().copied().enumerate()));
        }
        let re = &mut scratch.slots.re[..slots];
        re[..values.len()].copy_from_slice(values);
        re[values.len()..].fill(0.0);
        scratch.slots.im[..slots].fill(0.0);
        Ok(())
    }

    /// Copies complex values and zeros into the slots of `scratch`.
    fn load_complex(
        &self,
        values: &[Complex64],
        slots: usize,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        self.check_slots(slots)?;
        check_count(values.len(), slots)?;
        let (re, im) = (&mut scratch.slots.re[..slots], &mut scratch.slots.im[..slots]);
        for ((re, im), value) in re.iter_mut().zip(im.iter_mut()).zip(values) {
            (*re, *im) = (value.re, value.im);
        }
        re[values.len()..].fill(0.0);
        im[values.len()..].fill(0.0);
        if !round::largest(self.kernel, re).is_finite()
            || !round::largest(self.kernel, im).is_finite()
        {
            return Err(not_finite(
                values.iter().enumerate().flat_map(|(i, z)| [(i, z.re), (i, z.im)]),
            ));
        }
        Ok(())
    }

    /// Transforms the slots in `scratch` to coefficients, scales them and rounds them.
    fn quantise(
        &self,
        slots: usize,
        scale: f64,
        rounding: Rounding,
        modulus_bits: f64,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        check_scale(scale)?;
        let (re, im) = (&scratch.slots.re[..slots], &scratch.slots.im[..slots]);
        let (x, y) = (&mut scratch.coefficients.re[..slots], &mut scratch.coefficients.im[..slots]);
        self.fft.inverse(re, im, x, y);

        let largest = |re: &[f64], im: &[f64]| {
            let (re, im) = (round::largest(self.kernel, re), round::largest(self.kernel, im));
            // `f64::max` would hide a NaN from an overflow.
            if re.to_bits() > im.to_bits() { re } else { im }
        };
        let magnitude = largest(x, y) / slots as f64 * scale;
        // A centred representative needs one bit more. The last term covers the rounding of this
        // computation.
        let needed_bits = if magnitude.is_finite() {
            magnitude.max(1.0).log2() + 1.0 + 1e-9
        } else {
            f64::INFINITY
        };
        if needed_bits > modulus_bits {
            let needed_bits = needed_bits.ceil();
            return Err(EncodeError::TooLarge {
                scale_bits: scale.log2(),
                needed_bits,
                modulus_bits,
            });
        }

        // The smallest power of two above `magnitude` must not exceed `2^INTEGER_BITS` after the
        // shift.
        let shift = ((magnitude.to_bits() >> 52) as i32 - 1022 - INTEGER_BITS).max(0);
        let factor = scale * 2f64.powi(-shift) / slots as f64;
        scratch.integers.shift = shift as u32;
        let integers = &mut scratch.integers.coefficients[..];
        let gap = self.degree / (2 * slots);
        if gap == 1 {
            let (low, high) = integers.split_at_mut(slots);
            match rounding {
                Rounding::Nearest => {
                    round::round(self.kernel, low, x, factor);
                    round::round(self.kernel, high, y, factor);
                }
                Rounding::Dithered => {
                    round::dither(self.kernel, low, x, factor, 0);
                    round::dither(self.kernel, high, y, factor, slots as u64);
                }
            }
        } else {
            integers.fill(0);
            let coefficients = x.iter().chain(y.iter()).map(|c| c * factor);
            for ((integer, c), index) in integers.iter_mut().step_by(gap).zip(coefficients).zip(0..)
            {
                *integer = match rounding {
                    Rounding::Nearest => round::nearest(c),
                    Rounding::Dithered => round::dithered(c, index),
                };
            }
        }
        Ok(())
    }
}

/// Returns `log2` of the product of the moduli.
fn modulus_bits<R: Borrow<ResidueRing>>(rings: &[R]) -> f64 {
    rings.iter().map(|ring| ring.borrow().log2()).sum()
}

/// Checks that a scale is positive and finite.
pub(super) fn check_scale(scale: f64) -> Result<(), EncodeError> {
    if scale.is_finite() && scale > 0.0 { Ok(()) } else { Err(EncodeError::Scale { scale }) }
}

/// Checks that the values fit the slots.
pub(super) fn check_count(values: usize, slots: usize) -> Result<(), EncodeError> {
    if values <= slots { Ok(()) } else { Err(EncodeError::TooManyValues { values, slots }) }
}

/// Returns the error for the first part that is not finite.
fn not_finite(mut parts: impl Iterator<Item = (usize, f64)>) -> EncodeError {
    let (index, value) = parts.find(|(_, x)| !x.is_finite()).unwrap_or((0, f64::NAN));
    EncodeError::NotFinite { index, value }
}
