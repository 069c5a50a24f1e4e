//! Inverse passes. All of them follow the contract of [`crate::simd512`].

use super::{
    arithmetic::{Arithmetic, Half, Tree, Twiddle},
    forward::{PREFETCH_BLOCKS, load8, store8},
    tables::Tables,
};
use crate::simd512::{V, in_step, load, prefetch, store, transpose};

/// The number of words by which the first pass prefetches ahead (chosen). The limb may not be in
/// the cache.
const PREFETCH_WORDS: usize = 512;

/// Computes the first two layers of three, on registers 0 to 3.
#[inline(always)]
fn lower<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T) {
    [r[0], r[1], r[2], r[3]] = a.inverse_half([r[0], r[1], r[2], r[3]], t, 1, Half::Lower);
}

/// Computes the first two layers of three, on registers 4 to 7.
#[inline(always)]
fn upper<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T) {
    [r[4], r[5], r[6], r[7]] = a.inverse_half([r[4], r[5], r[6], r[7]], t, 2, Half::Upper);
}

/// Computes the third layer.
#[inline(always)]
fn join<A: Arithmetic>(a: A, r: &mut [V; 8], w: Twiddle) {
    for i in 0..4 {
        (r[i], r[i + 4]) = a.inverse_join(i, r[i], r[i + 4], w);
    }
}

/// Computes the third layer, with one multiplier for sums and one for differences.
#[inline(always)]
fn scaled<A: Arithmetic>(a: A, r: &mut [V; 8], w: [Twiddle; 2]) {
    for i in 0..4 {
        (r[i], r[i + 4]) = a.inverse_scaled(r[i], r[i + 4], w);
    }
}

/// Computes the first two layers of two blocks, side by side.
#[inline(always)]
fn two_layers<'a, A: Arithmetic, T: Tree>(
    a: A,
    x: &mut [V; 8],
    y: &mut [V; 8],
    t: &'a Tables,
    trees: impl Fn(&'a Tables) -> [T; 2],
) -> &'a Tables {
    let [wx, wy] = trees(t);
    lower(a, x, wx);
    lower(a, y, wy);
    let t = in_step(x, y, t);
    let [wx, wy] = trees(t);
    upper(a, x, wx);
    upper(a, y, wy);
    in_step(x, y, t)
}

/// Computes the transposes and the first `LAYERS` layers, in `count` blocks of 128 words from
/// `first` on.
///
/// There are six layers of 64-blocks, or seven of 128-blocks. They go from `[0, 2q)` to
/// inverse-loose, and from `source` to `p`, which may be the same. Two 64-blocks are processed side
/// by side, as in [`super::forward::ends`].
///
/// # Safety
/// `source` and `p` have `128 count` words.
#[inline(always)]
pub(super) unsafe fn ends<A: Arithmetic, const LAYERS: u32>(
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
        for line in 0..16 {
            prefetch(source.wrapping_add(PREFETCH_WORDS + 8 * line));
        }
        let mut t = in_step(&mut x, &mut y, t);
        let block = 2 * (first + i);
        t.prefetch_scales(block + 2 * PREFETCH_BLOCKS);
        let root = t.degree() / 64 + block;
        t = two_layers(a, &mut x, &mut y, t, |t| [t.lanes(); 2]);
        join(a, &mut x, t.lanes().twiddle(0));
        join(a, &mut y, t.lanes().twiddle(0));
        t = in_step(&mut x, &mut y, t);
        (x, y) = (transpose(x), transpose(y));
        t = in_step(&mut x, &mut y, t);
        t = two_layers(a, &mut x, &mut y, t, |t| [t.tree(root), t.tree(root + 1)]);
        scaled(a, &mut x, t.scales(block));
        scaled(a, &mut y, t.scales(block + 1));
        if LAYERS == 7 {
            t = in_step(&mut x, &mut y, t);
            let w = t.node(t.degree() / 128 + first + i);
            for (x, y) in x.iter_mut().zip(&mut y) {
                (*x, *y) = a.inverse_single(*x, *y, w);
            }
        }
        // SAFETY: 64 words each.
        unsafe {
            store8(p, 8, x);
            store8(p.add(64), 8, y);
        }
    }
}

/// Computes two layers, which join the 64-blocks of each 256-block within the `count` blocks of 128
/// words from `first` on.
///
/// # Safety
/// `p` has `128 count` words.
#[inline(always)]
pub(super) unsafe fn quarters<A: Arithmetic>(
    a: A,
    t: &Tables,
    p: *mut u64,
    first: usize,
    count: usize,
) {
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

/// Computes three layers on the block of `8 stride` words with node `k`, from inverse-loose to
/// inverse-loose.
///
/// Two sets of eight vectors are processed side by side.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
pub(super) unsafe fn pass<A: Arithmetic>(a: A, t: &Tables, p: *mut u64, stride: usize, k: usize) {
    for j in (0..stride).step_by(16) {
        // SAFETY: `j + 7 stride + 16` is at most `8 stride`.
        unsafe {
            let (mut x, mut y) = (load8(p.add(j), stride), load8(p.add(j + 8), stride));
            let t = in_step(&mut x, &mut y, t);
            let t = two_layers(a, &mut x, &mut y, t, |t| [t.tree(k); 2]);
            join(a, &mut x, t.tree(k).twiddle(0));
            join(a, &mut y, t.tree(k).twiddle(0));
            store8(p.add(j), stride, x);
            store8(p.add(j + 8), stride, y);
        }
    }
}

/// Computes the last three layers, at the root, from inverse-loose to `[0, q)`, times a constant.
///
/// `factors` are the constant, and the constant times the multiplier of the root.
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
            two_layers(a, &mut x, &mut y, t, |t| [t.tree(1); 2]);
            for r in [&mut x, &mut y] {
                scaled(a, r, factors);
                for x in r.iter_mut() {
                    *x = a.inverse_leave(*x);
                }
            }
            store8(p.add(j), stride, x);
            store8(p.add(j + 8), stride, y);
        }
    }
}
