//! The table `laks-5`: the expansion of a key, as in Table 5 of LAKS.

use super::{
    Table,
    laks::{LENGTHS, LOG_N, finest, level},
};
use crate::{
    Result,
    report::Row,
    scheme::Scheme,
    session::{NamedWorks, Session},
    switching::KeySwitch,
};

/// The table.
pub const TABLE: Table = Table {
    name: "laks-5",
    about: "LAKS Table 5: the time to expand the key of the finest gadget to digits of r primes, \
            and the size of the result. N = 2^16, with 40 primes of 44 bits (13 bits beyond our \
            128-bit limit for a ternary secret). The first key switch with an expanded key makes \
            it, so the time is that of the first key switch minus that of the next. The paper's \
            times are those of an Apple M2. Our keys contain all 39 units, while the paper's \
            leave out those in the special modulus",
    memory: "5 GB",
    time: "about 20 seconds",
    live: &[],
    plot: false,
    run,
};

/// The level at which the expanded keys are used.
const LEVEL: usize = 4;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let scheme = Scheme::new(&finest(), session.kernel, 0)?;
    let context = &scheme.context;
    let base = scheme.keys.relinearisation("measure")?.bytes();
    let mut rows = vec![
        Row::new("r = 1, key", base as f64 / 1e6, "MB")
            .against_paper(session.papers.find("laks-5", "r = 1, key")),
    ];
    for r in &LENGTHS[1..] {
        let modulus = level(LEVEL);
        let gadget =
            context.parameters().gadget(modulus, *r).ok_or("no gadget of this digit length")?;
        let switch = || KeySwitch::new(&scheme, gadget, modulus, modulus);
        let (mut first, mut next) = (switch()?, switch()?);
        let mut works = NamedWorks::default();
        works.add("first", || {
            context.set_key_memory(0);
            context.set_key_memory(base);
            first.evaluate()
        });
        works.add("next", || next.evaluate());
        let times = session.time_named(LOG_N, works)?;
        let seconds = times[0].1 - times[1].1;
        let (bytes, _) = context.key_memory();
        let paper = |what: &str| session.papers.find("laks-5", &format!("r = {r}, {what}"));
        rows.push(
            Row::new(format!("r = {r}, expansion"), 1e3 * seconds, "ms")
                .against_paper(paper("expansion")),
        );
        rows.push(
            Row::new(format!("r = {r}, key"), bytes as f64 / 1e6, "MB")
                .against("r = 1", base as f64 / 1e6)
                .paper(paper("key")),
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn every_digit_length_has_its_figures_and_a_gadget() {
        let papers = Papers::load().unwrap();
        let parameters = finest().parameters().unwrap();
        for r in LENGTHS {
            assert_eq!(papers.find("laks-5", &format!("r = {r}, key")).unwrap().unit, "MB");
            assert_eq!(papers.find("laks-5", &format!("r = {r}, expansion")).is_some(), r > 1);
            assert!(parameters.gadget(level(LEVEL), r).is_some());
        }
    }
}
