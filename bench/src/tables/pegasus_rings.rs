//! The tables `pegasus-fig7-rings` and `pegasus-6-threads`: look-ups of single numbers by ring
//! degree (PEGASUS Fig. 7), and on two threads (Table VI).

use hippocrene_fhew::{
    BlindRotationKey, LookupTable, LweCiphertext, LweParameters, LweSecretKey,
    PreparedBlindRotationKey, Preset, RotationParameters,
};
use hippocrene_ring::{Threads, primes};
use hippocrene_rlwe::SecretDistribution;

use super::{
    Table,
    pegasus_5::{DOMAIN, FUNCTIONS, TOGETHER, errors, inputs},
};
use crate::{
    Result,
    plot::{Panel, Plot},
    report::Row,
    session::{NamedWorks, Session},
};

/// The table of ring degrees.
pub const RINGS: Table = Table {
    name: "pegasus-fig7-rings",
    about: "PEGASUS Fig. 7 for single numbers: -log2 of the mean error of functions on [-8, 8] \
            by one table, and the time of a look-up, for rings of degree 2^11 to 2^14. Inputs \
            are fresh LWE ciphertexts of dimension 1024, so that only the table is measured. \
            The rings up to 2^13 are those of lut11 to lut13. All have 128 bits of security. A \
            ring of 2^10 would need a modulus of 27 bits or less",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: true,
    run: rings,
};

/// The table of threads.
pub const THREADS: Table = Table {
    name: "pegasus-6-threads",
    about: "PEGASUS Table VI on two threads: look-ups a second with lut12, eight at a time, \
            against one thread. The other functions of Table VI are sequences of such look-ups. \
            The paper has 1.06 look-ups a second on one thread and 3.95 on four, a gain of 0.93 \
            for each thread. Ours do not include the switch back",
    memory: "1 GB",
    time: "about half a minute",
    live: &[],
    plot: false,
    run: threads,
};

const LOG_DEGREES: [u32; 4] = [11, 12, 13, 14];

/// Returns the rotations in a ring of this degree. Up to `2^13` they are those of a preset.
fn rotation(log_degree: u32) -> Result<RotationParameters> {
    let of_preset = Preset::by_name(&format!("lut{}", log_degree.min(13)))?.rotation();
    if log_degree <= 13 {
        return Ok(of_preset);
    }
    let q = primes::ntt_primes(48, 1 << log_degree, 1, &[])?[0];
    let ring = LweParameters::new(1 << log_degree, q, SecretDistribution::Ternary)?;
    Ok(RotationParameters::new(of_preset.input(), ring, of_preset.gadget())?)
}

/// The keys of look-ups in one ring.
struct Keys {
    parameters: RotationParameters,
    input: LweSecretKey,
    ring: LweSecretKey,
    rotation: PreparedBlindRotationKey,
}

impl Keys {
    fn new(log_degree: u32) -> Result<Self> {
        let parameters = rotation(log_degree)?;
        let input = LweSecretKey::generate(parameters.input())?;
        let ring = LweSecretKey::generate(parameters.ring())?;
        let key = BlindRotationKey::generate(parameters, &input, &ring, &Threads::single())?;
        Ok(Keys { parameters, input, ring, rotation: key.prepare(&Threads::single())? })
    }

    /// The scale of the entries of tables.
    fn scale(&self) -> f64 {
        self.parameters.ring().modulus() as f64 / (8.0 * DOMAIN)
    }

    fn tables(&self) -> Result<Vec<LookupTable>> {
        let table = |(_, f)| Ok(LookupTable::new(&self.parameters, DOMAIN, self.scale(), f)?);
        FUNCTIONS.into_iter().map(table).collect()
    }

    fn inputs(&self, table: &LookupTable) -> Result<Vec<(f64, LweCiphertext)>> {
        inputs(&self.input, table.input_scale(self.parameters.input().modulus()))
    }
}

fn rings(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut curves = FUNCTIONS.map(|(name, _)| (name.to_string(), Vec::new()));
    let mut times = Vec::new();
    for log_degree in LOG_DEGREES {
        let keys = Keys::new(log_degree)?;
        let tables = keys.tables()?;
        let inputs = keys.inputs(&tables[0])?;
        let [seconds] = session.time(
            log_degree,
            [&mut || Ok(keys.rotation.look_up(&inputs[0].1, &tables[0]).map(drop)?)],
        )?;
        let x = f64::from(log_degree);
        times.push((x, 1e3 * seconds));
        rows.push(Row::new(format!("ring 2^{log_degree}: a look-up"), 1e3 * seconds, "ms"));
        for (((name, f), table), (_, curve)) in FUNCTIONS.into_iter().zip(&tables).zip(&mut curves)
        {
            let [mean, _] = errors(&keys.rotation, &keys.ring, &inputs, (table, keys.scale()), f)?;
            curve.push((x, -mean.log2()));
            let name = format!("ring 2^{log_degree}: {name}, -log2 of the mean error");
            rows.push(Row::more_is_better(name, -mean.log2(), "bits"));
        }
    }
    let panel = |title: &str, y: &str, curves| Panel {
        title: format!("PEGASUS Fig. 7, single numbers: {title}"),
        x: "log2 of the ring degree".into(),
        y: y.into(),
        curves,
    };
    session.plot = Plot {
        panels: vec![
            panel("accuracy of functions", "-log2 of the mean error", curves.to_vec()),
            panel("time of a look-up", "ms", vec![("one table".into(), times)]),
        ],
    };
    Ok(rows)
}

fn threads(session: &mut Session) -> Result<Vec<Row>> {
    let Some(cores) = session.cores.clone().filter(|cores| cores.count() > 1) else {
        return Ok(vec![Row::missing("there is one core only")]);
    };
    let keys = Keys::new(12)?;
    let tables = keys.tables()?;
    let inputs = keys.inputs(&tables[0])?;
    let items: Vec<(&LweCiphertext, &LookupTable)> =
        inputs[..TOGETHER].iter().map(|(_, input)| (input, &tables[0])).collect();
    let (one, two) = (Threads::single(), Threads::new(2)?);
    cores.spread(&two)?;
    let mut works = NamedWorks::default();
    for threads in [&one, &two] {
        let (rotation, items) = (&keys.rotation, &items);
        works.add("look-ups", move || Ok(rotation.look_up_all(items, threads).map(drop)?));
    }
    let times = session.time_named(12, works)?;
    let a_second = |i: usize| TOGETHER as f64 / times[i].1;
    let paper = session.papers.find("pegasus-6", "look-ups a second");
    Ok(vec![
        Row::more_is_better("one thread: look-ups a second", a_second(0), "/s").paper(paper),
        Row::more_is_better("two threads: look-ups a second", a_second(1), "/s")
            .against("one thread", a_second(0)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_is_secure_and_has_its_degree() {
        for log_degree in LOG_DEGREES {
            assert_eq!(rotation(log_degree).unwrap().ring().dimension(), 1 << log_degree);
        }
    }
}
