//! Inverse passes. All of them follow the contract of [`crate::simd512`].

use super::{
    arithmetic::{Arithmetic, Half, Tree, Twiddle},
    forward::{PREFETCH_PAIRS, load8, store8},
    tables::Tables,
};
use crate::simd512::{V, in_step, load, prefetch, store, transpose};

/// How many words ahead the first pass prefetches a limb that is not in the cache.
const PREFETCH_WORDS: usize = 512;

/// The first two layers of three, on registers 0 to 3.
#[inline(always)]
fn lower<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T) {
    [r[0], r[1], r[2], r[3]] = a.inverse_half([r[0], r[1], r[2], r[3]], t, 1, Half::Lower);
}

/// The first two layers of three, on registers 4 to 7.
#[inline(always)]
fn upper<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T) {
    [r[4], r[5], r[6], r[7]] = a.inverse_half([r[4], r[5], r[6], r[7]], t, 2, Half::Upper);
}

/// The third layer.
#[inline(always)]
fn join<A: Arithmetic>(a: A, r: &mut [V; 8], w: Twiddle) {
    (r[0], r[4]) = a.inverse_join(0, r[0], r[4], w);
    (r[1], r[5]) = a.inverse_join(1, r[1], r[5], w);
    (r[2], r[6]) = a.inverse_join(2, r[2], r[6], w);
    (r[3], r[7]) = a.inverse_join(3, r[3], r[7], w);
}

/// Three layers, in registers.
#[inline(always)]
fn layers<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T) {
    lower(a, r, t);
    upper(a, r, t);
    join(a, r, t.twiddle(a, 0));
}

/// Three layers of two blocks, side by side.
#[inline(always)]
fn pair<'a, A: Arithmetic, T: Tree>(
    a: A,
    x: &mut [V; 8],
    y: &mut [V; 8],
    mut t: &'a Tables,
    trees: impl Fn(&'a Tables) -> (T, T),
) -> &'a Tables {
    let (wx, wy) = trees(t);
    lower(a, x, wx);
    lower(a, y, wy);
    t = in_step(x, y, t);
    let (wx, wy) = trees(t);
    upper(a, x, wx);
    upper(a, y, wy);
    t = in_step(x, y, t);
    let (wx, wy) = trees(t);
    join(a, x, wx.twiddle(a, 0));
    join(a, y, wy.twiddle(a, 0));
    in_step(x, y, t)
}

/// The transposes and the first six layers of 64-blocks, in `count` blocks of 128 words from `first` on, from `[0, 2q)` to
/// inverse-loose, and from `source` to `p`, which may be the same.
///
/// Two 64-blocks go through side by side, as in [`super::forward::ends`]; or when there are factors to be multiplied, which fills gaps too,
/// one behind the other: a transpose keeps one execution port busy and leaves the others to the butterflies of the other block.
///
/// # Safety
/// `source` and `p` have `128 count` words.
#[inline(always)]
pub(super) unsafe fn ends<A: Arithmetic, const FACTORED: bool>(
    a: A,
    t: &Tables,
    source: *const u64,
    p: *mut u64,
    first: usize,
    count: usize,
) {
    for i in 0..count {
        // SAFETY: there are 128 words for each block.
        let (source, p) = unsafe { (source.add(128 * i), p.add(128 * i)) };
        // SAFETY: 64 words each.
        let (mut x, mut y) = unsafe { (load8(source, 8), load8(source.add(64), 8)) };
        // Where the multipliers are factored, limbs are longer than the first cache.
        if FACTORED {
            for line in 0..16 {
                prefetch(source.wrapping_add(PREFETCH_WORDS + 8 * line));
            }
        }
        let t = in_step(&mut x, &mut y, t);
        let block = 2 * (first + i);
        if !FACTORED {
            t.prefetch_lanes(block + 2 * PREFETCH_PAIRS);
        }
        let root = t.degree() / 64 + block;
        if FACTORED {
            layers(a, &mut x, t.lanes::<FACTORED>(block));
            let t = in_step(&mut x, &mut y, t);
            x = transpose(x);
            layers(a, &mut y, t.lanes::<FACTORED>(block + 1));
            let t = in_step(&mut x, &mut y, t);
            y = transpose(y);
            layers(a, &mut x, t.tree(root));
            let t = in_step(&mut x, &mut y, t);
            layers(a, &mut y, t.tree(root + 1));
        } else {
            let t =
                pair(a, &mut x, &mut y, t, |t| (t.lanes::<FACTORED>(block), t.lanes::<FACTORED>(block + 1)));
            (x, y) = (transpose(x), transpose(y));
            let t = in_step(&mut x, &mut y, t);
            pair(a, &mut x, &mut y, t, |t| (t.tree(root), t.tree(root + 1)));
        }
        // SAFETY: 64 words each.
        unsafe {
            store8(p, 8, x);
            store8(p.add(64), 8, y);
        }
    }
}

/// One layer, which joins the 64-blocks within each of `count` blocks of 128 words from `first` on.
///
/// # Safety
/// `p` has `128 count` words.
#[inline(always)]
pub(super) unsafe fn halves<A: Arithmetic>(a: A, t: &Tables, p: *mut u64, first: usize, count: usize) {
    for i in 0..count {
        let w = t.node(t.degree() / 128 + first + i);
        for j in (0..64).step_by(8) {
            // SAFETY: there are 128 words for each block.
            unsafe {
                let p = p.add(128 * i + j);
                let (x, y) = a.inverse_single(load(p), load(p.add(64)), w);
                store(p, x);
                store(p.add(64), y);
            }
        }
    }
}

/// Two layers, which join the 64-blocks within each of the 256-blocks that `count` blocks of 128 words from `first` on make up.
///
/// # Safety
/// `p` has `128 count` words.
#[inline(always)]
pub(super) unsafe fn quarters<A: Arithmetic>(a: A, t: &Tables, p: *mut u64, first: usize, count: usize) {
    for i in 0..count / 2 {
        let k = t.degree() / 256 + first / 2 + i;
        let w = [t.node(k), t.node(2 * k), t.node(2 * k + 1)];
        for j in (0..64).step_by(8) {
            // SAFETY: there are 256 words for each block.
            unsafe {
                let p = p.add(256 * i + j);
                let r = [load(p), load(p.add(64)), load(p.add(128)), load(p.add(192))];
                let r = a.inverse_half(r, w, 0, Half::Whole);
                store(p, r[0]);
                store(p.add(64), r[1]);
                store(p.add(128), r[2]);
                store(p.add(192), r[3]);
            }
        }
    }
}

/// Three layers on the block of `8 stride` words with node `k`, from inverse-loose to inverse-loose.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 8.
#[inline(always)]
pub(super) unsafe fn pass<A: Arithmetic>(a: A, t: &Tables, p: *mut u64, stride: usize, k: usize) {
    let w = t.tree(k).held();
    for j in (0..stride).step_by(8) {
        // SAFETY: `j + 7 stride + 8` is at most `8 stride`.
        unsafe {
            let mut r = load8(p.add(j), stride);
            layers(a, &mut r, w);
            store8(p.add(j), stride, r);
        }
    }
}

/// The last three layers, at the root, from inverse-loose to `[0, q)`, times a constant: `factors` are that constant and the
/// constant times the multiplier of the root. Two lots of eight vectors go through side by side; in [`pass`] that would take more registers than
/// there are.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
pub(super) unsafe fn last<A: Arithmetic>(
    a: A,
    t: &Tables,
    p: *mut u64,
    stride: usize,
    factors: [Twiddle; 2],
) {
    for j in (0..stride).step_by(16) {
        // SAFETY: `j + 7 stride + 16` is at most `8 stride`.
        unsafe {
            let (mut x, mut y) = (load8(p.add(j), stride), load8(p.add(j + 8), stride));
            let t = in_step(&mut x, &mut y, t);
            lower(a, &mut x, t.tree(1));
            lower(a, &mut y, t.tree(1));
            let t = in_step(&mut x, &mut y, t);
            upper(a, &mut x, t.tree(1));
            upper(a, &mut y, t.tree(1));
            in_step(&mut x, &mut y, t);
            for r in [&mut x, &mut y] {
                (r[0], r[4]) = a.inverse_final(r[0], r[4], factors);
                (r[1], r[5]) = a.inverse_final(r[1], r[5], factors);
                (r[2], r[6]) = a.inverse_final(r[2], r[6], factors);
                (r[3], r[7]) = a.inverse_final(r[3], r[7], factors);
            }
            store8(p.add(j), stride, x);
            store8(p.add(j + 8), stride, y);
        }
    }
}
