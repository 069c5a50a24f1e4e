//! The list of the operations whose arguments are only limbs, constants and keys.

/// Calls a macro with the operations, each with its documentation, name and arguments.
///
/// Linear operations and products are separate lists. Tokens that are given with the macro come
/// first. [`super::Elementwise`] and [`crate::ResidueRing`] have a method for each operation, and
/// each module of [`super::entry`] has a function.
macro_rules! operations {
    ($callback:ident!($($first:tt)*)) => {
        $callback! {
        $($first)*
        linear {
            /// Sets `a = a + b`. Cost: 3 / 3.
            add_assign(a: &mut [u64], b: &[u64]);
            /// Sets `a = a + b`, for operands and result in `[0, 2q)`. Cost: 3 / 3.
            add_lazy_assign(a: &mut [u64], b: &[u64]);
            /// Sets `a = a - b`. Cost: 3 / 3.
            sub_assign(a: &mut [u64], b: &[u64]);
            /// Sets `a = b - a`. Cost: 3 / 3.
            sub_from_assign(a: &mut [u64], b: &[u64]);
            /// Sets `a = -a`. Cost: 3 / 3.
            neg_assign(a: &mut [u64]);
            /// Sets `out = a + b`. Cost: 3 / 3.
            add(out: &mut [u64], a: &[u64], b: &[u64]);
            /// Sets `out = a - b`. Cost: 3 / 3.
            sub(out: &mut [u64], a: &[u64], b: &[u64]);
            /// Sets `a = a s`, for `a` canonical or lazily reduced. Cost: 6 / 19.
            mul_scalar_assign(a: &mut [u64], s: &Scalar);
            /// Sets `out = a s`, for `a` canonical or lazily reduced. Cost: 6 / 19.
            mul_scalar(out: &mut [u64], a: &[u64], s: &Scalar);
            /// Sets `acc = acc + a s`, for `a` canonical or lazily reduced. Cost: 9 / 22.
            mul_scalar_add_assign(acc: &mut [u64], a: &[u64], s: &Scalar);
            /// Sets `out = a + b s`, for `b` canonical or lazily reduced. Cost: 9 / 22.
            add_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
            /// Sets `out = (a - b) s`, for `a` in `[0, 2q)` and `b` lazily reduced. Cost: 10 / 21.
            sub_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
            /// Sets `a = (b - a) s`, for `a` lazily reduced and `b` in `[0, 2q)`. Cost: 10 / 21.
            sub_from_mul_scalar_assign(a: &mut [u64], b: &[u64], s: &Scalar);
            /// Sets `a = a + c` in every position, for `c` in `[0, q)`. Cost: 3 / 3.
            add_scalar_assign(a: &mut [u64], c: u64);
            /// Sets `out = a mod q`, for any 64-bit integers `a`. Cost: 9 / 16.
            reduce(out: &mut [u64], a: &[u64]);
            /// Sets `out = a mod q`, for any signed 64-bit integers `a`. Cost: 13 / 20.
            from_signed(out: &mut [u64], a: &[i64]);
            /// Sets `out = v mod q`, where `v` is the representative in `[-from/2, from/2)` of a
            /// residue `a` in `[0, from)` modulo `from < 2^63`. Cost: 15 / 22.
            reduce_centred(out: &mut [u64], a: &[u64], from: u64);
        }
        products {
            /// Sets `out = a b`. Cost: 10 (12 from `2^48` on) / 34.
            mul(out: &mut [u64], a: &[u64], b: &[u64]);
            /// Sets `a = a b`. The cost is that of [`Self::mul`].
            mul_assign(a: &mut [u64], b: &[u64]);
            /// Sets `acc = acc + a b`. Cost: 12 / 35.
            mul_add_assign(acc: &mut [u64], a: &[u64], b: &[u64]);
            /// Multiplies the ciphertexts `(a0, a1)` and `(b0, b1)`: `c0 = a0 b0`,
            /// `c1 = a0 b1 + a1 b0`, `c2 = a1 b1`. Cost: 34 / 122.
            tensor(
                c0: &mut [u64], c1: &mut [u64], c2: &mut [u64],
                a0: &[u64], a1: &[u64], b0: &[u64], b1: &[u64]
            );
            /// Computes [`Self::tensor`] of `(a0, a1)` with itself. Cost: 31 / 105.
            square(c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]);
            /// Sets `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`,
            /// with lazily reduced `x`.
            ///
            /// Up to 64 pairs (3 for AVX-512 without IFMA, 16 for the portable kernel) share one
            /// reduction. The reduced sums of further pairs are added.
            ///
            /// The cost per pair is 4 / 17 with IFMA and 26 without. Unpacking costs 2 more below
            /// `2^48`. The cost of all reductions together, with `t` pairs, is 10 + 4 log2(t + 1) /
            /// 32 with IFMA and 64 without.
            ///
            /// # Panics
            /// If lengths differ, the key lacks a digit, or another kernel prepared it.
            inner_product(
                acc0: &mut [u64], acc1: &mut [u64], digits: &[(usize, &[u64])], key: &KeyLimb
            );
        }
        }
    };
}

pub(crate) use operations;
