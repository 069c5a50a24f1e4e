//! The table `pegasus-6`: functions of encrypted numbers, as in PEGASUS Table VI, and their errors
//! from slots to slots.

use std::time::Instant;

use hippocrene_pegasus::{Layout, Numbers, Pegasus};

use super::{
    Table,
    pegasus_5::{FUNCTIONS, Function},
    pegasus_slots::{BOUND, Setup, error, values},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-6",
    about: "PEGASUS Table VI, compared with OpenPEGASUS. First, single numbers without \
            extraction and repacking, as in the paper, with lut12: look-ups per second (with the \
            switch back), max-pooling per second, the place of the smallest of up to 256 values, \
            and sorting of up to 64. Then, from slots to slots, functions of 256 values on [-8, \
            8] and sorting of 16 values, with lut12 and lut13 at 128 bits of security and N = \
            2^16. Functions use one table, three where they help, or two with one for slopes. \
            The secrets of OpenPEGASUS have weight 64, and ours are uniform binary. The paper's \
            figures are for one thread of an Intel Xeon Platinum 8269CY, and ours for one thread",
    memory: "8 GB",
    time: "8 minutes",
    live: &[],
    plot: false,
    run,
};

/// The group of the peers' figures.
const PEERS: &str = "look-up tables";
const SLOTS: usize = 256;
/// The group of the paper's figures.
const PAPER: &str = "pegasus-6";
/// The sides of the squares for max-pooling.
const POOLED: [usize; 2] = [2, 4];
/// The numbers of values among which the smallest is found.
const SMALLEST_OF: [usize; 3] = [16, 128, 256];
/// The numbers of values that are sorted as single numbers.
const SORTED_SINGLE: [usize; 2] = [32, 64];
/// The number of values that are sorted from slots to slots, and the target against the peer: 5
/// seconds instead of 39.
const SORTED: usize = 16;
const SORT_TARGET: f64 = 39.0 / 5.0;
/// The number of look-ups in one timed call.
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
        Row::more_is_better(format!("{tables}: look-ups a second"), 1.0 / each, "/s")
            .paper(session.papers.find(PAPER, "look-ups a second")),
    ];
    if tables == "lut12" {
        rows.extend(single_numbers(session, &setup, &values)?);
    }
    rows.extend(sort(session, &setup, tables, &values[..SORTED])?);
    let all: Vec<usize> = (0..SLOTS).collect();
    let expected = |f: Function| values.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    for ((name, f), most) in
        FUNCTIONS.into_iter().flat_map(|f| look_ups.iter().map(move |most| (f, *most)))
    {
        let made = pegasus.make_tables((-BOUND, BOUND), most, f)?;
        if made.look_ups() < most {
            continue;
        }
        let name = if most == 1 { name.to_string() } else { format!("{name} by {most} tables") };
        let start = Instant::now();
        let y = pegasus.apply(&a, &made, &all)?;
        let seconds = start.elapsed().as_secs_f64();
        let errors = error(&setup.decrypt(&y)?, &expected(f));
        rows.extend(of_function(
            &format!("{tables}: "),
            &name,
            seconds,
            errors,
            made.deviation(),
            &peer,
        ));
    }
    for (name, f) in FUNCTIONS {
        let made = pegasus.make_tangents((-BOUND, BOUND), f)?;
        let start = Instant::now();
        let y = pegasus.apply_tangents(&a, &made, &all)?;
        let seconds = start.elapsed().as_secs_f64();
        let (name, errors) =
            (format!("{name} with slopes"), error(&setup.decrypt(&y)?, &expected(f)));
        rows.extend(of_function(
            &format!("{tables}: "),
            &name,
            seconds,
            errors,
            made.deviation(),
            &peer,
        ));
    }
    Ok(rows)
}

/// Measures max-pooling, the place of the smallest and sorting, on extracted single numbers.
fn single_numbers(session: &Session, setup: &Setup, values: &[f64]) -> Result<Vec<Row>> {
    let (pegasus, lwe) = (&setup.pegasus, &setup.secrets.lwe);
    let fresh = setup.encrypt(values)?;
    let extract = |count: usize, bound: f64| -> Result<Numbers> {
        let mut a = fresh.clone();
        a.set_bound(bound * BOUND);
        let x = pegasus.extract(&pegasus.to_coefficients(&a)?, &(0..count).collect::<Vec<_>>())?;
        Ok(x.with_bound(BOUND)?)
    };
    let decrypt = |x: &Numbers| {
        let scale = x.scale().to_f64();
        let numbers = x.ciphertexts().iter().map(|c| Ok(lwe.decrypt(c)? as f64 / scale));
        numbers.collect::<Result<Vec<f64>>>()
    };
    let ascending = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let paper = |row: Row, what: &str| row.paper(session.papers.find(PAPER, what));
    let mut rows = Vec::new();
    for side in POOLED {
        let size = side * side;
        let x = extract(16, pegasus.sorting_bound_factor(size.ilog2() as usize))?;
        let start = Instant::now();
        let largest = pegasus.largest(&x, size)?;
        let each = start.elapsed().as_secs_f64() / largest.len() as f64;
        let expected: Vec<f64> = values[..16]
            .chunks(size)
            .map(|group| group.iter().copied().fold(f64::MIN, f64::max))
            .collect();
        let name = format!("max-pooling {side} x {side}");
        rows.push(paper(Row::more_is_better(format!("lut12: {name}"), 1.0 / each, "/s"), &name));
        let (_, worst) = error(&decrypt(&largest)?, &expected);
        rows.push(Row::new(format!("lut12: {name}, worst error"), worst, "log2"));
    }
    for count in SMALLEST_OF {
        let scale = pegasus.plan().table_scale(1.0)?;
        let mut a = fresh.clone();
        a.set_bound(BOUND);
        let x = extract(count, pegasus.tournament_bound_factor_of(&a, 0, count, scale)?)?;
        let start = Instant::now();
        let bits = pegasus.is_smallest(&x, count, scale)?;
        let seconds = start.elapsed().as_secs_f64();
        let bits = decrypt(&bits)?;
        let found = (0..count).fold(0, |best, i| if bits[i] > bits[best] { i } else { best });
        let name = format!("min-index of {count}");
        rows.push(paper(Row::new(format!("lut12: {name}"), seconds, "s"), &name));
        let more = values[found] - ascending(&values[..count])[0];
        rows.push(Row::new(format!("lut12: {name}, the value found over the least"), more, ""));
    }
    for count in SORTED_SINGLE {
        let x = extract(count, pegasus.sorting_bound_factor(Pegasus::sort_rounds(count)))?;
        let start = Instant::now();
        let sorted = pegasus.sort(&x, count)?;
        let seconds = start.elapsed().as_secs_f64();
        let name = format!("sorting {count}");
        rows.push(paper(Row::new(format!("lut12: {name}"), seconds, "s"), &name));
        let (_, worst) = error(&decrypt(&sorted)?, &ascending(&values[..count]));
        rows.push(Row::new(format!("lut12: {name}, worst error"), worst, "log2"));
    }
    Ok(rows)
}

/// Measures sorting of the first slots, from slots to slots.
fn sort(session: &Session, setup: &Setup, tables: &str, values: &[f64]) -> Result<Vec<Row>> {
    let pegasus = &setup.pegasus;
    let mut a = setup.encrypt(&values.iter().copied().cycle().take(SLOTS).collect::<Vec<_>>())?;
    a.set_bound(pegasus.sorting_bound_factor(Pegasus::sort_rounds(SORTED)) * BOUND);
    let start = Instant::now();
    let x = pegasus.extract(&pegasus.to_coefficients(&a)?, &(0..SORTED).collect::<Vec<_>>())?;
    let sorted = pegasus.sort(&x.with_bound(BOUND)?, SORTED)?;
    let y = pegasus.repack(&sorted, &Layout::in_order(SORTED))?;
    let seconds = start.elapsed().as_secs_f64();
    let mut expected = values.to_vec();
    expected.sort_by(f64::total_cmp);
    let (mean, worst) = error(&setup.decrypt(&y)?, &expected);
    let time =
        Row::new(format!("{tables}: sorting {SORTED} values, from slots to slots"), seconds, "s");
    let time = match session.peers.all(PEERS, "bitonic sort of 16 values").into_iter().next() {
        // The target is for the peer's tables.
        Some(figure) if tables == "lut12" => time.against_peer(figure).target(Some(SORT_TARGET)),
        Some(figure) => time.against_peer(figure),
        None => time,
    };
    let off =
        |which: &str, figure| Row::new(format!("{tables}: sorting, {which} error"), figure, "log2");
    Ok(vec![time, off("mean", mean), off("worst", worst)])
}

/// Returns the time of one function of all values, and its mean and worst error.
fn of_function(
    tables: &str,
    name: &str,
    seconds: f64,
    (mean, worst): (f64, f64),
    deviation: f64,
    peer: &dyn Fn(Row, &str) -> Row,
) -> Vec<Row> {
    let total =
        Row::new(format!("{tables}{name} of {SLOTS} values, from slots to slots"), seconds, "s");
    let error = |(which, figure)| {
        let operation = format!("{name}, {which} error");
        peer(Row::new(format!("{tables}{operation}"), figure, "log2"), &operation)
    };
    let stated = Row::new(format!("{tables}{name}, stated deviation"), deviation.log2(), "log2");
    [total]
        .into_iter()
        .chain([("mean", mean), ("worst", worst)].map(error))
        .chain([stated])
        .collect()
}
