//! Simulation of private decision trees.

use hippocrene_pegasus::TreeKeys as Keys;
use hippocrene_ring::Threads;

use super::report::operations;
use crate::{Error, Preset, Session, TreeClient, TreePlan, TreeReply};

/// What the evaluation of trees takes and gives, before there are keys.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSimulation {
    /// Seconds that one thread of the server takes, by the profile of this machine
    /// ([`crate::profile::installed`]).
    pub seconds: f64,
    /// What is done, with how often and the seconds that it takes, the longest first.
    pub operations: Vec<(&'static str, u64, f64)>,
    /// Bytes of memory that the server's keys take.
    pub key_memory: usize,
    /// Bytes of the server's keys as they are stored, but for the head of the file.
    pub key_bytes: usize,
    /// Bytes of the query as a file.
    pub query_bytes: usize,
    /// Bytes of the reply as a file.
    pub reply_bytes: usize,
    /// The outputs of every row, those of a row together: what decryption gives but for noise.
    pub values: Vec<f64>,
}

impl TreePlan {
    /// Evaluates the trees on rows of features as if they were encrypted, by the code that computes
    /// on encrypted ones, and says what it would take.
    ///
    /// # Errors
    /// [`Error::Argument`] when the values are no rows, or one is not a number; those of
    /// [`crate::profile::installed`].
    pub fn simulate(&self, rows: &[f64]) -> Result<TreeSimulation, Error> {
        // Trees take nothing of these parameters; their context notes what is done.
        let session = Session::hollow(Preset::by_name("n12")?.settings()?)?;
        let context = session.context().rlwe();
        let interface = self.interface();
        let (tables, digest) = (interface.tables(), interface.digest());
        let client = TreeClient::generate(tables)?;
        let keys = Keys::hollow(context, &client.secrets)?;
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
