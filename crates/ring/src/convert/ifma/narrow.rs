//! Sums for `p < 2^50`, with weights of one digit.

use super::{Rows, TILE};
use crate::{
    convert::target::{Output, Target},
    simd512::*,
};

/// Computes the residues of `J` targets for the tile. If `streams`, they are stored past the cache.
///
/// # Safety
/// The same as for [`super::run`]. If `streams`, outputs begin at multiples of 64 bytes.
#[inline(always)]
pub(super) unsafe fn sums<const J: usize>(
    outputs: &mut [Output],
    tile: *const u64,
    at: usize,
    count: usize,
    rows: Rows,
    streams: bool,
) {
    let targets: [&Target; J] = std::array::from_fn(|j| outputs[j].target);
    let start = targets.map(|target| if rows.first == 0 { 0 } else { target.start[0] });
    let (p, inverse) = (targets.map(|target| target.p), targets.map(|target| target.inverse));
    let corrections = targets.iter().map(|target| target.corrections).max().unwrap_or(0);
    let weights: [*const u64; J] = targets.map(|target| target.weights.as_ptr());
    let out: [*mut u64; J] = std::array::from_fn(|j| outputs[j].data.as_mut_ptr().wrapping_add(at));
    for u in (0..count).step_by(16) {
        // SAFETY: `u + 16 <= count`; each target has a weight for every row.
        unsafe {
            let (mut low, mut high) = ([[zero(); 2]; J], [[zero(); 2]; J]);
            for j in 0..J {
                (low[j], high[j]) = ([set1(start[j]); 2], [set1(p[j]); 2]);
            }
            for row in rows.first..rows.full {
                let y0 = load(tile.add(row * TILE + u));
                let y1 = load(tile.add(row * TILE + u + 8));
                for j in 0..J {
                    let w = set1(*weights[j].add(row));
                    low[j] = [madd52lo(low[j][0], y0, w), madd52lo(low[j][1], y1, w)];
                    high[j] = [madd52hi(high[j][0], y0, w), madd52hi(high[j][1], y1, w)];
                }
            }
            for row in rows.full..rows.all {
                let y0 = load(tile.add(row * TILE + u));
                let y1 = load(tile.add(row * TILE + u + 8));
                for j in 0..J {
                    let w = set1(*weights[j].add(row));
                    low[j] = [madd52lo(low[j][0], y0, w), madd52lo(low[j][1], y1, w)];
                }
            }
            let mut r = [[zero(); 2]; J];
            for j in 0..J {
                let (p, inverse) = (set1(p[j]), set1(inverse[j]));
                r[j] = [
                    redc52(high[j][0], low[j][0], p, inverse),
                    redc52(high[j][1], low[j][1], p, inverse),
                ];
            }
            for c in (1..=corrections).rev() {
                for j in 0..J {
                    let multiple = set1(p[j] << c);
                    r[j] = [red(r[j][0], multiple), red(r[j][1], multiple)];
                }
            }
            for j in 0..J {
                let to = out[j].add(u);
                if streams {
                    store_past_cache(to, r[j][0]);
                    store_past_cache(to.add(8), r[j][1]);
                } else {
                    store(to, r[j][0]);
                    store(to.add(8), r[j][1]);
                }
            }
        }
    }
}
