//! The description of a bootstrap in numbers, before any key is made.

use hippocrene_ckks::bootstrap::BootstrapPlan;
use hippocrene_rlwe::Parameters;
use serde::Serialize;

use super::{
    Bootstrapping,
    rule::{self, BootstrapMethod},
};
use crate::{Error, Session};

/// The numbers that describe a bootstrap.
///
/// See [`Bootstrapping`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootstrappingDescription {
    /// The number of slots that are bootstrapped.
    pub slots: usize,
    /// The precision of the result, in bits after the binary point.
    pub precision: f64,
    /// The number of single bootstraps that together reach the precision.
    ///
    /// The second and each later one bootstraps the error that the earlier ones left. The array
    /// must have the precision before the bootstrap.
    pub iterations: u32,
    /// The bound on the absolute values for which the bootstrap is planned.
    pub bound: f64,
    /// The capacity that an array needs to be bootstrapped, in bits.
    pub capacity_needed: f64,
    /// The capacity of the result, in bits, to within a few bits.
    pub capacity_after: f64,
    /// log2 of the scale of the result.
    pub scale_bits: f64,
    /// log2 of the probability that a bootstrap fails; `None` where it cannot.
    pub log2_failure_probability: Option<f64>,
    /// The Hamming weight of the sparse secret under which the modulus is raised.
    pub sparse_weight: Option<usize>,
    /// log2 of the modulus of the keys to the sparse secret.
    pub sparse_log2_pq: Option<f64>,
    /// The largest secure value of `sparse_log2_pq`; `None` if there is no known limit.
    pub sparse_log2_pq_limit: Option<u32>,
    /// The number of rotation keys that the bootstrap needs.
    pub rotations: usize,
    /// The size of the bootstrap's keys as stored, in bytes.
    pub key_bytes: usize,
}

impl BootstrappingDescription {
    /// Describes a plan that reaches its precision this way.
    ///
    /// # Errors
    /// As [`BootstrapPlan::key_moduli`].
    fn of(plan: &BootstrapPlan, way: BootstrapMethod) -> Result<Self, Error> {
        let literal = plan.literal();
        let (fails, rotations) = (plan.log2_failure_probability(), plan.rotations().len());
        let sparse_parameters = plan.sparse_context().map(|sparse| sparse.parameters());
        let log2_pq = |set: &Parameters| set.log2(set.full());
        Ok(BootstrappingDescription {
            slots: literal.slots,
            precision: way.precision,
            iterations: way.bootstraps,
            bound: literal.bound,
            capacity_needed: rule::reserve(plan),
            capacity_after: rule::capacity_after(plan),
            scale_bits: literal.output_scale_bits,
            log2_failure_probability: fails.is_finite().then_some(fails),
            sparse_weight: literal.sparse_weight,
            sparse_log2_pq: sparse_parameters.map(log2_pq),
            sparse_log2_pq_limit: sparse_parameters
                .and_then(Parameters::security)
                .map(|limit| limit.log2_pq),
            rotations,
            key_bytes: plan.stored_key_bytes()?,
        })
    }
}

impl Bootstrapping {
    /// Describes the bootstrap with these parameters.
    ///
    /// # Errors
    /// As [`Bootstrapping::plan`].
    pub fn describe(&self, session: &Session) -> Result<BootstrappingDescription, Error> {
        let (plan, way) = self.plan_with_method(session)?;
        BootstrappingDescription::of(&plan, way)
    }
}
