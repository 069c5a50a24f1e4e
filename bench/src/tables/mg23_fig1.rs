//! The table `mg23-fig1`: the single against the double decomposition, as in Fig. 1 of MG23.

use hippocrene_rlwe::{Gadget, Method};

use super::{
    Table,
    mg23::{even, peer_rows, shape, sizes, sizes_with},
};
use crate::{
    Result,
    plot::{Panel, Plot},
    report::Row,
    scheme::{Scheme, Sizes},
    session::{NamedWorks, Session},
    switching::{DOMAINS, KeySwitch},
};

/// The table.
pub const TABLE: Table = Table {
    name: "mg23-fig1",
    about: "MG23 Fig. 1: the single decomposition with the smallest omega, against the fastest \
            double decomposition of several. These have the smallest omega, a digit for every \
            two primes, or one for each, with the groups of the key that the library offers. q \
            has 50, 65, 75, 80, 85, 90 and 95% of the paper's bounds for log qP, in words of 48 \
            bits (up to 3 bits beyond our 128-bit limit). Times are averages over the four \
            combinations of domains. The paper gives no numbers. In its figure the single \
            decomposition is always faster, except at N = 2^16, log q = 1624. N = 2^17 is left \
            out here",
    memory: "8 GB",
    time: "about 5 minutes",
    live: &[],
    plot: true,
    run,
};

/// `log2 N`, and `log q` at each share of the modulus. At `N = 2^14`, no special prime as large as
/// the others fits into the last 5%.
const SETS: [(u32, &[u32]); 3] = [
    (14, &[216, 280, 324, 342, 366, 388]),
    (15, &[432, 560, 649, 684, 728, 780, 820]),
    (16, &[855, 1121, 1298, 1380, 1475, 1560, 1624]),
];
const WORD: u32 = 48;
/// The memory limit for the keys of the double decomposition, in bytes.
const KEY_MEMORY: usize = 6 << 30;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut plot = Plot::default();
    for (log_n, sets) in SETS {
        let mut curves = [("single", Vec::new()), ("double", Vec::new())];
        for &log_q in sets {
            let (of_set, times) = compare(session, log_n, log_q)?;
            rows.extend(of_set);
            for ((_, points), ms) in curves.iter_mut().zip(times) {
                points.push((f64::from(log_q), ms));
            }
        }
        plot.panels.push(Panel {
            title: format!("MG23 Fig. 1: key switching, N = 2^{log_n}"),
            x: "log q".into(),
            y: "ms".into(),
            curves: curves.map(|(name, points)| (name.to_string(), points)).to_vec(),
        });
    }
    session.plot = plot;
    Ok(rows)
}

/// Returns the sets for one `log q`, in descending order of the size of digits. The first is that
/// of the single decomposition.
fn choices(log_n: u32, log_q: u32) -> Result<Vec<Sizes>> {
    let units = even(log_q, WORD);
    let smallest = sizes(log_n, &units)?;
    let finer = [units.len().div_ceil(2), units.len()];
    let finer = finer.into_iter().filter(|omega| *omega > smallest.dnum);
    let finer: Vec<Sizes> = finer.map(|omega| sizes_with(log_n, &units, omega)).collect();
    Ok([vec![smallest], finer].concat())
}

/// Returns the milliseconds of the single decomposition and of the fastest double one, with their
/// rows.
fn compare(session: &mut Session, log_n: u32, log_q: u32) -> Result<(Vec<Row>, [f64; 2])> {
    let mut all = Vec::new();
    for (i, sizes) in choices(log_n, log_q)?.iter().enumerate() {
        all.extend(time(session, &Scheme::new(sizes, session.kernel, 0)?, i == 0)?);
    }
    let mut times = all.into_iter();
    let (single_name, single) = times.next().ok_or("no single decomposition")?;
    let (double_name, double) =
        times.min_by(|a, b| a.1.total_cmp(&b.1)).ok_or("no double decomposition")?;
    let set = format!("N = 2^{log_n}, log q = {log_q}");
    let names = [single_name, double_name].map(|name| format!("{set}, {name}"));
    let mut rows = vec![
        Row::new(&names[0], single, "ms"),
        Row::new(&names[1], double, "ms").against("single", single),
    ];
    for ((which, name), ms) in ["single", "double"].into_iter().zip(&names).zip([single, double]) {
        rows.extend(peer_rows(session, log_n, &peer(log_q, which), name, ms));
    }
    Ok((rows, [single, double]))
}

/// Returns names and milliseconds of the key switches of one set: the single decomposition if
/// `single`, and the double ones.
fn time(session: &mut Session, scheme: &Scheme, single: bool) -> Result<Vec<(String, f64)>> {
    scheme.context.set_key_memory(KEY_MEMORY);
    let (parameters, top) = (scheme.context.parameters(), scheme.top());
    let base = parameters.base_gadget();
    let double = parameters.double_gadgets(top).into_iter().filter(|gadget| gadget.group() == 1);
    let mut works = NamedWorks::default();
    for gadget in single.then_some(base).into_iter().chain(double) {
        let mut switch = KeySwitch::new(scheme, gadget, top, top)?;
        works.add(name(scheme, gadget), move || switch.all_domains());
    }
    let times = session.time_named(parameters.log_degree(), works)?.into_iter();
    Ok(times.map(|(name, seconds)| (name, 1e3 * seconds / DOMAINS.len() as f64)).collect())
}

/// Names the figure of MG23's own code at one `log q`.
fn peer(log_q: u32, which: &str) -> String {
    format!("{log_q} bits, omega 13, {which}")
}

fn name(scheme: &Scheme, gadget: Gadget) -> String {
    let shape = shape(scheme, scheme.top());
    match gadget.method() {
        Method::Single => format!("single ({shape})"),
        Method::Double { groups } => format!("double ({shape}, {groups} groups of the key)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{figures::Peers, tables::mg23::bound};

    #[test]
    fn sets_are_shares_of_the_bound_with_a_double_decomposition() {
        let shares = [0.5, 0.65, 0.75, 0.8, 0.85, 0.9, 0.95];
        for (log_n, sets) in SETS {
            for (&log_q, share) in sets.iter().zip(shares) {
                let of_bound = f64::from(log_q) / f64::from(bound(log_n));
                assert!((of_bound - share).abs() < 0.016, "{log_n} {log_q} {of_bound}");
                for sizes in choices(log_n, log_q).unwrap() {
                    let parameters = sizes.parameters().unwrap();
                    assert!(!parameters.double_gadgets(parameters.top()).is_empty());
                    assert!(parameters.log2(parameters.full()) <= f64::from(bound(log_n)));
                }
            }
        }
        let peers = Peers::load().unwrap();
        for which in ["single", "double"] {
            assert_eq!(peers.all("MG23 N = 2^15", &peer(780, which)).len(), 1);
        }
    }
}
