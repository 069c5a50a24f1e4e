//! Switching keys: from any secret to another, by digits (HK20).

use hippocrene_ring::{Domain, Poly, elementwise::KeyLimb, sample::Seed};

use super::secret::{error_seed, expand_uniform, rlwe_sample};
use crate::{Context, Fingerprint, KeyUse, Modulus, RlweError, keyswitch::expanded::Identity};

/// A switching key from `s'` to `s`: for each digit `d` of the gadget the pair `(b_d, a_d)` modulo `PQ_max`, with
/// `b_d = -a_d s + e_d + P g_d s'`, where `g_d` is 1 modulo block `d` of `Q_max` and 0 modulo the others
/// ([`crate::Parameters::digits`]). The `a_d` are kept as a seed:
/// half of the size.
#[derive(Debug, Clone)]
pub struct SwitchingKey {
    parameters: Fingerprint,
    seed: Seed,
    b: Vec<Poly>,
}

impl SwitchingKey {
    /// The key from the secret `from` to the secret `to`, polynomials modulo `PQ_max` in the evaluation domain.
    pub(crate) fn generate(context: &Context, from: &Poly, to: &Poly) -> Result<Self, RlweError> {
        let parameters = context.parameters();
        let full = parameters.full();
        let seed = Seed::random()?;
        let errors = error_seed()?;
        let b = parameters
            .digits(parameters.top())
            .map(|(d, block)| {
                let a = expand_uniform(context, &seed, d as u32, full);
                let mut b = rlwe_sample(context, to, &a, full, &errors, d as u64);
                for position in block.factors() {
                    let (ring, k) = (context.ring_at(full, position), full.limb_of(position));
                    let p = parameters.residue(parameters.specials(), ring.modulus());
                    ring.elementwise().mul_scalar_add_assign(b.limb_mut(k), from.limb(k), &ring.scalar(p));
                }
                b
            })
            .collect();
        Ok(SwitchingKey { parameters: parameters.digest(), seed, b })
    }

    /// Puts a key together from its stored parts: the seed of the `a_d`, and the `b_d` modulo `PQ_max` in the evaluation domain.
    ///
    /// # Errors
    /// [`RlweError::Parts`] or [`RlweError::Modulus`] when they are not as many as the gadget asks for.
    pub fn from_parts(context: &Context, seed: Seed, b: Vec<Poly>) -> Result<Self, RlweError> {
        let parameters = context.parameters();
        let need = parameters.digits(parameters.top()).count();
        if b.len() != need {
            return Err(RlweError::Parts { operation: "load a switching key", have: b.len(), need });
        }
        let limbs = parameters.full().limb_count();
        let fits = |p: &Poly| {
            (p.limb_count(), p.degree(), p.domain()) == (limbs, context.degree(), Domain::Evaluation)
        };
        match b.iter().find(|p| !fits(p)) {
            Some(p) => Err(RlweError::Modulus {
                operation: "load a switching key",
                have: p.limb_count(),
                need: "one limb for every position is needed, of the ring degree, in the evaluation domain",
            }),
            None => Ok(SwitchingKey { parameters: parameters.digest(), seed, b }),
        }
    }

    /// The digest of the parameters it was made with.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The seed of the `a_d`: digit `d` is the uniform polynomial of stream `d` ([`super::super::expand_uniform`]).
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `b_d` modulo `PQ_max`, in the evaluation domain.
    pub fn b(&self) -> &[Poly] {
        &self.b
    }

    /// Expands the seed and lays the key out for the inner product; the parameters are those it was made with.
    pub(crate) fn prepare(&self, context: &Context) -> PreparedSwitchingKey {
        if context.is_hollow() {
            return PreparedSwitchingKey::hollow(context);
        }
        let full = context.parameters().full();
        let a: Vec<Poly> =
            (0..self.b.len()).map(|d| expand_uniform(context, &self.seed, d as u32, full)).collect();
        let mut limbs: Vec<KeyLimb> = context
            .rings(full)
            .enumerate()
            .map(|(i, ring)| {
                let pairs: Vec<(&[u64], &[u64])> =
                    self.b.iter().zip(&a).map(|(b, a)| (b.limb(i), a.limb(i))).collect();
                ring.elementwise().prepare_key(&pairs)
            })
            .collect();
        KeyLimb::gather(&mut limbs);
        debug_assert!(self.b.iter().all(|b| b.domain() == Domain::Evaluation));
        let parameters = context.parameters().digest();
        let (identity, name) = (Identity::default(), None);
        PreparedSwitchingKey { limbs, modulus: full, parameters, identity, name }
    }
}

/// A switching key in memory, laid out for the inner product: for each position of `PQ_max` the residues of all digits.
#[derive(Debug, Clone)]
pub struct PreparedSwitchingKey {
    limbs: Vec<KeyLimb>,
    /// `PQ_max`.
    modulus: Modulus,
    parameters: Fingerprint,
    identity: Identity,
    /// What a hollow context notes it by.
    name: Option<KeyUse>,
}

impl PreparedSwitchingKey {
    /// A key without residues.
    pub(crate) fn hollow(context: &Context) -> Self {
        let parameters = context.parameters();
        PreparedSwitchingKey {
            limbs: Vec::new(),
            modulus: parameters.full(),
            parameters: parameters.digest(),
            identity: Identity::default(),
            name: None,
        }
    }

    /// The key, with what it is for.
    pub(crate) fn named(self, name: KeyUse) -> Self {
        PreparedSwitchingKey { name: Some(name), ..self }
    }

    /// What it is for, if that is known.
    pub(crate) fn name(&self) -> Option<KeyUse> {
        self.name
    }

    /// The residues at a position of `PQ_max`.
    pub(crate) fn limb(&self, position: usize) -> &KeyLimb {
        &self.limbs[self.modulus.limb_of(position)]
    }

    /// The digest of the parameters it was made with.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// What tells it from other keys; its clones have the same.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.limbs.iter().map(KeyLimb::bytes).sum()
    }
}
