//! A parameter set with everything precomputed that CKKS needs.

use std::sync::Arc;

use hippocrene_ring::Threads;
use hippocrene_rlwe::{self as rlwe, Modulus, Parameters};

use crate::{CkksError, Scale, encoder::Encoder};

/// A parameter set prepared for CKKS: an RLWE context with an encoder.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use hippocrene_ckks::{Context, Evaluator, Scale};
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution, SecretKey, Sprout,
/// };
///
/// // Small parameters without any security, for a fast example.
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 8,
///     units: primes::ntt_primes(40, 1 << 8, 3, &[])?,
///     specials: primes::ntt_primes(41, 1 << 8, 1, &[])?,
///     sprout: Sprout::default(),
///     gadget_rank: 3,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Arc::new(Context::new(parameters, Threads::single())?);
///
/// // The client keeps the secret key and gives the evaluation keys to the server.
/// let secret = SecretKey::generate(context.rlwe())?;
/// let mut keys = EvaluationKeys::empty(context.rlwe(), secret.fingerprint());
/// keys.add_relinearisation(context.rlwe(), &secret)?;
/// let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.prepare(context.rlwe())?));
///
/// let (scale, modulus) = (Scale::power_of_two(40), context.parameters().top());
/// let plaintext = context.encode((&[1.5, -2.0]).into(), 2, scale, modulus)?;
/// let encrypted = context.encrypt(&secret, &plaintext)?.expand(&context);
/// let square = evaluator.mul_rescale(&encrypted, &encrypted, scale)?;
/// let decrypted = context.decode_real(&context.decrypt(&secret, &square)?)?;
/// assert!((decrypted[0] - 2.25).abs() < 1e-6 && (decrypted[1] - 4.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Context {
    rlwe: Arc<rlwe::Context>,
    encoder: Arc<Encoder>,
    /// The encoder of ring degree `N/8`, if that is supported: see [`Context::encode_repeated`].
    small: Option<Arc<Encoder>>,
}

/// Leaves out the tables.
impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.rlwe, f)
    }
}

impl Context {
    /// Prepares `parameters`, with the best kernel of this CPU and with `threads`.
    ///
    /// # Errors
    /// Fails if `HIPPOCRENE_KERNEL` names a kernel that this CPU cannot use.
    pub fn new(parameters: Parameters, threads: Threads) -> Result<Self, CkksError> {
        Self::of(Arc::new(rlwe::Context::new(parameters, threads)?))
    }

    /// Prepares `parameters` for a dry run, which computes without residues and records the
    /// primitives that each operation uses ([`hippocrene_rlwe::Context::dry_run`]).
    ///
    /// # Errors
    /// Fails as [`Context::new`] does.
    pub fn dry_run(parameters: Parameters, threads: Threads) -> Result<Self, CkksError> {
        Self::of(Arc::new(rlwe::Context::dry_run(parameters, threads)?))
    }

    /// Adds an encoder to an RLWE context, which other contexts may share.
    ///
    /// # Errors
    /// Fails if the ring degree is not supported.
    pub fn of(rlwe: Arc<rlwe::Context>) -> Result<Self, CkksError> {
        let encoder = |degree| Ok::<_, CkksError>(Arc::new(Encoder::new(degree, rlwe.kernel())?));
        let small = (rlwe.degree() >= 128).then(|| encoder(rlwe.degree() / 8)).transpose()?;
        Ok(Context { encoder: encoder(rlwe.degree())?, rlwe, small })
    }

    /// Returns a context of a dry run with the same parameters. It shares the encoder and
    /// everything that [`hippocrene_rlwe::Context::dry_run_beside`] shares.
    pub fn dry_run_beside(&self) -> Self {
        let rlwe = Arc::new(self.rlwe.dry_run_beside());
        Context { rlwe, encoder: Arc::clone(&self.encoder), small: self.small.clone() }
    }

    /// Wipes the scratch memory that operations keep for reuse. It may contain data that was
    /// encrypted or decrypted.
    pub fn wipe_scratch(&self) {
        self.rlwe.wipe_scratch();
        self.encoder.wipe_scratch();
        self.small.iter().for_each(|small| small.wipe_scratch());
    }

    /// The RLWE context.
    pub fn rlwe(&self) -> &Arc<rlwe::Context> {
        &self.rlwe
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        self.rlwe.parameters()
    }

    /// The encoder.
    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// The encoder of ring degree `N/8`, if that is supported.
    pub(crate) fn small_encoder(&self) -> Option<&Encoder> {
        self.small.as_deref()
    }

    /// The largest number of slots of a ciphertext: `N/2`.
    pub fn max_slots(&self) -> usize {
        self.rlwe.degree() / 2
    }

    /// Returns `scale to/from`, exactly.
    pub(crate) fn switched_scale(&self, scale: Scale, from: Modulus, to: Modulus) -> Scale {
        let parameters = self.parameters();
        let (added, dropped) = (to.without(from), from.without(to));
        let raised =
            added.factors().fold(scale, |s, i| s.times_integer(parameters.limb_modulus(added, i)));
        dropped.factors().fold(raised, |s, i| s.divided_by(parameters.limb_modulus(dropped, i)))
    }
}
