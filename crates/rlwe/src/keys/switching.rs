//! Switching keys, which lead from any secret to another by digits (HK20).

use hippocrene_ring::{
    Domain, Poly, ResidueRing,
    elementwise::KeyLimb,
    sample::{Sampler, Seed},
};
use zeroize::{Zeroize, Zeroizing};

use super::secret::{error_seed, expand_uniform_limb, subtract_product};
use crate::{
    Context, Fingerprint, KeyUse, Modulus, RlweError,
    keyswitch::{components::Components, key_store::Identity},
};

/// A switching key from `s'` to `s`.
///
/// For each digit `d` of the gadget it has a pair `(b_d, a_d)` modulo `M`. It satisfies
/// `b_d = -a_d s + e_d + P g_d s'`, where `g_d` is 1 modulo block `d` of `Q_max` and 0 modulo the
/// others ([`crate::Parameters::digits`]). The `a_d` are stored as a seed, which halves the size.
///
/// `M` is `PQ_max`, or a divisor of it for a key that is only used at smaller moduli
/// ([`crate::Parameters::key_modulus`]). The pairs are those modulo `PQ_max`, reduced modulo `M`.
/// The pairs of blocks without a factor in `M` would encrypt 0 and are left out. The key serves a
/// modulus `Q` and a gadget if `P'Q` divides `M`.
///
/// See [`EvaluationKeys`](crate::EvaluationKeys) for an example.
#[derive(Debug, Clone)]
pub struct SwitchingKey {
    parameters: Fingerprint,
    modulus: Modulus,
    seed: Seed,
    b: Vec<Poly>,
}

const LOAD: &str = "load a switching key";

impl SwitchingKey {
    /// Generates the key modulo `modulus` from the secret `from` to the secret `to`. Both are
    /// polynomials modulo `PQ_max` in the evaluation domain.
    pub(crate) fn generate(
        context: &Context,
        from: &Poly,
        to: &Poly,
        modulus: Modulus,
    ) -> Result<Self, RlweError> {
        crate::stop::check("generate a switching key")?;
        let parameters = context.parameters();
        let full = parameters.full();
        let seed = Seed::random()?;
        let errors = error_seed()?;
        let mut error = Zeroizing::new(vec![0i64; context.degree()]);
        context.touch_scratch(&[1, 2]);
        let b = parameters
            .digits(modulus)
            .map(|(d, block)| {
                if !context.is_dry_run() {
                    Sampler::new(&errors, d as u64).gaussian(&mut error);
                }
                let mut b = context.zero(modulus, Domain::Evaluation);
                b.for_each_limb(context.threads(), |k, b| {
                    let position = modulus.factors().nth(k).expect("a limb of this modulus");
                    let ring = context.ring_at(modulus, position);
                    let mut scratch = context.scratch_limbs(1, Domain::Evaluation);
                    let spare = scratch.limb_mut(0);
                    ring.from_signed(b, &error);
                    context.forward(ring, b);
                    expand_uniform_limb(context, &seed, d as u32, modulus, position, spare);
                    subtract_product(context, b, spare, to, modulus, position);
                    if block.contains(position) {
                        let p =
                            ring.scalar(parameters.residue(parameters.specials(), ring.modulus()));
                        let from = context.reduced_limb(from, full, modulus, position, spare);
                        ring.mul_scalar_add_assign(b, from, &p);
                        // The spare limb may hold the secret modulo this limb's modulus.
                        scratch.as_mut_slice().zeroize();
                    }
                });
                b
            })
            .collect();
        Ok(SwitchingKey { parameters: parameters.digest(), modulus, seed, b })
    }

    /// Builds a key from its stored parts: its modulus, the seed of the `a_d`, and the `b_d` in the
    /// evaluation domain.
    ///
    /// # Errors
    /// Returns [`RlweError::Parts`] or [`RlweError::Modulus`] if the `b_d` are not those of the
    /// gadget, or if keys cannot have this modulus.
    pub fn from_parts(
        context: &Context,
        modulus: Modulus,
        seed: Seed,
        b: Vec<Poly>,
    ) -> Result<Self, RlweError> {
        let parameters = context.parameters();
        parameters.check_key_modulus(modulus)?;
        let need = parameters.digits(modulus).count();
        if b.len() != need {
            return Err(RlweError::Parts { operation: LOAD, have: b.len(), need });
        }
        let limbs = modulus.limb_count();
        let fits = |p: &Poly| {
            (p.limb_count(), p.degree(), p.domain())
                == (limbs, context.degree(), Domain::Evaluation)
        };
        match b.iter().find(|p| !fits(p)) {
            Some(p) => Err(RlweError::Modulus {
                operation: LOAD,
                have: p.limb_count(),
                need: "one limb of the ring degree for every position is needed, in the evaluation \
                                       domain",
            }),
            None => Ok(SwitchingKey { parameters: parameters.digest(), modulus, seed, b }),
        }
    }

    /// The digest of the key's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The modulus of the key: `PQ_max` or a divisor of it.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The seed of the `a_d`. That of block `d` is the uniform polynomial of stream `d`
    /// ([`super::super::expand_uniform`]).
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The `b_d` in the evaluation domain, for the blocks that have a factor in the modulus.
    pub fn b(&self) -> &[Poly] {
        &self.b
    }

    /// Expands the seed and arranges the key for the inner product. `context` must have the key's
    /// parameters.
    pub(crate) fn prepare(&self, context: &Context) -> PreparedSwitchingKey {
        if context.is_dry_run() {
            return PreparedSwitchingKey::without_residues(context, self.modulus);
        }
        let (parameters, modulus) = (context.parameters(), self.modulus);
        let blocks: Vec<usize> = parameters.digits(modulus).map(|(d, _)| d).collect();
        let positions: Vec<usize> = modulus.factors().collect();
        let rings: Vec<&ResidueRing> = context.rings(modulus).collect();
        let limbs = KeyLimb::prepare(
            &rings,
            blocks.len(),
            context.degree(),
            context.threads(),
            |k, put| {
                let mut a = context.scratch_limbs(1, Domain::Evaluation);
                for (i, (d, b)) in blocks.iter().zip(&self.b).enumerate() {
                    expand_uniform_limb(
                        context,
                        &self.seed,
                        *d as u32,
                        modulus,
                        positions[k],
                        a.limb_mut(0),
                    );
                    put(i, b.limb(k), a.limb(0));
                }
            },
        );
        debug_assert!(self.b.iter().all(|b| b.domain() == Domain::Evaluation));
        PreparedSwitchingKey { limbs, ..PreparedSwitchingKey::without_residues(context, modulus) }
    }
}

/// A switching key in memory, arranged for the inner product: for each position of its modulus, the
/// residues of all digits.
///
/// See [`EvaluationKeys`](crate::EvaluationKeys) for an example.
#[derive(Debug, Clone)]
pub struct PreparedSwitchingKey {
    limbs: Vec<KeyLimb>,
    modulus: Modulus,
    /// The blocks for which the key has pairs.
    components: Components,
    parameters: Fingerprint,
    identity: Identity,
    /// The use of the key that a dry run records.
    name: Option<KeyUse>,
}

impl PreparedSwitchingKey {
    /// A key modulo `modulus` without residues.
    pub(crate) fn without_residues(context: &Context, modulus: Modulus) -> Self {
        let parameters = context.parameters();
        PreparedSwitchingKey {
            limbs: Vec::new(),
            modulus,
            components: parameters.key_components(modulus),
            parameters: parameters.digest(),
            identity: Identity::default(),
            name: None,
        }
    }

    /// The same key without residues, in the dry run of `context`.
    ///
    /// # Errors
    /// Returns [`RlweError::Parameters`] if the context is not in a dry run.
    pub(crate) fn in_dry_run(&self, context: &Context) -> Result<Self, RlweError> {
        if !context.is_dry_run() {
            let what = "only a dry run has keys without residues".into();
            return Err(RlweError::Parameters { what });
        }
        Ok(Self::without_residues(context, self.modulus))
    }

    /// Returns the same key with its use.
    pub(crate) fn named(self, name: KeyUse) -> Self {
        PreparedSwitchingKey { name: Some(name), ..self }
    }

    /// The use of the key, if it is known.
    pub(crate) fn name(&self) -> Option<KeyUse> {
        self.name
    }

    /// The residues at a position of the key's modulus.
    pub(crate) fn limb(&self, position: usize) -> &KeyLimb {
        &self.limbs[self.modulus.limb_of(position)]
    }

    /// The modulus of the key ([`SwitchingKey::modulus`]).
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The blocks for which the key has components.
    pub(crate) fn components(&self) -> Components {
        self.components
    }

    /// The digest of the key's parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.parameters
    }

    /// The identity of the key, which its clones share.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The bytes of the key in memory.
    pub fn bytes(&self) -> usize {
        self.limbs.iter().map(KeyLimb::bytes).sum()
    }
}

impl Context {
    /// The bytes of a switching key modulo `PQ_max` in memory.
    pub fn prepared_key_bytes(&self) -> usize {
        self.prepared_key_bytes_at(self.parameters().full())
    }

    /// The bytes of a switching key modulo `modulus` ([`SwitchingKey::modulus`]) in memory.
    pub fn prepared_key_bytes_at(&self, modulus: Modulus) -> usize {
        let digit: usize = self.rings(modulus).map(|ring| ring.key_bytes(self.degree())).sum();
        self.parameters().digits(modulus).count() * digit
    }
}
