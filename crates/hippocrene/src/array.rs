//! Encrypted arrays.

use std::borrow::Cow;

use hippocrene_ckks::{Ciphertext, Context, Scale, SeededCiphertext};
use hippocrene_rlwe::{Fingerprint, Noise};

use crate::{Error, Layout, Session};

/// One ciphertext of an array: whole, or fresh from the secret key with half of it a seed.
#[derive(Debug, Clone)]
pub enum CiphertextBody {
    /// Both parts.
    Full(Ciphertext),
    /// One part and a seed: half of the size.
    Seeded(SeededCiphertext),
}

impl CiphertextBody {
    /// The whole ciphertext.
    pub(crate) fn expand(&self, context: &Context) -> Cow<'_, Ciphertext> {
        match self {
            CiphertextBody::Full(c) => Cow::Borrowed(c),
            CiphertextBody::Seeded(c) => Cow::Owned(c.expand(context)),
        }
    }

    fn key(&self) -> Fingerprint {
        match self {
            CiphertextBody::Full(c) => c.inner().key(),
            CiphertextBody::Seeded(c) => c.inner().key(),
        }
    }

    fn parameters(&self) -> Fingerprint {
        match self {
            CiphertextBody::Full(c) => c.inner().parameters(),
            CiphertextBody::Seeded(c) => c.inner().parameters(),
        }
    }

    fn bound(&self) -> f64 {
        match self {
            CiphertextBody::Full(c) => c.bound(),
            CiphertextBody::Seeded(c) => c.bound(),
        }
    }
}

/// An encrypted array of real or complex numbers: a shape, and ciphertexts that hold the elements in the slots that the layout names.
#[derive(Debug, Clone)]
pub struct EncryptedArray {
    layout: Layout,
    complex: bool,
    /// Whether the slots that hold no element are zero.
    clean: bool,
    /// The slots of every ciphertext repeat after so many, a divisor of their number, if they are known to. It is not written to files.
    period: Option<usize>,
    /// The precision that what is computed from it is to have, in bits after the binary point.
    precision: f64,
    bodies: Vec<CiphertextBody>,
}

impl EncryptedArray {
    /// Puts an array together: as many ciphertexts as the layout has, of one key and one parameter set. `None` when they are not. `precision` is
    /// as [`EncryptedArray::precision`] returns it, and possible with these parameters ([`Settings::scale_of`](crate::Settings::scale_of)).
    pub fn from_parts(
        layout: Layout,
        complex: bool,
        clean: bool,
        precision: f64,
        bodies: Vec<CiphertextBody>,
    ) -> Option<Self> {
        let first = bodies.first()?;
        let alike = bodies.iter().all(|b| b.key() == first.key() && b.parameters() == first.parameters());
        (alike && bodies.len() == layout.ciphertexts()).then_some(EncryptedArray {
            layout,
            complex,
            clean,
            period: None,
            precision,
            bodies,
        })
    }

    pub(crate) fn from_ciphertexts(
        layout: Layout,
        complex: bool,
        clean: bool,
        precision: f64,
        ciphertexts: Vec<Ciphertext>,
    ) -> Self {
        debug_assert_eq!(layout.ciphertexts(), ciphertexts.len());
        let bodies = ciphertexts.into_iter().map(CiphertextBody::Full).collect();
        EncryptedArray { layout, complex, clean, period: None, precision, bodies }
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// How many elements there are.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Where the elements stand.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the elements are complex; else the imaginary parts are only noise.
    pub fn is_complex(&self) -> bool {
        self.complex
    }

    /// Whether the slots that hold no element are zero.
    pub fn is_clean(&self) -> bool {
        self.clean
    }

    /// The ciphertexts.
    pub fn bodies(&self) -> &[CiphertextBody] {
        &self.bodies
    }

    /// The fingerprint of the key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.bodies[0].key()
    }

    /// The digest of its parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.bodies[0].parameters()
    }

    /// A bound on the absolute values of the elements.
    pub fn bound(&self) -> f64 {
        self.bodies.iter().map(CiphertextBody::bound).fold(0.0, f64::max)
    }

    /// Declares that no element is larger than `bound` in absolute value.
    ///
    /// The bound that operations follow is that of the worst case, which a sum of many products is far from; who knows better says so,
    /// where a Chebyshev series refuses an array whose bound exceeds its interval. For a fresh array it replaces the bound that
    /// encryption took from the values, and so hides how large they are. Where the declaration is wrong, results may be.
    ///
    /// # Errors
    /// [`Error::Argument`] when `bound` is negative or not finite.
    pub fn with_bound(mut self, bound: f64) -> Result<Self, Error> {
        if !(bound.is_finite() && bound >= 0.0) {
            return Err(Error::argument("declare a bound", format!("{bound} is not a finite number from 0")));
        }
        self.set_bound(bound);
        Ok(self)
    }

    pub(crate) fn set_bound(&mut self, bound: f64) {
        for body in &mut self.bodies {
            match body {
                CiphertextBody::Full(c) => c.set_bound(bound),
                CiphertextBody::Seeded(c) => c.set_bound(bound),
            }
        }
    }

    /// How precise the elements are: `-log2` of the estimated standard deviation of their error, in bits after the binary point.
    ///
    /// An array whose error is exactly zero (an array times 0) counts as rounded to integers at its scale, which is all that it can hold.
    pub fn precision_bits(&self, session: &Session) -> f64 {
        let degree = 2 * self.layout.slots();
        let bits = |c: &Ciphertext| precision_bits(c.scale(), c.inner().noise(), degree);
        self.expanded(session).iter().map(|c| bits(c)).fold(f64::INFINITY, f64::min)
    }

    /// How many bits can still be computed away: a multiplication takes about as many as its precision and the overhead of the settings.
    pub fn capacity_bits(&self, session: &Session) -> f64 {
        let context = session.context();
        self.bodies.iter().map(|b| b.expand(context).capacity_bits(context)).fold(f64::INFINITY, f64::min)
    }

    /// The precision that what is computed from it is to have, in bits after the binary point: what was asked for, where
    /// [`EncryptedArray::precision_bits`] estimates what there is. Operations on arrays of different precision take the smaller.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// Asks for another precision of what is computed from this array. Less precision takes less capacity in every product; more than the array
    /// has makes nothing more precise.
    ///
    /// # Errors
    /// [`Error::Parameters`] when these parameters do not allow it.
    pub fn with_precision(mut self, precision: f64, session: &Session) -> Result<Self, Error> {
        session.settings().scale_of(precision)?;
        self.precision = precision;
        Ok(self)
    }

    /// After how many slots every ciphertext repeats, if that is known.
    pub(crate) fn period(&self) -> Option<usize> {
        self.period
    }

    /// The array with a period of its slots that is known.
    pub(crate) fn with_period(mut self, period: Option<usize>) -> Self {
        self.period = period;
        self
    }

    /// The same ciphertexts seen with another layout of the same ciphertext count.
    pub(crate) fn with_layout(mut self, layout: Layout) -> Self {
        debug_assert_eq!(layout.ciphertexts(), self.bodies.len());
        self.layout = layout;
        self
    }

    /// The whole ciphertexts.
    pub(crate) fn expanded(&self, session: &Session) -> Vec<Cow<'_, Ciphertext>> {
        self.bodies.iter().map(|b| b.expand(session.context())).collect()
    }
}

/// As [`EncryptedArray::precision_bits`], of a ciphertext of this scale and noise: an error in the coefficients of standard deviation `e` is
/// one of `e sqrt(N/2)/scale` in each slot, and none is smaller than that of rounding to integers, `1/sqrt(12)`.
pub(crate) fn precision_bits(scale: Scale, noise: Noise, degree: usize) -> f64 {
    let rounding = 12f64.powf(-0.5).log2();
    scale.log2() - noise.log2_std().max(rounding) - 0.5 * (degree as f64 / 2.0).log2()
}
