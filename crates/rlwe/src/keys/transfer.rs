//! The key that leads from the secret of one parameter set to that of a second.

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, Modulus, RlweError, inclusion::Inclusion, security};

/// A switching key of a first parameter set, from its secret `s` to the secret `s'` of a second
/// parameter set ([`crate::Parameters::key_transfer_set`]; MG23 3.6).
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Ciphertext, Context, Modulus, Parameters, ParametersLiteral, SecretDistribution, SecretKey,
///     Sprout, TransferKey,
/// };
///
/// // Four primes for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 10, 5, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[1..].to_vec(),
///     specials: primes[..1].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 4,
///     secret: SecretDistribution::Ternary,
/// })?;
/// // Half of the units are used up. The second set is for the rest.
/// let rest = Modulus::of_range(0..2);
/// let narrow = parameters.key_transfer_set_insecure(rest)?;
/// let first = Context::new(parameters, Threads::single())?;
/// let second = Context::new(narrow, Threads::single())?;
/// let (from, to) = (SecretKey::generate(&first)?, SecretKey::generate(&second)?);
/// let key = TransferKey::generate(&first, &second, &from, &to)?.prepare(&first, &second)?;
///
/// let message = first.from_signed(&[vec![1 << 30], vec![0; 1023]].concat(), rest);
/// let a = from.encrypt(&first, &message, rest)?.expand(&first);
/// let mut out = Ciphertext::empty(&second);
/// first.transfer_into(&mut out, &a, &key, &second, key.common(rest))?;
/// assert!(to.decrypt(&second, &out)?.limb(0)[0].abs_diff(1 << 30) < 1 << 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TransferKey {
    second: Fingerprint,
    from: Fingerprint,
    to: Fingerprint,
    key: SwitchingKey,
}

const MAKE: &str = "make a transfer key";

impl TransferKey {
    /// Generates a transfer key from the secret `from` of `first` to the secret `to` of `second`.
    ///
    /// It consists of RLWE samples of `to` modulo `PQ` of the first set, which is larger than that
    /// of the second. The errors of these samples are drawn for this key alone, because samples
    /// modulo two numbers that do not divide each other must have independent errors.
    ///
    /// # Errors
    /// Returns
    ///
    /// - [`RlweError::Insecure`] if the second set is secure and `PQ` of the first exceeds the
    ///   limit of its secret;
    /// - [`RlweError::Parameters`] if the second set does not belong to the first, or if both
    ///   secrets are the same;
    /// - [`RlweError::ParameterMismatch`] if a secret belongs to another set.
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
                "{MAKE}: both keys are {}. A second key with a secret of its own is needed.",
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

    /// Builds a key from its stored parts: the switching key, the digest of the second set, and the
    /// fingerprints of the secrets.
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

    /// Expands the key and arranges it for computing.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if the key was made with other parameters.
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
///
/// See [`TransferKey`] for an example.
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

    /// The bytes of the key in memory.
    pub fn bytes(&self) -> usize {
        self.key.bytes()
    }

    pub(crate) fn key(&self) -> &PreparedSwitchingKey {
        &self.key
    }
}
