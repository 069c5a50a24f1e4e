//! Inverse passes. All of them follow the contract of [`crate::simd512`].

use super::{
    arithmetic::{Arithmetic, Half, Tree, Twiddle},
    forward::{load8, store8},
    tables::Tables,
};
use crate::simd512::{V, load, store, transpose};

#[inline(always)]
fn halves(r: [V; 8]) -> ([V; 4], [V; 4]) {
    ([r[0], r[1], r[2], r[3]], [r[4], r[5], r[6], r[7]])
}

#[inline(always)]
fn whole([a, b, c, d]: [V; 4], [e, f, g, h]: [V; 4]) -> [V; 8] {
    [a, b, c, d, e, f, g, h]
}

/// Three layers in registers, from inverse-loose to inverse-loose.
#[inline(always)]
fn layers<A: Arithmetic, T: Tree>(a: A, r: [V; 8], t: T) -> [V; 8] {
    let (lower, upper) = halves(r);
    let lower = a.inverse_half(lower, t, 1, Half::Lower);
    let upper = a.inverse_half(upper, t, 2, Half::Upper);
    let (sums, products) = a.inverse_join(lower, upper, t.twiddle(a, 0));
    whole(a.inverse_leave(sums), products)
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
    let x = layers(a, x, t.lanes::<FACTORED>(2 * pair));
    let y = layers(a, y, t.lanes::<FACTORED>(2 * pair + 1));
    let (x, y) = (transpose(x), transpose(y));
    let node = degree / 64 + 2 * pair;
    let mut x = layers(a, x, t.tree(node));
    let mut y = layers(a, y, t.tree(node + 1));
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
            store8(p.add(j), stride, layers(a, r, w));
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
            let (lower, upper) = halves(load8(p.add(j), stride));
            let lower = a.inverse_half(lower, w, 1, Half::Lower);
            let upper = a.inverse_half(upper, w, 2, Half::Upper);
            let (s, d) = a.inverse_join(lower, upper, products);
            let s = a.inverse_leave(s).map(|x| a.scale(x, sums));
            store8(p.add(j), stride, whole(s, d.map(|x| a.inverse_canonical(x))));
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
