//! Ciphertexts of bits.

use hippocrene_rlwe::{Modulus, Noise};
use num_complex::Complex64;

use crate::{Ciphertext, CkksError, Context, Plaintext, Scale, SeededCiphertext};

/// Number of standard deviations that an error bound allows. An error exceeds it with probability
/// `2^-28` in each slot ([`log2_tail`]).
pub const DEVIATIONS: f64 = 14.0;

/// Largest sum of the operands' error bounds at which a gate is certain.
///
/// A gate returns a wrong bit if the sum of the errors reaches 1/2. That is more than five times
/// this bound, and so more than 74 standard deviations. Refresh operands that are less certain
/// first.
pub const CERTAIN_ERROR_BOUND: f64 = 3.0 / 32.0;

/// Returns log2 of the probability that the error in a slot exceeds `deviations` standard
/// deviations, where the standard deviation is a root mean square over slots and keys.
///
/// The probability is `exp(-sqrt(2) k)` for `k` deviations. For a given slot and secret `s`, the
/// error of a rounding is Gaussian with a variance proportional to `|s(zeta)|^2`. That factor is
/// exponentially distributed over slots and secrets, so the real part of the error has a Laplace
/// distribution.
pub(super) fn log2_tail(deviations: f64) -> f64 {
    -std::f64::consts::SQRT_2 * deviations * std::f64::consts::LOG2_E
}

/// An error of this size turns a bit into its complement.
const MAX_ERROR: f64 = 0.5;

const DECLARE: &str = "take slots for bits";

/// How a ciphertext packs bits into slots. See [`BitCiphertext`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitPacking {
    /// One bit in each of the `n` slots, which are real.
    Real,
    /// `2n` bits: the first half in the real parts of the `n` slots, the second half in the
    /// imaginary parts. Only operations that act on each part alone exist: gates that bootstrap,
    /// and `not`.
    Complex,
}

impl BitPacking {
    /// Returns the number of bits that `slots` slots hold.
    pub fn bits(self, slots: usize) -> usize {
        match self {
            BitPacking::Real => slots,
            BitPacking::Complex => 2 * slots,
        }
    }

    /// The largest absolute value of a slot of bits.
    fn magnitude(self) -> f64 {
        match self {
            BitPacking::Real => 1.0,
            BitPacking::Complex => std::f64::consts::SQRT_2,
        }
    }
}

/// An encrypted vector of bits.
///
/// The noise estimate of its ciphertext covers the whole difference between slots and bits,
/// whatever caused it.
///
/// # Examples
/// ```
/// use hippocrene_ckks::{Scale, bits::{BitCiphertext, BitPacking, decode_bits, encode_bits}};
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
/// let (scale, modulus) = (Scale::power_of_two(40), context.parameters().top());
/// let bits = [true, false, true, true];
/// let plaintext = encode_bits(&context, &bits, BitPacking::Real, 4, scale, modulus)?;
/// let encrypted = context.encrypt(&secret, &plaintext)?.expand(&context);
/// let encrypted = BitCiphertext::declare(encrypted, BitPacking::Real)?;
/// let not = evaluator.not_bits(&encrypted)?;
/// let decrypted = context.decrypt(&secret, not.ciphertext())?;
/// assert_eq!(decode_bits(&context, &decrypted, BitPacking::Real)?, [false, true, false, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BitCiphertext {
    ciphertext: Ciphertext,
    packing: BitPacking,
}

impl BitCiphertext {
    /// Declares that the slots of `ciphertext` hold bits. Their error is the noise estimate of
    /// `ciphertext`.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the error could turn a bit into its complement.
    pub fn declare(mut ciphertext: Ciphertext, packing: BitPacking) -> Result<Self, CkksError> {
        let error = error_of(&ciphertext);
        check_error(error, DECLARE)?;
        ciphertext.set_bound(packing.magnitude() * (1.0 + error));
        Ok(BitCiphertext { ciphertext, packing })
    }

    /// Declares the result of an operation as bits with a given error bound.
    pub(super) fn with_error(
        mut ciphertext: Ciphertext,
        packing: BitPacking,
        error: f64,
        operation: &'static str,
    ) -> Result<Self, CkksError> {
        check_error(error, operation)?;
        let slots = ciphertext.slots() as f64;
        let log2_std = (error / DEVIATIONS).log2() + ciphertext.scale().log2() - 0.5 * slots.log2();
        ciphertext.inner_mut().set_noise(Noise::from_log2_std(log2_std));
        ciphertext.set_bound(packing.magnitude() * (1.0 + error));
        Ok(BitCiphertext { ciphertext, packing })
    }

    /// The ciphertext of the slots.
    pub fn ciphertext(&self) -> &Ciphertext {
        &self.ciphertext
    }

    /// Returns the ciphertext of the slots.
    pub fn into_ciphertext(self) -> Ciphertext {
        self.ciphertext
    }

    /// The packing of the bits.
    pub fn packing(&self) -> BitPacking {
        self.packing
    }

    /// Returns the number of bits that it holds.
    pub fn bits(&self) -> usize {
        self.packing.bits(self.ciphertext.slots())
    }

    /// Returns the bits that decryption would give, if this is a ciphertext of a dry run with known
    /// values ([`Ciphertext::tracked_values`]). Returns `None` for any other ciphertext.
    pub fn known_bits(&self) -> Option<Vec<bool>> {
        self.ciphertext.tracked_values().map(|values| read_bits(values, self.packing))
    }

    /// Returns the error bound: the largest distance between a slot (or either of its parts) and
    /// its bit. It is [`DEVIATIONS`] times the estimated standard deviation.
    pub fn error(&self) -> f64 {
        error_of(&self.ciphertext)
    }
}

/// A fresh [`BitCiphertext`] with one polynomial stored as a seed. See [`BitCiphertext`] for
/// an example.
#[derive(Debug, Clone)]
pub struct SeededBitCiphertext {
    ciphertext: SeededCiphertext,
    packing: BitPacking,
}

impl SeededBitCiphertext {
    /// Declares that the slots of `ciphertext` hold bits.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the error of a fresh encryption could turn a bit into
    /// its complement at this scale.
    pub fn declare(
        mut ciphertext: SeededCiphertext,
        packing: BitPacking,
    ) -> Result<Self, CkksError> {
        let error = fresh_error(&ciphertext);
        check_error(error, DECLARE)?;
        ciphertext.set_bound(packing.magnitude() * (1.0 + error));
        Ok(SeededBitCiphertext { ciphertext, packing })
    }

    /// The ciphertext of the slots.
    pub fn ciphertext(&self) -> &SeededCiphertext {
        &self.ciphertext
    }

    /// The packing of the bits.
    pub fn packing(&self) -> BitPacking {
        self.packing
    }

    /// The error bound, as for [`BitCiphertext::error`].
    pub fn error(&self) -> f64 {
        fresh_error(&self.ciphertext)
    }

    /// Expands the seed into the whole ciphertext.
    ///
    /// # Panics
    /// Panics if the ciphertext was made with other parameters.
    pub fn expand(&self, context: &Context) -> BitCiphertext {
        BitCiphertext { ciphertext: self.ciphertext.expand(context), packing: self.packing }
    }
}

/// Fails if an error of this size makes bits unreadable.
fn check_error(error: f64, operation: &'static str) -> Result<(), CkksError> {
    if error < MAX_ERROR {
        return Ok(());
    }
    let what = format!(
        "the error of the result may reach {error:.3}, and bits can be read only below \
         {MAX_ERROR}. Refresh or clean the operands first"
    );
    Err(CkksError::Argument { operation, what })
}

/// Returns the error bound that the noise estimate of `a` gives.
pub(super) fn error_of(a: &Ciphertext) -> f64 {
    error_at(a.scale(), a.inner().noise(), a.slots())
}

/// Returns the error bound of a fresh encryption.
fn fresh_error(a: &SeededCiphertext) -> f64 {
    error_at(a.scale(), a.noise(), a.slots())
}

/// Returns the error bound of bits at `scale` in `slots` slots whose coefficients have this noise:
/// [`DEVIATIONS`] times the standard deviation in a slot ([`Ciphertext::precision_bits`]).
pub fn error_at(scale: Scale, noise: Noise, slots: usize) -> f64 {
    DEVIATIONS * (noise.log2_std() - scale.log2() + 0.5 * (slots as f64).log2()).exp2()
}

/// Encodes `bits`, followed by zeros, into a plaintext of `slots` slots.
///
/// # Errors
/// Fails with [`CkksError::Argument`] if there are more bits than places, and as
/// [`Context::encode`] does.
pub fn encode_bits(
    context: &Context,
    bits: &[bool],
    packing: BitPacking,
    slots: usize,
    scale: Scale,
    modulus: Modulus,
) -> Result<Plaintext, CkksError> {
    let room = packing.bits(slots);
    if bits.len() > room {
        let what = format!("there are {} bits, and {slots} slots hold {room}", bits.len());
        return Err(CkksError::Argument { operation: "encode bits", what });
    }
    let part = |i: usize| bits.get(i).map_or(0.0, |bit| f64::from(u8::from(*bit)));
    let imaginary = |i: usize| if packing == BitPacking::Complex { part(slots + i) } else { 0.0 };
    let values: Vec<Complex64> =
        (0..slots).map(|i| Complex64::new(part(i), imaginary(i))).collect();
    let mut plaintext = context.encode((&values[..]).into(), slots, scale, modulus)?;
    // The declared bound is the same for all bits, so that it reveals nothing about them.
    plaintext.set_bound(std::f64::consts::SQRT_2);
    Ok(plaintext)
}

/// Decodes the bits of a decrypted ciphertext.
///
/// # Errors
/// Fails as [`Context::decode_complex`] does.
pub fn decode_bits(
    context: &Context,
    plaintext: &Plaintext,
    packing: BitPacking,
) -> Result<Vec<bool>, CkksError> {
    Ok(read_bits(&context.decode_complex(plaintext)?, packing))
}

/// Rounds the parts of slots to bits.
fn read_bits(values: &[Complex64], packing: BitPacking) -> Vec<bool> {
    let mut bits: Vec<bool> = values.iter().map(|z| z.re > 0.5).collect();
    if packing == BitPacking::Complex {
        bits.extend(values.iter().map(|z| z.im > 0.5));
    }
    bits
}
