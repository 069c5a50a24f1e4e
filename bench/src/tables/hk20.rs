//! The table `hk20-5`: multiplication by gadget rank, as in Table 5 of HK20.

use hippocrene_rlwe::{SecretDistribution, Sprout};

use super::Table;
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes},
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "hk20-5",
    about: "HK20 Table 5: multiplication with relinearisation, but without rescaling, at N = \
            2^16 with 24 primes of 45 bits, for the gadget ranks dnum = 1 to 24. There are as \
            many special primes of 46 bits as a digit has primes. dnum = 1 exceeds the 128-bit \
            limit and is only timed. Then the optimal number k of special primes: by the paper's \
            formula N ((l + log2 N) k + (2 + log2 N) l^2/k) for l = 24 primes, as measured, and as \
            predicted by the library's profile. The products by the formula and our \
            transforms are relative to their minimum",
    memory: "2 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run,
};

const LOG_N: u32 = 16;
const UNITS: usize = 24;
const RANKS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 24];

/// The complexity of a multiplication with `k` special primes by the paper, without the factor `N`
/// and without its constant.
fn formula(k: f64) -> f64 {
    let (l, log_n) = (UNITS as f64, f64::from(LOG_N));
    (l + log_n) * k + (2.0 + log_n) * l * l / k
}

/// The `k` for which [`formula`] is smallest.
fn optimal_specials() -> f64 {
    let (l, log_n) = (UNITS as f64, f64::from(LOG_N));
    ((2.0 + log_n) / (l + log_n)).sqrt() * l
}

fn sizes(dnum: usize) -> Sizes {
    Sizes {
        log_n: LOG_N,
        units: vec![(45, UNITS)],
        specials: vec![(46, UNITS / dnum)],
        sprout: Sprout::default(),
        dnum,
        secret: SecretDistribution::Ternary,
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let (mut times, mut transforms, mut predicted) = (Vec::new(), Vec::new(), Vec::new());
    for dnum in RANKS {
        let scheme = Scheme::new(&sizes(dnum), session.kernel, 0)?;
        let top = scheme.top();
        let message = scheme.message(top);
        let (a, b) = (scheme.encrypt(&message, top)?, scheme.encrypt(&message, top)?);
        let (mut product, mut lower) = (scheme.empty(), scheme.empty());
        let context = &scheme.context;
        let [multiply, rescale, encrypt, decrypt] = session.time(
            LOG_N,
            [
                &mut || Ok(context.multiply_into(&mut product, &a, &b, 1, &scheme.keys, top)?),
                &mut || Ok(context.switch_ciphertext_into(&mut lower, &a, scheme.below_top(1))?),
                &mut || scheme.encrypt(&message, top).map(drop),
                &mut || Ok(scheme.secret.decrypt(context, &a).map(drop)?),
            ],
        )?;
        let mut row = |operation: &str, seconds: f64| {
            let paper = session.papers.find("hk20-5", operation);
            rows.push(Row::new(operation, 1e3 * seconds, "ms").paper(paper));
        };
        row(&format!("multiply, dnum {dnum}"), multiply);
        times.push(multiply);
        let gadget = context.parameters().base_gadget();
        predicted.push(context.predict(top, gadget, top)?);
        let count = context.key_switch_operations(top, gadget, top)?;
        transforms.push((count.total().forward + count.total().inverse) as f64);
        if dnum == RANKS[RANKS.len() - 1] {
            row("rescale", rescale);
            row("encrypt", encrypt);
            row("decrypt", decrypt);
        }
    }
    let (least, fewest) = (formula(optimal_specials()), smallest(&transforms).1);
    for ((dnum, count), seconds) in RANKS.into_iter().zip(&transforms).zip(&predicted) {
        let k = UNITS / dnum;
        let name = format!("k = {k}, dnum {dnum}");
        rows.push(Row::new(
            format!("{name}: products by the formula"),
            formula(k as f64) / least,
            "x",
        ));
        rows.push(Row::new(format!("{name}: our transforms of a key switch"), count / fewest, "x"));
        rows.push(Row::new(format!("{name}: a key switch, predicted"), 1e3 * seconds, "ms"));
    }
    let of_rank = |index: usize| (UNITS / RANKS[index]) as f64;
    let row = |name: &str, k: f64| Row::new(name, k, "").paper(session.papers.find("hk20-5", name));
    rows.push(row("optimal k by the formula", optimal_specials()));
    rows.push(row("optimal k by our transforms", of_rank(smallest(&transforms).0)));
    rows.push(row("optimal k as predicted", of_rank(smallest(&predicted).0)));
    rows.push(row("optimal k as measured", of_rank(smallest(&times).0)));
    Ok(rows)
}

/// Returns the index and the value of the smallest number.
fn smallest(numbers: &[f64]) -> (usize, f64) {
    let all = numbers.iter().copied().enumerate();
    all.fold((0, f64::INFINITY), |best, new| if new.1 < best.1 { new } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn the_optimal_k_minimises_the_formula() {
        let k = optimal_specials();
        assert!((k - 16.1).abs() < 0.01, "{k}");
        assert!(formula(k) < formula(k + 0.1) && formula(k) < formula(k - 0.1));
    }

    #[test]
    fn every_rank_of_the_paper_is_measured_and_has_its_figure() {
        let papers = Papers::load().unwrap();
        for dnum in [1, 4, 6, 12, 24] {
            assert!(RANKS.contains(&dnum));
            assert!(papers.find("hk20-5", &format!("multiply, dnum {dnum}")).is_some());
        }
    }
}
