//! Sums, and products with what is not encrypted.

use hippocrene_ring::arith::{mul_mod, neg_mod, pow_mod};
use hippocrene_rlwe::Noise;

use super::Evaluator;
use crate::{Ciphertext, CkksError, Plaintext, Scale, context::encoding_noise};

/// An integer `(-1)^negative magnitude 2^shift`, to be reduced modulo many primes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Integer {
    negative: bool,
    magnitude: u128,
    shift: u32,
}

impl Integer {
    /// The integer nearest to `value scale`, exact in the 53 bits of `value`.
    pub(super) fn scaled(value: f64, scale: Scale) -> Option<Self> {
        if value == 0.0 {
            return Some(Integer { negative: false, magnitude: 0, shift: 0 });
        }
        let (mantissa, exponent) = Scale::from_f64(value.abs())?.times(scale).to_parts();
        let (magnitude, shift) = match exponent {
            0.. => (mantissa, exponent.unsigned_abs()),
            -127..0 => {
                let drop = exponent.unsigned_abs();
                ((mantissa >> drop) + (mantissa >> (drop - 1) & 1), 0)
            }
            -128 => (1, 0), // the mantissa's top bit is set: at least one half
            _ => (0, 0),
        };
        Some(Integer { negative: value < 0.0, magnitude, shift })
    }

    pub(super) fn positive(magnitude: u128) -> Self {
        Integer { negative: false, magnitude, shift: 0 }
    }

    pub(super) fn residue(self, q: u64) -> u64 {
        let r = (self.magnitude % u128::from(q)) as u64;
        let r = mul_mod(r, pow_mod(2, u64::from(self.shift), q), q);
        if self.negative { neg_mod(r, q) } else { r }
    }
}

impl Evaluator {
    /// `a + b`, slot by slot.
    ///
    /// # Errors
    /// When moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = a.clone();
        self.add_assign(&mut out, b)?;
        Ok(out)
    }

    /// `a += b`, slot by slot.
    ///
    /// # Errors
    /// When moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), CkksError> {
        self.check_terms(a, b, "add")?;
        self.context().rlwe().add_assign(a.inner_mut(), b.inner())?;
        a.set_bound(a.bound() + b.bound());
        Ok(())
    }

    /// `a - b`, slot by slot.
    ///
    /// # Errors
    /// When moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = a.clone();
        self.sub_assign(&mut out, b)?;
        Ok(out)
    }

    /// `a -= b`, slot by slot.
    ///
    /// # Errors
    /// When moduli, scales, slots or keys differ; see [`Evaluator::align`].
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<(), CkksError> {
        self.check_terms(a, b, "subtract")?;
        self.context().rlwe().sub_assign(a.inner_mut(), b.inner())?;
        a.set_bound(a.bound() + b.bound());
        Ok(())
    }

    fn check_terms(&self, a: &Ciphertext, b: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
        self.check_slots(a, b, operation)?;
        self.context().rlwe().check_pair(a.inner(), b.inner(), operation)?;
        self.check_scales(a.scale(), b.scale(), operation)?;
        self.check_capacity(a, a.modulus(), a.scale().log2(), a.bound() + b.bound(), operation)
    }

    /// `-a`.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = a.clone();
        self.context().rlwe().negate_assign(out.inner_mut())?;
        Ok(out)
    }

    /// `a + p` for an encoded vector of `a`'s modulus, scale and slots.
    ///
    /// # Errors
    /// When they differ.
    pub fn add_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "add a plaintext";
        self.check_plain_slots(a, p, OPERATION)?;
        self.check_scales(a.scale(), p.scale(), OPERATION)?;
        self.check_capacity(a, a.modulus(), a.scale().log2(), a.bound() + p.bound(), OPERATION)?;
        let mut out = a.clone();
        self.context().rlwe().add_plain_assign(out.inner_mut(), p.poly())?;
        out.inner_mut().set_noise(a.inner().noise().plus(encoding_noise()));
        out.set_bound(a.bound() + p.bound());
        Ok(out)
    }

    /// `a c` for an encoded vector `c` of `a`'s modulus and slots; the scales multiply. Rescale afterwards.
    ///
    /// # Errors
    /// When modulus or slots differ, or the product does not fit the modulus.
    pub fn mul_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "multiply by a plaintext";
        self.check_plain_slots(a, p, OPERATION)?;
        let scale = a.scale().times(p.scale());
        let bound = a.bound() * p.bound();
        self.check_capacity(a, a.modulus(), scale.log2(), bound, OPERATION)?;
        let mut out = a.clone();
        self.context().rlwe().mul_plain_assign(out.inner_mut(), p.poly())?;
        out.inner_mut().set_noise(self.plain_product_noise(a, p));
        out.set_meta(scale, a.slots(), bound);
        Ok(out)
    }

    /// `acc += a p`: `acc` has the scale of the product.
    ///
    /// # Errors
    /// When moduli, slots or scales do not fit.
    pub fn mul_plain_add_assign(
        &self,
        acc: &mut Ciphertext,
        a: &Ciphertext,
        p: &Plaintext,
    ) -> Result<(), CkksError> {
        const OPERATION: &str = "multiply by a plaintext and add";
        self.check_plain_slots(a, p, OPERATION)?;
        self.check_slots(acc, a, OPERATION)?;
        self.check_scales(acc.scale(), a.scale().times(p.scale()), OPERATION)?;
        let bound = acc.bound() + a.bound() * p.bound();
        self.check_capacity(acc, a.modulus(), acc.scale().log2(), bound, OPERATION)?;
        self.context().rlwe().mul_plain_add_assign(acc.inner_mut(), a.inner(), p.poly())?;
        let noise = acc.inner().noise().plus(self.plain_product_noise(a, p));
        acc.inner_mut().set_noise(noise);
        acc.set_bound(bound);
        Ok(())
    }

    /// `m_p e_a + m_a e_p`, `e_p` the rounding of the plaintext.
    fn plain_product_noise(&self, a: &Ciphertext, p: &Plaintext) -> Noise {
        Self::message_times(p.scale().log2(), p.bound(), a.inner().noise()).plus(Self::message_times(
            a.scale().log2(),
            a.bound(),
            encoding_noise(),
        ))
    }

    fn check_plain_slots(
        &self,
        a: &Ciphertext,
        p: &Plaintext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        if a.slots() == p.slots() {
            Ok(())
        } else {
            Err(CkksError::SlotMismatch { operation, left: a.slots(), right: p.slots() })
        }
    }

    /// `a + c`, the number `c` added to every slot.
    ///
    /// # Errors
    /// When `c` is not finite or too large for the modulus.
    pub fn add_number(&self, a: &Ciphertext, c: f64) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "add a number";
        let integer = self.integer(c, a.scale(), OPERATION)?;
        let bound = a.bound() + c.abs();
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, OPERATION)?;
        let mut out = a.clone();
        self.context().rlwe().add_constant_assign(out.inner_mut(), |q| integer.residue(q))?;
        out.set_bound(bound);
        Ok(out)
    }

    /// `a c`, every slot times the number `c` taken at `scale`; the scales multiply. Rescale afterwards.
    ///
    /// # Errors
    /// When `c` is not finite, or the product does not fit the modulus.
    pub fn mul_number(&self, a: &Ciphertext, c: f64, scale: Scale) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "multiply by a number";
        let integer = self.integer(c, scale, OPERATION)?;
        let bound = a.bound() * c.abs();
        self.check_capacity(a, a.modulus(), a.scale().log2() + scale.log2(), bound, OPERATION)?;
        let mut out = a.clone();
        self.context().rlwe().mul_constant_assign(out.inner_mut(), |q| integer.residue(q))?;
        let noise = Self::message_times(scale.log2(), c.abs(), a.inner().noise())
            .plus(Self::constant_noise(a, c.abs() * scale.to_f64()));
        out.inner_mut().set_noise(noise);
        out.set_meta(a.scale().times(scale), a.slots(), bound);
        Ok(out)
    }

    /// `a c` for an integer `c`; the scale stays, and nothing is rounded.
    ///
    /// # Errors
    /// When the product does not fit the modulus.
    pub fn mul_integer(&self, a: &Ciphertext, c: i64) -> Result<Ciphertext, CkksError> {
        let bound = a.bound() * c.unsigned_abs() as f64;
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, "multiply by an integer")?;
        let mut out = a.clone();
        self.context()
            .rlwe()
            .mul_constant_assign(out.inner_mut(), |q| hippocrene_ring::arith::signed_mod(c, q))?;
        let noise =
            if c == 0 { Noise::NONE } else { a.inner().noise().scaled((c.unsigned_abs() as f64).log2()) };
        out.inner_mut().set_noise(noise);
        out.set_bound(bound);
        Ok(out)
    }

    /// The coefficients of the message, as if they were noise: of root mean square `scale bound/sqrt(N)`.
    pub(super) fn message(a: &Ciphertext) -> Noise {
        let degree = a.inner().part(0).degree() as f64;
        Self::message_times(a.scale().log2() - 0.5 * degree.log2(), a.bound(), Noise::from_std(1.0))
    }

    /// What the rounding of `constant` to an integer adds: the message times what the rounding took away.
    pub(super) fn constant_noise(a: &Ciphertext, constant: f64) -> Noise {
        Self::message(a).scaled((constant - constant.round()).abs().log2())
    }

    fn integer(&self, c: f64, scale: Scale, operation: &'static str) -> Result<Integer, CkksError> {
        Integer::scaled(c, scale)
            .ok_or_else(|| CkksError::Argument { operation, what: format!("{c} is not a finite number") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_nearest_integers() {
        let at = |c: f64, bits: i32| Integer::scaled(c, Scale::power_of_two(bits)).unwrap();
        let q = (1 << 61) - 1;
        assert_eq!(at(1.5, 0).residue(q), 2);
        assert_eq!(at(-1.25, 3).residue(q), q - 10);
        assert_eq!(at(0.5, 0).residue(q), 1);
        assert_eq!(at(0.49, 0).residue(q), 0);
        assert_eq!(at(0.0, 40).residue(q), 0);
        assert_eq!(at(3.0, 200).residue(q), mul_mod(3, pow_mod(2, 200, q), q));
        assert_eq!(Integer::scaled(f64::NAN, Scale::power_of_two(1)), None);
    }
}
