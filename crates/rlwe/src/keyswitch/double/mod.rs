//! The double decomposition (Kim, Lee, Seo and Song, ePrint 2023/413; MG23 2.8 and 4), on the keys
//! of any gadget: coalesced ones too, which LAKS (6) left open.
//!
//! The single decomposition takes the inner product of the digits `x_j` with the key's components
//! `b_j` modulo each factor of `P'Q`. This one cuts `PQ_max` into `omega~` groups `G_i` once more
//! and takes it over the integers, for each group with the residues `[b_j]_(G_i)`:
//!
//! `sum_j x_j b_j = sum_j x_j [b_j]_(G_i) mod G_i`, with `|sum_j x_j [b_j]_(G_i)| <= omega N (D/2)
//! (G_i/2) < E/2`,
//!
//! for all digits modulo numbers up to `D`, centred like the residues. So sums are known from what
//! they are modulo the `r` primes of a *shared basis* with product `E`, which need have nothing to
//! do with `Q`: they are of 48 bits whatever the primes of `Q` are. In these the digits and the
//! sums are transformed, `(omega + 2 omega~) r` limbs, in place of `(omega + 2)(l + k)`. Exact base
//! conversion leads from `E` to the factors of `P'Q`; what follows is a modulus switch from
//! coefficients.
//!
//! **The same result.** The digits are the same integers as in the single decomposition, and so are
//! the inner products modulo `P'Q`: results are equal to the last bit, and where there is no room
//! for the key ([`crate::Context::set_key_memory`]) the single decomposition with the same gadget
//! stands in.
//!
//! **One key.** Groups do not depend on the modulus: what is congruent modulo `G_i` is congruent
//! modulo the factors of `G_i` that `P'Q` has. Specials and the sprout come in the first groups, so
//! that smaller moduli need fewer. Where digits or the groups in use are small, so are sums, and a
//! part of the basis does.
//!
//! **Memory.** The key has `omega omega~ r` pairs of polynomials for the `dnum (l + k)` of the base
//! key; while it is made, one prime after the other (one for each thread), the coefficients of its
//! coalesced components are there too, in 8 bytes each. A key switch holds the `2 omega~ r` limbs
//! of the sums.
//!
//! **The sprout.** Its odd part and its power of two are factors of groups like others. There are
//! no products modulo powers of two here.
//!
//! **Transforms** (MG23 Table 4), for `l` limbs of `Q`: `(omega + 2 omega~) r`, and `l` for what is
//! switched and for each polynomial that is added and in the other domain than the result, where in
//! the evaluation domain the first and in coefficients the result are taken to be; `2l` for a
//! result in the evaluation domain. Factors of base conversion are in the last passes of inverse
//! transforms or in the constants of conversions; a pass is left that makes what is divided away
//! canonical, into which a factor fits at no cost.

mod key;
mod shape;
mod switch;

use std::sync::Arc;

use hippocrene_ring::{ResidueRing, convert::BaseConverter, ntt::InverseFactor, primes};

use super::{Gadget, decomposition::Digit};
use crate::{Context, Modulus, RlweError};

pub(super) use shape::DoubleShape;
pub(super) use switch::Sums;

/// The constants of the double decomposition of one gadget at one modulus.
#[derive(Debug)]
pub(crate) struct Double {
    /// The rings of all primes of the shared basis that the key has; the first `primes` are used.
    rings: Vec<Arc<ResidueRing>>,
    primes: usize,
    /// From the limbs of each digit to the primes.
    digits: Vec<BaseConverter>,
    /// For each prime `e`: `(E/e)^{-1}`.
    inverses: Vec<InverseFactor>,
    /// The groups of the key that `P'Q` shares a factor with.
    groups: Vec<KeyGroup>,
    /// For each limb of `Q`: `P'`.
    specials: Vec<InverseFactor>,
    /// All groups of the key.
    cut: Vec<Modulus>,
    /// How many components the key has for each.
    components: usize,
    /// How many coefficients are worked on together.
    range: usize,
    /// Bytes of the key.
    key_bytes: usize,
}

/// A group of factors of `PQ_max`.
#[derive(Debug)]
struct KeyGroup {
    /// Its number in the key.
    index: usize,
    /// What `P'Q` has of it.
    factors: Modulus,
    /// From `E` to the limbs of `factors`, times -1.
    converter: BaseConverter,
}

impl Double {
    /// The constants, if the gadget's method is the double decomposition; `digits` are its digits
    /// at this modulus.
    pub(super) fn new(
        context: &Context,
        modulus: Modulus,
        gadget: Gadget,
        digits: &[Digit],
    ) -> Result<Option<Self>, RlweError> {
        let parameters = context.parameters();
        let (Some(shape), super::Method::Double { groups }) =
            (parameters.double_shape(modulus, gadget), gadget.method())
        else {
            return Ok(None);
        };
        let rings = context.shared_rings(parameters.key_primes(gadget.group(), groups))?;
        let basis: Vec<u64> = rings[..shape.primes].iter().map(|ring| ring.modulus()).collect();
        let from_basis = |factors: Modulus| {
            let targets = parameters.limb_moduli(factors).into_iter().map(|q| (q, q - 1));
            BaseConverter::scaled(&basis, &targets.collect::<Vec<_>>(), context.kernel())
        };
        let used = shape.groups.iter();
        let used: Vec<KeyGroup> = used
            .map(|&(index, factors)| KeyGroup { index, factors, converter: from_basis(factors) })
            .collect();
        let inverse = |(e, ring): (usize, &Arc<ResidueRing>)| {
            ring.ntt().inverse_factor(used[0].converter.input_factor(e))
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
                        context.kernel(),
                    )
                })
                .collect(),
            inverses: rings[..shape.primes].iter().enumerate().map(inverse).collect(),
            groups: used,
            specials: context
                .rings(modulus)
                .map(|ring| ring.ntt().inverse_factor(residue(ring)))
                .collect(),
            components,
            range: key::range(context.degree(), components),
            key_bytes: key::bytes(context.degree(), &rings) * cut.len() * components,
            cut,
            rings,
        }))
    }
}

impl Double {
    /// Bytes of the key.
    pub(super) fn key_bytes(&self) -> usize {
        self.key_bytes
    }
}

impl Context {
    /// The rings of the first `count` primes of the shared basis.
    pub(super) fn shared_rings(&self, count: usize) -> Result<Vec<Arc<ResidueRing>>, RlweError> {
        let primes = primes::ntt_primes(shape::PRIME_BITS, self.degree(), count, &[])?;
        let ring = |q: u64| {
            self.shared
                .get_or_try_insert(q, || Ok(ResidueRing::prime(q, self.degree(), self.kernel())?))
        };
        primes.into_iter().map(ring).collect()
    }
}
