//! The table `hk20-7`: bootstraps of few and of many slots, as in Table 7 of HK20.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    Context,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order},
    circuits::DftLevel,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{
    Parameters, SecretDistribution, Sprout,
    design::{Request, design},
    security::hybrid_attack_bits,
};

use super::{
    Table,
    boot::{Client, SCALE, ciphertext, errors},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "hk20-7",
    about: "HK20 Table 7: bootstraps of 1, 2 and 4 complex slots at N = 2^15, and of 2^5, 2^10 \
            and 2^14 at N = 2^16. First with the paper's ring degrees, log PQ and secrets (h = \
            64). The paper states 110 and 127 bits of security for them, and our estimate of the \
            hybrid attack, shown in the rows, about 95 and 111. They are insecure and serve for \
            comparison only. Then with our presets n15 and n16s at 128 bits. All use grafted \
            moduli, slots to coefficients come first, and the modulus is raised under a sparse \
            secret (h' = 32). The paper's precision is that of the mean error",
    memory: "11 GB",
    time: "about 8 minutes",
    live: &[],
    plot: false,
    run,
};

const PAPER: &str = "hk20-7";
/// The Hamming weight of the paper's secrets.
const WEIGHT: usize = 64;

/// One of the paper's two sets, and our preset of that ring degree.
struct Set {
    name: &'static str,
    preset: &'static str,
    log_degree: u32,
    /// log2 of `Q` and of `PQ`.
    modulus: [u32; 2],
    slots: [usize; 3],
    /// The bits of the scales of the reduction, of coefficients to slots and of slots to
    /// coefficients.
    scales: [f64; 3],
}

const SETS: [Set; 2] = [
    Set {
        name: "Param 1 (insecure)",
        preset: "n15",
        log_degree: 15,
        modulus: [810, 910],
        slots: [1, 2, 4],
        scales: [48.0, 40.0, 26.0],
    },
    Set {
        name: "Param 2 (insecure)",
        preset: "n16s",
        log_degree: 16,
        modulus: [1270, 1452],
        slots: [1 << 5, 1 << 10, 1 << 14],
        scales: [57.0, 52.0, 42.0],
    },
];

impl Set {
    fn paper(&self) -> Result<Parameters> {
        let [usable, log2_pq] = self.modulus;
        let sprout =
            Sprout::for_degree(self.log_degree).ok_or("there is a sprout for this ring degree")?;
        let design = design(&Request {
            log_degree: self.log_degree,
            secret: SecretDistribution::SparseTernary { weight: WEIGHT },
            // The usable bits do not include the sprout's power of two.
            usable: usable - sprout.two,
            sprout,
            word: 48,
            log2_pq: Some(log2_pq),
            margin: 0,
        })?;
        Ok(Parameters::new_insecure(design.literal()?)?)
    }

    /// The cost of the hybrid attack on the paper's secrets at the modulus of these parameters, in
    /// bits.
    fn security(&self, parameters: &Parameters) -> f64 {
        hybrid_attack_bits(self.log_degree, WEIGHT, parameters.log2(parameters.full()))
    }

    /// Returns the plan of a bootstrap. Its base modulus is the first unit.
    fn literal(&self, parameters: &Parameters, slots: usize) -> Result<BootstrapLiteral> {
        let levels = |bits| DftLevel::even(slots, slots.ilog2().div_ceil(5).max(1), bits);
        let [scale_bits, to_slots, to_coefficients] = self.scales;
        let reduction = match self.log_degree {
            15 => ModularReduction::new(17, -10.2, -27.7, 2, 0)?,
            _ => ModularReduction::new(17, -8.0, -36.0, 2, 3)?,
        };
        Ok(BootstrapLiteral {
            slots,
            real: false,
            first_slots: false,
            order: Order::SlotsToCoefficientsFirst,
            bound: 1.0,
            base_bits: (parameters.factor(0) as f64).log2(),
            sparse_weight: Some(32),
            reduction,
            scale_bits,
            coefficients_to_slots: levels(to_slots),
            slots_to_coefficients: levels(to_coefficients),
            output_scale_bits: f64::from(SCALE),
            output_bits: None,
            precision: None,
        })
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for set in &SETS {
        let paper = set.paper()?;
        let name = format!("{}: security by our estimate of the hybrid attack", set.name);
        let key = format!("2^{}: security", set.log_degree);
        rows.push(
            Row::more_is_better(name, set.security(&paper), "bits")
                .paper(session.papers.find(PAPER, &key)),
        );
        for (name, parameters) in
            [(set.name, paper), (set.preset, Preset::by_name(set.preset)?.parameters()?)]
        {
            let context = Arc::new(Context::new(parameters, Threads::single())?);
            for slots in set.slots {
                let plan = Arc::new(BootstrapPlan::new(
                    Arc::clone(&context),
                    set.literal(context.parameters(), slots)?,
                )?);
                rows.extend(bootstrap(session, plan, name)?);
            }
        }
    }
    Ok(rows)
}

/// Returns the rows for time, precision and remaining capacity of one bootstrap.
fn bootstrap(session: &mut Session, plan: Arc<BootstrapPlan>, name: &str) -> Result<Vec<Row>> {
    let slots = plan.literal().slots;
    let (client, _) = Client::generate(&plan)?;
    let (a, z) = ciphertext(&client, &plan)?;
    let bootstrapper = client.bootstrapper(plan)?;
    let y = bootstrapper.bootstrap(&a)?;
    let [mean, _] = errors(&client, &y, &z, false)?;
    let [seconds] = session.time(
        client.context.parameters().log_degree(),
        [&mut || {
            bootstrapper.bootstrap(&a)?;
            Ok(())
        }],
    )?;
    let row =
        |what: &str| (format!("{name}, {slots} slots: {what}"), format!("{slots} slots: {what}"));
    let paper =
        |(name, key): (String, String), row: fn(String, f64, &'static str) -> Row, value, unit| {
            row(name, value, unit).paper(session.papers.find(PAPER, &key))
        };
    Ok(vec![
        paper(row("bootstrap"), Row::new, seconds, "s"),
        paper(row("time for a slot"), Row::new, seconds / slots as f64, "s"),
        paper(row("mean precision"), Row::more_is_better, -mean.log2(), "bits"),
        paper(row("capacity left"), Row::more_is_better, y.capacity_bits(&client.context), "bits"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_sets_have_its_modulus() {
        for set in &SETS {
            let parameters = set.paper().unwrap();
            assert!(parameters.security().is_none());
            let [q, pq] =
                [parameters.top(), parameters.full()].map(|modulus| parameters.log2(modulus));
            let [usable, most] = set.modulus.map(f64::from);
            assert!(q >= usable - 1.0 && pq <= most + 0.5, "{q} {pq}");
            let security = set.security(&parameters);
            assert!(
                (security - hybrid_attack_bits(set.log_degree, WEIGHT, most)).abs() < 0.5,
                "{security}"
            );
            // These are the numbers in the description of the table.
            assert_eq!(security.round(), [95.0, 111.0][set.log_degree as usize - 15]);
            let context = Arc::new(Context::new(parameters, Threads::single()).unwrap());
            for slots in set.slots {
                let literal = set.literal(context.parameters(), slots).unwrap();
                let plan = BootstrapPlan::new(Arc::clone(&context), literal).unwrap();
                assert!(plan.log2_failure_probability() < -128.0);
            }
        }
    }
}
