//! Ciphertexts of integers modulo `t`.

use hippocrene_ring::arith::inv_mod;
use hippocrene_rlwe::{self as rlwe, Modulus, Noise};

use crate::{BgvError, Context, noise::LOG2_TAIL_DEVIATIONS};

/// Returns the noise budget in bits of a ciphertext with a modulus of `bits` bits, the plaintext
/// modulus `t` and the given error (see [`Ciphertext::budget_bits`]). Without an error it is the
/// room that the message leaves.
pub fn budget_bits(bits: f64, t: u64, error: Noise) -> f64 {
    bits - (t as f64).log2() - (1.0 + error.log2_std() + LOG2_TAIL_DEVIATIONS).max(0.0)
}

/// An encrypted polynomial modulo `t`: an RLWE ciphertext and the factor `g` of its message (see
/// the crate's page for the form of ciphertexts). See [`Evaluator`](crate::Evaluator) for an
/// example.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    t: u64,
    factor: u64,
}

impl Ciphertext {
    /// Makes a ciphertext of its parts.
    ///
    /// # Errors
    /// Returns an error if the RLWE ciphertext was made with other parameters or `t` is another
    /// plaintext modulus than that of `context`, if its modulus shares a factor with `t`, or if
    /// `factor` is not a unit modulo `t` in `[1, t)`.
    pub fn from_parts(
        context: &Context,
        inner: rlwe::Ciphertext,
        t: u64,
        factor: u64,
    ) -> Result<Self, BgvError> {
        const OPERATION: &str = "put a ciphertext together";
        context.rlwe().check_digest(inner.parameters(), OPERATION)?;
        context.check_plain_modulus(t, OPERATION)?;
        context.check_modulus(inner.modulus(), OPERATION)?;
        if factor >= t || inv_mod(factor, t).is_none() {
            let what = format!("the factor {factor} is not a unit modulo {t}");
            return Err(BgvError::Argument { operation: OPERATION, what });
        }
        Ok(Self::new(inner, t, factor))
    }

    pub(crate) fn new(inner: rlwe::Ciphertext, t: u64, factor: u64) -> Self {
        Ciphertext { inner, t, factor }
    }

    /// Returns an empty ciphertext, for an operation to write its result to.
    pub fn empty(context: &Context) -> Self {
        Self::new(rlwe::Ciphertext::empty(context.rlwe()), context.plain_modulus(), 1)
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::Ciphertext {
        &self.inner
    }

    /// Returns the RLWE ciphertext and drops the rest.
    pub(crate) fn into_inner(self) -> rlwe::Ciphertext {
        self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut rlwe::Ciphertext {
        &mut self.inner
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }

    /// The factor `g` of the message modulo `t`.
    pub fn factor(&self) -> u64 {
        self.factor
    }

    pub(crate) fn set_factor(&mut self, factor: u64) {
        self.factor = factor;
    }

    /// The modulus `Q` of the ciphertext.
    pub fn modulus(&self) -> Modulus {
        self.inner.modulus()
    }

    /// Returns the noise budget in bits, estimated without the secret key.
    ///
    /// It is `log2(Q/2t)` minus the logarithm of an error that is 11 times the estimated standard
    /// deviation. Decryption is right while it is positive: an error of Gaussian shape is that
    /// large in one of `2^17` coefficients with probability below `2^-69`.
    /// `docs/reference/integers.md` has the proof and the bounds for products.
    ///
    /// The result is NaN if `context` has other parameters than this ciphertext.
    pub fn budget_bits(&self, context: &Context) -> f64 {
        if self.inner.parameters() != context.rlwe().parameters().digest() {
            return f64::NAN;
        }
        budget_bits(context.rlwe().parameters().log2(self.modulus()), self.t, self.inner.noise())
    }
}

/// A fresh ciphertext made with the secret key, with a seed in place of its second half. Its factor
/// is 1. See [`Evaluator`](crate::Evaluator) for an example.
#[derive(Debug, Clone)]
pub struct SeededCiphertext {
    inner: rlwe::SeededCiphertext,
    t: u64,
}

impl SeededCiphertext {
    /// Makes a seeded ciphertext of its parts.
    ///
    /// # Errors
    /// The same as those of [`Ciphertext::from_parts`].
    pub fn from_parts(
        context: &Context,
        inner: rlwe::SeededCiphertext,
        t: u64,
    ) -> Result<Self, BgvError> {
        const OPERATION: &str = "put a ciphertext together";
        context.rlwe().check_digest(inner.parameters(), OPERATION)?;
        context.check_plain_modulus(t, OPERATION)?;
        context.check_modulus(inner.modulus(), OPERATION)?;
        Ok(SeededCiphertext { inner, t })
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::SeededCiphertext {
        &self.inner
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }

    /// Expands the seed and returns the whole ciphertext.
    ///
    /// # Panics
    /// Panics if the ciphertext was made with other parameters.
    pub fn expand(&self, context: &Context) -> Ciphertext {
        self.expand_in(context.rlwe())
    }

    /// Does the same as [`SeededCiphertext::expand`] with an RLWE context alone. The plaintext
    /// modulus takes no part in the expansion.
    ///
    /// # Panics
    /// Panics if the ciphertext was made with other parameters.
    pub fn expand_in(&self, rlwe: &rlwe::Context) -> Ciphertext {
        Ciphertext::new(self.inner.expand(rlwe), self.t, 1)
    }
}
