//! The search for the polynomials of a sign and their scales.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use super::{SignUse, StageLimits, partial::PartialComposition};
use crate::{
    CkksError,
    approximation::sign,
    circuits::{Polynomial, composition::ErrorModel},
};

/// Margins to try, as shares of the slack. Chosen.
const MARGIN_SHARES: [f64; 6] = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625];

/// Number of bins per bit of the logit. Of all compositions in the same bin, only the cheapest is
/// kept. The finer bins are for given polynomials, the coarser ones for a search over all
/// polynomials. Chosen.
const LOGIT_BINS_PER_BIT: f64 = 4.0;
const FINE_LOGIT_BINS_PER_BIT: f64 = 32.0;

/// Shares of the allowed error that a search aims at, one after the other, until the ranges of its
/// result can be proven. Chosen.
const SHARES_OF_ERROR: [f64; 3] = [1.0, 0.9, 0.7];

/// Maximum number of compositions that are kept.
const MAX_FOUND: usize = 64;

/// The most recent compositions, with the arguments of the search. A search takes up to a second.
static FOUND: Mutex<VecDeque<(Sought, Option<PartialComposition>)>> = Mutex::new(VecDeque::new());

/// The arguments of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sought {
    low: f64,
    error: f64,
    model: ErrorModel,
    limits: Option<StageLimits>,
    noise_std: Option<f64>,
}

/// Returns the minimax composition of [`search_minimax`], from the most recent ones if it is there.
///
/// `low` is rounded to 40 bits. It is a quotient of a gap and a bound, and many pairs of them have
/// the same one.
pub(super) fn cheapest_minimax(
    low: f64,
    error: f64,
    model: ErrorModel,
    used: SignUse,
) -> Result<Option<PartialComposition>, CkksError> {
    let unit = (low.log2().floor() - 40.0).exp2();
    let low = (low / unit).floor() * unit;
    let SignUse { limits, noise_std, .. } = used;
    let sought = Sought { low, error, model, limits, noise_std };
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, composition)) = found().iter().find(|(known, _)| *known == sought) {
        return Ok(composition.clone());
    }
    let mut composition = None;
    for share in SHARES_OF_ERROR {
        composition = search_minimax(sought, share)?;
        if composition.is_some() {
            break;
        }
    }
    let mut found = found();
    found.truncate(MAX_FOUND - 1);
    found.push_front((sought, composition.clone()));
    Ok(composition)
}

/// Returns the minimax composition (LLNK22) that maps values from `low` to 1 to within `error` of 1
/// and uses the fewest bits of capacity.
///
/// This is a shortest path. A node is a range of values that reaches down to `low`. An edge is a
/// polynomial of any degree with any of the margins. It leads to values that reach down to a larger
/// number, and costs its depth times the scale that the margin needs. Of all paths to about the
/// same range, only the cheapest is kept.
///
/// With limits, the composition has as few bootstraps as possible, and then uses as few bits as
/// possible after the last one.
///
/// Ranges are found at one point and proven afterwards. So the search may allow only this share of
/// the error. Returns `None` if nothing is found or the proof fails.
fn search_minimax(
    sought: Sought,
    share_of_error: f64,
) -> Result<Option<PartialComposition>, CkksError> {
    let Sought { low, error, model, limits, noise_std } = sought;
    let degrees = sign::useful_degrees()?;
    let limited = |partial: PartialComposition, is_last: bool| match limits {
        Some(limits) => partial.with_bootstraps(limits, is_last),
        None => Some(partial),
    };
    // Two compositions are kept in each bin: the cheapest one, and the cheapest one that may be
    // bootstrapped next.
    let key = |partial: &PartialComposition| {
        let is_wide = limits.is_none_or(|limits| partial.is_wide(limits));
        (logit_bin(partial, LOGIT_BINS_PER_BIT), is_wide)
    };
    let start = PartialComposition::start(low);
    let mut open = BTreeMap::from([(key(&start), start)]);
    let mut best: Option<PartialComposition> = None;
    while let Some(((here, is_wide), before)) = open.pop_first() {
        let bits = before.bits;
        let beaten = |other: &PartialComposition| other.bits <= bits;
        let is_beaten =
            |(key, other): (&(i64, bool), &PartialComposition)| key.1 >= is_wide && beaten(other);
        if best.as_ref().is_some_and(beaten) || open.iter().any(is_beaten) {
            continue;
        }
        for &degree in &degrees {
            // If the remaining error is tiny, f64 cannot represent a polynomial of high degree.
            let Ok(polynomial) = sign::best(degree, before.low) else { continue };
            // The error of a minimax polynomial alternates and is largest at the end of the range.
            let first = polynomial.evaluate(before.low);
            let range = (first, 2.0 - first);
            if let Some(done) = before
                .step(&polynomial, range, false, model)
                .and_then(|step| step.last(share_of_error * error, noise_std, model))
                .and_then(|done| limited(done, true))
            {
                keep_cheaper(&mut best, done);
            }
            let Some(step) = before.step(&polynomial, range, true, model) else { continue };
            for share in MARGIN_SHARES {
                let next = step.next(share, true, model);
                if let Some(next) = next.and_then(|next| limited(next, false))
                    && key(&next).0 > here
                {
                    insert(&mut open, key(&next), next);
                }
            }
        }
    }
    // The search evaluated ranges at one point. The result needs proven bounds.
    best.map_or(Ok(None), |best| with_proven_ranges(&best, low, error, noise_std, model))
}

/// Returns the composition with the degrees and margins of `found`, in ranges that are proven.
fn with_proven_ranges(
    found: &PartialComposition,
    low: f64,
    error: f64,
    noise_std: Option<f64>,
    model: ErrorModel,
) -> Result<Option<PartialComposition>, CkksError> {
    let mut partial = PartialComposition::start(low);
    for (i, (stage, &share)) in found.stages.iter().zip(&found.shares).enumerate() {
        let polynomial = sign::best(stage.polynomial.degree(), partial.low)?;
        let range = sign::range(&polynomial, (partial.low, partial.high));
        let last = i + 1 == found.stages.len();
        let Some(step) = partial.step(&polynomial, range, !last, model) else { return Ok(None) };
        let next = match last {
            true => step.last(error, noise_std, model),
            false => step.next(share, true, model),
        };
        let Some(next) = next else { return Ok(None) };
        partial = next;
    }
    Ok(Some(partial))
}

/// Finds the scales for given polynomials, in their order, that use the fewest bits of capacity. If
/// scales are free, all polynomials but the last are divided so that their values, with their
/// margin, lie in `[-1, 1]`.
pub(super) fn cheapest_scales(
    polynomials: &[Polynomial],
    low: f64,
    error: f64,
    model: ErrorModel,
) -> Option<PartialComposition> {
    let (last, others) = polynomials.split_last()?;
    let mut open = BTreeMap::from([(0, PartialComposition::start(low))]);
    // Values have to stay in [-1, 1]: outside of it, some polynomials have no useful values.
    let divided = model.common_scale_bits.is_none();
    for polynomial in others {
        let mut next = BTreeMap::new();
        for before in open.values() {
            let range = sign::range(polynomial, (before.low, before.high));
            let Some(step) = before.step(polynomial, range, divided, model) else { continue };
            for share in MARGIN_SHARES {
                if let Some(partial) = step.next(share, divided, model) {
                    let bin = logit_bin(&partial, FINE_LOGIT_BINS_PER_BIT);
                    insert(&mut next, bin, partial);
                }
            }
        }
        open = next;
    }
    let mut best = None;
    for before in open.values() {
        if let Some(done) = before
            .step(last, sign::range(last, (before.low, before.high)), false, model)
            .and_then(|step| step.last(error, None, model))
        {
            keep_cheaper(&mut best, done);
        }
    }
    best
}

/// Returns the bin of a composition, by its logit.
fn logit_bin(partial: &PartialComposition, parts: f64) -> i64 {
    (parts * partial.logit()).floor() as i64
}

/// Keeps `next` if it is the cheapest composition in its bin.
fn insert<Bin: Ord>(
    open: &mut BTreeMap<Bin, PartialComposition>,
    bin: Bin,
    next: PartialComposition,
) {
    if open.get(&bin).is_none_or(|other| next.bits < other.bits) {
        open.insert(bin, next);
    }
}

/// Keeps `done` if it is the cheapest composition so far.
fn keep_cheaper(best: &mut Option<PartialComposition>, done: PartialComposition) {
    if best.as_ref().is_none_or(|other| done.bits < other.bits) {
        *best = Some(done);
    }
}
