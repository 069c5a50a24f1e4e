//! Trees and forests.

use super::FeatureRanges;
use crate::{PegasusError, error::argument};

const OPERATION: &str = "make a decision tree";

const MODEL: &str = "make a model of decision trees";

/// How many nodes a path may have.
const DEEPEST: usize = 1000;

/// A node of a [`DecisionTree`].
#[derive(Debug, Clone, PartialEq)]
pub enum TreeNode {
    /// On to node `left` where the feature is at most the threshold, else to node `right`.
    Split {
        /// Which feature, from 0.
        feature: usize,
        /// What it is compared with.
        threshold: f64,
        /// The number of digits of the feature that are compared, from 1 on: as many as it takes
        /// to tell apart the values that are next to the threshold.
        digits: usize,
        /// The number of the node that follows.
        left: usize,
        /// And the other.
        right: usize,
    },
    /// The end of a path, with a value for each output.
    Leaf {
        /// The values.
        values: Vec<f64>,
    },
}

/// A decision tree: its nodes, the root first and each after the one that leads to it.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionTree {
    nodes: Vec<TreeNode>,
    features: usize,
    outputs: usize,
}

impl DecisionTree {
    /// The tree of these nodes.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when they are no tree: there are none, nodes that lead back or
    /// nowhere, or that two lead to or none; when leaves differ in how many values they have, when
    /// numbers are not finite, when a split compares no digits, or when a path has more than 1000
    /// nodes.
    pub fn new(nodes: Vec<TreeNode>) -> Result<Self, PegasusError> {
        if nodes.is_empty() {
            return argument(OPERATION, "there are no nodes: a leaf is needed at least".into());
        }
        let mut depths = vec![None; nodes.len()];
        let (mut features, mut outputs) = (0, None);
        for (i, node) in nodes.iter().enumerate() {
            let depth = match (i, depths[i]) {
                (0, _) => 0,
                (_, Some(depth)) => depth,
                _ => return argument(OPERATION, format!("no node before it leads to node {i}")),
            };
            if depth >= DEEPEST {
                return argument(OPERATION, format!("a path of more than {DEEPEST} nodes"));
            }
            match node {
                TreeNode::Split { feature, threshold, digits, left, right } => {
                    if !threshold.is_finite() {
                        return argument(
                            OPERATION,
                            format!("the threshold of node {i} is {threshold}"),
                        );
                    }
                    if *digits == 0 {
                        return argument(
                            OPERATION,
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
                            return argument(OPERATION, what);
                        }
                        if depths[child].replace(depth + 1).is_some() {
                            return argument(OPERATION, format!("two nodes lead to node {child}"));
                        }
                    }
                }
                TreeNode::Leaf { values } => {
                    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                        return argument(OPERATION, format!("a value of leaf {i} is {value}"));
                    }
                    if *outputs.get_or_insert(values.len()) != values.len() {
                        return argument(
                            OPERATION,
                            format!("leaf {i} has {} values", values.len()),
                        );
                    }
                }
            }
        }
        match outputs {
            Some(outputs @ 1..) => Ok(DecisionTree { nodes, features, outputs }),
            _ => argument(OPERATION, "leaves have at least one value".into()),
        }
    }

    /// The nodes, the root first.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// How many nodes are splits.
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

/// What a server evaluates: the mean, output by output, of the values of the leaves of its trees.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeModel {
    ranges: FeatureRanges,
    trees: Vec<DecisionTree>,
    deviation: f64,
    firm: bool,
}

impl TreeModel {
    /// These trees on features of these ranges. `deviation` is the largest standard deviation
    /// wanted of the errors of outputs, those of comparisons aside: [`TreeModel::CLASSES`] for
    /// numbers of classes, which are integers.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when there is no tree, they differ in the number of outputs, one
    /// asks for a feature that has no range, or the deviation is not positive and finite. A
    /// threshold outside the range of its feature is an error too: values beyond the range are
    /// compared as its ends, so that the split would say the same of every row.
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
                    "feature {feature} is split at {threshold}, outside its range from {low} to {high}. \
                     Widen the range, or clamp the rows to it"
                );
                return argument(MODEL, what);
            }
        }
        Self::clamped(ranges, trees, deviation)
    }

    /// As [`TreeModel::new`], for rows that are clamped to the ranges of their features: a split
    /// outside the range of its feature sends every row to the same side.
    ///
    /// # Errors
    /// As [`TreeModel::new`], thresholds outside ranges excepted.
    pub fn clamped(
        ranges: FeatureRanges,
        trees: Vec<DecisionTree>,
        deviation: f64,
    ) -> Result<Self, PegasusError> {
        let Some(first) = trees.first() else {
            return argument(MODEL, "there is no tree".into());
        };
        if let Some(other) = trees.iter().find(|tree| tree.outputs != first.outputs) {
            let what = format!("trees of {} and of {} outputs", first.outputs, other.outputs);
            return argument(MODEL, what);
        }
        let (have, most) =
            (ranges.count(), trees.iter().map(|tree| tree.features).max().unwrap_or(0));
        if most > have {
            let what =
                format!("a tree asks for feature {}, but there are ranges of {have}", most - 1);
            return argument(MODEL, what);
        }
        if !(deviation.is_finite() && deviation > 0.0) {
            return argument(MODEL, format!("outputs with a deviation of {deviation}"));
        }
        Ok(TreeModel { ranges, trees, deviation, firm: true })
    }

    /// The same model, of which outputs are as precise as is possible where the deviation is not:
    /// that is no error then.
    pub fn or_as_possible(self) -> Self {
        TreeModel { firm: false, ..self }
    }

    /// Whether a deviation that is not possible is an error.
    pub fn is_firm(&self) -> bool {
        self.firm
    }

    /// The deviation at which integers are told apart: half of the way to the next is 6.5 of it,
    /// and more happens once in `10^10` times.
    pub const CLASSES: f64 = 0.5 / super::parameters::CERTAIN;

    /// The ranges of features.
    pub fn ranges(&self) -> &FeatureRanges {
        &self.ranges
    }

    /// The trees.
    pub fn trees(&self) -> &[DecisionTree] {
        &self.trees
    }

    /// How many numbers the result has.
    pub fn outputs(&self) -> usize {
        self.trees[0].outputs
    }

    /// The largest standard deviation wanted of the errors of outputs.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The result in the clear, of a row of features that are within their ranges: what
    /// [`TreePlan`](super::TreePlan) is held to.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when it has another number of features, or one is not a number,
    /// which is at most no threshold and above none.
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
