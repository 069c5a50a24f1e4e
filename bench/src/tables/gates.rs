//! The table `gates`: gates of single bits, compared with OpenFHE's.

use std::hint::black_box;

use hippocrene_fhew::{GateKeys, GateParameters, GateSecretKey, LweCiphertext};
use hippocrene_ring::Threads;
use hippocrene_rlwe::Gate;

use super::Table;
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "gates",
    about: "gates of single bits (hippocrene::GateServer), one by one and several at a time, \
            compared with OpenFHE's NAND at its defaults. Also shown: the least certain gate's \
            distance from a wrong decision in standard deviations, and the keys",
    memory: "0.3 GB",
    time: "20 seconds",
    live: &[],
    plot: false,
    run,
};

/// The group of the peers' figures, the peer's fastest method, and log2 of the ring degree whose
/// yardstick scales the figures.
const PEERS: &str = "functional bootstrap in FHEW";
const NAND: &str = "NAND, LMKCDEY";
const LOG_DEGREE: u32 = 12;
/// The number of gates in one call.
const TOGETHER: usize = 8;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let parameters = GateParameters::standard()?;
    let secret = GateSecretKey::generate(parameters)?;
    let threads = Threads::single();
    let keys = GateKeys::generate(&secret, &threads)?;
    let evaluator = keys.prepare(&threads)?;
    let fresh = secret.encrypt(&[true, false, true])?.expand()?.swap_remove(0);
    let (a, b, c) = (fresh.extract(0)?, fresh.extract(1)?, fresh.extract(2)?);
    let (two, three): ([&LweCiphertext; 2], [&LweCiphertext; 3]) = ([&a, &b], [&a, &b, &c]);
    let many: Vec<(Gate, &[&LweCiphertext])> = vec![(Gate::Nand, &two[..]); TOGETHER];
    let adder: [(Gate, &[&LweCiphertext]); 2] = [(Gate::Xor, &three), (Gate::Majority, &three)];
    let mut works = NamedWorks::default();
    works.add("NAND", || {
        black_box(evaluator.gate(Gate::Nand, &two)?);
        Ok(())
    });
    works.add("one of many", || {
        black_box(evaluator.gate_all(&many, &threads)?);
        Ok(())
    });
    works.add("full adder", || {
        black_box(evaluator.gate_all(&adder, &threads)?);
        Ok(())
    });
    works.add("multiplexer", || {
        black_box(evaluator.select_all(&[three], &threads)?);
        Ok(())
    });
    let times = session.time_named(LOG_DEGREE, works)?;
    // The figure of the fastest build.
    let figures = session.peers.all(PEERS, NAND);
    let fastest = figures.into_iter().min_by(|a, b| a.value.total_cmp(&b.value));
    let nand = |row: Row| match &fastest {
        Some(figure) => row.against_peer(figure.clone()),
        None => row,
    };
    let mut rows = vec![
        nand(Row::new("NAND", 1e3 * times[0].1, "ms")),
        nand(Row::new(
            format!("one NAND of {TOGETHER} together"),
            1e3 * times[1].1 / TOGETHER as f64,
            "ms",
        )),
        Row::new("full adder: XOR and majority of three", 1e3 * times[2].1, "ms"),
        Row::new("multiplexer", 1e3 * times[3].1, "ms"),
    ];
    let noise = [parameters.select_noise(); 3];
    let certain = parameters.deviations(Gate::Majority, &noise)?;
    rows.push(Row::more_is_better("deviations of a majority of multiplexers", certain, ""));
    rows.push(Row::new("keys, as stored", keys.stored_bytes() as f64 / 1e6, "MB"));
    rows.push(Row::new("keys in memory", evaluator.bytes() as f64 / 1e6, "MB"));
    Ok(rows)
}
