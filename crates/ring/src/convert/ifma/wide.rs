//! Sums for `2^50 <= p < 2^61` and inputs of one digit.
//!
//! Weights have two digits. The high digit has at most 9 bits.

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
    let corrections = targets.iter().map(|target| target.corrections).max().unwrap_or(0);
    let weights: [*const u64; J] = targets.map(|target| target.weights.as_ptr());
    let out: [*mut u64; J] = std::array::from_fn(|j| outputs[j].data.as_mut_ptr().wrapping_add(at));
    for u in (0..count).step_by(16) {
        // SAFETY: `u + 16 <= count`; each target has weights and their high digits for every row.
        unsafe {
            // The sums have the weights 1, 2^52 (twice, to shorten chains) and 2^104.
            let (mut s0, mut s1) = ([[zero(); 2]; J], [[zero(); 2]; J]);
            let (mut t1, mut s2) = ([[zero(); 2]; J], [[zero(); 2]; J]);
            for j in 0..J {
                (s0[j], s1[j]) = ([set1(start[j]); 2], [set1(targets[j].p); 2]);
            }
            for row in rows.first..rows.all {
                let y0 = load(tile.add(row * TILE + u));
                let y1 = load(tile.add(row * TILE + u + 8));
                for j in 0..J {
                    let (w, v) =
                        (set1(*weights[j].add(row)), set1(*weights[j].add(rows.all + row)));
                    s0[j] = [madd52lo(s0[j][0], y0, w), madd52lo(s0[j][1], y1, w)];
                    s1[j] = [madd52hi(s1[j][0], y0, w), madd52hi(s1[j][1], y1, w)];
                    t1[j] = [madd52lo(t1[j][0], y0, v), madd52lo(t1[j][1], y1, v)];
                    s2[j] = [madd52hi(s2[j][0], y0, v), madd52hi(s2[j][1], y1, v)];
                }
            }
            let mut r = [[zero(); 2]; J];
            for j in 0..J {
                for v in 0..2 {
                    r[j][v] = reduce(s0[j][v], add(s1[j][v], t1[j][v]), s2[j][v], targets[j]);
                }
            }
            for c in (1..=corrections).rev() {
                for j in 0..J {
                    let multiple = set1(targets[j].p << c);
                    r[j] = [red(r[j][0], multiple), red(r[j][1], multiple)];
                }
            }
            for j in 0..J {
                let to = out[j].add(u);
                store(to, r[j][0]);
                store(to.add(8), r[j][1]);
            }
        }
    }
}

/// Returns a number congruent to `(s0 + 2^52 s1 + 2^104 s2) 2^-52` modulo `p`, between this
/// quotient minus `p` and the quotient.
#[inline(always)]
fn reduce(s0: V, s1: V, s2: V, target: &Target) -> V {
    let (p0, p1, inverse) = (set1(target.digits[0]), set1(target.digits[1]), set1(target.inverse));
    let m = madd52lo(zero(), s0, inverse);
    let back = madd52lo(madd52hi(zero(), m, p0), m, p1);
    let high = sub(s2, madd52hi(zero(), m, p1));
    add(sub(add(s1, shr::<52>(s0)), back), shl::<52>(high))
}
