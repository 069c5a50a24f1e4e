//! The two keys of sparse-secret encapsulation.

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, Modulus, RlweError, inclusion::Inclusion, security};

/// The keys of sparse-secret encapsulation (Bossuat, Troncoso-Pastoriza and Hubaux, ePrint
/// 2022/024).
///
/// The first key leads from the secret `s` of a parameter set to a sparse secret `s'`, at a small
/// modulus `q0 p`. The second key leads back from `s'` to `s`, at the large modulus that moduli are
/// raised to, times specials.
///
/// A ciphertext is under `s'` only while its modulus is raised. So the term `q0 I` that is added to
/// the message has the small `I` of a sparse secret ([`Context::raise_modulus_into`]). RLWE samples
/// of `s'` exist only modulo `q0 p`, as those of the first key. So a weight is safe here that would
/// not be safe at the large modulus. The parameter set of `s'`
/// ([`crate::Parameters::encapsulation`]) must satisfy the security limit of its own modulus. The
/// second key consists of samples of `s`. [`EncapsulationKeys::generate`] makes `s'`, uses it and
/// wipes it.
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Ciphertext, Context, EncapsulationKeys, Modulus, Parameters, ParametersLiteral,
///     SecretDistribution, SecretKey, Sprout,
/// };
///
/// // Three primes for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 10, 4, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[1..].to_vec(),
///     specials: primes[..1].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 3,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let (base, top) = (Modulus::of_factor(0), parameters.top());
/// let narrow = parameters.encapsulation_insecure(base, 32)?;
/// let context = Context::new(parameters, Threads::single())?;
/// let narrow = Context::new(narrow, Threads::single())?;
/// let secret = SecretKey::generate(&context)?;
/// let keys = EncapsulationKeys::generate(&context, &narrow, &secret, top)?;
/// let keys = keys.prepare(&context, &narrow)?;
///
/// let message = context.from_signed(&[0; 1024], base);
/// let a = secret.encrypt(&context, &message, base)?.expand(&context);
/// let mut raised = Ciphertext::empty(&context);
/// context.raise_encapsulated_into(&mut raised, &a, &keys, &narrow, top)?;
/// assert_eq!(raised.modulus(), top);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EncapsulationKeys {
    secret: Fingerprint,
    down: SwitchingKey,
    up: SwitchingKey,
}

const MAKE: &str = "make encapsulation keys";

impl EncapsulationKeys {
    /// Generates keys for `secret`, which is of the set of `context`, and for a fresh sparse secret
    /// of the set of `narrow`.
    ///
    /// The keys allow moduli to be raised to `raised` or a divisor of it.
    ///
    /// # Errors
    /// Returns
    ///
    /// - [`RlweError::Insecure`] or [`RlweError::NoSecurityLimit`] if the set of `context` is
    ///   secure and that of `narrow` is not;
    /// - [`RlweError::Parameters`] if the moduli of `narrow` are not moduli of `context`;
    /// - [`RlweError::Modulus`] if `raised` is not a modulus of ciphertexts;
    /// - [`RlweError::ParameterMismatch`] if the secret belongs to another set.
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
        // Each secret with the moduli of the other parameter set.
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

    /// Builds keys from their stored parts: the fingerprint of the secret, the key from `s` to
    /// `s'`, and the key back.
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

    /// The bytes of the key back as it is stored. The other key is small compared to it.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if the keys were made with other parameters.
    pub fn stored_bytes(&self, context: &Context) -> Result<usize, RlweError> {
        context.check_digest(self.up.parameters(), "compute the size of encapsulation keys")?;
        Ok(context.parameters().switching_key_size_at(self.up.modulus()).seeded)
    }

    /// Expands the keys and arranges them for computing.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if the keys were made with other parameters.
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
///
/// See [`EncapsulationKeys`] for an example.
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
    /// Returns [`RlweError::Parameters`] if a context is not in a dry run.
    pub fn without_residues(&self, context: &Context, narrow: &Context) -> Result<Self, RlweError> {
        Ok(PreparedEncapsulationKeys {
            secret: self.secret,
            down: self.down.in_dry_run(narrow)?,
            up: self.up.in_dry_run(context)?,
            inclusion: self.inclusion.clone(),
        })
    }

    /// The bytes of the keys in memory.
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
