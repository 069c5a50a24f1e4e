//! The conversion with AVX-512 IFMA, to odd `p` and powers of two.
//!
//! It sums the low and the high halves of products of 52-bit digits. An input below 2^52 is one
//! row. A larger one is split, `y = low + 2^s high`, into two rows with separate weights. If
//! possible, `s` is chosen so that products of the high rows stay below 2^52. Such *light* rows
//! have no high halves. Modulo powers of two up to 2^52, no row needs high halves.

mod narrow;
mod power;
mod wide;

use std::arch::x86_64::*;

use super::{
    ROUNDING,
    source::Source,
    target::{Family, Output, Target, corrections},
    tile::Tile,
};
use crate::{
    arith::{mul_mod, pow_mod},
    simd512::*,
};

/// The number of coefficients that are converted together.
const TILE: usize = 128;

/// The minimum number of bytes of outputs that are stored past the cache. It is chosen: more than a
/// second-level cache holds.
///
/// Such outputs do not occupy the cache, and memory is not read before it is overwritten.
const MIN_STREAMED_BYTES: usize = 2 << 20;

/// The number of rows between a prefetch of an input and its use (chosen).
const PREFETCH_ROWS: usize = 4;

/// The split of the inputs into rows: first the quotient, then the inputs (or their low digits) in
/// order, then the high digits.
#[derive(Debug, Clone)]
pub(super) struct Digits {
    /// The low digits of split inputs are their remainders modulo `2^split`.
    split: u32,
    /// The indices of the inputs with high digits.
    large: Vec<usize>,
    /// True if the rows of high digits are light.
    light: bool,
}

impl Digits {
    /// Chooses the split for targets of [`Family::IfmaNarrow`] up to `p`.
    pub fn new(source: &Source, p: u64) -> Self {
        let bits = |x: u64| 64 - x.leading_zeros();
        let large: Vec<usize> =
            (0..source.inputs.len()).filter(|&i| source.inputs[i].q > 1 << 52).collect();
        let top = large.iter().map(|&i| bits(source.inputs[i].q)).max().unwrap_or(0);
        let split = (top + bits(p)).saturating_sub(52).max(32);
        if split <= 52 {
            Digits { split, large, light: true }
        } else {
            Digits { split: 40, large, light: false }
        }
    }

    /// Returns the number of rows before the light ones.
    fn full_rows(&self, source: &Source) -> usize {
        1 + source.inputs.len() + if self.light { 0 } else { self.large.len() }
    }

    /// Returns the number of rows.
    fn rows(&self, source: &Source) -> usize {
        1 + source.inputs.len() + self.large.len()
    }

    /// Returns the constants of the target `p`, for `c` times the number.
    ///
    /// `R` is `2^52` for odd `p`, and 1 for powers of two.
    pub fn target(&self, source: &Source, (p, c): (u64, u64), family: Family) -> Target {
        let plain: Vec<u64> = source.weights((p, c)).collect();
        let shift = pow_mod(2, u64::from(self.split), p);
        let high = self.large.iter().map(|&i| mul_mod(plain[i], shift, p));
        let radix = if family == Family::IfmaPower { 1 } else { (1 << 52) % p };
        let mut weights: Vec<u64> = std::iter::once(source.negative_product((p, c)))
            .chain(plain.iter().copied())
            .chain(high)
            .map(|w| mul_mod(w, radix, p))
            .collect();
        if family == Family::IfmaWide {
            // The high digits of the weights follow the weights. Multiplications use only the low
            // digits of their operands.
            weights.extend_from_within(..);
            let half = weights.len() / 2;
            weights[half..].iter_mut().for_each(|w| *w >>= 52);
        }
        // A sum is below (the sum of the largest digits + 1) p. A reduction divides by 2^52 and
        // adds up to p.
        let digits = |q: u64| {
            if q > 1 << 52 {
                (1u128 << self.split) + u128::from(q >> self.split) + 1
            } else {
                u128::from(q)
            }
        };
        let bound: u128 = source.inputs.iter().map(|input| digits(input.q)).sum();
        let bound = bound + source.inputs.len() as u128 + 2;
        Target {
            family,
            p,
            digits: [p, p >> 52],
            inverse: if family == Family::IfmaPower { 0 } else { inv52(p) },
            weights,
            start: [mul_mod(source.offset((p, c)), radix, p), 0, 0],
            groups: vec![self.rows(source)],
            corrections: corrections((1 << 52) + bound, 1 << 52),
        }
    }
}

/// Converts to targets of [`Family::IfmaNarrow`], [`Family::IfmaWide`] and [`Family::IfmaPower`],
/// each family together.
///
/// # Safety
/// The CPU has the features. Inputs and outputs have the same length, a multiple of 16. The number
/// of inputs is that of `source`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma")]
pub(super) unsafe fn run(
    digits: &Digits,
    source: &Source,
    exact: bool,
    y: &[&[u64]],
    outputs: &mut [Output],
) {
    let n = y[0].len();
    let mut tile = Tile::of(TILE * digits.rows(source));
    let tile: *mut u64 = tile.as_mut_ptr();
    let rows = Rows {
        first: usize::from(!exact),
        full: digits.full_rows(source),
        all: digits.rows(source),
    };
    let aligned = outputs.iter().all(|output| output.data.as_ptr().align_offset(64) == 0);
    let streams = aligned && size_of_val(y[0]) * outputs.len() > MIN_STREAMED_BYTES;
    for at in (0..n).step_by(TILE) {
        let count = TILE.min(n - at);
        // SAFETY: `count` coefficients from `at` on exist, and the tile has a row of TILE words for
        // each digit.
        unsafe { prepare(digits, source, exact, y, at, count, tile) };
        let families = outputs.chunk_by_mut(|a, b| a.target.family == b.target.family);
        // Groups have four targets or almost as many. With few targets at a time, the multiplier is
        // idle while each sum waits for its last product.
        let even = |count: usize| count.div_ceil(count.div_ceil(4));
        for group in families.flat_map(|family| family.chunks_mut(even(family.len()))) {
            // SAFETY: the same as above; the rows were filled by `prepare`.
            unsafe {
                match (group[0].target.family, group.len()) {
                    (Family::IfmaPower, 4) => power::sums::<4>(group, tile, at, count, rows),
                    (Family::IfmaPower, 3) => power::sums::<3>(group, tile, at, count, rows),
                    (Family::IfmaPower, 2) => power::sums::<2>(group, tile, at, count, rows),
                    (Family::IfmaPower, _) => power::sums::<1>(group, tile, at, count, rows),
                    (Family::IfmaWide, 4) => wide::sums::<4>(group, tile, at, count, rows),
                    (Family::IfmaWide, 3) => wide::sums::<3>(group, tile, at, count, rows),
                    (Family::IfmaWide, 2) => wide::sums::<2>(group, tile, at, count, rows),
                    (Family::IfmaWide, _) => wide::sums::<1>(group, tile, at, count, rows),
                    (_, 4) => narrow::sums::<4>(group, tile, at, count, rows, streams),
                    (_, 3) => narrow::sums::<3>(group, tile, at, count, rows, streams),
                    (_, 2) => narrow::sums::<2>(group, tile, at, count, rows, streams),
                    (_, _) => narrow::sums::<1>(group, tile, at, count, rows, streams),
                }
            }
        }
    }
    if streams {
        fence();
    }
}

/// The ranges of rows. The rows `first..full` need both halves of products, and the rows
/// `full..all` only the low halves.
#[derive(Clone, Copy)]
struct Rows {
    first: usize,
    full: usize,
    all: usize,
}

/// Fills the rows of `tile` from `count` coefficients from `at` on.
///
/// # Safety
/// The same as for [`run`].
#[inline(always)]
unsafe fn prepare(
    digits: &Digits,
    source: &Source,
    exact: bool,
    y: &[&[u64]],
    at: usize,
    count: usize,
    tile: *mut u64,
) {
    // SAFETY: `count` is `TILE`, or less and a multiple of 16.
    unsafe {
        if count == TILE {
            prepare_part::<{ TILE / 8 }>(digits, source, exact, y, at, tile);
        } else {
            for u in (0..count).step_by(16) {
                prepare_part::<2>(digits, source, exact, y, at + u, tile.add(u));
            }
        }
    }
}

/// Fills `VECTORS` vectors of each row from coefficient `at` on.
///
/// The limbs of one polynomial are a power of two apart. So the same coefficient of all limbs
/// competes for few places in the cache. Inputs are therefore read one row at a time, and
/// prefetched a few rows ahead.
///
/// # Safety
/// The same as for [`run`], with `8 VECTORS` coefficients.
#[inline(always)]
unsafe fn prepare_part<const VECTORS: usize>(
    digits: &Digits,
    source: &Source,
    exact: bool,
    y: &[&[u64]],
    at: usize,
    tile: *mut u64,
) {
    // SAFETY: the caller guarantees the coefficients and the tile. The intrinsics follow the
    // contract of `simd512`.
    unsafe {
        let mut quotients = [_mm512_setzero_pd(); VECTORS];
        let mut high = 1 + source.inputs.len();
        let by = _mm_cvtsi32_si128(digits.split as i32);
        for (i, input) in source.inputs.iter().enumerate() {
            let from = y[i].as_ptr().add(at);
            let (row, turns) = ((i + PREFETCH_ROWS) % y.len(), (i + PREFETCH_ROWS) / y.len());
            let ahead = y[row].as_ptr().wrapping_add(at + 8 * VECTORS * turns);
            for (v, quotient) in quotients.iter_mut().enumerate() {
                prefetch(ahead.wrapping_add(8 * v));
                let mut x = load(from.add(8 * v));
                if exact {
                    let terms =
                        _mm512_mul_pd(_mm512_cvtepu64_pd(x), _mm512_set1_pd(input.reciprocal));
                    *quotient = _mm512_add_pd(*quotient, terms);
                } else {
                    x = red(add(x, set1(input.half)), set1(input.q));
                }
                if input.q > 1 << 52 {
                    let top = _mm512_srl_epi64(x, by);
                    store(tile.add(high * TILE + 8 * v), top);
                    x = sub(x, _mm512_sll_epi64(top, by));
                }
                store(tile.add((1 + i) * TILE + 8 * v), x);
            }
            high += usize::from(input.q > 1 << 52);
        }
        // Multiplications use the low 52 bits, which are the rounded quotient.
        for (v, quotient) in quotients.into_iter().enumerate() {
            let rounded = _mm512_add_pd(quotient, _mm512_set1_pd(ROUNDING));
            store(tile.add(8 * v), _mm512_castpd_si512(rounded));
        }
    }
}
