//! Arithmetic on encrypted integers.
//!
//! The evaluator chooses moduli by the noise. A product ends at the modulus that reduces its error
//! to about the rounding error of a modulus switch. Operands of different moduli are brought to the
//! smaller one. Callers need not know about moduli: [`Ciphertext::budget_bits`] states the noise
//! budget that is left.

mod linear;
mod multiply;
mod operand;
mod rotate;
mod rotate_many;
mod scaled;
mod switch;

pub(crate) use linear::CARRY_STD;

use std::sync::Arc;

use hippocrene_rlwe::{Noise, PreparedEvaluationKeys, noise::rounding};

use crate::{BgvError, Ciphertext, Context, Scheme, noise};

/// Computes on ciphertexts with the evaluation keys of one client. It holds no secret.
///
/// Parameters as small as these are for tests only:
///
/// ```
/// use std::sync::Arc;
/// use hippocrene_bgv::{Context, Evaluator};
/// use hippocrene_ring::{Threads, primes::ntt_primes};
/// use hippocrene_rlwe::{
///     self as rlwe, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey,
///     Sprout,
/// };
///
/// let primes = ntt_primes(48, 1 << 8, 5, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 8,
///     units: primes[..3].to_vec(),
///     specials: primes[3..].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 2,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let rlwe = Arc::new(rlwe::Context::new(parameters, Threads::single())?);
/// let secret = SecretKey::generate(&rlwe)?;
/// let mut keys = EvaluationKeys::empty(&rlwe, secret.fingerprint());
/// keys.add_relinearisation(&rlwe, &secret)?;
/// keys.add_rotations(&rlwe, &secret, [1])?;
/// let keys = Arc::new(keys.prepare(&rlwe)?);
///
/// let context = Arc::new(Context::new(rlwe, 7681)?);
/// let evaluator = Evaluator::new(Arc::clone(&context), keys);
/// let encrypted = context.encrypt(&secret, &context.encode(&[3, 4])?)?.expand(&context);
/// let squares = evaluator.square(&encrypted)?;
/// let rotated = evaluator.rotate_rows(&squares, 1)?;
/// let decrypted = context.encoder().decode(&context.decrypt(&secret, &rotated)?)?;
/// assert_eq!(decrypted[0], 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    context: Arc<Context>,
    keys: Arc<PreparedEvaluationKeys>,
    scheme: Scheme,
}

impl Evaluator {
    /// Returns an evaluator with these keys. Its products are BGV products.
    pub fn new(context: Arc<Context>, keys: Arc<PreparedEvaluationKeys>) -> Self {
        Evaluator { context, keys, scheme: Scheme::Bgv }
    }

    /// Returns the evaluator with the products of `scheme`. A circuit may use evaluators of both
    /// schemes on the same ciphertexts.
    #[must_use]
    pub fn with_scheme(self, scheme: Scheme) -> Self {
        Evaluator { scheme, ..self }
    }

    /// The scheme of the products of [`Evaluator::mul`].
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

    /// Checks that an operand has the parameters and the plaintext modulus of this context.
    pub(crate) fn check(&self, a: &Ciphertext, operation: &'static str) -> Result<(), BgvError> {
        self.context.rlwe().check_operand(a.inner(), operation)?;
        self.context.check_plain_modulus(a.plain_modulus(), operation)
    }

    /// Checks that the result of an operation has noise budget left. `have` is the smallest noise
    /// budget of its operands, in bits.
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

    /// The error of a BGV product before it is relinearised.
    pub(crate) fn product_noise(&self, a: Noise, b: Noise) -> Noise {
        noise::product(
            a,
            b,
            self.floor(),
            self.context.rlwe().degree(),
            self.context.plain_modulus(),
        )
    }

    /// The rounding error of a modulus switch, which is the lower limit for the noise of
    /// ciphertexts after a switch.
    pub(crate) fn floor(&self) -> Noise {
        rounding(self.context.rlwe().parameters().secret_weight(), 2)
    }
}
