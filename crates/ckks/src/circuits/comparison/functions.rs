//! Comparisons, absolute value, maximum and minimum by the sign.

use std::borrow::Cow;

use super::SignPlan;
use crate::{
    Ciphertext, CkksError, Evaluator, Refresh,
    circuits::composition::{reserved_bits, scale_of},
};

/// Bits by which the scale of a product with the sign exceeds that of the last stage. Chosen.
const PRODUCT_EXTRA_SCALE_BITS: f64 = 2.0;

impl Evaluator {
    /// Returns 1 where a slot of `a` is positive, 0 where it is negative, and 1/2 where it is 0:
    /// half the sign plus 1/2.
    ///
    /// # Errors
    /// Fails as [`Evaluator::sign`] does.
    pub fn step(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        self.step_leaving(a, plan, 0.0, refresh)
    }

    /// As [`Evaluator::step`], for a result that is used further: if a refresh restores that much,
    /// `remaining_bits` bits of capacity are left beside those that a later refresh needs.
    ///
    /// # Errors
    /// Fails as [`Evaluator::sign`] does.
    pub fn step_leaving(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        remaining_bits: f64,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        const OPERATION: &str = "step";
        let x = self.normalised(a, plan, OPERATION)?;
        let remaining_bits = remaining_bits + reserved_bits(refresh);
        let mut y = self.sign_of(Cow::Owned(x), plan, remaining_bits, refresh, OPERATION)?;
        self.add_number_assign(&mut y, 1.0)?;
        // Halving the values only changes the scale.
        y = y.in_unit(1);
        y.set_bound(1.0 + 0.5 * plan.error());
        Ok(y)
    }

    /// Returns 1 where `a > b`, 0 where `a < b`, and 1/2 where they are equal: the step of `a - b`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::sign`] does for `a - b`, and if the operands cannot be brought to one
    /// scale ([`Evaluator::align`]).
    pub fn greater(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        self.step(&self.difference(a, b)?, plan, refresh)
    }

    /// Returns 1 where `a < b`, 0 where `a > b`, and 1/2 where they are equal.
    ///
    /// # Errors
    /// Fails as [`Evaluator::greater`] does.
    pub fn less(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        self.greater(b, a, plan, refresh)
    }

    /// Returns `|a|`, slot by slot: `a` times its sign.
    ///
    /// The error is that of the sign times `a`, plus the rounding of the product. That rounding
    /// depends on the scales and is part of the noise estimate only.
    ///
    /// # Errors
    /// Fails as [`Evaluator::sign`] does.
    pub fn abs(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        self.times_sign(a, plan, 0.0, refresh, "absolute value")
    }

    /// Returns `max(a, 0)`, slot by slot: `a` times its step.
    ///
    /// # Errors
    /// Fails as [`Evaluator::sign`] does.
    pub fn relu(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        self.times_sign(a, plan, 1.0, refresh, "relu")
    }

    /// Returns the larger of `a` and `b`, slot by slot: `b + relu(a - b)`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::greater`] does.
    pub fn maximum(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        let above = self.relu(&self.difference(a, b)?, plan, refresh)?;
        let (b, above) = self.align(b, &above)?;
        let mut out = self.add(&b, &above)?;
        out.set_bound(a.bound().max(b.bound()) + 0.5 * plan.max_excess());
        Ok(out)
    }

    /// Returns the smaller of `a` and `b`, slot by slot: `a - relu(a - b)`.
    ///
    /// # Errors
    /// Fails as [`Evaluator::greater`] does.
    pub fn minimum(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        let above = self.relu(&self.difference(a, b)?, plan, refresh)?;
        let (a, above) = self.align(a, &above)?;
        let mut out = self.sub(&a, &above)?;
        out.set_bound(a.bound().max(b.bound()) + 0.5 * plan.max_excess());
        Ok(out)
    }

    /// Returns `a - b`, after they are brought to one modulus and scale.
    fn difference(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (a, b) = self.align(a, b)?;
        self.sub(&a, &b)
    }

    /// Returns `a (s + plus) / (1 + plus)`, where `s` is the sign of `a` and `plus` is 0 or 1.
    fn times_sign(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        plus: f64,
        refresh: &dyn Refresh,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        // The roundings of the factor and of the product are then small compared with those of the
        // last stage.
        let finer = if plan.composition.model.common_scale_bits.is_none() {
            PRODUCT_EXTRA_SCALE_BITS
        } else {
            0.0
        };
        let target = scale_of((plan.last().scale_bits + finer).exp2(), operation)?;
        // The product at the end uses the bits of a factor's scale, which may be larger than the
        // target by half a bit.
        let mut remaining_bits = target.log2() + 1.0 + reserved_bits(refresh);
        if plan.in_short_stages {
            // Capacity counts a bound below 1 as 1, and the product is divided by the bound.
            let gained = (1.0 + plus) * a.bound().max(1.0) / plan.reach;
            remaining_bits += gained.log2().max(0.0);
        }
        let x = self.normalised(a, plan, operation)?;
        // The factor itself also needs these bits.
        let x = refresh.refresh(
            Cow::Owned(x),
            remaining_bits,
            plan.bits() + remaining_bits,
            operation,
        )?;
        let mut s = self.sign_of(Cow::Borrowed(&*x), plan, remaining_bits, refresh, operation)?;
        if plan.in_short_stages {
            // The last stage may leave less than that.
            s.set_bound(1.0);
            let fresh =
                refresh.refresh(Cow::Owned(s), remaining_bits, remaining_bits, operation)?;
            s = self.at_most(fresh, target)?.into_owned();
            s.set_bound(1.0 + plan.error());
        }
        if plus > 0.0 {
            self.add_number_assign(&mut s, plus)?;
        }
        let x = self.at_most(Cow::Borrowed(&x), target)?;
        let lower = if self.log2(x.modulus()) <= self.log2(s.modulus()) {
            x.modulus()
        } else {
            s.modulus()
        };
        let (x, s) = (self.at_modulus(&x, lower)?, self.at_modulus(&s, lower)?);
        let out = self.mul_rescale(&x, &s, target)?;
        let scale = out.scale().over(scale_of(plan.reach, operation)?);
        let scale = if plus > 0.0 { scale.times_integer(2) } else { scale };
        let share = if plus > 0.0 { 0.5 } else { 1.0 };
        let mut out = out.read_at(scale);
        out.set_bound(a.bound() + share * plan.max_excess());
        Ok(out)
    }
}

impl SignPlan {
    /// Returns the largest amount by which the computed absolute value exceeds the exact one.
    fn max_excess(&self) -> f64 {
        self.literal.bound * self.error()
    }
}
