//! Encryption and decryption.

use hippocrene_ring::{
    Domain, Poly, RnsBasis,
    arith::{inv_mod, mul_mod, neg_mod},
    convert::BaseConverter,
};
use hippocrene_rlwe::{
    self as rlwe, Fingerprint, Modulus, Noise, PublicKey, SIGMA, SecretKey,
    noise::secret_key_encryption,
};
use zeroize::Zeroize;

use crate::{BgvError, Ciphertext, Context, Plaintext, SeededCiphertext, budget_bits};

/// The name of encryption in errors.
const ENCRYPT: &str = "encrypt";

impl Context {
    /// Returns the polynomial `t^{-1} [-Q g m]_t` modulo `Q`, in the evaluation domain.
    ///
    /// It represents the message `m` in a ciphertext of factor `g`, without an error. It equals
    /// `Q g m/t` rounded (Kim, Polyakov and Zucca, ePrint 2021/204, section 3.1), and needs no
    /// division.
    pub(crate) fn embed(
        &self,
        plaintext: &Plaintext,
        factor: u64,
        modulus: Modulus,
        operation: &'static str,
    ) -> Result<Poly, BgvError> {
        self.encoder().check(plaintext, operation)?;
        self.check_modulus(modulus, operation)?;
        let t = self.plain_modulus();
        let f = mul_mod(neg_mod(self.residue(modulus), t), factor, t);
        let scaled = self.encoder().times(plaintext, f);
        let mut poly = self.rlwe().from_signed(scaled.coefficients(), modulus);
        poly.for_each_limb(self.rlwe().threads(), |k, limb| {
            let ring = self.rlwe().limb_ring(modulus, k);
            let q = ring.modulus();
            // `check_modulus` has made sure that `t` is coprime to the modulus.
            let inverse = inv_mod(t % q, q).unwrap_or(0);
            ring.mul_scalar_assign(limb, &ring.scalar(inverse));
        });
        Ok(poly)
    }

    /// Encrypts under the secret key. Half of the ciphertext is stored as a seed.
    ///
    /// # Errors
    /// Returns an error if the key or the plaintext belongs to other parameters, or
    /// [`BgvError::Budget`] if the error of a fresh ciphertext leaves no noise budget.
    pub fn encrypt(
        &self,
        key: &SecretKey,
        plaintext: &Plaintext,
    ) -> Result<SeededCiphertext, BgvError> {
        let mut message = self.embed(plaintext, 1, self.fresh(), ENCRYPT)?;
        let inner = key.encrypt(self.rlwe(), &message, self.fresh());
        message.wipe();
        self.check_fresh(secret_key_encryption(SIGMA))?;
        SeededCiphertext::from_parts(self, inner?, self.plain_modulus())
    }

    /// Encrypts under a public key.
    ///
    /// # Errors
    /// Returns an error if the key or the plaintext belongs to other parameters, or
    /// [`BgvError::Budget`] if the error of a fresh ciphertext leaves no noise budget. That error
    /// is larger than under a secret key.
    pub fn encrypt_public(
        &self,
        key: &PublicKey,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, BgvError> {
        let mut message = self.embed(plaintext, 1, self.fresh(), ENCRYPT)?;
        let inner = key.encrypt(self.rlwe(), &message, self.fresh());
        message.wipe();
        let inner = inner?;
        self.check_fresh(inner.noise())?;
        Ok(Ciphertext::new(inner, self.plain_modulus(), 1))
    }

    /// Returns a trivial ciphertext ([`rlwe::Ciphertext::trivial`]) of the key with this
    /// fingerprint. Its stated error is that of a fresh encryption, which is larger than its own.
    ///
    /// # Errors
    /// Returns an error if the plaintext belongs to other parameters, or [`BgvError::Budget`] if
    /// the error of a fresh ciphertext leaves no noise budget.
    pub fn encrypt_trivially(
        &self,
        key: Fingerprint,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, BgvError> {
        let message = self.embed(plaintext, 1, self.fresh(), ENCRYPT)?;
        let mut inner = rlwe::Ciphertext::trivial(self.rlwe(), &message, self.fresh(), key)?;
        inner.set_noise(secret_key_encryption(SIGMA));
        self.check_fresh(inner.noise())?;
        Ok(Ciphertext::new(inner, self.plain_modulus(), 1))
    }

    /// Refuses a fresh ciphertext if its error leaves no noise budget.
    fn check_fresh(&self, error: Noise) -> Result<(), BgvError> {
        let [have, left] = [Noise::NONE, error]
            .map(|error| budget_bits(self.log2(self.fresh()), self.plain_modulus(), error));
        if left > 0.0 {
            return Ok(());
        }
        Err(BgvError::Budget { operation: ENCRYPT, need: have - left, have })
    }

    /// Decrypts. The result is exact as long as noise budget is left.
    ///
    /// # Errors
    /// Returns an error if the ciphertext belongs to another key or to other parameters, or
    /// [`BgvError::Budget`] if its estimated noise budget is used up. The result would then be
    /// wrong.
    pub fn decrypt(&self, key: &SecretKey, ciphertext: &Ciphertext) -> Result<Plaintext, BgvError> {
        const OPERATION: &str = "decrypt";
        self.rlwe().check_operand(ciphertext.inner(), OPERATION)?;
        let have = ciphertext.budget_bits(self);
        if have.is_nan() || have < 0.0 {
            return Err(BgvError::Budget { operation: OPERATION, need: 0.0, have });
        }
        let mut phase = self.phase(key, ciphertext, OPERATION)?;
        let (t, modulus) = (self.plain_modulus(), ciphertext.modulus());
        let from = self.rlwe().parameters().limb_moduli(modulus);
        let converter = BaseConverter::new(&from, &[t], self.rlwe().kernel());
        for (k, limb) in phase.limbs_mut().enumerate() {
            let ring = self.rlwe().limb_ring(modulus, k);
            ring.mul_scalar_assign(limb, &ring.scalar(converter.input_factor(k)));
        }
        // Computes [t (c0 + c1 s)]_Q = [-Q g m]_t + t e and reduces it modulo t.
        let mut residues = vec![0u64; self.rlwe().degree()];
        converter.convert_exact(&mut [&mut residues], &phase.limbs().collect::<Vec<_>>());
        phase.wipe();
        let f = mul_mod(neg_mod(self.residue(modulus), t), ciphertext.factor(), t);
        let Some(inverse) = inv_mod(f, t) else {
            let what = format!("the factor {} is not a unit modulo {t}", ciphertext.factor());
            return Err(BgvError::Argument { operation: OPERATION, what });
        };
        self.encoder().multiply(&mut residues, inverse);
        Ok(Plaintext::from_residues(residues, t))
    }

    /// Measures the noise budget in bits.
    ///
    /// It is `log2(Q/2)` minus the logarithm of the largest coefficient of `[t (c0 + c1 s)]_Q`.
    /// Decryption is right while it is positive. The result reveals how large the error is, so only
    /// the owner of the key may see it.
    ///
    /// # Errors
    /// Returns an error if the ciphertext belongs to another key or to other parameters.
    pub fn noise_budget(&self, key: &SecretKey, ciphertext: &Ciphertext) -> Result<f64, BgvError> {
        let mut phase = self.phase(key, ciphertext, "measure the noise budget")?;
        let basis = RnsBasis::new(&self.rlwe().parameters().limb_moduli(ciphertext.modulus()))?;
        let mut residues = vec![0u64; phase.limb_count()];
        let mut largest = 0.0f64;
        for i in 0..self.rlwe().degree() {
            residues.iter_mut().zip(phase.limbs()).for_each(|(r, limb)| *r = limb[i]);
            let value = basis.compose_centred(&residues);
            largest = largest.max(hippocrene_ring::basis::log2(value.magnitude()));
        }
        residues.zeroize();
        phase.wipe();
        Ok(basis.log2() - 1.0 - largest)
    }

    /// Returns `t (c0 + c1 s)` modulo `Q`, as coefficients.
    fn phase(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
        operation: &'static str,
    ) -> Result<Poly, BgvError> {
        self.rlwe().check_operand(ciphertext.inner(), operation)?;
        self.check_plain_modulus(ciphertext.plain_modulus(), operation)?;
        self.check_modulus(ciphertext.modulus(), operation)?;
        let mut phase = key.decrypt(self.rlwe(), ciphertext.inner())?;
        debug_assert_eq!(phase.domain(), Domain::Coefficient);
        let (t, modulus) = (self.plain_modulus(), ciphertext.modulus());
        phase.for_each_limb(self.rlwe().threads(), |k, limb| {
            let ring = self.rlwe().limb_ring(modulus, k);
            ring.mul_scalar_assign(limb, &ring.scalar(t % ring.modulus()));
        });
        Ok(phase)
    }
}
