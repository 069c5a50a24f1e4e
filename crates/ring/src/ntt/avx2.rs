//! The transform on `f64` with AVX2 and FMA, for `q < 2^50` and `N >= 256`.
//!
//! The first pass converts coefficients to doubles, and the last one converts them to integers
//! again (module [`crate::simd256`] has the arithmetic). In between, the limb holds the bits of
//! doubles. Passes compute three layers at once (radix 8), or two if the number of layers requires
//! it. They run depth first, so that a block stays in the cache until it is done. The last six
//! layers run inside one block of 64. Three run along the columns of the 8 x 8 matrix, with one
//! root for all lanes. Three run along its rows, after a transposition, with a separate root in
//! each lane.
//!
//! **Ranges.** All bounds below are multiples of `q`. A product of `|y| <= B < 4` and a root is at
//! most `1/2 + B/32`. In layers with a root in each lane, whose quotient is computed when needed,
//! it is at most `1/2 + B/8`. `4q + 4 < 2^52` because `q = 1 mod 2N`, so every `y` is in the range
//! of [`Modulus::mul_factor`].
//!
//! *Forward*, values enter a pass within 2.3, and only the first one is reduced, to 1/2. The
//! products of the layers are at most 0.58, 0.59 and 0.61, for factors that grow to 3.47. Every
//! value of the result is the first one plus or minus one product of each layer, and therefore
//! within 2.3. In the last pass the products reach 0.79, 0.89 and 1.0, for factors that grow to
//! 3.98.
//!
//! *Inverse*, values enter a pass within 1. After two layers the sums are at most 4. Two of the
//! eight are sums of four inputs, and they are reduced to 1/2. After the third layer, the first
//! value is the sum of those two, so at most 1. The next three are sums of two or four products
//! below 1, and are reduced to 1/2. The others are products below 1.

use std::mem::MaybeUninit;

use super::{InverseFactor, portable::powers};
use crate::{
    Kernel,
    arith::{inv_mod, mul_mod},
    convert,
    simd256::*,
};

#[derive(Debug, Clone)]
pub(super) struct Plan {
    modulus: Modulus,
    degree: usize,
    degree_inverse: u64,
    forward: Roots,
    inverse: Roots,
    unit: InverseFactor,
}

/// The centred roots of the nodes of a tree. Node 1 is the root of the tree, and node `k` has the
/// children `2k` and `2k + 1`.
#[derive(Debug, Clone)]
struct Roots {
    /// `w` and `w/q` of the nodes below `N/64`.
    nodes: Vec<[f64; 2]>,
    /// The roots of the other nodes, for each block of 64.
    blocks: Vec<BlockRoots>,
}

/// The roots of the last six layers in one block of 64.
#[derive(Debug, Clone)]
struct BlockRoots {
    /// The roots of the three layers along the columns, with quotients.
    columns: NodeRoots,
    /// The roots of the three layers along the rows, without quotients. For each root of a radix-8
    /// pass, there is one for each row.
    rows: [[f64; 8]; 7],
}

/// Returns the nodes of a radix-8 pass at node `k`: the node, its two children and its four
/// grandchildren.
fn pass_nodes(k: usize) -> [usize; 7] {
    [k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]
}

impl Roots {
    fn new(root: u64, q: u64, degree: usize) -> Self {
        let m = Modulus::new(q);
        let roots: Vec<[f64; 2]> =
            powers(root, q, degree).into_iter().map(|w| m.prepare(w)).collect();
        let block = |k: usize| {
            let mut rows = [[0.0; 8]; 7];
            for r in 0..8 {
                for (row, node) in rows.iter_mut().zip(pass_nodes(8 * k + r)) {
                    row[r] = roots[node][0];
                }
            }
            BlockRoots { columns: NodeRoots(pass_nodes(k).map(|node| roots[node])), rows }
        };
        Roots {
            nodes: roots[..degree / 64].to_vec(),
            blocks: (degree / 64..degree / 32).map(block).collect(),
        }
    }

    /// Returns the roots of a pass at node `k` above the blocks. A radix-4 pass just above them
    /// does not use the last four.
    fn pass(&self, k: usize) -> NodeRoots {
        NodeRoots(pass_nodes(k).map(|k| self.nodes.get(k).copied().unwrap_or_default()))
    }

    /// Returns the roots in the block of node `k`.
    fn block(&self, k: usize) -> &BlockRoots {
        &self.blocks[k - self.blocks.len()]
    }
}

/// The source of the roots of a pass.
trait PassRoots: Copy {
    /// Returns root number `slot`: 0 for the node itself, 1 and 2 for its children, 3 to 6 for its
    /// grandchildren.
    fn get(self, m: Modulus, slot: usize) -> Factor;
}

/// Roots that are the same in all lanes.
#[derive(Debug, Clone, Copy)]
struct NodeRoots([[f64; 2]; 7]);

impl PassRoots for NodeRoots {
    #[inline(always)]
    fn get(self, _: Modulus, slot: usize) -> Factor {
        Factor::splat(self.0[slot])
    }
}

/// Roots for the rows from `first` to `first + 3`, one in each lane.
#[derive(Clone, Copy)]
struct RowRoots<'a> {
    rows: &'a [[f64; 8]; 7],
    first: usize,
}

impl PassRoots for RowRoots<'_> {
    #[inline(always)]
    fn get(self, m: Modulus, slot: usize) -> Factor {
        let roots = &self.rows[slot][self.first..self.first + 4];
        // SAFETY: the slice has four elements.
        m.factor(unsafe { load(roots.as_ptr()) })
    }
}

/// Computes one Cooley-Tukey layer of a pass. The `R` values are `GROUPS` sub-blocks, each with a
/// root.
#[inline(always)]
fn forward_layer<const R: usize, const GROUPS: usize>(
    m: Modulus,
    x: &mut [V; R],
    w: impl PassRoots,
) {
    let half = R / GROUPS / 2;
    for group in 0..GROUPS {
        let w = w.get(m, GROUPS - 1 + group);
        for i in 2 * half * group..2 * half * group + half {
            let t = m.mul_factor(x[i + half], w);
            (x[i], x[i + half]) = (add(x[i], t), sub(x[i], t));
        }
    }
}

/// Computes one Gentleman-Sande layer of a pass, the inverse of [`forward_layer`] up to a factor 2.
#[inline(always)]
fn inverse_layer<const R: usize, const GROUPS: usize>(
    m: Modulus,
    x: &mut [V; R],
    w: impl PassRoots,
) {
    let half = R / GROUPS / 2;
    for group in 0..GROUPS {
        let w = w.get(m, GROUPS - 1 + group);
        for i in 2 * half * group..2 * half * group + half {
            (x[i], x[i + half]) = (add(x[i], x[i + half]), m.mul_factor(sub(x[i], x[i + half]), w));
        }
    }
}

/// Computes the layers of one forward pass, with the reduction that keeps it in range.
#[inline(always)]
fn forward_layers<const R: usize>(m: Modulus, x: &mut [V; R], w: impl PassRoots) {
    x[0] = m.reduce(x[0]);
    forward_layer::<R, 1>(m, x, w);
    forward_layer::<R, 2>(m, x, w);
    if R == 8 {
        forward_layer::<R, 4>(m, x, w);
    }
}

/// Computes the layers of one inverse pass except the last, with the reductions that the last layer
/// needs.
#[inline(always)]
fn inverse_layers_but_last<const R: usize>(m: Modulus, x: &mut [V; R], w: impl PassRoots) {
    if R == 8 {
        inverse_layer::<R, 4>(m, x, w);
    }
    inverse_layer::<R, 2>(m, x, w);
    if R == 8 {
        x[0] = m.reduce(x[0]);
        x[4] = m.reduce(x[4]);
    }
}

/// Computes the layers of one inverse pass, with the reductions that keep it in range.
#[inline(always)]
fn inverse_layers<const R: usize>(m: Modulus, x: &mut [V; R], w: impl PassRoots) {
    inverse_layers_but_last(m, x, w);
    inverse_layer::<R, 1>(m, x, w);
    if R == 8 {
        x[1] = m.reduce(x[1]);
        x[2] = m.reduce(x[2]);
        x[3] = m.reduce(x[3]);
    } else {
        x[0] = m.reduce(x[0]);
        x[1] = m.reduce(x[1]);
    }
}

impl Plan {
    /// The minimum degree that this kernel supports.
    pub(super) const MIN_DEGREE: usize = 256;

    /// Makes a plan for `q < 2^50`, a product of primes that are 1 modulo `2 degree`, and a degree
    /// of at least [`Plan::MIN_DEGREE`].
    ///
    /// # Panics
    /// If the CPU lacks AVX2 or FMA.
    pub(super) fn new(q: u64, degree: usize, root: u64) -> Self {
        assert!(Kernel::Avx2.is_supported(), "this CPU has no AVX2 or no FMA");
        let inverse = inv_mod(root, q).expect("a root of unity is invertible");
        let degree_inverse =
            inv_mod(degree as u64, q).expect("the degree is a power of two and q is odd");
        let mut plan = Plan {
            modulus: Modulus::new(q),
            degree,
            degree_inverse,
            forward: Roots::new(root, q, degree),
            inverse: Roots::new(inverse, q, degree),
            unit: InverseFactor([0; 4]),
        };
        plan.unit = plan.inverse_factor(1);
        plan
    }

    pub(super) fn lazy_bound(&self) -> u64 {
        4
    }

    /// Returns `c / N` and its product with the root of the last layer, each with its quotient by
    /// `q`, as the bits of doubles.
    pub(super) fn inverse_factor(&self, c: u64) -> InverseFactor {
        let q = self.modulus.q;
        let root = self.inverse.nodes[1][0] as i64;
        let sum = mul_mod(self.degree_inverse, c, q);
        let difference = mul_mod(sum, root.rem_euclid(q as i64) as u64, q);
        let [[a, b], [c, d]] = [sum, difference].map(|w| self.modulus.prepare(w).map(f64::to_bits));
        InverseFactor([a, b, c, d])
    }

    pub(super) fn forward(&self, a: &mut [u64]) {
        // SAFETY: `new` has checked that the CPU has AVX2 and FMA.
        unsafe { self.transform::<false>(a) }
    }

    pub(super) fn forward_lazy(&self, a: &mut [u64]) {
        // SAFETY: `new` has checked that the CPU has AVX2 and FMA.
        unsafe { self.transform::<true>(a) }
    }

    pub(super) fn forward_lazy_centred(&self, out: &mut [u64], y: &[u64], from: u64) {
        convert::centre(Kernel::Avx2, from, self.modulus.q, y, out);
        self.forward_lazy(out);
    }

    pub(super) fn inverse(&self, a: &mut [u64]) {
        self.inverse_scaled(a, &self.unit);
    }

    pub(super) fn inverse_scaled(&self, a: &mut [u64], factor: &InverseFactor) {
        // SAFETY: `new` has checked that the CPU has AVX2 and FMA.
        unsafe { self.inverse_transform(a, factor) }
    }

    /// Transforms `[0, 2q)` to `[0, q)`, or if `LAZY` to `[0, 4q)`.
    #[target_feature(enable = "avx2,fma")]
    fn transform<const LAZY: bool>(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        self.forward_block::<true, LAZY>(a, 1);
    }

    /// Computes the layers from node `k` down, on its block.
    #[target_feature(enable = "avx2,fma")]
    fn forward_block<const FIRST: bool, const LAZY: bool>(&self, a: &mut [u64], k: usize) {
        let radix = radix(a.len());
        match radix {
            8 => self.forward_pass::<8, FIRST>(a, k),
            _ => self.forward_pass::<4, FIRST>(a, k),
        }
        let len = a.len() / radix;
        for (i, block) in a.chunks_exact_mut(len).enumerate() {
            match len {
                64 => self.forward_end::<LAZY>(block, radix * k + i),
                _ => self.forward_block::<false, LAZY>(block, radix * k + i),
            }
        }
    }

    /// Computes one pass at node `k`. The first one converts integers in `[0, 2q)` to doubles in
    /// `[-q, q)`.
    #[target_feature(enable = "avx2,fma")]
    fn forward_pass<const R: usize, const FIRST: bool>(&self, a: &mut [u64], k: usize) {
        let (m, w) = (self.modulus, self.forward.pass(k));
        let stride = a.len() / R;
        let p = a.as_mut_ptr();
        for j in (0..stride).step_by(4) {
            let mut x = [set1(0.0); R];
            for (i, x) in x.iter_mut().enumerate() {
                // SAFETY: `stride` is a multiple of 4, so 4 elements from `j + i stride` are within
                // the `R stride` of `a`.
                *x = unsafe {
                    let p = p.add(j + i * stride);
                    if FIRST { from_integers(load_integers(p), m.q as f64) } else { load(p.cast()) }
                };
            }
            forward_layers(m, &mut x, w);
            for (i, x) in x.into_iter().enumerate() {
                // SAFETY: the same as above.
                unsafe { store(p.add(j + i * stride).cast(), x) };
            }
        }
    }

    /// Computes the last six layers and the transposition, on the block of 64 of node `k`.
    #[target_feature(enable = "avx2,fma")]
    fn forward_end<const LAZY: bool>(&self, a: &mut [u64], k: usize) {
        let a: &mut [u64; 64] = a.try_into().expect("a block of 64");
        let p = a.as_mut_ptr();
        let m = self.modulus;
        let roots = self.forward.block(k);
        let mut matrix = Matrix(MaybeUninit::uninit());
        let matrix: *mut f64 = matrix.0.as_mut_ptr().cast();
        for half in 0..2 {
            let column = 4 * half;
            let mut x = [set1(0.0); 8];
            for (row, x) in x.iter_mut().enumerate() {
                // SAFETY: 4 elements from `8 row + column` are within the 64 of `a`, for rows below
                // 8 and columns up to 4.
                *x = unsafe { load(p.add(8 * row + column).cast()) };
            }
            forward_layers(m, &mut x, roots.columns);
            for (row, x) in x.into_iter().enumerate() {
                // SAFETY: the same as above, for `matrix`.
                unsafe { store(matrix.add(8 * row + column), x) };
            }
        }
        for half in 0..2 {
            let first = 4 * half;
            let w = RowRoots { rows: &roots.rows, first };
            // SAFETY: these are the left and the right half of the rows `first` to `first + 3` of
            // the 8 x 8 `matrix`, which has been written completely.
            let (left, right) = unsafe {
                (
                    load_transposed(matrix.add(8 * first), 8),
                    load_transposed(matrix.add(8 * first + 4), 8),
                )
            };
            let mut x =
                [left[0], left[1], left[2], left[3], right[0], right[1], right[2], right[3]];
            forward_layer::<8, 1>(m, &mut x, w);
            forward_layer::<8, 2>(m, &mut x, w);
            if LAZY {
                for i in [0, 2, 4, 6] {
                    x[i] = m.reduce(x[i]);
                }
            }
            forward_layer::<8, 4>(m, &mut x, w);
            for (column, x) in x.into_iter().enumerate() {
                let x = if LAZY { to_integers(x, 2 * m.q) } else { m.to_canonical(m.reduce(x)) };
                // SAFETY: 4 elements from `8 column + first` are within the 64 of `a`.
                unsafe { store_integers(p.add(8 * column + first), x) };
            }
        }
    }

    /// Transforms `[0, 2q)` to `[0, q)`.
    #[target_feature(enable = "avx2,fma")]
    fn inverse_transform(&self, a: &mut [u64], factor: &InverseFactor) {
        assert_eq!(a.len(), self.degree, "a limb must have one residue for each coefficient");
        self.inverse_children(a, 1);
        match radix(a.len()) {
            8 => self.inverse_last_pass::<8>(a, factor),
            _ => self.inverse_last_pass::<4>(a, factor),
        }
    }

    /// Computes all layers on the sub-blocks of node `k`.
    #[target_feature(enable = "avx2,fma")]
    fn inverse_children(&self, a: &mut [u64], k: usize) {
        let radix = radix(a.len());
        let len = a.len() / radix;
        for (i, block) in a.chunks_exact_mut(len).enumerate() {
            let k = radix * k + i;
            if len == 64 {
                self.inverse_start(block, k);
                continue;
            }
            self.inverse_children(block, k);
            match self::radix(len) {
                8 => self.inverse_pass::<8>(block, k),
                _ => self.inverse_pass::<4>(block, k),
            }
        }
    }

    /// Computes the first six layers from integers in `[0, 2q)`, the inverse of
    /// [`Plan::forward_end`] up to a factor 64.
    #[target_feature(enable = "avx2,fma")]
    fn inverse_start(&self, a: &mut [u64], k: usize) {
        let a: &mut [u64; 64] = a.try_into().expect("a block of 64");
        let p = a.as_mut_ptr();
        let m = self.modulus;
        let roots = self.inverse.block(k);
        let mut matrices = Matrix(MaybeUninit::uninit());
        let matrices: *mut f64 = matrices.0.as_mut_ptr().cast();
        for half in 0..2 {
            let first = 4 * half;
            let mut x = [set1(0.0); 8];
            for (column, x) in x.iter_mut().enumerate() {
                // SAFETY: 4 elements from `8 column + first` are within the 64 of `a`.
                *x = from_integers(unsafe { load_integers(p.add(8 * column + first)) }, m.q as f64);
            }
            inverse_layers(m, &mut x, RowRoots { rows: &roots.rows, first });
            for (column, x) in x.into_iter().enumerate() {
                // SAFETY: 4 elements from `8 first + 4 column` are within the 64 of `matrices`.
                unsafe { store(matrices.add(8 * first + 4 * column), x) };
            }
        }
        for half in 0..2 {
            let column = 4 * half;
            // SAFETY: these are the columns `column` to `column + 3` of the upper and of the lower
            // four rows, each 4 x 4.
            let (top, bottom) = unsafe {
                let p = matrices.add(4 * column);
                (load_transposed(p, 4), load_transposed(p.add(32), 4))
            };
            let mut x =
                [top[0], top[1], top[2], top[3], bottom[0], bottom[1], bottom[2], bottom[3]];
            inverse_layers(m, &mut x, roots.columns);
            for (row, x) in x.into_iter().enumerate() {
                // SAFETY: 4 elements from `8 row + column` are within the 64 of `a`.
                unsafe { store(p.add(8 * row + column).cast(), x) };
            }
        }
    }

    /// Computes one pass at node `k`.
    #[target_feature(enable = "avx2,fma")]
    fn inverse_pass<const R: usize>(&self, a: &mut [u64], k: usize) {
        let (m, w) = (self.modulus, self.inverse.pass(k));
        let stride = a.len() / R;
        let p = a.as_mut_ptr();
        for j in (0..stride).step_by(4) {
            let mut x = [set1(0.0); R];
            for (i, x) in x.iter_mut().enumerate() {
                // SAFETY: `stride` is a multiple of 4, so 4 elements from `j + i stride` are within
                // the `R stride` of `a`.
                *x = unsafe { load(p.add(j + i * stride).cast()) };
            }
            inverse_layers(m, &mut x, w);
            for (i, x) in x.into_iter().enumerate() {
                // SAFETY: the same as above.
                unsafe { store(p.add(j + i * stride).cast(), x) };
            }
        }
    }

    /// Computes the pass at the root, times the constant of `factor`, to integers in `[0, q)`.
    #[target_feature(enable = "avx2,fma")]
    fn inverse_last_pass<const R: usize>(&self, a: &mut [u64], factor: &InverseFactor) {
        let (m, w) = (self.modulus, self.inverse.pass(1));
        let [a0, a1, b0, b1] = factor.0.map(f64::from_bits);
        let (sum, difference) = (Factor::splat([a0, a1]), Factor::splat([b0, b1]));
        let stride = a.len() / R;
        let p = a.as_mut_ptr();
        for j in (0..stride).step_by(4) {
            let mut x = [set1(0.0); R];
            for (i, x) in x.iter_mut().enumerate() {
                // SAFETY: `stride` is a multiple of 4, so 4 elements from `j + i stride` are within
                // the `R stride` of `a`.
                *x = unsafe { load(p.add(j + i * stride).cast()) };
            }
            inverse_layers_but_last(m, &mut x, w);
            for i in 0..R / 2 {
                let (s, d) = (add(x[i], x[i + R / 2]), sub(x[i], x[i + R / 2]));
                (x[i], x[i + R / 2]) = (m.mul_factor(s, sum), m.mul_factor(d, difference));
            }
            for (i, x) in x.into_iter().enumerate() {
                // SAFETY: the same as above.
                unsafe { store_integers(p.add(j + i * stride), m.to_canonical(x)) };
            }
        }
    }
}

/// Temporary memory between the two halves of a block: an 8 x 8 matrix of doubles, or two of 8 x 4.
#[repr(align(64))]
struct Matrix(MaybeUninit<[f64; 64]>);

/// Returns the radix of the pass on a block of `len > 64`.
///
/// It is 8 as often as possible on the way down to 64, after at most two passes of radix 4.
fn radix(len: usize) -> usize {
    if (len / 64).trailing_zeros().is_multiple_of(3) { 8 } else { 4 }
}
