//! The first phase of a bootstrap: bringing the operand to the base modulus.

use std::borrow::Cow;

use super::{Bootstrapper, Order};
use crate::{Ciphertext, CkksError, Scale, Short};

const OPERATION: &str = "bootstrap";

/// Number of bits by which the intermediate modulus exceeds the required one if the operand's
/// modulus allows, so that the scale at the base modulus has a relative error of at most `2^-6`.
/// Chosen.
const EXTRA_MODULUS_BITS: f64 = 6.0;

/// Number of standard deviations of the operand's error that have to fit the range of the
/// reduction. Chosen.
const ERROR_DEVIATIONS: f64 = 10.0;

impl Bootstrapper {
    /// Runs the first phase: brings the message of `a` to the modulus `q0`, at a scale at which
    /// values up to the bound are at most `epsilon q0`. If slots to coefficients comes first, the
    /// message is moved into coefficients.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the values of `a` may be larger than the plan allows.
    /// Fails with [`CkksError::Capacity`] if its modulus is too small. Fails if slots or keys do
    /// not match.
    pub fn lower(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        e.check_own(a, OPERATION)?;
        let right = plan.operand_slots();
        if a.slots() != right {
            return Err(CkksError::SlotMismatch { operation: OPERATION, left: a.slots(), right });
        }
        if a.bound() > literal.bound * (1.0 + 1e-9) {
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: format!(
                    "values up to {} could leave the range, which is planned for values up to {}",
                    Short(a.bound()),
                    Short(literal.bound)
                ),
            });
        }
        let a = match literal.order {
            Order::SlotsToCoefficientsFirst => Cow::Owned(self.slots_to_coefficients(a)?),
            Order::SlotsToCoefficientsLast => Cow::Borrowed(a),
        };
        // The range has to hold values plus errors.
        let error = ERROR_DEVIATIONS * (a.inner().noise().log2_std() - a.scale().log2()).exp2();
        let need = |size: f64| {
            a.scale().log2() + (size / literal.reduction.epsilon()).log2() + plan.unit_bits
        };
        let (least, need) = (need(literal.bound), need(literal.bound + error));
        let have = e.log2(a.modulus());
        if (least..need).contains(&have) {
            return Err(CkksError::Argument {
                operation: OPERATION,
                what: format!(
                    "the errors of the values are estimated at 2^{:.1}, which does not fit the \
                     range together with values up to {}. If you know that the errors are smaller, \
                     as in iterations that correct themselves, declare it (with_precision_bits)",
                    -a.precision_bits(),
                    Short(literal.bound)
                ),
            });
        }
        if need > have {
            let capacity = a.capacity_bits(e.context());
            let need = capacity + need - have;
            return Err(CkksError::Capacity { operation: OPERATION, need, have: capacity });
        }
        let need = need - plan.unit_bits;
        let extra = plan.unit_bits.max(EXTRA_MODULUS_BITS);
        let middle = e.divisor_at_least(a.modulus(), need + extra);
        let constant = (e.log2(middle) - need).exp2().floor().max(1.0);
        let mut raised = a.into_owned();
        e.multiply_constant(&mut raised, constant as u128)?;
        let mut reduced = Ciphertext::empty(e.context());
        e.context().rlwe().reduce_modulus_into(reduced.inner_mut(), raised.inner(), middle)?;
        reduced.set_meta(raised.scale(), literal.slots, literal.bound);
        if middle == plan.base() {
            return Ok(reduced);
        }
        let mut out = Ciphertext::empty(e.context());
        e.rescale_to_into(&mut out, &reduced, plan.base())?;
        Ok(out)
    }

    /// Moves slots into coefficients, at the smallest sufficient moduli. There are no keys for
    /// larger ones.
    fn slots_to_coefficients(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let power = |bits: f64| {
            let what = format!("a scale of 2^{}", Short(bits));
            Scale::from_f64(bits.exp2()).ok_or(CkksError::Argument { operation: OPERATION, what })
        };
        let need = plan.input_bits(a.scale().log2());
        let have = e.log2(a.modulus());
        if need > have {
            let capacity = a.capacity_bits(e.context());
            let need = capacity + need - have;
            return Err(CkksError::Capacity { operation: OPERATION, need, have: capacity });
        }
        let reduced = |a: &Ciphertext| -> Result<Ciphertext, CkksError> {
            let mut low = Ciphertext::empty(e.context());
            let modulus = e.divisor_at_least(a.modulus(), plan.input_bits(a.scale().log2()));
            e.context().rlwe().reduce_modulus_into(low.inner_mut(), a.inner(), modulus)?;
            low.set_meta(a.scale(), a.slots(), literal.bound);
            Ok(low)
        };
        let mut low = reduced(a)?;
        // A scale larger than that of the result has no benefit. Rescaling before the transform
        // makes the transform faster.
        if low.scale().log2() > plan.largest_input_scale() {
            low = reduced(&e.rescale(&low, power(plan.input_scale())?)?)?;
        }
        // If only the first of all slots are used, the coefficients are smaller and the scale is
        // larger by the same factor.
        let shrunk = plan.shrunk_bits();
        let target = power(plan.coefficients_scale().min(low.scale().log2()) + shrunk)?;
        let mut out = e.homomorphic_dft(&low, &plan.to_coefficients, target)?;
        out.set_meta(
            out.scale().times(Scale::power_of_two(-shrunk as i32)),
            out.slots(),
            literal.bound,
        );
        // The coefficients are the values that the slots held.
        out.set_bound(literal.bound);
        Ok(out)
    }
}
