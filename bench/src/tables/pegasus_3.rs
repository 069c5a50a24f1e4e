//! The table `pegasus-3`: rotations and space of repacking beside other methods, as in PEGASUS
//! Tables I and III.

use std::sync::Arc;

use hippocrene_ckks::Context;
use hippocrene_fhew::Preset;
use hippocrene_pegasus::{PegasusLiteral, PegasusPlan};
use hippocrene_ring::Threads;

use super::{
    Table,
    pegasus_slots::{BOUND, parameters},
};
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-3",
    about: "PEGASUS Tables I and III: the rotations that the transform of repacking takes, and \
            the size of the repacking key, beside other methods, for n = 1024 and N = 2^16. \
            Ours are those of the plan with the tables lut12. The others follow from the \
            formulas of the paper's tables without their constants (square roots twice, for \
            baby and giant steps): [30] diagonals (Halevi and Shoup), [38] Gazelle, [10] Chen \
            et al., which takes two levels, [7] Chimera, [11] Chen et al. with log2 N keys. The \
            paper's example has log q = 735 and seven digits, and a repacking key of 12 MB",
    memory: "100 MB",
    time: "a few seconds",
    live: &[],
    plot: false,
    run,
};

/// The numbers of slots.
const SLOTS: [usize; 4] = [64, 256, 1024, 4096];
/// The ring degree.
const DEGREE: usize = 1 << 16;
/// The digits and the bits of the modulus of the paper's example for Chimera's keys (III.C).
const EXAMPLE_DIGITS: f64 = 7.0;
const EXAMPLE_BITS: f64 = 735.0;

/// Rotations of the other methods by their formulas, for `l` slots and dimension `n`.
struct Formulas {
    l: usize,
    n: usize,
}

impl Formulas {
    /// [30], diagonals of the square matrix: `2 sqrt(max(l, n))`.
    fn diagonals(&self) -> f64 {
        2.0 * (self.l.max(self.n) as f64).sqrt()
    }

    /// [38], for short matrices: `ceil(l n/N) + log2(N/n)`.
    fn gazelle(&self) -> f64 {
        (self.l * self.n).div_ceil(DEGREE) as f64 + (DEGREE as f64 / self.n as f64).log2()
    }

    /// [10], for short matrices: the least `epsilon + ceil(l n/(epsilon N)) log2(n/epsilon)` over
    /// `epsilon` from 1 to `l`.
    fn more_levels(&self) -> f64 {
        let count = |epsilon: usize| {
            let sums = (self.l * self.n).div_ceil(epsilon * DEGREE) as f64;
            epsilon as f64 + sums * (self.n as f64 / epsilon as f64).log2().max(0.0)
        };
        (1..=self.l).map(count).fold(f64::INFINITY, f64::min)
    }

    /// PEGASUS: `2 sqrt(min(l, n)) + log2(n/l)`, the last term for short matrices.
    fn paper(&self) -> f64 {
        let columns = (self.n as f64 / self.l as f64).log2().max(0.0);
        2.0 * (self.l.min(self.n) as f64).sqrt() + columns
    }

    /// [7], products of ciphertexts: one for each coefficient of the secret.
    fn chimera(&self) -> f64 {
        self.n as f64
    }

    /// [11], products of ciphertexts: `l + log2(N/l)`.
    fn trace(&self) -> f64 {
        self.l as f64 + (DEGREE as f64 / self.l as f64).log2()
    }
}

/// Returns the rotations of a repacking of `slots` numbers: baby steps, giant steps, and sums of
/// columns.
fn rotations(literal: &PegasusLiteral, slots: usize) -> Vec<i64> {
    let (n, baby) = (literal.lwe().dimension(), literal.baby);
    let diagonals = slots.min(n);
    let steps = (1..baby.min(diagonals)).chain((baby..diagonals).step_by(baby));
    let columns = std::iter::successors(Some(slots), |step| Some(2 * step));
    steps.chain(columns.take_while(|step| *step < n)).map(|r| r as i64).collect()
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let context = Arc::new(Context::new(parameters()?, Threads::single())?);
    let literal = PegasusLiteral::of(&Preset::by_name("lut12")?, vec![256], BOUND, 30.0)?;
    let n = literal.lwe().dimension();
    let mut rows = Vec::new();
    for l in SLOTS {
        let formulas = Formulas { l, n };
        let ours = rotations(&literal, l).len() as f64;
        let row = Row::new(format!("{l} slots: rotations"), ours, "");
        rows.push(row.clone().against("PEGASUS, by its formula", formulas.paper()));
        rows.push(row.clone().against("[30]", formulas.diagonals()));
        if l < n {
            rows.push(row.clone().against("[38]", formulas.gazelle()));
            rows.push(row.clone().against("[10], two levels", formulas.more_levels()));
        }
        rows.push(row.clone().against("[7], products", formulas.chimera()));
        rows.push(row.against("[11], products", formulas.trace()));
    }
    let plan = PegasusPlan::new(Arc::clone(&context), literal)?;
    let bits = context.parameters().log2(plan.repacking());
    let megabytes = |polynomials: f64, bits: f64| polynomials * DEGREE as f64 * bits / 8e6;
    let row = Row::new("repacking key, two polynomials", megabytes(2.0, bits), "MB");
    let row = row.paper(session.papers.find("pegasus-4", "repacking key"));
    let log_n = (DEGREE as f64).log2();
    rows.push(
        row.clone().against("[7] at our modulus, one digit", megabytes(2.0 * n as f64, bits)),
    );
    rows.push(row.clone().against("[11] at our modulus, one digit", megabytes(2.0 * log_n, bits)));
    let example = megabytes(2.0 * n as f64 * EXAMPLE_DIGITS, EXAMPLE_BITS);
    rows.push(row.against("[7], the paper's example", example));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The plan makes keys for repackings of any number of slots.
    #[test]
    fn the_plan_has_keys_for_exactly_these_rotations() {
        let context = Arc::new(Context::new(parameters().unwrap(), Threads::single()).unwrap());
        let preset = Preset::by_name("lut12").unwrap();
        let literal = PegasusLiteral::of(&preset, vec![256], BOUND, 30.0).unwrap();
        let all = (0..12).flat_map(|log2| rotations(&literal, 1 << log2));
        let all: BTreeSet<i64> = all.collect();
        let plan = PegasusPlan::new(context, literal).unwrap();
        assert_eq!(all, plan.repacking_rotations().into_iter().collect());
    }

    /// Above 80 GB for Chimera and 12 MB for PEGASUS (III.C).
    #[test]
    fn keys_of_the_papers_example_have_its_sizes() {
        let bytes = |polynomials: f64| polynomials * DEGREE as f64 * EXAMPLE_BITS / 8.0;
        assert!((80e9..90e9).contains(&bytes(2.0 * 1024.0 * EXAMPLE_DIGITS)));
        assert!((bytes(2.0) / 1e6 - 12.0).abs() < 0.1);
    }
}
