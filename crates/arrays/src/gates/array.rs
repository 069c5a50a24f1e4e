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

/// An encrypted array of single bits, in row-major order.
///
/// A [`GateServer`](super::GateServer) computes on it.
///
/// See [`GateServer`](super::GateServer) for an example.
#[derive(Debug, Clone)]
pub struct GateArray {
    shape: Vec<usize>,
    parameters: GateParameters,
    bits: Bits,
}

/// The ciphertexts of an array.
///
/// See [`GateServer`](super::GateServer) for an example of arrays of bits.
#[derive(Debug, Clone)]
pub enum Bits {
    /// Freshly encrypted bits. One half of the ciphertexts is a seed.
    Fresh(Arc<SeededCoefficients>),
    /// Separate ciphertexts, at least one. Arrays share the ciphertexts of the bits that they have
    /// in common.
    Single(Vec<Arc<LweCiphertext>>),
}

impl GateArray {
    /// Puts an array together from its parts. [`check_shape`] says which shapes are possible.
    pub fn new(shape: Vec<usize>, parameters: GateParameters, bits: Bits) -> Self {
        GateArray { shape, parameters, bits }
    }

    /// Creates an array from one ciphertext for each element, all under the same key.
    pub(super) fn single(
        shape: &[usize],
        parameters: GateParameters,
        bits: Vec<Arc<LweCiphertext>>,
    ) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), bits.len());
        GateArray::new(shape.to_vec(), parameters, Bits::Single(bits))
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The ciphertexts.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// The number of bits.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The parameters that the array was encrypted with.
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

    /// The largest noise estimate of a bit.
    pub fn noise(&self) -> Noise {
        let fresh = self.parameters.fresh_noise();
        match &self.bits {
            Bits::Fresh(_) => fresh,
            Bits::Single(bits) => {
                let larger = |a: Noise, b: Noise| if b.log2_std() > a.log2_std() { b } else { a };
                bits.iter().map(|bit| bit.noise()).fold(fresh, larger)
            }
        }
    }

    /// The largest distance of a message from that of its bit, relative to the distance between 0
    /// and 1.
    ///
    /// It is 14 standard deviations of the noise, as for [`BitArray`](crate::BitArray)s, and below
    /// 1/2.
    pub fn error(&self) -> f64 {
        error_of(&self.parameters, self.noise())
    }

    /// Returns a separate ciphertext for each bit. Expanding a fresh bit takes 8 KB.
    pub(crate) fn expanded(&self) -> Result<Cow<'_, [Arc<LweCiphertext>]>, Error> {
        Ok(match self.bits_at(0..self.size())? {
            SelectedBits::All(bits) => Cow::Borrowed(bits),
            SelectedBits::Some(bits) => Cow::Owned(bits.into_values().collect()),
        })
    }

    /// Returns separate ciphertexts of the bits at these places, which must be valid.
    ///
    /// The other bits of a fresh array are not expanded and take no memory.
    pub(super) fn bits_at(
        &self,
        places: impl Iterator<Item = usize>,
    ) -> Result<SelectedBits<'_>, Error> {
        let fresh = match &self.bits {
            Bits::Single(bits) => return Ok(SelectedBits::All(bits)),
            Bits::Fresh(fresh) => fresh,
        };
        let each = self.parameters.rotation().ring().dimension();
        let mut wanted: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        places.for_each(|place| _ = wanted.entry(place / each).or_default().insert(place));
        let ciphertexts = fresh.expand_selected(wanted.keys().copied())?;
        let mut bits = BTreeMap::new();
        for (ciphertext, place) in ciphertexts
            .iter()
            .zip(wanted.values())
            .flat_map(|(c, places)| places.iter().map(move |p| (c, *p)))
        {
            stop::check("lay out bits")?;
            bits.insert(place, Arc::new(ciphertext.extract(place % each)?));
        }
        Ok(SelectedBits::Some(bits))
    }
}

/// Bits that were selected from an array.
pub(super) enum SelectedBits<'a> {
    /// All bits of the array.
    All(&'a [Arc<LweCiphertext>]),
    /// Some of the bits, by their places in the order of the ciphertexts.
    Some(BTreeMap<usize, Arc<LweCiphertext>>),
}

impl SelectedBits<'_> {
    /// The bit at a place, if it was picked.
    pub(super) fn get(&self, place: usize) -> Option<&Arc<LweCiphertext>> {
        match self {
            SelectedBits::All(bits) => bits.get(place),
            SelectedBits::Some(bits) => bits.get(&place),
        }
    }
}

/// Computes [`GateArray::error`] for this noise.
pub fn error_of(parameters: &GateParameters, noise: Noise) -> f64 {
    let q = parameters.rotation().ring().modulus() as f64;
    DEVIATIONS * noise.log2_std().exp2() / (q / 4.0)
}

/// Checks that `count` bits fill the shape.
///
/// # Errors
/// [`Error::Shape`] in the name of `operation` when they do not.
pub fn check_shape(shape: &[usize], count: usize, operation: &'static str) -> Result<(), Error> {
    Layout::filled(shape, 1, count, operation).map(drop)
}
