//! The list of the operations whose arguments are limbs, constants and keys alone.

/// Calls a macro with the operations: their documentation, names and arguments, linear ones and
/// products apart. What is given with the macro comes before them.
///
/// [`super::Elementwise`] and [`crate::ResidueRing`] have a method for each, and so has each module
/// of [`super::entry`] a function.
macro_rules! operations {
    ($callback:ident!($($first:tt)*)) => {
        $callback! {
        $($first)*
        linear {
            /// `a = a + b`. 3 / 3.
            add_assign(a: &mut [u64], b: &[u64]);
            /// `a = a + b`, of numbers in `[0, 2q)` and to one. 3 / 3.
            add_lazy_assign(a: &mut [u64], b: &[u64]);
            /// `a = a - b`. 3 / 3.
            sub_assign(a: &mut [u64], b: &[u64]);
            /// `a = b - a`. 3 / 3.
            sub_from_assign(a: &mut [u64], b: &[u64]);
            /// `a = -a`. 3 / 3.
            neg_assign(a: &mut [u64]);
            /// `out = a + b`. 3 / 3.
            add(out: &mut [u64], a: &[u64], b: &[u64]);
            /// `out = a - b`. 3 / 3.
            sub(out: &mut [u64], a: &[u64], b: &[u64]);
            /// `a = a s`, for `a` canonical or lazily reduced. 6 / 19.
            mul_scalar_assign(a: &mut [u64], s: &Scalar);
            /// `out = a s`, for `a` canonical or lazily reduced. 6 / 19.
            mul_scalar(out: &mut [u64], a: &[u64], s: &Scalar);
            /// `acc = acc + a s`, for `a` canonical or lazily reduced. 9 / 22.
            mul_scalar_add_assign(acc: &mut [u64], a: &[u64], s: &Scalar);
            /// `out = a + b s`, for `b` canonical or lazily reduced. 9 / 22.
            add_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
            /// `out = (a - b) s` for `a` in `[0, 2q)` and `b` lazily reduced. 10 / 21.
            sub_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
            /// `a = (b - a) s` for `a` lazily reduced and `b` in `[0, 2q)`. 10 / 21.
            sub_from_mul_scalar_assign(a: &mut [u64], b: &[u64], s: &Scalar);
            /// `a = a + c` in every position, for `c` in `[0, q)`. 3 / 3.
            add_scalar_assign(a: &mut [u64], c: u64);
            /// `out = a mod q` for any 64-bit integers `a`. 9 / 16.
            reduce(out: &mut [u64], a: &[u64]);
            /// `out = a mod q` for any signed 64-bit integers `a`. 13 / 20.
            from_signed(out: &mut [u64], a: &[i64]);
            /// `out = v mod q` for `a` in `[0, from)` a residue of another modulus `from < 2^63`
            /// and `v` its representative in `[-from/2, from/2)`. 15 / 22.
            reduce_centred(out: &mut [u64], a: &[u64], from: u64);
        }
        products {
            /// `out = a b`. 10 (12 from `2^48` on) / 34.
            mul(out: &mut [u64], a: &[u64], b: &[u64]);
            /// `a = a b`. As [`Self::mul`].
            mul_assign(a: &mut [u64], b: &[u64]);
            /// `acc = acc + a b`. 12 / 35.
            mul_add_assign(acc: &mut [u64], a: &[u64], b: &[u64]);
            /// The product of two ciphertexts `(a0, a1)` and `(b0, b1)`: `c0 = a0 b0`,
            /// `c1 = a0 b1 + a1 b0`, `c2 = a1 b1`. 34 / 122.
            tensor(
                c0: &mut [u64], c1: &mut [u64], c2: &mut [u64],
                a0: &[u64], a1: &[u64], b0: &[u64], b1: &[u64]
            );
            /// [`Self::tensor`] of `(a0, a1)` with itself. 31 / 105.
            square(c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]);
            /// `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`, each
            /// `x` lazily reduced. Up to 64 pairs (3 for AVX-512 without IFMA, 16 for the portable
            /// kernel) share one reduction; more are added up.
            ///
            /// Per pair: 4 (and 2 to unpack, below `2^48`) / 17 with IFMA, 26 without; and for the
            /// reductions together, with `t` pairs, 10 + 4 log2(t + 1) / 32 with IFMA, 64 without.
            ///
            /// # Panics
            /// When lengths differ, the key lacks a digit, or another kernel prepared it.
            inner_product(
                acc0: &mut [u64], acc1: &mut [u64], digits: &[(usize, &[u64])], key: &KeyLimb
            );
        }
        }
    };
}

pub(crate) use operations;
