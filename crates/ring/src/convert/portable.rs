//! The conversion in plain Rust, for any moduli below 2^61.
//!
//! It uses sums of 128 bits and one reduction per group of rows.

use super::{
    MAX_INPUTS,
    source::Source,
    target::{Family, Output, Target},
};
use crate::arith::mul_mod;

/// The number of coefficients that are converted together.
const TILE: usize = 16;

/// Rows of residues: first the quotient, then the inputs.
type Tile = [[u64; TILE]; 1 + MAX_INPUTS];

/// Returns the constants of the target `p`, for `c` times the number.
///
/// For odd `p`, the weights and the start are multiplied by `R = 2^64`. Montgomery's reduction does
/// not work for even `p`, which use [`by_words`].
pub(super) fn target(source: &Source, (p, c): (u64, u64)) -> Target {
    let radix = if p % 2 == 1 { ((1u128 << 64) % u128::from(p)) as u64 } else { 1 };
    let plain = std::iter::once(source.negative_product((p, c))).chain(source.weights((p, c)));
    let weights: Vec<u64> = plain.map(|w| mul_mod(w, radix, p)).collect();
    // The sum of a group is below 2^64 p, so its reduction is below 2p. A start below p may be
    // added to the first group.
    let mut groups = Vec::new();
    let mut sum = MAX_INPUTS as u128 + 1;
    for (i, input) in source.inputs.iter().enumerate() {
        if sum + u128::from(input.q) > 1 << 64 {
            groups.push(i + 1);
            sum = 0;
        }
        sum += u128::from(input.q);
    }
    groups.push(weights.len());
    let start = [mul_mod(source.offset((p, c)), radix, p), 0, 0];
    Target {
        family: Family::Portable,
        p,
        digits: [0; 2],
        inverse: inverse(p),
        weights,
        start,
        groups,
        corrections: 0,
    }
}

/// Returns `p^{-1} mod 2^64` for odd `p`.
///
/// Newton's iteration begins with 3 correct bits and doubles their number in every round.
fn inverse(p: u64) -> u64 {
    (0..5).fold(p, |x, _| x.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(x))))
}

/// Converts to targets of [`Family::Portable`].
pub(super) fn run(source: &Source, exact: bool, y: &[&[u64]], outputs: &mut [Output]) {
    let n = y[0].len();
    let mut tile: Tile = [[0; TILE]; 1 + MAX_INPUTS];
    for at in (0..n).step_by(TILE) {
        prepare(source, exact, y, at, &mut tile);
        for output in outputs.iter_mut() {
            let data = &mut output.data[at..at + TILE];
            if output.target.p % 2 == 1 {
                sums(output.target, exact, &tile, data, montgomery);
            } else {
                sums(output.target, exact, &tile, data, by_words(output.target.p));
            }
        }
    }
}

/// Fills the rows from coefficient `at` on.
fn prepare(source: &Source, exact: bool, y: &[&[u64]], at: usize, tile: &mut Tile) {
    let mut quotients = [0f64; TILE];
    let [quotient, rows @ ..] = tile;
    for ((row, y), input) in rows.iter_mut().zip(y).zip(&source.inputs) {
        let y = &y[at..at + TILE];
        if exact {
            row.copy_from_slice(y);
            for (sum, y) in quotients.iter_mut().zip(y) {
                *sum += *y as i64 as f64 * input.reciprocal;
            }
        } else {
            for (shifted, y) in row.iter_mut().zip(y) {
                let sum = y + input.half;
                *shifted = sum.min(sum.wrapping_sub(input.q));
            }
        }
    }
    for (quotient, sum) in quotient.iter_mut().zip(quotients) {
        *quotient = super::round(sum);
    }
}

/// Writes the residues of one target for one tile, in `[0, 2p)`.
///
/// `reduce` brings the sum of one group into this range.
#[inline(always)]
fn sums(
    target: &Target,
    exact: bool,
    tile: &Tile,
    out: &mut [u64],
    reduce: impl Fn(u128, &Target) -> u64,
) {
    const WIDTH: usize = 4;
    for (at, out) in (0..TILE).step_by(WIDTH).zip(out.chunks_exact_mut(WIDTH)) {
        let mut row = usize::from(!exact);
        let mut start = if exact { 0 } else { target.start[0] };
        let mut total = [0u64; WIDTH];
        for &end in &target.groups {
            let mut sum = [u128::from(start); WIDTH];
            for (row, weight) in tile[row..end].iter().zip(&target.weights[row..end]) {
                for (sum, y) in sum.iter_mut().zip(&row[at..at + WIDTH]) {
                    *sum += u128::from(*y) * u128::from(*weight);
                }
            }
            for (total, sum) in total.iter_mut().zip(sum) {
                let sum = *total + reduce(sum, target);
                *total = sum.min(sum.wrapping_sub(2 * target.p));
            }
            (row, start) = (end, 0);
        }
        out.copy_from_slice(&total);
    }
}

/// Returns `sum 2^-64 mod p` in `[0, 2p)`, for `sum` below `2^64 p`.
#[inline(always)]
fn montgomery(sum: u128, target: &Target) -> u64 {
    let m = (sum as u64).wrapping_mul(target.inverse);
    let back = ((u128::from(m) * u128::from(target.p)) >> 64) as u64;
    (sum >> 64) as u64 + target.p - back
}

/// Returns a function that reduces a sum below `2^64 p` to `[0, 2p)` modulo any `p`.
///
/// The high word times `2^64 mod p` and the low word are each reduced with Shoup's quotient, which
/// is too small by at most one. Sums may depend on decrypted data, so nothing is divided by `p`:
/// the time of a division depends on the operands on some CPUs.
fn by_words(p: u64) -> impl Fn(u128, &Target) -> u64 {
    let high = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let times = move |x: u64, c: u64, quotient: u64| {
        x.wrapping_mul(c).wrapping_sub(high(x, quotient).wrapping_mul(p))
    };
    let quotient = |c: u64| ((u128::from(c) << 64) / u128::from(p)) as u64;
    let radix = ((1u128 << 64) % u128::from(p)) as u64;
    let [of_radix, of_one] = [radix, 1].map(quotient);
    move |sum, _| {
        let sum = times((sum >> 64) as u64, radix, of_radix) + times(sum as u64, 1, of_one);
        sum.min(sum.wrapping_sub(2 * p))
    }
}
