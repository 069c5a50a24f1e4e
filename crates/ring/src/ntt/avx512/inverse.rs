//! Inverse passes. All of them follow the contract of [`crate::simd512`].

use super::{
    arithmetic::{Arithmetic, Half, Tree, Twiddle},
    forward::{load8, store8},
    tables::Tables,
};
use crate::simd512::{V, load, store, transpose};

/// Three layers in registers, with the multiplier `w` in the third: from inverse-loose to inverse-loose, sums first.
#[inline(always)]
fn layers<A: Arithmetic, T: Tree>(a: A, r: [V; 8], t: T, w: Twiddle) -> [V; 8] {
    let [x0, x1, x2, x3] = a.inverse_half([r[0], r[1], r[2], r[3]], t, 1, Half::Lower);
    let [y0, y1, y2, y3] = a.inverse_half([r[4], r[5], r[6], r[7]], t, 2, Half::Upper);
    let (s0, p0) = a.inverse_join(0, x0, y0, w);
    let (s1, p1) = a.inverse_join(1, x1, y1, w);
    let (s2, p2) = a.inverse_join(2, x2, y2, w);
    let (s3, p3) = a.inverse_join(3, x3, y3, w);
    [s0, s1, s2, s3, p0, p1, p2, p3]
}

/// The first six layers (`WIDE`: seven) on the 64-blocks `2 pair` and `2 pair + 1`, each transposed before; from `[0, 2q)` to
/// inverse-loose.
///
/// # Safety
/// `p` has 128 words.
#[inline(always)]
pub(super) unsafe fn end<A: Arithmetic, const WIDE: bool, const FACTORED: bool>(
    a: A,
    t: &Tables,
    p: *mut u64,
    pair: usize,
    degree: usize,
) {
    // SAFETY: 64 words each.
    let (x, y) = unsafe { (load8(p, 8), load8(p.add(64), 8)) };
    let (tx, ty) = (t.lanes::<FACTORED>(2 * pair), t.lanes::<FACTORED>(2 * pair + 1));
    let x = layers(a, x, tx, tx.twiddle(a, 0));
    let y = layers(a, y, ty, ty.twiddle(a, 0));
    let (x, y) = (transpose(x), transpose(y));
    let node = degree / 64 + 2 * pair;
    let mut x = layers(a, x, t.tree(node), t.node(node));
    let mut y = layers(a, y, t.tree(node + 1), t.node(node + 1));
    if WIDE {
        let w = t.node(degree / 128 + pair);
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
            let r = load8(p.add(j), stride);
            store8(p.add(j), stride, layers(a, r, w, w[0]));
        }
    }
}

/// The last three layers, at the root, from inverse-loose to `[0, q)`, times a constant: `sums` is that constant, `products` the
/// constant times the multiplier of the root.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 8.
#[inline(always)]
pub(super) unsafe fn last<A: Arithmetic>(
    a: A,
    t: &Tables,
    p: *mut u64,
    stride: usize,
    sums: Twiddle,
    products: Twiddle,
) {
    let w = t.tree(1).held();
    for j in (0..stride).step_by(8) {
        // SAFETY: `j + 7 stride + 8` is at most `8 stride`.
        unsafe {
            let r = load8(p.add(j), stride);
            let [s0, s1, s2, s3, p0, p1, p2, p3] = layers(a, r, w, products);
            let s = [a.scale(s0, sums), a.scale(s1, sums), a.scale(s2, sums), a.scale(s3, sums)];
            let (p0, p1) = (a.inverse_canonical(p0), a.inverse_canonical(p1));
            let (p2, p3) = (a.inverse_canonical(p2), a.inverse_canonical(p3));
            store8(p.add(j), stride, [s[0], s[1], s[2], s[3], p0, p1, p2, p3]);
        }
    }
}

/// As [`last`], with two layers.
///
/// # Safety
/// `p` has `4 stride` words; `stride` is a multiple of 8.
#[inline(always)]
pub(super) unsafe fn last4<A: Arithmetic>(
    a: A,
    t: &Tables,
    p: *mut u64,
    stride: usize,
    sums: Twiddle,
    products: Twiddle,
) {
    let w = [products, t.node(2), t.node(3)];
    for j in (0..stride).step_by(8) {
        // SAFETY: `j + 3 stride + 8` is at most `4 stride`.
        unsafe {
            let p = p.add(j);
            let r = [load(p), load(p.add(stride)), load(p.add(2 * stride)), load(p.add(3 * stride))];
            let r = a.inverse_half(r, w, 0, Half::Whole);
            store(p, a.scale(r[0], sums));
            store(p.add(stride), a.scale(r[1], sums));
            store(p.add(2 * stride), a.inverse_canonical(r[2]));
            store(p.add(3 * stride), a.inverse_canonical(r[3]));
        }
    }
}
