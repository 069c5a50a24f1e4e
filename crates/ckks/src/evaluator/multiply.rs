//! Products of ciphertexts, and rescaling.

use hippocrene_rlwe::{Modulus, Noise};

use super::Evaluator;
use crate::{Ciphertext, CkksError, Scale};

impl Evaluator {
    /// `a b`, slot by slot, relinearised: the scales multiply, the modulus stays. Rescale afterwards, or use
    /// [`Evaluator::mul_rescale`], which is faster.
    ///
    /// # Errors
    /// When moduli, slots or keys differ, the product does not fit the modulus, or the relinearisation key is missing.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_to_into(&mut out, a, b, a.modulus())?;
        Ok(out)
    }

    /// `a b`, relinearised and rescaled by the last prime of the modulus, in one modulus switch.
    ///
    /// # Errors
    /// As [`Evaluator::mul`], and [`CkksError::Capacity`] when there is no prime left to divide by.
    pub fn mul_rescale(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.mul_rescale_into(&mut out, a, b)?;
        Ok(out)
    }

    /// [`Evaluator::mul_rescale`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::mul_rescale`].
    pub fn mul_rescale_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(), CkksError> {
        const OPERATION: &str = "multiply and rescale";
        self.check_prime_left(a, OPERATION)?;
        let to = self.rescaled_modulus(a.modulus(), OPERATION)?;
        self.mul_to_into(out, a, b, to)
    }

    /// `a^2`, relinearised and rescaled.
    ///
    /// # Errors
    /// As [`Evaluator::mul_rescale`].
    pub fn square_rescale(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.mul_rescale(a, a)
    }

    /// `a b`, relinearised and brought to the modulus `to`, which divides that of the operands, in one modulus switch.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn mul_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        b: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        const OPERATION: &str = "multiply";
        self.check_slots(a, b, OPERATION)?;
        let (from, log2_a, log2_b) = (a.modulus(), a.scale().log2(), b.scale().log2());
        let bound = a.bound() * b.bound();
        self.check_capacity(a, from, log2_a + log2_b, bound, OPERATION)?;
        self.context().rlwe().multiply_into(out.inner_mut(), a.inner(), b.inner(), self.keys(), to, 1)?;
        let noise =
            self.product_noise(a, b).scaled(self.log2(to) - self.log2(from)).plus(out.inner().noise());
        out.inner_mut().set_noise(noise);
        out.set_meta(self.divided(a.scale().times(b.scale()), from, to), a.slots(), bound);
        Ok(())
    }

    /// `m_a e_b + m_b e_a + e_a e_b`; in a square the first two are one and the same, and `e^2` has every product of two
    /// coefficients twice.
    fn product_noise(&self, a: &Ciphertext, b: &Ciphertext) -> Noise {
        let (e_a, e_b) = (a.inner().noise(), b.inner().noise());
        let left = Self::message_times(a.scale().log2(), a.bound(), e_b);
        let right = Self::message_times(b.scale().log2(), b.bound(), e_a);
        let both = e_a.times_polynomial(self.context().rlwe().degree(), e_b.log2_std());
        if std::ptr::eq(a, b) { left.scaled(1.0).plus(both.scaled(0.5)) } else { left.plus(right).plus(both) }
    }

    /// Divides message and modulus by the last prime of the modulus: the scale shrinks by it, the values stay.
    ///
    /// # Errors
    /// [`CkksError::Capacity`] when there is no prime left to divide by.
    pub fn rescale(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let mut out = Ciphertext::empty(self.context());
        self.rescale_into(&mut out, a)?;
        Ok(out)
    }

    /// [`Evaluator::rescale`] into a ciphertext that is there.
    ///
    /// # Errors
    /// As [`Evaluator::rescale`].
    pub fn rescale_into(&self, out: &mut Ciphertext, a: &Ciphertext) -> Result<(), CkksError> {
        const OPERATION: &str = "rescale";
        self.check_prime_left(a, OPERATION)?;
        let to = self.rescaled_modulus(a.modulus(), OPERATION)?;
        self.rescale_to_into(out, a, to)
    }

    /// Brings `a` to the divisor `to` of its modulus `Q`, dividing message and scale by `Q/to`.
    ///
    /// # Errors
    /// When `to` does not divide `Q`.
    pub fn rescale_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        let from = a.modulus();
        self.context().rlwe().switch_ciphertext_into(out.inner_mut(), a.inner(), to, 1)?;
        out.set_meta(self.divided(a.scale(), from, to), a.slots(), a.bound());
        Ok(())
    }

    /// Reduces `a` to the divisor `to` of its modulus; message and scale stay.
    ///
    /// # Errors
    /// When `to` does not divide the modulus, or the values do not fit it.
    pub fn reduce_modulus(&self, a: &Ciphertext, to: Modulus) -> Result<Ciphertext, CkksError> {
        self.check_capacity(a, to, a.scale().log2(), a.bound(), "reduce the modulus")?;
        let mut out = Ciphertext::empty(self.context());
        self.context().rlwe().reduce_modulus_into(out.inner_mut(), a.inner(), to)?;
        out.set_meta(a.scale(), a.slots(), a.bound());
        Ok(out)
    }

    /// The modulus without its last unit.
    pub(crate) fn rescaled_modulus(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<Modulus, CkksError> {
        match modulus.factors().next_back() {
            Some(last) if modulus.limb_count() > 1 => Ok(modulus.without(Modulus::of_factor(last))),
            _ => Err(CkksError::Capacity {
                operation,
                need: self.log2(modulus) + 1.0,
                have: self.log2(modulus),
            }),
        }
    }

    /// `scale from/to` for a divisor `to` of `from`.
    pub(crate) fn multiplied(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        let parameters = self.context().parameters();
        from.without(to).factors().fold(scale, |scale, i| scale.times_integer(parameters.factor(i)))
    }

    /// `scale to/from` for a divisor `to` of `from`.
    pub(crate) fn divided(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        let parameters = self.context().parameters();
        from.without(to).factors().fold(scale, |scale, i| scale.divided_by(parameters.factor(i)))
    }
}
