//! `pegasus-6`: functions of encrypted numbers, as in PEGASUS Table VI, and what they are off by from slots to slots.

use std::time::Instant;

use hippocrene_pegasus::{Layout, Pegasus};

use super::{
    Table,
    pegasus_5::{FUNCTIONS, Function},
    pegasus_slots::{BOUND, Setup, error, values},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-6",
    about: "PEGASUS Table VI: look-ups of a function (with the switch back) per second, and functions of 256 values on [-8, 8] from slots to slots: time and \
            errors, by one table, by three where they pay, and by two of which one is of slopes, and sorting 16 values, with lut12 and lut13 at 128 bits of security and N = 2^16, beside OpenPEGASUS, whose secrets have weight 64 where ours are \
            uniform ternary; 1.06 look-ups a second in the paper on an Intel Xeon Platinum 8269CY",
    memory: "8 GB",
    time: "6 minutes",
    live: &[],
    plot: false,
    run,
};

/// The group of the peers' figures.
const PEERS: &str = "look-up tables";
const SLOTS: usize = 256;
/// How many values are sorted, in at most so many seconds where the peer's time is this.
const SORTED: usize = 16;
const SORT_TARGET: f64 = 39.0 / 5.0;
/// Look-ups in one call that is timed.
const TOGETHER: usize = 8;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (tables, look_ups) in [("lut12", &[1, 3][..]), ("lut13", &[1])] {
        rows.extend(functions(session, tables, look_ups)?);
    }
    Ok(rows)
}

fn functions(session: &mut Session, tables: &str, look_ups: &[usize]) -> Result<Vec<Row>> {
    let setup = Setup::new(tables, &[SLOTS])?;
    let pegasus = &setup.pegasus;
    let values = values(SLOTS);
    let a = setup.encrypt(&values)?;
    let coefficients = pegasus.to_coefficients(&a)?;
    let x = pegasus.extract(&coefficients, &(0..TOGETHER).collect::<Vec<_>>())?;
    let scale = pegasus.plan().table_scale(BOUND)?;
    let mut look_up = || {
        pegasus.look_up(&x, scale, FUNCTIONS[0].1)?;
        Ok(())
    };
    let [seconds] = session.time(12, [&mut look_up])?;
    let peer = |row: Row, operation: &str| {
        let figure = session.peers.all(PEERS, operation).into_iter().next();
        figure.map_or(row.clone(), |figure| row.against_peer(figure))
    };
    let each = seconds / x.len() as f64;
    let mut rows = vec![
        peer(Row::new(format!("{tables}: a look-up and the switch back"), each, "s"), "one table"),
        Row::more(format!("{tables}: look-ups a second"), 1.0 / each, ""),
    ];
    rows.extend(sort(session, &setup, tables, &values[..SORTED])?);
    let all: Vec<usize> = (0..SLOTS).collect();
    let expected = |f: Function| values.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    for ((name, f), most) in FUNCTIONS.into_iter().flat_map(|f| look_ups.iter().map(move |most| (f, *most))) {
        let made = pegasus.make_tables((-BOUND, BOUND), most, f)?;
        if made.look_ups() < most {
            continue;
        }
        let name = if most == 1 { name.to_string() } else { format!("{name} by {most} tables") };
        let start = Instant::now();
        let y = pegasus.apply(&a, &made, &all)?;
        let seconds = start.elapsed().as_secs_f64();
        let errors = error(&setup.decrypt(&y)?, &expected(f));
        rows.extend(of_function(&format!("{tables}: "), &name, seconds, errors, made.deviation(), &peer));
    }
    for (name, f) in FUNCTIONS {
        let made = pegasus.make_tangents((-BOUND, BOUND), f)?;
        let start = Instant::now();
        let y = pegasus.apply_tangents(&a, &made, &all)?;
        let seconds = start.elapsed().as_secs_f64();
        let (name, errors) = (format!("{name} with slopes"), error(&setup.decrypt(&y)?, &expected(f)));
        rows.extend(of_function(&format!("{tables}: "), &name, seconds, errors, made.deviation(), &peer));
    }
    Ok(rows)
}

/// Sorting the first slots, from slots to slots.
fn sort(session: &Session, setup: &Setup, tables: &str, values: &[f64]) -> Result<Vec<Row>> {
    let pegasus = &setup.pegasus;
    let mut a = setup.encrypt(&values.iter().copied().cycle().take(SLOTS).collect::<Vec<_>>())?;
    a.set_bound(pegasus.order_bound(Pegasus::sort_rounds(SORTED)) * BOUND);
    let start = Instant::now();
    let x = pegasus.extract(&pegasus.to_coefficients(&a)?, &(0..SORTED).collect::<Vec<_>>())?;
    let sorted = pegasus.sort(&x.with_bound(BOUND)?, SORTED)?;
    let y = pegasus.repack(&sorted, &Layout::in_order(SORTED))?;
    let seconds = start.elapsed().as_secs_f64();
    let mut expected = values.to_vec();
    expected.sort_by(f64::total_cmp);
    let (mean, worst) = error(&setup.decrypt(&y)?, &expected);
    let time = Row::new(format!("{tables}: sorting {SORTED} values, from slots to slots"), seconds, "s");
    let time = match session.peers.all(PEERS, "bitonic sort of 16 values").into_iter().next() {
        // The target is that of the tables that the peer has.
        Some(figure) if tables == "lut12" => time.against_peer(figure).target(Some(SORT_TARGET)),
        Some(figure) => time.against_peer(figure),
        None => time,
    };
    let off = |which: &str, figure| Row::new(format!("{tables}: sorting, {which} error"), figure, "log2");
    Ok(vec![time, off("mean", mean), off("worst", worst)])
}

/// What one function of all values took, and what it is off by in the mean and at worst.
fn of_function(
    tables: &str,
    name: &str,
    seconds: f64,
    (mean, worst): (f64, f64),
    deviation: f64,
    peer: &dyn Fn(Row, &str) -> Row,
) -> Vec<Row> {
    let total = Row::new(format!("{tables}{name} of {SLOTS} values, from slots to slots"), seconds, "s");
    let error = |(which, figure)| {
        let operation = format!("{name}, {which} error");
        peer(Row::new(format!("{tables}{operation}"), figure, "log2"), &operation)
    };
    let stated = Row::new(format!("{tables}{name}, stated deviation"), deviation.log2(), "log2");
    [total].into_iter().chain([("mean", mean), ("worst", worst)].map(error)).chain([stated]).collect()
}
