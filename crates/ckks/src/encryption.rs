//! Encryption and decryption.

use hippocrene_ring::{Poly, sample::Seed};
use hippocrene_rlwe::{self as rlwe, PublicKey, SIGMA, SecretKey, noise};
use zeroize::Zeroize;

use crate::{
    Ciphertext, CkksError, Context, Plaintext, SeededCiphertext,
    encoding::encoding_noise,
    flood::{self, MAX_LOG2_STD},
};

/// The name of encryption in errors.
const ENCRYPT: &str = "encrypt";

impl Context {
    /// Encrypts under the secret key; half of the ciphertext is a seed.
    ///
    /// # Errors
    /// When key and plaintext do not fit.
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
            known: plaintext.known().clone(),
        })
    }

    /// Encrypts under a public key.
    ///
    /// # Errors
    /// When key and plaintext do not fit.
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
        out.set_known(plaintext.known().clone());
        Ok(out)
    }

    /// Decrypts.
    ///
    /// The result holds the error of the computation, and an exact decryption tells who sees it
    /// something about the secret key (Li and Micciancio, ePrint 2020/1533): results that others
    /// will see go through [`Context::decrypt_for_sharing`].
    ///
    /// # Errors
    /// When the ciphertext belongs to another key.
    pub fn decrypt(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
    ) -> Result<Plaintext, CkksError> {
        let poly = key.decrypt(self.rlwe(), ciphertext.inner())?;
        let (scale, slots) = (ciphertext.scale(), ciphertext.slots());
        Ok(self.plaintext(poly, ciphertext.modulus(), scale, slots, ciphertext.bound()))
    }

    /// Decrypts for the eyes of others: adds Gaussian noise to every coefficient, of a standard
    /// deviation of `2^bits` times (or up to four times that) the estimated one of the error, and
    /// so hides the error, which depends on the secret key.
    ///
    /// # What it gives
    /// With `e` the error, a polynomial of `N` coefficients of standard deviation `sigma_e`, what
    /// is published differs from what could be made without the key by a Kullback-Leibler
    /// divergence of `|e|^2 / (2 sigma^2) = N 2^(-2 bits) / 2`, and divergences add up over `d`
    /// decryptions: by Pinsker's inequality whoever sees them all has an advantage of at most
    /// `sqrt(d N) 2^(-bits) / 2`. For an advantage of `2^-lambda`, `bits = lambda - 1 + log2(d N) /
    /// 2`: 30 bits hide 1000 decryptions at `N = 2^14` to an advantage of `2^-19`. Li, Micciancio,
    /// Schultz and Sorrell (CRYPTO 2022, ePrint 2022/816) make IND-CPA-D security of this argument,
    /// for statistical security of `s` bits with `sigma = sqrt(12 d) 2^(s/2) t`, `t` a bound on the
    /// error, and show that hardly less will do.
    ///
    /// # What it rests on
    /// Their proof asks for a bound `t` on the error *in the worst case*; the estimate here is one
    /// of the average case, which takes errors as independent. It is doubled, and never taken below
    /// that of a fresh encryption, but a computation whose errors are correlated has more: `x + x`
    /// has twice the error of `x` where the estimate says `sqrt(2)` times, and after `k` doublings
    /// of that kind it is short by `k/2` bits. Flooding by too small an estimate is broken in
    /// practice (Guo, Nabokov, Suvanto and Johansson, USENIX Security 2024). Add the bits that the
    /// estimate of a computation may lack to `bits`. The estimate also comes with the ciphertext. If
    /// the server may compute something else, neither this function nor CKKS protects the key.
    /// Decryptions of one ciphertext count one by one, for their noise averages out.
    ///
    /// # Errors
    /// When the ciphertext belongs to another key or other parameters, or [`CkksError::Capacity`]
    /// when the noise does not fit the modulus.
    pub fn decrypt_for_sharing(
        &self,
        key: &SecretKey,
        ciphertext: &Ciphertext,
        bits: u32,
    ) -> Result<Plaintext, CkksError> {
        const OPERATION: &str = "decrypt for sharing";
        self.rlwe().check_operand(ciphertext.inner(), OPERATION)?;
        let log2_std = self.flooding_log2_std(ciphertext, bits);
        // Eight standard deviations on either side, of noise that is up to twice as wide.
        let have = (self.parameters().log2(ciphertext.modulus()) - 5.0).min(MAX_LOG2_STD);
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

    /// log2 of the standard deviation that [`Context::decrypt_for_sharing`] adds to a coefficient,
    /// or of half of it.
    pub fn flooding_log2_std(&self, ciphertext: &Ciphertext, bits: u32) -> f64 {
        let fresh = noise::secret_key_encryption(SIGMA).log2_std();
        let estimate = ciphertext.inner().noise().log2_std();
        // Not `f64::max`, which would hide a NaN.
        (if estimate < fresh { fresh } else { estimate }) + 1.0 + f64::from(bits)
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
