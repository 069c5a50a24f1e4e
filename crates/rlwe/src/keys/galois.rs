//! The evaluation keys of a server: for relinearisation and for automorphisms.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use hippocrene_ring::{
    Domain,
    arith::inv_mod,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
};
use zeroize::Zeroize;

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, KeyUse, Modulus, RlweError, stop};

const OPERATION: &str = "make evaluation keys";
const PREPARE: &str = "prepare evaluation keys";

/// The maximum number of rotations that an error lists. Chosen.
const MAX_LISTED_ROTATIONS: usize = 32;

/// Evaluation keys as they are stored and sent: a key from `s^2` to `s`, and for each Galois
/// element `g` a key from `s` to `s(X^{1/g})`.
///
/// A rotation first switches keys and then applies the automorphism, so that one key serves single
/// and hoisted rotations.
///
/// ```
/// use hippocrene_ring::{Threads, primes};
/// use hippocrene_rlwe::{
///     Ciphertext, Context, EvaluationKeys, Parameters, ParametersLiteral, SecretDistribution,
///     SecretKey, Sprout,
/// };
///
/// // A prime for the units and one for the special modulus. These parameters are not secure.
/// let primes = primes::ntt_primes(48, 1 << 10, 2, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 10,
///     units: primes[..1].to_vec(),
///     specials: primes[1..].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 1,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let context = Context::new(parameters, Threads::single())?;
/// let modulus = context.parameters().top();
/// let secret = SecretKey::generate(&context)?;
/// let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
/// keys.add_relinearisation(&context, &secret)?;
/// keys.add_rotations(&context, &secret, [1])?;
/// let keys = keys.prepare(&context)?;
///
/// // Square the constant polynomial 2^20.
/// let message = context.from_signed(&[vec![1 << 20], vec![0; 1023]].concat(), modulus);
/// let a = secret.encrypt(&context, &message, modulus)?.expand(&context);
/// let mut square = Ciphertext::empty(&context);
/// context.multiply_into(&mut square, &a, &a, 1, &keys, modulus)?;
/// let decrypted = secret.decrypt(&context, &square)?;
/// assert!(decrypted.limb(0)[0].abs_diff(1 << 40) < 1 << 32);
///
/// // A rotation does not change a constant polynomial.
/// let mut rotated = Ciphertext::empty(&context);
/// context.apply_galois_into(&mut rotated, &a, 5, &keys)?;
/// let decrypted = secret.decrypt(&context, &rotated)?;
/// assert!(decrypted.limb(0)[0].abs_diff(1 << 20) < 1 << 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    parameters: Fingerprint,
    key: Fingerprint,
    relinearisation: Option<SwitchingKey>,
    galois: BTreeMap<usize, SwitchingKey>,
}

impl EvaluationKeys {
    /// Returns a set without keys, for the secret key with fingerprint `key`.
    pub fn empty(context: &Context, key: Fingerprint) -> Self {
        EvaluationKeys {
            parameters: context.parameters().digest(),
            key,
            relinearisation: None,
            galois: BTreeMap::new(),
        }
    }

    /// Adds the relinearisation key, from `s^2` to `s`, for all moduli.
    ///
    /// # Errors
    /// Returns an error if the secret key or the parameters do not match, or if the operating
    /// system provides no entropy.
    pub fn add_relinearisation(
        &mut self,
        context: &Context,
        secret: &SecretKey,
    ) -> Result<(), RlweError> {
        self.check(context, secret)?;
        let full = context.parameters().full();
        let mut square = context.zero(full, Domain::Evaluation);
        square.for_each_limb(context.threads(), |k, out| {
            let s = secret.poly().limb(k);
            context.limb_ring(full, k).mul(out, s, s);
        });
        let key = SwitchingKey::generate(context, &square, secret.poly(), full);
        square.as_mut_slice().zeroize();
        self.relinearisation = Some(key?);
        Ok(())
    }

    /// Adds the key of the automorphism `X -> X^element` for all moduli, unless it exists or the
    /// element is 1.
    ///
    /// # Errors
    /// Returns an error if the element is even, or if the secret key or the parameters do not
    /// match.
    pub fn add_galois(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        element: usize,
    ) -> Result<(), RlweError> {
        self.add_galois_at(context, secret, element, context.parameters().top())
    }

    /// Adds the key of the automorphism `X -> X^element` for ciphertexts modulo `modulus` and its
    /// divisors.
    ///
    /// This key is smaller ([`crate::Parameters::key_modulus`]). An existing key for other moduli
    /// is replaced by one for the least common multiple.
    ///
    /// # Errors
    /// Returns the errors of `add_galois`, and [`RlweError::Modulus`] if `modulus` is not one of
    /// ciphertexts.
    pub fn add_galois_at(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        element: usize,
        modulus: Modulus,
    ) -> Result<(), RlweError> {
        self.add_each_galois_at(context, secret, [(element, modulus)])
    }

    /// [`EvaluationKeys::add_galois_at`] for several elements, each with its modulus. The work is
    /// distributed among the threads.
    ///
    /// # Errors
    /// Returns the same errors as `add_galois_at`. No key is then added.
    pub fn add_each_galois_at(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        requested: impl IntoIterator<Item = (usize, Modulus)>,
    ) -> Result<(), RlweError> {
        self.check(context, secret)?;
        let parameters = context.parameters();
        let mut moduli: BTreeMap<usize, Modulus> = BTreeMap::new();
        for (element, modulus) in requested {
            context.check_modulus(modulus, OPERATION)?;
            let stored_modulus =
                self.galois.get(&element).map_or(Modulus::ONE, SwitchingKey::modulus);
            let current_modulus = moduli.get(&element).copied().unwrap_or(stored_modulus);
            let key_modulus = match modulus == parameters.top() {
                true => parameters.full(),
                false => parameters
                    .key_modulus(modulus.lcm(current_modulus.gcd(parameters.top())))
                    .lcm(current_modulus),
            };
            if element != 1 && key_modulus != current_modulus {
                moduli.insert(element, key_modulus);
            }
        }
        let moduli: Vec<(usize, Modulus)> = moduli.into_iter().collect();
        let generated = context.try_each(moduli.len(), |i| {
            let (element, modulus) = moduli[i];
            generate_galois(context, secret, element, modulus).map(|key| (element, key))
        });
        self.galois.extend(generated?);
        Ok(())
    }

    /// Adds the keys of the rotations by `steps` slots, for all moduli. Positive steps are to the
    /// left, negative ones to the right.
    ///
    /// # Errors
    /// Returns an error if the secret key or the parameters do not match.
    pub fn add_rotations(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        steps: impl IntoIterator<Item = i64>,
    ) -> Result<(), RlweError> {
        self.add_rotations_at(context, secret, steps, context.parameters().top())
    }

    /// [`EvaluationKeys::add_rotations`] for ciphertexts modulo `modulus` and its divisors, like
    /// [`EvaluationKeys::add_galois_at`].
    ///
    /// # Errors
    /// Returns the same errors as `add_galois_at`.
    pub fn add_rotations_at(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        steps: impl IntoIterator<Item = i64>,
        modulus: Modulus,
    ) -> Result<(), RlweError> {
        let degree = context.degree();
        let elements = steps.into_iter().map(|k| (galois_element_of_rotation(degree, k), modulus));
        self.add_each_galois_at(context, secret, elements)
    }

    /// Adds the key of complex conjugation, for all moduli.
    ///
    /// # Errors
    /// Returns an error if the secret key or the parameters do not match.
    pub fn add_conjugation(
        &mut self,
        context: &Context,
        secret: &SecretKey,
    ) -> Result<(), RlweError> {
        self.add_galois(context, secret, galois_element_of_conjugation(context.degree()))
    }

    /// Builds evaluation keys from their stored parts.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if a key was made with other parameters.
    pub fn from_parts(
        context: &Context,
        key: Fingerprint,
        relinearisation: Option<SwitchingKey>,
        galois: BTreeMap<usize, SwitchingKey>,
    ) -> Result<Self, RlweError> {
        relinearisation
            .iter()
            .chain(galois.values())
            .try_for_each(|k| context.check_digest(k.parameters(), "load evaluation keys"))?;
        Ok(EvaluationKeys {
            parameters: context.parameters().digest(),
            key,
            relinearisation,
            galois,
        })
    }

    /// The digest of the keys' parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The fingerprint of the secret key to which the keys belong.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The relinearisation key, if it exists.
    pub fn relinearisation(&self) -> Option<&SwitchingKey> {
        self.relinearisation.as_ref()
    }

    /// The Galois keys by Galois element.
    pub fn galois(&self) -> &BTreeMap<usize, SwitchingKey> {
        &self.galois
    }

    /// Expands all keys and arranges them for computing.
    ///
    /// # Errors
    /// Returns an error if the keys were made with other parameters, or if the calling thread has
    /// to stop ([`crate::stop`]).
    pub fn prepare(&self, context: &Context) -> Result<PreparedEvaluationKeys, RlweError> {
        context.check_digest(self.parameters, PREPARE)?;
        let relinearisation =
            self.relinearisation.as_ref().map(|k| relinearisation(k.prepare(context)));
        let stored: Vec<(&usize, &SwitchingKey)> = self.galois.iter().collect();
        let prepared = context.try_each(stored.len(), |i| {
            stop::check(PREPARE)?;
            let (g, key) = stored[i];
            Ok::<_, RlweError>((*g, galois(*g, key.prepare(context))))
        });
        let galois = Galois::Some(prepared?.into_iter().collect());
        Ok(PreparedEvaluationKeys {
            key: self.key,
            relinearisation,
            galois,
            degree: context.degree(),
        })
    }

    /// [`EvaluationKeys::prepare`] that frees the memory of each stored key as soon as it is
    /// prepared.
    ///
    /// # Errors
    /// Returns the same errors as `prepare`.
    pub fn into_prepared(self, context: &Context) -> Result<PreparedEvaluationKeys, RlweError> {
        context.check_digest(self.parameters, PREPARE)?;
        let relinearisation = self.relinearisation.map(|k| relinearisation(k.prepare(context)));
        let (elements, stored): (Vec<usize>, Vec<_>) =
            self.galois.into_iter().map(|(g, key)| (g, Mutex::new(Some(key)))).unzip();
        let prepared = context.try_each(stored.len(), |i| {
            stop::check(PREPARE)?;
            let key = stored[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok::<_, RlweError>(
                key.map(|key| (elements[i], galois(elements[i], key.prepare(context)))),
            )
        });
        let galois = Galois::Some(prepared?.into_iter().flatten().collect());
        Ok(PreparedEvaluationKeys {
            key: self.key,
            relinearisation,
            galois,
            degree: context.degree(),
        })
    }

    /// The bytes of all keys as they are stored.
    ///
    /// # Errors
    /// Returns [`RlweError::ParameterMismatch`] if the keys were made with other parameters.
    pub fn stored_bytes(&self, context: &Context) -> Result<usize, RlweError> {
        context.check_digest(self.parameters, "compute the size of evaluation keys")?;
        let size =
            |key: &SwitchingKey| context.parameters().switching_key_size_at(key.modulus()).seeded;
        Ok(self.relinearisation.iter().chain(self.galois.values()).map(size).sum())
    }

    /// Checks that the parameters and the secret key match.
    fn check(&self, context: &Context, secret: &SecretKey) -> Result<(), RlweError> {
        context.check_digest(self.parameters, OPERATION)?;
        context.check_digest(secret.parameters(), OPERATION)?;
        if secret.fingerprint() == self.key {
            Ok(())
        } else {
            Err(RlweError::KeyMismatch {
                operation: OPERATION,
                have: secret.fingerprint(),
                need: self.key,
            })
        }
    }
}

/// Generates the key of the automorphism `X -> X^element`, modulo `modulus`.
fn generate_galois(
    context: &Context,
    secret: &SecretKey,
    element: usize,
    modulus: Modulus,
) -> Result<SwitchingKey, RlweError> {
    // The result is under s(X^{1/g}), so that the automorphism X -> X^g brings it back to s.
    let inverse =
        inv_mod(element as u64, 2 * context.degree() as u64).map_or(element, |g| g as usize);
    let automorphism = context.automorphism(inverse)?;
    if element >= 2 * context.degree() {
        // This fails and names the element. The inverse would not fail.
        context.automorphism(element)?;
    }
    let full = context.parameters().full();
    let mut target = context.scratch(full, Domain::Evaluation);
    target.for_each_limb(context.threads(), |k, out| {
        let s = secret.poly().limb(k);
        context.limb_ring(full, k).apply_automorphism(&automorphism, Domain::Evaluation, out, s);
    });
    let key = SwitchingKey::generate(context, secret.poly(), &target, modulus);
    target.as_mut_slice().zeroize();
    key
}

/// Evaluation keys in memory, ready to compute with.
///
/// See [`EvaluationKeys`] for an example.
#[derive(Debug, Clone)]
pub struct PreparedEvaluationKeys {
    key: Fingerprint,
    relinearisation: Option<PreparedSwitchingKey>,
    galois: Galois,
    degree: usize,
}

/// Galois keys by Galois element.
#[derive(Debug, Clone)]
enum Galois {
    /// The keys that were generated.
    Some(BTreeMap<usize, PreparedSwitchingKey>),
    /// All possible keys, in a dry run: those for smaller moduli, and for everything else one for
    /// all moduli.
    Every(BTreeMap<usize, PreparedSwitchingKey>, Arc<DryRunKeys>),
}

/// Keys without residues for all moduli. The key of the odd element `g` is at index `(g - 1)/2` and
/// is made when it is first requested.
#[derive(Debug)]
struct DryRunKeys {
    one: PreparedSwitchingKey,
    named: Box<[OnceLock<Box<PreparedSwitchingKey>>]>,
}

impl DryRunKeys {
    /// The key of an odd element above 1.
    fn get(&self, element: usize) -> Option<&PreparedSwitchingKey> {
        let key = if element % 2 == 1 && element > 1 { self.named.get(element / 2) } else { None };
        key.map(|key| &**key.get_or_init(|| Box::new(galois(element, self.one.clone()))))
    }
}

fn relinearisation(key: PreparedSwitchingKey) -> PreparedSwitchingKey {
    key.named(KeyUse::Relinearisation)
}

fn galois(element: usize, key: PreparedSwitchingKey) -> PreparedSwitchingKey {
    key.named(KeyUse::Galois(element))
}

impl PreparedEvaluationKeys {
    /// Returns all possible keys in a dry run, without residues, for the secret key with
    /// fingerprint `key`.
    ///
    /// The tally records which of them are used ([`crate::Tally::keys`]).
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if the context is not in a dry run.
    pub fn all_for_dry_run(context: &Context, key: Fingerprint) -> Result<Self, RlweError> {
        Self::all_for_dry_run_beside(context, &EvaluationKeys::empty(context, key))
    }

    /// As [`PreparedEvaluationKeys::all_for_dry_run`], except that the Galois keys of `keys` are
    /// used at the moduli for which they were generated.
    ///
    /// # Errors
    /// Returns the errors of `all_for_dry_run`, and [`RlweError::ParameterMismatch`] if `keys` were
    /// made with other parameters.
    pub fn all_for_dry_run_beside(
        context: &Context,
        keys: &EvaluationKeys,
    ) -> Result<Self, RlweError> {
        if !context.is_dry_run() {
            return Err(RlweError::Parameters { what: "only a dry run has every key".into() });
        }
        context.check_digest(keys.parameters, "prepare evaluation keys")?;
        let (one, degree) = (
            PreparedSwitchingKey::without_residues(context, context.parameters().full()),
            context.degree(),
        );
        let small = keys.galois.iter().map(|(g, k)| (*g, galois(*g, k.prepare(context)))).collect();
        let relinearisation = Some(relinearisation(one.clone()));
        let whole = DryRunKeys { one, named: (0..degree).map(|_| OnceLock::new()).collect() };
        let galois = Galois::Every(small, Arc::new(whole));
        Ok(PreparedEvaluationKeys { key: keys.key, relinearisation, galois, degree })
    }

    /// Returns the same keys without residues, in a dry run.
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if the context is not in a dry run.
    pub fn without_residues(&self, context: &Context) -> Result<Self, RlweError> {
        let all = |keys: &BTreeMap<usize, PreparedSwitchingKey>| {
            let bare = keys.iter().map(|(g, key)| Ok((*g, galois(*g, key.in_dry_run(context)?))));
            bare.collect::<Result<_, RlweError>>()
        };
        let galois = match &self.galois {
            Galois::Some(keys) => Galois::Some(all(keys)?),
            Galois::Every(keys, whole) => Galois::Every(all(keys)?, Arc::clone(whole)),
        };
        let key = self.relinearisation.as_ref().map(|key| key.in_dry_run(context)).transpose()?;
        let relinearisation = key.map(relinearisation);
        Ok(PreparedEvaluationKeys { relinearisation, galois, ..*self })
    }

    /// The fingerprint of the secret key to which the keys belong.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Checks that the keys belong to the secret key `of`, which is that of an operand.
    ///
    /// # Errors
    /// Returns [`RlweError::KeyMismatch`] if they do not.
    pub(crate) fn check_key(
        &self,
        of: Fingerprint,
        operation: &'static str,
    ) -> Result<(), RlweError> {
        match of == self.key {
            true => Ok(()),
            false => Err(RlweError::KeyMismatch { operation, have: of, need: self.key }),
        }
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// Returns [`RlweError::MissingRelinearisationKey`] if it is missing.
    pub fn relinearisation(
        &self,
        operation: &'static str,
    ) -> Result<&PreparedSwitchingKey, RlweError> {
        self.relinearisation.as_ref().ok_or(RlweError::MissingRelinearisationKey { operation })
    }

    /// The key of the automorphism `X -> X^element`. In a dry run with all keys, it is the key for
    /// all moduli.
    ///
    /// # Errors
    /// Returns [`RlweError::MissingGaloisKey`], which names the existing rotations, if the key is
    /// missing.
    pub fn galois(&self, element: usize) -> Result<&PreparedSwitchingKey, RlweError> {
        let key = match &self.galois {
            Galois::Some(keys) => keys.get(&element),
            Galois::Every(_, whole) => whole.get(element),
        };
        key.ok_or_else(|| RlweError::MissingGaloisKey {
            operation: self.describe(element),
            held: self.held(),
        })
    }

    /// The Galois keys in words, for example "rotations by -1, 1, 2 and conjugation".
    fn held(&self) -> String {
        let Galois::Some(keys) = &self.galois else { return "those of all odd elements".into() };
        let mut rotations: Vec<i64> = self
            .rotations()
            .filter(|(element, _)| keys.contains_key(element))
            .map(|(_, steps)| steps)
            .collect();
        rotations.sort_unstable();
        let others = rotations.len().saturating_sub(MAX_LISTED_ROTATIONS);
        let named: Vec<String> =
            rotations.iter().take(MAX_LISTED_ROTATIONS).map(i64::to_string).collect();
        let more = if others > 0 { format!(" and {others} others") } else { String::new() };
        let rotations =
            (!named.is_empty()).then(|| format!("rotations by {}{more}", named.join(", ")));
        let mut parts: Vec<String> = rotations.into_iter().collect();
        if keys.contains_key(&galois_element_of_conjugation(self.degree)) {
            parts.push("conjugation".into());
        }
        if parts.is_empty() { "none".into() } else { parts.join(" and ") }
    }

    /// The Galois elements of all rotations, with their steps. Steps are slots to the left. Those
    /// of more than half of all slots are given as negative steps, to the right.
    fn rotations(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        let slots = self.degree as i64 / 2;
        let next = |element: &usize| Some(element * 5 % (2 * self.degree));
        let steps =
            (0..slots).map(move |steps| if steps > slots / 2 { steps - slots } else { steps });
        std::iter::successors(Some(1), next).zip(steps)
    }

    /// The key of the automorphism `X -> X^element` for ciphertexts modulo `modulus`.
    ///
    /// # Errors
    /// Returns the errors of `galois`, and [`RlweError::KeyModulus`] if the key is for smaller
    /// moduli.
    pub fn galois_at(
        &self,
        element: usize,
        context: &Context,
        modulus: Modulus,
    ) -> Result<&PreparedSwitchingKey, RlweError> {
        if let Galois::Every(small, _) = &self.galois
            && let Some(key) = small.get(&element).filter(|key| modulus.divides(key.modulus()))
        {
            return Ok(key);
        }
        let key = self.galois(element)?;
        match modulus.divides(key.modulus()) {
            true => Ok(key),
            false => {
                let need = modulus.lcm(context.parameters().specials());
                Err(context.key_too_small(&self.describe(element), key.modulus(), need))
            }
        }
    }

    /// True if the relinearisation key exists.
    pub fn has_relinearisation(&self) -> bool {
        self.relinearisation.is_some()
    }

    /// True if the key of this Galois element exists for ciphertexts modulo `modulus`. Element 1
    /// needs no key.
    pub fn has_galois(&self, element: usize, modulus: Modulus) -> bool {
        match &self.galois {
            _ if element == 1 => true,
            Galois::Some(keys) => {
                keys.get(&element).is_some_and(|key| modulus.divides(key.modulus()))
            }
            Galois::Every(_, whole) => whole.get(element).is_some(),
        }
    }

    /// The greatest common divisor of `PQ_max` and the moduli of the keys of these Galois elements.
    ///
    /// Keys that do not exist for ciphertexts modulo `modulus` are left out. The planner uses the
    /// result for hoisted rotations ([`Context::hoist_within`], [`Context::rotation_sums`]).
    pub fn common_modulus(
        &self,
        context: &Context,
        modulus: Modulus,
        elements: impl IntoIterator<Item = usize>,
    ) -> Modulus {
        let full = context.parameters().full();
        // If every key exists, those that are not among the smaller ones are for all moduli.
        let (Galois::Some(keys) | Galois::Every(keys, _)) = &self.galois;
        let keys = elements.into_iter().filter_map(|element| keys.get(&element));
        let keys = keys.filter(|key| modulus.divides(key.modulus()));
        keys.fold(full, |common, key| common.gcd(key.modulus()))
    }

    /// The bytes of the keys in memory.
    pub fn bytes(&self) -> usize {
        let galois = match &self.galois {
            Galois::Some(keys) => keys.values().map(PreparedSwitchingKey::bytes).sum(),
            Galois::Every(..) => 0,
        };
        self.relinearisation.as_ref().map_or(0, PreparedSwitchingKey::bytes) + galois
    }

    /// A Galois element in words, for example "rotation by 8" or "conjugation".
    fn describe(&self, element: usize) -> String {
        if element == galois_element_of_conjugation(self.degree) {
            return "conjugation".into();
        }
        if let Some((_, steps)) = self.rotations().find(|(rotation, _)| *rotation == element) {
            return format!("rotation by {steps}");
        }
        format!("X -> X^{element}")
    }
}
