//! Tables of multipliers.

use aligned_vec::{AVec, ConstAlign};

use super::arithmetic::{Arithmetic, Tree, Twiddle};
use crate::{
    arith::mul_mod,
    ntt::portable::powers,
    simd512::{load, prefetch, set1},
};

/// The multipliers of one direction.
///
/// Let `psi` be the root of that direction. The butterfly block `k` of the layer with `m` blocks
/// (`0 <= k < m`) has node `m + k` and multiplier `psi^brv(m + k)`, where `brv` reverses `log2 N`
/// bits.
///
/// The last three layers run across lanes, so the nodes `8b + lane` (and their children) of the
/// 64-block with node `b` are in one vector. A table of them would need most of the memory. But
/// `psi^brv(8b + lane) = psi^brv(8b) psi^brv(lane)`, and the children have roots of the first
/// factor. With `s = psi^brv(32b)`, the multipliers are `s^4`, `s^2` and `s` times numbers that are
/// independent of the block. Eighth `r` of the block is multiplied by those for which `r` has a
/// bit. So it can be multiplied by `s^r` beforehand, and all blocks share the other factors.
///
/// Before the transposes, `s^r` belongs to lane `r`, which is the same in all vectors. So the
/// multiplication can happen in any layer of the three that run across vectors. It happens in the
/// first layer of a forward transform and in the last layer of an inverse one, where half of the
/// vectors already have a product.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    degree: usize,
    /// The multiplier and the companion of the nodes below `N / 8`.
    nodes: AVec<u64, ConstAlign<64>>,
    /// The factors that the last three layers of all blocks share: seven vectors of multipliers in
    /// the order of [`Tree`], each followed by its companions.
    lanes: AVec<u64, ConstAlign<64>>,
    /// For each 64-block, the vector `s^0, .., s^7`, and its product with the multiplier of the
    /// block's node, each followed by its companions.
    scales: AVec<u64, ConstAlign<64>>,
}

/// The number of words of [`Tables::scales`] for each block.
const SCALE_WORDS: usize = 4 * 8;

impl Tables {
    /// Makes the tables for the primitive `2 degree`-th root of unity `psi` modulo `q`.
    pub(super) fn new<A: Arithmetic>(q: u64, degree: usize, psi: u64) -> Self {
        let roots = powers(psi, q, degree);
        let mut tables =
            Tables { degree, nodes: AVec::new(64), lanes: AVec::new(64), scales: AVec::new(64) };
        for root in &roots[..degree / 8] {
            tables.nodes.extend_from_slice(&A::prepare(q, *root));
        }
        let vector = |table: &mut AVec<u64, ConstAlign<64>>, multipliers: [u64; 8]| {
            let prepared = multipliers.map(|w| A::prepare(q, w));
            table.extend_from_slice(&prepared.map(|[multiplier, _]| multiplier));
            table.extend_from_slice(&prepared.map(|[_, companion]| companion));
        };
        for (depth, child) in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)] {
            vector(&mut tables.lanes, std::array::from_fn(|lane| roots[(lane << depth) + child]));
        }
        for block in degree / 64..degree / 32 {
            let mut scale = 1;
            let scales = [(); 8].map(|()| {
                let power = scale;
                scale = mul_mod(scale, roots[32 * block % degree], q);
                power
            });
            vector(&mut tables.scales, scales);
            vector(&mut tables.scales, scales.map(|s| mul_mod(s, roots[block], q)));
        }
        tables
    }

    /// Returns the degree `N`.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the multiplier of `node < N / 8`, the same in all lanes.
    #[inline(always)]
    pub(super) fn node(&self, node: usize) -> Twiddle {
        debug_assert!(node < self.degree / 8);
        // SAFETY: there are two words for every such node.
        let [multiplier, companion] =
            unsafe { *self.nodes.as_ptr().add(2 * node).cast::<[u64; 2]>() };
        Twiddle { multiplier: set1(multiplier), companion: set1(companion) }
    }

    /// Returns the tree of three layers at `root < N / 32`.
    #[inline(always)]
    pub(super) fn tree(&self, root: usize) -> Broadcast<'_> {
        Broadcast { tables: self, root }
    }

    /// Returns the tree of the last three layers, which is the same for all 64-blocks.
    #[inline(always)]
    pub(super) fn lanes(&self) -> Lanes<'_> {
        Lanes(self)
    }

    /// Returns the multipliers of the vectors of the 64-block `block < N / 64`. The first is for
    /// vectors that the first layer does not multiply by its node, and the second for those that it
    /// does.
    #[inline(always)]
    pub(super) fn scales(&self, block: usize) -> [Twiddle; 2] {
        debug_assert!(block < self.degree / 64);
        // SAFETY: there are four vectors for each block.
        unsafe {
            let p = self.scales.as_ptr().add(SCALE_WORDS * block);
            [pair(p), pair(p.add(16))]
        }
    }

    /// Prefetches [`Tables::scales`] of the 64-blocks `block` and `block + 1`, if they exist.
    #[inline(always)]
    pub(super) fn prefetch_scales(&self, block: usize) {
        let p = self.scales.as_ptr().wrapping_add(block * SCALE_WORDS);
        for line in 0..2 * SCALE_WORDS / 8 {
            prefetch(p.wrapping_add(8 * line));
        }
    }
}

/// Reads a vector of multipliers and one of companions.
///
/// # Safety
/// `p` has 16 words.
#[inline(always)]
unsafe fn pair(p: *const u64) -> Twiddle {
    // SAFETY: the caller guarantees it.
    unsafe { Twiddle { multiplier: load(p), companion: load(p.add(8)) } }
}

/// See [`Tables::tree`].
#[derive(Clone, Copy)]
pub(super) struct Broadcast<'a> {
    tables: &'a Tables,
    root: usize,
}

impl Tree for Broadcast<'_> {
    #[inline(always)]
    fn twiddle(self, node: usize) -> Twiddle {
        self.tables.node(match node {
            0 => self.root,
            1 | 2 => 2 * self.root + node - 1,
            _ => 4 * self.root + node - 3,
        })
    }
}

/// See [`Tables::lanes`].
#[derive(Clone, Copy)]
pub(super) struct Lanes<'a>(&'a Tables);

impl Tree for Lanes<'_> {
    #[inline(always)]
    fn twiddle(self, node: usize) -> Twiddle {
        debug_assert!(node < 7);
        // SAFETY: there are seven nodes.
        unsafe { pair(self.0.lanes.as_ptr().add(16 * node)) }
    }
}
