//! The keys of a server: relinearisation and automorphisms.

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

/// An error names so many rotations that there are keys for.
const MOST_NAMED: usize = 32;

/// Evaluation keys as they are stored and sent: from `s^2` to `s`, and for each Galois element `g`
/// from `s` to `s(X^{1/g})`.
///
/// A rotation first switches keys and then applies the automorphism, so that one key serves single
/// and hoisted rotations.
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    parameters: Fingerprint,
    key: Fingerprint,
    relinearisation: Option<SwitchingKey>,
    galois: BTreeMap<usize, SwitchingKey>,
}

impl EvaluationKeys {
    /// No keys yet, for the secret key named `key`.
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
    /// When the key does not fit or the operating system has no entropy.
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

    /// Adds the key of the automorphism `X -> X^element` for all moduli, unless it is there or the
    /// element is 1.
    ///
    /// # Errors
    /// When the element is even or the key does not fit.
    pub fn add_galois(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        element: usize,
    ) -> Result<(), RlweError> {
        self.add_galois_at(context, secret, element, context.parameters().top())
    }

    /// [`EvaluationKeys::add_galois`] for ciphertexts modulo `modulus` and its divisors: a smaller
    /// key ([`crate::Parameters::key_modulus`]). One that is there for other moduli is replaced by
    /// one for the least common multiple.
    ///
    /// # Errors
    /// As `add_galois`, and [`RlweError::Modulus`] when `modulus` is not one of ciphertexts.
    pub fn add_galois_at(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        element: usize,
        modulus: Modulus,
    ) -> Result<(), RlweError> {
        self.add_each_galois_at(context, secret, [(element, modulus)])
    }

    /// [`EvaluationKeys::add_galois_at`] for several elements, each with its modulus, shared out
    /// among the threads.
    ///
    /// # Errors
    /// As `add_galois_at`; then no key is added.
    pub fn add_each_galois_at(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        wanted: impl IntoIterator<Item = (usize, Modulus)>,
    ) -> Result<(), RlweError> {
        self.check(context, secret)?;
        let parameters = context.parameters();
        let mut moduli: BTreeMap<usize, Modulus> = BTreeMap::new();
        for (element, modulus) in wanted {
            context.check_modulus(modulus, OPERATION)?;
            let before = self.galois.get(&element).map_or(Modulus::ONE, SwitchingKey::modulus);
            let there = moduli.get(&element).copied().unwrap_or(before);
            let key_modulus = match modulus == parameters.top() {
                true => parameters.full(),
                false => {
                    parameters.key_modulus(modulus.lcm(there.gcd(parameters.top()))).lcm(there)
                }
            };
            if element != 1 && key_modulus != there {
                moduli.insert(element, key_modulus);
            }
        }
        let moduli: Vec<(usize, Modulus)> = moduli.into_iter().collect();
        let made = context.try_each(moduli.len(), |i| {
            let (element, modulus) = moduli[i];
            generate_galois(context, secret, element, modulus).map(|key| (element, key))
        });
        self.galois.extend(made?);
        Ok(())
    }

    /// Adds the keys of the rotations by `steps` slots to the left (negative: to the right), for
    /// all moduli.
    ///
    /// # Errors
    /// When a key does not fit.
    pub fn add_rotations(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        steps: impl IntoIterator<Item = i64>,
    ) -> Result<(), RlweError> {
        self.add_rotations_at(context, secret, steps, context.parameters().top())
    }

    /// [`EvaluationKeys::add_rotations`] for ciphertexts modulo `modulus` and its divisors, as
    /// [`EvaluationKeys::add_galois_at`].
    ///
    /// # Errors
    /// As `add_galois_at`.
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
    /// When the key does not fit.
    pub fn add_conjugation(
        &mut self,
        context: &Context,
        secret: &SecretKey,
    ) -> Result<(), RlweError> {
        self.add_galois(context, secret, galois_element_of_conjugation(context.degree()))
    }

    /// Puts keys together from their stored parts.
    ///
    /// # Errors
    /// [`RlweError::ParameterMismatch`] when one was made with other parameters.
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

    /// The digest of the parameters they were made with.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The fingerprint of the secret key they belong to.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The relinearisation key.
    pub fn relinearisation(&self) -> Option<&SwitchingKey> {
        self.relinearisation.as_ref()
    }

    /// The Galois keys by Galois element.
    pub fn galois(&self) -> &BTreeMap<usize, SwitchingKey> {
        &self.galois
    }

    /// Expands all keys and lays them out for computing.
    ///
    /// # Errors
    /// When they were made with other parameters, and when it is told to stop.
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

    /// [`EvaluationKeys::prepare`], giving up the memory of each key as soon as it is laid out.
    ///
    /// # Errors
    /// As `prepare`.
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

    /// Bytes of all keys as they are stored.
    ///
    /// # Errors
    /// When they were made with other parameters.
    pub fn stored_bytes(&self, context: &Context) -> Result<usize, RlweError> {
        context.check_digest(self.parameters, "add up the sizes of evaluation keys")?;
        let size =
            |key: &SwitchingKey| context.parameters().switching_key_size_at(key.modulus()).seeded;
        Ok(self.relinearisation.iter().chain(self.galois.values()).map(size).sum())
    }

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

/// The key of the automorphism `X -> X^element`, modulo `modulus`.
fn generate_galois(
    context: &Context,
    secret: &SecretKey,
    element: usize,
    modulus: Modulus,
) -> Result<SwitchingKey, RlweError> {
    // Encrypted under s(X^{1/g}), so that the automorphism X -> X^g afterwards brings it back to s.
    let inverse =
        inv_mod(element as u64, 2 * context.degree() as u64).map_or(element, |g| g as usize);
    let automorphism = context.automorphism(inverse)?;
    if element >= 2 * context.degree() {
        // Names the element: it fails as the inverse would not.
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
    Some(BTreeMap<usize, PreparedSwitchingKey>),
    /// All keys, in a dry run: those for smaller moduli, and for everything else one for all
    /// moduli.
    Every(BTreeMap<usize, PreparedSwitchingKey>, Arc<Whole>),
}

/// Keys for all moduli, without residues: that of each odd element `g`, at `(g - 1)/2`, made when
/// it is first asked for.
#[derive(Debug)]
struct Whole {
    one: PreparedSwitchingKey,
    named: Box<[OnceLock<Box<PreparedSwitchingKey>>]>,
}

impl Whole {
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
    /// All possible keys in a dry run, without residues, for the secret key named `key`. The tally
    /// records which of them are used ([`crate::Tally::keys`]).
    ///
    /// # Errors
    /// [`RlweError::Parameters`] when the context is not one of a dry run.
    pub fn every(context: &Context, key: Fingerprint) -> Result<Self, RlweError> {
        Self::every_beside(context, &EvaluationKeys::empty(context, key))
    }

    /// [`PreparedEvaluationKeys::every`], where the Galois keys of `keys` are used at the moduli
    /// that they are for.
    ///
    /// # Errors
    /// As `every`, and when `keys` were made with other parameters.
    pub fn every_beside(context: &Context, keys: &EvaluationKeys) -> Result<Self, RlweError> {
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
        let whole = Whole { one, named: (0..degree).map(|_| OnceLock::new()).collect() };
        let galois = Galois::Every(small, Arc::new(whole));
        Ok(PreparedEvaluationKeys { key: keys.key, relinearisation, galois, degree })
    }

    /// The same keys without residues, in a dry run.
    ///
    /// # Errors
    /// [`RlweError::Parameters`] when the context is not one of a dry run.
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

    /// The fingerprint of the secret key they belong to.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Checks that they are keys of the secret `of`, an operand's.
    ///
    /// # Errors
    /// [`RlweError::KeyMismatch`] when they are not.
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
    /// [`RlweError::MissingRelinearisationKey`] when it is not there.
    pub fn relinearisation(
        &self,
        operation: &'static str,
    ) -> Result<&PreparedSwitchingKey, RlweError> {
        self.relinearisation.as_ref().ok_or(RlweError::MissingRelinearisationKey { operation })
    }

    /// The key of the automorphism `X -> X^element`; of all keys of a dry run, the one for
    /// all moduli.
    ///
    /// # Errors
    /// [`RlweError::MissingGaloisKey`] when it is not there; it names the rotations that are.
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

    /// The Galois keys in words: "rotations by -1, 1, 2 and conjugation".
    fn held(&self) -> String {
        let Galois::Some(keys) = &self.galois else { return "those of all odd elements".into() };
        let mut rotations: Vec<i64> = self
            .rotations()
            .filter(|(element, _)| keys.contains_key(element))
            .map(|(_, steps)| steps)
            .collect();
        rotations.sort_unstable();
        let others = rotations.len().saturating_sub(MOST_NAMED);
        let named: Vec<String> = rotations.iter().take(MOST_NAMED).map(i64::to_string).collect();
        let more = if others > 0 { format!(" and {others} others") } else { String::new() };
        let rotations =
            (!named.is_empty()).then(|| format!("rotations by {}{more}", named.join(", ")));
        let mut parts: Vec<String> = rotations.into_iter().collect();
        if keys.contains_key(&galois_element_of_conjugation(self.degree)) {
            parts.push("conjugation".into());
        }
        if parts.is_empty() { "none".into() } else { parts.join(" and ") }
    }

    /// The Galois elements of all rotations, and by how many slots to the left: more than half of
    /// all slots are so many less to the right.
    fn rotations(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        let slots = self.degree as i64 / 2;
        let next = |element: &usize| Some(element * 5 % (2 * self.degree));
        let steps =
            (0..slots).map(move |steps| if steps > slots / 2 { steps - slots } else { steps });
        std::iter::successors(Some(1), next).zip(steps)
    }

    /// [`PreparedEvaluationKeys::galois`] of a key for ciphertexts modulo `modulus`.
    ///
    /// # Errors
    /// As `galois`, and [`RlweError::KeyModulus`] when the key is for smaller moduli.
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

    /// Whether the key of this Galois element is there, for ciphertexts modulo `modulus` (none is
    /// needed for 1).
    pub fn has_galois(&self, element: usize, modulus: Modulus) -> bool {
        match &self.galois {
            _ if element == 1 => true,
            Galois::Some(keys) => {
                keys.get(&element).is_some_and(|key| modulus.divides(key.modulus()))
            }
            Galois::Every(_, whole) => whole.get(element).is_some(),
        }
    }

    /// The greatest common divisor of the moduli of the keys of these Galois elements, as far as
    /// they are there for ciphertexts modulo `modulus`, and `PQ_max`: what hoisted rotations are
    /// planned for ([`Context::hoist_within`], [`Context::rotation_sums`]).
    pub fn common_modulus(
        &self,
        context: &Context,
        modulus: Modulus,
        elements: impl IntoIterator<Item = usize>,
    ) -> Modulus {
        let full = context.parameters().full();
        // Where there is every key, those that are not among the small ones are for all moduli.
        let (Galois::Some(keys) | Galois::Every(keys, _)) = &self.galois;
        let keys = elements.into_iter().filter_map(|element| keys.get(&element));
        let keys = keys.filter(|key| modulus.divides(key.modulus()));
        keys.fold(full, |common, key| common.gcd(key.modulus()))
    }

    /// Bytes of memory they take.
    pub fn bytes(&self) -> usize {
        let galois = match &self.galois {
            Galois::Some(keys) => keys.values().map(PreparedSwitchingKey::bytes).sum(),
            Galois::Every(..) => 0,
        };
        self.relinearisation.as_ref().map_or(0, PreparedSwitchingKey::bytes) + galois
    }

    /// A Galois element in words: "rotation by 8", "conjugation".
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
