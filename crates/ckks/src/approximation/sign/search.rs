//! The degrees of a minimax composition that is least deep (LLNK22).

use super::{BASIS, OPERATION, best};
use crate::{CkksError, circuits::Polynomial};

/// What a composition has reached: absolute values from `low` to 1.
#[derive(Clone)]
struct Reached {
    low: f64,
    products: usize,
    degrees: Vec<usize>,
}

/// A degree, and what its polynomial costs.
struct Candidate {
    degree: usize,
    depth: usize,
    products: usize,
}

/// Degrees with which the error is at most `error`, to some per cent. For each depth those
/// compositions are kept of which no other one reaches as much with as few products: the more has
/// been reached, the more any polynomial reaches from there.
pub(super) fn degrees(gap: f64, error: f64) -> Result<Vec<usize>, CkksError> {
    const DEEPEST: usize = 200;
    let candidates = candidates()?;
    let mut frontier = vec![vec![Reached { low: gap, products: 0, degrees: Vec::new() }]];
    for depth in 1..=DEEPEST {
        let mut reached: Vec<Reached> = Vec::new();
        let mut done: Option<Reached> = None;
        for candidate in candidates.iter().filter(|c| c.depth <= depth) {
            for before in &frontier[depth - candidate.depth] {
                // Where little is left to be done, high degrees are too many for f64.
                let Ok(polynomial) = best(candidate.degree, before.low) else { continue };
                let first = polynomial.evaluate(before.low);
                // Values from 1 - e to 1 + e, where the least is that at the end.
                let e = 1.0 - first;
                let degrees = before.degrees.iter().copied().chain([candidate.degree]).collect();
                let products = before.products + candidate.products;
                let after = Reached { low: first / (1.0 + e), products, degrees };
                if e <= error && done.as_ref().is_none_or(|d| products < d.products) {
                    done = Some(after);
                } else {
                    reached.push(after);
                }
            }
        }
        if let Some(done) = done {
            return Ok(done.degrees);
        }
        reached.sort_by(|a, b| a.products.cmp(&b.products).then(b.low.total_cmp(&a.low)));
        let mut kept: Vec<Reached> = Vec::new();
        for r in reached {
            if kept.last().is_none_or(|last| r.low > last.low) {
                kept.push(r);
            }
        }
        frontier.push(kept);
    }
    let what =
        format!("a gap of {gap:e} and an error of {error:e} need more than {DEEPEST} levels");
    Err(CkksError::Argument { operation: OPERATION, what })
}

/// The odd degrees up to 31 that are the largest for their depth and number of products.
pub(crate) fn degrees_of_use() -> Result<Vec<usize>, CkksError> {
    Ok(candidates()?.iter().map(|candidate| candidate.degree).collect())
}

/// The largest odd degree for every depth and number of products.
fn candidates() -> Result<Vec<Candidate>, CkksError> {
    const MOST: usize = 31;
    let mut out: Vec<Candidate> = Vec::new();
    for degree in (3..=MOST).rev().step_by(2) {
        let dense = (0..=degree).map(|i| (i % 2) as f64).collect();
        let polynomial = Polynomial::new(BASIS, dense)?;
        let (depth, products) = (polynomial.depth(), polynomial.products());
        if out.iter().all(|c| (c.depth, c.products) != (depth, products)) {
            out.push(Candidate { degree, depth, products });
        }
    }
    Ok(out)
}
