//! What can go wrong between numbers and plaintexts.

use hippocrene_ring::RingError;
use thiserror::Error;

use crate::BigFloatError;

/// Why values cannot be encoded, or a plaintext cannot be decoded.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value is NaN or infinite.
    #[error("encode: value {index} is {value}, only finite numbers can be encoded")]
    NotFinite {
        /// Which value.
        index: usize,
        /// The value; of a complex number, the part that is not finite.
        value: f64,
    },
    /// The scaled values do not fit the modulus.
    #[error(
        "encode: values at scale 2^{scale_bits:.2} need a modulus of {needed_bits} bits, it has {modulus_bits:.1}: take a \
         smaller scale (less precision) or a larger modulus (another preset)"
    )]
    TooLarge {
        /// `log2` of the scale.
        scale_bits: f64,
        /// `log2` of the least modulus that would do, rounded up: of values, which may be secret,
        /// it tells no more than the magnitude.
        needed_bits: f64,
        /// `log2` of the modulus.
        modulus_bits: f64,
    },
    /// More values than slots.
    #[error("encode: {values} values do not fit {slots} slots")]
    TooManyValues {
        /// How many values there are.
        values: usize,
        /// How many slots there are.
        slots: usize,
    },
    /// The slot count is not a power of two from 1 to `N/2`.
    #[error("{slots} slots are not possible: a power of two from 1 to {max_slots} is needed")]
    SlotCount {
        /// The slot count that was asked for.
        slots: usize,
        /// `N/2`.
        max_slots: usize,
    },
    /// The scale is not a positive finite number.
    #[error("scale {scale} is not possible: a positive finite number is needed")]
    Scale {
        /// The scale that was asked for.
        scale: f64,
    },
    /// A ring of another degree, or limbs, slots or moduli in numbers that do not agree.
    #[error("{what}: {have} given, {need} needed")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        have: usize,
        /// How many there should be.
        need: usize,
    },
    /// The decoded values lie outside the range of `f64`.
    #[error(
        "decode: the plaintext is about 2^{bits:.0} times its scale: it was decrypted with another key or is all noise"
    )]
    OutOfRange {
        /// `log2` of the coefficients over the scale, rounded down to a limb.
        bits: f64,
    },
    /// The decoded values lie outside the range of [`crate::BigFloat`].
    #[error("decode: {0}")]
    Number(#[from] BigFloatError),
    /// The ring cannot be built.
    #[error(transparent)]
    Ring(#[from] RingError),
}
