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
            limit and is only timed",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

const LOG_N: u32 = 16;
const UNITS: usize = 24;
const RANKS: [usize; 5] = [1, 4, 6, 12, 24];

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
        if dnum == RANKS[RANKS.len() - 1] {
            row("rescale", rescale);
            row("encrypt", encrypt);
            row("decrypt", decrypt);
        }
    }
    Ok(rows)
}
