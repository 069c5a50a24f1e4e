//! Which polynomials, and at which scales.

use std::collections::BTreeMap;

use super::reached::Reached;
use crate::{
    CkksError,
    approximation::sign,
    circuits::{Polynomial, composition::Unit},
};

/// The shares of the slack that margins are chosen from.
const SHARES: [f64; 6] = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625];

/// Compositions count as having come as far when their logits are in the same part of so many per
/// bit: where polynomials are searched for, and where they are given.
const PARTS: f64 = 4.0;
const FINE_PARTS: f64 = 32.0;

/// The minimax composition (LLNK22) that takes values from `low` to 1 within `error` of 1 in the
/// fewest bits. A shortest path: from values that reach down to `low`, a polynomial of any degree
/// leads, with any of the margins, to values that reach down to some larger number, at the price of
/// its depth times the scale that the margin takes. Of all ways to come as far the cheapest is
/// kept.
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
            // Where little is left to be done, high degrees are too many for f64.
            let Ok(polynomial) = sign::best(degree, before.low) else { continue };
            // Its error alternates, and is largest at the end.
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
    // Ranges are bounds now, and not what was seen at one point.
    best.map_or(Ok(None), |best| again(&best, low, error, unit))
}

/// A composition of these degrees and margins, in ranges that are proven.
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

/// Polynomials in their order, at the scales that take the fewest bits. All but the last are
/// divided such that what they leave, with its margin, lies in `[-1, 1]`.
pub(super) fn scales(
    polynomials: &[Polynomial],
    low: f64,
    error: f64,
    unit: Unit,
) -> Option<Reached> {
    let (last, others) = polynomials.split_last()?;
    let mut open = BTreeMap::from([(0, Reached::start(low))]);
    // Values stay in [-1, 1], beyond which some polynomials have none to speak of.
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

fn part(reached: &Reached, parts: f64) -> i64 {
    (parts * reached.logit()).floor() as i64
}

fn insert(open: &mut BTreeMap<i64, Reached>, next: Reached, parts: f64) {
    let part = part(&next, parts);
    if open.get(&part).is_none_or(|other| next.bits < other.bits) {
        open.insert(part, next);
    }
}

fn keep(best: &mut Option<Reached>, done: Reached) {
    if best.as_ref().is_none_or(|other| done.bits < other.bits) {
        *best = Some(done);
    }
}
