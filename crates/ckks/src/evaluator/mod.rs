//! Arithmetic on encrypted vectors.
//!
//! Operations whose name ends in `_into` write to an existing ciphertext. After their first call
//! they allocate no memory. The others return a new ciphertext.

mod adjust;
mod linear;
mod modulus;
mod multiply;
mod rescale;
mod rotate;

use std::sync::Arc;

use hippocrene_rlwe::{Modulus, Noise, PreparedEvaluationKeys};

use crate::{Ciphertext, CkksError, Context};

/// Computes on ciphertexts with the evaluation keys of one client. It holds no secret. See
/// [`Context`] for an example.
#[derive(Debug, Clone)]
pub struct Evaluator {
    context: Arc<Context>,
    keys: Arc<PreparedEvaluationKeys>,
}

impl Evaluator {
    /// Creates an evaluator with these keys.
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

    /// Returns log2 of a modulus.
    pub(crate) fn log2(&self, modulus: Modulus) -> f64 {
        self.context.parameters().log2(modulus)
    }

    /// Checks that two ciphertexts have the same number of slots.
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

    /// Checks that two scales are equal up to rounding.
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

    /// Checks that `a` belongs to these parameters and that values up to `bound` at a scale (as
    /// log2), computed from it, fit `modulus`. The error states the capacity of `a`, in the sense
    /// of [`Ciphertext::capacity_bits`], that is needed and that is left.
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
    /// Fails with [`CkksError::Capacity`] if they do not fit.
    pub fn check_bound(
        &self,
        a: &Ciphertext,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check_capacity(a, a.modulus(), a.scale().log2(), bound, operation)
    }

    /// Checks that `a` belongs to these parameters.
    pub(crate) fn check_own(
        &self,
        a: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        Ok(self.context.rlwe().check_operand(a.inner(), operation)?)
    }

    /// Checks that `a` belongs to these parameters and that `to` is a modulus of ciphertexts.
    pub(crate) fn check_move(
        &self,
        a: &Ciphertext,
        to: Modulus,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check_own(a, operation)?;
        Ok(self.context.rlwe().check_modulus(to, operation)?)
    }

    /// Returns the noise of a product of a message (bound times scale) with an error. With `n`
    /// slots, the message has `2n` coefficients of root mean square `scale bound / sqrt(2n)`
    /// (Parseval), and each is multiplied by an independent error.
    pub(crate) fn message_times(log2_scale: f64, bound: f64, error: Noise) -> Noise {
        if bound > 0.0 { error.scaled(log2_scale + bound.log2()) } else { Noise::NONE }
    }
}
