//! The constants of the double decomposition.

use std::sync::Arc;

use hippocrene_ring::{ResidueRing, convert::BaseConverter, ntt::InverseFactor, primes};

use super::shape;
use crate::{
    Modulus, RlweError,
    keyswitch::{
        digit::Digit,
        gadget::{Gadget, Method},
    },
    rings::Rings,
};

/// The bytes of the second-level cache for the digits of a range. The rest is for the accumulators
/// and for the key, which is read only once.
const RANGE_BYTES: usize = 1 << 19;

/// The constants of the double decomposition of one gadget at one modulus.
#[derive(Debug)]
pub(crate) struct Double {
    /// The rings of all primes of the shared basis that the key has.
    pub(super) rings: Vec<Arc<ResidueRing>>,
    /// The number of these primes that are used at this modulus.
    pub(super) primes: usize,
    /// For each digit: converts from its limbs to the primes.
    pub(super) digits: Vec<BaseConverter>,
    /// For each prime `e`: `(E/e)^{-1}`.
    pub(super) inverses: Vec<InverseFactor>,
    /// The groups of the key that `P'Q` shares a factor with.
    pub(super) groups: Vec<KeyGroup>,
    /// For each limb of `Q`: `P'`.
    pub(super) specials: Vec<InverseFactor>,
    /// All groups of the key.
    pub(super) cut: Vec<Modulus>,
    /// The number of components that the key has for each group.
    pub(super) components: usize,
    /// The number of coefficients that are processed together.
    pub(super) range: usize,
    /// The bytes of the key.
    pub(super) key_bytes: usize,
}

/// A group of factors of `PQ_max`.
#[derive(Debug)]
pub(super) struct KeyGroup {
    /// The index of the group in the key.
    pub(super) index: usize,
    /// The factors of the group that `P'Q` has.
    pub(super) factors: Modulus,
    /// Converts from `E` to the limbs of `factors`, times -1.
    pub(super) converter: BaseConverter,
}

impl Double {
    /// Computes the constants, or returns `None` if the method of the gadget is not the double
    /// decomposition. `digits` are the digits of the gadget at this modulus.
    pub(in crate::keyswitch) fn new(
        rings: &Rings,
        modulus: Modulus,
        gadget: Gadget,
        digits: &[Digit],
    ) -> Result<Option<Self>, RlweError> {
        let parameters = rings.parameters();
        let (Some(shape), Method::Double { groups }) =
            (parameters.double_shape(modulus, gadget), gadget.method())
        else {
            return Ok(None);
        };
        let shared = rings.shared(parameters.key_primes(gadget.group(), groups))?;
        let basis: Vec<u64> = shared[..shape.primes].iter().map(|ring| ring.modulus()).collect();
        let from_basis = |factors: Modulus| {
            let targets = parameters.limb_moduli(factors).into_iter().map(|q| (q, q - 1));
            BaseConverter::scaled(&basis, &targets.collect::<Vec<_>>(), rings.kernel())
        };
        let used = shape.groups.iter();
        let used: Vec<KeyGroup> = used
            .map(|&(index, factors)| KeyGroup { index, factors, converter: from_basis(factors) })
            .collect();
        let inverse = |(e, ring): (usize, &Arc<ResidueRing>)| {
            ring.inverse_factor(used[0].converter.input_factor(e))
        };
        let cut = parameters.key_groups(groups);
        let components = parameters.groups(gadget.group()).count();
        let residue = |ring: &ResidueRing| parameters.residue(gadget.specials(), ring.modulus());
        Ok(Some(Double {
            primes: shape.primes,
            digits: digits
                .iter()
                .map(|digit| {
                    BaseConverter::new(
                        &parameters.limb_moduli(digit.factors),
                        &basis,
                        rings.kernel(),
                    )
                })
                .collect(),
            inverses: shared[..shape.primes].iter().enumerate().map(inverse).collect(),
            groups: used,
            specials: rings.of(modulus).map(|ring| ring.inverse_factor(residue(ring))).collect(),
            components,
            range: range(rings.degree(), components),
            key_bytes: component_bytes(rings.degree(), &shared) * cut.len() * components,
            cut,
            rings: shared,
        }))
    }
}

impl Double {
    /// The bytes of the key.
    pub(in crate::keyswitch) fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl Rings {
    /// The rings of the first `count` primes of the shared basis.
    pub(in crate::keyswitch) fn shared(
        &self,
        count: usize,
    ) -> Result<Vec<Arc<ResidueRing>>, RlweError> {
        let primes = primes::ntt_primes(shape::PRIME_BITS, self.degree(), count, &[])?;
        primes.into_iter().map(|q| self.auxiliary(q)).collect()
    }
}

/// Returns the number of coefficients that are processed together for a key with `components`
/// components.
///
/// It is a power of two. The coefficients of all digits stay in the second-level cache while the
/// groups of the key are read.
fn range(degree: usize, components: usize) -> usize {
    let max_coefficients = RANGE_BYTES / (8 * components.max(1));
    let power = 1 << max_coefficients.max(1).ilog2();
    power.clamp(64.min(degree), degree)
}

/// The bytes of one component in one group.
fn component_bytes(degree: usize, rings: &[Arc<ResidueRing>]) -> usize {
    rings.iter().map(|ring| ring.key_bytes(degree)).sum()
}
