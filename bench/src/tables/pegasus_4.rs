//! The table `pegasus-4`: parameters and sizes of keys, as in PEGASUS Table IV.

use hippocrene_fhew::{BlindRotationKey, LweSecretKey, LweSwitchingKey, Preset, RotationGadget};
use hippocrene_ring::Threads;
use hippocrene_rlwe::EvaluationKeys;

use super::{Table, pegasus_slots::Setup};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-4",
    about: "PEGASUS Table IV: parameters and stored sizes of keys (half of each is a seed), with \
            lut11 to lut13 for 256 values at N = 2^16. Every key has 128 bits of security at its \
            own dimension and modulus. The paper's secrets have weight 64 (119 bits of security \
            by the paper). The target for all keys together is 2 GB",
    memory: "8 GB",
    time: "1 minute",
    live: &[],
    plot: false,
    run,
};

const PAPER: &str = "pegasus-4";
const NAMES: [&str; 3] = ["lut11", "lut12", "lut13"];
/// The default tables.
const DEFAULT: &str = NAMES[1];
/// The target for the megabytes of all keys.
const KEY_MEGABYTES_TARGET: f64 = 2000.0;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = whole(session)?;
    for name in NAMES {
        rows.extend(single(session, name)?);
    }
    Ok(rows)
}

/// Returns the rows of CKKS, and of all keys of the default tables.
fn whole(session: &Session) -> Result<Vec<Row>> {
    let setup = Setup::new(DEFAULT, &[256])?;
    let (context, plan) = (&setup.context, setup.pegasus.plan());
    let parameters = context.parameters();
    let paper = |row: Row, name: &str| row.paper(session.papers.find(PAPER, name));
    let bits = |name: &str, bits: f64| paper(Row::new(format!("CKKS: {name}"), bits, "bits"), name);
    let size = |name: &str, bytes: usize| {
        paper(Row::new(format!("{DEFAULT}: {name}"), megabytes(bytes), "MB"), name)
    };
    let mut keys = EvaluationKeys::empty(context.rlwe(), setup.secret.fingerprint());
    plan.add_keys(&mut keys, &setup.secret)?;
    let rotations = keys.stored_bytes(context.rlwe())?;
    let stored = &setup.stored;
    Ok(vec![
        bits("log PQ", parameters.log2(parameters.full())),
        bits("modulus where slots become coefficients", parameters.log2(plan.base())),
        bits("modulus of the repacking key", parameters.log2(plan.repacking())),
        size("LWE key 2^16 -> 1024", stored.extraction.stored_bytes()),
        size("repacking key", stored.repacking.bytes(context)),
        size("keys of rotations and products", rotations),
        Row::new(
            format!("{DEFAULT}: all keys"),
            megabytes(rotations + stored.bytes(context)),
            "MB",
        )
        .against("the limit", KEY_MEGABYTES_TARGET)
        .target(Some(1.0)),
    ])
}

/// Returns the rows of look-ups, and of the key switch back from their ring.
fn single(session: &Session, name: &str) -> Result<Vec<Row>> {
    let preset = Preset::by_name(name)?;
    let set = preset.rotation();
    let (input, ring) = (LweSecretKey::generate(set.input())?, LweSecretKey::generate(set.ring())?);
    let (base_log2, count) = preset.switching_digits();
    let back = LweSwitchingKey::generate(&ring, &input, base_log2, count)?;
    let tables = BlindRotationKey::generate(set, &input, &ring, &Threads::single())?;
    let special = match set.gadget() {
        RotationGadget::Digits { .. } => 0.0,
        RotationGadget::SpecialPrime { p } => (p as f64).log2(),
    };
    // The paper has one ring degree.
    let paper = |row: Row, what: &str| match name {
        DEFAULT => row.paper(session.papers.find(PAPER, what)),
        _ => row,
    };
    let row = |what: &str, value: f64, unit| {
        paper(Row::new(format!("{name}: {what}"), value, unit), what)
    };
    Ok(vec![
        row("LWE dimension", set.input().dimension() as f64, ""),
        row("LWE modulus", set.input().log2_modulus(), "bits"),
        row("ring degree", set.ring().dimension() as f64, ""),
        row("ring modulus, that of keys", set.ring().log2_modulus() + special, "bits"),
        row("LWE key back from the ring", megabytes(back.stored_bytes()), "MB"),
        row("table key", megabytes(tables.stored_bytes()), "MB"),
    ])
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
