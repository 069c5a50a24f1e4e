//! The table `graft-5`: the sizes of switching keys, as in Table 5 of GRAFT.

use hippocrene::{Family, PRESETS};
use hippocrene_rlwe::Modulus;

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
            Then BitPacker, which needs a key for every modulus: an estimate of the sum of the \
            smallest keys of words of 60 bits within log PQ. The paper does not state the words \
            and gadgets of its own estimate. Then keys as we store them: residues in as many \
            bits as they need, with and without one half as a seed. Then our own presets",
    memory: "100 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

const KEY: &str = "relinearisation key";
const BIT_PACKER: &str = "relinearisation keys of BitPacker";
/// The bits of a word of BitPacker. Chosen: most special primes of the paper's sets have 60 bits.
const BIT_PACKER_WORD: f64 = 60.0;

/// Returns the words of the smallest key for a modulus of `bits` bits, divided by `2N`, within
/// `log2_pq`. A key has a component of all words of the modulus and of `P` for each digit, and a
/// digit is at most as large as `P`.
fn bit_packer_words(bits: f64, log2_pq: f64) -> usize {
    let words = (bits / BIT_PACKER_WORD).ceil() as usize;
    let fits = |specials: &usize| bits + *specials as f64 * BIT_PACKER_WORD <= log2_pq;
    let key = |specials: usize| words.div_ceil(specials) * (words + specials);
    // One special word is needed, even if it does not fit.
    (1..=words).filter(fits).map(key).fold(key(1), usize::min)
}

impl Pair {
    /// Returns the bytes of a key for every modulus of the simple chain above its base.
    fn bit_packer_bytes(&self) -> Result<usize> {
        let simple = self.parameters("sim")?;
        // Sizes of primes are rounded to whole bits.
        let log2_pq = simple.log2(simple.full()).ceil();
        let moduli = (2 * self.rescaled..=simple.unit_count()).step_by(self.rescaled);
        let words =
            moduli.map(|units| bit_packer_words(simple.log2(Modulus::of_range(0..units)), log2_pq));
        Ok((words.sum::<usize>() * 2 * 8) << self.log_n)
    }

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
        let packer = Row::new(
            format!("{simple}: {BIT_PACKER}, estimated"),
            megabytes(self.bit_packer_bytes()?),
            "MB",
        );
        Ok(vec![
            Row::new(format!("{simple}: {KEY}"), megabytes(sizes.words), "MB").paper(paper_simple),
            Row::new(format!("{grafted}: {KEY}"), megabytes(ours.words), "MB")
                .against(&simple, megabytes(sizes.words))
                .paper(paper_grafted)
                .target(target),
            packer
                .against(&grafted, megabytes(ours.words))
                .paper(session.papers.find(&simple, BIT_PACKER)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn smallest_keys_have_the_digits_that_fit() {
        // Three words: one digit fits with three special words, or three digits with one.
        assert_eq!(bit_packer_words(170.0, 400.0), 6);
        assert_eq!(bit_packer_words(170.0, 240.0), 12);
        assert_eq!(bit_packer_words(170.0, 171.0), 12);
        assert_eq!(bit_packer_words(60.0, 120.0), 2);
    }

    /// The estimate is the smallest possible with this word, so the paper's is larger.
    #[test]
    fn keys_of_bit_packer_are_as_large_as_in_the_paper_within_a_third() {
        let papers = Papers::load().unwrap();
        for pair in PAIRS {
            let paper = papers.find(&pair.paper_name("sim"), BIT_PACKER).unwrap().value;
            let ours = pair.bit_packer_bytes().unwrap() as f64 / 1e6;
            assert!(ours < paper && ours > 0.66 * paper, "{}: {ours}, {paper}", pair.name);
        }
    }
}
