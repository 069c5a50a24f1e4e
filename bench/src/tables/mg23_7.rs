//! The tables `mg23-7` and `mg23-8`: one digit or two, and the double ring degree, as in Tables 7
//! and 8 of MG23.

use super::{
    Table,
    mg23::{WORDS, at_top, even, peer_rows, shape, sizes, sizes_with, time},
};
use crate::{Result, report::Row, scheme::Scheme, session::Session};

/// The table of one digit against two.
pub const OMEGA: Table = Table {
    name: "mg23-7",
    about: "MG23 Table 7: omega 1 against omega 2 for q of half the paper's bound for log qP. \
            The primes are the fewest below 60 bits, as in the paper, and below 48 bits, our \
            word (up to 9 bits beyond our 128-bit limit). Times are averages over the four \
            combinations of domains. The first row of each pair is compared with the paper's (an \
            Intel Core i9-7900X), or below 48 bits with ours below 60 bits",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run: omega,
};

/// The table of the double degree.
pub const DEGREE: Table = Table {
    name: "mg23-8",
    about: "MG23 Table 8: a large q at the ring degree N with the smallest omega within the \
            paper's bounds for log qP, against the ring degree 2N with omega 2. Primes and \
            comparisons are those of mg23-7. (The paper's omega are 10, 10 and 19, with special \
            moduli that are not whole numbers of primes. Its sets with 2N = 2^18 exceed our ring \
            degrees.) Times are averages over the four combinations of domains",
    memory: "3 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run: degree,
};

/// `log2 N` and `log q`.
const HALVES: [(u32, u32); 4] = [(14, 216), (15, 432), (16, 855), (17, 1711)];
/// log2 of the ring degree at which MG23's own code was timed with both.
const PEERS: u32 = 16;
const LARGE: [(u32, u32); 3] = [(15, 780), (16, 1560), (16, 1624)];

fn omega(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (log_n, log_q) in HALVES {
        let mut larger = None;
        for word in WORDS {
            let units = even(log_q, word);
            let scheme = |omega| Scheme::new(&sizes_with(log_n, &units, omega), session.kernel, 0);
            let (one, two) = (scheme(1)?, scheme(2)?);
            let times = time(session, log_n, [&mut at_top(&one)?, &mut at_top(&two)?])?;
            let schemes = [(&one, "omega 1"), (&two, "omega 2")];
            rows.extend(pair(session, "mg23-7", (log_n, log_q), schemes, (word, larger), times));
            larger = Some(times[0]);
            if log_n == PEERS {
                for (operation, ms) in ["omega 1, folded", "omega 2"].into_iter().zip(times) {
                    let name =
                        format!("N = 2^{log_n}, log q = {log_q}, below {word} bits, {operation}");
                    rows.extend(peer_rows(session, log_n, operation, &name, ms));
                }
            }
        }
    }
    Ok(rows)
}

fn degree(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (log_n, log_q) in LARGE {
        let mut larger = None;
        for word in WORDS {
            let units = even(log_q, word);
            let single = Scheme::new(&sizes(log_n, &units)?, session.kernel, 0)?;
            let double = Scheme::new(&sizes_with(log_n + 1, &units, 2), session.kernel, 0)?;
            let [first] = time(session, log_n, [&mut at_top(&single)?])?;
            let [second] = time(session, log_n, [&mut at_top(&double)?])?;
            let schemes = [(&single, "N"), (&double, "2N")];
            rows.extend(pair(
                session,
                "mg23-8",
                (log_n, log_q),
                schemes,
                (word, larger),
                [first, second],
            ));
            larger = Some(first);
        }
    }
    Ok(rows)
}

/// Returns a row for each of two sets, with the second compared with the first.
///
/// The first is compared with the paper's, whose primes have the larger word. With the smaller word
/// it is compared with the time of the larger (`larger`).
fn pair(
    session: &Session,
    table: &str,
    (log_n, log_q): (u32, u32),
    schemes: [(&Scheme, &str); 2],
    (word, larger): (u32, Option<f64>),
    [first, second]: [f64; 2],
) -> [Row; 2] {
    let set = format!("N = 2^{log_n}, log q = {log_q}");
    let [(one, one_name), (two, two_name)] = schemes;
    let paper = |which: &str| {
        session.papers.find(table, &format!("{set}, {which}")).filter(|_| larger.is_none())
    };
    let row = |scheme: &Scheme, which: &str, ms| {
        let shape = shape(scheme, scheme.top());
        Row::new(format!("{set}, below {word} bits, {which} ({shape})"), ms, "ms")
    };
    let row_of_one = row(one, one_name, first);
    let row_of_one = match larger {
        Some(ms) => row_of_one.against(format!("below {} bits", WORDS[0]), ms),
        None => row_of_one.against_paper(paper(one_name)),
    };
    [row_of_one, row(two, two_name, second).paper(paper(two_name)).against(one_name, first)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Papers, Peers};

    #[test]
    fn every_set_has_its_figures() {
        let papers = Papers::load().unwrap();
        let peers = Peers::load().unwrap().all(&format!("MG23 N = 2^{PEERS}"), "omega 2");
        assert_eq!(peers[0].value, 61.2);
        for (table, sets, names) in
            [("mg23-7", &HALVES[..], ["omega 1", "omega 2"]), ("mg23-8", &LARGE[..], ["N", "2N"])]
        {
            for (log_n, log_q) in sets {
                for name in names {
                    assert!(
                        papers
                            .find(table, &format!("N = 2^{log_n}, log q = {log_q}, {name}"))
                            .is_some()
                    );
                }
                for word in WORDS {
                    assert!(even(*log_q, word).iter().all(|bits| *bits <= word));
                }
            }
        }
        for (log_n, log_q) in LARGE {
            assert!(
                WORDS.into_iter().all(|word| sizes(log_n, &even(log_q, word)).unwrap().dnum > 2)
            );
        }
    }
}
