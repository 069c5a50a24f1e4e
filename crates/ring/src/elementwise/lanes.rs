//! What an arithmetic has to offer so that [`super::ops`] can be written once for all.

use super::Scalar;

/// Arithmetic modulo one `q` on vectors of `LANES` residues.
///
/// An implementation is a bundle of constants and `#[inline(always)]` methods without target
/// features. The vector ones are called only from entry functions that have the features (see
/// [`super::entry`]), which [`super::Elementwise`] enters only when the CPU has been asked; that is
/// what the `SAFETY` lines of their methods rest on.
///
/// Residues are canonical, in `[0, q)`, unless a method says otherwise; lazily reduced ones are
/// below [`Lanes::lazy_multiple`] times `q`.
pub(super) trait Lanes: Copy {
    /// A vector of 64-bit words.
    type V: Copy;
    /// Words in a vector: 1, 4 or 8.
    const LANES: usize;
    /// A constant prepared for [`Lanes::mul_factor`].
    type Factor: Copy;
    /// A running sum of products of a lazily reduced residue and a key residue.
    type Sum: Copy;
    /// So many products fit in one [`Lanes::Sum`].
    const TERMS: usize;
    /// How a key residue is stored.
    const KEY_WORD: KeyWord;

    /// The modulus.
    fn modulus(&self) -> u64;

    /// The multiple of `q` below which lazily reduced inputs may lie: 16, or fewer where the word
    /// is too short.
    fn lazy_multiple(&self) -> u64;

    /// Reads a vector.
    ///
    /// # Safety
    /// `p` is valid for reading `LANES` words.
    unsafe fn load(p: *const u64) -> Self::V;

    /// Writes a vector.
    ///
    /// # Safety
    /// `p` is valid for writing `LANES` words.
    unsafe fn store(p: *mut u64, x: Self::V);

    /// `x` in every lane.
    fn splat(x: u64) -> Self::V;

    /// `a + b mod 2^64`.
    fn wrapping_add(a: Self::V, b: Self::V) -> Self::V;

    /// `a - b mod 2^64`.
    fn wrapping_sub(a: Self::V, b: Self::V) -> Self::V;

    /// `x - m` where that is not negative, else `x`, for `x < 2^63 + m` and `m <= 2^63`.
    fn subtract_if_above(x: Self::V, m: Self::V) -> Self::V;

    /// `d + m` where the signed `d` is negative, else `d`, for `-m <= d < 2^62` and `m <= 2^62`.
    fn add_if_negative(d: Self::V, m: Self::V) -> Self::V;

    /// `a b`.
    fn mul(&self, a: Self::V, b: Self::V) -> Self::V;

    /// `c + a b`.
    fn mul_add(&self, c: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// `a b + c d`, reduced once.
    fn mul_pair(&self, a: Self::V, b: Self::V, c: Self::V, d: Self::V) -> Self::V;

    /// Any 64-bit words to `[0, q)`.
    fn reduce(&self, x: Self::V) -> Self::V;

    /// Spreads the part of `s` that this arithmetic uses over the lanes.
    fn factor(&self, s: &Scalar) -> Self::Factor;

    /// `x f`, for `x` lazily reduced.
    fn mul_factor(&self, x: Self::V, f: Self::Factor) -> Self::V;

    /// `(a - b) f`, for `a` in `[0, 2q)` and `b` lazily reduced.
    fn mul_difference(&self, a: Self::V, b: Self::V, f: Self::Factor) -> Self::V;

    /// The key residues at `p`, stored as [`Lanes::KEY_WORD`] says.
    ///
    /// # Safety
    /// `p` is valid for reading `LANES` key words and 16 bytes more.
    unsafe fn load_key(p: *const u8) -> Self::V;

    /// Writes key residues at `p`, stored as [`Lanes::KEY_WORD`] says.
    ///
    /// # Safety
    /// `p` is valid for writing `LANES` key words.
    unsafe fn store_key(p: *mut u8, x: Self::V);

    /// The sum modulo `q` of key residues as they are stored, stored likewise: the residues' own
    /// form is linear.
    #[inline(always)]
    fn add_keys(&self, a: Self::V, b: Self::V) -> Self::V {
        self.add(a, b)
    }

    /// A residue as [`Lanes::add_product`] takes it of a key, without the Montgomery factor.
    #[inline(always)]
    fn key_residue(&self, x: Self::V) -> Self::V {
        x
    }

    /// Whether [`Lanes::prefetch`] asks the first-level cache, not the second.
    #[inline(always)]
    fn fetches_near(&self) -> bool {
        false
    }

    /// Asks a cache for the line at `p`, which may be any address.
    fn prefetch(&self, p: *const u8);

    /// The empty sum.
    fn no_products(&self) -> Self::Sum;

    /// `x` lazily reduced, made ready for [`Lanes::add_product`].
    fn multiplicand(&self, x: Self::V) -> Self::V;

    /// `sum + x y` for a [`Lanes::multiplicand`] `x` and a key residue `y`.
    fn add_product(&self, sum: Self::Sum, x: Self::V, y: Self::V) -> Self::Sum;

    /// Congruent to the sum of `terms <= TERMS` products over the Montgomery factor of the key,
    /// below `2^sum_bound_log2(terms) q`.
    fn reduce_sum(&self, sum: Self::Sum) -> Self::V;

    /// See [`Lanes::reduce_sum`].
    fn sum_bound_log2(terms: usize) -> u32;

    /// [`Lanes::reduce_sum`] of so many products, in `[0, q)`.
    #[inline(always)]
    fn canonical_sum(&self, sum: Self::Sum, terms: usize) -> Self::V {
        let mut x = self.reduce_sum(sum);
        for step in (0..Self::sum_bound_log2(terms)).rev() {
            x = Self::subtract_if_above(x, Self::splat(self.modulus() << step));
        }
        x
    }

    /// `a + b`.
    #[inline(always)]
    fn add(&self, a: Self::V, b: Self::V) -> Self::V {
        Self::subtract_if_above(Self::wrapping_add(a, b), Self::splat(self.modulus()))
    }

    /// `a - b`.
    #[inline(always)]
    fn sub(&self, a: Self::V, b: Self::V) -> Self::V {
        Self::add_if_negative(Self::wrapping_sub(a, b), Self::splat(self.modulus()))
    }

    /// `-a`.
    #[inline(always)]
    fn neg(&self, a: Self::V) -> Self::V {
        let q = Self::splat(self.modulus());
        Self::subtract_if_above(Self::wrapping_sub(q, a), q)
    }
}

/// How the residues of a switching key are stored: times `2^montgomery_log2 mod q`, in `bytes`
/// bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyWord {
    pub(super) bytes: usize,
    pub(super) montgomery_log2: u32,
}
