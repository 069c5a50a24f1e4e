//! Private decision trees.

use hippocrene::{DecisionTree, Error, FeatureRanges, Stored, TreeNode, TreePlan, TreeTables};
use pyo3::prelude::*;

use crate::{errors::detached, files::with_files};

/// A tree as scikit-learn represents it, with a list entry for each node: the feature, the
/// threshold, the number of compared digits, the left and the right child (negative at a leaf), and
/// the values.
type Nodes = (Vec<i64>, Vec<f64>, Vec<i64>, Vec<i64>, Vec<i64>, Vec<Vec<f64>>);

/// The knots of the map of each feature, by the ranks of values in a sample. The sample is given
/// row by row.
#[pyfunction]
pub(crate) fn feature_knots(
    py: Python<'_>,
    features: usize,
    rows: Vec<f64>,
) -> PyResult<Vec<Vec<f64>>> {
    detached(py, || Ok::<_, Error>(FeatureRanges::of_sample(features, &rows)?.knots().to_vec()))
}

/// The shares that values of a feature with these knots are mapped to.
#[pyfunction]
pub(crate) fn feature_shares(
    py: Python<'_>,
    knots: Vec<f64>,
    values: Vec<f64>,
) -> PyResult<Vec<f64>> {
    detached(py, || {
        let ranges = FeatureRanges::of_knots(vec![knots])?;
        let shares =
            values.iter().map(|value| ranges.shares(&[*value])).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, Error>(shares.concat())
    })
}

fn tree((feature, threshold, digits, left, right, values): Nodes) -> Result<DecisionTree, Error> {
    let nodes = values.into_iter().enumerate().map(|(i, values)| {
        // An invalid number of a node or a feature becomes one that does not exist.
        let number =
            |all: &[i64]| all.get(i).and_then(|x| usize::try_from(*x).ok()).unwrap_or(usize::MAX);
        let is_leaf = left.get(i).is_none_or(|child| *child < 0);
        if is_leaf {
            return TreeNode::Leaf { values };
        }
        let threshold = threshold.get(i).copied().unwrap_or(f64::NAN);
        TreeNode::Split {
            feature: number(&feature),
            threshold,
            digits: number(&digits),
            left: number(&left),
            right: number(&right),
        }
    });
    Ok(DecisionTree::new(nodes.collect())?)
}

/// The result of a simulation:
///
/// - the seconds;
/// - the operations, with their counts and seconds;
/// - the bytes of the keys in memory, of their file, of the query and of the reply;
/// - the outputs.
type Told = (f64, Vec<(&'static str, u64, f64)>, (usize, usize, usize, usize), Vec<f64>);

/// The facts that client and server must agree on.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TreeInterface(hippocrene::TreeInterface);

#[pymethods]
impl TreeInterface {
    #[new]
    fn new(py: Python<'_>, tables: &str, knots: Vec<Vec<f64>>, meaning: &str) -> PyResult<Self> {
        detached(py, || {
            let (tables, ranges) = (TreeTables::by_name(tables)?, FeatureRanges::of_knots(knots)?);
            Ok(TreeInterface(hippocrene::TreeInterface::new(tables, ranges, meaning)))
        })
    }

    #[getter]
    fn digest(&self) -> String {
        self.0.digest().to_string()
    }

    /// The number of digits of a feature in a query.
    #[getter]
    fn digits(&self) -> usize {
        self.0.tables().parameters().digits()
    }

    /// The width of a position of the last of `digits` digits, as a share of the range of a
    /// feature.
    fn resolution(&self, digits: usize) -> f64 {
        self.0.tables().parameters().resolution(digits)
    }

    /// The number of positions between a value and a threshold that makes a comparison certain.
    #[getter]
    fn margin(&self) -> f64 {
        self.0.tables().parameters().margin()
    }
}

/// The trees of a model, planned for a server.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TreeModel {
    plan: TreePlan,
}

#[pymethods]
impl TreeModel {
    #[new]
    fn new(
        py: Python<'_>,
        interface: &TreeInterface,
        trees: Vec<Nodes>,
        deviation: Option<f64>,
        firm: bool,
        clamp: bool,
    ) -> PyResult<Self> {
        detached(py, || {
            let trees = trees.into_iter().map(tree).collect::<Result<_, _>>()?;
            let deviation = deviation.unwrap_or(hippocrene::TreeModel::CLASSES);
            let new =
                if clamp { hippocrene::TreeModel::clamped } else { hippocrene::TreeModel::new };
            let model = new(interface.0.ranges().clone(), trees, deviation)?;
            let model = if firm { model } else { model.with_best_possible_deviation() };
            Ok(TreeModel { plan: interface.0.plan(&model)? })
        })
    }

    /// The cost of evaluating rows, and the outputs.
    fn simulate(&self, py: Python<'_>, rows: Vec<f64>) -> PyResult<Told> {
        let told = detached(py, || self.plan.simulate(&rows))?;
        let [query, reply] = [told.query.to_bytes().len(), told.reply.to_bytes().len()];
        let sizes = (told.key_memory, told.key_bytes, query, reply);
        Ok((told.seconds, told.operations, sizes, told.values))
    }

    #[getter]
    fn look_ups(&self) -> (usize, usize) {
        (self.plan.compared() + self.plan.combined(), self.plan.look_ups())
    }

    #[getter]
    fn deviation(&self) -> f64 {
        self.plan.deviation()
    }

    #[getter]
    fn log2_failure_probability(&self) -> f64 {
        self.plan.log2_failure_probability()
    }
}

with_files!(TreeClient, TreeSecretKey, {
    #[staticmethod]
    fn generate(py: Python<'_>, tables: &str) -> PyResult<Self> {
        detached(py, || hippocrene::TreeClient::generate(TreeTables::by_name(tables)?).map(Self))
    }

    #[getter]
    fn tables(&self) -> &'static str {
        self.0.tables().name()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn evaluation_keys(&self, py: Python<'_>) -> PyResult<TreeKeys> {
        detached(py, || self.0.evaluation_keys().map(TreeKeys))
    }

    fn encrypt(
        &self,
        py: Python<'_>,
        interface: &TreeInterface,
        rows: Vec<f64>,
    ) -> PyResult<TreeQuery> {
        detached(py, || self.0.encrypt(&interface.0, &rows).map(TreeQuery))
    }

    fn decrypt(
        &self,
        py: Python<'_>,
        interface: &TreeInterface,
        reply: &TreeReply,
    ) -> PyResult<Vec<f64>> {
        detached(py, || self.0.decrypt(&interface.0, &reply.0))
    }
});

with_files!(TreeKeys, TreeKeys, {
    #[getter]
    fn tables(&self) -> &'static str {
        self.0.tables().name()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }
});

with_files!(TreeQuery, TreeQuery, {
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.features())
    }

    #[getter]
    fn interface(&self) -> String {
        self.0.interface().to_string()
    }
});

with_files!(TreeReply, TreeReply, {
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.outputs())
    }

    #[getter]
    fn interface(&self) -> String {
        self.0.interface().to_string()
    }
});

/// Keys prepared for computing.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct TreeServer(hippocrene::TreeServer);

#[pymethods]
impl TreeServer {
    #[new]
    fn new(py: Python<'_>, keys: &TreeKeys, threads: usize) -> PyResult<Self> {
        detached(py, || hippocrene::TreeServer::new(&keys.0, threads).map(Self))
    }

    #[getter]
    fn tables(&self) -> &'static str {
        self.0.tables().name()
    }

    /// Evaluates trees. `progress` is called with the number of finished rows. Its exceptions, also
    /// from an interrupt, are raised after the last row.
    fn evaluate(
        &self,
        py: Python<'_>,
        model: &TreeModel,
        query: &TreeQuery,
        progress: Py<PyAny>,
    ) -> PyResult<TreeReply> {
        let mut raised = None;
        let reply = detached(py, || {
            let mut tell = |done: usize, _: usize| {
                let told = || Python::attach(|py| progress.call1(py, (done,)).map(drop));
                raised = raised.take().or_else(|| told().err());
            };
            self.0.evaluate_with_progress(&model.plan, &query.0, &mut tell)
        })?;
        raised.map_or(Ok(TreeReply(reply)), Err)
    }
}
