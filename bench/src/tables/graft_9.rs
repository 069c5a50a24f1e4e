//! The table `graft-9`: precision by scale on one parameter set, as in Table 9 of GRAFT.

use hippocrene::Preset;

use hippocrene_ckks::circuits::Direction;

use super::{
    Table,
    pairs::{PAIRS, Pair},
};
use crate::{
    Result,
    precision::{Errors, Trial},
    report::Row,
    session::Session,
    transforms::Transforms,
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-9",
    about: "GRAFT Table 9 and Appendix E: the precision of a multiplication by scale, on the \
            single parameter set n14. It is -log2 of the error in the worst slot of 100 runs; \
            the average, standard deviation and maximum of the runs' worst errors are shown too. \
            Messages are complex numbers in all slots, under a new secret in each run. Then \
            grafted against simple, at the scales of simSHE14 and simSHE15. Last the homomorphic \
            DFT with the preset n15 at all scales: slots to coefficients (StC) and coefficients \
            to slots (CtS) of 2^14 slots in four levels with the operand's scale, in 10 runs \
            under one secret. The paper does not state its ring degree and levels",
    memory: "3 GB",
    time: "about 4 minutes",
    live: &[],
    plot: false,
    run,
};

const PRESET: &str = "n14";
/// log2 of the scales: those of the table, and one at which Appendix E states the precision.
const SCALES: [i32; 7] = [20, 40, 60, 66, 80, 100, 120];
const RUNS: usize = 100;
/// The preset for the homomorphic DFT.
const DFT_PRESET: &str = "n15";
const DFT_LEVELS: u32 = 4;
const DFT_SCALES: [i32; 6] = [20, 40, 60, 80, 100, 120];
const DFT_RUNS: usize = 10;

fn rows(name: &str, errors: Errors) -> [Row; 3] {
    [("average", errors.average), ("standard deviation", errors.deviation), ("maximum", errors.max)]
        .map(|(what, value)| Row::new(format!("{name}: error, {what}"), value, ""))
}

/// Compares grafted with simple. The worst slot of all runs has the target. It varies by a quarter
/// of a bit between series of one hundred runs, and the average by a few hundredths.
fn compare(pair: &Pair) -> Result<Vec<Row>> {
    let bits = pair.scale_bits as i32;
    let errors = |prefix| Trial::new(pair.parameters(prefix)?)?.multiply(bits, RUNS);
    let (simple, grafted) = (errors("sim")?, errors("gra")?);
    let name = format!("{}, scale 2^{bits}", pair.paper_name("gra"));
    let (twin, bits) = (pair.paper_name("sim"), |error: f64| -error.log2());
    Ok(vec![
        Row::more_is_better(
            format!("{name}: precision, worst slot of all runs"),
            grafted.precision(),
            "bits",
        )
        .against(&twin, simple.precision())
        .target(Some(1.0)),
        Row::more_is_better(
            format!("{name}: precision, worst slot of the average run"),
            bits(grafted.average),
            "bits",
        )
        .against(&twin, bits(simple.average)),
    ])
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut trial = Trial::new(Preset::by_name(PRESET)?.parameters()?)?;
    let mut all = Vec::new();
    for bits in SCALES {
        let errors = trial.multiply(bits, RUNS)?;
        let paper = session.papers.find("graft-9", &format!("precision at scale 2^{bits}"));
        let name = format!("scale 2^{bits}");
        all.push(
            Row::more_is_better(format!("{name}: precision"), errors.precision(), "bits")
                .paper(paper),
        );
        all.extend(rows(&name, errors));
    }
    for pair in PAIRS.iter().filter(|pair| ["SHE14", "SHE15"].contains(&pair.name)) {
        all.extend(compare(pair)?);
    }
    for (direction, name) in
        [(Direction::SlotsToCoefficients, "StC"), (Direction::CoefficientsToSlots, "CtS")]
    {
        let mut transforms = Transforms::new(&Preset::by_name(DFT_PRESET)?, direction, DFT_LEVELS)?;
        for bits in DFT_SCALES {
            let errors = transforms.errors(bits, DFT_RUNS)?;
            let name = format!("{name}, scale 2^{bits}");
            let paper = session.papers.find("graft-9-dft", &name);
            all.push(
                Row::more_is_better(format!("{name}: precision"), errors.precision(), "bits")
                    .paper(paper),
            );
            all.extend(rows(&name, errors));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preset_holds_products_at_every_scale() {
        let parameters = Preset::by_name(PRESET).unwrap().parameters().unwrap();
        let largest = SCALES.into_iter().fold(0, i32::max);
        assert!(parameters.log2(parameters.top()) > f64::from(2 * largest) + 10.0);
        let preset = Preset::by_name(DFT_PRESET).unwrap();
        let parameters = preset.parameters().unwrap();
        let largest = DFT_SCALES.into_iter().fold(0, i32::max) * (DFT_LEVELS as i32 + 1);
        assert!(parameters.log2(preset.fresh(&parameters)) > f64::from(largest) + 10.0);
    }
}
