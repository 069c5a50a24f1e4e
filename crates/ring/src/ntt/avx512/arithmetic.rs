//! What a transform asks of a residue arithmetic.

use crate::simd512::V;

/// A constant multiplier in every lane (or one per lane) and its companion, see
/// [`Arithmetic::prepare`].
#[derive(Clone, Copy)]
pub(in crate::ntt) struct Twiddle {
    pub(super) multiplier: V,
    pub(super) companion: V,
}

/// The multipliers of two or three layers, as a binary tree: node 0 for the layer with one
/// multiplier, nodes 1 and 2 for the layer with two, nodes 3 to 6 for the layer with four.
pub(in crate::ntt) trait Tree: Copy {
    /// The multiplier at `node`.
    fn twiddle(self, node: usize) -> Twiddle;
}

impl<const NODES: usize> Tree for [Twiddle; NODES] {
    #[inline(always)]
    fn twiddle(self, node: usize) -> Twiddle {
        self[node]
    }
}

/// Which registers of an inverse pass [`Arithmetic::inverse_half`] works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ntt) enum Half {
    /// Registers 0 to 3 of 8.
    Lower,
    /// Registers 4 to 7 of 8.
    Upper,
    /// All of 4.
    Whole,
}

/// A residue arithmetic modulo one odd `q`, on vectors of eight residues that are only loosely
/// reduced.
///
/// A forward pass takes some layers of butterflies `(x, y) -> (x + w y, x - w y)` through
/// registers, in layer `l` of `L` on the pairs `(i, i + 2^(L-1-l))`. Between passes residues are in
/// one of two intervals, which each arithmetic chooses: *forward-tight*, or *forward-loose*, which
/// contains it. A pass of three layers takes tight residues to loose ones, or, when it begins with
/// [`Arithmetic::enter`] in registers 0 and 1, loose ones to tight ones. The last six layers take
/// loose residues to loose ones: they begin with [`Arithmetic::scale`].
///
/// An inverse pass takes butterflies `(x, y) -> (x + y, w (x - y))`, in layer `l` on the pairs `(i,
/// i + 2^l)`. Between passes residues are in the interval *inverse-loose*, which contains `[0,
/// 2q)`.
///
/// All functions but `prepare` follow the contract of [`crate::simd512`].
pub(in crate::ntt) trait Arithmetic: Copy + 'static {
    /// The constants of a modulus, as words.
    type Constants: Clone + std::fmt::Debug + Send + Sync;

    /// Every odd modulus below this is served.
    const MODULUS_BOUND: u64;

    /// [`Arithmetic::leave_lazy`] leaves residues in `[0, LAZY_BOUND q)`.
    const LAZY_BOUND: u64;

    /// The constants of the modulus `q`.
    fn constants(q: u64) -> Self::Constants;

    /// The constants, in every lane.
    fn new(constants: &Self::Constants) -> Self;

    /// What stands for the constant `w` in `[0, q)`: its multiplier and companion.
    fn prepare(q: u64, w: u64) -> [u64; 2];

    /// From `[0, 2q)` to what leaves the first three layers forward-tight.
    fn enter_first(self, r: [V; 8]) -> [V; 8];

    /// From `[0, 16q)` or forward-loose, whichever is more, to what later layers take in registers
    /// that no layer has multiplied yet: see [`super::forward`] for the layers where.
    fn enter(self, x: V) -> V;

    /// `w x`, where [`Arithmetic::enter`] takes `x`.
    fn scale(self, x: V, w: Twiddle) -> V;

    /// `(x + w y, x - w y)`.
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// From what the last layers leave to `[0, LAZY_BOUND q)`.
    fn leave_lazy(self, x: V) -> V;

    /// From what the last layers leave to `[0, q)`.
    fn leave_canonical(self, x: V) -> V;

    /// The first two layers of an inverse pass on four registers (inverse-loose), by the tree below
    /// `root` of `t`. Lower and upper halves are left as [`Arithmetic::inverse_join`] takes them; a
    /// whole pass inverse-loose.
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4];

    /// A butterfly of the third layer of an inverse pass, between register `index` (0 to 3) of each
    /// half; to inverse-loose.
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V);

    /// The same with a multiplier for the sum and one for the difference.
    fn inverse_scaled(self, x: V, y: V, w: [Twiddle; 2]) -> (V, V);

    /// A pass of a single layer, from inverse-loose to inverse-loose.
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// From what [`Arithmetic::inverse_scaled`] leaves to `[0, q)`.
    fn inverse_leave(self, x: V) -> V;
}
