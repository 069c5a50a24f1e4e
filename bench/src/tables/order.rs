//! The table `order`: sorts, ranks, places in order and medians, by comparing all pairs.

use std::cell::RefCell;

use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Encryption, Error, Interval, KeyRequest, Preset,
    Server, Simulation,
};

use super::Table;
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "order",
    about: "sort, rank, argsort and median of 16 and 128 values on n15, and of 1,024 on n16s, by \
            comparing all pairs, compared with the figures of the paper (Mazzone et al., USENIX \
            Security 2025). Values are multiples of 2/n in [-1, 1), in an order of their own. \
            Shown: predicted and measured time, bootstraps, and the largest error beside the \
            stated one",
    memory: "23 GB",
    time: "about 12 minutes",
    live: &[],
    plot: false,
    run,
};

/// The numbers of values, with the preset and the number of timed runs.
const LENGTHS: [(usize, &str, usize); 3] = [(16, "n15", 3), (128, "n15", 3), (1024, "n16s", 1)];
/// The groups of published figures: the paper has two versions.
const PAPERS: [&str; 2] = ["order-fast", "order-slow"];

/// An operation on the values in an array.
type Operation = fn(&Server, &EncryptedArray) -> std::result::Result<EncryptedArray, Error>;

/// Its results for plain values, and the largest error that it states, for this number of values.
type Expected = fn(&[f64]) -> (Vec<f64>, f64);

/// The operations.
const OPERATIONS: [(&str, Operation, Expected); 4] = [
    ("sort", |server, a| server.sort(a, None), |x| (sorted(x), 1.0 / 512.0)),
    (
        "rank",
        |server, a| server.rank(a, None),
        |x| (floats(&argsort(&floats(&argsort(x)))), 0.03125),
    ),
    (
        "argsort",
        |server, a| server.argsort(a, None),
        |x| (floats(&argsort(x)), (x.len() as f64 / 1024.0).min(0.125)),
    ),
    (
        "median",
        |server, a| server.median(a, None),
        |x| {
            let (sorted, half) = (sorted(x), x.len() / 2);
            (vec![0.5 * (sorted[half - 1] + sorted[half])], 1.0 / 512.0)
        },
    ),
];

fn argsort(x: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..x.len()).collect();
    places.sort_by(|i, j| x[*i].total_cmp(&x[*j]));
    places
}

fn sorted(x: &[f64]) -> Vec<f64> {
    argsort(x).into_iter().map(|i| x[i]).collect()
}

fn floats(x: &[usize]) -> Vec<f64> {
    x.iter().map(|x| *x as f64).collect()
}

/// Returns `count` multiples of `2/count` in `[-1, 1)`, each of them once.
fn values(count: usize) -> Vec<f64> {
    (0..count).map(|i| 2.0 * (i * 37 % count) as f64 / count as f64 - 1.0).collect()
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (length, preset, runs) in LENGTHS {
        let preset = Preset::by_name(preset)?;
        let client = ClientKey::generate(preset.settings()?)?;
        for operation in OPERATIONS {
            rows.extend(measured(session, &client, preset, (length, runs), operation)?);
        }
    }
    Ok(rows)
}

/// Predicts and measures one operation on one line of values.
fn measured(
    session: &mut Session,
    client: &ClientKey,
    preset: Preset,
    (length, runs): (usize, usize),
    (name, operation, expected): (&str, Operation, Expected),
) -> Result<Vec<Row>> {
    let x = values(length);
    let (distance, how) = (
        2.0 / length as f64,
        Encryption { interval: Some(Interval::symmetric(1.0)), precision: None },
    );
    let name = format!("{name} of {length} values");
    let simulation = Simulation::with_bootstrapping(preset.settings()?, Bootstrapping::default())?;
    let simulated = simulation.encrypt((&x[..]).into(), &[length], &how)?;
    operation(&simulation.server().with_distance(distance)?, &simulated)?;
    let report = simulation.report();
    let request = KeyRequest {
        bootstrapping: Some(Bootstrapping::default()),
        ..KeyRequest::for_simulation(&report)
    };
    let server = Server::with_threads(&client.evaluation_keys(&request)?, 1)?;
    let server = server.with_distance(distance)?;
    let a = client.encrypt_with((&x[..]).into(), &[length], &how)?;
    let (found, mut before) = (RefCell::<Option<EncryptedArray>>::default(), 0);
    let seconds = session.time_slow(preset.log_degree, runs, &mut || {
        before = server.bootstraps();
        found.replace(Some(operation(&server, &a)?));
        Ok(())
    })?;
    let bootstraps = (server.bootstraps() - before) as f64;
    let got = client.decrypt(&found.into_inner().ok_or("the values have been ordered")?)?;
    let (expected, stated) = expected(&x);
    let errors = got.iter().zip(&expected).map(|(got, expected)| (got - expected).abs());
    let error = errors.fold(0.0, f64::max);
    let [fast, slow] = PAPERS.map(|paper| session.papers.find(paper, &name));
    let time = Row::new(format!("{name}: time"), seconds, "s");
    Ok(vec![
        time.against_paper(fast).paper(slow),
        Row::new(format!("{name}: predicted time"), report.seconds, "s"),
        Row::new(format!("{name}: bootstraps"), bootstraps, ""),
        Row::new(format!("{name}: largest error"), error.log2(), "log2")
            .against("stated, without the noise", stated.log2()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_apart_and_in_no_order() {
        for (length, ..) in LENGTHS {
            let (x, sorted) = (values(length), sorted(&values(length)));
            assert!(x != sorted);
            let is_apart = |pair: &[f64]| (pair[1] - pair[0] - 2.0 / length as f64).abs() < 1e-12;
            assert!(sorted.windows(2).all(is_apart));
        }
    }
}
