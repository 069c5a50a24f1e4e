//! Arithmetic on encrypted integers.
//!
//! Moduli are chosen by the noise: a product ends at the modulus that brings its error down to
//! about the rounding of a modulus switch, and operands of different moduli meet at the smaller
//! one. Who calls need not know about levels; [`Ciphertext::budget_bits`] says what is left.

mod linear;
mod multiply;
mod operand;
mod rotate;
mod rotate_many;
mod scaled;
mod switch;

pub(crate) use linear::CARRY;

use std::sync::Arc;

use hippocrene_rlwe::{Noise, PreparedEvaluationKeys, noise::rounding};

use crate::{BgvError, Ciphertext, Context, Scheme, noise};

/// Computes on ciphertexts with the evaluation keys of one client. It holds no secret.
#[derive(Debug, Clone)]
pub struct Evaluator {
    context: Arc<Context>,
    keys: Arc<PreparedEvaluationKeys>,
    scheme: Scheme,
}

impl Evaluator {
    /// An evaluator with these keys, whose products are those of BGV.
    pub fn new(context: Arc<Context>, keys: Arc<PreparedEvaluationKeys>) -> Self {
        Evaluator { context, keys, scheme: Scheme::Bgv }
    }

    /// The same evaluator with products in the manner of `scheme`. Ciphertexts go with both, and
    /// may go through both.
    #[must_use]
    pub fn with_scheme(self, scheme: Scheme) -> Self {
        Evaluator { scheme, ..self }
    }

    /// How [`Evaluator::mul`] computes products.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The evaluation keys.
    pub fn keys(&self) -> &PreparedEvaluationKeys {
        &self.keys
    }

    /// Checks that an operand is of this context's parameters and plaintext modulus.
    pub(crate) fn check(&self, a: &Ciphertext, operation: &'static str) -> Result<(), BgvError> {
        self.context.rlwe().check_operand(a.inner(), operation)?;
        self.context.check_plain_modulus(a.plain_modulus(), operation)
    }

    /// Checks that there is noise budget left in the result of an operation whose operands had at
    /// least `have` bits of it.
    pub(crate) fn check_budget(
        &self,
        out: &Ciphertext,
        have: f64,
        operation: &'static str,
    ) -> Result<(), BgvError> {
        let left = out.budget_bits(&self.context);
        if left > 0.0 {
            return Ok(());
        }
        Err(BgvError::Budget { operation, need: have - left, have })
    }

    /// The error of a product in the manner of BGV, before it is relinearised.
    pub(crate) fn product_noise(&self, a: Noise, b: Noise) -> Noise {
        noise::product(
            a,
            b,
            self.floor(),
            self.context.rlwe().degree(),
            self.context.plain_modulus(),
        )
    }

    /// The rounding of a modulus switch: the least noise that ciphertexts come down to.
    pub(crate) fn floor(&self) -> Noise {
        rounding(self.context.rlwe().parameters().secret_weight(), 2)
    }
}
