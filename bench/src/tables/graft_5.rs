//! The table `graft-5`: the sizes of switching keys, as in Table 5 of GRAFT.

use hippocrene::{Family, PRESETS};

use super::{
    Table,
    pairs::{PAIRS, Pair},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-5",
    about: "GRAFT Table 5: the size of the relinearisation key, grafted against simple. First as \
            the paper counts it (words of 8 bytes, no seed); the targets are its reductions. \
            Then as we store it: residues in as many bits as they need, with and without one \
            half as a seed. Then our own presets",
    memory: "100 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

const KEY: &str = "relinearisation key";

impl Pair {
    fn key_rows(&self, session: &Session) -> Result<Vec<Row>> {
        let [simple, grafted] = ["sim", "gra"].map(|prefix| self.paper_name(prefix));
        let paper = [&simple, &grafted].map(|name| session.papers.find(name, KEY));
        // The paper rounds its sizes to a hundredth.
        let target = match &paper {
            [Some(simple), Some(grafted)] => Some((simple.value - 0.005) / (grafted.value + 0.005)),
            _ => None,
        };
        let sizes = self.parameters("sim")?.switching_key_size();
        let ours = self.parameters("gra")?.switching_key_size();
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let [paper_simple, paper_grafted] = paper;
        Ok(vec![
            Row::new(format!("{simple}: {KEY}"), megabytes(sizes.words), "MB").paper(paper_simple),
            Row::new(format!("{grafted}: {KEY}"), megabytes(ours.words), "MB")
                .against(&simple, megabytes(sizes.words))
                .paper(paper_grafted)
                .target(target),
            Row::new(format!("{grafted}: {KEY}, packed"), megabytes(ours.packed), "MB")
                .against(format!("{simple}, packed"), megabytes(sizes.packed)),
            Row::new(format!("{grafted}: {KEY}, packed and seeded"), megabytes(ours.seeded), "MB")
                .against(format!("{simple}, packed and seeded"), megabytes(sizes.seeded)),
        ])
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for pair in PAIRS {
        rows.extend(pair.key_rows(session)?);
    }
    for preset in PRESETS.into_iter().filter(|p| p.family == Family::Grafted) {
        let size = preset.parameters()?.switching_key_size();
        rows.push(
            Row::new(
                format!("{}: {KEY}, packed and seeded", preset.name),
                size.seeded as f64 / 1e6,
                "MB",
            )
            .against("in words of 8 bytes, without a seed", size.words as f64 / 1e6),
        );
    }
    Ok(rows)
}
