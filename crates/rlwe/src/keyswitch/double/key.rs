//! Keys decomposed a second time.

use std::sync::Arc;

use hippocrene_ring::{Domain, Poly, convert::BaseConverter, elementwise::KeyLimb};

use super::Double;
use crate::{
    Context, Modulus, PreparedSwitchingKey,
    keyswitch::{decomposition::Decomposition, key_store::ExpandedKey},
};

impl Context {
    /// Returns `key`, which is modulo `PQ_max`, in the form that the double decomposition of `plan`
    /// needs, if there is memory for it.
    pub(super) fn double_key(
        &self,
        key: &PreparedSwitchingKey,
        plan: &Decomposition,
        double: &Double,
    ) -> Option<Arc<ExpandedKey>> {
        let components = key.components();
        let make =
            || ExpandedKey { limbs: decompose(self, key, plan.gadget.group(), double), components };
        self.stored_key(key, plan.gadget, double.key_bytes, make)
    }
}

/// Decomposes the coalesced components of `key` modulo each group of factors of `PQ_max`.
///
/// The results are polynomials modulo the primes of the shared basis, cut into ranges of
/// coefficients. Each limb of the result holds one prime and one range. In it, component `j` for
/// group `i` is digit `i omega + j`. So a key switch reads limbs in the order in which they are
/// stored.
fn decompose(
    context: &Context,
    key: &PreparedSwitchingKey,
    group: usize,
    double: &Double,
) -> Vec<KeyLimb> {
    let (parameters, rings) = (context.parameters(), &double.rings);
    let full = parameters.full();
    let primes: Vec<u64> = rings.iter().map(|ring| ring.modulus()).collect();
    let converter = |group: Modulus| {
        BaseConverter::new(&parameters.limb_moduli(group), &primes, context.kernel())
    };
    let groups: Vec<(Modulus, BaseConverter)> =
        double.cut.iter().map(|group| (*group, converter(*group))).collect();
    let components: Vec<Vec<usize>> = parameters.groups(group).map(Iterator::collect).collect();
    let coefficients: Vec<[Poly; 2]> =
        components.iter().map(|blocks| coefficients(context, key, blocks, &groups)).collect();
    let pairs: Vec<(usize, usize)> =
        (0..groups.len()).flat_map(|i| (0..components.len()).map(move |j| (i, j))).collect();
    let mut limbs: Vec<Vec<KeyLimb>> = vec![Vec::new(); rings.len()];
    context.threads().for_each_mut(&mut limbs, |e, limb| {
        let residues = |&(i, j): &(usize, usize)| {
            [0, 1].map(|part| {
                let (group, converter) = &groups[i];
                let inputs: Vec<&[u64]> = group
                    .factors()
                    .map(|position| coefficients[j][part].limb(full.limb_of(position)))
                    .collect();
                let mut out = vec![0; context.degree()];
                converter.convert_exact_into(&mut [(e, &mut out)], &inputs);
                rings[e].forward(&mut out);
                out
            })
        };
        let residues: Vec<[Vec<u64>; 2]> = pairs.iter().map(residues).collect();
        let ranges = (0..context.degree()).step_by(double.range).map(|at| at..at + double.range);
        *limb = ranges
            .map(|range| {
                let pairs = residues.iter().map(|[b, a]| (&b[range.clone()], &a[range.clone()]));
                KeyLimb::of_pairs(&*rings[e], &pairs.collect::<Vec<_>>())
            })
            .collect();
    });
    let mut limbs: Vec<KeyLimb> = limbs.into_iter().flatten().collect();
    KeyLimb::gather(&mut limbs);
    limbs
}

/// Returns the sum of the components `blocks` of `key`. Both parts are modulo `PQ_max`, in
/// coefficients times the input factors of its groups.
fn coefficients(
    context: &Context,
    key: &PreparedSwitchingKey,
    blocks: &[usize],
    groups: &[(Modulus, BaseConverter)],
) -> [Poly; 2] {
    let (full, degree) = (context.parameters().full(), context.degree());
    let mut parts = [0, 1].map(|_| context.zero(full, Domain::Coefficient));
    let [b, a] = &mut parts;
    context.threads().for_each_chunk_pair(b.as_mut_slice(), a.as_mut_slice(), degree, |k, b, a| {
        let ring = context.limb_ring(full, k);
        let position = full.factors().nth(k).expect("a limb of PQ_max");
        let (group, converter) = groups
            .iter()
            .find(|(group, _)| group.contains(position))
            .expect("groups have all positions");
        // The product with 1 converts the key from the form in which it is stored.
        let mut one = vec![0; degree];
        one[0] = 1;
        ring.forward(&mut one);
        let ones: Vec<(usize, &[u64])> = blocks.iter().map(|block| (*block, &one[..])).collect();
        ring.inner_product(b, a, &ones, key.limb(position));
        let factor = ring.inverse_factor(converter.input_factor(group.limb_of(position)));
        ring.inverse_scaled(b, &factor);
        ring.inverse_scaled(a, &factor);
    });
    parts
}
