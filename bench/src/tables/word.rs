//! The table `word`: the same usable modulus in words of 48 and of 61 bits.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::{
    Parameters, SecretDistribution, Sprout,
    design::{Request, design},
};

use super::Table;
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, near},
    session::Session,
    side::{Side, compare},
};

/// The table.
pub const TABLE: Table = Table {
    name: "word",
    about: "words of 48 bits against words of 61 bits: multiplication and rotation of fresh \
            ciphertexts at the same usable modulus, with every kernel that this CPU runs. A \
            multiplication ends one scale of 40 bits below. The sets follow the re-design rule \
            within 128-bit security (log PQ at most 430 at N = 2^14, 868 at N = 2^15), with a \
            ternary secret",
    memory: "1 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

/// log2 of the ring degree and the usable bits: whole words of 48 bits, and nearly whole ones of
/// 61.
const SHAPES: [(u32, u32); 2] = [(14, 287), (15, 575)];

const SCALE_BITS: f64 = 40.0;

fn parameters(log_n: u32, usable: u32, word: u32) -> Result<Parameters> {
    let sprout =
        if word == 48 { Sprout::for_degree(log_n) } else { Sprout::named("sprout-15-16-30") };
    let design = design(&Request {
        log_degree: log_n,
        secret: SecretDistribution::Ternary,
        sprout: sprout.ok_or("no sprout")?,
        usable,
        word,
        log2_pq: None,
        margin: 0,
    })?;
    Ok(Parameters::new(design.literal()?)?)
}

fn side(log_n: u32, usable: u32, word: u32, kernel: Kernel) -> Result<Side> {
    let scheme = Scheme::of(parameters(log_n, usable, word)?, kernel, 1)?;
    let parameters = scheme.context.parameters();
    let from = near(parameters, f64::from(usable), 1.0);
    let to = parameters.grafted_modulus(parameters.log2(from) - SCALE_BITS);
    Side::new(scheme, from, to)
}

/// Describes the set: limbs of fresh ciphertexts, specials, gadget rank.
fn described(log_n: u32, usable: u32, word: u32) -> Result<String> {
    let p = parameters(log_n, usable, word)?;
    let from = near(&p, f64::from(usable), 1.0);
    let counts = (from.limb_count(), p.specials().limb_count(), p.digits(from).count());
    Ok(format!("{word}-bit words ({} + {} limbs, {} digits)", counts.0, counts.1, counts.2))
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let in_use = session.kernel;
    for (log_n, usable) in SHAPES {
        for kernel in Kernel::supported().filter(|kernel| *kernel <= in_use) {
            let sides = [side(log_n, usable, 48, kernel)?, side(log_n, usable, 61, kernel)?];
            let times = compare(session, log_n, sides, [Side::multiply, Side::rotate])?;
            for (operation, [short, long]) in ["multiply", "rotate"].into_iter().zip(times) {
                let name = |word| described(log_n, usable, word);
                rows.push(
                    Row::new(
                        format!("N = 2^{log_n}, {operation}, kernel {kernel}, {}", name(48)?),
                        short,
                        "ms",
                    )
                    .against(name(61)?, long),
                );
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_words_have_the_same_usable_modulus_and_are_secure() {
        for (log_n, usable) in SHAPES {
            for word in [48, 61] {
                let p = parameters(log_n, usable, word).unwrap();
                assert!(
                    p.security().is_some() && p.limb_moduli(p.top()).iter().all(|q| *q < 1 << word)
                );
                // The units have the size of the word, because fewer bits would run on other
                // kernels.
                assert!(p.factor(0) > 1 << (word - 4));
                let from = near(&p, f64::from(usable), 1.0);
                assert!((p.log2(from) - f64::from(usable)).abs() < 1.0 && from.two() == 0);
            }
        }
    }
}
