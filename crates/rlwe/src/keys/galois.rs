//! The keys of a server: relinearisation and automorphisms.

use std::collections::BTreeMap;

use hippocrene_ring::{
    Domain,
    arith::inv_mod,
    automorphism::{galois_element_of_conjugation, galois_element_of_rotation},
};
use zeroize::Zeroize;

use super::{PreparedSwitchingKey, SecretKey, SwitchingKey};
use crate::{Context, Fingerprint, RlweError};

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
            relinearisation: self.relinearisation.as_ref().map(|k| k.prepare(context)),
            galois: self.galois.iter().map(|(element, k)| (*element, k.prepare(context))).collect(),
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
            relinearisation: self.relinearisation.map(|k| k.prepare(context)),
            galois: self.galois.into_iter().map(|(element, k)| (element, k.prepare(context))).collect(),
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
    galois: BTreeMap<usize, PreparedSwitchingKey>,
    degree: usize,
}

impl PreparedEvaluationKeys {
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
        self.galois.get(&element).ok_or_else(|| RlweError::MissingGaloisKey {
            operation: self.describe(element),
            held: match self.galois.len() {
                0 => "none".into(),
                _ => self.galois.keys().map(|g| self.describe(*g)).collect::<Vec<_>>().join(", "),
            },
        })
    }

    /// Whether the key of this Galois element is there (none is needed for 1).
    pub fn has_galois(&self, element: usize) -> bool {
        element == 1 || self.galois.contains_key(&element)
    }

    /// Bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.relinearisation.iter().chain(self.galois.values()).map(PreparedSwitchingKey::bytes).sum()
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
