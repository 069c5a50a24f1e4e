//! What a bootstrap is, in numbers, before any key is made.

use hippocrene_ckks::bootstrap::BootstrapPlan;
use hippocrene_rlwe::Parameters;
use serde::Serialize;

use super::{
    Bootstrapping,
    rule::{self, Way},
};
use crate::{Error, Session};

/// A bootstrap in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootstrappingDescription {
    /// Whether complex arrays are bootstrapped too.
    pub complex: bool,
    /// How many values a ciphertext holds.
    pub slots: usize,
    /// The precision, in bits after the binary point.
    pub precision: f64,
    /// How many bootstraps one takes, where arrays have that precision: the errors of bootstraps
    /// are bootstrapped until they do.
    pub iterations: u32,
    /// The bound on the values that it is planned for.
    pub bound: f64,
    /// The capacity that an array needs to be bootstrapped, in bits.
    pub capacity_needed: f64,
    /// The capacity that it has after, in bits, give or take a few.
    pub capacity_after: f64,
    /// log2 of the scale of the result, in bits.
    pub scale_bits: f64,
    /// log2 of the probability that a bootstrap fails; none where it cannot.
    pub log2_failure_probability: Option<f64>,
    /// The Hamming weight of the sparse secret under which the modulus is raised.
    pub sparse_weight: Option<usize>,
    /// log2 of the modulus of the keys to it, in bits.
    pub sparse_log2_pq: Option<f64>,
    /// The largest that is secure; none for insecure parameters.
    pub sparse_log2_pq_limit: Option<u32>,
    /// How many rotations it takes keys of.
    pub rotations: usize,
    /// Bytes of its keys as stored.
    pub key_bytes: usize,
}

impl BootstrappingDescription {
    /// The description of a plan that goes this way.
    ///
    /// # Errors
    /// As [`BootstrapPlan::key_moduli`].
    fn of(plan: &BootstrapPlan, way: Way) -> Result<Self, Error> {
        let literal = plan.literal();
        let (fails, rotations) = (plan.log2_failure_probability(), plan.rotations().len());
        let narrow = plan.narrow().map(|narrow| narrow.parameters());
        let log2_pq = |set: &Parameters| set.log2(set.full());
        Ok(BootstrappingDescription {
            complex: !literal.real,
            slots: literal.slots,
            precision: way.precision,
            iterations: way.bootstraps,
            bound: literal.bound,
            capacity_needed: rule::reserve(plan),
            capacity_after: rule::capacity_after(plan),
            scale_bits: literal.output_scale_bits,
            log2_failure_probability: fails.is_finite().then_some(fails),
            sparse_weight: literal.sparse_weight,
            sparse_log2_pq: narrow.map(log2_pq),
            sparse_log2_pq_limit: narrow.and_then(Parameters::security).map(|limit| limit.log2_pq),
            rotations,
            key_bytes: plan.stored_key_bytes()?,
        })
    }
}

impl Bootstrapping {
    /// What the bootstrap of these parameters is like.
    ///
    /// # Errors
    /// As [`Bootstrapping::plan`].
    pub fn describe(&self, session: &Session) -> Result<BootstrappingDescription, Error> {
        let (plan, way) = self.way(session)?;
        BootstrappingDescription::of(&plan, way)
    }
}
