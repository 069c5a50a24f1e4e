//! `pegasus-fig7`: what look-ups are off by and what they take, by ring degree, as in PEGASUS Fig. 7.

use hippocrene_fhew::{BlindRotationKey, LookupTable, LweSecretKey, Preset};

use super::{
    Table,
    pegasus_5::{DOMAIN, FUNCTIONS, errors, inputs},
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
    about: "PEGASUS Fig. 7: -log2 of the mean error of one look-up on [-8, 8] and its time, by ring degree, with lut11 to lut13 at 128 bits of security; the paper's ring of \
            2^12 with secrets of weight 64 is said to be within 7 to 10 bits",
    memory: "2 GB",
    time: "3 minutes",
    live: &[],
    plot: true,
    run,
};

const NAMES: [&str; 3] = ["lut11", "lut12", "lut13"];
const VALUES: usize = 256;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut curves = FUNCTIONS.map(|(name, _)| (name.to_string(), Vec::new()));
    let mut times = Vec::new();
    for name in NAMES {
        let parameters = Preset::by_name(name)?.rotation();
        let degree = f64::from(parameters.ring().dimension().ilog2());
        let input = LweSecretKey::generate(parameters.input())?;
        let ring = LweSecretKey::generate(parameters.ring())?;
        let key = BlindRotationKey::generate(parameters, &input, &ring)?.prepare()?;
        let scale = parameters.ring().modulus() as f64 / (8.0 * DOMAIN);
        for ((function, f), (_, points)) in FUNCTIONS.into_iter().zip(&mut curves) {
            let table = LookupTable::new(&parameters, DOMAIN, scale, f)?;
            let inputs = inputs(&input, table.input_scale(parameters.input().modulus()), VALUES)?;
            let [mean, _] = errors(&key, &ring, &inputs, (&table, scale), f)?;
            points.push((degree, -mean.log2()));
            rows.push(Row::more(
                format!("{name}: {function}, -log2 of the mean error"),
                -mean.log2(),
                "bits",
            ));
            if times.len() < points.len() {
                let [seconds] = session.time(
                    degree as u32,
                    [&mut || {
                        key.look_up(&inputs[0].1, &table)?;
                        Ok(())
                    }],
                )?;
                times.push((degree, 1e3 * seconds));
                rows.push(Row::new(format!("{name}: a look-up"), 1e3 * seconds, "ms"));
            }
        }
    }
    let panel = |title: &str, y: &str, curves| Panel {
        title: format!("PEGASUS Fig. 7: {title}"),
        x: "log2 of the ring degree".into(),
        y: y.into(),
        curves,
    };
    session.plot = Plot {
        panels: vec![
            panel("accuracy of look-ups", "-log2 of the mean error", curves.to_vec()),
            panel("time of a look-up", "ms", vec![("one table".into(), times)]),
        ],
    };
    Ok(rows)
}
