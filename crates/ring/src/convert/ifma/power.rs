//! Sums for `p = 2^e`, `e <= 52`, of the low halves only, which are correct modulo `2^52`.

use super::{Rows, TILE};
use crate::{
    convert::target::{Output, Target},
    simd512::*,
};

/// Computes the residues of `J` targets for the tile.
///
/// # Safety
/// The same as for [`super::run`].
#[inline(always)]
pub(super) unsafe fn sums<const J: usize>(
    outputs: &mut [Output],
    tile: *const u64,
    at: usize,
    count: usize,
    rows: Rows,
) {
    let targets: [&Target; J] = std::array::from_fn(|j| outputs[j].target);
    let start = targets.map(|target| if rows.first == 0 { 0 } else { target.start[0] });
    let weights: [*const u64; J] = targets.map(|target| target.weights.as_ptr());
    let out: [*mut u64; J] = std::array::from_fn(|j| outputs[j].data.as_mut_ptr().wrapping_add(at));
    for u in (0..count).step_by(16) {
        // SAFETY: `u + 16 <= count`; each target has a weight for every row.
        unsafe {
            let mut low = [[zero(); 2]; J];
            for j in 0..J {
                low[j] = [set1(start[j]); 2];
            }
            for row in rows.first..rows.all {
                let y0 = load(tile.add(row * TILE + u));
                let y1 = load(tile.add(row * TILE + u + 8));
                for j in 0..J {
                    let w = set1(*weights[j].add(row));
                    low[j] = [madd52lo(low[j][0], y0, w), madd52lo(low[j][1], y1, w)];
                }
            }
            for j in 0..J {
                let (to, mask) = (out[j].add(u), set1(targets[j].p - 1));
                store(to, and(low[j][0], mask));
                store(to.add(8), and(low[j][1], mask));
            }
        }
    }
}
