//! Tables of multipliers.

use aligned_vec::{AVec, ConstAlign};

use super::arithmetic::{Arithmetic, Tree, Twiddle};
use crate::{
    ntt::portable::powers,
    simd512::{V, load, prefetch, set1},
};

/// The multipliers of one direction. With `psi` the root of that direction, the butterfly block `k` of the layer with `m` blocks
/// (`0 <= k < m`) has node `m + k` and multiplier `psi^brv(m + k)`, where `brv` reverses `log2 N` bits.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    degree: usize,
    /// Multiplier and companion of the nodes below `N / 8`.
    nodes: AVec<u64, ConstAlign<64>>,
    /// The last three layers, whose nodes `8b + lane` (and their children) of the 64-block with node `b` are in one vector. A full table
    /// has, for each 64-block, seven vectors of multipliers, each followed by its companions, in the order of
    /// [`Tree`]. Since `psi^brv(8b + lane) = psi^brv(8b) psi^brv(lane)`, it has a rank-one form: `lanes` has only the second factors,
    /// and `scalars` the first ones.
    lanes: AVec<u64, ConstAlign<64>>,
    /// The multipliers at `8b`, `16b`, `32b` (and one word of padding), or nothing when `lanes` is a full table.
    scalars: AVec<u64, ConstAlign<64>>,
}

/// Words of the seven vectors of multipliers and companions.
const TREE_WORDS: usize = 7 * 16;

impl Tables {
    /// For the primitive `2 degree`-th root of unity `psi` modulo `q`, with multipliers as `prepare` makes them; in rank-one form from degree
    /// `factored_from`.
    pub(super) fn new<A: Arithmetic>(
        q: u64,
        degree: usize,
        psi: u64,
        prepare: fn(u64, u64) -> [u64; 2],
        factored_from: usize,
    ) -> Self {
        let roots = powers(psi, q, degree);
        let at = |node: usize| prepare(q, roots[node]);
        let factored = degree >= factored_from;
        let stored = if factored { A::prepare_factor } else { prepare };
        let tree = |lanes: &mut AVec<u64, ConstAlign<64>>, first: usize| {
            for (depth, child) in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)] {
                let prepared: [[u64; 2]; 8] =
                    std::array::from_fn(|lane| stored(q, roots[((first + lane) << depth) + child]));
                lanes.extend_from_slice(&prepared.map(|[multiplier, _]| multiplier));
                lanes.extend_from_slice(&prepared.map(|[_, companion]| companion));
            }
        };
        let blocks = degree / 64..degree / 32;
        let mut tables =
            Tables { degree, nodes: AVec::new(64), lanes: AVec::new(64), scalars: AVec::new(64) };
        for node in 0..degree / 8 {
            tables.nodes.extend_from_slice(&at(node));
        }
        if factored {
            tree(&mut tables.lanes, 0);
            for block in blocks {
                let [a, b, c] = [8, 16, 32].map(|m| A::prepare(q, roots[m * block])[0]);
                tables.scalars.extend_from_slice(&[a, b, c, 0]);
            }
        } else {
            blocks.for_each(|block| tree(&mut tables.lanes, 8 * block));
        }
        tables
    }

    /// The degree `N`.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }

    /// Whether the multipliers of the last layers are to be derived.
    pub(super) fn is_factored(&self) -> bool {
        !self.scalars.is_empty()
    }

    /// The same multiplier in all lanes: that of `node < N / 8`.
    #[inline(always)]
    pub(super) fn node(&self, node: usize) -> Twiddle {
        debug_assert!(node < self.degree / 8);
        // SAFETY: there are two words for every such node.
        let [multiplier, companion] = unsafe { *self.nodes.as_ptr().add(2 * node).cast::<[u64; 2]>() };
        Twiddle { multiplier: set1(multiplier), companion: set1(companion) }
    }

    /// The tree of three layers at `root < N / 32`.
    #[inline(always)]
    pub(super) fn tree(&self, root: usize) -> Broadcast<'_> {
        Broadcast { tables: self, root }
    }

    /// The tree of the last three layers of 64-block `block < N / 64`.
    #[inline(always)]
    pub(super) fn lanes<const FACTORED: bool>(&self, block: usize) -> Lanes<'_, FACTORED> {
        debug_assert!(block < self.degree / 64 && FACTORED == self.is_factored());
        Lanes { tables: self, block }
    }
}

impl Tables {
    /// Starts loading what [`Tables::lanes`] will give for the 64-blocks `block` and `block + 1`, if there are such.
    #[inline(always)]
    pub(super) fn prefetch_lanes(&self, block: usize) {
        let p = self.lanes.as_ptr().wrapping_add(block * TREE_WORDS);
        for line in 0..2 * TREE_WORDS / 8 {
            prefetch(p.wrapping_add(8 * line));
        }
    }
}

/// See [`Tables::tree`].
#[derive(Clone, Copy)]
pub(super) struct Broadcast<'a> {
    tables: &'a Tables,
    root: usize,
}

impl Broadcast<'_> {
    /// All multipliers at once, to hold in registers.
    #[inline(always)]
    pub(super) fn held(self) -> [Twiddle; 7] {
        let (t, k) = (self.tables, self.root);
        let (k2, k4) = (2 * k, 4 * k);
        [t.node(k), t.node(k2), t.node(k2 + 1), t.node(k4), t.node(k4 + 1), t.node(k4 + 2), t.node(k4 + 3)]
    }
}

impl Tree for Broadcast<'_> {
    const DERIVED: bool = false;

    #[inline(always)]
    fn twiddle<A: Arithmetic>(self, _: A, node: usize) -> Twiddle {
        self.tables.node(match node {
            0 => self.root,
            1 | 2 => 2 * self.root + node - 1,
            _ => 4 * self.root + node - 3,
        })
    }
}

/// See [`Tables::lanes`].
#[derive(Clone, Copy)]
pub(super) struct Lanes<'a, const FACTORED: bool> {
    tables: &'a Tables,
    block: usize,
}

impl<const FACTORED: bool> Tree for Lanes<'_, FACTORED> {
    const DERIVED: bool = FACTORED;

    #[inline(always)]
    fn twiddle<A: Arithmetic>(self, a: A, node: usize) -> Twiddle {
        let first = if FACTORED { 0 } else { self.block * TREE_WORDS };
        // SAFETY: a full table has so many words for each block, and a factored one has them once.
        let (multiplier, companion): (V, V) = unsafe {
            let p = self.tables.lanes.as_ptr().add(first + 16 * node);
            (load(p), load(p.add(8)))
        };
        let stored = Twiddle { multiplier, companion };
        if !FACTORED {
            return stored;
        }
        let depth = match node {
            0 => 0,
            1 | 2 => 1,
            _ => 2,
        };
        // SAFETY: a factored table has four words for each block.
        let scalar = unsafe { *self.tables.scalars.as_ptr().add(4 * self.block + depth) };
        a.derive(set1(scalar), stored)
    }
}
