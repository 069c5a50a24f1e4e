//! The operations, written once in terms of [`Lanes`].
//!
//! Every operation checks that its slices have the same length, a multiple of the vector length.
//! Then it processes them vector by vector.

mod inner_products;
mod sums_of_products;

use super::{Scalar, key::KeyLimb, lanes::Lanes};

pub(super) use inner_products::{inner_product, inner_product_plus, inner_product_times_monomials};
pub(super) use sums_of_products::{sum_products, sum_repeated_products};

/// Evaluates an expression for every vector position and stores its vectors, one for each output.
///
/// The expression sees the vectors of the inputs under the names of the slices. A slice may be both
/// input and output.
macro_rules! each {
    ($lanes:ty, ($($input:ident),*) -> ($first:ident $(, $output:ident)*), $value:expr) => {{
        let length = $first.len();
        assert!(
            length.is_multiple_of(<$lanes>::LANES)
                $(&& $input.len() == length)*
                $(&& $output.len() == length)*,
            "the slices of an elementwise operation must have the same length, a multiple of 8"
        );
        let mut at = 0;
        while at < length {
            let value = {
                // SAFETY: `at + LANES <= length`, the length of every slice.
                $(let $input = unsafe { <$lanes>::load($input.as_ptr().add(at)) };)*
                $value
            };
            let mut values = value.into_iter();
            each!(@store $lanes, at, values, $first $(, $output)*);
            at += <$lanes>::LANES;
        }
    }};
    (@store $lanes:ty, $at:ident, $values:ident, $($output:ident),*) => {
        $(if let Some(value) = $values.next() {
            // SAFETY: `at + LANES <= length`, the length of every slice.
            unsafe { <$lanes>::store($output.as_mut_ptr().add($at), value) };
        })*
    };
}

#[inline(always)]
pub(super) fn add_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64]) {
    each!(L, (a, b) -> (a), [l.add(a, b)]);
}

#[inline(always)]
pub(super) fn add_lazy_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64]) {
    let twice = L::splat(2 * l.modulus());
    each!(L, (a, b) -> (a), [L::subtract_if_above(L::wrapping_add(a, b), twice)]);
}

#[inline(always)]
pub(super) fn sub_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64]) {
    each!(L, (a, b) -> (a), [l.sub(a, b)]);
}

#[inline(always)]
pub(super) fn sub_from_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64]) {
    each!(L, (a, b) -> (a), [l.sub(b, a)]);
}

#[inline(always)]
pub(super) fn neg_assign<L: Lanes>(l: L, a: &mut [u64]) {
    each!(L, (a) -> (a), [l.neg(a)]);
}

#[inline(always)]
pub(super) fn add<L: Lanes>(l: L, out: &mut [u64], a: &[u64], b: &[u64]) {
    each!(L, (a, b) -> (out), [l.add(a, b)]);
}

#[inline(always)]
pub(super) fn sub<L: Lanes>(l: L, out: &mut [u64], a: &[u64], b: &[u64]) {
    each!(L, (a, b) -> (out), [l.sub(a, b)]);
}

#[inline(always)]
pub(super) fn mul<L: Lanes>(l: L, out: &mut [u64], a: &[u64], b: &[u64]) {
    each!(L, (a, b) -> (out), [l.mul(a, b)]);
}

#[inline(always)]
pub(super) fn mul_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64]) {
    each!(L, (a, b) -> (a), [l.mul(a, b)]);
}

#[inline(always)]
pub(super) fn mul_add_assign<L: Lanes>(l: L, acc: &mut [u64], a: &[u64], b: &[u64]) {
    each!(L, (acc, a, b) -> (acc), [l.mul_add(acc, a, b)]);
}

#[inline(always)]
pub(super) fn mul_scalar_assign<L: Lanes>(l: L, a: &mut [u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (a) -> (a), [l.mul_factor(a, f)]);
}

#[inline(always)]
pub(super) fn mul_scalar<L: Lanes>(l: L, out: &mut [u64], a: &[u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (a) -> (out), [l.mul_factor(a, f)]);
}

#[inline(always)]
pub(super) fn mul_scalar_add_assign<L: Lanes>(l: L, acc: &mut [u64], a: &[u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (acc, a) -> (acc), [l.add(acc, l.mul_factor(a, f))]);
}

#[inline(always)]
pub(super) fn add_mul_scalar<L: Lanes>(l: L, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (a, b) -> (out), [l.add(a, l.mul_factor(b, f))]);
}

#[inline(always)]
pub(super) fn sub_mul_scalar<L: Lanes>(l: L, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (a, b) -> (out), [l.mul_difference(a, b, f)]);
}

#[inline(always)]
pub(super) fn sub_from_mul_scalar_assign<L: Lanes>(l: L, a: &mut [u64], b: &[u64], s: &Scalar) {
    let f = l.factor(s);
    each!(L, (a, b) -> (a), [l.mul_difference(b, a, f)]);
}

#[inline(always)]
pub(super) fn add_scalar_assign<L: Lanes>(l: L, a: &mut [u64], c: u64) {
    debug_assert!(c < l.modulus());
    let c = L::splat(c);
    each!(L, (a) -> (a), [l.add(a, c)]);
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn tensor<L: Lanes>(
    l: L,
    c0: &mut [u64],
    c1: &mut [u64],
    c2: &mut [u64],
    a0: &[u64],
    a1: &[u64],
    b0: &[u64],
    b1: &[u64],
) {
    each!(
        L,
        (a0, a1, b0, b1) -> (c0, c1, c2),
        [l.mul(a0, b0), l.mul_pair(a0, b1, a1, b0), l.mul(a1, b1)]
    );
}

#[inline(always)]
pub(super) fn square<L: Lanes>(
    l: L,
    c0: &mut [u64],
    c1: &mut [u64],
    c2: &mut [u64],
    a0: &[u64],
    a1: &[u64],
) {
    each!(L, (a0, a1) -> (c0, c1, c2), [l.mul(a0, a0), l.mul(a0, l.add(a1, a1)), l.mul(a1, a1)]);
}

#[inline(always)]
pub(super) fn reduce<L: Lanes>(l: L, out: &mut [u64], a: &[u64]) {
    each!(L, (a) -> (out), [l.reduce(a)]);
}

/// The signed `a` plus `2^63` is an unsigned number.
#[inline(always)]
pub(super) fn from_signed<L: Lanes>(l: L, out: &mut [u64], a: &[i64]) {
    let bias = L::splat(1 << 63);
    let offset = l.reduce(bias);
    // SAFETY: u64 and i64 have the same layout, and every bit pattern is valid for both.
    let a: &[u64] = unsafe { std::slice::from_raw_parts(a.as_ptr().cast(), a.len()) };
    each!(L, (a) -> (out), [l.sub(l.reduce(L::wrapping_add(a, bias)), offset)]);
}

/// The centred `a` plus `half = floor(from / 2)` is `a + half` modulo `from`, in `[0, from)`.
#[inline(always)]
pub(super) fn reduce_centred<L: Lanes>(l: L, out: &mut [u64], a: &[u64], from: u64) {
    debug_assert!(from < 1 << 63);
    let (from, half) = (L::splat(from), L::splat(from / 2));
    let offset = l.reduce(half);
    each!(L, (a) -> (out), {
        let shifted = L::subtract_if_above(L::wrapping_add(a, half), from);
        [l.sub(l.reduce(shifted), offset)]
    });
}

/// Writes one digit of a key in its storage form to all of `out`. See [`KeyLimb::of_pairs`].
///
/// Vectors of `b` and of `a` alternate, multiplied by the Montgomery factor.
#[inline(always)]
pub(super) fn pack_key<L: Lanes>(l: L, out: &mut [u8], b: &[u64], a: &[u64], montgomery: &Scalar) {
    let step = L::LANES * L::KEY_WORD.bytes;
    let width = 2 * b.len() * L::KEY_WORD.bytes;
    assert!(
        b.len() == a.len() && b.len().is_multiple_of(L::LANES) && width <= out.len(),
        "both polynomials of a digit of a key must have the same length"
    );
    let factor = l.factor(montgomery);
    let mut at = 0;
    for (b, a) in b.chunks_exact(L::LANES).zip(a.chunks_exact(L::LANES)) {
        for x in [b, a] {
            // SAFETY: the chunk is a vector; `at + step <= width`, which is within `out`.
            unsafe {
                let word = l.key_residue(l.mul_factor(L::load(x.as_ptr()), factor));
                L::store_key(out.as_mut_ptr().add(at), word);
            }
            at += step;
        }
    }
    out[width..].fill(0);
}

/// Writes the sums of digits of a key in their storage form to all of `out`. See
/// [`KeyLimb::coalesce`].
#[inline(always)]
pub(super) fn coalesce_key<L: Lanes>(l: L, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]) {
    assert!(
        groups
            .iter()
            .all(|group| !group.is_empty() && group.iter().all(|&d| d < key.stored_digits())),
        "coalesced digits must be among the {} of their key",
        key.stored_digits()
    );
    assert_eq!(
        out.len(),
        groups.len() * key.stride(),
        "the digits of a sum must be as long as those of its key"
    );
    key.assert_stored_for::<L>();
    let (width, step) = (2 * key.length() * L::KEY_WORD.bytes, L::LANES * L::KEY_WORD.bytes);
    for (out, group) in out.chunks_exact_mut(key.stride()).zip(groups) {
        let mut at = 0;
        while at < width {
            // SAFETY: the digits are in the key. Each has `width` bytes, a multiple of `step`, and
            // more bytes follow the last.
            let mut sum = unsafe { L::load_key(key.digit(group[0]).add(at)) };
            for d in &group[1..] {
                // SAFETY: the same as above.
                sum = l.add_keys(sum, unsafe { L::load_key(key.digit(*d).add(at)) });
            }
            // SAFETY: `at + step <= width`, which is within the stride.
            unsafe { L::store_key(out.as_mut_ptr().add(at), sum) };
            at += step;
        }
        out[width..].fill(0);
    }
}
