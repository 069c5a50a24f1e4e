//! Ciphertexts of bits.

use hippocrene_rlwe::{Modulus, Noise};
use num_complex::Complex64;

use crate::{Ciphertext, CkksError, Context, Plaintext, Scale};

/// Errors stay below so many standard deviations: all of `2^16` Gaussian ones at once, but for a probability of `2^-129`.
pub const DEVIATIONS: f64 = 14.0;

/// An error of so much could make one bit of the other.
const MOST: f64 = 0.5;

/// Where the bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitPacking {
    /// In the `n` slots, which are real.
    Real,
    /// In the `n` real parts and the `n` imaginary parts, in this order. Only what goes for the parts one by one can be done: gates that bootstrap, and `not`.
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
}

/// An encrypted vector of bits. Its noise estimate is that of the difference of slots and bits, whatever it comes from.
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
    pub fn declare(ciphertext: Ciphertext, packing: BitPacking) -> Result<Self, CkksError> {
        let error = error_of(&ciphertext);
        Self::with_error(ciphertext, packing, error, "take slots for bits")
    }

    /// The result of an operation, with its error.
    pub(super) fn with_error(
        mut ciphertext: Ciphertext,
        packing: BitPacking,
        error: f64,
        operation: &'static str,
    ) -> Result<Self, CkksError> {
        if error.is_nan() || error >= MOST {
            let what = format!(
                "the result could be off by {error:.3}, and a bit can be told while that is below {MOST}: refresh or clean the operands first"
            );
            return Err(CkksError::Argument { operation, what });
        }
        let slots = ciphertext.slots() as f64;
        let log2_std = (error / DEVIATIONS).log2() + ciphertext.scale().log2() - 0.5 * slots.log2();
        ciphertext.inner_mut().set_noise(Noise::from_log2_std(log2_std));
        let parts = if packing == BitPacking::Complex { std::f64::consts::SQRT_2 } else { 1.0 };
        ciphertext.set_bound(parts * (1.0 + error));
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

    /// How far a slot (or either part of it) is from its bit at most: [`DEVIATIONS`] times the estimated standard deviation.
    pub fn error(&self) -> f64 {
        error_of(&self.ciphertext)
    }
}

/// The bound of the error that the noise estimate stands for.
pub(super) fn error_of(a: &Ciphertext) -> f64 {
    DEVIATIONS * (-a.precision_bits()).exp2()
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
    let values: Vec<Complex64> = (0..slots).map(|i| Complex64::new(part(i), imaginary(i))).collect();
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
    let values = context.decode_complex(plaintext)?;
    let mut bits: Vec<bool> = values.iter().map(|z| z.re > 0.5).collect();
    if packing == BitPacking::Complex {
        bits.extend(values.iter().map(|z| z.im > 0.5));
    }
    Ok(bits)
}
