//! Several rotations that share what they have in common.

use std::collections::BTreeMap;

use hippocrene_ring::automorphism::galois_element_of_rotation;

use super::{PreparedEvaluationKeys, rotations::composed};
use crate::{Modulus, RlweError, RotationSum};

/// Rotations that others are composed of, as a tree: by its edges, each a rotation that there is a
/// key for, one ciphertext comes from the root to all of its rotations, or as many ciphertexts,
/// each rotated as its node says, come to one sum at the root.
#[derive(Debug, Clone, PartialEq)]
pub struct RotationTree {
    /// Of the others; parents come before their children.
    nodes: Vec<RotationNode>,
    places: BTreeMap<usize, usize>,
}

/// A node of a [`RotationTree`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RotationNode {
    /// The place of the node that it is rotated from: 0 for the root, and one more than that in
    /// [`RotationTree::nodes`] for the others.
    pub parent: usize,
    /// The Galois element of the rotation from there.
    pub element: usize,
}

impl RotationTree {
    /// The nodes but for the root.
    pub fn nodes(&self) -> &[RotationNode] {
        &self.nodes
    }

    /// The place of the rotation by `step`: 0 for the root, and one more than that in
    /// [`RotationTree::nodes`] for the others. `None` where the tree was not asked for it and does
    /// not pass by.
    pub fn place(&self, step: usize) -> Option<usize> {
        self.places.get(&step).copied()
    }

    /// What is at the places of these steps, of `root` at the root and what [`RotationTree::grow`]
    /// gave.
    ///
    /// # Panics
    /// When the tree was not asked for one of the steps, or has more nodes.
    pub fn at_steps<C: Clone>(&self, root: &C, nodes: Vec<C>, steps: &[usize]) -> Vec<C> {
        let places: Vec<usize> = steps.iter().map(|step| self.places[step]).collect();
        let mut nodes: Vec<Option<C>> = nodes.into_iter().map(Some).collect();
        let mut uses = vec![0; nodes.len() + 1];
        places.iter().for_each(|place| uses[*place] += 1);
        let each = places.into_iter().map(|place| {
            let Some(node) = place.checked_sub(1) else { return root.clone() };
            uses[place] -= 1;
            let there = if uses[place] == 0 { nodes[node].take() } else { nodes[node].clone() };
            there.expect("it was taken by its last use alone")
        });
        each.collect()
    }

    /// What is at each node, where `root` is at the root, and `rotate` makes of what is at a place
    /// what is at all that are rotated from there, by the Galois elements of these.
    ///
    /// # Errors
    /// Those of `rotate`.
    ///
    /// # Panics
    /// When `rotate` makes fewer than there are elements.
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

    /// The sum of what stands at each place, where anything does, rotated as that says. Where all
    /// come from the root, they are added in their order.
    ///
    /// # Errors
    /// As [`RotationSum::rotated`].
    ///
    /// # Panics
    /// When there are fewer parts than places.
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
    /// The rotations by all of `steps` of ciphertexts modulo `modulus` in `slots` slots, each from
    /// the one before that it takes the fewest rotations to come from
    /// ([`PreparedEvaluationKeys::rotation_elements`]): with keys for powers of two, those by all
    /// of `1..2^k` are `2^k - 1` rotations in all, not `k 2^(k-1)`.
    ///
    /// # Panics
    /// When there are no slots.
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

/// The tree, grown as Prim's algorithm grows one, but for nodes on the way from one to the next,
/// which are nodes too.
fn tree(
    slots: usize,
    steps: impl IntoIterator<Item = usize>,
    has: impl Fn(i64) -> bool,
    element: impl Fn(i64) -> usize,
) -> RotationTree {
    let mut known: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    let mut between = |from: usize, to: usize| {
        let step = (to + slots - from) % slots;
        let path =
            known.entry(step).or_insert_with(|| match composed(slots, step as i64, &has)[..] {
                [] => vec![step as i64],
                ref path => path.to_vec(),
            });
        // What there is no key for is missed where it is wanted, from the root.
        let cost = if path.len() == 1 && !has(path[0]) { usize::MAX } else { path.len() };
        (cost, path.clone())
    };
    let mut tree = RotationTree { nodes: Vec::new(), places: BTreeMap::from([(0, 0)]) };
    // For each step the fewest rotations that it is away, from which node.
    let mut left: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for step in steps.into_iter().map(|step| step % slots).filter(|step| *step != 0) {
        left.insert(step, (between(0, step).0, 0));
    }
    while let Some((&to, &(_, from))) = left.iter().min_by_key(|(_, (cost, _))| *cost) {
        left.remove(&to);
        let (_, path) = between(from, to);
        let mut at = from;
        for step in path {
            let next = (at as i64 + step).rem_euclid(slots as i64) as usize;
            if !tree.places.contains_key(&next) {
                tree.nodes.push(RotationNode { parent: tree.places[&at], element: element(step) });
                tree.places.insert(next, tree.nodes.len());
                left.remove(&next);
                // No path is shorter than one rotation.
                for (other, best) in left.iter_mut().filter(|(_, (cost, _))| *cost > 1) {
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

    /// The step of each node, by its edges, which name the rotation itself.
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
        fn every_rotation_is_where_it_is_said_to_be(
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
            let alone = |step: &usize| composed(slots, *step as i64, |s| keys.contains(&(s.rem_euclid(slots as i64) as usize))).len().max(1);
            let apart: usize = steps.iter().filter(|step| **step != 0).map(alone).sum();
            prop_assert!(tree.nodes().len() <= apart);
        }
    }

    #[test]
    fn rotations_share_what_they_have_in_common() {
        let (slots, keys) = (1024, (0..10).map(|k| 1 << k).collect());
        assert_eq!(of(slots, &keys, 1..32).nodes().len(), 31);
        assert_eq!(of(slots, &keys, (1..8).map(|k| 8 * k)).nodes().len(), 7);
        // By 1 to 7 to the right: the one that is farthest left first, and one more for each.
        assert_eq!(of(slots, &keys, slots - 7..slots).nodes().len(), 8 + 6);
        // What has a key comes from the root.
        assert!(of(slots, &(1..32).collect(), 1..32).nodes().iter().all(|node| node.parent == 0));
        // Without a key, the rotation itself is missed.
        let none = of(slots, &BTreeSet::new(), [5, 7]);
        assert_eq!(
            none.nodes(),
            [RotationNode { parent: 0, element: 5 }, RotationNode { parent: 0, element: 7 }]
        );
        assert_eq!(of(slots, &keys, [0]).nodes(), []);
    }
}
