//! The table `mg23-9`: constants folded or not, as in Table 9 of MG23, and the two key switches
//! with targets.

use hippocrene_ring::{Domain, Poly};

use super::{
    Table,
    mg23::{WORDS, at_top, even, peer_rows, shape, sizes_with},
};
use crate::{
    Result,
    floor::Shape,
    naive::Naive,
    report::Row,
    scheme::Scheme,
    session::{NamedWorks, Session},
    switching::{DOMAINS, KeySwitch, Parts},
};

/// The table.
pub const TABLE: Table = Table {
    name: "mg23-9",
    about: "MG23 Table 9: every constant multiplied on its own (naive), against folded \
            constants. omega is the paper's, and the primes are the fewest below 60 bits, as in \
            the paper, and below 48 bits, our word (up to 2% beyond our 128-bit limit). Both \
            give the same result, bit by bit. Times are averages over the four combinations of \
            domains. Then omega 1 against MG23's own code, and against its multiplications \
            alone, counted (one of 512 bits per cycle, scaled like peers) and measured. N = 2^17 \
            runs with our word only",
    memory: "4 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// `log2 N`, `log q` and omega.
const SETS: [(u32, u32, usize); 19] = [
    (14, 216, 1),
    (14, 280, 2),
    (14, 324, 3),
    (14, 342, 5),
    (15, 432, 1),
    (15, 560, 2),
    (15, 649, 3),
    (15, 684, 5),
    (15, 728, 6),
    (16, 855, 1),
    (16, 1121, 2),
    (16, 1298, 3),
    (16, 1380, 5),
    (16, 1475, 6),
    (17, 1711, 1),
    (17, 2242, 2),
    (17, 2580, 3),
    (17, 2760, 5),
    (17, 2940, 6),
];

/// The paper's largest gain.
const PAPER_GAIN: f64 = 1.116;

/// The target against MG23's own code, as a factor.
const PEER_TARGET: f64 = 2.6;
/// The target for the share of multiplications in the time of a key switch.
const FLOOR_TARGET: f64 = 0.5;

/// A naive key switch, with the buffers for its result.
struct NaiveSwitch<'a> {
    naive: Naive<'a>,
    parts: Parts,
    out: [Poly; 2],
}

impl NaiveSwitch<'_> {
    fn all_domains(&mut self) {
        for [input, output] in DOMAINS {
            let [out0, out1] = &mut self.out;
            let [c0, c1, c2] = self.parts.of(input);
            self.naive.run([out0, out1], c2, [c0, c1], output);
        }
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut gains = Vec::new();
    for (log_n, log_q, omega) in SETS {
        for word in WORDS.into_iter().filter(|word| log_n < 17 || *word != WORDS[0]) {
            let parameters = sizes_with(log_n, &even(log_q, word), omega).parameters()?;
            let (scheme, stored) = Scheme::with_stored_keys(parameters, session.kernel, 0)?;
            let (context, top) = (&scheme.context, scheme.top());
            let key = stored.relinearisation().ok_or("no relinearisation key")?;
            let mut naive = NaiveSwitch {
                naive: Naive::new(context, key, top),
                parts: Parts::new(&scheme, top)?,
                out: [(); 2].map(|()| context.zero(top, Domain::Evaluation)),
            };
            drop(stored);
            let mut folded = at_top(&scheme)?;
            let [naive, folded] = time(session, log_n, &mut naive, &mut folded)?;
            gains.push(naive / folded);
            let set = format!("N = 2^{log_n}, log q = {log_q}");
            let paper = |which: &str| {
                session
                    .papers
                    .find("mg23-9", &format!("{set}, {which}"))
                    .filter(|_| word == WORDS[0])
            };
            let name = format!("{set}, below {word} bits ({})", shape(&scheme, top));
            rows.push(Row::new(format!("{name}, naive"), naive, "ms").paper(paper("naive")));
            rows.push(
                Row::new(format!("{name}, folded"), folded, "ms")
                    .against("naive", naive)
                    .paper(paper("folded")),
            );
            if omega == 1 && word != WORDS[0] {
                rows.extend(absolute(session, log_n, &name, &scheme, [naive, folded])?);
            }
        }
    }
    let (best, average) =
        (gains.iter().copied().fold(0.0, f64::max), gains.iter().sum::<f64>() / gains.len() as f64);
    rows.push(
        Row::more_is_better("folding gains, at most", best, "x")
            .against("the paper's", PAPER_GAIN)
            .target(Some(1.0)),
    );
    rows.push(
        Row::more_is_better("folding gains, on average", average, "x")
            .against("the paper's", 1.048)
            .target(Some(1.0)),
    );
    Ok(rows)
}

/// Returns the milliseconds of the naive and the folded key switch, averaged over the combinations
/// of domains.
fn time(
    session: &mut Session,
    log_n: u32,
    naive: &mut NaiveSwitch,
    folded: &mut KeySwitch,
) -> Result<[f64; 2]> {
    let mut works = NamedWorks::default();
    works.add("naive", || {
        naive.all_domains();
        Ok(())
    });
    works.add("folded", || folded.all_domains());
    let times = match log_n {
        17 => session.time_named(log_n, works)?,
        _ => session.time_closely(log_n, works)?,
    };
    let mut times = times.into_iter();
    let each = 1e3 / DOMAINS.len() as f64;
    Ok([(); 2].map(|()| times.next().map_or(f64::NAN, |(_, seconds)| each * seconds)))
}

/// Compares both key switches with MG23's own code where it was measured, and the folded one there
/// with its multiplications.
fn absolute(
    session: &mut Session,
    log_n: u32,
    name: &str,
    scheme: &Scheme,
    [naive, folded]: [f64; 2],
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (which, ms, target) in [("naive", naive, None), ("folded", folded, Some(PEER_TARGET))] {
        let peers = peer_rows(session, log_n, &peer(log_n, which), &format!("{name}, {which}"), ms);
        rows.extend(peers.into_iter().map(|row| row.target(target)));
    }
    if !rows.is_empty() {
        let parameters = scheme.context.parameters();
        let digits = parameters.digits(scheme.top()).map(|(_, digit)| digit.limb_count()).collect();
        let floor = Shape { log_n, digits, specials: parameters.specials().limb_count() };
        let row = || Row::new(format!("{name}, folded"), folded, "ms");
        rows.push(row().against_peer(floor.counted()).target(Some(FLOOR_TARGET)));
        let measured = floor.measured(session)?;
        rows.push(
            row().against("its parts alone, in the cache", measured).target(Some(FLOOR_TARGET)),
        );
    }
    Ok(rows)
}

/// Names the figure of MG23's own code.
fn peer(log_n: u32, which: &str) -> String {
    match log_n {
        15 => format!("Q 432 = P 432 bits, omega 1, {which}"),
        _ => format!("omega 1, {which}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Papers, Peers};

    #[test]
    fn every_set_has_its_figures() {
        let papers = Papers::load().unwrap();
        let mut gains = Vec::new();
        for (log_n, log_q, omega) in SETS {
            let figure = |which: &str| {
                papers
                    .find("mg23-9", &format!("N = 2^{log_n}, log q = {log_q}, {which}"))
                    .unwrap()
                    .value
            };
            gains.push(figure("naive") / figure("folded"));
            for word in WORDS {
                assert_eq!(sizes_with(log_n, &even(log_q, word), omega).dnum, omega);
            }
        }
        // The paper computed its gains from more digits than it prints.
        assert!((gains.iter().copied().fold(0.0, f64::max) - PAPER_GAIN).abs() < 0.005);
        let peers = Peers::load().unwrap();
        let peer =
            |log_n, which| peers.all(&format!("MG23 N = 2^{log_n}"), &peer(log_n, which))[0].value;
        assert_eq!([peer(15, "naive"), peer(15, "folded")], [15.0, 13.9]);
        assert_eq!([peer(16, "naive"), peer(16, "folded")], [64.9, 61.2]);
    }
}
