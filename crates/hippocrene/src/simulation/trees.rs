//! Simulation of private decision trees.

use hippocrene_pegasus::TreeKeys as Keys;
use hippocrene_ring::Threads;

use super::report::operations;
use crate::{Error, Preset, Session, TreeClient, TreePlan, TreeReply};

/// The predicted cost and the result of an evaluation of trees, before there are keys.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSimulation {
    /// Seconds on one thread of the server, by the profile for predictions
    /// ([`crate::profile::for_predictions`]).
    pub seconds: f64,
    /// The operations, each with its count and its seconds, the longest first.
    pub operations: Vec<(&'static str, u64, f64)>,
    /// Bytes of memory of the server's keys.
    pub key_memory: usize,
    /// Bytes of the server's keys as stored, without the header of the file.
    pub key_bytes: usize,
    /// Bytes of the query as a file.
    pub query_bytes: usize,
    /// Bytes of the reply as a file.
    pub reply_bytes: usize,
    /// The outputs for every row, one row after the other: the result of decryption except for
    /// noise.
    pub values: Vec<f64>,
}

impl TreePlan {
    /// Simulates the trees on rows of features and predicts the cost.
    ///
    /// The code that computes on encrypted features runs on features in the clear.
    ///
    /// # Errors
    /// [`Error::Argument`] when the values do not form rows, or one is not a number; errors of
    /// [`crate::profile::for_predictions`].
    pub fn simulate(&self, rows: &[f64]) -> Result<TreeSimulation, Error> {
        // Trees use none of these parameters. Only the context of the session is used, to count
        // operations.
        let session = Session::dry_run(Preset::by_name("n12")?.settings()?)?;
        let context = session.context().rlwe();
        let interface = self.interface();
        let (tables, digest) = (interface.tables(), interface.digest());
        let client = TreeClient::generate(tables)?;
        let keys = Keys::dry_run(context, &client.secrets)?;
        let prepared = keys.prepare(&Threads::single())?;
        let inner = prepared.simulate(self, interface.ranges(), rows)?;
        let tally = context.tally();
        let reply = TreeReply { tables, interface: digest, inner };
        Ok(TreeSimulation {
            seconds: tally.seconds(),
            operations: operations(&tally),
            key_memory: prepared.bytes(),
            key_bytes: keys.bytes(),
            query_bytes: client.encrypt(interface, rows)?.to_bytes().len(),
            reply_bytes: reply.to_bytes().len(),
            values: client.decrypt(interface, &reply)?,
        })
    }
}
