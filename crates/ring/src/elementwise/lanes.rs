//! The trait of an arithmetic, in terms of which [`super::ops`] are written.

use super::Scalar;

/// Arithmetic modulo one `q` on vectors of `LANES` residues.
///
/// An implementation is a set of constants and `#[inline(always)]` methods without target features.
/// The vector methods are called only from entry functions that have the features (see
/// [`super::entry`]). [`super::Elementwise`] enters these only after checking the CPU, on which the
/// `SAFETY` comments of the methods rely.
///
/// Residues are canonical, in `[0, q)`, unless a method states otherwise. Lazily reduced residues
/// are below [`Lanes::lazy_multiple`] times `q`.
pub(super) trait Lanes: Copy {
    /// A vector of 64-bit words.
    type V: Copy;
    /// The number of words in a vector: 1, 4 or 8.
    const LANES: usize;
    /// A constant prepared for [`Lanes::mul_factor`].
    type Factor: Copy;
    /// A running sum of products of a lazily reduced residue and a key residue.
    type Sum: Copy;
    /// The maximum number of products in one [`Lanes::Sum`].
    const MAX_TERMS: usize;
    /// The storage form of key residues.
    const KEY_WORD: KeyWord;

    /// Returns the modulus.
    fn modulus(&self) -> u64;

    /// Returns the exclusive bound of lazily reduced inputs, as a multiple of `q`.
    ///
    /// It is 16, or less if the word is too short.
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

    /// Returns `x` in every lane.
    fn splat(x: u64) -> Self::V;

    /// Returns `a + b mod 2^64`.
    fn wrapping_add(a: Self::V, b: Self::V) -> Self::V;

    /// Returns `a - b mod 2^64`.
    fn wrapping_sub(a: Self::V, b: Self::V) -> Self::V;

    /// Returns `x - m` if that is not negative, and `x` otherwise, for `x < 2^63 + m` and
    /// `m <= 2^63`.
    fn subtract_if_above(x: Self::V, m: Self::V) -> Self::V;

    /// Returns `d + m` if the signed `d` is negative, and `d` otherwise, for `-m <= d < 2^62` and
    /// `m <= 2^62`.
    fn add_if_negative(d: Self::V, m: Self::V) -> Self::V;

    /// Returns `a b`.
    fn mul(&self, a: Self::V, b: Self::V) -> Self::V;

    /// Returns `c + a b`.
    fn mul_add(&self, c: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// Returns `a b + c d`, with one reduction.
    fn mul_pair(&self, a: Self::V, b: Self::V, c: Self::V, d: Self::V) -> Self::V;

    /// Reduces any 64-bit words to `[0, q)`.
    fn reduce(&self, x: Self::V) -> Self::V;

    /// Copies the part of `s` that this arithmetic uses to all lanes.
    fn factor(&self, s: &Scalar) -> Self::Factor;

    /// Returns `x f`, for `x` lazily reduced.
    fn mul_factor(&self, x: Self::V, f: Self::Factor) -> Self::V;

    /// Returns `(a - b) f`, for `a` in `[0, 2q)` and `b` lazily reduced.
    fn mul_difference(&self, a: Self::V, b: Self::V, f: Self::Factor) -> Self::V;

    /// Reads the key residues at `p`, stored in the form [`Lanes::KEY_WORD`].
    ///
    /// # Safety
    /// `p` is valid for reading `LANES` key words and 16 more bytes.
    unsafe fn load_key(p: *const u8) -> Self::V;

    /// Writes key residues at `p`, in the form [`Lanes::KEY_WORD`].
    ///
    /// # Safety
    /// `p` is valid for writing `LANES` key words.
    unsafe fn store_key(p: *mut u8, x: Self::V);

    /// Returns the sum modulo `q` of key residues in their storage form.
    ///
    /// The storage form is linear, so the sum has the same form.
    #[inline(always)]
    fn add_keys(&self, a: Self::V, b: Self::V) -> Self::V {
        self.add(a, b)
    }

    /// Converts a residue to the form of a key residue for [`Lanes::add_product`], without the
    /// Montgomery factor.
    #[inline(always)]
    fn key_residue(&self, x: Self::V) -> Self::V {
        x
    }

    /// Returns true if [`Lanes::prefetch`] fetches into the first-level cache instead of the
    /// second.
    #[inline(always)]
    fn prefetches_to_l1(&self) -> bool {
        false
    }

    /// Prefetches the cache line at `p`, which may be any address.
    fn prefetch(&self, p: *const u8);

    /// Returns the empty sum.
    fn no_products(&self) -> Self::Sum;

    /// Prepares a lazily reduced `x` for [`Lanes::add_product`].
    fn multiplicand(&self, x: Self::V) -> Self::V;

    /// Returns `sum + x y` for a [`Lanes::multiplicand`] `x` and a key residue `y`.
    fn add_product(&self, sum: Self::Sum, x: Self::V, y: Self::V) -> Self::Sum;

    /// Reduces a sum of `terms <= MAX_TERMS` products, and divides it by the Montgomery factor of
    /// the key.
    ///
    /// The result is below `2^sum_bound_log2(terms) q`.
    fn reduce_sum(&self, sum: Self::Sum) -> Self::V;

    /// Returns the base-2 logarithm of the bound of [`Lanes::reduce_sum`], as a multiple of `q`.
    fn sum_bound_log2(terms: usize) -> u32;

    /// Computes [`Lanes::reduce_sum`] of `terms` products, in `[0, q)`.
    #[inline(always)]
    fn canonical_sum(&self, sum: Self::Sum, terms: usize) -> Self::V {
        let mut x = self.reduce_sum(sum);
        for step in (0..Self::sum_bound_log2(terms)).rev() {
            x = Self::subtract_if_above(x, Self::splat(self.modulus() << step));
        }
        x
    }

    /// Returns `a + b`.
    #[inline(always)]
    fn add(&self, a: Self::V, b: Self::V) -> Self::V {
        Self::subtract_if_above(Self::wrapping_add(a, b), Self::splat(self.modulus()))
    }

    /// Returns `a - b`.
    #[inline(always)]
    fn sub(&self, a: Self::V, b: Self::V) -> Self::V {
        Self::add_if_negative(Self::wrapping_sub(a, b), Self::splat(self.modulus()))
    }

    /// Returns `-a`.
    #[inline(always)]
    fn neg(&self, a: Self::V) -> Self::V {
        let q = Self::splat(self.modulus());
        Self::subtract_if_above(Self::wrapping_sub(q, a), q)
    }
}

/// The storage form of the residues of a switching key. Each is multiplied by
/// `2^montgomery_log2 mod q` and has `bytes` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyWord {
    pub(super) bytes: usize,
    pub(super) montgomery_log2: u32,
}
