//! Ciphertexts of bits.

use hippocrene_rlwe::{Modulus, Noise};
use num_complex::Complex64;

use crate::{Ciphertext, CkksError, Context, Plaintext, Scale, SeededCiphertext};

/// Errors stay below so many standard deviations, but for a probability of [`log2_tail`] in each
/// slot: `2^-28`.
pub const DEVIATIONS: f64 = 14.0;

/// The bounds of the errors of a gate's operands may sum up to so much for the bits to be certain:
/// one is mistaken for the other where the sum is off by 1/2, as more than five times as many
/// standard deviations are at least. Operands that are less certain are to be refreshed first.
pub const CERTAIN: f64 = 3.0 / 32.0;

/// log2 of the probability that an error in a slot leaves so many standard deviations, which are
/// root mean squares over slots and keys: `exp(-sqrt(2) k)`. Of a given slot and secret `s` the
/// error of a rounding is Gaussian with a variance that goes with `|s(zeta)|^2`, and this is
/// exponentially distributed, so that the error of a real part is distributed as Laplace's.
pub(super) fn log2_tail(deviations: f64) -> f64 {
    -std::f64::consts::SQRT_2 * deviations * std::f64::consts::LOG2_E
}

/// An error of so much could make one bit of the other.
const MOST: f64 = 0.5;

const DECLARE: &str = "take slots for bits";

/// Where the bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitPacking {
    /// In the `n` slots, which are real.
    Real,
    /// In the `n` real parts and the `n` imaginary parts, in this order. Only what goes for the
    /// parts one by one can be done: gates that bootstrap, and `not`.
    Complex,
}

impl BitPacking {
    /// How many bits so many slots hold.
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

/// An encrypted vector of bits. Its noise estimate is that of the difference of slots and bits,
/// whatever it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct BitCiphertext {
    ciphertext: Ciphertext,
    packing: BitPacking,
}

impl BitCiphertext {
    /// Declares that the slots hold bits, with an error of what the noise estimate says.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the error could make one bit of the other.
    pub fn declare(mut ciphertext: Ciphertext, packing: BitPacking) -> Result<Self, CkksError> {
        let error = error_of(&ciphertext);
        check_error(error, DECLARE)?;
        ciphertext.set_bound(packing.magnitude() * (1.0 + error));
        Ok(BitCiphertext { ciphertext, packing })
    }

    /// The result of an operation, with its error.
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

    /// The ciphertext of the slots.
    pub fn into_ciphertext(self) -> Ciphertext {
        self.ciphertext
    }

    /// Where the bits are.
    pub fn packing(&self) -> BitPacking {
        self.packing
    }

    /// How many bits it holds.
    pub fn bits(&self) -> usize {
        self.packing.bits(self.ciphertext.slots())
    }

    /// The bits of a ciphertext without residues, as far as they are known
    /// ([`Ciphertext::known_values`]): what would be decrypted. Nothing for any other.
    pub fn known_bits(&self) -> Option<Vec<bool>> {
        self.ciphertext.known_values().map(|values| read_bits(values, self.packing))
    }

    /// How far a slot (or either part of it) is from its bit at most: [`DEVIATIONS`] times the
    /// estimated standard deviation.
    pub fn error(&self) -> f64 {
        error_of(&self.ciphertext)
    }
}

/// A fresh [`BitCiphertext`], half of it a seed.
#[derive(Debug, Clone)]
pub struct SeededBitCiphertext {
    ciphertext: SeededCiphertext,
    packing: BitPacking,
}

impl SeededBitCiphertext {
    /// Declares that the slots hold bits.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the error of a fresh encryption could make one bit of the other
    /// at this scale.
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

    /// Where the bits are.
    pub fn packing(&self) -> BitPacking {
        self.packing
    }

    /// As [`BitCiphertext::error`].
    pub fn error(&self) -> f64 {
        fresh_error(&self.ciphertext)
    }

    /// The whole ciphertext.
    ///
    /// # Panics
    /// When it was made with other parameters.
    pub fn expand(&self, context: &Context) -> BitCiphertext {
        BitCiphertext { ciphertext: self.ciphertext.expand(context), packing: self.packing }
    }
}

fn check_error(error: f64, operation: &'static str) -> Result<(), CkksError> {
    if error < MOST {
        return Ok(());
    }
    let what = format!(
        "the result could be off by {error:.3}, and a bit can be told while that is below {MOST}: refresh or clean the operands first"
    );
    Err(CkksError::Argument { operation, what })
}

/// The bound of the error that the noise estimate stands for.
pub(super) fn error_of(a: &Ciphertext) -> f64 {
    error_at(a.scale(), a.inner().noise(), a.slots())
}

/// [`error_of`] a fresh encryption.
fn fresh_error(a: &SeededCiphertext) -> f64 {
    error_at(a.scale(), a.noise(), a.slots())
}

/// The bound of the error of bits at this scale, in so many slots, where coefficients have this
/// noise: [`DEVIATIONS`] times the standard deviation in a slot ([`Ciphertext::precision_bits`]).
pub fn error_at(scale: Scale, noise: Noise, slots: usize) -> f64 {
    DEVIATIONS * (noise.log2_std() - scale.log2() + 0.5 * (slots as f64).log2()).exp2()
}

/// Encodes bits, and zeros after them, into `slots` slots: a plaintext to be encrypted.
///
/// # Errors
/// [`CkksError::Argument`] for more bits than there is room for, and as [`Context::encode`].
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
        let what = format!("{} bits, {slots} slots have room for {room}", bits.len());
        return Err(CkksError::Argument { operation: "encode bits", what });
    }
    let part = |i: usize| bits.get(i).map_or(0.0, |bit| f64::from(u8::from(*bit)));
    let imaginary = |i: usize| if packing == BitPacking::Complex { part(slots + i) } else { 0.0 };
    let values: Vec<Complex64> =
        (0..slots).map(|i| Complex64::new(part(i), imaginary(i))).collect();
    let mut plaintext = context.encode((&values[..]).into(), slots, scale, modulus)?;
    // The largest of the values is not for others to see.
    plaintext.set_bound(std::f64::consts::SQRT_2);
    Ok(plaintext)
}

/// The bits of a decrypted ciphertext.
///
/// # Errors
/// As [`Context::decode_complex`].
pub fn decode_bits(
    context: &Context,
    plaintext: &Plaintext,
    packing: BitPacking,
) -> Result<Vec<bool>, CkksError> {
    Ok(read_bits(&context.decode_complex(plaintext)?, packing))
}

/// The bits that slots hold.
fn read_bits(values: &[Complex64], packing: BitPacking) -> Vec<bool> {
    let mut bits: Vec<bool> = values.iter().map(|z| z.re > 0.5).collect();
    if packing == BitPacking::Complex {
        bits.extend(values.iter().map(|z| z.im > 0.5));
    }
    bits
}
