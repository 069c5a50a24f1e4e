//! Gates by products and sums, without a bootstrap, as long as the operands have capacity.
//!
//! With operand errors `e_x` and `e_y`, and apart from rounding, the errors of the results are:
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

/// Extra bits of the scale of the square in [`Evaluator::clean_slots`], so that its rounding error
/// is negligible although it is multiplied by 3. Chosen.
const SQUARE_EXTRA_SCALE_BITS: i32 = 3;

/// Returns the error that [`Evaluator::clean_slots`] leaves of an error of `error`.
pub(super) fn cleaned_error(error: f64) -> f64 {
    (3.0 + 2.0 * error) * error * error
}

impl Evaluator {
    /// Returns the complements of the bits of `a`, exactly and without a product.
    ///
    /// # Errors
    /// Fails if `a` was made with other parameters.
    pub fn not_bits(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        let negative = self.negate(a.ciphertext())?;
        let out = self.add_to_bits(&negative, 1.0, a.packing())?;
        BitCiphertext::with_error(out, a.packing(), a.error(), "not")
    }

    /// Returns `bits`, followed by zeros, in a ciphertext that everybody can read, with the
    /// modulus, the scale and the packing of `like`.
    ///
    /// # Errors
    /// Fails as [`encode_bits`] does.
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

    /// Returns `a` and `b`, bit by bit, by one product.
    ///
    /// # Errors
    /// Fails as [`Evaluator::mul_rescale`] does, for complex packing, and if the result's bits
    /// would be too uncertain to decrypt.
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

    /// Returns `a` or `b`, bit by bit, by one product: `not (not a and not b)`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::and_bits`] does.
    pub fn or_bits(
        &self,
        a: &BitCiphertext,
        b: &BitCiphertext,
    ) -> Result<BitCiphertext, CkksError> {
        let and = self.and_bits(&self.not_bits(a)?, &self.not_bits(b)?)?;
        self.not_bits(&and)
    }

    /// Returns `a` exclusive-or `b`, bit by bit, by one product.
    ///
    /// # Errors
    /// Fails as [`Evaluator::and_bits`] does.
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
            let x_moved = self.moved_bits(x, OPERATION, |x| self.adjust(x, to, scale))?;
            error += x_moved.error() - x.error();
            self.add_assign(&mut out, x_moved.ciphertext())?;
        }
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// Returns the bits of `a` where `condition` is 1 and those of `b` where it is 0, by one
    /// product.
    ///
    /// # Errors
    /// Fails as [`Evaluator::and_bits`] does.
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
        let b_moved = self.moved_bits(b, OPERATION, |b| self.adjust(b, to, scale))?;
        let difference = self.sub(a.ciphertext(), b_moved.ciphertext())?;
        let (mut out, noise) = self.product_of_bits(condition.ciphertext(), &difference, 1)?;
        let (to, scale) = (out.modulus(), out.scale());
        let other = self.moved_bits(b, OPERATION, |b| self.adjust(b, to, scale))?;
        self.add_assign(&mut out, other.ciphertext())?;
        let (x, y) = (a.error(), b_moved.error());
        let error =
            x.max(y) + condition.error() * (1.0 + x + y) + other.error() - b.error() + noise;
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// Cleans bits: returns the same bits with an error of about `3 e^2` instead of `e`, by two
    /// products: `3 b^2 - 2 b^3`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::and_bits`] does.
    pub fn clean_bits(&self, a: &BitCiphertext) -> Result<BitCiphertext, CkksError> {
        const OPERATION: &str = "clean";
        check_real(a, OPERATION)?;
        let out = self.clean_slots(a.ciphertext(), a.ciphertext().scale(), None)?;
        let error = cleaned_error(a.error()) + error_of(&out);
        BitCiphertext::with_error(out, BitPacking::Real, error, OPERATION)
    }

    /// Returns `3 x^2 - 2 x^3` (Drucker, Moshkovich, Pelleg, Shaul, J. Cryptology 2024; Cheon, Kim,
    /// Kim, ASIACRYPT 2020, their `h_1`) at exactly `scale`, which is near the scale of `x`. The
    /// noise estimate of the result covers this evaluation only. The modulus is `to` if one is
    /// given. It has to lie about twice the scale below the modulus of `x`.
    ///
    /// The formula is `x^2 (3 - 2x)`, with a finer scale for the square. The first product is
    /// rescaled by fewer bits and the second by as many more, so the capacity used is the same.
    pub(super) fn clean_slots(
        &self,
        x: &Ciphertext,
        scale: Scale,
        to: Option<Modulus>,
    ) -> Result<Ciphertext, CkksError> {
        let mut x = x.clone();
        x.set_bound(1.0);
        x.inner_mut().set_noise(Noise::NONE);
        // A simple chain offers only one scale.
        let simple = self.context().parameters().top().sprout().is_one();
        let finer = Scale::power_of_two(if simple { 0 } else { SQUARE_EXTRA_SCALE_BITS });
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

    /// Returns `n a b`, rescaled to the scale of `a`, and the error that this adds.
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
        // The evaluator's own product also adds the noise of the operands, which the error bounds
        // contain already.
        self.context().rlwe().multiply_into(
            out.inner_mut(),
            a.inner(),
            b.inner(),
            n,
            self.keys(),
            to,
        )?;
        out.set_meta(self.switched_scale(scale, a.modulus(), to), a.slots(), bound);
        out.set_dry_run_values(a.dry_run_values().zip(b.dry_run_values(), |x, y| x * y * n as f64));
        let noise = error_of(&out);
        Ok((out, noise))
    }

    /// Returns both operands, in real slots, modulo the smaller one of their moduli.
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
        let at_common_modulus = |x: &'a BitCiphertext| match x.ciphertext().modulus() == to {
            true => Ok(Cow::Borrowed(x)),
            false => self.moved_bits(x, operation, |x| self.bring_to(x, to)).map(Cow::Owned),
        };
        Ok((at_common_modulus(a)?, at_common_modulus(b)?))
    }

    /// Moves `a` to another modulus or scale by `to`, and adds the noise of the move to its error.
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

    /// Adds a number to real slots, or to both parts of complex slots.
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

/// Fails for complex packing, which has no products.
fn check_real(a: &BitCiphertext, operation: &'static str) -> Result<(), CkksError> {
    match a.packing() {
        BitPacking::Real => Ok(()),
        BitPacking::Complex => Err(CkksError::Argument {
            operation,
            what: "bits in complex slots cannot be multiplied. Use a gate that bootstraps".into(),
        }),
    }
}
