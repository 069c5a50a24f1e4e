//! Private decision trees: rows of features from a client and trees of a server.
//!
//! One message is sent each way ([PEGASUS V.B](hippocrene_pegasus)). Client and server share a
//! [`TreeInterface`], and the trees stay with the server.

use std::ops::Deref;

use hippocrene_fhew::Preset as TableSet;
use hippocrene_pegasus::{
    FeatureRanges, PegasusError, PreparedTreeKeys, TreeModel, TreeParameters,
    TreeSecrets as Secrets,
};
use hippocrene_ring::{Seed, Threads};
use hippocrene_rlwe::Fingerprint;

use crate::{Error, LookUps};

/// Look-up tables for decision trees, by the same names as those of [`LookUps`].
///
/// See [`TreePlan`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeTables {
    name: &'static str,
    parameters: TreeParameters,
}

impl TreeTables {
    /// Returns the tables `lut11`, `lut12` or `lut13`.
    ///
    /// Each step up makes a look-up take more than twice as long, but needs fewer of them. The
    /// digits of features are twice as fine, and larger subtrees are looked up at once.
    ///
    /// # Errors
    /// [`Error::Parameters`] with the list of names, when there are no tables of this name.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        let name = LookUps::by_name(name)?.tables;
        let set = TableSet::by_name(name).map_err(PegasusError::from)?;
        Ok(TreeTables { name, parameters: TreeParameters::of(&set) })
    }

    /// The name of the tables.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The parameters that trees are evaluated with.
    pub fn parameters(&self) -> TreeParameters {
        self.parameters
    }

    /// The digest that identifies the tables in files.
    pub fn digest(&self) -> Fingerprint {
        Fingerprint::of("hippocrene 2026-11-24 tables of decision trees", self.name.as_bytes())
    }

    /// The tables with this digest, if there are any.
    pub fn of_digest(digest: Fingerprint) -> Option<Self> {
        let all = LookUps::NAMES.iter().filter_map(|name| Self::by_name(name).ok());
        all.into_iter().find(|tables| tables.digest() == digest)
    }
}

/// The meaning of a query and a reply, shared by server and client.
///
/// It says which tables they are for and how values of features are mapped. A text of the server's
/// choice also says what features and outputs are. The interface is **public**: the server gives it
/// to its clients.
///
/// Every query and every reply carries its digest. A message that was made for another interface is
/// refused, for example for the model before it was fitted to other rows.
///
/// See [`TreePlan`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeInterface {
    tables: TreeTables,
    ranges: FeatureRanges,
    digest: Fingerprint,
}

impl TreeInterface {
    /// Creates the interface of these tables and ranges.
    ///
    /// `meaning` holds everything else that both sides must agree on, such as names of features,
    /// the order of classes and units. Only its digest is kept.
    pub fn new(tables: TreeTables, ranges: FeatureRanges, meaning: &str) -> Self {
        let mut all = tables.digest().as_bytes().to_vec();
        all.extend((ranges.count() as u32).to_le_bytes());
        for knots in ranges.knots() {
            all.extend((knots.len() as u32).to_le_bytes());
            knots.iter().for_each(|knot| all.extend(knot.to_le_bytes()));
        }
        all.extend(meaning.as_bytes());
        let digest = Fingerprint::of("hippocrene 2026-11 interface of decision trees", &all);
        TreeInterface { tables, ranges, digest }
    }

    /// The tables that trees are evaluated with.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// The maps from values of features to shares of their ranges.
    pub fn ranges(&self) -> &FeatureRanges {
        &self.ranges
    }

    /// The digest that identifies the interface in queries and replies.
    pub fn digest(&self) -> Fingerprint {
        self.digest
    }

    /// Plans the evaluation of a model.
    ///
    /// # Errors
    /// [`Error::Argument`] when the ranges of the model differ from those of the interface. Also as
    /// [`hippocrene_pegasus::TreePlan::new`].
    pub fn plan(&self, model: &TreeModel) -> Result<TreePlan, Error> {
        if model.ranges() != &self.ranges {
            let what = "the model has other ranges of features than the interface";
            return Err(Error::argument("plan decision trees", what));
        }
        let inner = hippocrene_pegasus::TreePlan::new(model, self.tables.parameters)?;
        Ok(TreePlan { interface: self.clone(), inner })
    }
}

/// The plan of a server for a model, with its interface.
///
/// A plan can be simulated before there are keys:
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{
///     DecisionTree, FeatureRanges, TreeInterface, TreeModel, TreeNode, TreeTables,
/// };
///
/// let tables = TreeTables::by_name("lut11")?;
/// let ranges = FeatureRanges::new(vec![(0.0, 10.0), (-1.0, 1.0)])?;
/// let interface = TreeInterface::new(tables, ranges.clone(), "pressure, tilt");
/// let nodes = vec![
///     TreeNode::Split { feature: 1, threshold: 0.5, digits: 1, left: 1, right: 2 },
///     TreeNode::Leaf { values: vec![0.0] },
///     TreeNode::Leaf { values: vec![1.0] },
/// ];
/// let model = TreeModel::new(ranges, vec![DecisionTree::new(nodes)?], TreeModel::CLASSES)?;
///
/// let simulated = interface.plan(&model)?.simulate(&[2.5, 0.25, 2.5, 0.9])?; // two rows
/// assert_eq!(simulated.values, [0.0, 1.0]);
/// assert_eq!((simulated.query.rows(), simulated.query.features()), (2, 2));
/// assert_eq!((simulated.reply.rows(), simulated.reply.outputs()), (2, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TreePlan {
    interface: TreeInterface,
    inner: hippocrene_pegasus::TreePlan,
}

impl TreePlan {
    /// The interface that clients need.
    pub fn interface(&self) -> &TreeInterface {
        &self.interface
    }
}

impl Deref for TreePlan {
    type Target = hippocrene_pegasus::TreePlan;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

/// The secret key of a client of private decision trees.
///
/// It encrypts queries, decrypts replies and makes the [`TreeKeys`] of the server.
///
/// ```no_run
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{
///     DecisionTree, FeatureRanges, TreeClient, TreeInterface, TreeModel, TreeNode, TreeServer,
///     TreeTables,
/// };
///
/// let tables = TreeTables::by_name("lut12")?;
/// let ranges = FeatureRanges::new(vec![(0.0, 10.0), (-1.0, 1.0)])?; // public; or `of_sample`
/// let labels = "pressure, tilt: 0 for shut, 1 for open";
/// let interface = TreeInterface::new(tables, ranges.clone(), labels);
///
/// let client = TreeClient::generate(tables)?;
/// let query = client.encrypt(&interface, &[2.5, 0.25])?;
///
/// let server = TreeServer::new(&client.evaluation_keys()?, 1)?; // holds no secret
/// let nodes = vec![
///     TreeNode::Split { feature: 1, threshold: 0.5, digits: 1, left: 1, right: 2 },
///     TreeNode::Leaf { values: vec![0.0] },
///     TreeNode::Leaf { values: vec![1.0] },
/// ];
/// let model = TreeModel::new(ranges, vec![DecisionTree::new(nodes)?], TreeModel::CLASSES)?;
/// let reply = server.evaluate(&interface.plan(&model)?, &query)?;
///
/// assert_eq!(client.decrypt(&interface, &reply)?[0].round(), 0.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TreeClient {
    tables: TreeTables,
    pub(crate) secrets: Secrets,
}

impl TreeClient {
    /// Generates a key from the operating system's entropy.
    ///
    /// # Errors
    /// [`Error::System`] when the operating system has no entropy.
    pub fn generate(tables: TreeTables) -> Result<Self, Error> {
        Ok(TreeClient { tables, secrets: Secrets::generate(tables.parameters)? })
    }

    /// Derives the key from a stored seed.
    ///
    /// Use a seed for one set of tables only: with others it gives related secrets.
    ///
    /// # Errors
    /// None for tables of this library.
    pub fn from_seed(tables: TreeTables, seed: Seed) -> Result<Self, Error> {
        Ok(TreeClient { tables, secrets: Secrets::from_seed(tables.parameters, seed)? })
    }

    /// The seed that the key is derived from: **this is the secret itself**.
    pub fn seed(&self) -> &Seed {
        self.secrets.seed()
    }

    /// The tables that the key is for.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.secrets.fingerprint()
    }

    /// Makes the keys of the server: 76 MB for `lut11`, and twice as much with each step up.
    ///
    /// # Errors
    /// [`Error::System`] when the operating system has no entropy.
    pub fn evaluation_keys(&self) -> Result<TreeKeys, Error> {
        let inner = hippocrene_pegasus::TreeKeys::generate(&self.secrets)?;
        Ok(TreeKeys { tables: self.tables, inner })
    }

    /// Encrypts rows of features, one after the other, for a model of this interface.
    ///
    /// # Errors
    /// [`Error::Argument`] when the interface is for other tables, the number of values is not a
    /// multiple of the number of features, or a value is NaN.
    pub fn encrypt(&self, interface: &TreeInterface, rows: &[f64]) -> Result<TreeQuery, Error> {
        if interface.tables != self.tables {
            let (have, need) = (interface.tables.name, self.tables.name);
            let what = format!("the interface is for the tables {have:?}, the key is for {need:?}");
            return Err(Error::argument("encrypt a query", what));
        }
        let inner = self.secrets.encrypt(&interface.ranges, rows)?;
        Ok(TreeQuery { tables: self.tables, interface: interface.digest, inner })
    }

    /// Decrypts a reply to a query for this interface: the outputs row by row.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the reply belongs to another key, [`Error::Argument`] when it
    /// was made for another interface.
    pub fn decrypt(&self, interface: &TreeInterface, reply: &TreeReply) -> Result<Vec<f64>, Error> {
        if reply.interface != interface.digest {
            let what = format!(
                "the reply was made for the interface {}, not for {}: read it by the interface \
                 that its query was made with, or fetch the server's present one and ask again",
                reply.interface, interface.digest
            );
            return Err(Error::argument("decrypt a reply of decision trees", what));
        }
        Ok(self.secrets.decrypt(&reply.inner)?)
    }
}

/// The keys of a [`TreeServer`], without any secret.
///
/// See [`TreeClient`] for an example.
#[derive(Debug, Clone)]
pub struct TreeKeys {
    tables: TreeTables,
    inner: hippocrene_pegasus::TreeKeys,
}

impl TreeKeys {
    /// Combines keys with the tables that they are for.
    pub fn new(tables: TreeTables, inner: hippocrene_pegasus::TreeKeys) -> Self {
        TreeKeys { tables, inner }
    }

    /// The keys without the name of the tables.
    pub fn inner(&self) -> &hippocrene_pegasus::TreeKeys {
        &self.inner
    }

    /// The tables that the keys are for.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// The public name of the secret key that they belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint()
    }
}

/// Encrypted rows of features.
///
/// See [`TreePlan`] for an example.
#[derive(Debug, Clone)]
pub struct TreeQuery {
    tables: TreeTables,
    interface: Fingerprint,
    inner: hippocrene_pegasus::TreeQuery,
}

impl TreeQuery {
    /// Combines a query with its tables and the digest of its interface.
    pub fn new(
        tables: TreeTables,
        interface: Fingerprint,
        inner: hippocrene_pegasus::TreeQuery,
    ) -> Self {
        TreeQuery { tables, interface, inner }
    }

    /// The tables that the query is for.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// The query without its tables and interface.
    pub fn inner(&self) -> &hippocrene_pegasus::TreeQuery {
        &self.inner
    }

    /// The digest of the interface that the query was made for.
    pub fn interface(&self) -> Fingerprint {
        self.interface
    }

    /// The number of features of a row.
    pub fn features(&self) -> usize {
        self.inner.features()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.inner.rows()
    }
}

/// Encrypted outputs of trees.
///
/// See [`TreePlan`] for an example.
#[derive(Debug, Clone)]
pub struct TreeReply {
    tables: TreeTables,
    interface: Fingerprint,
    inner: hippocrene_pegasus::TreeReply,
}

impl TreeReply {
    /// Combines a reply with its tables and the digest of its interface.
    pub fn new(
        tables: TreeTables,
        interface: Fingerprint,
        inner: hippocrene_pegasus::TreeReply,
    ) -> Self {
        TreeReply { tables, interface, inner }
    }

    /// The tables that the reply is for.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// The reply without its tables and interface.
    pub fn inner(&self) -> &hippocrene_pegasus::TreeReply {
        &self.inner
    }

    /// The digest of the interface that the reply was made for.
    pub fn interface(&self) -> Fingerprint {
        self.interface
    }

    /// The number of outputs of a row.
    pub fn outputs(&self) -> usize {
        self.inner.outputs()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.inner.rows()
    }
}

/// A server that evaluates trees for a client.
///
/// See [`TreeClient`] for an example.
#[derive(Debug)]
pub struct TreeServer {
    tables: TreeTables,
    keys: PreparedTreeKeys,
    threads: Threads,
}

impl TreeServer {
    /// Creates a server with these keys that computes on `threads` threads.
    ///
    /// # Errors
    /// [`Error::Argument`] when the keys do not belong to one client, [`Error::System`] when the
    /// threads cannot be started.
    pub fn new(keys: &TreeKeys, threads: usize) -> Result<Self, Error> {
        let threads = Threads::new(threads)?;
        Ok(TreeServer { tables: keys.tables, keys: keys.inner.prepare(&threads)?, threads })
    }

    /// The tables that the keys are for.
    pub fn tables(&self) -> TreeTables {
        self.tables
    }

    /// Evaluates the plan on every row of a query.
    ///
    /// # Errors
    /// [`Error::Argument`] when the query is for another interface than the plan, or the plan is
    /// for other tables. [`Error::KeyMismatch`] when the query belongs to another key.
    pub fn evaluate(&self, plan: &TreePlan, query: &TreeQuery) -> Result<TreeReply, Error> {
        self.evaluate_with_progress(plan, query, &mut |_, _| ())
    }

    /// As [`TreeServer::evaluate`], with progress reports.
    ///
    /// From time to time `progress` is called with the number of finished rows and the number of
    /// all rows.
    ///
    /// # Errors
    /// As [`TreeServer::evaluate`].
    pub fn evaluate_with_progress(
        &self,
        plan: &TreePlan,
        query: &TreeQuery,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TreeReply, Error> {
        let need = plan.interface.digest;
        if query.interface != need {
            let what = format!(
                "the query was made for the interface {}, where that of the model is {need}: fetch \
                 the server's present interface and encrypt the rows for it",
                query.interface
            );
            return Err(Error::argument("evaluate decision trees", what));
        }
        let inner = self.keys.evaluate(plan, &query.inner, &self.threads, progress)?;
        Ok(TreeReply { tables: self.tables, interface: need, inner })
    }
}
