//! The keys between slots and single numbers.

use hippocrene_ckks::{Ciphertext, Context, SeededCiphertext, Values};
use hippocrene_fhew::{BlindRotationKey, LweParameters, LweSecretKey, LweSwitchingKey};
use hippocrene_rlwe::{Fingerprint, RlweError, SecretKey};
use zeroize::Zeroizing;

use crate::{PegasusError, PegasusPlan, SwitchingDigits, error::argument};

/// The secrets of single numbers: that of the LWE ciphertexts, and that of the ring of tables.
/// Together with the CKKS secret they make the keys of the server. See [`crate::Pegasus`] for an
/// example.
#[derive(Debug)]
pub struct PegasusSecrets {
    /// The secret of [`crate::Numbers`].
    pub lwe: LweSecretKey,
    /// The secret of the accumulators of tables.
    pub ring: LweSecretKey,
}

impl PegasusSecrets {
    /// Generates fresh secrets for `plan`.
    ///
    /// # Errors
    /// Returns an error if the operating system has no entropy.
    pub fn generate(plan: &PegasusPlan) -> Result<Self, PegasusError> {
        let tables = plan.literal().tables;
        Ok(PegasusSecrets {
            lwe: LweSecretKey::generate(tables.input())?,
            ring: LweSecretKey::generate(tables.ring())?,
        })
    }
}

/// The keys that a server needs in addition to those of rotations and products
/// ([`PegasusPlan::add_keys`]). See [`crate::Pegasus`] for an example.
#[derive(Debug, Clone)]
pub struct PegasusKeys {
    /// The switching key from the secret of CKKS to the LWE secret.
    pub extraction: LweSwitchingKey,
    /// The blind rotation key: the LWE secret under the secret of the ring of tables.
    pub tables: BlindRotationKey,
    /// The switching key from the secret of that ring to the LWE secret.
    pub back: LweSwitchingKey,
    /// The repacking key: the LWE secret under the secret of CKKS.
    pub repacking: RepackingKey,
}

impl PegasusKeys {
    /// Makes the keys of `plan` between `secret` and the secrets of single numbers. In a dry run
    /// the keys have no samples.
    ///
    /// # Errors
    /// Returns an error if a key does not fit the plan or the operating system has no entropy.
    pub fn generate(
        plan: &PegasusPlan,
        secret: &SecretKey,
        PegasusSecrets { lwe, ring }: &PegasusSecrets,
    ) -> Result<Self, PegasusError> {
        let (literal, modulus) = (plan.literal(), lwe.parameters().modulus());
        let rlwe = plan.context().rlwe();
        if rlwe.is_dry_run() {
            let of_rlwe =
                LweParameters::insecure(rlwe.degree(), modulus, rlwe.parameters().secret())?;
            let switch = |(from, key): (LweParameters, Fingerprint), digits: SwitchingDigits| {
                let (both, keys) = ([from, lwe.parameters()], [key, lwe.fingerprint()]);
                LweSwitchingKey::dry_run(rlwe, both, keys, (digits.base_log2, digits.count))
            };
            let keys = [lwe.fingerprint(), ring.fingerprint()];
            return Ok(PegasusKeys {
                extraction: switch((of_rlwe, secret.fingerprint()), literal.extraction)?,
                tables: BlindRotationKey::dry_run(rlwe, literal.tables, keys)?,
                back: switch((ring.parameters(), ring.fingerprint()), literal.back)?,
                repacking: RepackingKey::generate(plan, secret, lwe)?,
            });
        }
        let from = LweSecretKey::of_rlwe(plan.context().rlwe(), secret, modulus)?;
        let switch = |from: &LweSecretKey, digits: SwitchingDigits| {
            LweSwitchingKey::generate(from, lwe, digits.base_log2, digits.count)
        };
        Ok(PegasusKeys {
            extraction: switch(&from, literal.extraction)?,
            tables: BlindRotationKey::generate(literal.tables, lwe, ring, rlwe.threads())?,
            back: switch(ring, literal.back)?,
            repacking: RepackingKey::generate(plan, secret, lwe)?,
        })
    }

    /// The size of the stored keys in bytes.
    pub fn bytes(&self, context: &Context) -> usize {
        let single =
            self.extraction.stored_bytes() + self.tables.stored_bytes() + self.back.stored_bytes();
        single + self.repacking.bytes(context)
    }
}

/// The LWE secret in the slots of one CKKS ciphertext, with a seed in place of its second half. It
/// has 12 MB, compared with 80 GB for CHIMERA (PEGASUS, section III.C). See [`crate::Pegasus`] for
/// an example.
#[derive(Debug, Clone)]
pub struct RepackingKey {
    inner: SeededCiphertext,
    /// The fingerprint of the LWE secret in the slots.
    lwe: Fingerprint,
}

impl RepackingKey {
    /// Encrypts `lwe` under `secret`, at the modulus and scale of `plan`.
    ///
    /// # Errors
    /// Returns an error if the dimension of the LWE secret is not the planned one, or a key does
    /// not fit.
    pub fn generate(
        plan: &PegasusPlan,
        secret: &SecretKey,
        lwe: &LweSecretKey,
    ) -> Result<Self, PegasusError> {
        let (have, need) = (lwe.coefficients().len(), plan.literal().lwe().dimension());
        if have != need {
            let what = format!("the LWE secret has dimension {have}, {need} was planned");
            return argument("make a repacking key", what);
        }
        let context = plan.context();
        let values: Zeroizing<Vec<f64>> =
            Zeroizing::new(lwe.coefficients().iter().map(|s| *s as f64).collect());
        let plaintext =
            context.encode(Values::Real(&values), need, plan.key_scale()?, plan.repacking())?;
        let mut inner = context.encrypt(secret, &plaintext)?;
        // This bound holds for every secret.
        inner.set_bound(1.0);
        Ok(RepackingKey { inner, lwe: lwe.fingerprint() })
    }

    /// Makes a repacking key of its stored parts. `lwe` is the fingerprint of the LWE secret in it.
    ///
    /// # Errors
    /// Returns an error if it does not fit `plan`.
    pub fn from_parts(
        plan: &PegasusPlan,
        inner: SeededCiphertext,
        lwe: Fingerprint,
    ) -> Result<Self, PegasusError> {
        let key = RepackingKey { inner, lwe };
        key.check(plan, "load a repacking key")?;
        Ok(key)
    }

    /// The encrypted secret.
    pub fn inner(&self) -> &SeededCiphertext {
        &self.inner
    }

    /// The fingerprint of the LWE secret in it.
    pub fn lwe(&self) -> Fingerprint {
        self.lwe
    }

    /// The size of the stored key in bytes: half a ciphertext, with each residue in the number of
    /// bits of its modulus.
    pub fn bytes(&self, context: &Context) -> usize {
        let moduli = context.parameters().limb_moduli(self.inner.inner().modulus());
        let bits: u32 = moduli.iter().map(|q| u64::BITS - (q - 1).leading_zeros()).sum();
        bits as usize * context.rlwe().degree() / 8
    }

    pub(crate) fn expand(&self, plan: &PegasusPlan) -> Result<Ciphertext, PegasusError> {
        self.check(plan, "expand a repacking key")?;
        Ok(self.inner.expand(plan.context()))
    }

    fn check(&self, plan: &PegasusPlan, operation: &'static str) -> Result<(), PegasusError> {
        let (context, inner) = (plan.context(), &self.inner);
        let (have, need) = (inner.inner().parameters(), context.parameters().digest());
        if have != need {
            return Err(RlweError::ParameterMismatch { operation, have, need }.into());
        }
        let is_planned = (inner.slots(), inner.inner().modulus(), inner.scale())
            == (plan.literal().lwe().dimension(), plan.repacking(), plan.key_scale()?);
        if is_planned {
            return Ok(());
        }
        let bits = context.parameters().log2(inner.inner().modulus());
        let need = context.parameters().log2(plan.repacking());
        let what = format!(
            "the repacking key has {} numbers at scale 2^{:.1} modulo {bits:.1} bits; the plan \
             has {} at 2^{:.1} modulo {need:.1} bits",
            inner.slots(),
            inner.scale().log2(),
            plan.literal().lwe().dimension(),
            plan.literal().key_bits
        );
        argument(operation, what)
    }
}
