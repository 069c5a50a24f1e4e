//! The key that leads from one parameter set and secret to a second.

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, Modulus, RlweError, inclusion::Inclusion, security};

/// A switching key of a first parameter set, from its secret `s` to the secret `s'` of a second one
/// ([`crate::Parameters::second`]; MG23 3.6).
#[derive(Debug, Clone)]
pub struct TransferKey {
    second: Fingerprint,
    from: Fingerprint,
    to: Fingerprint,
    key: SwitchingKey,
}

const MAKE: &str = "make a transfer key";

impl TransferKey {
    /// A fresh transfer key from the secret `from` of `first` to the secret `to` of `second`.
    ///
    /// It is made of RLWE samples of `to` modulo `PQ` of the first set, which is larger than that
    /// of the second. Their errors are drawn for this key alone: samples modulo two numbers that do
    /// not divide each other have to have errors of their own.
    ///
    /// # Errors
    /// [`RlweError::Insecure`] when the second set is secure and `PQ` of the first is beyond the
    /// limit of its secret; [`RlweError::Parameters`] when the second set is none of the first, or
    /// the secrets are one and the same; [`RlweError::ParameterMismatch`] when a secret is of
    /// another set.
    pub fn generate(
        first: &Context,
        second: &Context,
        from: &SecretKey,
        to: &SecretKey,
    ) -> Result<Self, RlweError> {
        first.check_digest(from.parameters(), MAKE)?;
        second.check_digest(to.parameters(), MAKE)?;
        let (wide, narrow) = (first.parameters(), second.parameters());
        Inclusion::new(wide, narrow)?;
        if from.fingerprint() == to.fingerprint() {
            let what = format!(
                "{MAKE}: a second parameter set takes a secret of its own, and both are {}",
                to.fingerprint()
            );
            return Err(RlweError::Parameters { what });
        }
        if narrow.security().is_some() {
            security::check(narrow.log_degree(), narrow.secret(), wide.log2(wide.full()))?;
        }
        // The same coefficients, modulo PQ of the first set.
        let target = SecretKey::from_seed(first, to.seed().clone())?;
        let key = SwitchingKey::generate(first, from.poly(), target.poly(), wide.full())?;
        Ok(TransferKey {
            second: narrow.digest(),
            from: from.fingerprint(),
            to: to.fingerprint(),
            key,
        })
    }

    /// Puts a key together from its stored parts: the switching key, the digest of the second set,
    /// and the fingerprints of the secrets.
    pub fn from_parts(
        second: Fingerprint,
        from: Fingerprint,
        to: Fingerprint,
        key: SwitchingKey,
    ) -> Self {
        TransferKey { second, from, to, key }
    }

    /// The digest of the first parameter set.
    pub fn first(&self) -> Fingerprint {
        self.key.parameters()
    }

    /// The digest of the second parameter set.
    pub fn second(&self) -> Fingerprint {
        self.second
    }

    /// The fingerprint of the secret of the first set.
    pub fn from(&self) -> Fingerprint {
        self.from
    }

    /// The fingerprint of the secret of the second set.
    pub fn to(&self) -> Fingerprint {
        self.to
    }

    /// The switching key, of the first set.
    pub fn key(&self) -> &SwitchingKey {
        &self.key
    }

    /// Expands the key and lays it out for computing.
    ///
    /// # Errors
    /// When it was made with other parameters.
    pub fn prepare(
        &self,
        first: &Context,
        second: &Context,
    ) -> Result<PreparedTransferKey, RlweError> {
        const OPERATION: &str = "prepare a transfer key";
        first.check_digest(self.first(), OPERATION)?;
        second.check_digest(self.second, OPERATION)?;
        let inclusion = Inclusion::new(first.parameters(), second.parameters())?;
        let TransferKey { second, from, to, ref key } = *self;
        Ok(PreparedTransferKey { second, from, to, key: key.prepare(first), inclusion })
    }
}

/// A transfer key in memory, ready to compute with.
#[derive(Debug, Clone)]
pub struct PreparedTransferKey {
    second: Fingerprint,
    from: Fingerprint,
    to: Fingerprint,
    key: PreparedSwitchingKey,
    inclusion: Inclusion,
}

impl PreparedTransferKey {
    /// The digest of the second parameter set.
    pub fn second(&self) -> Fingerprint {
        self.second
    }

    /// The fingerprint of the secret of the first set.
    pub fn from(&self) -> Fingerprint {
        self.from
    }

    /// The fingerprint of the secret of the second set.
    pub fn to(&self) -> Fingerprint {
        self.to
    }

    /// Returns `modulus`, a modulus of ciphertexts of the second set, as a modulus of the first.
    pub fn modulus(&self, modulus: Modulus) -> Modulus {
        self.inclusion.modulus(modulus)
    }

    /// Returns the greatest common divisor of `modulus`, of the first set, and `Q_max` of the
    /// second, as a modulus of the second.
    pub fn common(&self, modulus: Modulus) -> Modulus {
        self.inclusion.common(modulus)
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.key.bytes()
    }

    pub(crate) fn key(&self) -> &PreparedSwitchingKey {
        &self.key
    }
}
