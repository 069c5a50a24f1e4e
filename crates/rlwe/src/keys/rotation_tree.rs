//! Trees of rotations, in which several rotations share their first steps.

use std::collections::BTreeMap;

use hippocrene_ring::automorphism::galois_element_of_rotation;

use super::{PreparedEvaluationKeys, rotations::composed};
use crate::{Modulus, RlweError, RotationSum};

/// A tree of rotations, whose edges are rotations with an existing key.
///
/// It serves two purposes. From one ciphertext at the root, it computes all rotations of that
/// ciphertext. From one ciphertext at each node, it computes the sum of their rotations at the
/// root, where each is rotated as its node requires.
///
/// ```
/// use hippocrene_rlwe::{
///     Context, Parameters, ParametersLiteral, PreparedEvaluationKeys, SecretDistribution, Sprout,
/// };
/// use hippocrene_ring::{Threads, primes};
///
/// // A dry run, in which all keys exist, with insecure parameters.
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
/// let key = hippocrene_rlwe::Fingerprint::from_bytes([0; 16]);
/// let keys = PreparedEvaluationKeys::all_for_dry_run(&context, key)?;
///
/// let tree = keys.rotation_tree(1 << 10, 512, 1..4, context.parameters().top());
/// assert_eq!((tree.nodes().len(), tree.place(0), tree.place(4)), (3, Some(0), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RotationTree {
    /// All nodes except the root. Parents come before their children.
    nodes: Vec<RotationNode>,
    /// For the step of each rotation, the place of its node.
    places: BTreeMap<usize, usize>,
}

/// A node of a [`RotationTree`], which has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RotationNode {
    /// The place of the node from which this node is rotated: 0 for the root, or else the index in
    /// [`RotationTree::nodes`] plus 1.
    pub parent: usize,
    /// The Galois element of this rotation.
    pub element: usize,
}

impl RotationTree {
    /// All nodes except the root.
    pub fn nodes(&self) -> &[RotationNode] {
        &self.nodes
    }

    /// The place of the rotation by `step`: 0 for the root, or else the index in
    /// [`RotationTree::nodes`] plus 1. `None` if the rotation is not in the tree.
    pub fn place(&self, step: usize) -> Option<usize> {
        self.places.get(&step).copied()
    }

    /// Returns the values at the places of these steps. `root` is the value of the root, and
    /// `nodes` are those that [`RotationTree::grow`] returned.
    ///
    /// # Panics
    /// Panics if one of the steps is not in the tree, or if there are fewer values than nodes.
    pub fn at_steps<C: Clone>(&self, root: &C, nodes: Vec<C>, steps: &[usize]) -> Vec<C> {
        let places: Vec<usize> = steps.iter().map(|step| self.places[step]).collect();
        let mut nodes: Vec<Option<C>> = nodes.into_iter().map(Some).collect();
        let mut uses = vec![0; nodes.len() + 1];
        places.iter().for_each(|place| uses[*place] += 1);
        let each = places.into_iter().map(|place| {
            let Some(node) = place.checked_sub(1) else { return root.clone() };
            uses[place] -= 1;
            let value = if uses[place] == 0 { nodes[node].take() } else { nodes[node].clone() };
            value.expect("only its last use takes it")
        });
        each.collect()
    }

    /// Computes the value at each node from the value `root` at the root.
    ///
    /// `rotate` is called with the value at a place and with the Galois elements of all nodes that
    /// are rotated from there. It returns the values of these nodes.
    ///
    /// # Errors
    /// Returns the errors of `rotate`.
    ///
    /// # Panics
    /// Panics if `rotate` returns fewer values than elements.
    pub fn grow<C, E>(
        &self,
        root: &C,
        rotate: impl Fn(&C, &[usize]) -> Result<Vec<C>, E>,
    ) -> Result<Vec<C>, E> {
        let mut out: Vec<Option<C>> = self.nodes.iter().map(|_| None).collect();
        for place in 0..=self.nodes.len() {
            let children =
                || self.nodes.iter().enumerate().filter(|(_, node)| node.parent == place);
            let elements: Vec<usize> = children().map(|(_, node)| node.element).collect();
            if elements.is_empty() {
                continue;
            }
            let from = match place.checked_sub(1) {
                None => root,
                Some(node) => out[node].as_ref().expect("parents come before their children"),
            };
            for ((child, _), rotated) in children().zip(rotate(from, &elements)?) {
                out[child] = Some(rotated);
            }
        }
        Ok(out.into_iter().map(|node| node.expect("every node has a parent")).collect())
    }

    /// Returns the sum of the parts at all places that have one, each rotated as its place
    /// requires. If all nodes are children of the root, the parts are added in their order.
    ///
    /// # Errors
    /// Returns the same errors as [`RotationSum::rotated`].
    ///
    /// # Panics
    /// Panics if there are fewer parts than places.
    pub fn sum<'a>(
        &self,
        mut parts: Vec<Option<RotationSum<'a>>>,
        keys: &PreparedEvaluationKeys,
    ) -> Result<Option<RotationSum<'a>>, RlweError> {
        self.sum_from(0, &mut parts, keys)
    }

    fn sum_from<'a>(
        &self,
        place: usize,
        parts: &mut [Option<RotationSum<'a>>],
        keys: &PreparedEvaluationKeys,
    ) -> Result<Option<RotationSum<'a>>, RlweError> {
        let mut total = parts[place].take();
        for (child, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.parent == place)
        {
            let Some(part) = self.sum_from(child + 1, parts, keys)? else { continue };
            let part = part.rotated(node.element, keys)?;
            match &mut total {
                None => total = Some(part),
                Some(total) => total.add(&part)?,
            }
        }
        Ok(total)
    }
}

impl PreparedEvaluationKeys {
    /// Returns a tree with the rotations by all of `steps`, for ciphertexts modulo `modulus` in
    /// `slots` slots.
    ///
    /// Each rotation starts from the earlier one from which it needs the fewest rotations
    /// ([`PreparedEvaluationKeys::rotation_elements`]). For example, with keys for powers of two,
    /// the rotations by all of `1..2^k` take `2^k - 1` rotations in all, and not `k 2^(k-1)`.
    ///
    /// # Panics
    /// Panics if there are no slots.
    pub fn rotation_tree(
        &self,
        degree: usize,
        slots: usize,
        steps: impl IntoIterator<Item = usize>,
        modulus: Modulus,
    ) -> RotationTree {
        let element = |step: i64| galois_element_of_rotation(degree, step.rem_euclid(slots as i64));
        tree(slots, steps, |step| self.has_galois(element(step), modulus), element)
    }
}

/// Grows the tree by Prim's algorithm, except that the rotations on the path from one node to the
/// next become nodes too.
fn tree(
    slots: usize,
    steps: impl IntoIterator<Item = usize>,
    has: impl Fn(i64) -> bool,
    element: impl Fn(i64) -> usize,
) -> RotationTree {
    let mut paths: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    let mut between = |from: usize, to: usize| {
        let step = (to + slots - from) % slots;
        let path =
            paths.entry(step).or_insert_with(|| match composed(slots, step as i64, &has)[..] {
                [] => vec![step as i64],
                ref path => path.to_vec(),
            });
        // A rotation without a key starts from the root, so that the error for the missing key
        // names it.
        let cost = if path.len() == 1 && !has(path[0]) { usize::MAX } else { path.len() };
        (cost, path.clone())
    };
    let mut tree = RotationTree { nodes: Vec::new(), places: BTreeMap::from([(0, 0)]) };
    // For each remaining step: the fewest rotations that it takes from any node, and that node.
    let mut remaining: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for step in steps.into_iter().map(|step| step % slots).filter(|step| *step != 0) {
        remaining.insert(step, (between(0, step).0, 0));
    }
    while let Some((&to, &(_, from))) = remaining.iter().min_by_key(|(_, (cost, _))| *cost) {
        remaining.remove(&to);
        let (_, path) = between(from, to);
        let mut at = from;
        for step in path {
            let next = (at as i64 + step).rem_euclid(slots as i64) as usize;
            if !tree.places.contains_key(&next) {
                tree.nodes.push(RotationNode { parent: tree.places[&at], element: element(step) });
                tree.places.insert(next, tree.nodes.len());
                remaining.remove(&next);
                // No path is shorter than one rotation.
                for (other, best) in remaining.iter_mut().filter(|(_, (cost, _))| *cost > 1) {
                    let (cost, _) = between(next, *other);
                    if cost < best.0 {
                        *best = (cost, next);
                    }
                }
            }
            at = next;
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Returns the step of each node. The edges hold the steps themselves in place of Galois
    /// elements.
    fn steps_of(tree: &RotationTree, slots: usize) -> Vec<usize> {
        let mut steps = vec![0];
        for node in tree.nodes() {
            steps.push((steps[node.parent] + node.element) % slots);
        }
        steps
    }

    fn of(
        slots: usize,
        keys: &BTreeSet<usize>,
        steps: impl IntoIterator<Item = usize>,
    ) -> RotationTree {
        let place = |step: i64| step.rem_euclid(slots as i64) as usize;
        tree(slots, steps, |step| keys.contains(&place(step)), place)
    }

    proptest! {
        #[test]
        fn every_rotation_is_at_its_place(
            log_slots in 3u32..10,
            right in any::<u16>(),
            steps in prop::collection::vec(0usize..1024, 0..40),
        ) {
            let slots = 1 << log_slots;
            let left = (0..log_slots).map(|k| 1 << k);
            let right = (0..log_slots).filter(|k| right >> k & 1 == 1).map(|k| slots - (1 << k));
            let keys: BTreeSet<usize> = left.chain(right).collect();
            let steps: BTreeSet<usize> = steps.into_iter().map(|step| step % slots).collect();
            let tree = of(slots, &keys, steps.clone());
            let found = steps_of(&tree, slots);
            prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
            for (i, node) in tree.nodes().iter().enumerate() {
                prop_assert!(node.parent <= i && keys.contains(&node.element));
            }
            for step in &steps {
                prop_assert_eq!(tree.place(*step).map(|place| found[place]), Some(*step));
            }
            let rotate = |at: &usize, elements: &[usize]| {
                Ok::<_, ()>(elements.iter().map(|element| (at + element) % slots).collect())
            };
            let nodes = tree.grow(&0, rotate).unwrap();
            prop_assert_eq!(&nodes, &found[1..]);
            let twice: Vec<usize> = steps.iter().chain([&0]).chain(&steps).copied().collect();
            prop_assert_eq!(tree.at_steps(&0, nodes, &twice), twice);
            let alone = |step: &usize| {
                composed(slots, *step as i64, |s| {
                    keys.contains(&(s.rem_euclid(slots as i64) as usize))
                })
                .len()
                .max(1)
            };
            let apart: usize = steps.iter().filter(|step| **step != 0).map(alone).sum();
            prop_assert!(tree.nodes().len() <= apart);
        }
    }

    #[test]
    fn rotations_share_their_first_steps() {
        let (slots, keys) = (1024, (0..10).map(|k| 1 << k).collect());
        assert_eq!(of(slots, &keys, 1..32).nodes().len(), 31);
        assert_eq!(of(slots, &keys, (1..8).map(|k| 8 * k)).nodes().len(), 7);
        // Rotations by 1 to 7 to the right: first the one farthest to the left, then one more for
        // each.
        assert_eq!(of(slots, &keys, slots - 7..slots).nodes().len(), 8 + 6);
        // Rotations with a key of their own start from the root.
        assert!(of(slots, &(1..32).collect(), 1..32).nodes().iter().all(|node| node.parent == 0));
        // Without a key, the rotation itself is a node, so that its key is the missing one.
        let none = of(slots, &BTreeSet::new(), [5, 7]);
        assert_eq!(
            none.nodes(),
            [RotationNode { parent: 0, element: 5 }, RotationNode { parent: 0, element: 7 }]
        );
        assert_eq!(of(slots, &keys, [0]).nodes(), []);
    }
}
