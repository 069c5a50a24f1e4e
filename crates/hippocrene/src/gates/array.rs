//! Arrays of single bits.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hippocrene_ckks::bits::DEVIATIONS;
use hippocrene_fhew::{GateParameters, LweCiphertext, SeededCoefficients};
use hippocrene_rlwe::{Fingerprint, Noise, stop};

use crate::{Error, Layout};

/// An encrypted array of single bits, in row-major order. What it computes with is a
/// [`GateServer`](super::GateServer).
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
    pub(super) fn single(
        shape: &[usize],
        parameters: GateParameters,
        bits: Vec<Arc<LweCiphertext>>,
    ) -> Self {
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

    /// How far a message is from that of its bit at most, over the distance of the messages of 0
    /// and 1: 14 standard deviations of the noise, as for [`BitArray`](crate::BitArray)s. It is
    /// below 1/2.
    pub fn error(&self) -> f64 {
        error_of(&self.parameters, self.noise())
    }

    /// The bits one by one. A fresh one takes 8 KB then.
    pub(crate) fn expanded(&self) -> Result<Cow<'_, [Arc<LweCiphertext>]>, Error> {
        Ok(match self.some(0..self.size())? {
            Picked::All(bits) => Cow::Borrowed(bits),
            Picked::Some(bits) => Cow::Owned(bits.into_values().collect()),
        })
    }

    /// The bits at these places, which are there, one by one: others of a fresh array take no
    /// memory.
    pub(super) fn some(&self, places: impl Iterator<Item = usize>) -> Result<Picked<'_>, Error> {
        let fresh = match &self.bits {
            Bits::Single(bits) => return Ok(Picked::All(bits)),
            Bits::Fresh(fresh) => fresh,
        };
        let each = self.parameters.rotation().ring().dimension();
        let mut wanted: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        places.for_each(|place| _ = wanted.entry(place / each).or_default().insert(place));
        let ciphertexts = fresh.expand_some(wanted.keys().copied())?;
        let mut bits = BTreeMap::new();
        for (ciphertext, place) in ciphertexts
            .iter()
            .zip(wanted.values())
            .flat_map(|(c, places)| places.iter().map(move |p| (c, *p)))
        {
            stop::check("lay out bits")?;
            bits.insert(place, Arc::new(ciphertext.extract(place % each)?));
        }
        Ok(Picked::Some(bits))
    }
}

/// Some bits of an array.
pub(super) enum Picked<'a> {
    /// All that there are.
    All(&'a [Arc<LweCiphertext>]),
    /// By their places.
    Some(BTreeMap<usize, Arc<LweCiphertext>>),
}

impl Picked<'_> {
    /// The bit at a place, if it is there.
    pub(super) fn get(&self, place: usize) -> Option<&Arc<LweCiphertext>> {
        match self {
            Picked::All(bits) => bits.get(place),
            Picked::Some(bits) => bits.get(&place),
        }
    }
}

/// [`GateArray::error`] of this noise.
pub(crate) fn error_of(parameters: &GateParameters, noise: Noise) -> f64 {
    let q = parameters.rotation().ring().modulus() as f64;
    DEVIATIONS * noise.log2_std().exp2() / (q / 4.0)
}

/// Checks that so many bits fill the shape.
pub(crate) fn check_shape(
    shape: &[usize],
    count: usize,
    operation: &'static str,
) -> Result<(), Error> {
    Layout::filled(shape, 1, count, operation).map(drop)
}
