//! Arrays of single bits.

use std::{borrow::Cow, sync::Arc};

use hippocrene_ckks::bits::DEVIATIONS;
use hippocrene_fhew::{GateParameters, LweCiphertext, SeededCoefficients};
use hippocrene_rlwe::{Fingerprint, Noise};

use crate::{Error, Layout};

/// An encrypted array of single bits, in row-major order. What it computes with is a [`GateServer`](super::GateServer).
#[derive(Debug, Clone)]
pub struct GateArray {
    pub(crate) shape: Vec<usize>,
    pub(crate) parameters: GateParameters,
    pub(crate) bits: Bits,
}

/// The ciphertexts of an array.
#[derive(Debug, Clone)]
pub(crate) enum Bits {
    /// As they were encrypted: half of them is a seed.
    Fresh(Arc<SeededCoefficients>),
    /// One by one. Arrays share those that they have in common. There is one at least.
    Single(Vec<Arc<LweCiphertext>>),
}

impl GateArray {
    /// Of as many bits as the shape has, of one key.
    pub(super) fn single(shape: &[usize], parameters: GateParameters, bits: Vec<Arc<LweCiphertext>>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), bits.len());
        GateArray { shape: shape.to_vec(), parameters, bits: Bits::Single(bits) }
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many bits there are.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// What it was encrypted with.
    pub fn parameters(&self) -> GateParameters {
        self.parameters
    }

    /// The fingerprint of the secret key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        match &self.bits {
            Bits::Fresh(bits) => bits.key(),
            Bits::Single(bits) => bits[0].key(),
        }
    }

    /// The largest error of a bit, as estimated.
    pub(crate) fn noise(&self) -> Noise {
        let fresh = self.parameters.fresh_noise();
        match &self.bits {
            Bits::Fresh(_) => fresh,
            Bits::Single(bits) => {
                let larger = |a: Noise, b: Noise| if b.log2_std() > a.log2_std() { b } else { a };
                bits.iter().map(|bit| bit.noise()).fold(fresh, larger)
            }
        }
    }

    /// How far a message is from that of its bit at most, over the distance of the messages of 0 and 1: 14 standard deviations of the noise, as for
    /// [`BitArray`](crate::BitArray)s. It is below 1/2.
    pub fn error(&self) -> f64 {
        let q = self.parameters.rotation().ring().modulus() as f64;
        DEVIATIONS * self.noise().log2_std().exp2() / (q / 4.0)
    }

    /// The bits one by one.
    pub(crate) fn expanded(&self) -> Result<Cow<'_, [Arc<LweCiphertext>]>, Error> {
        let fresh = match &self.bits {
            Bits::Single(bits) => return Ok(Cow::Borrowed(bits)),
            Bits::Fresh(fresh) => fresh,
        };
        let (size, mut bits) = (self.size(), Vec::with_capacity(self.size()));
        for ciphertext in fresh.expand()? {
            let here = self.parameters.rotation().ring().dimension().min(size - bits.len());
            for index in 0..here {
                bits.push(Arc::new(ciphertext.extract(index)?));
            }
        }
        Ok(Cow::Owned(bits))
    }
}

/// Checks that so many bits fill the shape.
pub(crate) fn check_shape(shape: &[usize], count: usize, operation: &'static str) -> Result<(), Error> {
    Layout::filled(shape, 1, count, operation).map(drop)
}
