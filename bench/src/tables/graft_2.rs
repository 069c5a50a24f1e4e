//! `graft-2`: the parameter sets of GRAFT Table 2, and ours.

use hippocrene::{Family, PRESETS, Preset};

use super::Table;
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-2",
    about: "GRAFT Table 2: log PQ, log Q (the bits that fresh ciphertexts have), number of factors (the sprout is one) and gadget rank of the \
            presets with the paper's words, beside the paper's; then of our own. Our words end at 61 bits, and a 4* of graFHE15s \
            that the paper does not explain is left out",
    memory: "100 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let sets = |table_2: bool| {
        let table_6 = |p: &Preset| matches!(p.family, Family::Table3 | Family::Bits);
        PRESETS.into_iter().filter(move |p| !table_6(p) && (p.family == Family::Table2) == table_2)
    };
    for preset in sets(true).chain(sets(false)) {
        for (what, value, unit) in figures(&preset)? {
            let paper = session.papers.find(preset.name, what);
            rows.push(Row::new(format!("{}: {what}", preset.name), value, unit).paper(paper));
        }
    }
    Ok(rows)
}

/// A preset in numbers: name, figure, unit.
fn figures(preset: &Preset) -> Result<[(&'static str, f64, &'static str); 4]> {
    let parameters = preset.parameters_insecure()?;
    let factors = parameters.full().words().limb_count() + usize::from(preset.is_grafted());
    Ok([
        ("log PQ", parameters.log2(parameters.full()), "bits"),
        ("log Q", parameters.log2(preset.fresh(&parameters)), "bits"),
        ("factors", factors as f64, ""),
        ("gadget rank", preset.gadget_rank as f64, ""),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Papers;

    #[test]
    fn the_papers_sets_have_the_papers_numbers() {
        let papers = Papers::load().unwrap();
        let table_2: Vec<Preset> =
            PRESETS.into_iter().filter(|p| p.family == Family::Table2).collect();
        assert_eq!(table_2.len(), 12);
        for preset in table_2 {
            for (what, value, _) in figures(&preset).unwrap() {
                // Primes of 62 bits are 61 bits here: up to 10 in all.
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
