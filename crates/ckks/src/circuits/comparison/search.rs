//! The search for the polynomials of a sign and their scales.

use std::collections::BTreeMap;

use super::reached::Reached;
use crate::{
    CkksError,
    approximation::sign,
    circuits::{Polynomial, composition::Unit},
};

/// Margins to try, as shares of the slack. Chosen.
const SHARES: [f64; 6] = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625];

/// Number of bins per bit of the logit. Of all compositions in the same bin, only the cheapest is
/// kept. The finer bins are for given polynomials, the coarser ones for a search over all
/// polynomials. Chosen.
const PARTS: f64 = 4.0;
const FINE_PARTS: f64 = 32.0;

/// Returns the minimax composition (LLNK22) that maps values from `low` to 1 to within `error` of 1
/// and uses the fewest bits of capacity.
///
/// This is a shortest path. A node is a range of values that reaches down to `low`. An edge is a
/// polynomial of any degree with any of the margins. It leads to values that reach down to a larger
/// number, and costs its depth times the scale that the margin needs. Of all paths to about the
/// same range, only the cheapest is kept.
pub(super) fn least(low: f64, error: f64, unit: Unit) -> Result<Option<Reached>, CkksError> {
    let degrees = sign::degrees_of_use()?;
    let mut open = BTreeMap::from([(part(&Reached::start(low), PARTS), Reached::start(low))]);
    let mut best: Option<Reached> = None;
    while let Some((here, before)) = open.pop_first() {
        let bits = before.bits;
        let beaten = |other: &Reached| other.bits <= bits;
        if best.as_ref().is_some_and(beaten) || open.values().any(beaten) {
            continue;
        }
        for &degree in &degrees {
            // If the remaining error is tiny, f64 cannot represent a polynomial of high degree.
            let Ok(polynomial) = sign::best(degree, before.low) else { continue };
            // The error of a minimax polynomial alternates and is largest at the end of the range.
            let first = polynomial.evaluate(before.low);
            let range = (first, 2.0 - first);
            if let Some(done) =
                before.step(&polynomial, range, false, unit).and_then(|step| step.last(error, unit))
            {
                keep(&mut best, done);
            }
            let Some(step) = before.step(&polynomial, range, true, unit) else { continue };
            for share in SHARES {
                if let Some(next) = step.next(share, true, unit)
                    && part(&next, PARTS) > here
                {
                    insert(&mut open, next, PARTS);
                }
            }
        }
    }
    // The search evaluated ranges at one point. The result needs proven bounds.
    best.map_or(Ok(None), |best| again(&best, low, error, unit))
}

/// Returns the composition with the degrees and margins of `found`, in ranges that are proven.
fn again(found: &Reached, low: f64, error: f64, unit: Unit) -> Result<Option<Reached>, CkksError> {
    let mut reached = Reached::start(low);
    for (i, (stage, &share)) in found.stages.iter().zip(&found.shares).enumerate() {
        let polynomial = sign::best(stage.polynomial.degree(), reached.low)?;
        let range = sign::range(&polynomial, (reached.low, reached.high));
        let last = i + 1 == found.stages.len();
        let Some(step) = reached.step(&polynomial, range, !last, unit) else { return Ok(None) };
        let next = if last { step.last(error, unit) } else { step.next(share, true, unit) };
        let Some(next) = next else { return Ok(None) };
        reached = next;
    }
    Ok(Some(reached))
}

/// Finds the scales for given polynomials, in their order, that use the fewest bits of capacity. If
/// scales are free, all polynomials but the last are divided so that their values, with their
/// margin, lie in `[-1, 1]`.
pub(super) fn scales(
    polynomials: &[Polynomial],
    low: f64,
    error: f64,
    unit: Unit,
) -> Option<Reached> {
    let (last, others) = polynomials.split_last()?;
    let mut open = BTreeMap::from([(0, Reached::start(low))]);
    // Values have to stay in [-1, 1]: outside of it, some polynomials have no useful values.
    let divided = unit.fixed.is_none();
    for polynomial in others {
        let mut next = BTreeMap::new();
        for before in open.values() {
            let range = sign::range(polynomial, (before.low, before.high));
            let Some(step) = before.step(polynomial, range, divided, unit) else { continue };
            for share in SHARES {
                if let Some(reached) = step.next(share, divided, unit) {
                    insert(&mut next, reached, FINE_PARTS);
                }
            }
        }
        open = next;
    }
    let mut best = None;
    for before in open.values() {
        if let Some(done) = before
            .step(last, sign::range(last, (before.low, before.high)), false, unit)
            .and_then(|step| step.last(error, unit))
        {
            keep(&mut best, done);
        }
    }
    best
}

/// Returns the bin of a composition, by its logit.
fn part(reached: &Reached, parts: f64) -> i64 {
    (parts * reached.logit()).floor() as i64
}

/// Keeps `next` if it is the cheapest composition in its bin.
fn insert(open: &mut BTreeMap<i64, Reached>, next: Reached, parts: f64) {
    let part = part(&next, parts);
    if open.get(&part).is_none_or(|other| next.bits < other.bits) {
        open.insert(part, next);
    }
}

/// Keeps `done` if it is the cheapest composition so far.
fn keep(best: &mut Option<Reached>, done: Reached) {
    if best.as_ref().is_none_or(|other| done.bits < other.bits) {
        *best = Some(done);
    }
}
