//! The degrees of a minimax composition of least depth (LLNK22).

use super::{BASIS, OPERATION, best};
use crate::{CkksError, circuits::Polynomial};

/// A composition whose absolute values lie between `low` and 1.
#[derive(Clone)]
struct PartialComposition {
    low: f64,
    products: usize,
    degrees: Vec<usize>,
}

/// A degree with the cost of its polynomial.
struct Candidate {
    degree: usize,
    depth: usize,
    products: usize,
}

/// Returns degrees that achieve about `error`, within a few per cent.
///
/// For each depth, it keeps those compositions that no other one beats in both range and products.
/// A composition with a smaller range is at least as good a start for any further polynomial.
pub(super) fn degrees(gap: f64, error: f64) -> Result<Vec<usize>, CkksError> {
    const MAX_DEPTH: usize = 200;
    let candidates = candidates()?;
    let mut frontier =
        vec![vec![PartialComposition { low: gap, products: 0, degrees: Vec::new() }]];
    for depth in 1..=MAX_DEPTH {
        let mut reached: Vec<PartialComposition> = Vec::new();
        let mut done: Option<PartialComposition> = None;
        for candidate in candidates.iter().filter(|c| c.depth <= depth) {
            for before in &frontier[depth - candidate.depth] {
                // If the remaining error is tiny, f64 cannot represent a polynomial of high degree.
                let Ok(polynomial) = best(candidate.degree, before.low) else { continue };
                let first = polynomial.evaluate(before.low);
                // The values lie between 1 - e and 1 + e, and the smallest one is at the end of the
                // range.
                let e = 1.0 - first;
                let degrees = before.degrees.iter().copied().chain([candidate.degree]).collect();
                let products = before.products + candidate.products;
                let after = PartialComposition { low: first / (1.0 + e), products, degrees };
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
        let mut chosen: Vec<PartialComposition> = Vec::new();
        for r in reached {
            if chosen.last().is_none_or(|last| r.low > last.low) {
                chosen.push(r);
            }
        }
        frontier.push(chosen);
    }
    let what =
        format!("a gap of {gap:e} and an error of {error:e} need more than {MAX_DEPTH} levels");
    Err(CkksError::Argument { operation: OPERATION, what })
}

/// Returns the odd degrees up to 31 that are the largest for their depth and number of products.
pub(crate) fn useful_degrees() -> Result<Vec<usize>, CkksError> {
    Ok(candidates()?.iter().map(|candidate| candidate.degree).collect())
}

/// Returns the largest odd degree for every depth and number of products.
fn candidates() -> Result<Vec<Candidate>, CkksError> {
    const MAX_DEGREE: usize = 31;
    let mut out: Vec<Candidate> = Vec::new();
    for degree in (3..=MAX_DEGREE).rev().step_by(2) {
        let dense = (0..=degree).map(|i| (i % 2) as f64).collect();
        let polynomial = Polynomial::new(BASIS, dense)?;
        let (depth, products) = (polynomial.depth(), polynomial.products());
        if out.iter().all(|c| (c.depth, c.products) != (depth, products)) {
            out.push(Candidate { degree, depth, products });
        }
    }
    Ok(out)
}
