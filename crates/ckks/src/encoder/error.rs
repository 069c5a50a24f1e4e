//! Errors of encoding and decoding.

use hippocrene_ring::RingError;
use thiserror::Error;

use crate::BigFloatError;

/// The reason why values cannot be encoded or a plaintext cannot be decoded. See
/// [`Encoder`](super::Encoder) for an example of encoding.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A value is NaN or infinite.
    #[error("encode: value {index} is {value}, only finite numbers can be encoded")]
    NotFinite {
        /// The index of the value.
        index: usize,
        /// The value. For a complex number, the part that is not finite.
        value: f64,
    },
    /// The scaled values do not fit the modulus.
    #[error(
        "encode: values at scale 2^{scale_bits:.2} need a modulus of {needed_bits} bits, it has \
         {modulus_bits:.1}: take a smaller scale (less precision) or a larger modulus (another \
         preset)"
    )]
    TooLarge {
        /// `log2` of the scale.
        scale_bits: f64,
        /// `log2` of the smallest modulus that would suffice, rounded up. It reveals only the
        /// magnitude of the values, which may be secret.
        needed_bits: f64,
        /// `log2` of the modulus.
        modulus_bits: f64,
    },
    /// There are more values than slots.
    #[error("encode: {values} values do not fit {slots} slots")]
    TooManyValues {
        /// The number of values.
        values: usize,
        /// The number of slots.
        slots: usize,
    },
    /// The slot count is not a power of two from 1 to `N/2`.
    #[error("{slots} slots are not possible: a power of two from 1 to {max_slots} is needed")]
    SlotCount {
        /// The given number of slots.
        slots: usize,
        /// The largest number of slots, `N/2`.
        max_slots: usize,
    },
    /// The scale is not a positive finite number.
    #[error("scale {scale} is not possible: a positive finite number is needed")]
    Scale {
        /// The given scale.
        scale: f64,
    },
    /// A ring has another degree, or the numbers of limbs, slots or moduli do not match.
    #[error("{what}: {have} given, {need} needed")]
    Shape {
        /// The counted quantity.
        what: &'static str,
        /// The actual number.
        have: usize,
        /// The required number.
        need: usize,
    },
    /// The decoded values are outside of the range of `f64`.
    #[error(
        "decode: the plaintext is about 2^{bits:.0} times its scale: it was decrypted with \
         another key or is all noise"
    )]
    OutOfRange {
        /// `log2` of the coefficients divided by the scale, rounded down to a limb.
        bits: f64,
    },
    /// The decoded values are outside of the range of [`crate::BigFloat`].
    #[error("decode: {0}")]
    Number(#[from] BigFloatError),
    /// The ring cannot be built.
    #[error(transparent)]
    Ring(#[from] RingError),
}
