//! Arrays of bits: `2^13` to `2^16` bits in a ciphertext, and gates without a depth limit.
//!
//! A gate is a bootstrap ([`hippocrene_ckks::bits`]), or a product while there is capacity for one.
//! The library follows the error of every slot, and refreshes operands with too large an error
//! before a gate.

mod client;
mod keys;
mod server;
mod views;

use hippocrene_ckks::{
    Ciphertext, Scale, SeededCiphertext,
    bits::{BitCiphertext, BitPacking, SeededBitCiphertext},
};
use hippocrene_rlwe::{self as rlwe, Noise};

use crate::{Array, CiphertextBody, Elements, Error, Numbers, Session};

pub use keys::BitKeys;
pub use server::BitServer;

/// The form of arrays of bits.
///
/// See [`BitServer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// The packing of bits into slots.
    pub packing: BitPacking,
}

/// An encrypted array of bits, on which a [`BitServer`] computes.
pub type BitArray = Array<Bits>;

impl Elements for Bits {
    type Ciphertext = BitCiphertext;
    type Seeded = SeededBitCiphertext;
    /// The scale.
    type Own = Scale;

    fn fresh_noise() -> Noise {
        Numbers::fresh_noise()
    }

    fn own(ciphertext: &CiphertextBody<Self>) -> Scale {
        match ciphertext {
            CiphertextBody::Full(c) => c.ciphertext().scale(),
            CiphertextBody::Seeded(c) => c.seeded().ciphertext().scale(),
        }
    }

    fn full(
        &self,
        session: &Session,
        inner: rlwe::Ciphertext,
        scale: Scale,
    ) -> Result<BitCiphertext, Error> {
        let ciphertext =
            Ciphertext::from_parts(session.context(), inner, scale, session.slots(), 1.0)?;
        Ok(BitCiphertext::declare(ciphertext, self.packing)?)
    }

    fn seeded(
        &self,
        session: &Session,
        inner: rlwe::SeededCiphertext,
        scale: Scale,
    ) -> Result<SeededBitCiphertext, Error> {
        let ciphertext =
            SeededCiphertext::from_parts(session.context(), inner, scale, session.slots(), 1.0)?;
        Ok(SeededBitCiphertext::declare(ciphertext, self.packing)?)
    }

    fn inner(ciphertext: &BitCiphertext) -> &rlwe::Ciphertext {
        ciphertext.ciphertext().inner()
    }

    fn inner_seeded(ciphertext: &SeededBitCiphertext) -> &rlwe::SeededCiphertext {
        ciphertext.ciphertext().inner()
    }

    fn expand(session: &Session, ciphertext: &SeededBitCiphertext) -> BitCiphertext {
        ciphertext.expand(session.context())
    }

    fn fits(&self, ciphertext: &CiphertextBody<Self>) -> bool {
        ciphertext.packing() == self.packing
    }
}

impl CiphertextBody<Bits> {
    fn packing(&self) -> BitPacking {
        match self {
            CiphertextBody::Full(c) => c.packing(),
            CiphertextBody::Seeded(c) => c.seeded().packing(),
        }
    }

    fn error(&self) -> f64 {
        match self {
            CiphertextBody::Full(c) => c.error(),
            CiphertextBody::Seeded(c) => c.seeded().error(),
        }
    }
}

impl BitArray {
    /// The largest distance between a slot and its bit ([`BitCiphertext::error`]); it is below 1/2.
    pub fn error(&self) -> f64 {
        self.bodies().iter().map(CiphertextBody::error).fold(0.0, f64::max)
    }
}
