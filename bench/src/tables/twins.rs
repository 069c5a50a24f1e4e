//! Bootstraps with the sets of GRAFT Table 2, simple and grafted.

use std::{f64::consts::TAU, sync::Arc};

use hippocrene_ckks::{
    Context,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order},
    circuits::{DftLevel, Polynomial},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{Modulus, Parameters};

use super::pairs::Pair;
use crate::Result;

/// A bootstrap of all slots at the levels of a simple chain of Table 2, with slots to coefficients
/// first (2.3), under the secret itself.
///
/// Numbers of bits are those of the chain's primes. From slots to coefficients they are half a bit
/// less, because primes are below a power of two.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// The bits of the base modulus.
    base: f64,
    /// log2 of the base modulus over the largest value. It is slightly less than the difference of
    /// scales, because primes are slightly smaller than powers of two.
    ratio: f64,
    /// The bound of the integers that may be removed.
    reach: u32,
    /// log2 of the requested error of the reduction.
    ///
    /// `None` stands for the cosine on the whole interval, of the degree that the depth allows. A
    /// search would take minutes if many integers may be removed.
    error: Option<f64>,
    doublings: u32,
    /// The bits that each level of the cosine uses, including the doublings.
    cosine: f64,
    /// The stages and bits of each level of coefficients to slots.
    to_slots: &'static [(u32, f64)],
    /// The stages and bits of each level of slots to coefficients.
    to_coefficients: &'static [(u32, f64)],
    /// The maximum depth of the reduction in products: the number of primes in the chain's column.
    depth: u32,
    /// The bits that levels of the cosine and of coefficients to slots use on grafted moduli, which
    /// may be fewer than on the simple chain.
    grafted: (f64, f64),
    /// The paper's speed-up by grafting (Table 4).
    pub speed_up: f64,
}

/// The kind of moduli of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    /// The simple chain.
    Simple,
    /// The paper's grafted set.
    Grafted,
    /// The pair in our words ([`Pair::ours`]).
    Ours,
}

/// All kinds, in the order of the tables.
pub const TWINS: [Twin; 3] = [Twin::Simple, Twin::Grafted, Twin::Ours];

impl Twin {
    /// Returns the parameter set.
    ///
    /// # Errors
    /// When there is none.
    pub fn parameters(self, pair: &Pair) -> Result<Parameters> {
        match self {
            Twin::Simple => pair.parameters("sim"),
            Twin::Grafted => pair.parameters("gra"),
            Twin::Ours => pair.ours(),
        }
    }

    /// Returns the name for tables.
    pub fn name(self, pair: &Pair) -> String {
        match self {
            Twin::Simple => pair.paper_name("sim"),
            Twin::Grafted => pair.paper_name("gra"),
            Twin::Ours => pair.our_name(),
        }
    }

    /// Plans the bootstrap, without keys.
    ///
    /// # Errors
    /// When the parameter set is too small for the plan.
    pub fn plan(self, pair: &Pair, steps: Steps) -> Result<Arc<BootstrapPlan>> {
        let context = Arc::new(Context::new(self.parameters(pair)?, Threads::single())?);
        let levels = |levels: &[(u32, f64)], most: f64| {
            let level = |&(radix_log2, bits): &(u32, f64)| DftLevel {
                radix_log2,
                scale_bits: bits.min(most),
            };
            levels.iter().map(level).collect()
        };
        let (cosine, to_slots) = match self {
            Twin::Simple => (steps.cosine, f64::INFINITY),
            _ => steps.grafted,
        };
        let reduction = steps.reduction()?;
        if reduction.depth() > steps.depth {
            return Err(format!(
                "the reduction is {} products deep, not {}",
                reduction.depth(),
                steps.depth
            )
            .into());
        }
        let literal = BootstrapLiteral {
            slots: context.max_slots(),
            first_slots: false,
            real: false,
            order: Order::SlotsToCoefficientsFirst,
            bound: 1.0,
            base_bits: steps.base,
            sparse_weight: None,
            reduction,
            scale_bits: cosine,
            coefficients_to_slots: levels(steps.to_slots, to_slots),
            slots_to_coefficients: levels(steps.to_coefficients, f64::INFINITY),
            output_scale_bits: pair.scale_bits,
            output_bits: pair.grafted_bits.filter(|_| self != Twin::Simple),
            precision: None,
        };
        Ok(Arc::new(BootstrapPlan::new(context, literal)?))
    }
}

impl Steps {
    fn reduction(self) -> Result<ModularReduction> {
        if let Some(error) = self.error {
            return Ok(ModularReduction::new(self.reach, -self.ratio, error, self.doublings, 0)?);
        }
        let (k, epsilon) = (f64::from(self.reach), (-self.ratio).exp2());
        let turns = f64::from(self.doublings).exp2();
        let degree = (1 << (self.depth - self.doublings)) - 1;
        let cosine = Polynomial::approximate(|x| (TAU * (x - 0.25) / turns).cos(), -k, k, degree)?;
        let cosine = cosine.coefficients().to_vec();
        let of_error = |error| {
            ModularReduction::from_parts(
                cosine.clone(),
                self.reach,
                self.doublings,
                Vec::new(),
                epsilon,
                error,
            )
        };
        // The error is measured at nine points of each interval.
        let any = of_error(0.5)?;
        let error = |i: u32| {
            let whole = f64::from(i / 9) - (k - 1.0);
            let x = whole + epsilon * (f64::from(i % 9) / 4.0 - 1.0);
            (any.apply(x) - (x - whole)).abs()
        };
        Ok(of_error((0..9 * (2 * self.reach - 1)).map(error).fold(0.0, f64::max))?)
    }
}

/// Returns the bootstrap of a pair of FHE sets.
pub fn steps(pair: &Pair) -> Option<Steps> {
    match pair.name {
        "FHE15s" => Some(Steps {
            base: 38.0,
            ratio: 9.95,
            reach: 25,
            error: Some(-26.0),
            doublings: 2,
            cosine: 38.0,
            to_slots: &[(5, 41.0), (5, 41.0), (4, 41.0)],
            to_coefficients: &[(4, 27.5), (5, 27.5), (5, 31.5)],
            depth: 8,
            grafted: (35.5, 32.5),
            speed_up: 1.9,
        }),
        "FHE16" => Some(Steps {
            base: 45.0,
            ratio: 9.95,
            reach: 430,
            error: None,
            doublings: 5,
            cosine: 60.0,
            // The first level uses 56 bits too: the scale goes from 45 bits to 60.
            to_slots: &[(4, 71.0), (4, 56.0), (4, 56.0), (3, 56.0)],
            to_coefficients: &[(5, 29.5), (5, 29.5), (5, 29.5)],
            depth: 12,
            grafted: (60.0, 56.0),
            speed_up: 1.2,
        }),
        "FHE16s" => Some(Steps {
            base: 58.0,
            ratio: 15.95,
            reach: 28,
            error: Some(-42.0),
            doublings: 3,
            cosine: 58.0,
            to_slots: &[(5, 58.0), (5, 58.0), (5, 58.0)],
            to_coefficients: &[(5, 41.5), (5, 41.5), (5, 41.5)],
            depth: 9,
            grafted: (57.0, 56.0),
            speed_up: 1.1,
        }),
        _ => None,
    }
}

/// Returns the smallest modulus at which values of this scale can be bootstrapped by a plan.
pub fn lowest(plan: &BootstrapPlan, scale_bits: f64) -> Modulus {
    let parameters = plan.context().parameters();
    let need = scale_bits + 1.0 + plan.capacity_needed();
    let moduli = (0..64).map(|more| parameters.grafted_modulus(need + f64::from(more)));
    moduli.into_iter().find(|m| parameters.log2(*m) >= need).unwrap_or(parameters.top())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::pairs::PAIRS;

    #[test]
    fn simple_and_grafted_chains_leave_equal_capacity() {
        for pair in &PAIRS {
            let Some(steps) = steps(pair) else { continue };
            for twin in TWINS {
                let name = twin.name(pair);
                let plan = twin.plan(pair, steps).unwrap();
                let units = plan.context().parameters().log2(plan.context().parameters().top());
                assert!(plan.bits() < units, "{name}");
                let left = pair.grafted_bits.unwrap();
                let bits = plan.output_bits();
                assert!(
                    twin == Twin::Simple || (left - 2.0..left + 12.0).contains(&bits),
                    "{name}: {bits}"
                );
            }
        }
    }
}
