//! A parameter set and a plaintext modulus made ready to compute with.

use std::sync::Arc;

use hippocrene_ring::arith::{inv_mod, mul_mod, neg_mod};
use hippocrene_rlwe::{self as rlwe, Modulus, Parameters};

use crate::{
    BgvError, Encoder, Plaintext,
    modulus::{Moduli, shared_unit},
    pool::CiphertextPool,
};

/// What encoding takes before the integers are reduced modulo those of ciphertexts, in transforms
/// of a limb of 61 bits, as it was measured.
const ENCODING: u64 = 2;

/// The moduli for `t`, and that of fresh ciphertexts.
fn moduli_of(parameters: &Parameters, t: u64) -> Result<(Moduli, Modulus), BgvError> {
    Encoder::check_plain_modulus(t)?;
    if let Some(unit) = shared_unit(parameters, t) {
        let what =
            format!("it has to be coprime to the units of the modulus, of which {unit} is one");
        return Err(BgvError::PlainModulus { t, what });
    }
    let moduli = Moduli::new(parameters, t);
    let bits = |modulus: &Modulus| parameters.log2(*modulus);
    match moduli.top() {
        Some(fresh) if bits(&fresh) > (t as f64).log2() + 2.0 => Ok((moduli, fresh)),
        top => {
            let most = top.map_or(0.0, |top| bits(&top));
            let what = format!("the largest modulus that is coprime to it has {most:.1} bits");
            Err(BgvError::PlainModulus { t, what })
        }
    }
}

/// An RLWE context, which others may share, with a plaintext modulus `t`.
pub struct Context {
    rlwe: Arc<rlwe::Context>,
    encoder: Arc<Encoder>,
    moduli: Arc<Moduli>,
    fresh: Modulus,
    pool: CiphertextPool,
}

/// Without its tables.
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
    /// [`BgvError::PlainModulus`] when `t` is not in `[2, 2^61)` or shares a factor with a unit, or
    /// no modulus of these parameters is coprime to it and larger than `4 t`.
    pub fn new(rlwe: Arc<rlwe::Context>, t: u64) -> Result<Self, BgvError> {
        let (moduli, fresh) = moduli_of(rlwe.parameters(), t)?;
        let encoder = Arc::new(Encoder::new(t, rlwe.degree(), rlwe.kernel())?);
        let moduli = Arc::new(moduli);
        Ok(Context { rlwe, encoder, moduli, fresh, pool: CiphertextPool::default() })
    }

    /// A context of the same plaintext modulus in the dry run of `rlwe`, which was made beside the
    /// RLWE context of this one ([`rlwe::Context::dry_run_beside`]). Both share the encoder.
    pub fn dry_run_beside(&self, rlwe: Arc<rlwe::Context>) -> Self {
        let (encoder, moduli) = (Arc::clone(&self.encoder), Arc::clone(&self.moduli));
        Context { rlwe, encoder, moduli, fresh: self.fresh, pool: CiphertextPool::default() }
    }

    /// Checks what [`Context::new`] checks, and prepares nothing.
    ///
    /// # Errors
    /// As [`Context::new`].
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

    /// [`Encoder::encode`], which a dry run counts.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BgvError> {
        self.rlwe.note_encoding(Modulus::ONE, ENCODING, 1);
        self.encoder.encode(values)
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.encoder.plain_modulus()
    }

    /// The modulus of fresh ciphertexts: all units, and of the sprout what is coprime to `t`,
    /// without its power of two unless that is much.
    pub fn fresh(&self) -> Modulus {
        self.fresh
    }

    /// The modulus that is nearest to `bits` bits among those of at most `most` bits that are
    /// coprime to `t`; the smallest there is where `most` is below all.
    pub(crate) fn modulus_near(&self, bits: f64, most: f64) -> Modulus {
        self.moduli.near(bits, most).unwrap_or(self.fresh)
    }

    /// [`Moduli::landing`].
    pub(crate) fn modulus_for_landing(
        &self,
        bits: f64,
        most: f64,
        margin: f64,
        clear: f64,
    ) -> Modulus {
        let landing = self.moduli.landing(bits, most, margin, clear);
        landing.unwrap_or_else(|| self.modulus_near(bits - margin, most))
    }

    /// The modulus of at least `bits` bits that costs least, among those of at most `most` bits
    /// that are coprime to `t`; the largest there is where `bits` is above all.
    pub(crate) fn modulus_above(&self, bits: f64, most: f64) -> Modulus {
        self.moduli.above(bits, most).unwrap_or_else(|| self.modulus_near(bits, most))
    }

    /// The memory of intermediate ciphertexts.
    pub(crate) fn pool(&self) -> &CiphertextPool {
        &self.pool
    }

    pub(crate) fn log2(&self, modulus: Modulus) -> f64 {
        self.rlwe.parameters().log2(modulus)
    }

    /// `Q` modulo `t`.
    pub(crate) fn residue(&self, modulus: Modulus) -> u64 {
        let t = self.plain_modulus();
        let moduli = self.rlwe.parameters().limb_moduli(modulus);
        moduli.into_iter().fold(1 % t, |product, q| mul_mod(product, q % t, t))
    }

    /// The factor of a ciphertext of the factor `g` modulo `from` whose limbs are reduced to the
    /// divisor `to`: `g from/to`.
    pub(crate) fn dropped_factor(&self, g: u64, from: Modulus, to: Modulus) -> u64 {
        mul_mod(g, self.residue(from.without(to)), self.plain_modulus())
    }

    /// The factor of a product in the manner of BGV modulo `modulus = Q` of ciphertexts whose
    /// factors have the product `g`: `-Q g`.
    pub(crate) fn product_factor(&self, modulus: Modulus, g: u64) -> u64 {
        let t = self.plain_modulus();
        mul_mod(neg_mod(self.residue(modulus), t), g, t)
    }

    /// The divisor of `modulus` of at least `bits` bits that has the fewest limbs, and of those the
    /// smallest, among those that are coprime to `t`; `modulus` itself where there is none.
    pub(crate) fn divisor_at_least(&self, modulus: Modulus, bits: f64) -> Modulus {
        self.moduli.divisor_at_least(modulus, bits).unwrap_or(modulus)
    }

    /// Checks that a modulus is one of ciphertexts and coprime to `t`.
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

    /// Checks that something is for this plaintext modulus.
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
