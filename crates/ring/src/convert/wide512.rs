//! The conversion with AVX-512 without IFMA, or to `p` of 50 bits and more.
//!
//! It uses signed digits to the base `2^30`, and Karatsuba's method with three multiplications per
//! product.
//!
//! Inputs and weights are centred and split, `y = y_0 + 2^30 y_1` with `y_0` in `[-2^29, 2^29)` and
//! `|y_1| <= 2^30`. So the products of 5 inputs of 61 bits or 12 of 60 bits (more if smaller) can
//! be summed in 64 bits. Let `s_0` be the sum of `y_0 w_0`, `s_2` of `y_1 w_1` and `s_1` of
//! `(y_0 + y_1)(w_0 + w_1)`, all modulo 2^64. Then the sum of products is
//! `s_0 + 2^30 (s_1 - s_0 - s_2) + 2^60 s_2`. Two Montgomery steps of 30 bits reduce it, so
//! `R = 2^60`.

use std::arch::x86_64::*;

use super::{
    ROUNDING,
    source::Source,
    target::{Family, Output, Target, corrections},
    tile::Tile,
};
use crate::{
    arith::{centred, mul_mod},
    simd512::*,
};

/// The number of coefficients that are converted together.
const TILE: usize = 64;

/// The number of bits of a digit.
const DIGIT_BITS: u32 = 30;

/// Returns the low digit of a centred number, the sum of its digits, and the high digit.
fn digits(x: i64) -> [i64; 3] {
    let high = (x + (1 << (DIGIT_BITS - 1))) >> DIGIT_BITS;
    let low = x - (high << DIGIT_BITS);
    [low, low + high, high]
}

/// Returns the constants of the target `p`, for `c` times the number.
pub(super) fn target(source: &Source, (p, c): (u64, u64)) -> Target {
    let radix = (1 << (2 * DIGIT_BITS)) % p;
    let weights: Vec<u64> = std::iter::once(source.negative_product((p, c)))
        .chain(source.weights((p, c)))
        .flat_map(|w| digits(centred(mul_mod(w, radix, p), p)))
        .map(|digit| digit as u64)
        .collect();
    let (p0, p1) = (p & ((1 << DIGIT_BITS) - 1), p >> DIGIT_BITS);
    // A group is as large as its low sum (2^58 for each row) and its middle sum allow, with room
    // for the terms that the reduction adds.
    const MAX_ROWS_PER_GROUP: usize = 24;
    let middle_limit = (1u128 << 63) - (u128::from(p1 + 1) << 30) - (1 << 59) - (1 << 40);
    let (mut groups, mut middle) = (vec![0], 0);
    // The current and the largest sum of a group, in units of 2^-62 p.
    let (mut group_sum, mut largest) = (0, 0);
    for (i, input) in source.inputs.iter().enumerate() {
        let term =
            u128::from((input.q >> (DIGIT_BITS + 1)) + 1 + (p1 >> 1) + 1) << (DIGIT_BITS - 1);
        if middle + term > middle_limit || i - groups[groups.len() - 1] == MAX_ROWS_PER_GROUP {
            groups.push(i);
            (middle, group_sum) = (0, 0);
        }
        middle += term;
        group_sum += u128::from(input.q);
        largest = group_sum.max(largest);
    }
    // So far `groups` holds the first input of each group. The target needs the end of each group
    // instead, in rows. There is one row before the first input.
    let groups = groups[1..].iter().map(|i| i + 1).chain([1 + source.inputs.len()]).collect();
    // The quotient adds no more than this. A reduced sum is within (largest/2^62 + 1/2) p of zero,
    // and `offset_in_p` p make it positive.
    let half = 1u128 << 61;
    let largest = largest + 256;
    let offset_in_p = (largest + half).div_ceil(1 << 62);
    let bound = (offset_in_p << 62) + largest + half;
    // The multiples of p that centre the reduction are 2^59 p, and 2^60 `offset_in_p` p.
    let s2 = (p1 << 29).wrapping_add((offset_in_p as u64).wrapping_mul(p));
    let s1 = (p0 << 29).wrapping_add(s2);
    Target {
        family: Family::Wide512,
        p,
        digits: [p0, p1],
        inverse: inv64(p) & ((1 << DIGIT_BITS) - 1),
        weights,
        start: [0, s1, s2],
        groups,
        corrections: corrections(bound, 1 << 62),
    }
}

/// Converts to targets of [`Family::Wide512`].
///
/// # Safety
/// The CPU has the features. Inputs and outputs have the same length, a multiple of 16. The number
/// of inputs is that of `source`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
pub(super) unsafe fn run(source: &Source, exact: bool, y: &[&[u64]], outputs: &mut [Output]) {
    let n = y[0].len();
    // The tile has the digits `y_0`, `y_0 + y_1` and `y_1` in rows: first those of the quotient,
    // then those of the inputs.
    let mut tile = Tile::of(3 * TILE * (1 + source.inputs.len()));
    let tile: *mut u64 = tile.as_mut_ptr();
    for at in (0..n).step_by(TILE) {
        let count = TILE.min(n - at);
        // SAFETY: `count` coefficients from `at` on exist, and the tile has three rows of TILE
        // words for each input.
        unsafe { prepare(source, exact, y, at, count, tile) };
        let mut groups = outputs.chunk_by_mut(|a, b| a.target.groups == b.target.groups);
        for same in &mut groups {
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

/// Returns `floor(x / 2^DIGIT_BITS)` for signed `x`.
#[inline(always)]
fn shift_down(x: V) -> V {
    // SAFETY: see the contract of `simd512`.
    unsafe { _mm512_srai_epi64::<DIGIT_BITS>(x) }
}

/// Returns the product of the low halves of `a` and `b`, hidden from the compiler.
///
/// It is that of `simd512`. If only low bits of the product are used, the compiler would choose the
/// multiplication of 64 bits, which is three times as slow.
#[inline]
#[target_feature(enable = "avx512f")]
fn mul32_opaque(a: V, b: V) -> V {
    let product;
    // SAFETY: one instruction on registers.
    unsafe {
        std::arch::asm!("vpmuludq {}, {}, {}", out(zmm_reg) product, in(zmm_reg) a, in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// Returns the product of the low halves of `a` and `b`, as signed numbers.
#[inline(always)]
fn mul_signed(a: V, b: V) -> V {
    // SAFETY: see the contract of `simd512`.
    unsafe { _mm512_mul_epi32(a, b) }
}

/// Stores digits and their sum in their rows.
///
/// `to` is in the row of the low digits.
///
/// # Safety
/// The three rows are valid for writing.
#[inline(always)]
unsafe fn store_digits(to: *mut u64, low: V, high: V) {
    // SAFETY: the caller guarantees that `to` is valid.
    unsafe {
        store(to, low);
        store(to.add(TILE), add(low, high));
        store(to.add(2 * TILE), high);
    }
}

/// Fills the rows of `tile` from `count` coefficients from `at` on.
///
/// # Safety
/// The same as for [`run`].
#[inline(always)]
unsafe fn prepare(
    source: &Source,
    exact: bool,
    y: &[&[u64]],
    at: usize,
    count: usize,
    tile: *mut u64,
) {
    for u in (0..count).step_by(8) {
        // SAFETY: `u + 8 <= count`, which is a multiple of 16; the intrinsics as in `simd512`.
        unsafe {
            let mut quotient = _mm512_setzero_pd();
            let mut above_half = zero();
            for (i, (y, input)) in y.iter().zip(&source.inputs).enumerate() {
                let x = load(y.as_ptr().add(at + u));
                let large = _mm512_cmpge_epu64_mask(x, set1(input.q - input.half));
                if exact {
                    let terms =
                        _mm512_mul_pd(_mm512_cvtepu64_pd(x), _mm512_set1_pd(input.reciprocal));
                    quotient = _mm512_add_pd(quotient, terms);
                    above_half = _mm512_mask_add_epi64(above_half, large, above_half, set1(1));
                }
                let x = _mm512_mask_sub_epi64(x, large, x, set1(input.q));
                let high = shift_down(add(x, set1(1 << (DIGIT_BITS - 1))));
                store_digits(
                    tile.add(3 * (1 + i) * TILE + u),
                    sub(x, shl::<DIGIT_BITS>(high)),
                    high,
                );
            }
            if exact {
                // This is the quotient of the centred inputs. Only its low half is used.
                let rounded =
                    _mm512_castpd_si512(_mm512_add_pd(quotient, _mm512_set1_pd(ROUNDING)));
                store_digits(tile.add(u), sub(rounded, above_half), zero());
            }
        }
    }
}

/// Computes the residues of `J` targets with the same groups, for the tile.
///
/// # Safety
/// The same as for [`run`].
#[inline(always)]
unsafe fn sums<const J: usize>(
    outputs: &mut [Output],
    tile: *const u64,
    at: usize,
    count: usize,
    exact: bool,
) {
    let targets: [&Target; J] = std::array::from_fn(|j| outputs[j].target);
    let weights: [*const u64; J] = targets.map(|target| target.weights.as_ptr());
    let out: [*mut u64; J] = std::array::from_fn(|j| outputs[j].data.as_mut_ptr().wrapping_add(at));
    let corrections = targets.iter().map(|target| target.corrections).max().unwrap_or(0);
    for u in (0..count).step_by(8) {
        let mut row = usize::from(!exact);
        for (number, &end) in targets[0].groups.iter().enumerate() {
            // SAFETY: `u + 8 <= count`; each target has three weights for every row.
            unsafe {
                let mut s = [[zero(); 3]; J];
                for j in 0..J {
                    for (s, start) in s[j].iter_mut().zip(targets[j].start) {
                        *s = set1(start);
                    }
                }
                while row < end {
                    let from = tile.add(3 * row * TILE + u);
                    let y = [load(from), load(from.add(TILE)), load(from.add(2 * TILE))];
                    for j in 0..J {
                        let w = weights[j].add(3 * row);
                        for part in 0..3 {
                            s[j][part] = add(s[j][part], mul_signed(y[part], set1(*w.add(part))));
                        }
                    }
                    row += 1;
                }
                let mut r = [zero(); J];
                for j in 0..J {
                    r[j] = reduce(s[j], targets[j]);
                }
                for c in (1..=corrections).rev() {
                    for j in 0..J {
                        r[j] = red(r[j], set1(targets[j].p << c));
                    }
                }
                for j in 0..J {
                    let to = out[j].add(u);
                    if number > 0 {
                        r[j] = red(add(r[j], load(to)), set1(2 * targets[j].p));
                    }
                    store(to, r[j]);
                }
            }
        }
    }
}

/// Reduces the sum of products so far that the target's corrections bring it to `[0, 2p)`.
#[inline(always)]
fn reduce([s0, s1, s2]: [V; 3], target: &Target) -> V {
    let mask = set1((1 << DIGIT_BITS) - 1);
    let (p0, p1, inverse) = (set1(target.digits[0]), set1(target.digits[1]), set1(target.inverse));
    let s1 = sub(sub(s1, s0), s2);
    // SAFETY: see the contract of `simd512`.
    unsafe {
        let m = and(mul32_opaque(s0, inverse), mask);
        let s1 = add(sub(s1, mul32_opaque(m, p1)), shift_down(sub(s0, mul32_opaque(m, p0))));
        let m = and(mul32_opaque(s1, inverse), mask);
        add(sub(s2, mul32_opaque(m, p1)), shift_down(sub(s1, mul32_opaque(m, p0))))
    }
}
