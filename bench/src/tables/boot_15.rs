//! `boot-15`: the bootstrap at N = 2^15 by phases, beside Lattigo's.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    Context,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order},
    circuits::DftLevel,
};
use hippocrene_ring::Threads;

use super::{
    Table,
    boot::{Client, Peers, SCALE, bootstrap, set_up},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "boot-15",
    about: "a bootstrap of 2^14 slots at N = 2^15 with the preset n15 (a uniform ternary secret, log PQ 868, where Lattigo's set has a sparse secret, h = 192, and \
            log PQ 768: both the limit of 128 bits), slots to coefficients first, the modulus raised under a sparse secret of h' = 32, and no arcsine: time by phase, \
            precision, modulus left, keys, memory; complex slots, and real ones with the same keys",
    memory: "3 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

const PRESET: &str = "n15";
const PEERS: Peers = Peers { group: "bootstrap N = 2^15", targets: &[("bootstrap", [Some(8.0), None])] };

/// The bits of modulus that Lattigo's bootstrap leaves, and ours.
const OUTPUT_BITS: f64 = 108.0;

/// Four levels from coefficients to slots and three back; a cosine with two doublings on values up to 2^-10 of `q0`.
fn literal(real: bool) -> Result<BootstrapLiteral> {
    let level = |radix_log2, scale_bits| DftLevel { radix_log2, scale_bits };
    Ok(BootstrapLiteral {
        slots: 1 << 14,
        real,
        first_slots: false,
        order: Order::SlotsToCoefficientsFirst,
        bound: 1.0,
        base_bits: 48.0,
        sparse_weight: Some(32),
        reduction: ModularReduction::new(17, -10.2, -27.7, 2, 0)?,
        scale_bits: 48.0,
        coefficients_to_slots: [4, 4, 3, 3].map(|radix_log2| level(radix_log2, 40.0)).to_vec(),
        slots_to_coefficients: [4, 5, 5].map(|radix_log2| level(radix_log2, 26.0)).to_vec(),
        output_scale_bits: f64::from(SCALE),
        output_bits: Some(OUTPUT_BITS),
        precision: None,
    })
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let context = Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&context), literal(false)?)?);
    let (client, made) = Client::generate(&plan)?;
    let mut rows = bootstrap(session, &PEERS, &client, plan, "complex")?;
    let real = Arc::new(BootstrapPlan::new(context, literal(true)?)?);
    rows.extend(bootstrap(session, &PEERS, &client, real, "real")?);
    rows.extend(set_up(session, &PEERS, &client, &made));
    Ok(rows)
}
