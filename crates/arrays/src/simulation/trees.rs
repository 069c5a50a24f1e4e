//! Simulation of private decision trees.

use hippocrene_pegasus::TreeKeys as Keys;
use hippocrene_ring::{Threads, primes::ntt_primes};
use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

use super::report::operations;
use crate::{Error, Session, Settings, TreeClient, TreePlan, TreeQuery, TreeReply};

/// The predicted cost and the result of an evaluation of trees, before there are keys.
///
/// See [`TreePlan`] for an example.
#[derive(Debug, Clone)]
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
    /// A query, which is as large as that of a client.
    pub query: TreeQuery,
    /// A reply, which is as large as that of a server.
    pub reply: TreeReply,
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
        let mut units = ntt_primes(48, 1 << 12, 2, &[])?;
        let parameters = Parameters::new(ParametersLiteral {
            log_degree: 12,
            specials: units.split_off(1),
            units,
            sprout: Sprout::default(),
            gadget_rank: 1,
            secret: SecretDistribution::Ternary,
        })?;
        let session = Session::dry_run(Settings::at_scale(parameters, 40)?)?;
        let context = session.context().rlwe();
        let interface = self.interface();
        let (tables, digest) = (interface.tables(), interface.digest());
        let client = TreeClient::generate(tables)?;
        let keys = Keys::dry_run(context, &client.secrets)?;
        let prepared = keys.prepare(&Threads::single())?;
        let inner = prepared.simulate(self, interface.ranges(), rows)?;
        let tally = context.tally();
        let reply = TreeReply::new(tables, digest, inner);
        Ok(TreeSimulation {
            seconds: tally.seconds(),
            operations: operations(&tally),
            key_memory: prepared.bytes(),
            key_bytes: keys.bytes(),
            values: client.decrypt(interface, &reply)?,
            query: client.encrypt(interface, rows)?,
            reply,
        })
    }
}
