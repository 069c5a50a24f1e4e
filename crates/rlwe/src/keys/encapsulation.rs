//! The two keys of sparse-secret encapsulation.

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, Modulus, RlweError, inclusion::Inclusion, security};

/// The keys of sparse-secret encapsulation (Bossuat, Troncoso-Pastoriza and Hubaux, ePrint
/// 2022/024): from the secret `s` of a parameter set to a sparse secret `s'` at a small modulus `q0
/// p`, and back from `s'` to `s` at the large one that moduli are raised to (times specials).
///
/// A ciphertext is under `s'` only while its modulus is raised, so that what is added to the
/// message, `q0 I`, has the small `I` of a sparse secret ([`Context::raise_modulus_into`]). RLWE
/// samples of `s'` exist modulo `q0 p` only, those of the first key, so that a weight is safe here
/// that would not be at that; the parameter set of `s'` ([`crate::Parameters::encapsulation`]) is
/// held to the security limit of its own modulus. The second key is made of samples of `s`. `s'`
/// itself is made, used and wiped by [`EncapsulationKeys::generate`].
#[derive(Debug, Clone)]
pub struct EncapsulationKeys {
    secret: Fingerprint,
    down: SwitchingKey,
    up: SwitchingKey,
}

const MAKE: &str = "make encapsulation keys";

impl EncapsulationKeys {
    /// Fresh keys for `secret`, of the set of `context`, and a fresh sparse secret of the set of
    /// `narrow`, to raise moduli to `raised` or a divisor of it.
    ///
    /// # Errors
    /// [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] when the set of `context` is
    /// secure and that of `narrow` is not; [`RlweError::Parameters`] when the moduli of `narrow`
    /// are none of `context`; [`RlweError::Modulus`] when `raised` is not a modulus of ciphertexts;
    /// [`RlweError::ParameterMismatch`] when the secret is of another set.
    pub fn generate(
        context: &Context,
        narrow: &Context,
        secret: &SecretKey,
        raised: Modulus,
    ) -> Result<Self, RlweError> {
        context.check_digest(secret.parameters(), MAKE)?;
        context.check_modulus(raised, MAKE)?;
        let (wide, small) = (context.parameters(), narrow.parameters());
        Inclusion::of_moduli(wide, small)?;
        if wide.security().is_some() {
            security::check(small.log_degree(), small.secret(), small.log2(small.full()))?;
        }
        let sparse = SecretKey::generate(narrow)?;
        // Each secret with the moduli of the other set.
        let low = SecretKey::of_distribution(narrow, secret.seed().clone(), wide.secret())?;
        let high = SecretKey::of_distribution(context, sparse.seed().clone(), small.secret())?;
        Ok(EncapsulationKeys {
            secret: secret.fingerprint(),
            down: SwitchingKey::generate(narrow, low.poly(), sparse.poly(), small.full())?,
            up: SwitchingKey::generate(
                context,
                high.poly(),
                secret.poly(),
                wide.key_modulus(raised),
            )?,
        })
    }

    /// Puts keys together from their stored parts: the fingerprint of the secret, the key from `s`
    /// to `s'`, and the key back.
    pub fn from_parts(secret: Fingerprint, down: SwitchingKey, up: SwitchingKey) -> Self {
        EncapsulationKeys { secret, down, up }
    }

    /// The fingerprint of the secret `s`.
    pub fn secret(&self) -> Fingerprint {
        self.secret
    }

    /// The key from `s` to `s'`, of the narrow set.
    pub fn down(&self) -> &SwitchingKey {
        &self.down
    }

    /// The key from `s'` to `s`, of the set of `s`.
    pub fn up(&self) -> &SwitchingKey {
        &self.up
    }

    /// Bytes of the key back as it is stored, beside which the other is small.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn stored_bytes(&self, context: &Context) -> Result<usize, RlweError> {
        context.check_digest(self.up.parameters(), "tell the size of encapsulation keys")?;
        Ok(context.parameters().switching_key_size_at(self.up.modulus()).seeded)
    }

    /// Expands the keys and lays them out for computing.
    ///
    /// # Errors
    /// When they were made with other parameters.
    pub fn prepare(
        &self,
        context: &Context,
        narrow: &Context,
    ) -> Result<PreparedEncapsulationKeys, RlweError> {
        const OPERATION: &str = "prepare encapsulation keys";
        context.check_digest(self.up.parameters(), OPERATION)?;
        narrow.check_digest(self.down.parameters(), OPERATION)?;
        let inclusion = Inclusion::of_moduli(context.parameters(), narrow.parameters())?;
        let (down, up) = (self.down.prepare(narrow), self.up.prepare(context));
        Ok(PreparedEncapsulationKeys { secret: self.secret, down, up, inclusion })
    }
}

/// Encapsulation keys in memory, ready to compute with.
#[derive(Debug, Clone)]
pub struct PreparedEncapsulationKeys {
    secret: Fingerprint,
    down: PreparedSwitchingKey,
    up: PreparedSwitchingKey,
    inclusion: Inclusion,
}

impl PreparedEncapsulationKeys {
    /// The fingerprint of the secret `s`.
    pub fn secret(&self) -> Fingerprint {
        self.secret
    }

    /// The same keys without residues, in the dry run of `context` and `narrow`.
    ///
    /// # Errors
    /// [`RlweError::Parameters`] when a context is not one of a dry run.
    pub fn without_residues(&self, context: &Context, narrow: &Context) -> Result<Self, RlweError> {
        Ok(PreparedEncapsulationKeys {
            secret: self.secret,
            down: self.down.in_dry_run(narrow)?,
            up: self.up.in_dry_run(context)?,
            inclusion: self.inclusion.clone(),
        })
    }

    /// Bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.down.bytes() + self.up.bytes()
    }

    pub(crate) fn down(&self) -> &PreparedSwitchingKey {
        &self.down
    }

    pub(crate) fn up(&self) -> &PreparedSwitchingKey {
        &self.up
    }

    pub(crate) fn inclusion(&self) -> &Inclusion {
        &self.inclusion
    }
}
