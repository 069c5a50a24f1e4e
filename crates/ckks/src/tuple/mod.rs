//! Tuple-CKKS: products of high precision that use up little modulus (Cheon, Cho, Kim, Stehle, CCS
//! 2023, "CCKS23"; GRAFT D).
//!
//! A message of scale `Delta` is written in base `q_div`: a tuple `(ct_0, .., ct_{t-1})` of
//! ciphertexts of one modulus `Q` stands for `RCB = q_div^{t-1} ct_0 + .. + q_div ct_{t-2} +
//! ct_{t-1}`, where all but `ct_0` decrypt to little: some `q_div` times the error of a modulus
//! switch. In a product the terms `ct_i ct_j` with `i + j >= t` are left out, and `q_div^{t-1}`
//! with them, so that its scale is `Delta^2/q_div^{t-1}` and a rescale divides away
//! `Delta/q_div^{t-1}` where a plain product takes `Delta`.
//!
//! The algorithms work on the *partial recombinations* `S_k = q_div^k ct_0 + .. + ct_k` (`S_{t-1} =
//! RCB`), from which `ct_k = S_k - q_div S_{k-1}`: to rescale (Def. D.4) or relinearise a tuple is
//! to do it to each `S_k`. The recombination of the result is then the rescaled, relinearised
//! recombination, with the errors of these operations and no others. For pairs (`t = 2`), with `ct^
//! = ct_0` and `ct_ = ct_1`:
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

/// The most ciphertexts of a tuple.
const MAX_LENGTH: usize = 16;

/// An encrypted vector as a tuple of `t >= 2` ciphertexts of one modulus: its scale, bound and
/// noise are those of the recombination `q_div^{t-1} ct_0 + .. + ct_{t-1}`.
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
    /// The ciphertexts, that of the highest digit first.
    pub fn parts(&self) -> &[rlwe::Ciphertext] {
        &self.parts
    }

    /// How many ciphertexts it has, `t`.
    pub fn length(&self) -> usize {
        self.parts.len()
    }

    /// `q_div`.
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

    /// How many slots it has.
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

    /// The estimated size of what all but the first ciphertext decrypt to: the standard deviation
    /// of a coefficient. A product leaves out a term of about its square over `q_div`; it grows by
    /// the bound of the values in every product, as errors do.
    pub fn low(&self) -> Noise {
        self.low
    }

    /// As [`crate::Ciphertext::precision_bits`], of the recombination.
    pub fn precision_bits(&self) -> f64 {
        self.scale.log2() - self.noise.log2_std() - 0.5 * (self.slots as f64).log2()
    }

    /// As [`crate::Ciphertext::capacity_bits`], of the recombination. A product takes
    /// `log2(Delta/q_div^{t-1})` bits of it.
    pub fn capacity_bits(&self, context: &Context) -> f64 {
        if self.parts[0].parameters() != context.parameters().digest() {
            return f64::NAN;
        }
        context.parameters().log2(self.modulus())
            - self.scale.log2()
            - self.bound.max(1.0).log2()
            - 1.0
    }

    /// The scale of the recombination over `q_div^{t-1}`: that of the first ciphertext.
    fn high_scale(&self) -> Scale {
        divided(self.scale, self.divisor, self.length() - 1)
    }
}

/// `scale/divisor^power`.
fn divided(scale: Scale, divisor: u64, power: usize) -> Scale {
    (0..power).fold(scale, |s, _| s.divided_by(divisor))
}

impl Evaluator {
    /// The largest power of two that serves as `q_div` for tuples of `length` at `scale`: such that
    /// what a product of fresh tuples of values up to 1 leaves out, once rescaled, is half the
    /// error of the rescale or less. With `r` that error (standard deviation), `sqrt((t-1) N)
    /// (q_div r)^2/q_div * q_div^{t-1}/Delta <= r/2`, so `q_div^t <= Delta/(2 r sqrt((t-1) N))`.
    /// Since what is left out grows faster than errors do (as the square of [`Tuple::low`]),
    /// `reserve` bits are taken off for products in a row, one for every two or so.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the scale is too small for tuples of this length, or the
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

fn check_length(length: usize, operation: &'static str) -> Result<(), CkksError> {
    if (2..=MAX_LENGTH).contains(&length) {
        return Ok(());
    }
    Err(CkksError::Argument {
        operation,
        what: format!("a tuple of {length}: 2 to {MAX_LENGTH} are possible"),
    })
}

fn check_divisor(divisor: u64, operation: &'static str) -> Result<(), CkksError> {
    if (2..1 << 61).contains(&divisor) {
        return Ok(());
    }
    Err(CkksError::Argument {
        operation,
        what: format!("a divisor of {divisor}: 2 to 2^61 is possible"),
    })
}
