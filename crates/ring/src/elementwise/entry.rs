//! Entry functions, which compile [`super::ops`] with the instructions of one kernel.
//!
//! A function with target features cannot be `#[inline(always)]`. So only the outermost functions
//! have the features, and everything below is inlined into them.

use super::{
    ExtraSummands, MonomialTerm, PairTerm, Scalar, key::KeyLimb, lanes::Lanes, operations, ops,
};

/// Defines a module of entry functions with the given target features.
macro_rules! entries {
    ($(#[$doc:meta])* $module:ident, $features:literal) => {
        $(#[$doc])*
        pub(super) mod $module {
            use super::*;

            operations!(entries!($features,));
            entries!($features, keyed {
                pack_key(out: &mut [u8], b: &[u64], a: &[u64], montgomery: &Scalar);
                coalesce_key(out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]);
                inner_product_plus(
                    acc0: &mut [u64], acc1: &mut [u64], digits: &[(usize, &[u64])], key: &KeyLimb,
                    beside: &ExtraSummands<'_>, montgomery: &Scalar
                );
                inner_product_times_monomials(
                    acc0: &mut [u64], acc1: &mut [u64], turned: &[MonomialTerm<'_>], key: &KeyLimb,
                    montgomery: &Scalar
                );
                sum_products(
                    acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>], montgomery: &Scalar
                );
                sum_repeated_products(
                    acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>], montgomery: &Scalar
                );
            });
        }
    };
    ($features:literal, $($group:ident {
        $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*
    })*) => {
        $($(
            #[target_feature(enable = $features)]
            #[allow(clippy::too_many_arguments)]
            pub(crate) fn $name<L: Lanes>(l: &L, $($argument: $type),*) {
                ops::$name(*l, $($argument),*)
            }
        )*)*
    };
}

entries!(
    /// Entry functions of [`crate::Kernel::Avx2`].
    avx2,
    "avx2,fma"
);
entries!(
    /// Entry functions of [`crate::Kernel::Avx512`].
    avx512,
    "avx512f,avx512dq,avx512vl,avx512bw"
);
entries!(
    /// Entry functions of [`crate::Kernel::Avx512Ifma`].
    avx512ifma,
    "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx512vbmi"
);
