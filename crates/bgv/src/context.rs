//! Contexts: a parameter set and a plaintext modulus, prepared for computing.

use std::sync::Arc;

use hippocrene_ring::arith::{inv_mod, mul_mod, neg_mod};
use hippocrene_rlwe::{self as rlwe, Modulus, Parameters};

use crate::{
    BgvError, Encoder, Plaintext,
    modulus::{Moduli, shared_unit},
    pool::CiphertextPool,
};

/// Cost of an encoding before the integers are reduced modulo the moduli of ciphertexts, in
/// transforms of a limb of 61 bits (measured).
const ENCODING_COST_IN_TRANSFORMS: u64 = 2;

/// Returns the moduli that can be used with `t`, and the modulus of fresh ciphertexts.
fn moduli_of(parameters: &Parameters, t: u64) -> Result<(Moduli, Modulus), BgvError> {
    Encoder::check_plain_modulus(t)?;
    if let Some(unit) = shared_unit(parameters, t) {
        let what =
            format!("it must be coprime to the units of the modulus, and {unit} is one of them");
        return Err(BgvError::PlainModulus { t, what });
    }
    let moduli = Moduli::new(parameters, t);
    let bits = |modulus: &Modulus| parameters.log2(*modulus);
    match moduli.top() {
        Some(fresh) if bits(&fresh) > (t as f64).log2() + 2.0 => Ok((moduli, fresh)),
        top => {
            let max_bits = top.map_or(0.0, |top| bits(&top));
            let what = format!("the largest modulus that is coprime to it has {max_bits:.1} bits");
            Err(BgvError::PlainModulus { t, what })
        }
    }
}

/// An RLWE context together with a plaintext modulus `t`. Several contexts may share the RLWE
/// context. See [`Evaluator`](crate::Evaluator) for an example.
pub struct Context {
    rlwe: Arc<rlwe::Context>,
    encoder: Arc<Encoder>,
    moduli: Arc<Moduli>,
    fresh: Modulus,
    pool: CiphertextPool,
}

/// Leaves out the tables.
impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("rlwe", &self.rlwe)
            .field("t", &self.plain_modulus())
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Prepares the plaintext modulus `t`.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` is not in `[2, 2^61)`, if it shares a factor with
    /// a unit, or if no modulus of these parameters is coprime to it and larger than `4 t`.
    pub fn new(rlwe: Arc<rlwe::Context>, t: u64) -> Result<Self, BgvError> {
        let (moduli, fresh) = moduli_of(rlwe.parameters(), t)?;
        let encoder = Arc::new(Encoder::new(t, rlwe.degree(), rlwe.kernel())?);
        let moduli = Arc::new(moduli);
        Ok(Context { rlwe, encoder, moduli, fresh, pool: CiphertextPool::default() })
    }

    /// Returns a context of the same plaintext modulus for the dry run of `rlwe`. That dry run must
    /// have been made for the RLWE context of this one ([`rlwe::Context::dry_run_beside`]). Both
    /// contexts share the encoder.
    pub fn dry_run_beside(&self, rlwe: Arc<rlwe::Context>) -> Self {
        let (encoder, moduli) = (Arc::clone(&self.encoder), Arc::clone(&self.moduli));
        Context { rlwe, encoder, moduli, fresh: self.fresh, pool: CiphertextPool::default() }
    }

    /// Makes the checks of [`Context::new`] without preparing anything.
    ///
    /// # Errors
    /// The same as those of [`Context::new`].
    pub fn check(parameters: &Parameters, t: u64) -> Result<(), BgvError> {
        moduli_of(parameters, t).map(drop)
    }

    /// The RLWE context.
    pub fn rlwe(&self) -> &Arc<rlwe::Context> {
        &self.rlwe
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Encodes integers like [`Encoder::encode`]. In a dry run the encoding is counted.
    ///
    /// # Errors
    /// The same as those of [`Encoder::encode`].
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BgvError> {
        self.rlwe.record_encoding(Modulus::ONE, ENCODING_COST_IN_TRANSFORMS, 1);
        self.encoder.encode(values)
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.encoder.plain_modulus()
    }

    /// The modulus of fresh ciphertexts. It has all units and the part of the sprout that is
    /// coprime to `t`. The power of two of the sprout is left out, unless it holds more than 1/16
    /// of the bits.
    pub fn fresh(&self) -> Modulus {
        self.fresh
    }

    /// Returns the modulus nearest to `bits` bits among those of at most `max_bits` bits that are
    /// coprime to `t`. If all are larger than `max_bits`, it returns the modulus of fresh
    /// ciphertexts.
    pub(crate) fn modulus_near(&self, bits: f64, max_bits: f64) -> Modulus {
        self.moduli.near(bits, max_bits).unwrap_or(self.fresh)
    }

    /// Returns [`Moduli::modulus_after_product`], or the modulus nearest to `margin` bits below
    /// `bits` if there is none.
    pub(crate) fn modulus_to_switch_down(
        &self,
        bits: f64,
        max_bits: f64,
        margin: f64,
        clear: f64,
    ) -> Modulus {
        let found = self.moduli.modulus_after_product(bits, max_bits, margin, clear);
        found.unwrap_or_else(|| self.modulus_near(bits - margin, max_bits))
    }

    /// Returns the cheapest modulus of at least `bits` and at most `max_bits` bits that is coprime
    /// to `t`. If there is none, it returns [`Context::modulus_near`].
    pub(crate) fn modulus_above(&self, bits: f64, max_bits: f64) -> Modulus {
        self.moduli.above(bits, max_bits).unwrap_or_else(|| self.modulus_near(bits, max_bits))
    }

    /// The memory of intermediate ciphertexts.
    pub(crate) fn pool(&self) -> &CiphertextPool {
        &self.pool
    }

    pub(crate) fn log2(&self, modulus: Modulus) -> f64 {
        self.rlwe.parameters().log2(modulus)
    }

    /// Returns `Q` modulo `t`, for `Q = modulus`.
    pub(crate) fn residue(&self, modulus: Modulus) -> u64 {
        let t = self.plain_modulus();
        let moduli = self.rlwe.parameters().limb_moduli(modulus);
        moduli.into_iter().fold(1 % t, |product, q| mul_mod(product, q % t, t))
    }

    /// Returns the factor of a ciphertext whose limbs were reduced from the modulus `from` to its
    /// divisor `to`. With the factor `g` before, it is `g from/to`.
    pub(crate) fn dropped_factor(&self, g: u64, from: Modulus, to: Modulus) -> u64 {
        mul_mod(g, self.residue(from.without(to)), self.plain_modulus())
    }

    /// Returns the factor `-Q g` of a BGV product modulo `modulus = Q`, where `g` is the product of
    /// the factors of both ciphertexts.
    pub(crate) fn product_factor(&self, modulus: Modulus, g: u64) -> u64 {
        let t = self.plain_modulus();
        mul_mod(neg_mod(self.residue(modulus), t), g, t)
    }

    /// Returns the divisor of `modulus` with the fewest limbs, and of those the smallest, that has
    /// at least `bits` bits and is coprime to `t`. If there is none, it returns `modulus`.
    pub(crate) fn divisor_at_least(&self, modulus: Modulus, bits: f64) -> Modulus {
        self.moduli.divisor_at_least(modulus, bits).unwrap_or(modulus)
    }

    /// Checks that `modulus` is a modulus of ciphertexts and coprime to `t`.
    pub(crate) fn check_modulus(
        &self,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<(), BgvError> {
        self.rlwe.check_modulus(modulus, operation)?;
        let t = self.plain_modulus();
        if inv_mod(self.residue(modulus), t).is_none() {
            let what = format!("{operation}: it shares a factor with the modulus");
            return Err(BgvError::PlainModulus { t, what });
        }
        Ok(())
    }

    /// Checks that `t` is the plaintext modulus of this context.
    pub(crate) fn check_plain_modulus(
        &self,
        t: u64,
        operation: &'static str,
    ) -> Result<(), BgvError> {
        if t == self.plain_modulus() {
            return Ok(());
        }
        Err(BgvError::PlainModulusMismatch { operation, left: self.plain_modulus(), right: t })
    }
}
