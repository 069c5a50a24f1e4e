//! Gates by products, and what costs none: while there is capacity.
//!
//! Errors, of operands with errors `e_x` and `e_y`, beside what rounding adds:
//!
//! | operation | formula | error |
//! |---|---|---|
//! | not | `1 - x` | `e_x` |
//! | and, or | `x y`, `x + y - x y` | `e_x + e_y + e_x e_y` |
//! | xor | `x + y - 2 x y` | `e_x + e_y + 2 e_x e_y` |
//! | select | `y + c (x - y)` | `max(e_x, e_y) + e_c (1 + e_x + e_y)` |
//! | clean | `3 x^2 - 2 x^3` | `3 e_x^2 + 2 e_x^3` |

use std::borrow::Cow;

use hippocrene_rlwe::{Modulus, Noise};

use super::{BitCiphertext, BitPacking, DEVIATIONS, ciphertext::error_of, encode_bits};
use crate::{Ciphertext, CkksError, Evaluator, Scale};

/// By how many bits the scale of the square in [`Evaluator::cleaned`] is larger, so that its
/// rounding, which is multiplied by 3, does not count.
const FINER: i32 = 3;

/// The error of [`Evaluator::cleaned`] where it was `error`.
pub(super) fn cleaned(error: f64) -> f64 {
    (3.0 + 2.0 * error) * error * error
}

impl Evaluator {
    /// The bits that `a` does not have, exactly.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn not_bits(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        let negative = self.negate(a.ciphertext())?;
        let out = self.add_to_bits(&negative, 1.0, a.packing())?;
        BitCiphertext::with_error(out, a.packing(), a.error(), "not")
    }

    /// Bits that everybody can read, in a ciphertext with the modulus, the scale and the packing of
    /// `like`: `bits`, and zeros after them.
    ///
    /// # Errors
    /// As [`encode_bits`].
    pub fn public_bits(
        &self,
        like: &BitCiphertext,
        bits: &[bool],
    ) -> Result<BitCiphertext, CkksError> {
        let zero = self.mul_integer(like.ciphertext(), 0)?;
        let (scale, modulus) = (zero.scale(), zero.modulus());
        let plain =
            encode_bits(self.context(), bits, like.packing(), zero.slots(), scale, modulus)?;
        BitCiphertext::declare(self.add_plain(&zero, &plain)?, like.packing())
    }

    /// `a` and `b`, by a product.
    ///
    /// # Errors
    /// As [`Evaluator::mul_rescale`], for bits in complex slots, and when they could not be told
    /// any more.
    pub fn and_bits(
        &self,
        a: &BitCiphertext,
        b: &BitCiphertext,
    ) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "and";
        let (a, b) = self.paired_bits(a, b, OPERATION)?;
        let (out, noise) = self.product_of_bits(a.ciphertext(), b.ciphertext(), 1)?;
        let (x, y) = (a.error(), b.error());
        BitCiphertext::with_error(out, BitPacking::Real, x + y + x * y + noise, OPERATION)
    }

    /// `a` or `b`, by a product: `not (not a and not b)`.
    ///
    /// # Errors
    /// As [`Evaluator::and_bits`].
    pub fn or_bits(
        &self,
        a: &BitCiphertext,
        b: &BitCiphertext,
    ) -> Result<BitCiphertext, CkksError> {
        let and = self.and_bits(&self.not_bits(a)?, &self.not_bits(b)?)?;
        self.not_bits(&and)
    }

    /// Either `a` or `b`, by a product.
    ///
    /// # Errors
    /// As [`Evaluator::and_bits`].
    pub fn xor_bits(
        &self,
        a: &BitCiphertext,
        b: &BitCiphertext,
    ) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "xor";
        let (a, b) = self.paired_bits(a, b, OPERATION)?;
        let (product, noise) = self.product_of_bits(a.ciphertext(), b.ciphertext(), 2)?;
        let mut out = self.negate(&product)?;
        let mut error = a.error() + b.error() + 2.0 * a.error() * b.error() + noise;
        for x in [&a, &b] {
            let (to, scale) = (product.modulus(), product.scale());
            let x_there = self.moved_bits(x, OPERATION, |x| self.adjust(x, to, scale))?;
            error += x_there.error() - x.error();
            self.add_assign(&mut out, x_there.ciphertext())?;
        }
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// The bits of `a` where `condition` is 1, those of `b` where it is 0: a product.
    ///
    /// # Errors
    /// As [`Evaluator::and_bits`].
    pub fn select_bits(
        &self,
        condition: &BitCiphertext,
        a: &BitCiphertext,
        b: &BitCiphertext,
    ) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "select";
        let (condition, a) = self.paired_bits(condition, a, OPERATION)?;
        check_real(b, OPERATION)?;
        let (to, scale) = (a.ciphertext().modulus(), a.ciphertext().scale());
        let b_there = self.moved_bits(b, OPERATION, |b| self.adjust(b, to, scale))?;
        let difference = self.sub(a.ciphertext(), b_there.ciphertext())?;
        let (mut out, noise) = self.product_of_bits(condition.ciphertext(), &difference, 1)?;
        let (to, scale) = (out.modulus(), out.scale());
        let other = self.moved_bits(b, OPERATION, |b| self.adjust(b, to, scale))?;
        self.add_assign(&mut out, other.ciphertext())?;
        let (x, y) = (a.error(), b_there.error());
        let error =
            x.max(y) + condition.error() * (1.0 + x + y) + other.error() - b.error() + noise;
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// The same bits with the square of their error, by two products: `3 b^2 - 2 b^3`.
    ///
    /// # Errors
    /// As [`Evaluator::and_bits`].
    pub fn clean_bits(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "clean";
        check_real(a, OPERATION)?;
        let out = self.cleaned(a.ciphertext(), a.ciphertext().scale(), None)?;
        let error = cleaned(a.error()) + error_of(&out);
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// `3 x^2 - 2 x^3` (Drucker, Moshkovich, Pelleg, Shaul, J. Cryptology 2024; Cheon, Kim, Kim,
    /// ASIACRYPT 2020, their `h_1`), exactly at this scale, which is near that of `x`, and with the
    /// noise of its evaluation alone; modulo `to` where one is wanted, which is about twice the
    /// scale below the modulus of `x`.
    ///
    /// It is `x^2 (3 - 2x)`, with a finer square: what one product is rescaled less, the other is
    /// more, and the same bits are used up.
    pub(super) fn cleaned(
        &self,
        x: &Ciphertext,
        scale: Scale,
        to: Option<Modulus>,
    ) -> Result<Ciphertext, CkksError> {
        let mut x = x.clone();
        x.set_bound(1.0);
        x.inner_mut().set_noise(Noise::NONE);
        // A simple chain has one scale only.
        let simple = self.context().parameters().top().sprout().is_one();
        let finer = Scale::power_of_two(if simple { 0 } else { FINER });
        let (middle, square_scale) =
            self.after_square(x.modulus(), x.scale(), x.scale().times(finer));
        let nearest = || self.rescaled_modulus(middle, square_scale.times(x.scale()), scale);
        let to = to.unwrap_or_else(nearest);
        let factor_scale = self.switched_scale(scale, to, middle).over(square_scale);
        let mut square = Ciphertext::empty(self.context());
        self.mul_to_into(&mut square, &x, &x, middle)?;
        let double = self.adjust(&self.mul_integer(&x, -2)?, middle, factor_scale)?;
        let mut factor = self.add_number(&double, 3.0)?;
        factor.set_bound(3.0);
        let mut out = Ciphertext::empty(self.context());
        self.mul_to_into(&mut out, &square, &factor, to)?;
        out.set_meta(scale, out.slots(), 1.0);
        Ok(out)
    }

    /// `n a b`, rescaled to the scale of `a`, and the error that this adds.
    fn product_of_bits(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        n: u64,
    ) -> Result<(Ciphertext, f64), CkksError> {
        let scale = a.scale().times(b.scale());
        let bound = n as f64 * a.bound() * b.bound();
        self.check_slots(a, b, "multiply bits")?;
        self.check_capacity(a, a.modulus(), scale.log2(), bound, "multiply bits")?;
        let to = self.rescaled_modulus(a.modulus(), scale, a.scale());
        let mut out = Ciphertext::empty(self.context());
        // Not the evaluator's own, whose noise is that of the operands as well.
        self.context().rlwe().multiply_into(
            out.inner_mut(),
            a.inner(),
            b.inner(),
            n,
            self.keys(),
            to,
        )?;
        out.set_meta(self.switched_scale(scale, a.modulus(), to), a.slots(), bound);
        out.set_known(a.known().zip(b.known(), |x, y| x * y * n as f64));
        let noise = error_of(&out);
        Ok((out, noise))
    }

    /// Both, in real slots, modulo the smaller one of their moduli.
    fn paired_bits<'a>(
        &self,
        a: &'a BitCiphertext,
        b: &'a BitCiphertext,
        operation: &'static str,
    ) -> Result<(Cow<'a, BitCiphertext>, Cow<'a, BitCiphertext>), CkksError> {
        check_real(a, operation)?;
        check_real(b, operation)?;
        let moduli = [a, b].map(|x| x.ciphertext().modulus());
        let to: Modulus =
            if self.log2(moduli[0]) <= self.log2(moduli[1]) { moduli[0] } else { moduli[1] };
        let brought = |x: &'a BitCiphertext| match x.ciphertext().modulus() == to {
            true => Ok(Cow::Borrowed(x)),
            false => self.moved_bits(x, operation, |x| self.bring_to(x, to)).map(Cow::Owned),
        };
        Ok((brought(a)?, brought(b)?))
    }

    /// `a` moved to another modulus or scale: what that adds to the noise is added to the error.
    pub(super) fn moved_bits(
        &self,
        a: &BitCiphertext,
        operation: &'static str,
        to: impl FnOnce(&Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<BitCiphertext, CkksError> {
        let moved = to(a.ciphertext())?;
        let (before, after) = (a.error() / DEVIATIONS, error_of(&moved) / DEVIATIONS);
        let added = (after * after - before * before).max(0.0).sqrt();
        BitCiphertext::with_error(moved, a.packing(), a.error() + DEVIATIONS * added, operation)
    }

    /// A number added to both parts of complex slots, or to real slots.
    pub(super) fn add_to_bits(
        &self,
        a: &Ciphertext,
        number: f64,
        packing: BitPacking,
    ) -> Result<Ciphertext, CkksError> {
        let real = self.add_number(a, number)?;
        match packing {
            BitPacking::Real => Ok(real),
            // a + i = i (1 - i a)
            BitPacking::Complex => {
                let turned = self.negate(&self.mul_by_i(&real)?)?;
                self.mul_by_i(&self.add_number(&turned, number)?)
            }
        }
    }
}

fn check_real(a: &BitCiphertext, operation: &'static str) -> Result<(), CkksError> {
    match a.packing() {
        BitPacking::Real => Ok(()),
        BitPacking::Complex => Err(CkksError::Argument {
            operation,
            what: "bits in complex slots have no products: gates that bootstrap take them".into(),
        }),
    }
}
