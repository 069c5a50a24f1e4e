//! Ciphertexts of CKKS.

use hippocrene_ring::Poly;
use hippocrene_rlwe::{
    self as rlwe, Modulus, Noise, SIGMA,
    noise::{log2, secret_key_encryption},
};
use num_complex::Complex64;

use crate::{CkksError, Context, Scale, Short, Values, encoding::encoding_noise, known::Known};

/// An encrypted vector: an RLWE ciphertext with the scale of its message, its number of slots, and
/// a bound on the values.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    scale: Scale,
    slots: usize,
    bound: f64,
    known: Known,
}

impl Ciphertext {
    /// Puts a ciphertext together.
    ///
    /// # Errors
    /// When it was made with other parameters, or the slots or the bound are impossible.
    pub fn from_parts(
        context: &Context,
        inner: rlwe::Ciphertext,
        scale: Scale,
        slots: usize,
        bound: f64,
    ) -> Result<Self, CkksError> {
        check_parts(context, inner.parameters(), slots, bound)?;
        Ok(Self::new(inner, scale, slots, bound))
    }

    pub(crate) fn new(inner: rlwe::Ciphertext, scale: Scale, slots: usize, bound: f64) -> Self {
        Ciphertext { inner, scale, slots, bound, known: Known::default() }
    }

    /// An empty ciphertext for an operation to write its result to.
    pub fn empty(context: &Context) -> Self {
        Ciphertext {
            inner: rlwe::Ciphertext::empty(context.rlwe()),
            scale: Scale::power_of_two(0),
            slots: context.max_slots(),
            bound: 0.0,
            known: Known::default(),
        }
    }

    /// The values in the slots of a ciphertext without residues, as far as they are known: what
    /// would be decrypted, but for noise. Nothing for any other.
    pub fn known_values(&self) -> Option<&[Complex64]> {
        self.known.values()
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn set_known(&mut self, known: Known) {
        self.known = known;
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::Ciphertext {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut rlwe::Ciphertext {
        &mut self.inner
    }

    /// Its modulus.
    pub fn modulus(&self) -> Modulus {
        self.inner.modulus()
    }

    /// The scale: decrypted slots are divided by it.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How many slots it has.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots: declared when encrypted, and followed by every
    /// operation.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Declares a bound that is known to be tighter (or wider) than the one that was followed.
    pub fn set_bound(&mut self, bound: f64) {
        self.bound = known(bound);
    }

    /// Declares the error.
    pub fn set_noise(&mut self, noise: Noise) {
        self.inner.set_noise(noise);
    }

    /// The same ciphertext with the error that is declared.
    pub fn with_noise(mut self, noise: Noise) -> Self {
        self.set_noise(noise);
        self
    }

    /// The same ciphertext, taken as one of so many slots, over which what is in its own ones is
    /// repeated; or of fewer, where they are repeated.
    ///
    /// # Errors
    /// As [`Ciphertext::from_parts`].
    pub fn with_slots(self, context: &Context, slots: usize) -> Result<Self, CkksError> {
        check_parts(context, self.inner.parameters(), slots, self.bound)?;
        Ok(Ciphertext { known: self.known.in_slots(slots), slots, ..self })
    }

    /// Declares the values in the slots of a ciphertext without residues
    /// ([`Ciphertext::known_values`]), where they have been out of sight. Any other has none.
    pub fn set_known_values(&mut self, values: Values<'_>) {
        if self.inner.parts().iter().all(Poly::is_dry_run) {
            self.known = Known::of(values, self.slots);
        }
    }

    /// The same ciphertext with the values, and their bound, counted in the unit `2^log2`: the
    /// scale is as many times as large, and nothing is computed.
    pub fn in_unit(self, log2: i32) -> Self {
        let scale = self.scale.times(Scale::power_of_two(log2));
        self.read_at(scale)
    }

    /// The same ciphertext read at another scale: the values, and their bound, are as many times
    /// larger as the scale is smaller, and nothing is computed.
    pub fn read_at(mut self, scale: Scale) -> Self {
        let factor = self.scale.ratio(scale);
        self.bound *= factor;
        self.known = self.known.map(|x| x * factor);
        self.scale = scale;
        self
    }

    pub(crate) fn set_meta(&mut self, scale: Scale, slots: usize, bound: f64) {
        (self.scale, self.slots, self.bound) = (scale, slots, known(bound));
    }

    /// How precise the values are: `-log2` of the estimated standard deviation of the error in the
    /// real part of a slot. With `n` slots, an error of standard deviation `e` in the coefficients
    /// is one of `e sqrt(n)/scale` in each slot's real and imaginary part: only the `2n`
    /// coefficients of powers of `X^(N/2n)` count.
    pub fn precision_bits(&self) -> f64 {
        self.scale.log2() - self.inner.noise().log2_std() - 0.5 * (self.slots as f64).log2()
    }

    /// Declares an error that is known to be smaller, or larger, than the estimate:
    /// [`Ciphertext::precision_bits`] is `bits` then, but for what rounding to integers at the
    /// scale takes from it. Of slots that hold zero it says nothing: their estimate stays
    /// ([`Noise::in_zeros`]). Errors of slots have as much of it in common as before
    /// ([`Noise::common_share`]).
    pub fn set_precision_bits(&mut self, bits: f64) {
        let noise = self.scale.log2() - bits - 0.5 * (self.slots as f64).log2();
        let noise = Noise::from_log2_std(noise).plus(encoding_noise());
        let before = self.inner.noise();
        let noise = noise.with_in_zeros(before);
        self.inner.set_noise(noise.with_common(noise.scaled(log2(before.common_share()))));
    }

    /// How many bits of the modulus are left to be divided away before the values no longer fit:
    /// `log2(Q / (2 scale bound))`, with a bound below 1 taken as 1. It is not a number in a
    /// context of other parameters.
    pub fn capacity_bits(&self, context: &Context) -> f64 {
        if self.inner.parameters() != context.parameters().digest() {
            return f64::NAN;
        }
        context.parameters().log2(self.modulus())
            - self.scale.log2()
            - self.bound.max(1.0).log2()
            - 1.0
    }
}

impl Context {
    /// Checks that `a` is of these parameters, and that values up to `bound` at a scale (as log2),
    /// computed from it, fit `modulus`. An error names the capacity of `a`.
    pub(crate) fn check_capacity(
        &self,
        a: &Ciphertext,
        modulus: Modulus,
        log2_scale: f64,
        bound: f64,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.rlwe().check_operand(a.inner(), operation)?;
        let taken = log2_scale + bound.max(1.0).log2() + 1.0;
        let room = self.parameters().log2(modulus);
        if taken <= room && !bound.is_nan() {
            return Ok(());
        }
        let have = a.capacity_bits(self);
        Err(CkksError::Capacity { operation, need: have + taken - room, have })
    }
}

fn check_parts(
    context: &Context,
    parameters: rlwe::Fingerprint,
    slots: usize,
    bound: f64,
) -> Result<(), CkksError> {
    const OPERATION: &str = "put a ciphertext together";
    context.rlwe().check_digest(parameters, OPERATION)?;
    let what = if !slots.is_power_of_two() || slots > context.max_slots() {
        format!("{slots} slots: a power of two up to {} is possible", context.max_slots())
    } else if bound.is_nan() || bound < 0.0 {
        format!("a bound of {}", Short(bound))
    } else {
        return Ok(());
    };
    Err(CkksError::Argument { operation: OPERATION, what })
}

/// A bound that is not a number says nothing: there is none.
fn known(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound.abs() }
}

/// A fresh ciphertext of the secret key, half of it a seed.
#[derive(Debug, Clone)]
pub struct SeededCiphertext {
    pub(crate) inner: rlwe::SeededCiphertext,
    pub(crate) scale: Scale,
    pub(crate) slots: usize,
    pub(crate) bound: f64,
    pub(crate) known: Known,
}

impl SeededCiphertext {
    /// Puts a seeded ciphertext together.
    ///
    /// # Errors
    /// As [`Ciphertext::from_parts`].
    pub fn from_parts(
        context: &Context,
        inner: rlwe::SeededCiphertext,
        scale: Scale,
        slots: usize,
        bound: f64,
    ) -> Result<Self, CkksError> {
        check_parts(context, inner.parameters(), slots, bound)?;
        Ok(SeededCiphertext { inner, scale, slots, bound, known: Known::default() })
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::SeededCiphertext {
        &self.inner
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How many slots it has.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Declares another bound.
    pub fn set_bound(&mut self, bound: f64) {
        self.bound = known(bound);
    }

    /// As [`Ciphertext::known_values`].
    pub fn known_values(&self) -> Option<&[Complex64]> {
        self.known.values()
    }

    /// The estimate of the error's size, rounding by the encoder and all.
    pub fn noise(&self) -> Noise {
        secret_key_encryption(SIGMA).plus(encoding_noise())
    }

    /// The whole ciphertext.
    ///
    /// # Panics
    /// When it was made with other parameters.
    pub fn expand(&self, context: &Context) -> Ciphertext {
        let mut inner = self.inner.expand(context.rlwe());
        inner.set_noise(self.noise());
        let mut out = Ciphertext::new(inner, self.scale, self.slots, self.bound);
        out.set_known(self.known.clone());
        out
    }
}
