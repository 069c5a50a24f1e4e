//! Evaluation of a sign on ciphertexts.

use std::borrow::Cow;

use super::SignPlan;
use crate::{
    Ciphertext, CkksError, Evaluator, Refresh, Short,
    circuits::composition::{reserved_bits, scale_of},
};

const OPERATION: &str = "sign";

impl Evaluator {
    /// Returns the sign of every slot of `a`.
    ///
    /// The result is within [`SignPlan::error`] of the sign where the absolute value of the slot is
    /// between `gap` and `bound`. In the gap, its absolute value exceeds 1 by at most as much.
    /// Between stages, `refresh` restores capacity where needed.
    ///
    /// The noise estimate of the result covers errors beyond those of the polynomials
    /// ([`SignPlan::apply`]), for arguments outside of the gap.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the bound of `a` exceeds that of the plan, or if its
    /// precision, or that of a refresh, is too low. Fails with [`CkksError::Capacity`] if `refresh`
    /// restores too little. Fails if the relinearisation key or the conjugation key is missing.
    pub fn sign(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        refresh: &dyn Refresh,
    ) -> Result<Ciphertext, CkksError> {
        let x = self.normalised(a, plan, OPERATION)?;
        self.sign_of(Cow::Owned(x), plan, reserved_bits(refresh), refresh, OPERATION)
    }

    /// Divides `a` by the reach of the plan, which only changes its scale.
    pub(super) fn normalised(
        &self,
        a: &Ciphertext,
        plan: &SignPlan,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        let literal = &plan.literal;
        let fail = |what: String| Err(CkksError::Argument { operation, what });
        self.check_own(a, operation)?;
        if a.slots() != literal.slots {
            let (left, right) = (a.slots(), literal.slots);
            return Err(CkksError::SlotMismatch { operation, left, right });
        }
        if a.bound() > literal.bound * (1.0 + 1e-9) {
            return fail(format!(
                "values up to {} do not lie in the interval that was planned, up to {}",
                Short(a.bound()),
                Short(literal.bound)
            ));
        }
        let need = plan.composition.least_precision() - plan.reach.log2();
        if a.precision_bits() < need {
            let have = a.precision_bits();
            // The rounding keeps two different numbers different in the message.
            let [least, less] = [(10.0 * need).ceil() / 10.0, (10.0 * have).floor() / 10.0];
            // Half a bit more, for the precision that is lost on the way.
            let wider = literal.gap * (need - have + 0.5).exp2();
            let way = match wider < literal.bound {
                true => format!(", enough for a gap of {wider:.1e}: ask for that, or for more"),
                false => ", which is enough for no gap below their bound: ask for more".to_owned(),
            };
            return fail(format!(
                "a gap of {:.1e} needs values with {least:.1} bits of precision, these have \
                 {less:.1}{way} precision where they come from (of an earlier comparison, its \
                 precision)",
                literal.gap,
            ));
        }
        let mut x = a.clone().read_at(a.scale().times(scale_of(plan.reach, operation)?));
        x.set_bound(1.0);
        Ok(x)
    }

    /// Returns the sign of a normalised argument and leaves `remaining_bits` bits of capacity,
    /// which include [`reserved_bits`].
    pub(super) fn sign_of(
        &self,
        x: Cow<'_, Ciphertext>,
        plan: &SignPlan,
        remaining_bits: f64,
        refresh: &dyn Refresh,
        operation: &'static str,
    ) -> Result<Ciphertext, CkksError> {
        let mut y = self.composition(x, &plan.composition, remaining_bits, refresh, operation)?;
        y.set_bound(1.0 + plan.error());
        Ok(y)
    }
}
