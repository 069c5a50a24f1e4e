//! The circuit of k-means in slots: the places of values, the linear maps, and the polynomial of
//! reciprocals.
//!
//! Points have the layout of all k-means: slot `(i K' + j) d' + c` holds coordinate `c` of point
//! `i`, for every cluster `j`. The centroids repeat after `K' d'` slots. So one product and
//! `log2 d'` rotations give `D_ij = |c_j|^2 - 2 <x_i, c_j>` in slot `(i, j, 0)`.
//!
//! A linear map puts the difference `D_ik - D_ij` into slot `(i, j, p)`, where `k` is `j + p + 1`
//! modulo `K'`. One comparison of all slots gives bits, and their product over `p` is 1 for the
//! nearest centroid. Slots that compare nothing are shifted far to one side: they are 1 for the
//! clusters from `K` on, and 0 for points that do not exist. If there are more than `d'` numbers
//! `p`, which takes more than 8 clusters ([`Shape::stride`]), there are several such maps.
//!
//! With two clusters, both bits of a point are copied to all coordinates before the comparison,
//! which saves a level.

use std::collections::BTreeMap;

use hippocrene_ckks::circuits::{LinearTransform, Polynomial};
use hippocrene_pegasus::SMALL_CLUSTER_SHARE;

use crate::{Error, Shape};

/// log2 of the scale of fresh points, and of distances and sums. Chosen: rounding errors in slots
/// of a ring of degree `2^15` are then `2^-17`.
pub(crate) const SLOT_SCALE_BITS: f64 = 30.0;

/// The least capacity, in bits, that the first polynomial of a comparison uses. It has three levels
/// at about the scale of distances.
const MIN_STAGE_BITS: f64 = 80.0;

/// log2 of the scale of the maps' diagonals. Chosen: in a ring of degree `2^15`, the rounding of
/// diagonals has an error of at most `2^-12` in distances.
pub(crate) const MAP_SCALE_BITS: f64 = 22.0;

/// Largest relative error of a reciprocal, for clusters that are not small. Chosen: the step of a
/// centroid is too long or too short by this share.
const MAX_STEP_ERROR: f64 = 1.0 / 50.0;

/// The interval of shares is longer than `[0, 1]` at both ends by this fraction of the share of a
/// small cluster, for errors. Chosen.
const SHARE_MARGIN: f64 = 0.25;

/// The shift of slots in which nothing is compared, in units of squared distances. Chosen: the
/// differences there are at most 1, and this moves them out of the gap.
const SHIFT: f64 = 2.0;

/// Returns the least capacity of centroids, in bits, with which an iteration can begin. `reserve`
/// is the capacity that a bootstrap needs.
pub(crate) fn least_capacity(reserve: f64) -> f64 {
    reserve + SLOT_SCALE_BITS + MAP_SCALE_BITS + MIN_STAGE_BITS
}

/// Everything that k-means in slots needs for one shape of points, without keys.
#[derive(Debug)]
pub(crate) struct SlotCircuit {
    pub(crate) shape: Shape,
    slots: usize,
    /// The number of points in a ciphertext.
    pub(crate) together: usize,
    /// The differences of distances, one map for each group of places `p`.
    pub(crate) differences: Vec<LinearTransform>,
    /// The map that keeps the bits of points and moves them to the last coordinate, with more than
    /// two clusters.
    pub(crate) bits: Option<LinearTransform>,
    /// The reciprocals of shares of points, as a function on `[-1, 1]`.
    pub(crate) reciprocal: Polynomial,
    /// Half the length of the interval of shares, whose centre is 1/2.
    pub(crate) half_shares: f64,
    /// The largest value of the reciprocals.
    pub(crate) max_reciprocal: f64,
}

impl SlotCircuit {
    /// Makes the circuit for points of this shape in ciphertexts of `slots` slots.
    ///
    /// # Errors
    /// [`Error::Argument`] if one point takes more slots than there are.
    pub(crate) fn new(shape: Shape, slots: usize) -> Result<Self, Error> {
        let together = shape.points_per_ciphertext(slots)?;
        let (reciprocal, half_shares, max_reciprocal) = reciprocals(shape.clusters())?;
        let mut circuit = SlotCircuit {
            shape,
            slots,
            together,
            differences: Vec::new(),
            bits: None,
            reciprocal,
            half_shares,
            max_reciprocal,
        };
        circuit.differences = (0..circuit.groups())
            .map(|group| circuit.map_of_differences(group))
            .collect::<Result<Vec<_>, Error>>()?;
        if !circuit.is_of_two() {
            let last = shape.stride() - 1;
            let entries = circuit.first_slots().map(|(first, _)| (first + last, first, 1.0));
            circuit.bits = Some(circuit.map_of(entries)?);
        }
        Ok(circuit)
    }

    /// True if there are two clusters, whose bits need no product.
    pub(crate) fn is_of_two(&self) -> bool {
        self.clusters() == 2
    }

    /// The number of places `p` in a group, a power of two.
    pub(crate) fn places(&self) -> usize {
        if self.is_of_two() { 1 } else { self.clusters().min(self.shape.stride()) }
    }

    /// Returns the shifts of the slots of a group of comparisons, in a ciphertext of `count`
    /// points.
    pub(crate) fn shifts(&self, group: usize, count: usize) -> Vec<f64> {
        let mut shifts = vec![0.0; self.slots];
        for (first, (i, j)) in self.first_slots() {
            for c in 0..self.shape.stride() {
                let place = if self.is_of_two() { 0 } else { c };
                let other = self.other(j, group, place);
                shifts[first + c] = match () {
                    _ if i >= count => -SHIFT,
                    _ if other.is_none() => SHIFT,
                    _ => 0.0,
                };
            }
        }
        shifts
    }

    /// Returns the mask of the points `chosen` in the ciphertext that starts with point `start`,
    /// each in the place of its own cluster.
    pub(crate) fn mask_of(&self, chosen: &[usize], start: usize) -> Vec<f64> {
        let (shape, width) = (self.shape, self.shape.width());
        let mut mask = vec![0.0; self.together * width];
        for (j, i) in chosen.iter().enumerate() {
            if let Some(i) = i.checked_sub(start).filter(|i| *i < self.together) {
                let first = i * width + j * shape.stride();
                mask[first..first + shape.dimension()].fill(1.0);
            }
        }
        mask.repeat(self.slots / (self.together * width))
    }

    /// Returns the rotations whose keys the circuit needs, in slots to the left.
    pub(crate) fn rotations(&self) -> Vec<i64> {
        let powers = |from: usize, to: usize| (from.ilog2()..to.ilog2()).map(|k| 1i64 << k);
        let (stride, width) = (self.shape.stride(), self.shape.width());
        let sums = powers(1, stride).chain(powers(width, width * self.together));
        let maps = self.differences.iter().chain(&self.bits);
        let mut all: Vec<i64> = sums.chain(maps.flat_map(LinearTransform::rotations)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// `K'`: the number of clusters that have slots.
    fn clusters(&self) -> usize {
        self.shape.clusters().next_power_of_two()
    }

    /// The number of groups of comparisons.
    fn groups(&self) -> usize {
        (self.clusters() - 1).div_ceil(self.places())
    }

    /// Returns the first slot of each point in each cluster, with the numbers of both.
    fn first_slots(&self) -> impl Iterator<Item = (usize, (usize, usize))> + '_ {
        let (clusters, stride) = (self.clusters(), self.shape.stride());
        (0..self.slots / stride)
            .map(move |k| (k * stride, (k / clusters % self.together, k % clusters)))
    }

    /// Returns the cluster that cluster `j` is compared with at a place of a group, if both exist.
    fn other(&self, j: usize, group: usize, place: usize) -> Option<usize> {
        let (clusters, step) = (self.clusters(), group * self.places() + place + 1);
        let other = (j + step) % clusters;
        let exist = j.max(other) < self.shape.clusters();
        (place < self.places() && step < clusters && exist).then_some(other)
    }

    fn map_of_differences(&self, group: usize) -> Result<LinearTransform, Error> {
        let stride = self.shape.stride();
        // With two clusters, the sum over coordinates copies the last one to all of them.
        let shift = if self.is_of_two() { stride - 1 } else { 0 };
        let entries = self.first_slots().flat_map(|(first, (_, j))| {
            (0..self.places()).flat_map(move |place| {
                let to = first + place + shift;
                let pair = self.other(j, group, place).map(|other| {
                    let from = first - j * stride + other * stride;
                    [(to, from, 1.0), (to, first, -1.0)]
                });
                pair.into_iter().flatten()
            })
        });
        self.map_of(entries)
    }

    /// Returns the map with these weights, each with the slot of the result and that of the
    /// operand.
    fn map_of(
        &self,
        entries: impl Iterator<Item = (usize, usize, f64)>,
    ) -> Result<LinearTransform, Error> {
        let mut diagonals: BTreeMap<usize, Vec<(u32, f64)>> = BTreeMap::new();
        for (to, from, weight) in entries {
            let diagonal = (from + self.slots - to) % self.slots;
            diagonals.entry(diagonal).or_default().push((to as u32, weight));
        }
        diagonals.values_mut().for_each(|entries| entries.sort_unstable_by_key(|entry| entry.0));
        Ok(LinearTransform::from_entries(self.slots, diagonals)?)
    }
}

/// Returns the reciprocal of the share of points of a cluster, as a function on `[-1, 1]`. Also
/// returns half the length of the interval of shares, and the largest value.
///
/// The product of a share `x` and its reciprocal is `1 - T(z(x)) / T(z(0))`, where `z` maps the
/// interval from the share of a small cluster to 1 to `[-1, 1]`. `T` is a Chebyshev polynomial, the
/// one that is smallest there among those of this value at 0. So the reciprocal is a polynomial,
/// and the product rises from 0 to 1.
fn reciprocals(clusters: usize) -> Result<(Polynomial, f64, f64), Error> {
    let small = SMALL_CLUSTER_SHARE / clusters as f64;
    let z = |share: f64| (1.0 + small - 2.0 * share) / (1.0 - small);
    let chebyshev = |order: usize, z: f64| match z.abs() <= 1.0 {
        true => (order as f64 * z.acos()).cos(),
        // The order is even.
        false => (order as f64 * z.abs().acosh()).cosh(),
    };
    let is_enough = |order: &usize| chebyshev(*order, z(0.0)).recip() <= MAX_STEP_ERROR;
    let order = (1..).map(|k| 1 << k).find(is_enough).unwrap_or(2);
    let half_shares = 0.5 + SHARE_MARGIN * small;
    let reciprocal = |x: f64| {
        let share = 0.5 + half_shares * x;
        (1.0 - chebyshev(order, z(share)) / chebyshev(order, z(0.0))) / share
    };
    let polynomial = Polynomial::approximate(reciprocal, -1.0, 1.0, order - 1)?;
    Ok((polynomial, half_shares, reciprocal(-1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_are_those_of_shares_that_are_not_small() {
        for clusters in [2, 3, 5, 8, 16] {
            let (polynomial, half, largest) = reciprocals(clusters).unwrap();
            let at = |share: f64| polynomial.evaluate((share - 0.5) / half);
            let small = SMALL_CLUSTER_SHARE / clusters as f64;
            for k in 0..=100 {
                let share = small + (1.0 - small) * f64::from(k) / 100.0;
                assert!((share * at(share) - 1.0).abs() <= MAX_STEP_ERROR, "{clusters} {share}");
                let less = small * f64::from(k) / 100.0;
                assert!((0.0..=1.0 + MAX_STEP_ERROR).contains(&(less * at(less))), "{less}");
                let edge = SHARE_MARGIN * small * f64::from(k) / 100.0;
                assert!((0.5..=1.5).contains(&((1.0 + edge) * at(1.0 + edge))));
                assert!(at(-edge) > 0.0 && at(-edge) <= largest * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn every_pair_of_clusters_is_compared_once_in_each_direction() {
        for (dimension, clusters) in [(4, 2), (1, 2), (2, 3), (1, 5), (16, 8), (3, 7)] {
            let shape = Shape::new(9, dimension, clusters).unwrap();
            let circuit = SlotCircuit::new(shape, 1024).unwrap();
            for j in 0..clusters {
                let mut others: Vec<usize> = (0..circuit.groups())
                    .flat_map(|group| (0..shape.stride()).map(move |place| (group, place)))
                    .filter_map(|(group, place)| circuit.other(j, group, place))
                    .collect();
                others.sort_unstable();
                let all: Vec<usize> = (0..clusters).filter(|k| *k != j).collect();
                assert_eq!(others, all, "{shape:?}");
            }
        }
    }
}
