//! Steps of long arrays by polynomials, planned for the capacity that bootstraps restore.

use hippocrene_ckks::circuits::comparison::{SignUse, StageLimits};

use crate::server::{
    Server,
    functions::comparison::{Comparison, Refreshed},
    planner::{bootstrap::RefreshLimits, choose::Candidate},
};
use crate::{EncryptedArray, Error};

/// Stages are planned with this many bits less than a bootstrap allows, since scales differ from
/// the plan by half a bit in each product. Chosen.
const STAGE_MARGIN_BITS: f64 = 2.0;

/// Step of the capacity for which stages are planned, in bits, so that similar arrays share a plan.
/// Chosen.
const FIRST_BITS_STEP: f64 = 4.0;

/// Names of the candidates with short stages. Each one assumes that bootstraps are more precise
/// than planned by one bit more than the one before, and is refused if they are not.
const SHORT_STAGES: [&str; 4] = [
    "polynomials in short stages",
    "polynomials in short stages for bootstraps with 1 more bit",
    "polynomials in short stages for bootstraps with 2 more bits",
    "polynomials in short stages for bootstraps with 3 more bits",
];

impl Server {
    /// Returns 1 for positive slots and 0 for negative ones, by polynomials, with `remaining_bits`
    /// bits of capacity for further use if possible.
    ///
    /// The stages of the plan may use all of the capacity, or only as much as a bootstrap restores.
    /// The noise of a step may have the standard deviation `noise_std`. By default, it is small
    /// compared with the precision of `how`.
    pub(in crate::server) fn steps(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        noise_std: Option<f64>,
        remaining_bits: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let run = |limits: Option<RefreshLimits>, refreshed: Refreshed| {
            move |server: &Server, [a]: [&EncryptedArray; 1]| {
                let form = server.form_of(&[a]);
                let limits = limits.map(|limits| server.stage_limits(&[a], limits, remaining_bits));
                let used = SignUse { limits, noise_std, ..SignUse::default() };
                let plan = server.plan_for(&form, a.bound(), how, used, operation)?;
                let refresh = server.refresh_if(refreshed, &form, &[a.layout()])?;
                let remaining_bits = remaining_bits + server.finer_reserve(refreshed);
                server.map_as_it_is(a, operation, false, |_, x| {
                    Ok(server.evaluator.step_leaving(x, &plan, remaining_bits, &*refresh)?)
                })
            }
        };
        let any = Candidate::new("polynomials", run(None, Refreshed::OnTheWay));
        let at_once = run(None, Refreshed::Never);
        let at_once = Candidate::new("polynomials without bootstraps", at_once).otherwise(5);
        let mut candidates = vec![any, at_once];
        let used = SignUse { noise_std, ..SignUse::default() };
        let plan = self.plan_for(&self.form_of(&[a]), a.bound(), how, used, operation)?;
        let have = a.capacity_bits(&self.session) - STAGE_MARGIN_BITS;
        let need = plan.bits() + remaining_bits + self.bootstrap_reserve().unwrap_or(0.0);
        // Short stages are tried only if they may save a bootstrap.
        let tier_of_short = usize::from(have >= need);
        if let Some(limits) = self.coarse_limits() {
            let coarse = run(Some(limits), Refreshed::Coarsely);
            let coarse = Candidate::new("polynomials with coarse bootstraps", coarse);
            candidates.push(coarse.otherwise(tier_of_short));
        }
        if let Some(limits) = self.refresh_limits() {
            for (i, name) in SHORT_STAGES.into_iter().enumerate() {
                let limits = RefreshLimits { precision: limits.precision + i as f64, ..limits };
                let short = Candidate::new(name, run(Some(limits), Refreshed::OnTheWay));
                let tier = if i == 0 { tier_of_short } else { 1 + i };
                candidates.push(short.otherwise(tier));
            }
        }
        self.perform(operation, [a], f64::INFINITY, &candidates)
    }

    /// Returns the limits of the stages of a comparison of these operands with these bootstraps.
    pub(in crate::server) fn stage_limits(
        &self,
        operands: &[&EncryptedArray],
        limits: RefreshLimits,
        remaining_bits: f64,
    ) -> StageLimits {
        let RefreshLimits { precision, reserve, max_capacity } = limits;
        let least = |a: &&EncryptedArray| a.capacity_bits(&self.session);
        let least = operands.iter().map(least).fold(f64::INFINITY, f64::min);
        let have = least - reserve - STAGE_MARGIN_BITS;
        let finer = self.bootstrap_reserve().unwrap_or(0.0) - reserve;
        StageLimits {
            first_bits: (have / FIRST_BITS_STEP).floor().max(0.0) * FIRST_BITS_STEP,
            bits: max_capacity - reserve - STAGE_MARGIN_BITS,
            least_remaining_bits: finer,
            remaining_bits: remaining_bits + finer,
            refresh_std: (-precision).exp2(),
        }
    }

    /// Returns the reserve of a bootstrap minus that of bootstraps on the way, in bits.
    fn finer_reserve(&self, refreshed: Refreshed) -> f64 {
        match (refreshed, self.refresh_limits(), self.coarse_limits()) {
            (Refreshed::Coarsely, Some(limits), Some(coarse)) => limits.reserve - coarse.reserve,
            _ => 0.0,
        }
    }
}
