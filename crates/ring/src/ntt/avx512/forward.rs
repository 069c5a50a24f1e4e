//! Forward passes. All of them follow the contract of [`crate::simd512`].

use super::{
    arithmetic::{Arithmetic, Tree, Twiddle},
    tables::Tables,
};
use crate::simd512::{V, add, in_step, load, prefetch, red, set1, store, transpose, zero};

/// The number of blocks of 128 words between a prefetch of the scales of the last layers and their
/// use (chosen).
pub(super) const PREFETCH_BLOCKS: usize = 6;

/// The number of words by which the first pass prefetches ahead in each of its eight streams
/// (chosen). The limb may not be in the cache.
const PREFETCH_WORDS: usize = 128;

/// Computes layer 0, 1 or 2 of three, in registers.
#[inline(always)]
fn layer<A: Arithmetic, T: Tree>(a: A, r: &mut [V; 8], t: T, layer: usize) {
    macro_rules! butterflies {
        ($($node:literal: $(($i:literal, $j:literal))*;)*) => {{$(
            let w = t.twiddle($node);
            $((r[$i], r[$j]) = a.butterfly(r[$i], r[$j], w);)*
        )*}};
    }
    match layer {
        0 => butterflies! { 0: (0, 4) (1, 5) (2, 6) (3, 7); },
        1 => butterflies! { 1: (0, 2) (1, 3); 2: (4, 6) (5, 7); },
        _ => butterflies! { 3: (0, 1); 4: (2, 3); 5: (4, 5); 6: (6, 7); },
    }
}

/// Reads eight vectors `stride` words apart.
///
/// # Safety
/// All of them are readable.
#[inline(always)]
pub(super) unsafe fn load8(p: *const u64, stride: usize) -> [V; 8] {
    let mut r = [zero(); 8];
    for (i, x) in r.iter_mut().enumerate() {
        // SAFETY: the caller guarantees it.
        *x = unsafe { load(p.add(i * stride)) };
    }
    r
}

/// Writes eight vectors `stride` words apart.
///
/// # Safety
/// All places are writable.
#[inline(always)]
pub(super) unsafe fn store8(p: *mut u64, stride: usize, r: [V; 8]) {
    for (i, x) in r.into_iter().enumerate() {
        // SAFETY: the caller guarantees it.
        unsafe { store(p.add(i * stride), x) };
    }
}

/// The first step of three layers, on the vectors that were read for word `j` of each eighth.
///
/// It is a trait, because closures are not always inlined.
trait Entry<A>: Copy {
    fn enter(self, a: A, r: [V; 8], j: usize) -> [V; 8];
}

/// Accepts forward-tight residues.
#[derive(Clone, Copy)]
struct Tight;

impl<A: Arithmetic> Entry<A> for Tight {
    #[inline(always)]
    fn enter(self, _: A, r: [V; 8], _: usize) -> [V; 8] {
        r
    }
}

/// Accepts forward-loose residues.
#[derive(Clone, Copy)]
struct Loose;

impl<A: Arithmetic> Entry<A> for Loose {
    #[inline(always)]
    fn enter(self, a: A, r: [V; 8], _: usize) -> [V; 8] {
        enter(a, r)
    }
}

/// Accepts residues in `[0, 2q)` in the first pass. It prefetches, because the limb may not be in
/// the cache.
#[derive(Clone, Copy)]
struct First {
    source: *const u64,
    stride: usize,
}

impl<A: Arithmetic> Entry<A> for First {
    #[inline(always)]
    fn enter(self, a: A, r: [V; 8], j: usize) -> [V; 8] {
        for i in 0..8 {
            prefetch(self.source.wrapping_add(j + i * self.stride + PREFETCH_WORDS));
        }
        a.enter_first(r)
    }
}

/// Accepts residues modulo another modulus. It uses their centred residues, which are in `[-q, q)`,
/// plus `q`.
#[derive(Clone, Copy)]
struct Centred {
    first: First,
    /// `floor(from/2)`, `from`, and `q - floor(from/2)`.
    constants: [V; 3],
}

impl<A: Arithmetic> Entry<A> for Centred {
    #[inline(always)]
    fn enter(self, a: A, mut r: [V; 8], j: usize) -> [V; 8] {
        let [half, from, rest] = self.constants;
        for x in &mut r {
            *x = add(red(add(*x, half), from), rest);
        }
        self.first.enter(a, r, j)
    }
}

/// Computes the first three layers, from `[0, 2q)` to forward-tight.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
pub(super) unsafe fn first<A: Arithmetic>(a: A, t: &Tables, p: *mut u64, stride: usize) {
    // SAFETY: the caller guarantees it.
    unsafe { three_layers(a, t, p, p, stride, 1, First { source: p, stride }) }
}

/// Computes [`first`] of the centred residues of `source`, which are in `[0, from)` modulo
/// `from <= 2q`.
///
/// # Safety
/// `source` and `p` have `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
pub(super) unsafe fn first_centred<A: Arithmetic>(
    a: A,
    t: &Tables,
    source: *const u64,
    p: *mut u64,
    stride: usize,
    [q, from]: [u64; 2],
) {
    let half = from / 2;
    let entry =
        Centred { first: First { source, stride }, constants: [half, from, q - half].map(set1) };
    // SAFETY: the caller guarantees it.
    unsafe { three_layers(a, t, source, p, stride, 1, entry) }
}

/// Computes three layers on the block of `8 stride` words with node `k`, from forward-tight to
/// forward-loose. If `REDUCES`, they go from forward-loose to forward-tight.
///
/// # Safety
/// `p` has `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
pub(super) unsafe fn pass<A: Arithmetic, const REDUCES: bool>(
    a: A,
    t: &Tables,
    p: *mut u64,
    stride: usize,
    k: usize,
) {
    // SAFETY: the caller guarantees it.
    unsafe {
        match REDUCES {
            true => three_layers(a, t, p, p, stride, k, Loose),
            false => three_layers(a, t, p, p, stride, k, Tight),
        }
    }
}

/// Computes three layers on the block of `8 stride` words with node `k`.
///
/// Two sets of eight vectors are processed side by side, so that the butterflies of one layer hide
/// each other's latencies. The layers are written out, because the compiler does not unroll a loop
/// over them.
///
/// # Safety
/// `source` and `p`, which may be the same, have `8 stride` words; `stride` is a multiple of 16.
#[inline(always)]
unsafe fn three_layers<A: Arithmetic>(
    a: A,
    t: &Tables,
    source: *const u64,
    p: *mut u64,
    stride: usize,
    k: usize,
    entry: impl Entry<A>,
) {
    for j in (0..stride).step_by(16) {
        // SAFETY: `j + 7 stride + 16` is at most `8 stride`.
        unsafe {
            let mut x = entry.enter(a, load8(source.add(j), stride), j);
            let mut y = entry.enter(a, load8(source.add(j + 8), stride), j + 8);
            let t = in_step(&mut x, &mut y, t);
            layer(a, &mut x, t.tree(k), 0);
            layer(a, &mut y, t.tree(k), 0);
            let t = in_step(&mut x, &mut y, t);
            layer(a, &mut x, t.tree(k), 1);
            layer(a, &mut y, t.tree(k), 1);
            let t = in_step(&mut x, &mut y, t);
            layer(a, &mut x, t.tree(k), 2);
            layer(a, &mut y, t.tree(k), 2);
            store8(p.add(j), stride, x);
            store8(p.add(j + 8), stride, y);
        }
    }
}

/// Computes two layers on each 256-block within the `count` blocks of 128 words from `first` on.
///
/// Inputs are forward-loose. Results are in the range of [`ends`] with eight layers.
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
        let (w0, w1, w2) = (t.node(k), t.node(2 * k), t.node(2 * k + 1));
        for j in (0..64).step_by(8) {
            // SAFETY: there are 256 words for each block.
            unsafe {
                let p = p.add(256 * i + j);
                let (r0, r1, r2, r3) =
                    (load(p), load(p.add(64)), load(p.add(128)), load(p.add(192)));
                let (r0, r2) = a.butterfly(a.enter(r0), r2, w0);
                let (r1, r3) = a.butterfly(r1, r3, w0);
                let (r0, r1) = a.butterfly(r0, r1, w1);
                let (r2, r3) = a.butterfly(r2, r3, w2);
                store(p, r0);
                store(p.add(64), r1);
                store(p.add(128), r2);
                store(p.add(192), r3);
            }
        }
    }
}

/// Computes layer 0 of a 64-block with its scales, from `[0, 16q)` or forward-loose.
#[inline(always)]
fn scaled<A: Arithmetic>(a: A, r: &mut [V; 8], [w, node]: [Twiddle; 2]) {
    for i in 0..4 {
        (r[i], r[i + 4]) = a.butterfly(a.scale(r[i], w), r[i + 4], node);
    }
}

/// Computes the last `LAYERS` layers and the transposes of the 64-blocks, in `count` blocks of 128
/// words from `first` on.
///
/// There are six layers of 64-blocks, seven of 128-blocks, or eight, where [`quarters`] has already
/// computed two and six of 64-blocks are left. Inputs are forward-loose. Results are in `[0, q)` if
/// `CANONICAL`, and in `[0, LAZY_BOUND q)` otherwise.
///
/// Two 64-blocks are processed side by side, because the butterflies in one layer of a single block
/// do not hide each other's latencies.
///
/// # Safety
/// `p` has `128 count` words.
#[inline(always)]
pub(super) unsafe fn ends<A: Arithmetic, const LAYERS: u32, const CANONICAL: bool>(
    a: A,
    t: &Tables,
    p: *mut u64,
    first: usize,
    count: usize,
) {
    for i in 0..count {
        // SAFETY: there are 128 words for each block.
        let p = unsafe { p.add(128 * i) };
        // SAFETY: 64 words each.
        let (mut x, mut y) = unsafe { (load8(p, 8), load8(p.add(64), 8)) };
        if LAYERS == 7 {
            let w = t.node(t.degree() / 128 + first + i);
            for (x, y) in x.iter_mut().zip(&mut y) {
                (*x, *y) = a.butterfly(*x, *y, w);
            }
        }
        let mut t = in_step(&mut x, &mut y, t);
        let block = 2 * (first + i);
        t.prefetch_scales(block + 2 * PREFETCH_BLOCKS);
        let root = t.degree() / 64 + block;
        scaled(a, &mut x, t.scales(block));
        scaled(a, &mut y, t.scales(block + 1));
        t = in_step(&mut x, &mut y, t);
        for l in 1..3 {
            layer(a, &mut x, t.tree(root), l);
            layer(a, &mut y, t.tree(root + 1), l);
            t = in_step(&mut x, &mut y, t);
        }
        (x, y) = (transpose(x), transpose(y));
        t = in_step(&mut x, &mut y, t);
        for l in 0..3 {
            layer(a, &mut x, t.lanes(), l);
            layer(a, &mut y, t.lanes(), l);
            t = in_step(&mut x, &mut y, t);
        }
        // SAFETY: 64 words each.
        unsafe {
            store8(p, 8, leave::<_, CANONICAL>(a, x));
            store8(p.add(64), 8, leave::<_, CANONICAL>(a, y));
        }
    }
}

/// Prepares loose residues for three layers.
#[inline(always)]
fn enter<A: Arithmetic>(a: A, mut r: [V; 8]) -> [V; 8] {
    (r[0], r[1]) = (a.enter(r[0]), a.enter(r[1]));
    r
}

#[inline(always)]
fn leave<A: Arithmetic, const CANONICAL: bool>(a: A, mut r: [V; 8]) -> [V; 8] {
    for x in &mut r {
        *x = if CANONICAL { a.leave_canonical(*x) } else { a.leave_lazy(*x) };
    }
    r
}
