//! Entry functions: [`super::ops`] compiled with the instructions of one kernel.
//!
//! A function with target features cannot be `#[inline(always)]`, so the features stand here, on
//! the outermost functions only, and everything below is inlined into them.

use std::mem::MaybeUninit;

use super::{Beside, PairTerm, Scalar, Turned, key::KeyLimb, lanes::Lanes, ops};

/// A module of entry functions for the given target features.
macro_rules! entries {
    ($(#[$doc:meta])* $module:ident, $features:literal) => {
        $(#[$doc])*
        pub(super) mod $module {
            use super::*;

            entries!(@functions $features,
                add_assign(a: &mut [u64], b: &[u64]);
                add_lazy_assign(a: &mut [u64], b: &[u64]);
                sub_assign(a: &mut [u64], b: &[u64]);
                sub_from_assign(a: &mut [u64], b: &[u64]);
                neg_assign(a: &mut [u64]);
                add(out: &mut [u64], a: &[u64], b: &[u64]);
                sub(out: &mut [u64], a: &[u64], b: &[u64]);
                mul(out: &mut [u64], a: &[u64], b: &[u64]);
                mul_assign(a: &mut [u64], b: &[u64]);
                mul_add_assign(acc: &mut [u64], a: &[u64], b: &[u64]);
                mul_scalar_assign(a: &mut [u64], s: &Scalar);
                mul_scalar(out: &mut [u64], a: &[u64], s: &Scalar);
                mul_scalar_add_assign(acc: &mut [u64], a: &[u64], s: &Scalar);
                add_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
                sub_mul_scalar(out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar);
                sub_from_mul_scalar_assign(a: &mut [u64], b: &[u64], s: &Scalar);
                add_scalar_assign(a: &mut [u64], c: u64);
                tensor(
                    c0: &mut [u64], c1: &mut [u64], c2: &mut [u64],
                    a0: &[u64], a1: &[u64], b0: &[u64], b1: &[u64]
                );
                square(c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]);
                reduce(out: &mut [u64], a: &[u64]);
                from_signed(out: &mut [u64], a: &[i64]);
                reduce_centred(out: &mut [u64], a: &[u64], from: u64);
                pack_key(out: &mut [MaybeUninit<u8>], b: &[u64], a: &[u64], montgomery: &Scalar);
                coalesce_key(out: &mut [MaybeUninit<u8>], key: &KeyLimb, groups: &[&[usize]]);
                inner_product(acc0: &mut [u64], acc1: &mut [u64], digits: &[(usize, &[u64])], key: &KeyLimb);
                inner_product_beside(
                    acc0: &mut [u64], acc1: &mut [u64], digits: &[(usize, &[u64])], key: &KeyLimb,
                    beside: &Beside<'_>, montgomery: &Scalar
                );
                inner_product_turned(
                    acc0: &mut [u64], acc1: &mut [u64], turned: &[Turned<'_>], key: &KeyLimb, montgomery: &Scalar
                );
                sum_products(acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>], montgomery: &Scalar);
                sum_repeated_products(
                    acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>], montgomery: &Scalar
                );
            );
        }
    };
    (@functions $features:literal, $($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[target_feature(enable = $features)]
            #[allow(clippy::too_many_arguments)]
            pub(crate) fn $name<L: Lanes>(l: &L, $($argument: $type),*) {
                ops::$name(*l, $($argument),*)
            }
        )*
    };
}

entries!(
    /// [`crate::Kernel::Avx2`].
    avx2,
    "avx2,fma"
);
entries!(
    /// [`crate::Kernel::Avx512`].
    avx512,
    "avx512f,avx512dq,avx512vl,avx512bw"
);
entries!(
    /// [`crate::Kernel::Avx512Ifma`].
    avx512ifma,
    "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx512vbmi"
);
