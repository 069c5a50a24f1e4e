//! What a transform asks of a residue arithmetic.

use crate::simd512::V;

/// A constant multiplier in every lane (or one per lane) and its companion, see [`Arithmetic::prepare`].
#[derive(Clone, Copy)]
pub(in crate::ntt) struct Twiddle {
    pub(super) multiplier: V,
    pub(super) companion: V,
}

/// The multipliers of two or three layers, as a binary tree: node 0 for the layer with one multiplier, nodes 1 and 2 for the layer with
/// two, nodes 3 to 6 for the layer with four.
pub(in crate::ntt) trait Tree: Copy {
    /// Whether multipliers come from [`Arithmetic::derive`].
    const DERIVED: bool;

    /// The multiplier at `node`.
    fn twiddle<A: Arithmetic>(self, a: A, node: usize) -> Twiddle;
}

impl<const NODES: usize> Tree for [Twiddle; NODES] {
    const DERIVED: bool = false;

    #[inline(always)]
    fn twiddle<A: Arithmetic>(self, _: A, node: usize) -> Twiddle {
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

/// A residue arithmetic modulo one odd `q`, on vectors of eight residues that are only loosely reduced.
///
/// A forward pass takes some layers of butterflies `(x, y) -> (x + w y, x - w y)` through registers, in layer `l` of `L` on the pairs
/// `(i, i + 2^(L-1-l))`. Between passes residues are in one of two intervals, which each arithmetic chooses: *forward-tight*, or
/// *forward-loose*, which contains it. A pass of three layers takes tight residues to loose ones, or, when it begins with [`Arithmetic::enter`]
/// in registers 0 and 1, loose ones to tight ones.
///
/// An inverse pass takes butterflies `(x, y) -> (x + y, w (x - y))`, in layer `l` on the pairs `(i, i + 2^l)`. Between passes
/// residues are in the interval *inverse-loose*, which contains `[0, 2q)`.
///
/// All functions but `prepare` follow the contract of [`crate::simd512`].
pub(in crate::ntt) trait Arithmetic: Copy + 'static {
    /// The constants of a modulus, as words.
    type Constants: Clone + std::fmt::Debug + Send + Sync;

    /// Every odd modulus below this is served.
    const MODULUS_BOUND: u64;

    /// [`Arithmetic::leave_lazy`] leaves residues in `[0, LAZY_BOUND q)`.
    const LAZY_BOUND: u64;

    /// From these degrees up, forward and inverse, the multipliers of the last layers are made from factors as they are needed, by
    /// [`Arithmetic::derive`]. As a table they are most of the memory. Below, that stays in cache as long as a transform has it for itself;
    /// factors cost 3 % of a forward transform and 5 % of an inverse one.
    const FACTORED_FROM: [usize; 2];

    /// The constants of the modulus `q`.
    fn constants(q: u64) -> Self::Constants;

    /// The constants, in every lane.
    fn new(constants: &Self::Constants) -> Self;

    /// What stands for the constant `w` in `[0, q)`: its multiplier and companion.
    fn prepare(q: u64, w: u64) -> [u64; 2];

    /// The same for [`Arithmetic::butterfly`].
    fn prepare_forward(q: u64, w: u64) -> [u64; 2] {
        Self::prepare(q, w)
    }

    /// The same for [`Arithmetic::derive`].
    fn prepare_factor(q: u64, w: u64) -> [u64; 2] {
        Self::prepare(q, w)
    }

    /// The same for [`Arithmetic::inverse_final`].
    fn prepare_final(q: u64, w: u64) -> [u64; 2] {
        Self::prepare(q, w)
    }

    /// The product of two constants, `p` (its multiplier) and `t` (prepared as a factor), neither of them 0; fit for the last three layers of a forward transform and
    /// the first three of an inverse one.
    fn derive(self, p: V, t: Twiddle) -> Twiddle;

    /// From `[0, 2q)` to what leaves the first three layers forward-tight.
    fn enter_first(self, r: [V; 8]) -> [V; 8];

    /// From `[0, 16q)` or forward-loose, whichever is more, to what later layers take in registers that no layer has multiplied yet: see
    /// [`super::forward`] for the layers where.
    fn enter(self, x: V) -> V;

    /// `(x + w y, x - w y)`, with a multiplier that [`Arithmetic::prepare_forward`] has prepared.
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// The same with a multiplier that is derived.
    #[inline(always)]
    fn derived_butterfly(self, x: V, y: V, w: Twiddle) -> (V, V) {
        self.butterfly(x, y, w)
    }

    /// From what the last layers leave to `[0, LAZY_BOUND q)`.
    fn leave_lazy(self, x: V) -> V;

    /// From what the last layers leave to `[0, q)`.
    fn leave_canonical(self, x: V) -> V;

    /// The first two layers of an inverse pass on four registers (inverse-loose), by the tree below `root` of `t`. Lower and
    /// upper halves are left as [`Arithmetic::inverse_join`] takes them; a whole pass inverse-loose.
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4];

    /// A butterfly of the third layer of an inverse pass, between register `index` (0 to 3) of each half; to inverse-loose.
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V);

    /// A pass of a single layer, from inverse-loose to inverse-loose.
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// The butterfly of [`Arithmetic::inverse_join`] with a multiplier (prepared as final) for the sum and one for the difference; to
    /// `[0, q)`.
    fn inverse_final(self, x: V, y: V, w: [Twiddle; 2]) -> (V, V);
}
