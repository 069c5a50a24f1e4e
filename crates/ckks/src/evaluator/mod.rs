//! Arithmetic on encrypted vectors.
//!
//! Operations whose name ends in `_into` write to a ciphertext that is there and allocate nothing
//! once they have run; the others return a new one.

mod adjust;
mod linear;
mod modulus;
mod multiply;
mod rescale;
mod rotate;

use std::sync::Arc;

use hippocrene_rlwe::{Modulus, Noise, PreparedEvaluationKeys};

use crate::{Ciphertext, CkksError, Context};

/// Computes on ciphertexts with the evaluation keys of one client. It holds no secret.
#[derive(Debug, Clone)]
pub struct Evaluator {
    context: Arc<Context>,
    keys: Arc<PreparedEvaluationKeys>,
}

impl Evaluator {
    /// An evaluator with these keys.
    pub fn new(context: Arc<Context>, keys: Arc<PreparedEvaluationKeys>) -> Self {
        Evaluator { context, keys }
    }

    /// The context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The evaluation keys.
    pub fn keys(&self) -> &PreparedEvaluationKeys {
        &self.keys
    }

    pub(crate) fn log2(&self, modulus: Modulus) -> f64 {
        self.context.parameters().log2(modulus)
    }

    pub(crate) fn check_slots(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        if a.slots() == b.slots() {
            Ok(())
        } else {
            Err(CkksError::SlotMismatch { operation, left: a.slots(), right: b.slots() })
        }
    }

    pub(crate) fn check_scales(
        &self,
        a: crate::Scale,
        b: crate::Scale,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        if a.is_close(b) {
            Ok(())
        } else {
            Err(CkksError::ScaleMismatch { operation, left: a.log2(), right: b.log2() })
        }
    }

    /// Checks that `a` is of these parameters, and that values up to `bound` at a scale (as log2),
    /// computed from it, fit `modulus`. The error counts as [`Ciphertext::capacity_bits`] of `a`
    /// does: what the operation takes of it, and what is left.
    pub(crate) fn check_capacity(
        &self,
        a: &Ciphertext,
        modulus: Modulus,
        log2_scale: f64,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.context.check_capacity(a, modulus, log2_scale, bound, operation)
    }

    /// Checks that values up to `bound` would fit the modulus of `a` at its scale.
    ///
    /// # Errors
    /// [`CkksError::Capacity`] where they do not.
    pub fn check_bound(
        &self,
        a: &Ciphertext,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, operation)
    }

    /// Checks that `a` is of these parameters.
    pub(crate) fn check_own(
        &self,
        a: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        Ok(self.context.rlwe().check_operand(a.inner(), operation)?)
    }

    /// Checks that `a` is of these parameters, and that ciphertexts can be modulo `to`.
    pub(crate) fn check_move(
        &self,
        a: &Ciphertext,
        to: Modulus,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check_own(a, operation)?;
        Ok(self.context.rlwe().check_modulus(to, operation)?)
    }

    /// The noise of a product of a message (bound times scale) with an error: with `n` slots, `2n`
    /// coefficients of a message of root mean square `scale bound / sqrt(2n)` (Parseval), each
    /// times an independent error.
    pub(crate) fn message_times(log2_scale: f64, bound: f64, error: Noise) -> Noise {
        if bound > 0.0 { error.scaled(log2_scale + bound.log2()) } else { Noise::NONE }
    }
}
