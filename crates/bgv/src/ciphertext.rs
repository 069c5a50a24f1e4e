//! Ciphertexts.

use hippocrene_ring::arith::inv_mod;
use hippocrene_rlwe::{self as rlwe, Modulus, Noise};

use crate::{BgvError, Context, noise::TAIL};

/// [`Ciphertext::budget_bits`] of a ciphertext whose modulus has `bits` bits, with the plaintext
/// modulus `t`. Without an error it is what the message leaves.
pub fn budget_bits(bits: f64, t: u64, error: Noise) -> f64 {
    bits - (t as f64).log2() - (1.0 + error.log2_std() + TAIL).max(0.0)
}

/// An encrypted polynomial modulo `t`: an RLWE ciphertext and the factor `g` of its message (see
/// the crate's page).
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    inner: rlwe::Ciphertext,
    t: u64,
    factor: u64,
}

impl Ciphertext {
    /// Puts a ciphertext together.
    ///
    /// # Errors
    /// When it was made with other parameters or for another plaintext modulus, its modulus shares
    /// a factor with `t`, or `factor` is not a unit modulo `t` in `[1, t)`.
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

    /// An empty ciphertext for an operation to write its result to.
    pub fn empty(context: &Context) -> Self {
        Self::new(rlwe::Ciphertext::empty(context.rlwe()), context.plain_modulus(), 1)
    }

    /// The RLWE ciphertext.
    pub fn inner(&self) -> &rlwe::Ciphertext {
        &self.inner
    }

    /// The RLWE ciphertext, taken out.
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

    /// The factor `g` by which the message is multiplied modulo `t`.
    pub fn factor(&self) -> u64 {
        self.factor
    }

    pub(crate) fn set_factor(&mut self, factor: u64) {
        self.factor = factor;
    }

    /// Its modulus.
    pub fn modulus(&self) -> Modulus {
        self.inner.modulus()
    }

    /// The noise budget in bits, estimated without the secret key: `log2(Q/2t)` less the logarithm
    /// of an error that is 11 times the estimated standard deviation. Decryption is right while it
    /// is positive: errors of Gaussian shape are as large in one of `2^17` coefficients with
    /// probability below `2^-69`. `docs/reference/integers.md` has the proof, and
    /// what holds of products. It is not a number in a context of other parameters.
    pub fn budget_bits(&self, context: &Context) -> f64 {
        if self.inner.parameters() != context.rlwe().parameters().digest() {
            return f64::NAN;
        }
        budget_bits(context.rlwe().parameters().log2(self.modulus()), self.t, self.inner.noise())
    }
}

/// A fresh ciphertext of the secret key, half of it a seed. Its factor is 1.
#[derive(Debug, Clone)]
pub struct SeededCiphertext {
    inner: rlwe::SeededCiphertext,
    t: u64,
}

impl SeededCiphertext {
    /// Puts a seeded ciphertext together.
    ///
    /// # Errors
    /// As [`Ciphertext::from_parts`].
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

    /// The whole ciphertext.
    ///
    /// # Panics
    /// When it was made with other parameters.
    pub fn expand(&self, context: &Context) -> Ciphertext {
        self.expand_in(context.rlwe())
    }

    /// [`SeededCiphertext::expand`], which no plaintext modulus takes part in.
    ///
    /// # Panics
    /// When it was made with other parameters.
    pub fn expand_in(&self, rlwe: &rlwe::Context) -> Ciphertext {
        Ciphertext::new(self.inner.expand(rlwe), self.t, 1)
    }
}
