//! The division of trees into blocks: the sums that are looked up, and the values of their tables.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    DecisionTree, FeatureRanges, TreeNode, TreeParameters,
    comparison::{Comparison, digits},
};
use crate::{PegasusError, error::argument};

/// A block, which is one look-up. Its index is the sum of `constant` and of the weights of the
/// comparisons that are true.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) terms: Vec<(Comparison, i64)>,
    pub(super) constant: i64,
    /// The values of a leaf for each of the first sums. At larger sums the block adds 0.
    pub(super) values: Vec<Vec<f64>>,
    /// The number of cells. Sums are below it.
    pub(super) cells: usize,
}

/// A tree in which every path can be taken.
///
/// Thresholds are comparisons. Splits that earlier splits decide, and splits whose leaves are
/// equal, are removed.
#[derive(Debug, PartialEq)]
enum Reduced {
    Leaf(Vec<f64>),
    Split { comparison: Comparison, left: Box<Reduced>, right: Box<Reduced> },
}

/// The known bounds of a feature on a path: it is above `low` and at most `high`.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    low: Option<Comparison>,
    high: Option<Comparison>,
}

type Path = BTreeMap<usize, Bounds>;

/// Cuts a tree into blocks of at most `limit` cells each, and returns them with the base values.
///
/// The base values are those of the most frequent leaf. The values of blocks are differences from
/// them.
///
/// # Errors
/// Returns [`PegasusError::Argument`] if even a block of one leaf would exceed the limit, because
/// its path compares too many features.
pub(super) fn cut(
    tree: &DecisionTree,
    ranges: &FeatureRanges,
    parameters: &TreeParameters,
    limit: usize,
) -> Result<(Vec<Block>, Vec<f64>), PegasusError> {
    let digits = digits(tree, ranges, parameters);
    let reduced =
        Reducing { nodes: tree.nodes(), ranges, parameters, digits }.reduce(0, &mut Path::new());
    let mut base = reduced.most_frequent();
    // Adding 0 turns -0 into 0.
    base.iter_mut().for_each(|x| *x += 0.0);
    let mut blocks = Vec::new();
    reduced.cut(&mut Path::new(), limit, &base, &mut blocks)?;
    Ok((blocks, base))
}

/// Two thresholds of a feature on one path with the same place.
///
/// Values between them cannot be distinguished, so one of the two splits would vanish.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vanishing {
    pub(super) feature: usize,
    pub(super) threshold: f64,
    pub(super) other: f64,
}

/// Returns the first split of a tree that would vanish, although values of its feature within the
/// range pass on either side of it.
///
/// The thresholds that a path has passed bound the values of a feature, with the places of these
/// thresholds. The upper end of the range is a bound from the start.
pub(super) fn vanishing(
    tree: &DecisionTree,
    ranges: &FeatureRanges,
    parameters: &TreeParameters,
) -> Option<Vanishing> {
    type Bound = (f64, i64);
    /// For each feature on a path, the lower bound if there is one, and the upper bound.
    type Bounded = BTreeMap<usize, (Option<Bound>, Bound)>;
    let digits = digits(tree, ranges, parameters);
    let mut open = vec![(0, Bounded::new())];
    while let Some((node, mut path)) = open.pop() {
        let TreeNode::Split { feature, threshold, left, right, .. } = &tree.nodes()[node] else {
            continue;
        };
        let place = Comparison::new(*feature, *threshold, digits[node], ranges, parameters).place;
        let (lowest, highest) = ranges.ends(*feature);
        let (low, high) = path.get(feature).copied().unwrap_or((None, (highest, Comparison::END)));
        if *threshold >= high.0 {
            open.push((*left, path));
            continue;
        }
        if *threshold < lowest || low.is_some_and(|low| *threshold <= low.0) {
            open.push((*right, path));
            continue;
        }
        let same = [Some(high).filter(|high| place >= high.1), low.filter(|low| place <= low.1)];
        if let Some((other, _)) = same.into_iter().flatten().next() {
            return Some(Vanishing { feature: *feature, threshold: *threshold, other });
        }
        let mut below = path.clone();
        below.insert(*feature, (low, (*threshold, place)));
        path.insert(*feature, (Some((*threshold, place)), high));
        open.extend([(*left, below), (*right, path)]);
    }
    None
}

struct Reducing<'a> {
    nodes: &'a [TreeNode],
    ranges: &'a FeatureRanges,
    parameters: &'a TreeParameters,
    digits: Vec<usize>,
}

impl Reducing<'_> {
    fn reduce(&self, node: usize, path: &mut Path) -> Reduced {
        let (feature, threshold, left, right) = match &self.nodes[node] {
            TreeNode::Split { feature, threshold, left, right, .. } => {
                (*feature, *threshold, *left, *right)
            }
            TreeNode::Leaf { values } => return Reduced::Leaf(values.clone()),
        };
        let comparison =
            Comparison::new(feature, threshold, self.digits[node], self.ranges, self.parameters);
        let (lowest, highest) = self.ranges.ends(feature);
        let Bounds { low, high } = path.get(&feature).copied().unwrap_or_default();
        // Features are within their ranges.
        if threshold >= highest || high.is_some_and(|high| comparison.place >= high.place) {
            return self.reduce(left, path);
        }
        if threshold < lowest || low.is_some_and(|low| comparison.place <= low.place) {
            return self.reduce(right, path);
        }
        let left = Box::new(comparison.below(path, |path| self.reduce(left, path)));
        let right = Box::new(comparison.above(path, |path| self.reduce(right, path)));
        match (*left, *right) {
            (Reduced::Leaf(a), Reduced::Leaf(b)) if a == b => Reduced::Leaf(a),
            (left, right) => {
                Reduced::Split { comparison, left: Box::new(left), right: Box::new(right) }
            }
        }
    }
}

impl Comparison {
    /// Runs `f` on the path where the comparison is false.
    fn below<T>(self, path: &mut Path, f: impl FnOnce(&mut Path) -> T) -> T {
        self.with(path, |bounds| bounds.high = Some(self), f)
    }

    /// Runs `f` on the path where the comparison is true.
    fn above<T>(self, path: &mut Path, f: impl FnOnce(&mut Path) -> T) -> T {
        self.with(path, |bounds| bounds.low = Some(self), f)
    }

    fn with<T>(
        self,
        path: &mut Path,
        change: impl FnOnce(&mut Bounds),
        f: impl FnOnce(&mut Path) -> T,
    ) -> T {
        let before = path.get(&self.feature).copied();
        change(path.entry(self.feature).or_default());
        let result = f(path);
        match before {
            Some(bounds) => path.insert(self.feature, bounds),
            None => path.remove(&self.feature),
        };
        result
    }
}

impl Reduced {
    /// Returns the values of the most frequent leaf.
    fn most_frequent(&self) -> Vec<f64> {
        fn count<'a>(tree: &'a Reduced, counts: &mut BTreeMap<Vec<u64>, (usize, &'a [f64])>) {
            match tree {
                Reduced::Leaf(values) => {
                    let bits = values.iter().map(|x| x.to_bits()).collect();
                    counts.entry(bits).or_insert((0, values)).0 += 1;
                }
                Reduced::Split { left, right, .. } => {
                    [left, right].iter().for_each(|t| count(t, counts))
                }
            }
        }
        let mut counts = BTreeMap::new();
        count(self, &mut counts);
        counts
            .values()
            .max_by_key(|(count, _)| *count)
            .map_or(Vec::new(), |(_, values)| values.to_vec())
    }

    /// Collects the comparisons of each feature.
    fn comparisons(&self, of: &mut BTreeMap<usize, BTreeSet<Comparison>>) {
        if let Reduced::Split { comparison, left, right } = self {
            of.entry(comparison.feature).or_default().insert(*comparison);
            left.comparisons(of);
            right.comparisons(of);
        }
    }

    /// Returns the values of the leaf that is reached if features exceed this number of their
    /// thresholds.
    fn values(
        &self,
        of: &BTreeMap<usize, BTreeSet<Comparison>>,
        passed: &BTreeMap<usize, usize>,
    ) -> &[f64] {
        match self {
            Reduced::Leaf(values) => values,
            Reduced::Split { comparison, left, right } => {
                let place = of[&comparison.feature].range(..comparison).count();
                let next = if passed[&comparison.feature] > place { right } else { left };
                next.values(of, passed)
            }
        }
    }

    fn cut(
        &self,
        path: &mut Path,
        limit: usize,
        base: &[f64],
        out: &mut Vec<Block>,
    ) -> Result<(), PegasusError> {
        let mut thresholds = BTreeMap::new();
        self.comparisons(&mut thresholds);
        let states =
            thresholds.values().fold(1usize, |states, of| states.saturating_mul(of.len() + 1));
        if states.saturating_mul(path.len() + 1) <= limit {
            out.extend(self.block(&thresholds, states, path, base));
            return Ok(());
        }
        match self {
            Reduced::Split { comparison, left, right } => {
                comparison.below(path, |path| left.cut(path, limit, base, out))?;
                comparison.above(path, |path| right.cut(path, limit, base, out))
            }
            Reduced::Leaf(_) => {
                let what = format!(
                    "a path asks for {} features, and with these tables {} can be told apart",
                    path.len(),
                    limit.saturating_sub(1)
                );
                argument("plan decision trees", what)
            }
        }
    }

    /// Makes this whole subtree one block, or `None` if it adds nothing to `base`.
    fn block(
        &self,
        thresholds: &BTreeMap<usize, BTreeSet<Comparison>>,
        states: usize,
        path: &Path,
        base: &[f64],
    ) -> Option<Block> {
        let (mut terms, mut constant, mut radix) = (Vec::new(), 0, 1);
        let mut radices = Vec::new();
        for (feature, of) in thresholds {
            terms.extend(of.iter().map(|comparison| (*comparison, radix as i64)));
            radices.push((*feature, radix, of.len() + 1));
            radix *= of.len() + 1;
        }
        for Bounds { low, high } in path.values() {
            terms.extend(high.map(|high| (high, states as i64)));
            if let Some(low) = low {
                terms.push((*low, -(states as i64)));
                constant += states as i64;
            }
        }
        let values: Vec<Vec<f64>> = (0..states)
            .map(|state| {
                let passed =
                    radices.iter().map(|(f, radix, base)| (*f, state / radix % base)).collect();
                let values = self.values(thresholds, &passed);
                values.iter().zip(base).map(|(x, base)| x - base).collect()
            })
            .collect();
        let adds = values.iter().flatten().any(|x| *x != 0.0);
        adds.then_some(Block { terms, constant, values, cells: states * (path.len() + 1) })
    }
}
