//! The table `graft-2`: the parameter sets of GRAFT Table 2, and ours.

use hippocrene::{Family, PRESETS, Preset};
use hippocrene_rlwe::Parameters;

use super::Table;
use crate::{Result, paper_sets::TABLE_2, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-2",
    about: "GRAFT Table 2: log PQ, log Q (that of fresh ciphertexts), the number of factors (the \
            sprout is one) and the gadget rank. First the sets with the paper's words, compared \
            with the paper, and then our sets. Our words end at 61 bits, and the 4* of \
            graFHE15s, which the paper does not explain, is left out",
    memory: "100 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut add = |preset: &Preset, parameters: &Parameters| {
        for (what, value, unit) in figures(preset, parameters) {
            let paper = session.papers.find(preset.name, what);
            rows.push(Row::new(format!("{}: {what}", preset.name), value, unit).paper(paper));
        }
    };
    for set in TABLE_2 {
        add(&set.preset, &set.insecure_parameters()?);
    }
    for preset in PRESETS.iter().filter(|preset| preset.family != Family::Bits) {
        add(preset, &preset.parameters()?);
    }
    Ok(rows)
}

/// Returns the numbers of a set: name, figure and unit.
fn figures(preset: &Preset, parameters: &Parameters) -> [(&'static str, f64, &'static str); 4] {
    let factors = parameters.full().words().limb_count() + usize::from(preset.is_grafted());
    [
        ("log PQ", parameters.log2(parameters.full()), "bits"),
        ("log Q", parameters.log2(preset.fresh(parameters)), "bits"),
        ("factors", factors as f64, ""),
        ("gadget rank", preset.gadget_rank as f64, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn sets_have_the_numbers_of_the_paper() {
        let papers = Papers::load().unwrap();
        for set in TABLE_2 {
            let preset = set.preset;
            for (what, value, _) in figures(&preset, &set.insecure_parameters().unwrap()) {
                // Primes of 62 bits are 61 bits here, which makes up to 10 bits in all.
                let off = (value - papers.find(preset.name, what).unwrap().value).abs();
                assert!(
                    off < if what.starts_with("log") { 10.1 } else { 0.1 },
                    "{}: {what}",
                    preset.name
                );
            }
        }
    }
}
