//! The table `graft-7`: the modulus that comparisons use, as in Table 7 of GRAFT.

use hippocrene_ckks::{
    Context,
    approximation::sign::CompositeSign,
    circuits::comparison::{SignLiteral, SignPlan, Stage},
};
use hippocrene_ring::Threads;

use super::Table;
use crate::{Result, paper_sets::parameters_of, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-7",
    about: "GRAFT Table 7: the modulus that comparisons use, in all and by polynomial, and the \
            planned precision. This precision bounds the error except with probability 2^-32 for \
            each slot; the paper's is the largest measured error. Three compositions for 2^15 \
            slots are compared, at the paper's parameters and at n16s: f_3 after g_3 at the \
            single scale of the simple chain; the same at the scales that follow from that \
            precision; and the minimax composition with the fewest bits. Where the polynomials \
            leave no room for noise, the row states by how much the precision is lower. Nothing \
            is encrypted",
    memory: "130 MB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

/// A comparison of the paper: its name, the number of times that `g_3` is applied (followed by
/// `f_3` twice), and log2 of the gap.
const COMPARISONS: [(&str, usize, i32); 2] = [("comp1", 4, -8), ("comp2", 8, -16)];

/// The pairs of parameter sets, with log2 of the simple chain's scale.
const PAIRS: [(&str, f64); 2] = [("FHE16", 35.0), ("FHE16s", 42.0)];

const SLOTS: usize = 1 << 15;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (pair, scale) in PAIRS {
        let context = |name: &str| -> Result<Context> {
            Ok(Context::new(parameters_of(name)?, Threads::single())?)
        };
        let (simple, grafted) = (context(&format!("sim{pair}"))?, context(&format!("gra{pair}"))?);
        for (comparison, g, log2_gap) in COMPARISONS {
            let name = |what: &str| format!("{comparison}, {pair}: {what}");
            let gap = 2f64.powi(log2_gap);
            let composition = CompositeSign::iterated(3, g, 2, gap)?;
            let literal = SignLiteral { slots: SLOTS, bound: 1.0, gap, precision: 1.0 };
            let fixed = SignPlan::at_scale(&simple, &composition, scale, 0.0, literal)?;
            let precision = -fixed.error().log2();
            rows.extend(figure(session, &name("simple"), &fixed, None, None));
            // The target is the paper's ratio of simple to grafted.
            let stated = |what: &str| {
                session.papers.find("graft-7", &name(&format!("{what}, modulus"))).map(|f| f.value)
            };
            let target =
                stated("simple").zip(stated("grafted")).map(|(simple, grafted)| simple / grafted);
            // The requested precision is that of the simple plan.
            let literal = SignLiteral { precision, ..literal };
            let plan = closest(&grafted, &composition, literal)?;
            rows.extend(figure(session, &name("grafted"), &plan, Some(&fixed), target));
            let plan = SignPlan::new(&grafted, literal)?;
            rows.extend(figure(session, &name("grafted, minimax"), &plan, Some(&fixed), target));
            if pair == "FHE16s" {
                let ours = context("n16s")?;
                let plan = SignPlan::new(&ours, literal)?;
                rows.extend(figure(session, &name("n16s, minimax"), &plan, Some(&fixed), target));
            }
        }
    }
    Ok(rows)
}

/// Returns a plan of the literal's precision, or of the nearest lower precision that is possible.
///
/// If the precision is nearly that of the polynomials themselves, there is no room for noise.
pub(super) fn closest(
    context: &Context,
    composition: &CompositeSign,
    literal: SignLiteral,
) -> Result<SignPlan> {
    let at = |tenths: u32| {
        let precision = literal.precision - f64::from(tenths) / 10.0;
        SignPlan::composed(context, composition, SignLiteral { precision, ..literal })
    };
    match (0..10).find_map(|tenths| at(tenths).ok()) {
        Some(plan) => Ok(plan),
        None => Ok(at(10)?),
    }
}

/// Returns the row of a plan's bits, with the degree and bits of each polynomial, and the row of
/// its precision.
fn figure(
    session: &Session,
    name: &str,
    plan: &SignPlan,
    against: Option<&SignPlan>,
    target: Option<f64>,
) -> [Row; 2] {
    let total = |plan: &SignPlan| plan.stages().iter().map(Stage::bits).sum::<f64>();
    let steps: Vec<String> = plan
        .stages()
        .iter()
        .map(|s| format!("{}:{:.0}", s.polynomial().degree(), s.bits()))
        .collect();
    let stated = |figure: &str| session.papers.find("graft-7", &format!("{name}, {figure}"));
    let bits = Row::new(
        format!("{name}{}, degree:bits {}", less_precise(plan, against), steps.join(" ")),
        total(plan),
        "bits",
    )
    .paper(stated("modulus"));
    let bits = match against {
        Some(simple) => bits.against("simple", total(simple)).target(target),
        None => bits,
    };
    let precision = Row::more_is_better(format!("{name}, precision"), -plan.error().log2(), "bits")
        .paper(stated("precision"));
    [bits, precision]
}

/// Returns a note on the loss of precision against the simple plan. It is empty if there is none.
fn less_precise(plan: &SignPlan, simple: Option<&SignPlan>) -> String {
    let less = simple.map_or(0.0, |simple| (plan.error() / simple.error()).log2());
    if less < 0.05 { String::new() } else { format!(" ({less:.1} bits less precise than simple)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At FHE16s, the grafted `f_3` after `g_3` loses up to a bit of precision against the simple
    /// chain, and its row says so. The minimax composition does not.
    #[test]
    fn rows_state_missing_precision() {
        let context =
            |name: &str| Context::new(parameters_of(name).unwrap(), Threads::single()).unwrap();
        let (simple, grafted) = (context("simFHE16s"), context("graFHE16s"));
        let (_, g, log2_gap) = COMPARISONS[0];
        let gap = 2f64.powi(log2_gap);
        let composition = CompositeSign::iterated(3, g, 2, gap).unwrap();
        let literal = SignLiteral { slots: SLOTS, bound: 1.0, gap, precision: 1.0 };
        let fixed = SignPlan::at_scale(&simple, &composition, PAIRS[1].1, 0.0, literal).unwrap();
        let literal = SignLiteral { precision: -fixed.error().log2(), ..literal };
        assert!(SignPlan::composed(&grafted, &composition, literal).is_err());
        let plan = closest(&grafted, &composition, literal).unwrap();
        assert_eq!(less_precise(&plan, Some(&fixed)), " (0.8 bits less precise than simple)");
        assert_eq!(less_precise(&SignPlan::new(&grafted, literal).unwrap(), Some(&fixed)), "");
        assert_eq!(less_precise(&fixed, None), "");
    }
}
