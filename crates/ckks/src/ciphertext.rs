//! Ciphertexts of CKKS.

use hippocrene_ring::Poly;
use hippocrene_rlwe::{
    self as rlwe, Modulus, Noise, SIGMA,
    noise::{log2, secret_key_encryption},
};
use num_complex::Complex64;

use crate::{
    CkksError, Context, Scale, Short, Values, dry_run_values::DryRunValues,
    encoding::encoding_noise,
};

/// An encrypted vector: an RLWE ciphertext with the scale of its message, its number of slots, and
/// a bound on the values. See [`Context`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    scale: Scale,
    slots: usize,
    bound: f64,
    dry_run_values: DryRunValues,
}

impl Ciphertext {
    /// Assembles a ciphertext from its parts.
    ///
    /// # Errors
    /// Fails if `inner` was made with other parameters, or if the slots or the bound are
    /// impossible.
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
        Ciphertext { inner, scale, slots, bound, dry_run_values: DryRunValues::default() }
    }

    /// Returns an empty ciphertext that an operation can write its result to.
    pub fn empty(context: &Context) -> Self {
        Ciphertext {
            inner: rlwe::Ciphertext::empty(context.rlwe()),
            scale: Scale::power_of_two(0),
            slots: context.max_slots(),
            bound: 0.0,
            dry_run_values: DryRunValues::default(),
        }
    }

    /// The values in the slots of a ciphertext of a dry run, as far as they are known. They are
    /// what decryption would give, without noise. Ciphertexts with residues have none.
    pub fn tracked_values(&self) -> Option<&[Complex64]> {
        self.dry_run_values.values()
    }

    pub(crate) fn dry_run_values(&self) -> &DryRunValues {
        &self.dry_run_values
    }

    pub(crate) fn set_dry_run_values(&mut self, dry_run_values: DryRunValues) {
        self.dry_run_values = dry_run_values;
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

    /// The scale. Decryption divides the slots by it.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots. It is declared at encryption, and every
    /// operation updates it.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Declares a bound that is known to be tighter (or wider) than the tracked one.
    pub fn set_bound(&mut self, bound: f64) {
        self.bound = valid_bound(bound);
    }

    /// Replaces the noise estimate.
    pub fn set_noise(&mut self, noise: Noise) {
        self.inner.set_noise(noise);
    }

    /// Returns the same ciphertext with another noise estimate.
    pub fn with_noise(mut self, noise: Noise) -> Self {
        self.set_noise(noise);
        self
    }

    /// Returns the same ciphertext with another number of slots. More slots repeat the values.
    /// Fewer slots are valid only if the values are repeated already.
    ///
    /// # Errors
    /// Fails as [`Ciphertext::from_parts`] does.
    pub fn with_slots(self, context: &Context, slots: usize) -> Result<Self, CkksError> {
        check_parts(context, self.inner.parameters(), slots, self.bound)?;
        Ok(Ciphertext { dry_run_values: self.dry_run_values.in_slots(slots), slots, ..self })
    }

    /// Declares the values in the slots of a ciphertext of a dry run
    /// ([`Ciphertext::tracked_values`]), after a step that lost track of them. It does nothing for
    /// ciphertexts with residues.
    pub fn set_tracked_values(&mut self, values: Values<'_>) {
        if self.inner.parts().iter().all(Poly::is_dry_run) {
            self.dry_run_values = DryRunValues::of(values, self.slots);
        }
    }

    /// Returns the same ciphertext with its values and their bound divided by `2^log2`. Only the
    /// scale changes: it is multiplied by `2^log2`.
    pub fn in_unit(self, log2: i32) -> Self {
        let scale = self.scale.times(Scale::power_of_two(log2));
        self.read_at(scale)
    }

    /// Returns the same ciphertext read at another scale, without any computation. If the new scale
    /// is smaller by a factor, the values and their bound are larger by that factor.
    pub fn read_at(mut self, scale: Scale) -> Self {
        let factor = self.scale.ratio(scale);
        self.bound *= factor;
        self.dry_run_values = self.dry_run_values.map(|x| x * factor);
        self.scale = scale;
        self
    }

    pub(crate) fn set_meta(&mut self, scale: Scale, slots: usize, bound: f64) {
        (self.scale, self.slots, self.bound) = (scale, slots, valid_bound(bound));
    }

    /// Returns the precision of the values: `-log2` of the estimated standard deviation of the
    /// error in the real part of a slot.
    ///
    /// With `n` slots, an error of standard deviation `e` in the coefficients becomes one of `e
    /// sqrt(n)/scale` in the real and in the imaginary part of each slot. Only the `2n`
    /// coefficients of powers of `X^(N/2n)` count.
    pub fn precision_bits(&self) -> f64 {
        self.scale.log2() - self.inner.noise().log2_std() - 0.5 * (self.slots as f64).log2()
    }

    /// Declares an error that is known to be smaller or larger than the estimate. Afterwards
    /// [`Ciphertext::precision_bits`] is `bits`, apart from the rounding to integers at the scale.
    ///
    /// The estimate for slots that hold zero stays as it is ([`Noise::in_zeros`]). The share of the
    /// error that all slots have in common also stays ([`Noise::common_share`]).
    pub fn set_precision_bits(&mut self, bits: f64) {
        let noise = self.scale.log2() - bits - 0.5 * (self.slots as f64).log2();
        let noise = Noise::from_log2_std(noise).plus(encoding_noise());
        let before = self.inner.noise();
        let noise = noise.with_in_zeros(before);
        self.inner.set_noise(noise.with_common(noise.scaled(log2(before.common_share()))));
    }

    /// Returns the bits of the modulus that rescaling can still remove before the values no longer
    /// fit: `log2(Q / (2 scale bound))`. A bound below 1 counts as 1. The result is NaN if
    /// `context` has other parameters.
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
    /// Checks that `a` belongs to these parameters and that values up to `bound` at the scale
    /// `2^log2_scale`, computed from it, fit `modulus`. An error reports the capacity of `a`.
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

/// Checks that the parts of a ciphertext belong together.
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

/// Replaces a bound that is not a number by infinity, which means that there is no bound.
fn valid_bound(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound.abs() }
}

/// A fresh ciphertext under the secret key, with one of its polynomials stored as a seed. See
/// [`Context`] for an example.
#[derive(Debug, Clone)]
pub struct SeededCiphertext {
    pub(crate) inner: rlwe::SeededCiphertext,
    pub(crate) scale: Scale,
    pub(crate) slots: usize,
    pub(crate) bound: f64,
    pub(crate) dry_run_values: DryRunValues,
}

impl SeededCiphertext {
    /// Assembles a seeded ciphertext from its parts.
    ///
    /// # Errors
    /// Fails as [`Ciphertext::from_parts`] does.
    pub fn from_parts(
        context: &Context,
        inner: rlwe::SeededCiphertext,
        scale: Scale,
        slots: usize,
        bound: f64,
    ) -> Result<Self, CkksError> {
        check_parts(context, inner.parameters(), slots, bound)?;
        Ok(SeededCiphertext { inner, scale, slots, bound, dry_run_values: DryRunValues::default() })
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::SeededCiphertext {
        &self.inner
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A bound on the absolute values in the slots.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Declares another bound.
    pub fn set_bound(&mut self, bound: f64) {
        self.bound = valid_bound(bound);
    }

    /// The values of a dry run, as for [`Ciphertext::tracked_values`].
    pub fn tracked_values(&self) -> Option<&[Complex64]> {
        self.dry_run_values.values()
    }

    /// The noise estimate of a fresh ciphertext, with the rounding of the encoder.
    pub fn noise(&self) -> Noise {
        secret_key_encryption(SIGMA).plus(encoding_noise())
    }

    /// Expands the seed into the whole ciphertext.
    ///
    /// # Panics
    /// Panics if the ciphertext was made with other parameters.
    pub fn expand(&self, context: &Context) -> Ciphertext {
        let mut inner = self.inner.expand(context.rlwe());
        inner.set_noise(self.noise());
        let mut out = Ciphertext::new(inner, self.scale, self.slots, self.bound);
        out.set_dry_run_values(self.dry_run_values.clone());
        out
    }
}
