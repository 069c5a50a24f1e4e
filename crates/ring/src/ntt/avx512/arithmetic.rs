//! The interface of a residue arithmetic for transforms.

use crate::simd512::V;

/// A constant multiplier in every lane (or one per lane), with its companion. See
/// [`Arithmetic::prepare`].
#[derive(Clone, Copy)]
pub(in crate::ntt) struct Twiddle {
    pub(super) multiplier: V,
    pub(super) companion: V,
}

/// The multipliers of two or three layers, as a binary tree.
///
/// Node 0 belongs to the layer with one multiplier, nodes 1 and 2 to the layer with two, and nodes
/// 3 to 6 to the layer with four.
pub(in crate::ntt) trait Tree: Copy {
    /// Returns the multiplier at `node`.
    fn twiddle(self, node: usize) -> Twiddle;
}

impl<const NODES: usize> Tree for [Twiddle; NODES] {
    #[inline(always)]
    fn twiddle(self, node: usize) -> Twiddle {
        self[node]
    }
}

/// The registers that [`Arithmetic::inverse_half`] works on, among those of an inverse pass. A pass
/// has eight or four registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ntt) enum Half {
    /// Registers 0 to 3 of a pass of eight.
    Lower,
    /// Registers 4 to 7 of a pass of eight.
    Upper,
    /// All registers of a pass of four.
    Whole,
}

/// A residue arithmetic modulo one odd `q`, on vectors of eight residues that are only loosely
/// reduced.
///
/// A forward pass computes some layers of butterflies `(x, y) -> (x + w y, x - w y)` in registers.
/// In layer `l` of `L`, they act on the pairs `(i, i + 2^(L-1-l))`. Between passes, residues are in
/// one of two intervals that each arithmetic chooses: *forward-tight*, or *forward-loose*, which
/// contains it. A pass of three layers turns tight residues into loose ones. If it begins with
/// [`Arithmetic::enter`] in registers 0 and 1, it turns loose residues into tight ones. The last
/// six layers begin with [`Arithmetic::scale`] and turn loose residues into loose ones.
///
/// An inverse pass computes butterflies `(x, y) -> (x + y, w (x - y))`, in layer `l` on the pairs
/// `(i, i + 2^l)`. Between passes, residues are in the interval *inverse-loose*, which contains
/// `[0, 2q)`.
///
/// All functions except `prepare` follow the contract of [`crate::simd512`].
pub(in crate::ntt) trait Arithmetic: Copy + 'static {
    /// The constants of a modulus, as words.
    type Constants: Clone + std::fmt::Debug + Send + Sync;

    /// The exclusive bound of supported moduli, which are odd.
    const MODULUS_BOUND: u64;

    /// The bound of the results of [`Arithmetic::leave_lazy`]: they are in `[0, LAZY_BOUND q)`.
    const LAZY_BOUND: u64;

    /// Returns the constants of the modulus `q`.
    fn constants(q: u64) -> Self::Constants;

    /// Copies the constants to every lane.
    fn new(constants: &Self::Constants) -> Self;

    /// Returns the multiplier and the companion of the constant `w` in `[0, q)`.
    fn prepare(q: u64, w: u64) -> [u64; 2];

    /// Prepares residues in `[0, 2q)` for the first three layers, which then leave forward-tight
    /// residues.
    fn enter_first(self, r: [V; 8]) -> [V; 8];

    /// Prepares a residue for registers that no layer has multiplied yet.
    ///
    /// The residue is in `[0, 16q)` or forward-loose, whichever is larger. [`super::forward`] shows
    /// the layers that need this.
    fn enter(self, x: V) -> V;

    /// Returns `w x`, for `x` in the same range as in [`Arithmetic::enter`].
    fn scale(self, x: V, w: Twiddle) -> V;

    /// Returns `(x + w y, x - w y)`.
    fn butterfly(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// Reduces a result of the last layers to `[0, LAZY_BOUND q)`.
    fn leave_lazy(self, x: V) -> V;

    /// Reduces a result of the last layers to `[0, q)`.
    fn leave_canonical(self, x: V) -> V;

    /// Computes the first two layers of an inverse pass on four inverse-loose registers, with the
    /// tree below `root` of `t`.
    ///
    /// Results of lower and upper halves are in the range of [`Arithmetic::inverse_join`]. Results
    /// of a whole pass are inverse-loose.
    fn inverse_half<T: Tree>(self, r: [V; 4], t: T, root: usize, half: Half) -> [V; 4];

    /// Computes a butterfly of the third layer of an inverse pass, between register `index` (0 to
    /// 3) of each half. The results are inverse-loose.
    fn inverse_join(self, index: usize, x: V, y: V, w: Twiddle) -> (V, V);

    /// The same as [`Arithmetic::inverse_join`], with one multiplier for the sum and one for the
    /// difference.
    fn inverse_scaled(self, x: V, y: V, w: [Twiddle; 2]) -> (V, V);

    /// Computes a pass of a single layer on inverse-loose residues. The results are inverse-loose.
    fn inverse_single(self, x: V, y: V, w: Twiddle) -> (V, V);

    /// Reduces a result of [`Arithmetic::inverse_scaled`] to `[0, q)`.
    fn inverse_leave(self, x: V) -> V;
}
