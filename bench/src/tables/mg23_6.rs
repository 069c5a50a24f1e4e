//! The tables `mg23-5` and `mg23-6`: small and large primes, prime switching, and grafting, as in
//! Tables 5 and 6 of MG23.

use hippocrene_rlwe::Modulus;

use super::{
    Table,
    mg23::{at_top, bound, grafted, peer_rows, shape, sizes, sizes_within, time},
};
use crate::{Result, report::Row, scheme::Scheme, session::Session, switching::KeySwitch};

/// The table of prime switching.
pub const SWITCHING: Table = Table {
    name: "mg23-5",
    about: "MG23 Table 5: the cost of prime switching within a key switch, which exchanges small \
            primes of 36 bits for large ones and leaves log q unchanged. 3 small primes come in \
            for 2 of 54 bits as in the paper, or 4 for 3 of 48 bits, our word. q has at least 3 \
            primes of 36 bits at the start. Both key switches have one set, with the incoming \
            primes on both sides, and the smallest omega within the paper's bounds for log qP \
            without them. (They exceed our 128-bit limit by these primes and up to 3 bits.) \
            Times are averages over the four combinations of domains",
    memory: "3 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run: switching,
};

/// The table of small and large primes.
pub const SIZES: Table = Table {
    name: "mg23-6",
    about: "MG23 Table 6: primes of 36 bits only, compared with mostly large primes and at least \
            3 of 36 bits. The large primes have 54 bits as in the paper, or 48 bits, our word. \
            Then compared with a grafted chain in words of 48 bits at the same log q, whose \
            moduli have small steps without small primes, so that nothing is switched in. omega \
            is the smallest within the paper's bounds for log qP (up to 3 bits beyond our \
            128-bit limit). Times are averages over the four combinations of domains",
    memory: "6 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run: prime_sizes,
};

/// `log2 N` and `log q` of every set.
const SETS: [(u32, u32); 11] = [
    (14, 252),
    (14, 288),
    (15, 396),
    (15, 540),
    (15, 612),
    (16, 828),
    (16, 1116),
    (16, 1260),
    (17, 1692),
    (17, 2268),
    (17, 2556),
];

const SMALL_BITS: u32 = 36;
/// The minimum number of small primes in a modulus of mostly large ones.
const MIN_SMALL_PRIMES: u32 = 3;

/// Large primes: `mu` of `bits` bits are exchanged for `kappa` small ones.
#[derive(Clone, Copy)]
struct Large {
    bits: u32,
    mu: usize,
    kappa: usize,
}

/// The large primes of the paper, and our word.
const LARGE: [Large; 2] =
    [Large { bits: 54, mu: 2, kappa: 3 }, Large { bits: 48, mu: 3, kappa: 4 }];

/// Names the figure of MG23's own code at one `log q`.
fn peer(log_q: u32, primes: &str) -> String {
    format!("{log_q} bits, omega 2, {primes}")
}

/// Returns the units of a modulus of mostly large primes, the large ones first. Small ones make up
/// the rest of the bits.
fn mostly_large(log_q: u32, large: Large) -> Vec<u32> {
    let rest = |small: &u32| (log_q - small * SMALL_BITS).is_multiple_of(large.bits);
    let small = (MIN_SMALL_PRIMES..=log_q / SMALL_BITS).find(rest).unwrap_or(log_q / SMALL_BITS);
    let count = (log_q - small * SMALL_BITS) / large.bits;
    [vec![large.bits; count as usize], vec![SMALL_BITS; small as usize]].concat()
}

fn switching(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (log_n, log_q) in SETS {
        for large in LARGE {
            let units = mostly_large(log_q, large);
            let Large { bits, mu, kappa } = large;
            let (all, bound) = with_incoming(log_n, &units, large);
            let scheme = Scheme::new(&sizes_within(log_n, &all, bound)?, session.kernel, 0)?;
            let from = Modulus::of_range(0..units.len());
            let incoming = Modulus::of_range(units.len()..all.len());
            let to = from.without(Modulus::of_range(0..mu)).lcm(incoming);
            let gadget = scheme.context.parameters().base_gadget();
            let switch = |to| KeySwitch::new(&scheme, gadget, from, to);
            let [fixed_time, time] = time(session, log_n, [&mut switch(from)?, &mut switch(to)?])?;
            let name = format!(
                "N = 2^{log_n}, log q = {log_q}, primes of {bits} bits ({})",
                shape(&scheme, from)
            );
            let paper = |which: &str| {
                session
                    .papers
                    .find("mg23-5", &format!("N = 2^{log_n}, log q = {log_q}, {which}"))
                    .filter(|_| bits == 54)
            };
            rows.push(Row::new(&name, fixed_time, "ms").paper(paper("folded")));
            let name = format!("{name}, {mu} out and {kappa} in");
            rows.push(
                Row::new(&name, time, "ms").against("without", fixed_time).paper(paper("switch")),
            );
            rows.extend(peer_rows(session, log_n, &peer(log_q, "switching"), &name, time));
        }
    }
    Ok(rows)
}

/// Returns the units including the small primes that come in, and the paper's bound enlarged by
/// them.
fn with_incoming(log_n: u32, units: &[u32], large: Large) -> (Vec<u32>, u32) {
    let incoming = vec![SMALL_BITS; large.kappa];
    let bits: u32 = incoming.iter().sum();
    ([units, &incoming].concat(), bound(log_n) + bits)
}

fn prime_sizes(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut gains = [Vec::new(), Vec::new(), Vec::new()];
    for (log_n, log_q) in SETS {
        let kernel = session.kernel;
        let scheme = |units: &[u32]| Scheme::new(&sizes(log_n, units)?, kernel, 0);
        let small = scheme(&vec![SMALL_BITS; (log_q / SMALL_BITS) as usize])?;
        let [paper_large, our_large] = LARGE.map(|large| scheme(&mostly_large(log_q, large)));
        let (paper_large, our_large) = (paper_large?, our_large?);
        let (grafted, from) = grafted(log_n, log_q, kernel)?;
        let gadget = grafted.context.parameters().base_gadget();
        let [small_time, times @ ..] = time(
            session,
            log_n,
            [
                &mut at_top(&small)?,
                &mut at_top(&paper_large)?,
                &mut at_top(&our_large)?,
                &mut KeySwitch::new(&grafted, gadget, from, from)?,
            ],
        )?;
        let set = format!("N = 2^{log_n}, log q = {log_q}");
        let paper = |which: &str| session.papers.find("mg23-6", &format!("{set}, {which}"));
        let name =
            |kind: &str, scheme: &Scheme, at| format!("{set}, {kind} ({})", shape(scheme, at));
        let against = format!("36 bits ({})", shape(&small, small.top()));
        let row_name = name("36 bits", &small, small.top());
        rows.push(Row::new(&row_name, small_time, "ms").paper(paper("small")));
        rows.extend(peer_rows(session, log_n, &peer(log_q, "small primes"), &row_name, small_time));
        let [first, second, third] = times;
        for (kind, scheme, at, ms, paper) in [
            ("mostly 54 bits", &paper_large, paper_large.top(), first, paper("large")),
            ("mostly 48 bits", &our_large, our_large.top(), second, paper("large")),
            ("grafted", &grafted, from, third, None),
        ] {
            let row_name = name(kind, scheme, at);
            rows.push(Row::new(&row_name, ms, "ms").against(&against, small_time).paper(paper));
            rows.extend(peer_rows(session, log_n, &peer(log_q, "large primes"), &row_name, ms));
        }
        for (gains, ms) in gains.iter_mut().zip(times) {
            gains.push(small_time / ms);
        }
    }
    let average = |gains: &[f64]| gains.iter().sum::<f64>() / gains.len() as f64;
    let [paper_large, our_large, grafted] = gains.map(|gains| average(&gains));
    let best = paper_large.max(our_large);
    let paper = session.papers.find("mg23-6", "average speed-up");
    let wanted = paper.as_ref().map_or(f64::NAN, |figure| figure.value);
    for (kind, gain, target) in
        [("mostly 54 bits", paper_large, None), ("mostly 48 bits", our_large, Some(1.0))]
    {
        rows.push(
            Row::more_is_better(format!("{kind} against 36 bits, average"), gain, "x")
                .against("the paper's primes", wanted)
                .paper(paper.clone())
                .target(target),
        );
    }
    rows.push(
        Row::more_is_better("grafted against 36 bits, average", grafted, "x")
            .against("the better of mostly large primes", best)
            .paper(paper)
            .target(Some(1.0)),
    );
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Papers, Peers};

    #[test]
    fn every_set_has_the_papers_primes_and_figures() {
        let papers = Papers::load().unwrap();
        let peers = Peers::load().unwrap();
        for primes in ["small primes", "large primes", "switching"] {
            assert_eq!(peers.all("MG23 N = 2^15", &peer(540, primes)).len(), 1);
        }
        let count = |units: &[u32], bits: u32| units.iter().filter(|b| **b == bits).count();
        // The paper states one set: 4 primes of 36 and 18 of 54 bits.
        let units = mostly_large(1116, LARGE[0]);
        assert_eq!((count(&units, SMALL_BITS), count(&units, 54)), (4, 18));
        for (log_n, log_q) in SETS {
            for large in LARGE {
                let units = mostly_large(log_q, large);
                assert_eq!(units.iter().sum::<u32>(), log_q);
                assert!(
                    count(&units, SMALL_BITS) >= MIN_SMALL_PRIMES as usize
                        && count(&units, large.bits) >= large.mu.min(2)
                );
                assert_eq!(large.mu as u32 * large.bits, large.kappa as u32 * SMALL_BITS);
                sizes(log_n, &units).unwrap();
                let (all, bound) = with_incoming(log_n, &units, large);
                assert_eq!(all.len(), units.len() + large.kappa);
                sizes_within(log_n, &all, bound).unwrap();
            }
            let set = format!("N = 2^{log_n}, log q = {log_q}");
            for (table, which) in [
                ("mg23-5", "folded"),
                ("mg23-5", "switch"),
                ("mg23-6", "small"),
                ("mg23-6", "large"),
            ] {
                assert!(papers.find(table, &format!("{set}, {which}")).is_some(), "{set}");
            }
        }
    }
}
