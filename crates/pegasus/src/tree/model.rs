//! Decision trees, and models made of them.

use super::FeatureRanges;
use crate::{PegasusError, error::argument};

const MAKE_TREE: &str = "make a decision tree";

const MAKE_MODEL: &str = "make a model of decision trees";

/// Maximum number of nodes of a path (chosen).
const MAX_PATH_NODES: usize = 1000;

/// A node of a [`DecisionTree`]. See [`TreeModel`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeNode {
    /// Goes on to node `left` if the feature is at most the threshold, else to node `right`.
    Split {
        /// The number of the feature, from 0.
        feature: usize,
        /// The threshold.
        threshold: f64,
        /// The number of digits of the feature that are compared, at least 1.
        ///
        /// The digits must tell apart the values next to the threshold.
        digits: usize,
        /// The next node if the feature is at most the threshold.
        left: usize,
        /// The next node if the feature is above the threshold.
        right: usize,
    },
    /// The end of a path, with a value for each output.
    Leaf {
        /// The value of each output.
        values: Vec<f64>,
    },
}

/// A decision tree, as a list of nodes. The root is first, and each node comes after its parent.
/// See [`TreeModel`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionTree {
    nodes: Vec<TreeNode>,
    features: usize,
    outputs: usize,
}

impl DecisionTree {
    /// Creates a tree from its nodes.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] in one of these cases:
    ///
    /// - There are no nodes, a node leads to itself, to an earlier node or to no node, or a node
    ///   other than the root does not have exactly one parent.
    /// - Leaves have no values or differ in their number of values.
    /// - A threshold or a value is not finite.
    /// - A split compares no digits.
    /// - A path has more than 1000 nodes.
    pub fn new(nodes: Vec<TreeNode>) -> Result<Self, PegasusError> {
        if nodes.is_empty() {
            return argument(MAKE_TREE, "there are no nodes: a leaf is needed at least".into());
        }
        let mut depths = vec![None; nodes.len()];
        let (mut features, mut outputs) = (0, None);
        for (i, node) in nodes.iter().enumerate() {
            let depth = match (i, depths[i]) {
                (0, _) => 0,
                (_, Some(depth)) => depth,
                _ => return argument(MAKE_TREE, format!("no node before it leads to node {i}")),
            };
            if depth >= MAX_PATH_NODES {
                return argument(MAKE_TREE, format!("a path of more than {MAX_PATH_NODES} nodes"));
            }
            match node {
                TreeNode::Split { feature, threshold, digits, left, right } => {
                    if !threshold.is_finite() {
                        return argument(
                            MAKE_TREE,
                            format!("the threshold of node {i} is {threshold}"),
                        );
                    }
                    if *digits == 0 {
                        return argument(
                            MAKE_TREE,
                            format!("node {i} compares no digits of its feature"),
                        );
                    }
                    features = features.max(feature.saturating_add(1));
                    for child in [*left, *right] {
                        if child <= i || child >= nodes.len() {
                            let what = format!(
                                "node {i} of {} leads to {child}, not to a later one",
                                nodes.len()
                            );
                            return argument(MAKE_TREE, what);
                        }
                        if depths[child].replace(depth + 1).is_some() {
                            return argument(MAKE_TREE, format!("two nodes lead to node {child}"));
                        }
                    }
                }
                TreeNode::Leaf { values } => {
                    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                        return argument(MAKE_TREE, format!("a value of leaf {i} is {value}"));
                    }
                    if *outputs.get_or_insert(values.len()) != values.len() {
                        return argument(
                            MAKE_TREE,
                            format!("leaf {i} has {} values", values.len()),
                        );
                    }
                }
            }
        }
        match outputs {
            Some(outputs @ 1..) => Ok(DecisionTree { nodes, features, outputs }),
            _ => argument(MAKE_TREE, "leaves have at least one value".into()),
        }
    }

    /// The nodes, the root first.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The number of nodes that are splits.
    pub fn splits(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, TreeNode::Split { .. })).count()
    }

    /// The values of the leaves.
    pub(super) fn leaves(&self) -> Vec<&[f64]> {
        let mut leaves = Vec::new();
        for node in &self.nodes {
            if let TreeNode::Leaf { values } = node {
                leaves.push(values.as_slice());
            }
        }
        leaves
    }

    /// The values of the leaf that a row of features leads to.
    fn leaf(&self, row: &[f64]) -> &[f64] {
        let mut node = 0;
        loop {
            match &self.nodes[node] {
                TreeNode::Split { feature, threshold, left, right, .. } => {
                    node = if row[*feature] <= *threshold { *left } else { *right };
                }
                TreeNode::Leaf { values } => return values,
            }
        }
    }
}

/// A model that a server evaluates. Its outputs are the means of the leaf values of its trees.
///
/// ```
/// use hippocrene_pegasus::{DecisionTree, FeatureRanges, TreeModel, TreeNode};
///
/// let nodes = vec![
///     TreeNode::Split { feature: 0, threshold: 4.5, digits: 1, left: 1, right: 2 },
///     TreeNode::Leaf { values: vec![0.0] },
///     TreeNode::Leaf { values: vec![1.0] },
/// ];
/// let ranges = FeatureRanges::new(vec![(0.0, 10.0)])?;
/// let trees = vec![DecisionTree::new(nodes)?];
/// let model = TreeModel::new(ranges, trees, TreeModel::CLASSES)?;
/// assert_eq!(model.evaluate(&[3.0])?, [0.0]);
/// assert_eq!(model.evaluate(&[6.0])?, [1.0]);
/// # Ok::<(), hippocrene_pegasus::PegasusError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TreeModel {
    ranges: FeatureRanges,
    trees: Vec<DecisionTree>,
    deviation: f64,
    firm: bool,
}

impl TreeModel {
    /// Creates a model of these trees on features of these ranges.
    ///
    /// `deviation` is the largest acceptable standard deviation of the errors of outputs, apart
    /// from the errors of comparisons. Use [`TreeModel::CLASSES`] for class numbers, which are
    /// integers.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no tree, the trees differ in the number of
    /// outputs, a tree uses a feature without a range, or the deviation is not positive and finite.
    ///
    /// A threshold outside the range of its feature is an error too. Values beyond the range are
    /// compared as its ends, so the split would give the same answer for every row.
    /// [`TreeModel::clamped`] allows such thresholds.
    pub fn new(
        ranges: FeatureRanges,
        trees: Vec<DecisionTree>,
        deviation: f64,
    ) -> Result<Self, PegasusError> {
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            let TreeNode::Split { feature, threshold, .. } = node else { continue };
            if *feature >= ranges.count() {
                continue;
            }
            let (low, high) = ranges.ends(*feature);
            if !(low..high).contains(threshold) {
                let what = format!(
                    "feature {feature} is split at {threshold}, outside its range from {low} to \
                     {high}. Widen the range, or clamp the rows to it"
                );
                return argument(MAKE_MODEL, what);
            }
        }
        Self::clamped(ranges, trees, deviation)
    }

    /// Creates a model like [`TreeModel::new`], for rows that are clamped to the ranges of their
    /// features.
    ///
    /// A split outside the range of its feature sends every row to the same side.
    ///
    /// # Errors
    /// The same as those of [`TreeModel::new`], except for thresholds outside ranges.
    pub fn clamped(
        ranges: FeatureRanges,
        trees: Vec<DecisionTree>,
        deviation: f64,
    ) -> Result<Self, PegasusError> {
        let Some(first) = trees.first() else {
            return argument(MAKE_MODEL, "there is no tree".into());
        };
        if let Some(other) = trees.iter().find(|tree| tree.outputs != first.outputs) {
            let what = format!("trees of {} and of {} outputs", first.outputs, other.outputs);
            return argument(MAKE_MODEL, what);
        }
        let (have, need) =
            (ranges.count(), trees.iter().map(|tree| tree.features).max().unwrap_or(0));
        if need > have {
            let what =
                format!("a tree asks for feature {}, but there are ranges of {have}", need - 1);
            return argument(MAKE_MODEL, what);
        }
        if !(deviation.is_finite() && deviation > 0.0) {
            return argument(MAKE_MODEL, format!("outputs with a deviation of {deviation}"));
        }
        Ok(TreeModel { ranges, trees, deviation, firm: true })
    }

    /// Returns the same model, but without an error if its deviation cannot be reached.
    ///
    /// The outputs are then as precise as possible.
    pub fn with_best_possible_deviation(self) -> Self {
        TreeModel { firm: false, ..self }
    }

    /// True if a deviation that cannot be reached is an error.
    pub fn requires_deviation(&self) -> bool {
        self.firm
    }

    /// The largest standard deviation of outputs that are class numbers, which are integers.
    ///
    /// Half the distance between integers is 6.5 such deviations. An error is larger in one of
    /// `10^10` cases.
    pub const CLASSES: f64 = 0.5 / super::parameters::MIN_GATE_DEVIATIONS;

    /// The ranges of features.
    pub fn ranges(&self) -> &FeatureRanges {
        &self.ranges
    }

    /// The trees.
    pub fn trees(&self) -> &[DecisionTree] {
        &self.trees
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.trees[0].outputs
    }

    /// The largest acceptable standard deviation of the errors of outputs.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Evaluates the model on a plaintext row of features within their ranges.
    ///
    /// It is the reference for [`TreePlan`](super::TreePlan).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the row has another number of features, or a feature
    /// is NaN, which cannot be compared with thresholds.
    pub fn evaluate(&self, row: &[f64]) -> Result<Vec<f64>, PegasusError> {
        const OPERATION: &str = "evaluate decision trees";
        if row.len() != self.ranges.count() {
            let what =
                format!("{} features, but there are ranges of {}", row.len(), self.ranges.count());
            return argument(OPERATION, what);
        }
        if let Some(feature) = row.iter().position(|x| x.is_nan()) {
            return argument(OPERATION, format!("feature {feature} is not a number"));
        }
        let mut sums = vec![0.0; self.outputs()];
        for tree in &self.trees {
            sums.iter_mut().zip(tree.leaf(row)).for_each(|(sum, value)| *sum += value);
        }
        sums.iter_mut().for_each(|sum| *sum /= self.trees.len() as f64);
        Ok(sums)
    }
}
