//! The table `pegasus-6-threads`: functions of single numbers on two threads, as in PEGASUS Table
//! VI.

use std::time::Instant;

use hippocrene_ckks::Scale;
use hippocrene_pegasus::{Numbers, Pegasus};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{Parameters, SecretDistribution, Sprout};

use super::{
    Table,
    pegasus_5::FUNCTIONS,
    pegasus_slots::{BOUND, Setup, values},
};
use crate::{Result, report::Row, scheme::Sizes, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-6-threads",
    about: "PEGASUS Table VI on two threads against one: look-ups with lut12, max-pooling of 16 \
            numbers, the place of the smallest of 16, and sorting of 32. The numbers are single, \
            without extraction and repacking, so the ring of CKKS is a small one without \
            security, to save memory. The paper has 1.06 look-ups a second on one thread and \
            3.95 on four, a gain of 0.93 for each thread",
    memory: "3 GB",
    time: "1 minute",
    live: &[],
    plot: false,
    run,
};

/// The number of numbers that are looked up or pooled.
const COUNT: usize = 16;
/// The number of numbers that are sorted.
const SORTED: usize = 32;
const SLOTS: usize = 64;
const PAPER: &str = "pegasus-6";

/// Returns parameters of CKKS with as much modulus as repacking needs, in a small ring.
fn parameters() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: 11,
        units: vec![(48, 14)],
        specials: vec![(48, 8)],
        sprout: Sprout::for_degree(11).ok_or("no sprout")?,
        dnum: 2,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Encrypts numbers that fill the domain of tables if their bound is `factor` times as large.
fn numbers(setup: &Setup, count: usize, factor: f64) -> Result<Numbers> {
    let (lwe, plan) = (&setup.secrets.lwe, setup.pegasus.plan());
    let q = lwe.parameters().modulus();
    let scale = q as f64 / (4.0 * (1.0 + plan.literal().margin) * factor * BOUND);
    let residue = |x: f64| ((x * scale).round() as i64).rem_euclid(q as i64) as u64;
    let ciphertexts = values(count).into_iter().map(|x| Ok(lwe.encrypt(residue(x))?));
    let ciphertexts = ciphertexts.collect::<Result<Vec<_>>>()?;
    Ok(Numbers::new(ciphertexts, Scale::from_f64(scale).ok_or("a scale")?, BOUND)?)
}

/// A function of single numbers.
struct Work {
    name: String,
    /// The number of results. The table shows the results in a second, or the time if this is 0.
    results: usize,
    run: fn(&Pegasus, &Numbers) -> Result<()>,
    numbers: fn(&Setup) -> Result<Numbers>,
}

fn works() -> Vec<Work> {
    let work =
        |name: &str, results, run, numbers| Work { name: name.to_string(), results, run, numbers };
    vec![
        work(
            "look-ups a second",
            COUNT,
            |pegasus, x| {
                let scale = pegasus.plan().table_scale(BOUND)?;
                Ok(pegasus.look_up(x, scale, FUNCTIONS[0].1).map(drop)?)
            },
            |setup| numbers(setup, COUNT, 1.0),
        ),
        work(
            "max-pooling 2 x 2",
            COUNT / 4,
            |pegasus, x| Ok(pegasus.largest(x, 4).map(drop)?),
            |setup| numbers(setup, COUNT, setup.pegasus.sorting_bound_factor(2)),
        ),
        work(
            "max-pooling 4 x 4",
            COUNT / 16,
            |pegasus, x| Ok(pegasus.largest(x, COUNT).map(drop)?),
            |setup| numbers(setup, COUNT, setup.pegasus.sorting_bound_factor(4)),
        ),
        work(
            "min-index of 16",
            0,
            |pegasus, x| {
                let scale = pegasus.plan().table_scale(1.0)?;
                Ok(pegasus.is_smallest(x, COUNT, scale).map(drop)?)
            },
            |setup| {
                let scale = setup.pegasus.plan().table_scale(1.0)?;
                let noise = numbers(setup, 1, 1.0)?.noise();
                let factor = setup.pegasus.tournament_bound_factor(COUNT, noise, scale)?;
                numbers(setup, COUNT, factor)
            },
        ),
        work(
            "sorting 32",
            0,
            |pegasus, x| Ok(pegasus.sort(x, SORTED).map(drop)?),
            |setup| {
                let rounds = Pegasus::sort_rounds(SORTED);
                numbers(setup, SORTED, setup.pegasus.sorting_bound_factor(rounds))
            },
        ),
    ]
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let Some(cores) = session.cores.clone().filter(|cores| cores.count() > 1) else {
        return Ok(vec![Row::missing("there is one core only")]);
    };
    let two = Threads::new(2)?;
    cores.spread(&two)?;
    let setup = |threads: Threads| Setup::of(parameters()?, threads, "lut12", &[SLOTS]);
    let setups = [setup(Threads::single())?, setup(two)?];
    let mut rows = Vec::new();
    for work in works() {
        let mut seconds = [0.0; 2];
        for (setup, seconds) in setups.iter().zip(&mut seconds) {
            let x = (work.numbers)(setup)?;
            let start = Instant::now();
            (work.run)(&setup.pegasus, &x)?;
            *seconds = start.elapsed().as_secs_f64();
        }
        let row = |threads: &str, seconds: f64| {
            let name = format!("{threads}: {}", work.name);
            match work.results {
                0 => Row::new(name, seconds, "s"),
                results => Row::more_is_better(name, results as f64 / seconds, "/s"),
            }
        };
        let figure = |seconds: f64| match work.results {
            0 => seconds,
            results => results as f64 / seconds,
        };
        let paper = session.papers.find(PAPER, &work.name);
        rows.push(row("one thread", seconds[0]).paper(paper));
        rows.push(row("two threads", seconds[1]).against("one thread", figure(seconds[0])));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn every_function_has_the_papers_figure() {
        let papers = Papers::load().unwrap();
        for work in works() {
            assert!(papers.find(PAPER, &work.name).is_some(), "{}", work.name);
        }
    }
}
