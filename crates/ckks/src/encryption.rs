//! Encryption and decryption.

use hippocrene_ring::{Poly, sample::Seed};
use hippocrene_rlwe::{self as rlwe, Fingerprint, PublicKey, SIGMA, SecretKey, noise};
use zeroize::Zeroize;

use crate::{
    Ciphertext, CkksError, Context, Plaintext, SeededCiphertext,
    encoding::encoding_noise,
    flood::{self, MAX_LOG2_STD},
};

/// The name of the operation in errors.
const ENCRYPT: &str = "encrypt";

impl Context {
    /// Encrypts under the secret key. One polynomial of the ciphertext is stored as a seed.
    ///
    /// # Errors
    /// Fails if key, plaintext and context have different parameters.
    pub fn encrypt(
        &self,
        key: &SecretKey,
        plaintext: &Plaintext,
    ) -> Result<SeededCiphertext, CkksError> {
        self.check_plaintext(plaintext, ENCRYPT)?;
        let inner = key.encrypt(self.rlwe(), plaintext.poly(), plaintext.modulus())?;
        Ok(SeededCiphertext {
            inner,
            scale: plaintext.scale(),
            slots: plaintext.slots(),
            bound: plaintext.bound(),
            dry_run_values: plaintext.dry_run_values().clone(),
        })
    }

    /// Encrypts under a public key.
    ///
    /// # Errors
    /// Fails if key, plaintext and context have different parameters.
    pub fn encrypt_public(
        &self,
        key: &PublicKey,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, CkksError> {
        self.check_plaintext(plaintext, ENCRYPT)?;
        let mut inner = key.encrypt(self.rlwe(), plaintext.poly(), plaintext.modulus())?;
        inner.set_noise(inner.noise().plus(encoding_noise()));
        let mut out =
            Ciphertext::new(inner, plaintext.scale(), plaintext.slots(), plaintext.bound());
        out.set_dry_run_values(plaintext.dry_run_values().clone());
        Ok(out)
    }

    /// Returns a trivial ciphertext ([`rlwe::Ciphertext::trivial`]) of the key with this
    /// fingerprint. Its stated error is that of a fresh encryption, which is larger than its own.
    ///
    /// # Errors
    /// Fails if plaintext and context have different parameters.
    pub fn encrypt_trivially(
        &self,
        key: Fingerprint,
        plaintext: &Plaintext,
    ) -> Result<Ciphertext, CkksError> {
        self.check_plaintext(plaintext, ENCRYPT)?;
        let (message, modulus) = (plaintext.poly(), plaintext.modulus());
        let mut inner = rlwe::Ciphertext::trivial(self.rlwe(), message, modulus, key)?;
        inner.set_noise(noise::secret_key_encryption(SIGMA).plus(encoding_noise()));
        let mut out =
            Ciphertext::new(inner, plaintext.scale(), plaintext.slots(), plaintext.bound());
        out.set_dry_run_values(plaintext.dry_run_values().clone());
        Ok(out)
    }

    /// Decrypts a ciphertext for the holder of the key.
    ///
    /// The result contains the error of the computation. Anyone who sees an exact decryption learns
    /// something about the secret key (Li and Micciancio, ePrint 2020/1533). Use
    /// [`Context::decrypt_for_sharing`] for results that others will see.
    ///
    /// # Errors
    /// Fails if the ciphertext belongs to another key.
    pub fn decrypt(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
    ) -> Result<Plaintext, CkksError> {
        let poly = key.decrypt(self.rlwe(), ciphertext.inner())?;
        let (scale, slots) = (ciphertext.scale(), ciphertext.slots());
        Ok(self.plaintext(poly, ciphertext.modulus(), scale, slots, ciphertext.bound()))
    }

    /// Decrypts a ciphertext for publication.
    ///
    /// It adds Gaussian noise to every coefficient. The standard deviation of this noise is the
    /// estimated standard deviation of the error times `2^bits`, or up to four times that. The
    /// noise hides the error, which depends on the secret key.
    ///
    /// # Guarantee
    /// Let the error `e` be a polynomial of `N` coefficients of standard deviation `sigma_e`. The
    /// published result differs from a result that could be made without the key by a
    /// Kullback-Leibler divergence of `|e|^2 / (2 sigma^2) = N 2^(-2 bits) / 2`. Divergences add up
    /// over `d` decryptions. By Pinsker's inequality, an observer of all of them has an advantage
    /// of at most `sqrt(d N) 2^(-bits) / 2`. An advantage of `2^-lambda` needs `bits = lambda - 1 +
    /// log2(d N) / 2`. For example, 30 bits hide 1000 decryptions at `N = 2^14` up to an advantage
    /// of `2^-19`.
    ///
    /// Li, Micciancio, Schultz and Sorrell (CRYPTO 2022, ePrint 2022/816) derive IND-CPA-D security
    /// from this argument. For `s` bits of statistical security they take `sigma = sqrt(12 d)
    /// 2^(s/2) t`, where `t` bounds the error, and show that hardly less is enough.
    ///
    /// # Assumptions
    /// The proof needs a bound `t` on the error *in the worst case*. The estimate here is one of
    /// the average case and treats errors as independent. It is doubled, and it is at least the
    /// error of a fresh encryption. A computation with correlated errors has a larger error. For
    /// example, `x + x` has twice the error of `x`, while the estimate grows by `sqrt(2)`; after
    /// `k` such doublings the estimate is too small by `k/2` bits. Flooding by too small an
    /// estimate is broken in practice (Guo, Nabokov, Suvanto and Johansson, USENIX Security 2024).
    /// Add the bits that the estimate may lack to `bits`.
    ///
    /// The estimate comes with the ciphertext. If the server may run a different computation,
    /// neither this function nor CKKS protects the key. Each decryption of the same ciphertext
    /// counts, because their noise averages out.
    ///
    /// # Errors
    /// Fails if the ciphertext belongs to another key or other parameters. Fails with
    /// [`CkksError::Capacity`] if the noise does not fit the modulus.
    pub fn decrypt_for_sharing(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
        bits: u32,
    ) -> Result<Plaintext, CkksError> {
        const OPERATION: &str = "decrypt for sharing";
        self.rlwe().check_operand(ciphertext.inner(), OPERATION)?;
        let log2_std = self.flooding_log2_std(ciphertext, bits);
        let have = self.max_flooding_log2_std(ciphertext);
        if log2_std.is_nan() || log2_std > have {
            return Err(CkksError::Capacity { operation: OPERATION, need: log2_std, have });
        }
        let mut plaintext = self.decrypt(key, ciphertext)?;
        let flood = flood::gaussian(&Seed::random()?, log2_std, self.rlwe().degree());
        let modulus = plaintext.modulus();
        let mut noise = self.rlwe().from_signed(&flood, modulus);
        self.rlwe().to_coefficient(&mut noise, modulus);
        plaintext.add_poly(self.rlwe(), &noise);
        noise.as_mut_slice().zeroize();
        Ok(plaintext)
    }

    /// Returns log2 of the standard deviation that [`Context::decrypt_for_sharing`] adds to a
    /// coefficient. The actual one may be up to twice as large.
    pub fn flooding_log2_std(&self, ciphertext: &Ciphertext, bits: u32) -> f64 {
        let fresh = noise::secret_key_encryption(SIGMA).log2_std();
        let estimate = ciphertext.inner().noise().log2_std();
        // `f64::max` would hide a NaN.
        (if estimate < fresh { fresh } else { estimate }) + 1.0 + f64::from(bits)
    }

    /// Returns the largest number of bits for which the noise of [`Context::decrypt_for_sharing`]
    /// fits the modulus and can be sampled. It may be negative.
    pub fn max_flooding_bits(&self, ciphertext: &Ciphertext) -> f64 {
        self.max_flooding_log2_std(ciphertext) - self.flooding_log2_std(ciphertext, 0)
    }

    /// Returns log2 of the largest standard deviation that [`Context::decrypt_for_sharing`] adds.
    fn max_flooding_log2_std(&self, ciphertext: &Ciphertext) -> f64 {
        // Leaves room for eight standard deviations on either side. The noise may be twice as wide
        // as asked for.
        (self.parameters().log2(ciphertext.modulus()) - 5.0).min(MAX_LOG2_STD)
    }
}

impl Plaintext {
    fn add_poly(&mut self, context: &rlwe::Context, other: &Poly) {
        let modulus = self.modulus();
        self.poly_mut().for_each_limb(context.threads(), |k, limb| {
            context.limb_ring(modulus, k).add_assign(limb, other.limb(k));
        });
    }
}
