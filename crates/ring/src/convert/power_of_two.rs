//! The conversion to powers of two.
//!
//! It sums words modulo `2^64`, in plain loops that the compiler vectorises for each kernel.

use super::{
    source::Source,
    target::{Family, Output, Target},
};
use crate::{Kernel, words::Words};

/// The number of coefficients that are converted together.
const TILE: usize = 16;

/// Returns the constants of the target `p = 2^e`, for `c` times the number.
pub(super) fn target(source: &Source, (p, c): (u64, u64)) -> Target {
    Target {
        family: Family::PowerOfTwo,
        p,
        digits: [0; 2],
        inverse: 0,
        weights: std::iter::once(source.negative_product((p, c)))
            .chain(source.weights((p, c)))
            .collect(),
        start: [source.offset((p, c)), 0, 0],
        groups: Vec::new(),
        corrections: 0,
    }
}

/// Converts to targets of [`Family::PowerOfTwo`], with results in `[0, p)`.
pub(super) fn run(
    source: &Source,
    kernel: Kernel,
    exact: bool,
    y: &[&[u64]],
    outputs: &mut [Output],
) {
    for output in outputs {
        if let ([input], [_, 1]) = (source.inputs.as_slice(), output.target.weights.as_slice()) {
            let words = Words::new(output.target.p.trailing_zeros(), kernel);
            words.reduce_centred(output.data, y[0], input.q);
            continue;
        }
        match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `BaseConverter::new` has checked the CPU.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { sums_512(source, exact, y, output) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Kernel::Avx2 => unsafe { sums_256(source, exact, y, output) },
            _ => sums(source, exact, y, output),
        }
    }
}

/// Calls [`sums`], compiled for vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
fn sums_512(source: &Source, exact: bool, y: &[&[u64]], output: &mut Output) {
    sums(source, exact, y, output);
}

/// Calls [`sums`], compiled for vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sums_256(source: &Source, exact: bool, y: &[&[u64]], output: &mut Output) {
    sums(source, exact, y, output);
}

/// Writes the residues of one target. For targets of at most `2^32`, 32-bit multiplications
/// suffice.
#[inline(always)]
fn sums(source: &Source, exact: bool, y: &[&[u64]], output: &mut Output) {
    match (output.target.p <= 1 << 32, exact) {
        (true, true) => tiles::<true, true>(source, y, output),
        (true, false) => tiles::<true, false>(source, y, output),
        (false, true) => tiles::<false, true>(source, y, output),
        (false, false) => tiles::<false, false>(source, y, output),
    }
}

/// Returns `a b`, or if `SHORT` a word that is congruent to it modulo `2^32`.
#[inline(always)]
fn times<const SHORT: bool>(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    if SHORT { (a & LOW) * (b & LOW) } else { a.wrapping_mul(b) }
}

/// Computes [`sums`], tile by tile.
#[inline(always)]
fn tiles<const SHORT: bool, const EXACT: bool>(source: &Source, y: &[&[u64]], output: &mut Output) {
    let target = output.target;
    for (number, out) in output.data.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
        let (mut quotients, mut total) =
            ([0f64; TILE], [if EXACT { 0 } else { target.start[0] }; TILE]);
        for ((y, input), &weight) in y.iter().zip(&source.inputs).zip(&target.weights[1..]) {
            let y = &y.as_chunks::<TILE>().0[number];
            for i in 0..TILE {
                if EXACT {
                    quotients[i] += y[i] as f64 * input.reciprocal;
                    total[i] = total[i].wrapping_add(times::<SHORT>(y[i], weight));
                } else {
                    let (q, above) = (input.q, (y[i] + input.half).wrapping_sub(input.q));
                    let shifted = above.wrapping_add(q & ((above as i64) >> 63) as u64);
                    total[i] = total[i].wrapping_add(times::<SHORT>(shifted, weight));
                }
            }
        }
        for i in 0..TILE {
            let multiple = if EXACT {
                times::<SHORT>(super::round(quotients[i]), target.weights[0])
            } else {
                0
            };
            out[i] = total[i].wrapping_add(multiple) & (target.p - 1);
        }
    }
}
