//! The table `boot-15`: the bootstrap at N = 2^15 by phases, compared with Lattigo's.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    Context,
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, BootstrapPlan, Order},
    circuits::DftLevel,
};
use hippocrene_ring::{Domain, Threads};
use hippocrene_rlwe::Modulus;

use super::{
    Table,
    boot::{Client, Peers, SCALE, bootstrap, ciphertext, set_up},
};
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "boot-15",
    about: "a bootstrap of 2^14 slots at N = 2^15, compared with Lattigo's. The preset n15 has a \
            uniform ternary secret and log PQ 868. Lattigo's set has a sparse secret (h = 192) \
            and log PQ 768; both are at the limit of 128 bits. Slots to coefficients come first, \
            the modulus is raised under a sparse secret (h' = 32), and there is no arcsine. \
            Shown: time by phase, precision, remaining modulus, keys and memory, for complex \
            slots and for real ones with the same keys. Then complex slots on two cores against \
            one, in turn",
    memory: "3 GB, with --peers 9 GB",
    time: "about 1 minute, with --peers 4",
    live: &["lattigo-bootstrap-15"],
    plot: false,
    run,
};

pub(super) const PRESET: &str = "n15";
const PEERS: Peers =
    Peers { group: "bootstrap N = 2^15", targets: &[("bootstrap", [Some(8.0), None])] };

/// The bits of the modulus that Lattigo's bootstrap leaves, and ours.
const OUTPUT_BITS: f64 = 108.0;

/// Returns the plan: four levels from coefficients to slots and three back, and a cosine with two
/// doublings, on values up to 2^-10 of `q0`.
pub(super) fn literal(real: bool) -> Result<BootstrapLiteral> {
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
    let context =
        Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
    let plan = Arc::new(BootstrapPlan::new(Arc::clone(&context), literal(false)?)?);
    let (client, made) = Client::generate(&plan)?;
    let mut rows = session.live.missing();
    rows.extend(bootstrap(session, &PEERS, &client, plan, "complex")?);
    let real = Arc::new(BootstrapPlan::new(context, literal(true)?)?);
    rows.extend(bootstrap(session, &PEERS, &client, real, "real")?);
    rows.extend(set_up(session, &PEERS, &client, &made));
    rows.extend(two_cores(session, &client)?);
    Ok(rows)
}

/// The target for the speed-up of two cores.
const TWO_CORE_SPEED_UP: f64 = 1.8;
/// The number of transforms in a row on each core.
const TRANSFORMS_PER_CORE: usize = 200;

/// Measures the bootstrap on two cores against one, with the same keys.
///
/// Independent transforms, which share nothing but the processor, show the maximum gain of two
/// cores.
fn two_cores(session: &mut Session, client: &Client) -> Result<Vec<Row>> {
    let threads = Threads::new(2)?;
    match session.cores.as_ref().filter(|cores| cores.count() > 1) {
        Some(cores) => cores.spread(&threads)?,
        None => return Ok(vec![Row::missing("two cores: there is one core only")]),
    }
    let two = Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, threads)?);
    let sides = [&client.context, &two];
    let mut works = NamedWorks::default();
    for context in sides {
        let plan = Arc::new(BootstrapPlan::new(Arc::clone(context), literal(false)?)?);
        let (a, _) = ciphertext(client, &plan)?;
        let bootstrapper = client.bootstrapper(plan)?;
        works.add("bootstrap", move || {
            bootstrapper.bootstrap(&a)?;
            Ok(())
        });
    }
    let mut transforms = NamedWorks::default();
    for context in sides {
        let rlwe = context.rlwe();
        let mut poly = rlwe.zero(Modulus::of_range(0..2), Domain::Coefficient);
        let rings: Vec<_> = rlwe.rings(Modulus::of_range(0..2)).collect();
        transforms.add("transforms", move || {
            poly.for_each_limb(rlwe.threads(), |k, limb| {
                (0..TRANSFORMS_PER_CORE).for_each(|_| rings[k].forward(limb))
            });
            Ok(())
        });
    }
    let log_n = client.context.parameters().log_degree();
    let rows = [
        ("complex, bootstrap", works, Some(TWO_CORE_SPEED_UP)),
        ("independent transforms", transforms, None),
    ];
    let rows = rows.map(|(name, works, target)| {
        let times = session.time_named(log_n, works)?;
        let row = Row::new(format!("two cores: {name}"), times[1].1, "s");
        Ok(row.against("one core, the same run", times[0].1).target(target))
    });
    rows.into_iter().collect()
}
