//! Tuple-CKKS: products of high precision that use little modulus (Cheon, Cho, Kim, Stehle, CCS
//! 2023, "CCKS23"; GRAFT D).
//!
//! A message of scale `Delta` is written in base `q_div`. A tuple `(ct_0, .., ct_{t-1})` of
//! ciphertexts of one modulus `Q` represents `RCB = q_div^{t-1} ct_0 + .. + q_div ct_{t-2} +
//! ct_{t-1}`. All but `ct_0` decrypt to small values: a small multiple of `q_div` times the error
//! of a modulus switch. A product omits the terms `ct_i ct_j` with `i + j >= t` and the factor
//! `q_div^{t-1}`. Its scale is therefore `Delta^2/q_div^{t-1}`, and a rescale divides by
//! `Delta/q_div^{t-1}` instead of by `Delta` as in a plain product.
//!
//! The algorithms work on the *partial recombinations* `S_k = q_div^k ct_0 + .. + ct_k` (`S_{t-1} =
//! RCB`), which give `ct_k = S_k - q_div S_{k-1}`. To rescale (Def. D.4) or relinearise a tuple
//! means to do so to each `S_k`. The recombination of the result is then the rescaled, relinearised
//! recombination, and has no further errors. For pairs (`t = 2`), with `ct^ = ct_0` and `ct_ =
//! ct_1`:
//!
//! | | here |
//! |---|---|
//! | `DCP(ct) = (RS(ct), ct - q_div RS(ct))` (CCKS23 Def. 3.3) | [`Evaluator::dcp`] |
//! | `RCB(CT) = q_div ct^ + ct_` (CCKS23 Def. 3.3) | [`Evaluator::rcb`] |
//! | `(ct^ ct^', ct^ ct_' + ct_ ct^')` (Def. D.1) | [`Evaluator::tuple_tensor`] |
//! | `Relin^2` (Def. D.2) | [`Evaluator::tuple_relinearise`] |
//! | `RS^2 = (RS(ct^), RS(q_div ct^ + ct_) - q_div RS(ct^))`, rational (Def. D.4) | [`Evaluator::tuple_rescale`] |
//! | `Mult^2` (Theorem D.6) | [`Evaluator::tuple_mul`] |

mod multiply;
mod split;

use hippocrene_rlwe::{self as rlwe, Modulus, Noise};

use crate::{CkksError, Context, Evaluator, Scale};

/// The largest number of ciphertexts of a tuple. Chosen.
const MAX_LENGTH: usize = 16;

/// An encrypted vector as a tuple of `t >= 2` ciphertexts of one modulus. Scale, bound and noise
/// are those of the recombination `q_div^{t-1} ct_0 + .. + ct_{t-1}`.
///
/// # Examples
/// ```
/// use hippocrene_ckks::Scale;
/// # use hippocrene_ring::{Threads, primes};
/// # use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};
/// # let parameters = Parameters::new_insecure(ParametersLiteral {
/// #     log_degree: 8,
/// #     units: primes::ntt_primes(48, 1 << 8, 8, &[])?,
/// #     specials: primes::ntt_primes(49, 1 << 8, 3, &[])?,
/// #     sprout: Sprout::for_degree(8).unwrap(),
/// #     gadget_rank: 5,
/// #     secret: SecretDistribution::Ternary,
/// # })?;
/// # let context = hippocrene_ckks::Context::new(parameters, Threads::single())?;
/// # use std::sync::Arc;
/// # use hippocrene_rlwe::{EvaluationKeys, SecretKey};
/// # let context = Arc::new(context);
/// # let secret = SecretKey::generate(context.rlwe())?;
/// # let keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
/// # let keys = Arc::new(keys.prepare(context.rlwe())?);
/// # let evaluator = hippocrene_ckks::Evaluator::new(Arc::clone(&context), keys);
///
/// let (scale, modulus) = (Scale::power_of_two(60), context.parameters().top());
/// let plaintext = context.encode((&[1.5, -2.0]).into(), 2, scale, modulus)?;
/// let encrypted = context.encrypt(&secret, &plaintext)?.expand(&context);
/// let divisor = evaluator.tuple_divisor(scale, 2, 0.0)?;
/// let pair = evaluator.dcp(&encrypted, divisor, 2, context.parameters().grafted_modulus(300.0))?;
/// assert_eq!((pair.length(), pair.slots()), (2, 2));
/// let recombined = context.decrypt(&secret, &evaluator.rcb(&pair)?)?;
/// assert!((context.decode_real(&recombined)?[0] - 1.5).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tuple {
    parts: Vec<rlwe::Ciphertext>,
    divisor: u64,
    scale: Scale,
    slots: usize,
    bound: f64,
    noise: Noise,
    low: Noise,
}

impl Tuple {
    /// The ciphertexts, the highest digit first.
    pub fn parts(&self) -> &[rlwe::Ciphertext] {
        &self.parts
    }

    /// The number `t` of ciphertexts.
    pub fn length(&self) -> usize {
        self.parts.len()
    }

    /// The base `q_div`.
    pub fn divisor(&self) -> u64 {
        self.divisor
    }

    /// The modulus of all its ciphertexts.
    pub fn modulus(&self) -> Modulus {
        self.parts[0].modulus()
    }

    /// The scale `Delta` of the recombination.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The estimated error of a coefficient of the recombination.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// The estimated size of the values that all but the first ciphertext decrypt to, as the
    /// standard deviation of a coefficient. A product omits a term of about its square divided by
    /// `q_div`. In every product it grows by the bound of the values, as errors do.
    pub fn low(&self) -> Noise {
        self.low
    }

    /// The precision of the recombination, in the sense of [`crate::Ciphertext::precision_bits`].
    pub fn precision_bits(&self) -> f64 {
        self.scale.log2() - self.noise.log2_std() - 0.5 * (self.slots as f64).log2()
    }

    /// The capacity of the recombination, in the sense of [`crate::Ciphertext::capacity_bits`]. A
    /// product uses `log2(Delta/q_div^{t-1})` bits of it.
    pub fn capacity_bits(&self, context: &Context) -> f64 {
        if self.parts[0].parameters() != context.parameters().digest() {
            return f64::NAN;
        }
        context.parameters().log2(self.modulus())
            - self.scale.log2()
            - self.bound.max(1.0).log2()
            - 1.0
    }

    /// The scale of the first ciphertext: that of the recombination divided by `q_div^{t-1}`.
    fn high_scale(&self) -> Scale {
        divided(self.scale, self.divisor, self.length() - 1)
    }
}

/// Returns `scale/divisor^power`.
fn divided(scale: Scale, divisor: u64, power: usize) -> Scale {
    (0..power).fold(scale, |s, _| s.divided_by(divisor))
}

impl Evaluator {
    /// Returns the largest power of two that is suitable as `q_div` for tuples of `length` at
    /// `scale`.
    ///
    /// It is suitable if the terms that a product of fresh tuples of values up to 1 omits are at
    /// most half the error of the rescale. With `r` the standard deviation of that error, the
    /// condition is `sqrt((t-1) N) (q_div r)^2/q_div * q_div^{t-1}/Delta <= r/2`, and so `q_div^t
    /// <= Delta/(2 r sqrt((t-1) N))`. The omitted terms grow faster than errors do (as the square
    /// of [`Tuple::low`]). `reserve` reduces the result by a number of bits for successive
    /// products, about one for every two of them.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the scale is too small for tuples of this length or
    /// the reserve is not finite.
    /// reserve is not finite.
    pub fn tuple_divisor(
        &self,
        scale: Scale,
        length: usize,
        reserve: f64,
    ) -> Result<u64, CkksError> {
        const OPERATION: &str = "choose the divisor of tuples";
        check_length(length, OPERATION)?;
        let degree = self.context().rlwe().degree() as f64;
        let rounding = self.switch_noise().log2_std();
        let terms = 0.5 * (degree * (length - 1) as f64).log2();
        let bits = (scale.log2() - 1.0 - rounding - terms) / length as f64 - reserve;
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !reserve.is_finite() {
            return fail(format!("a reserve of {reserve} bits"));
        }
        if bits < 1.0 {
            return fail(format!("a scale of {scale} is too small for tuples of {length}"));
        }
        Ok(1 << bits.min(60.0) as u32)
    }
}

/// Checks the number of ciphertexts of a tuple.
fn check_length(length: usize, operation: &'static str) -> Result<(), CkksError> {
    if (2..=MAX_LENGTH).contains(&length) {
        return Ok(());
    }
    Err(CkksError::Argument {
        operation,
        what: format!("a tuple of {length} ciphertexts is not possible: use 2 to {MAX_LENGTH}"),
    })
}

/// Checks the base of a tuple.
fn check_divisor(divisor: u64, operation: &'static str) -> Result<(), CkksError> {
    if (2..1 << 61).contains(&divisor) {
        return Ok(());
    }
    Err(CkksError::Argument {
        operation,
        what: format!("a divisor of {divisor} is not possible: use 2 to 2^61"),
    })
}
