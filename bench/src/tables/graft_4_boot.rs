//! The table `graft-4-boot`: the bootstrapping column of Table 4 of GRAFT.

use std::{cell::RefCell, sync::Arc};

use hippocrene_ckks::{Ciphertext, Scale};

use super::{
    Table,
    boot::{Client, errors, values},
    pairs::{PAIRS, Pair},
    twins::{Steps, TWINS, Twin, lowest, steps},
};
use crate::{Result, machine, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-4-boot",
    about: "GRAFT Table 4, the bootstrapping column: a bootstrap of all complex slots with the \
            FHE sets of Table 2. Our code runs the simple chain, the paper's grafted set, and \
            the pair at words of 48 bits within 128-bit security. All use the same transforms \
            and polynomials at the levels of the chain's columns. Grafted FHE15s has smaller \
            scales, since its modulus is smaller. Slots to coefficients come first, and the \
            modulus is raised under the secret itself, as in the paper. Grafted sets end at the \
            paper's modulus for multiplications, and simple ones at the rest of the chain. The \
            target is the paper's speed-up, for our words. The paper's words are shown without a \
            target, since simple chains have primes of 28 to 60 bits, which use other kernels \
            than words of 61 bits. Transforms are counted too, except for those modulo powers of \
            two",
    memory: "9.3 GB",
    time: "about 4 minutes",
    live: &[],
    plot: false,
    run,
};

/// The number of timed runs of each bootstrap.
const RUNS: usize = 3;

struct Figures {
    time: f64,
    transforms: f64,
    mean: f64,
    worst: f64,
    estimated: f64,
    left: f64,
    scale: f64,
    fails: f64,
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for pair in &PAIRS {
        let Some(steps) = steps(pair) else { continue };
        let mut simple: Option<Figures> = None;
        for twin in TWINS {
            let figures = measure(session, twin, pair, steps)?;
            let name = twin.name(pair);
            let row = |row: Row, of: fn(&Figures) -> f64, target: Option<f64>| match &simple {
                Some(theirs) => row.against(pair.paper_name("sim"), of(theirs)).target(target),
                None => row,
            };
            let speed_up = Some(steps.speed_up).filter(|_| twin == Twin::Ours);
            let time = Row::new(format!("{name}: bootstrap"), figures.time, "s");
            rows.push(
                row(time, |f| f.time, speed_up).paper(session.papers.find(&name, "bootstrap")),
            );
            let transforms =
                Row::new(format!("{name}: transforms, counted"), figures.transforms, "");
            rows.push(row(transforms, |f| f.transforms, None));
            let bits =
                |what: &str, value| Row::more_is_better(format!("{name}: {what}"), value, "bits");
            rows.push(row(bits("mean precision", figures.mean), |f| f.mean, None));
            let worst = row(bits("worst precision", figures.worst), |f| f.worst, None);
            rows.push(worst.paper(session.papers.find(&name, "worst precision")));
            rows.push(bits("estimated precision, standard deviation", figures.estimated));
            rows.push(row(bits("log Q left", figures.left), |f| f.left, None));
            rows.push(Row::new(format!("{name}: scale of the result"), figures.scale, "bits"));
            rows.push(Row::new(
                format!("{name}: log2 of the failure probability"),
                figures.fails,
                "",
            ));
            if twin == Twin::Simple {
                simple = Some(figures);
            }
        }
    }
    if let Some(bytes) = machine::peak_memory() {
        rows.push(Row::new("peak memory", bytes as f64 / f64::from(1 << 30), "GiB"));
    }
    Ok(rows)
}

fn measure(session: &mut Session, twin: Twin, pair: &Pair, steps: Steps) -> Result<Figures> {
    let plan = twin.plan(pair, steps)?;
    let (client, _) = Client::generate(&plan)?;
    let context = &client.context;
    let bootstrapper = client.bootstrapper(Arc::clone(&plan))?;
    let z = values(context.max_slots(), false);
    let scale = Scale::power_of_two(pair.scale_bits as i32);
    let plaintext = context.encode((&z[..]).into(), z.len(), scale, lowest(&plan, scale.log2()))?;
    let a = context.encrypt(&client.secret, &plaintext)?.expand(context);
    let result: RefCell<Option<Ciphertext>> = RefCell::default();
    let time = session.time_slow(pair.log_n, RUNS, &mut || {
        result.replace(Some(bootstrapper.bootstrap(&a)?));
        Ok(())
    })?;
    let before = context.rlwe().transforms();
    bootstrapper.bootstrap(&a)?;
    let transforms = (context.rlwe().transforms() - before) as f64;
    let y = result.into_inner().ok_or("a bootstrap has run")?;
    let [mean, worst] = errors(&client, &y, &z, false)?;
    Ok(Figures {
        time,
        transforms,
        mean: -mean.log2(),
        worst: -worst.log2(),
        estimated: y.precision_bits(),
        left: context.parameters().log2(y.modulus()),
        scale: y.scale().log2(),
        fails: plan.log2_failure_probability(),
    })
}
