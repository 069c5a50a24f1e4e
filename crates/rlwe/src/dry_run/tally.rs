//! The tally of a dry run: operations, seconds and keys.

use std::collections::BTreeMap;

use crate::{Gadget, Method, Modulus};

/// The name under which the tally counts raised moduli ([`Tally::raises`]).
pub(crate) const RAISE: &str = "raise the modulus";

/// The use of a switching key.
///
/// See [`Tally`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyUse {
    /// Relinearisation, from `s^2` to `s`.
    Relinearisation,
    /// The automorphism `X -> X^g` of this Galois element `g`.
    Galois(usize),
}

/// The number and cost of one operation.
///
/// See [`Tally`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OperationCost {
    /// The number of times that the operation was executed.
    pub count: u64,
    /// The predicted seconds of one thread for all of these.
    pub seconds: f64,
    /// The number of transforms of limbs, as [`crate::Context::transforms`] counts them.
    pub transforms: u64,
}

/// The cost of the computations of a dry run ([`crate::Context::dry_run`]).
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Ciphertext, Context, Fingerprint, KeyUse, Parameters, ParametersLiteral,
///     PreparedEvaluationKeys, SecretDistribution, SecretKey, Sprout,
/// };
///
/// // Insecure parameters, with a prime for the units and one for the special modulus.
/// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[..1].to_vec(),
///     specials: primes[1..].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 1,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Context::dry_run(parameters, Threads::single())?;
/// let secret = SecretKey::generate(&context)?;
/// let modulus = context.parameters().top();
/// let message = context.from_signed(&[0; 1024], modulus);
/// let a = secret.encrypt(&context, &message, modulus)?.expand(&context);
///
/// // Predict the cost of a square.
/// let keys = PreparedEvaluationKeys::all_for_dry_run(&context, secret.fingerprint())?;
/// context.reset_tally();
/// let mut square = Ciphertext::empty(&context);
/// context.multiply_into(&mut square, &a, &a, 1, &keys, modulus)?;
/// let tally = context.tally();
/// assert_eq!(tally.count("switch keys"), 1);
/// assert!(tally.seconds() > 0.0 && tally.keys().contains_key(&KeyUse::Relinearisation));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    operations: BTreeMap<&'static str, OperationCost>,
    keys: BTreeMap<KeyUse, Modulus>,
    derived: BTreeMap<(Option<KeyUse>, usize, usize), usize>,
    failure: f64,
}

impl Tally {
    /// The operations by name. An operation that consists of others is counted as these.
    pub fn operations(&self) -> &BTreeMap<&'static str, OperationCost> {
        &self.operations
    }

    /// The number of times that an operation was executed.
    pub fn count(&self, operation: &str) -> u64 {
        self.operations.get(operation).map_or(0, |cost| cost.count)
    }

    /// The number of ciphertexts whose modulus was raised. Every bootstrap raises one modulus.
    pub fn raises(&self) -> u64 {
        self.count(RAISE)
    }

    /// log2 of a bound on the probability that results are wrong without an error message, or
    /// `None` if that cannot happen.
    ///
    /// The bound is the sum of all recorded probabilities ([`crate::Context::record_failure`]).
    pub fn log2_failure_probability(&self) -> Option<f64> {
        (self.failure > 0.0).then(|| self.failure.min(1.0).log2())
    }

    /// The predicted seconds of one thread for all operations.
    pub fn seconds(&self) -> f64 {
        // The sum of no numbers would be -0.
        self.operations.values().fold(0.0, |sum, cost| sum + cost.seconds)
    }

    /// The number of transforms of limbs, as [`crate::Context::transforms`] counts them.
    pub fn transforms(&self) -> u64 {
        self.operations.values().map(|cost| cost.transforms).sum()
    }

    /// The keys that were used, each with the least common multiple of the moduli of the
    /// ciphertexts that it was used for.
    pub fn keys(&self) -> &BTreeMap<KeyUse, Modulus> {
        &self.keys
    }

    /// The bytes of the keys that are derived from others for faster key switches, if there is
    /// memory for all of them ([`crate::Context::set_key_memory`]).
    pub fn derived_key_bytes(&self) -> usize {
        self.derived.values().sum()
    }

    pub(crate) fn add(&mut self, operation: &'static str, seconds: f64, transforms: u64) {
        let cost = self.operations.entry(operation).or_default();
        cost.count += 1;
        cost.seconds += seconds;
        cost.transforms += transforms;
    }

    pub(crate) fn add_failure(&mut self, log2_probability: f64) {
        self.failure += log2_probability.exp2();
    }

    pub(crate) fn add_key(&mut self, name: KeyUse, modulus: Modulus) {
        let largest = self.keys.entry(name).or_insert(Modulus::ONE);
        *largest = largest.lcm(modulus);
    }

    pub(crate) fn add_derived(&mut self, name: Option<KeyUse>, gadget: Gadget, bytes: usize) {
        let groups = match gadget.method() {
            Method::Single => 0,
            Method::Double { groups } => groups,
        };
        self.derived.insert((name, gadget.group(), groups), bytes);
    }
}
