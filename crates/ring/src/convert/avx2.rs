//! The conversion with AVX2 and FMA, to odd `p < 2^50`.
//!
//! Rows of doubles are multiplied by weights, and the products are summed exactly in two parts
//! (module [`crate::simd256`] has the arithmetic).
//!
//! An input up to 2^50 is one row, centred. A larger one is split, `y = low + 2^30 high`, into two
//! rows with separate weights. If it has to be centred, the digits of `q` are subtracted from its
//! digits.
//!
//! A sum of products has a high part that starts at `3 2^(51 + k)`. While it stays between
//! `2^(52 + k)` and `2^(53 + k)`, it is a multiple of `2^k`. So adding a product to it leaves a
//! remainder of at most `2^(k - 1)`, which is known exactly and goes to the low part.

use super::{
    MAX_INPUTS, ROUNDING,
    source::{Input, Source},
    target::{Family, Output, Target},
    tile::Tile,
};
use crate::{arith::mul_mod, simd256::*};

/// The number of coefficients that are converted together.
const TILE: usize = 64;

/// The number of bits in the low digits of split inputs.
const LOW_DIGIT_BITS: u32 = 30;

/// Returns true if an input needs two rows.
fn is_split(input: &Input) -> bool {
    input.q > 1 << 50
}

/// Returns the constants of the target `p`, for `c` times the number.
pub(super) fn target(source: &Source, (p, c): (u64, u64)) -> Target {
    let m = Modulus::new(p);
    // The weights of the rows, and the bounds of their numbers.
    let mut rows = vec![(source.negative_product((p, c)), MAX_INPUTS as u64)];
    for (weight, input) in source.weights((p, c)).zip(&source.inputs) {
        if is_split(input) {
            rows.push((weight, 1 << LOW_DIGIT_BITS));
            rows.push((
                mul_mod(weight, (1 << LOW_DIGIT_BITS) % p, p),
                (input.q >> (LOW_DIGIT_BITS + 1)) + 2,
            ));
        } else {
            rows.push((weight, input.half + 1));
        }
    }
    let bounds: Vec<u64> = rows.iter().map(|(_, bound)| *bound).collect();
    let candidates = (0..=52).filter_map(|k| groups(&bounds, p, k).map(|groups| (groups, k)));
    let (groups, k) =
        candidates.min_by_key(|(groups, _)| groups.len()).expect("for k = 50 any single row fits");
    Target {
        family: Family::F64,
        p,
        inverse: 0,
        digits: [0; 2],
        weights: rows.iter().map(|(w, _)| m.prepare(*w)[0].to_bits()).collect(),
        start: [(3.0 * f64::from(51 + k).exp2()).to_bits(), 0, 0],
        groups,
        corrections: 0,
    }
}

/// Returns the ends of groups of rows whose sums are exact with the unit `2^k` of the high part.
///
/// The numbers are within `bounds`, and the weights are up to `p/2`. Sums are exact on these
/// conditions:
/// - The high part moves by at most `2^(51 + k)`.
/// - The low part, at most `2^(k - 1)` for each row, is at most `2^52`.
/// - The high part is at most `2^52 p`. Then its reduction leaves at most `3p + 2^52`, together
///   with the low part and the total of the previous groups.
///
/// Returns `None` if a row does not fit even alone.
fn groups(bounds: &[u64], p: u64, k: u32) -> Option<Vec<usize>> {
    let fits = |sum: u64, rows: usize| {
        let high = u128::from(sum) * u128::from(p / 2) + (1 << 52);
        high <= 1 << (51 + k) && rows <= 1 << (53 - k) && sum < 1 << 52
    };
    let (mut ends, mut sum, mut first) = (Vec::new(), 0, 0);
    for (row, &bound) in bounds.iter().enumerate() {
        if row > first && !fits(sum + bound, row + 1 - first) {
            ends.push(row);
            (sum, first) = (0, row);
        }
        if !fits(sum + bound, row + 1 - first) {
            return None;
        }
        sum += bound;
    }
    ends.push(bounds.len());
    Some(ends)
}

/// Converts to targets of [`Family::F64`].
///
/// # Safety
/// The CPU has the features. Inputs and outputs have the same length, a multiple of 16. The number
/// of inputs is that of `source`.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run(source: &Source, exact: bool, y: &[&[u64]], outputs: &mut [Output]) {
    let n = y[0].len();
    // The tile has rows of doubles: first the quotient, then the inputs in order, with low digits
    // before high ones.
    let mut tile = Tile::of(TILE * (1 + 2 * source.inputs.len()));
    let tile: *mut f64 = tile.as_mut_ptr().cast();
    for at in (0..n).step_by(TILE) {
        let count = TILE.min(n - at);
        // SAFETY: `count` coefficients from `at` on exist, and the tile has two rows of TILE
        // doubles for each input.
        unsafe { prepare(source, exact, y, at, count, tile) };
        for same in outputs.chunk_by_mut(|a, b| a.target.groups == b.target.groups) {
            for outputs in same.chunks_mut(4) {
                // SAFETY: the same as above; the rows were filled by `prepare`.
                unsafe {
                    match outputs.len() {
                        4 => sums::<4>(outputs, tile, at, count, exact),
                        3 => sums::<3>(outputs, tile, at, count, exact),
                        2 => sums::<2>(outputs, tile, at, count, exact),
                        _ => sums::<1>(outputs, tile, at, count, exact),
                    }
                }
            }
        }
    }
}

/// Fills the rows of `tile` from `count` coefficients from `at` on.
///
/// # Safety
/// The same as for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn prepare(
    source: &Source,
    exact: bool,
    y: &[&[u64]],
    at: usize,
    count: usize,
    tile: *mut f64,
) {
    for u in (0..count).step_by(4) {
        let mut row = 1;
        let (mut quotient, mut above) = (set1(0.0), set1(0.0));
        for (y, input) in y.iter().zip(&source.inputs) {
            // SAFETY: `u + 4 <= count`, which is a multiple of 16, and there are `at + count`
            // coefficients.
            let x = unsafe { load_integers(y.as_ptr().add(at + u)) };
            let above_half = greater_integers(x, set1_integer(input.q - input.half - 1));
            if exact {
                let (high, low) = halves(x);
                quotient = add(quotient, mul(add(high, low), set1(input.reciprocal)));
                above = add(above, masked(above_half, set1(1.0)));
            }
            let (low, high, q_low, q_high) = if is_split(input) {
                let mask = (1 << LOW_DIGIT_BITS) - 1;
                let low = and_integers(x, set1_integer(mask));
                (
                    low,
                    Some(shift_down::<{ LOW_DIGIT_BITS as i32 }>(x)),
                    input.q & mask,
                    input.q >> LOW_DIGIT_BITS,
                )
            } else {
                (x, None, input.q, 0)
            };
            let low = sub(from_integers(low, 0.0), masked(above_half, set1(q_low as i64 as f64)));
            // SAFETY: the rows are below `1 + 2 MAX_INPUTS`, and `u + 4 <= TILE`.
            unsafe { store(tile.add(row * TILE + u), low) };
            row += 1;
            if let Some(high) = high {
                let high =
                    sub(from_integers(high, 0.0), masked(above_half, set1(q_high as i64 as f64)));
                // SAFETY: the same as above.
                unsafe { store(tile.add(row * TILE + u), high) };
                row += 1;
            }
        }
        // This is the quotient of the centred inputs.
        let rounded = sub(add(quotient, set1(ROUNDING)), set1(ROUNDING));
        // SAFETY: the same as above.
        unsafe { store(tile.add(u), sub(rounded, above)) };
    }
}

/// Computes the residues of `J` targets with the same groups, for the tile.
///
/// # Safety
/// The same as for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn sums<const J: usize>(
    outputs: &mut [Output],
    tile: *const f64,
    at: usize,
    count: usize,
    exact: bool,
) {
    let targets: [&Target; J] = std::array::from_fn(|j| outputs[j].target);
    let weights: [*const u64; J] = targets.map(|target| target.weights.as_ptr());
    let moduli: [Modulus; J] = targets.map(|target| Modulus::new(target.p));
    let out: [*mut u64; J] = std::array::from_fn(|j| outputs[j].data.as_mut_ptr().wrapping_add(at));
    for u in (0..count).step_by(4) {
        let mut total = [set1(0.0); J];
        let mut row = usize::from(!exact);
        for &end in &targets[0].groups {
            let mut high = [set1(0.0); J];
            for j in 0..J {
                high[j] = set1(f64::from_bits(targets[j].start[0]));
            }
            let start = high;
            let mut low = total;
            while row < end {
                // SAFETY: the rows were filled; each target has a weight for every row.
                unsafe {
                    let y = load(tile.add(row * TILE + u));
                    for j in 0..J {
                        let w = set1(f64::from_bits(*weights[j].add(row)));
                        let sum = mul_add(y, w, high[j]);
                        low[j] = add(low[j], mul_sub(y, w, sub(sum, high[j])));
                        high[j] = sum;
                    }
                }
                row += 1;
            }
            for j in 0..J {
                let rest = moduli[j].subtract_quotient(sub(high[j], start[j]), ROUND_TO_4);
                total[j] = moduli[j].reduce(add(rest, low[j]));
            }
        }
        for j in 0..J {
            // SAFETY: `u + 4 <= count`.
            unsafe { store_integers(out[j].add(u), to_integers(total[j], moduli[j].q)) };
        }
    }
}
