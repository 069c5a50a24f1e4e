//! The table `laks-5`: the expansion of a key, as in Table 5 of LAKS, against sending the expanded
//! keys, as in LAKS 5.3.

use super::{
    Table,
    laks::{BITS, LENGTHS, LOG_N, PRIMES, finest, level},
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
            leave out those in the special modulus. Then LAKS 5.3: the keys for r = 2, 4, 8 and \
            16 that a client would otherwise send, in words of 8 bytes as the paper counts them \
            or as we store them, and the time to send them at 1 Gbit/s. 48 is the paper's number \
            of keys for a bootstrap by Lattigo",
    memory: "4 GB",
    time: "about 20 seconds",
    live: &[],
    plot: false,
    run,
};

/// The level at which the expanded keys are used.
const LEVEL: usize = 4;

/// The speed of the network, in bits a second (LAKS 5.3).
const NETWORK_BITS_PER_SECOND: f64 = 1e9;

/// The number of keys of a bootstrap by Lattigo (LAKS 5.3).
const BOOTSTRAP_KEYS: usize = 48;

/// The bytes of a key that a client would send.
struct SentKey {
    /// With residues in words of 8 bytes.
    words: usize,
    /// With packed residues, and half of the polynomials as a seed.
    seeded: usize,
}

impl SentKey {
    /// The key for digits of `r` primes, with `r` special primes. LAKS Table 5 has these sizes.
    fn of_digits(r: usize) -> Self {
        let residues = ((PRIMES - r).div_ceil(r) * PRIMES) << LOG_N;
        SentKey { words: 2 * residues * 8, seeded: residues * BITS as usize / 8 + SEED_BYTES }
    }
}

/// The bytes of a seed.
const SEED_BYTES: usize = 32;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let scheme = Scheme::new(&finest(), session.kernel, 0)?;
    let context = &scheme.context;
    let base = scheme.keys.relinearisation("measure")?.bytes();
    let mut rows = vec![
        Row::new("r = 1, key", base as f64 / 1e6, "MB")
            .against_paper(session.papers.find("laks-5", "r = 1, key")),
    ];
    let mut all_seconds = 0.0;
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
        all_seconds += seconds;
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
    rows.extend(communication(session, all_seconds));
    Ok(rows)
}

/// Compares sending the keys for all `r` but the finest with their expansion in `expansion`
/// seconds.
fn communication(session: &Session, expansion: f64) -> Vec<Row> {
    let paper = |what: &str| session.papers.find("laks-5", what);
    let row = |name: &str, value: f64, unit| Row::new(name, value, unit).against_paper(paper(name));
    let keys: Vec<SentKey> = LENGTHS[1..].iter().map(|r| SentKey::of_digits(*r)).collect();
    let words: usize = keys.iter().map(|key| key.words).sum();
    let seeded: usize = keys.iter().map(|key| key.seeded).sum();
    let sending = |bytes: usize| 8.0 * bytes as f64 / NETWORK_BITS_PER_SECOND;
    let gigabytes = |bytes: usize| (BOOTSTRAP_KEYS * bytes) as f64 / 1e9;
    let mut rows = vec![
        row("all r, expansion", 1e3 * expansion, "ms"),
        row("all r, keys", words as f64 / 1e6, "MB"),
        row("all r, sending the keys", sending(words), "s"),
    ];
    for (name, bytes) in [
        ("all r, expansion instead of sending", words),
        ("all r, expansion instead of sending packed and seeded keys", seeded),
    ] {
        let faster = Row::more_is_better(name, sending(bytes) / expansion, "x");
        rows.push(faster.paper(paper(name)));
    }
    rows.push(row("all r, keys of a bootstrap", gigabytes(words), "GB"));
    rows.push(Row::new("all r, keys of a bootstrap, packed and seeded", gigabytes(seeded), "GB"));
    rows
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

    /// LAKS Table 5 rounds the sizes to 10 MB. The key for `r = 16` has 84 MB.
    #[test]
    fn sent_keys_have_the_sizes_of_the_paper() {
        let papers = Papers::load().unwrap();
        for r in LENGTHS {
            let paper = papers.find("laks-5", &format!("r = {r}, key")).unwrap().value;
            let megabytes = SentKey::of_digits(r).words as f64 / 1e6;
            assert!((megabytes - paper).abs() < 0.06 * paper, "r = {r}: {megabytes}, {paper}");
        }
        let ours = finest().parameters().unwrap().switching_key_size();
        let SentKey { words, seeded } = SentKey::of_digits(1);
        assert_eq!((words, seeded), (ours.words, ours.seeded));
    }
}
