//! The table `pegasus-fig7`: the errors of functions and the time of a look-up by ring degree, as
//! in PEGASUS Fig. 7.

use super::{
    Table,
    pegasus_5::FUNCTIONS,
    pegasus_slots::{BOUND, Setup, error, values},
};
use crate::{
    Result,
    plot::{Panel, Plot},
    report::Row,
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-fig7",
    about: "PEGASUS Fig. 7, by ring degree: -log2 of the mean error of functions on [-8, 8] from \
            slots to slots, and the time of a look-up. Functions use one table, or two with one \
            for slopes. The tables are lut11 to lut13 at 128 bits of security and N = 2^16. The \
            paper has 7 to 10 bits at a ring of 2^12, with secrets of weight 64. Then the worst \
            error of 256 values after repacking, by the better of the two ways; the target from \
            a ring of 2^12 on is 2^-7",
    memory: "8 GB",
    time: "8 minutes",
    live: &[],
    plot: true,
    run,
};

const NAMES: [&str; 3] = ["lut11", "lut12", "lut13"];
const SLOTS: usize = 256;
/// The bits of precision that functions need at the paper's ring degree.
const MIN_PRECISION_BITS: (f64, f64) = (12.0, 7.0);
/// log2 of the largest allowed error of any value after repacking, from that ring degree on.
const MAX_ERROR_LOG2: f64 = -7.0;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut curves = FUNCTIONS.map(|(name, _)| (name.to_string(), Vec::new()));
    let mut times = Vec::new();
    let all: Vec<usize> = (0..SLOTS).collect();
    for name in NAMES {
        let setup = Setup::new(name, &[SLOTS])?;
        let pegasus = &setup.pegasus;
        let log_degree = pegasus.plan().literal().tables.ring().dimension().ilog2();
        let degree = f64::from(log_degree);
        let values = values(SLOTS);
        let a = setup.encrypt(&values)?;
        let x = pegasus.extract(&pegasus.to_coefficients(&a)?, &[0])?;
        let scale = pegasus.plan().table_scale(BOUND)?;
        let [seconds] = session.time(
            log_degree,
            [&mut || {
                pegasus.look_up(&x, scale, FUNCTIONS[0].1)?;
                Ok(())
            }],
        )?;
        times.push((degree, 1e3 * seconds));
        rows.push(Row::new(format!("{name}: a look-up and the switch back"), 1e3 * seconds, "ms"));
        for ((function, f), (_, points)) in FUNCTIONS.into_iter().zip(&mut curves) {
            let made = pegasus.make_tables((-BOUND, BOUND), 1, f)?;
            let expected: Vec<f64> = values.iter().map(|x| f(*x)).collect();
            let tangents = pegasus.make_tangents((-BOUND, BOUND), f)?;
            let least = (degree == MIN_PRECISION_BITS.0).then_some(MIN_PRECISION_BITS.1);
            let mut worst = f64::INFINITY;
            for (how, y) in [
                ("", pegasus.apply(&a, &made, &all)?),
                (" with slopes", pegasus.apply_tangents(&a, &tangents, &all)?),
            ] {
                let (mean, largest) = error(&setup.decrypt(&y)?, &expected);
                worst = worst.min(largest);
                if how.is_empty() {
                    points.push((degree, -mean));
                }
                let row = Row::more_is_better(
                    format!("{name}: {function}{how}, -log2 of the mean error"),
                    -mean,
                    "bits",
                );
                rows.push(least.map_or(row.clone(), |bits| {
                    row.against("the paper's range", bits).target(Some(1.0))
                }));
            }
            let name = format!("{name}: {function}, worst error from slots to slots");
            let target = (degree >= MIN_PRECISION_BITS.0).then_some(1.0);
            rows.push(
                Row::new(name, worst, "log2").against("at most", MAX_ERROR_LOG2).target(target),
            );
        }
    }
    session.plot = plot("PEGASUS Fig. 7", curves.to_vec(), times);
    Ok(rows)
}

/// Draws the accuracy of functions and the time of a look-up by log2 of the ring degree.
pub fn plot(figure: &str, curves: Vec<(String, Vec<(f64, f64)>)>, times: Vec<(f64, f64)>) -> Plot {
    let panel = |title: &str, y: &str, curves| Panel {
        title: format!("{figure}: {title}"),
        x: "log2 of the ring degree".into(),
        y: y.into(),
        curves,
    };
    Plot {
        panels: vec![
            panel("accuracy of functions", "-log2 of the mean error", curves),
            panel("time of a look-up", "ms", vec![("one table".into(), times)]),
        ],
    }
}
