//! A parameter set and a plaintext modulus made ready to compute with.

use std::sync::Arc;

use hippocrene_ring::{
    Domain, Poly, RnsBasis,
    arith::{inv_mod, mul_mod, neg_mod},
    convert::BaseConverter,
};
use hippocrene_rlwe::{
    self as rlwe, Modulus, Noise, Parameters, PublicKey, SIGMA, SecretKey,
    noise::secret_key_encryption,
};
use zeroize::Zeroize;

use crate::{
    BgvError, Ciphertext, Encoder, Plaintext, SeededCiphertext, budget_bits,
    modulus::{Moduli, shared_unit},
    spare::Spares,
};

/// What encoding takes before the integers are reduced modulo those of ciphertexts, in transforms
/// of a limb of 61 bits, as it was measured.
const ENCODING: u64 = 2;

/// The operation that errors of encryption name.
const ENCRYPT: &str = "encrypt";

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
    encoder: Encoder,
    moduli: Moduli,
    fresh: Modulus,
    spares: Spares,
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
        let encoder = Encoder::new(t, rlwe.degree(), rlwe.kernel())?;
        Ok(Context { rlwe, encoder, moduli, fresh, spares: Spares::default() })
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

    /// [`Encoder::encode`], which a hollow context notes.
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

    /// Ciphertexts for operations to work in.
    pub(crate) fn spares(&self) -> &Spares {
        &self.spares
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

    /// The polynomial `t^{-1} [-Q g m]_t` modulo `Q`, in the evaluation domain: what a ciphertext
    /// of factor `g` has for the message `m`, exactly. It is `Q g m/t` rounded (Kim, Polyakov,
    /// Zucca, ePrint 2021/204, section 3.1), without a division.
    pub(crate) fn embed(
        &self,
        plaintext: &Plaintext,
        factor: u64,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<Poly, BgvError> {
        self.encoder.check(plaintext, operation)?;
        self.check_modulus(modulus, operation)?;
        let t = self.plain_modulus();
        let f = mul_mod(neg_mod(self.residue(modulus), t), factor, t);
        let scaled = self.encoder.times(plaintext, f);
        let mut poly = self.rlwe.from_signed(scaled.coefficients(), modulus);
        poly.for_each_limb(self.rlwe.threads(), |k, limb| {
            let ring = self.rlwe.limb_ring(modulus, k);
            let q = ring.modulus();
            // `check_modulus` has found `t` coprime to the modulus.
            let inverse = inv_mod(t % q, q).unwrap_or(0);
            ring.elementwise().mul_scalar_assign(limb, &ring.scalar(inverse));
        });
        Ok(poly)
    }

    /// Encrypts under the secret key; half of the ciphertext is a seed.
    ///
    /// # Errors
    /// When key and plaintext do not fit, or [`BgvError::Budget`] when the error of a fresh
    /// ciphertext leaves no noise budget.
    pub fn encrypt(
        &self,
        key: &SecretKey,
        plaintext: &Plaintext,
    ) -> Result<SeededCiphertext, BgvError> {
        let mut message = self.embed(plaintext, 1, self.fresh, ENCRYPT)?;
        let inner = key.encrypt(&self.rlwe, &message, self.fresh);
        message.wipe();
        self.check_fresh(secret_key_encryption(SIGMA))?;
        SeededCiphertext::from_parts(self, inner?, self.plain_modulus())
    }

    /// Encrypts under a public key.
    ///
    /// # Errors
    /// When key and plaintext do not fit, or [`BgvError::Budget`] when the error of a fresh
    /// ciphertext, here larger than under a secret key, leaves no noise budget.
    pub fn encrypt_public(
        &self,
        key: &PublicKey,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, BgvError> {
        let mut message = self.embed(plaintext, 1, self.fresh, ENCRYPT)?;
        let inner = key.encrypt(&self.rlwe, &message, self.fresh);
        message.wipe();
        let inner = inner?;
        self.check_fresh(inner.noise())?;
        Ok(Ciphertext::new(inner, self.plain_modulus(), 1))
    }

    /// Refuses a fresh ciphertext with an error that leaves no noise budget, of what the message
    /// leaves.
    fn check_fresh(&self, error: Noise) -> Result<(), BgvError> {
        let [have, left] = [Noise::NONE, error]
            .map(|error| budget_bits(self.log2(self.fresh), self.plain_modulus(), error));
        if left > 0.0 {
            return Ok(());
        }
        Err(BgvError::Budget { operation: ENCRYPT, need: have - left, have })
    }

    /// Decrypts. The result is exact as long as there is noise budget left.
    ///
    /// # Errors
    /// When the ciphertext belongs to another key or other parameters, or [`BgvError::Budget`] when
    /// its estimated budget is used up, so that the result would be wrong.
    pub fn decrypt(&self, key: &SecretKey, ciphertext: &Ciphertext) -> Result<Plaintext, BgvError> {
        const OPERATION: &str = "decrypt";
        self.rlwe.check_operand(ciphertext.inner(), OPERATION)?;
        let have = ciphertext.budget_bits(self);
        if have.is_nan() || have < 0.0 {
            return Err(BgvError::Budget { operation: OPERATION, need: 0.0, have });
        }
        let mut phase = self.phase(key, ciphertext, OPERATION)?;
        let (t, modulus) = (self.plain_modulus(), ciphertext.modulus());
        let from = self.rlwe.parameters().limb_moduli(modulus);
        let converter = BaseConverter::new(&from, &[t], self.rlwe.kernel());
        for (k, limb) in phase.limbs_mut().enumerate() {
            let ring = self.rlwe.limb_ring(modulus, k);
            ring.elementwise().mul_scalar_assign(limb, &ring.scalar(converter.input_factor(k)));
        }
        // [t (c0 + c1 s)]_Q = [-Q g m]_t + t e, and from that modulo t.
        let mut residues = vec![0u64; self.rlwe.degree()];
        converter.convert_exact(&mut [&mut residues], &phase.limbs().collect::<Vec<_>>());
        phase.wipe();
        let f = mul_mod(neg_mod(self.residue(modulus), t), ciphertext.factor(), t);
        let Some(inverse) = inv_mod(f, t) else {
            let what = format!("the factor {} is not a unit modulo {t}", ciphertext.factor());
            return Err(BgvError::Argument { operation: OPERATION, what });
        };
        self.encoder.multiply(&mut residues, inverse);
        Ok(Plaintext::from_residues(residues, t))
    }

    /// The noise budget in bits as it is: `log2(Q/2)` less the logarithm of the largest coefficient
    /// of `[t (c0 + c1 s)]_Q`. Decryption is right while it is positive. It tells how large the
    /// error is, and so is for the owner of the key.
    ///
    /// # Errors
    /// When the ciphertext belongs to another key or other parameters.
    pub fn noise_budget(&self, key: &SecretKey, ciphertext: &Ciphertext) -> Result<f64, BgvError> {
        let mut phase = self.phase(key, ciphertext, "measure the noise budget")?;
        let basis = RnsBasis::new(&self.rlwe.parameters().limb_moduli(ciphertext.modulus()))?;
        let mut residues = vec![0u64; phase.limb_count()];
        let mut largest = 0.0f64;
        for i in 0..self.rlwe.degree() {
            residues.iter_mut().zip(phase.limbs()).for_each(|(r, limb)| *r = limb[i]);
            let value = basis.compose_centred(&residues);
            largest = largest.max(hippocrene_ring::basis::log2(value.magnitude()));
        }
        residues.zeroize();
        phase.wipe();
        Ok(basis.log2() - 1.0 - largest)
    }

    /// `t (c0 + c1 s)` modulo `Q`, in coefficients.
    fn phase(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
        operation: &'static str,
    ) -> Result<Poly, BgvError> {
        self.rlwe.check_operand(ciphertext.inner(), operation)?;
        self.check_plain_modulus(ciphertext.plain_modulus(), operation)?;
        self.check_modulus(ciphertext.modulus(), operation)?;
        let mut phase = key.decrypt(&self.rlwe, ciphertext.inner())?;
        debug_assert_eq!(phase.domain(), Domain::Coefficient);
        let (t, modulus) = (self.plain_modulus(), ciphertext.modulus());
        phase.for_each_limb(self.rlwe.threads(), |k, limb| {
            let ring = self.rlwe.limb_ring(modulus, k);
            ring.elementwise().mul_scalar_assign(limb, &ring.scalar(t % ring.modulus()));
        });
        Ok(phase)
    }
}
