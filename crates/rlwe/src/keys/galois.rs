//! The keys of a server: relinearisation and automorphisms.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use hippocrene_ring::{
    Domain,
    arith::inv_mod,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
};
use zeroize::Zeroize;

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, KeyUse, RlweError};

/// Evaluation keys as they are stored and sent: from `s^2` to `s`, and for each Galois element `g` from `s` to `s(X^{1/g})`.
///
/// A rotation first switches keys and then applies the automorphism, so that one key serves single and hoisted rotations.
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

    /// Adds the relinearisation key, from `s^2` to `s`.
    ///
    /// # Errors
    /// When the key does not fit or the operating system has no entropy.
    pub fn add_relinearisation(&mut self, context: &Context, secret: &SecretKey) -> Result<(), RlweError> {
        self.check(context, secret)?;
        let full = context.parameters().full();
        let mut square = context.zero(full, Domain::Evaluation);
        square.for_each_limb(context.threads(), |k, out| {
            let s = secret.poly().limb(k);
            context.limb_ring(full, k).elementwise().mul(out, s, s);
        });
        let key = SwitchingKey::generate(context, &square, secret.poly());
        square.as_mut_slice().zeroize();
        self.relinearisation = Some(key?);
        Ok(())
    }

    /// Adds the key of the automorphism `X -> X^element`, unless it is there or the element is 1.
    ///
    /// # Errors
    /// When the element is even or the key does not fit.
    pub fn add_galois(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        element: usize,
    ) -> Result<(), RlweError> {
        self.check(context, secret)?;
        if element == 1 || self.galois.contains_key(&element) {
            return Ok(());
        }
        // Encrypted under s(X^{1/g}), so that the automorphism X -> X^g afterwards brings it back to s.
        let full = context.parameters().full();
        let inverse = inv_mod(element as u64, 2 * context.degree() as u64).map_or(element, |g| g as usize);
        let automorphism = context.automorphism(inverse)?;
        if element >= 2 * context.degree() {
            // Names the element: it fails as the inverse would not.
            context.automorphism(element)?;
        }
        let mut target = context.zero(full, Domain::Evaluation);
        target.for_each_limb(context.threads(), |k, out| {
            let s = secret.poly().limb(k);
            context.limb_ring(full, k).apply_automorphism(&automorphism, Domain::Evaluation, out, s);
        });
        let key = SwitchingKey::generate(context, secret.poly(), &target);
        target.as_mut_slice().zeroize();
        self.galois.insert(element, key?);
        Ok(())
    }

    /// Adds the keys of the rotations by `steps` slots to the left (negative: to the right).
    ///
    /// # Errors
    /// When a key does not fit.
    pub fn add_rotations(
        &mut self,
        context: &Context,
        secret: &SecretKey,
        steps: impl IntoIterator<Item = i64>,
    ) -> Result<(), RlweError> {
        steps.into_iter().try_for_each(|k| {
            self.add_galois(context, secret, galois_element_of_rotation(context.degree(), k))
        })
    }

    /// Adds the key of complex conjugation.
    ///
    /// # Errors
    /// When the key does not fit.
    pub fn add_conjugation(&mut self, context: &Context, secret: &SecretKey) -> Result<(), RlweError> {
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
        Ok(EvaluationKeys { parameters: context.parameters().digest(), key, relinearisation, galois })
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
    /// When they were made with other parameters.
    pub fn prepare(&self, context: &Context) -> Result<PreparedEvaluationKeys, RlweError> {
        context.check_digest(self.parameters, "prepare evaluation keys")?;
        Ok(PreparedEvaluationKeys {
            key: self.key,
            relinearisation: self.relinearisation.as_ref().map(|k| relinearisation(k.prepare(context))),
            galois: Galois::Some(
                self.galois.iter().map(|(g, k)| (*g, galois(*g, k.prepare(context)))).collect(),
            ),
            degree: context.degree(),
        })
    }

    /// [`EvaluationKeys::prepare`], giving up the memory of each key as soon as it is laid out.
    ///
    /// # Errors
    /// As `prepare`.
    pub fn into_prepared(self, context: &Context) -> Result<PreparedEvaluationKeys, RlweError> {
        context.check_digest(self.parameters, "prepare evaluation keys")?;
        Ok(PreparedEvaluationKeys {
            key: self.key,
            relinearisation: self.relinearisation.map(|k| relinearisation(k.prepare(context))),
            galois: Galois::Some(
                self.galois.into_iter().map(|(g, k)| (g, galois(g, k.prepare(context)))).collect(),
            ),
            degree: context.degree(),
        })
    }

    fn check(&self, context: &Context, secret: &SecretKey) -> Result<(), RlweError> {
        const OPERATION: &str = "make evaluation keys";
        context.check_digest(self.parameters, OPERATION)?;
        context.check_digest(secret.parameters(), OPERATION)?;
        if secret.fingerprint() == self.key {
            Ok(())
        } else {
            Err(RlweError::KeyMismatch { operation: OPERATION, have: secret.fingerprint(), need: self.key })
        }
    }
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
    /// That of each odd element `g`, at `(g - 1)/2`, made when it is first asked for, like the one that is given; there are no residues.
    Every(PreparedSwitchingKey, Arc<[OnceLock<PreparedSwitchingKey>]>),
}

fn relinearisation(key: PreparedSwitchingKey) -> PreparedSwitchingKey {
    key.named(KeyUse::Relinearisation)
}

fn galois(element: usize, key: PreparedSwitchingKey) -> PreparedSwitchingKey {
    key.named(KeyUse::Galois(element))
}

impl PreparedEvaluationKeys {
    /// All keys that there can be of a hollow context, without residues, for the secret key named `key`. Which of them are used is noted
    /// ([`crate::Tally::keys`]).
    ///
    /// # Errors
    /// [`RlweError::Parameters`] when the context is not hollow.
    pub fn every(context: &Context, key: Fingerprint) -> Result<Self, RlweError> {
        if !context.is_hollow() {
            return Err(RlweError::Parameters { what: "only what is hollow has every key".into() });
        }
        let (one, degree) = (PreparedSwitchingKey::hollow(context), context.degree());
        let every = (0..degree).map(|_| OnceLock::new()).collect();
        let relinearisation = Some(relinearisation(one.clone()));
        Ok(PreparedEvaluationKeys { key, relinearisation, galois: Galois::Every(one, every), degree })
    }

    /// The fingerprint of the secret key they belong to.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// [`RlweError::MissingRelinearisationKey`] when it is not there.
    pub fn relinearisation(&self, operation: &'static str) -> Result<&PreparedSwitchingKey, RlweError> {
        self.relinearisation.as_ref().ok_or(RlweError::MissingRelinearisationKey { operation })
    }

    /// The key of the automorphism `X -> X^element`.
    ///
    /// # Errors
    /// [`RlweError::MissingGaloisKey`] when it is not there; it names the rotations that are.
    pub fn galois(&self, element: usize) -> Result<&PreparedSwitchingKey, RlweError> {
        let key = match &self.galois {
            Galois::Some(keys) => keys.get(&element),
            Galois::Every(one, every) => {
                let key = if element % 2 == 1 && element > 1 { every.get(element / 2) } else { None };
                key.map(|key| key.get_or_init(|| galois(element, one.clone())))
            }
        };
        key.ok_or_else(|| RlweError::MissingGaloisKey {
            operation: self.describe(element),
            held: self.held(),
        })
    }

    /// The Galois keys in words.
    fn held(&self) -> String {
        match &self.galois {
            Galois::Some(keys) if keys.is_empty() => "none".into(),
            Galois::Some(keys) => keys.keys().map(|g| self.describe(*g)).collect::<Vec<_>>().join(", "),
            Galois::Every(..) => "those of all odd elements".into(),
        }
    }

    /// Whether the key of this Galois element is there (none is needed for 1).
    pub fn has_galois(&self, element: usize) -> bool {
        match &self.galois {
            _ if element == 1 => true,
            Galois::Some(keys) => keys.contains_key(&element),
            Galois::Every(_, every) => element % 2 == 1 && element / 2 < every.len(),
        }
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
        let mut power = 1;
        for steps in 0..self.degree / 2 {
            if power == element {
                return format!("rotation by {steps}");
            }
            power = power * 5 % (2 * self.degree);
        }
        format!("X -> X^{element}")
    }
}
