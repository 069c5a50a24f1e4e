//! The operations, written once over [`Lanes`].
//!
//! Every operation checks that its slices have one length, a multiple of the vector length, and then moves through them
//! vector by vector.

use std::{iter, mem::MaybeUninit};

use super::{PairTerm, Scalar, key::KeyLimb, lanes::Lanes};
use crate::monomial::{Monomial, PERIOD};

/// For every vector position: loads the inputs under their own names, evaluates the expression (an array with one vector
/// for each output) and stores it. A slice may be input and output.
macro_rules! each {
    ($lanes:ty, ($($input:ident),*) -> ($first:ident $(, $output:ident)*), $value:expr) => {{
        let length = $first.len();
        assert!(
            length.is_multiple_of(<$lanes>::LANES) $(&& $input.len() == length)* $(&& $output.len() == length)*,
            "the slices of an elementwise operation have one length, a multiple of 8"
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
    each!(L, (a0, a1, b0, b1) -> (c0, c1, c2), [l.mul(a0, b0), l.mul_pair(a0, b1, a1, b0), l.mul(a1, b1)]);
}

#[inline(always)]
pub(super) fn square<L: Lanes>(l: L, c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]) {
    each!(L, (a0, a1) -> (c0, c1, c2), [l.mul(a0, a0), l.mul(a0, l.add(a1, a1)), l.mul(a1, a1)]);
}

#[inline(always)]
pub(super) fn reduce<L: Lanes>(l: L, out: &mut [u64], a: &[u64]) {
    each!(L, (a) -> (out), [l.reduce(a)]);
}

/// The signed `a` plus `2^63` is unsigned.
#[inline(always)]
pub(super) fn from_signed<L: Lanes>(l: L, out: &mut [u64], a: &[i64]) {
    let bias = L::splat(1 << 63);
    let offset = l.reduce(bias);
    // SAFETY: u64 and i64 have one layout, and every bit pattern is valid for both.
    let a: &[u64] = unsafe { std::slice::from_raw_parts(a.as_ptr().cast(), a.len()) };
    each!(L, (a) -> (out), [l.sub(l.reduce(L::wrapping_add(a, bias)), offset)]);
}

/// `a` centred plus `half = floor(from / 2)` is `a + half` modulo `from`, in `[0, from)`.
#[inline(always)]
pub(super) fn reduce_centred<L: Lanes>(l: L, out: &mut [u64], a: &[u64], from: u64) {
    let (from, half) = (L::splat(from), L::splat(from / 2));
    let offset = l.reduce(half);
    each!(L, (a) -> (out), {
        let shifted = L::subtract_if_above(L::wrapping_add(a, half), from);
        [l.sub(l.reduce(shifted), offset)]
    });
}

/// See [`super::Elementwise::prepare_key`]: writes all of `out`, one digit as it is stored: vectors of `b` and of `a` in turn, times the Montgomery factor.
#[inline(always)]
pub(super) fn pack_key<L: Lanes>(
    l: L,
    out: &mut [MaybeUninit<u8>],
    b: &[u64],
    a: &[u64],
    montgomery: &Scalar,
) {
    let step = L::LANES * L::KEY_WORD.bytes;
    let width = 2 * b.len() * L::KEY_WORD.bytes;
    assert!(
        b.len() == a.len() && b.len().is_multiple_of(L::LANES) && width <= out.len(),
        "the two polynomials of a digit of a key have one length"
    );
    let factor = l.factor(montgomery);
    let mut at = 0;
    for (b, a) in b.chunks_exact(L::LANES).zip(a.chunks_exact(L::LANES)) {
        for x in [b, a] {
            // SAFETY: the chunk is a vector; `at + step <= width`, which is within `out`.
            unsafe {
                let word = l.key_residue(l.mul_factor(L::load(x.as_ptr()), factor));
                L::store_key(out.as_mut_ptr().cast::<u8>().add(at), word);
            }
            at += step;
        }
    }
    out[width..].fill(MaybeUninit::new(0));
}

/// See [`KeyLimb::coalesce`]: writes all of `out`, the digits of the sum as they are stored.
#[inline(always)]
pub(super) fn coalesce_key<L: Lanes>(l: L, out: &mut [MaybeUninit<u8>], key: &KeyLimb, groups: &[&[usize]]) {
    assert!(
        groups.iter().all(|group| !group.is_empty() && group.iter().all(|&d| d < key.stored_digits())),
        "digits that are coalesced are among the {} of their key",
        key.stored_digits()
    );
    assert_eq!(out.len(), groups.len() * key.stride(), "the digits of a sum are as long as those of its key");
    key.assert_stored_for::<L>();
    let (width, step) = (2 * key.length() * L::KEY_WORD.bytes, L::LANES * L::KEY_WORD.bytes);
    for (out, group) in out.chunks_exact_mut(key.stride()).zip(groups) {
        let mut at = 0;
        while at < width {
            // SAFETY: the digits are in the key, which has `width` bytes for each, a multiple of `step`, and more after the last.
            let mut sum = unsafe { L::load_key(key.digit(group[0]).add(at)) };
            for d in &group[1..] {
                // SAFETY: as above.
                sum = l.add_keys(sum, unsafe { L::load_key(key.digit(*d).add(at)) });
            }
            // SAFETY: `at + step <= width`, which is within the stride.
            unsafe { L::store_key(out.as_mut_ptr().cast::<u8>().add(at), sum) };
            at += step;
        }
        out[width..].fill(MaybeUninit::new(0));
    }
}

/// See [`super::Elementwise::inner_product`].
#[inline(always)]
pub(super) fn inner_product<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
) {
    check_inner_product::<L>(acc0, acc1, digits, key);
    if digits.is_empty() {
        acc0.fill(0);
        acc1.fill(0);
        return;
    }
    // A vector at a time leaves the multiplier idle while each sum waits for its last product: as many go together as there are
    // registers for.
    match L::LANES {
        8 => inner_product_wide::<L, 4>(l, acc0, acc1, digits, key),
        4 => inner_product_wide::<L, 2>(l, acc0, acc1, digits, key),
        _ => inner_product_wide::<L, 1>(l, acc0, acc1, digits, key),
    }
}

/// How many digits go together. Each is read from two places, itself and the key: of more than sixteen places at once, memory reads half as fast.
const DIGITS: usize = 7;

/// For how many words so many digits go together, before others do: those of the sums stay in the cache.
const STRETCH: usize = 4096;

/// The length of all slices, after the checks of an inner product.
#[inline(always)]
fn check_inner_product<L: Lanes>(
    acc0: &[u64],
    acc1: &[u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
) -> usize {
    let length = key.length();
    assert!(
        acc0.len() == length && acc1.len() == length && digits.iter().all(|(_, x)| x.len() == length),
        "an inner product's slices have the length of its key, {length}"
    );
    assert!(
        digits.iter().all(|&(d, _)| d < key.stored_digits()),
        "an inner product's digits are among the {} of its key",
        key.stored_digits()
    );
    key.assert_stored_for::<L>();
    length
}

/// [`inner_product`] by `WIDE` vectors at a time, after its checks.
#[inline(always)]
fn inner_product_wide<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
) {
    let length = key.length();
    let together = digits.len().div_ceil(digits.len().div_ceil(DIGITS));
    let stretch = if together == digits.len() { length } else { STRETCH };
    for first in (0..length).step_by(stretch.max(1)) {
        let end = length.min(first + stretch);
        for (batch, digits) in digits.chunks(together).enumerate() {
            let mut at = first;
            // SAFETY: each vector ends at `end` or before, within every slice, and the digits are in the key: checked above.
            unsafe {
                while at + WIDE * L::LANES <= end {
                    inner_product_at::<L, WIDE>(l, acc0, acc1, digits, key, at, batch > 0);
                    at += WIDE * L::LANES;
                }
                while at < end {
                    inner_product_at::<L, 1>(l, acc0, acc1, digits, key, at, batch > 0);
                    at += L::LANES;
                }
            }
        }
    }
}

/// How far ahead of its use a key is fetched, in bytes: into the second-level cache, which waits for more lines of memory at once than the first has room for. A look-up of
/// PEGASUS takes 43 ms so and 52 by way of the first, a hoisted rotation with six digits 5.4 and 7.2.
const PREFETCH: usize = 1536;

/// `WIDE` vectors of the inner product, at word `at`; or added to what is there.
///
/// # Safety
/// All slices and the key have at least `at + WIDE LANES` words; the key has every digit and is stored for `L`.
#[inline(always)]
unsafe fn inner_product_at<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    at: usize,
    adds: bool,
) {
    let nothing = [[l.no_products(); 2]; WIDE];
    // SAFETY: the caller vouches for `WIDE` vectors at `at`, and for the digits.
    unsafe {
        let mut totals = sum_digits::<L, WIDE>(l, (nothing, 0), digits, key, at);
        if adds {
            for (i, [b, a]) in totals.iter_mut().enumerate() {
                *b = l.add(L::load(acc0.as_ptr().add(at + i * L::LANES)), *b);
                *a = l.add(L::load(acc1.as_ptr().add(at + i * L::LANES)), *a);
            }
        }
        store_pairs::<L, WIDE>(acc0, acc1, &totals, at);
    }
}

/// `WIDE` vectors of the products of digits and key, from word `at` on, added to sums of `begun` products, which are fewer than `L::TERMS`.
///
/// # Safety
/// As for [`inner_product_at`].
#[inline(always)]
unsafe fn sum_digits<L: Lanes, const WIDE: usize>(
    l: L,
    (mut sums, begun): ([[L::Sum; 2]; WIDE], usize),
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    at: usize,
) -> [[L::V; 2]; WIDE] {
    // No closures here: one that is not inlined would be compiled without the caller's instructions.
    let bytes = L::LANES * L::KEY_WORD.bytes;
    let mut totals = [[L::splat(0); 2]; WIDE];
    let (first, rest) = digits.split_at(digits.len().min(L::TERMS - begun));
    for (chunk, terms) in iter::once(first).chain(rest.chunks(L::TERMS)).enumerate() {
        for (d, x) in terms {
            // SAFETY: the caller vouches for digit `d`.
            let pairs = unsafe { key.digit(*d).add(2 * at * L::KEY_WORD.bytes) };
            for line in 0..(2 * WIDE * bytes).div_ceil(64) {
                L::prefetch(pairs.wrapping_add(PREFETCH + 64 * line));
            }
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller vouches for `WIDE` vectors at `at`; the key is padded.
                let (x, b, a) = unsafe {
                    let pair = pairs.add(2 * i * bytes);
                    (
                        L::load(x.as_ptr().add(at + i * L::LANES)),
                        L::load_key(pair),
                        L::load_key(pair.add(bytes)),
                    )
                };
                let x = l.multiplicand(x);
                *sum = [l.add_product(sum[0], x, b), l.add_product(sum[1], x, a)];
            }
        }
        let count = terms.len() + if chunk == 0 { begun } else { 0 };
        let mut reduced = [[L::splat(0); 2]; WIDE];
        for i in 0..WIDE {
            reduced[i] = [l.reduce_sum(sums[i][0]), l.reduce_sum(sums[i][1])];
        }
        for step in (0..L::sum_bound_log2(count)).rev() {
            let multiple = L::splat(l.modulus() << step);
            for [b, a] in &mut reduced {
                *b = L::subtract_if_above(*b, multiple);
                *a = L::subtract_if_above(*a, multiple);
            }
        }
        for i in 0..WIDE {
            let [b, a] = reduced[i];
            totals[i] = if chunk == 0 { [b, a] } else { [l.add(totals[i][0], b), l.add(totals[i][1], a)] };
        }
        sums = [[l.no_products(); 2]; WIDE];
    }
    totals
}

/// Writes both of `WIDE` pairs of vectors, at word `at`.
///
/// # Safety
/// Both slices have at least `at + WIDE LANES` words.
#[inline(always)]
unsafe fn store_pairs<L: Lanes, const WIDE: usize>(
    acc0: &mut [u64],
    acc1: &mut [u64],
    pairs: &[[L::V; 2]; WIDE],
    at: usize,
) {
    for (i, pair) in pairs.iter().enumerate() {
        // SAFETY: the caller vouches for `WIDE` vectors at `at`.
        unsafe {
            L::store(acc0.as_mut_ptr().add(at + i * L::LANES), pair[0]);
            L::store(acc1.as_mut_ptr().add(at + i * L::LANES), pair[1]);
        }
    }
}

/// See [`super::Elementwise::inner_product_turned`].
#[inline(always)]
pub(super) fn inner_product_turned<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    [still, turned]: [&[(usize, &[u64])]; 2],
    key: &KeyLimb,
    monomial: &Monomial<'_>,
) {
    let length = check_inner_product::<L>(acc0, acc1, still, key);
    check_inner_product::<L>(acc0, acc1, turned, key);
    assert!(length == monomial.blocks() * PERIOD, "monomial and key are of one degree");
    match L::LANES {
        8 => turned_wide::<L, 4>(l, acc0, acc1, [still, turned], key, monomial),
        4 => turned_wide::<L, 2>(l, acc0, acc1, [still, turned], key, monomial),
        _ => turned_wide::<L, 1>(l, acc0, acc1, [still, turned], key, monomial),
    }
}

/// [`inner_product_turned`] by `WIDE` vectors at a time, after its checks.
#[inline(always)]
fn turned_wide<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    [still, turned]: [&[(usize, &[u64])]; 2],
    key: &KeyLimb,
    monomial: &Monomial<'_>,
) {
    let nothing = [[l.no_products(); 2]; WIDE];
    for block in 0..monomial.blocks() {
        let factor = l.key_residue(L::splat(monomial.factor(block)));
        for step in (0..PERIOD).step_by(WIDE * L::LANES) {
            let at = block * PERIOD + step;
            // SAFETY: steps are as long as `WIDE` vectors and divide `PERIOD`, the length of the monomial's row; the slices have `PERIOD` words for each block. The
            // digits are in the key: both checked above.
            unsafe {
                let turned = sum_digits::<L, WIDE>(l, (nothing, 0), turned, key, at);
                let mut sums = nothing;
                for (i, (sum, turned)) in sums.iter_mut().zip(&turned).enumerate() {
                    let row = l.multiplicand(L::load(monomial.row().as_ptr().add(step + i * L::LANES)));
                    let mut value = l.reduce_sum(l.add_product(l.no_products(), row, factor));
                    for step in (0..L::sum_bound_log2(1)).rev() {
                        value = L::subtract_if_above(value, L::splat(l.modulus() << step));
                    }
                    let value = l.key_residue(value);
                    for (sum, turned) in sum.iter_mut().zip(turned) {
                        *sum = l.add_product(*sum, l.multiplicand(*turned), value);
                    }
                }
                let totals = sum_digits::<L, WIDE>(l, (sums, 1), still, key, at);
                store_pairs::<L, WIDE>(acc0, acc1, &totals, at);
            }
        }
    }
}

/// See [`super::Elementwise::sum_products`]. `montgomery` is the Montgomery factor of key residues, which sums of products are divided by.
#[inline(always)]
pub(super) fn sum_products<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    sum_any_products::<L, false>(l, acc0, acc1, terms, montgomery);
}

/// See [`super::Elementwise::sum_repeated_products`].
#[inline(always)]
pub(super) fn sum_repeated_products<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    sum_any_products::<L, true>(l, acc0, acc1, terms, montgomery);
}

/// Either of these, after its checks.
#[inline(always)]
fn sum_any_products<L: Lanes, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    let length = acc0.len();
    let (multiple, share) = if REPEATED { (64, 8) } else { (L::LANES, 1) };
    assert!(
        length.is_multiple_of(multiple)
            && acc1.len() == length
            && terms
                .iter()
                .all(|(x, pair)| { x.len() * share == length && pair.iter().all(|y| y.len() == length) }),
        "the slices of a sum of products have one length, a multiple of 8, and repeated ones an eighth of it"
    );
    match L::LANES {
        8 => sum_products_wide::<L, 4, REPEATED>(l, acc0, acc1, terms, montgomery),
        4 => sum_products_wide::<L, 2, REPEATED>(l, acc0, acc1, terms, montgomery),
        _ => sum_products_wide::<L, 1, REPEATED>(l, acc0, acc1, terms, montgomery),
    }
}

/// [`sum_any_products`] by `WIDE` vectors at a time.
#[inline(always)]
fn sum_products_wide<L: Lanes, const WIDE: usize, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    let length = acc0.len();
    let wide = length - length % (WIDE * L::LANES);
    let factor = l.factor(montgomery);
    let mut at = 0;
    while at < wide {
        // SAFETY: `at + WIDE LANES <= length`, the length of every slice (or eight times that): checked above.
        unsafe { sum_products_at::<L, WIDE, REPEATED>(l, acc0, acc1, terms, factor, at) };
        at += WIDE * L::LANES;
    }
    while at < length {
        // SAFETY: as above, with one vector.
        unsafe { sum_products_at::<L, 1, REPEATED>(l, acc0, acc1, terms, factor, at) };
        at += L::LANES;
    }
}

/// `WIDE` vectors of the sums of products, at word `at`.
///
/// # Safety
/// All slices have at least `at + WIDE LANES` words, but for those of repeated values, which have an eighth of a multiple of 64 that is no less.
#[inline(always)]
unsafe fn sum_products_at<L: Lanes, const WIDE: usize, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    factor: L::Factor,
    at: usize,
) {
    // No closures here: one that is not inlined would be compiled without the caller's instructions.
    let mut totals = [[L::splat(0); 2]; WIDE];
    for terms in terms.chunks(L::TERMS) {
        let mut sums = [[l.no_products(); 2]; WIDE];
        for (x, [y0, y1]) in terms {
            if !REPEATED {
                for line in 0..(WIDE * L::LANES).div_ceil(8) {
                    L::prefetch(x.as_ptr().wrapping_add(at + PREFETCH / 8 + 8 * line).cast());
                }
            }
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = at + i * L::LANES;
                let at_x = if REPEATED { at / 64 * 8 + at % 8 } else { at };
                // SAFETY: the caller vouches for `WIDE` vectors at `at`. A vector of repeated values is part of a group of 8.
                let (x, y0, y1) = unsafe {
                    (
                        L::load(x.as_ptr().add(at_x)),
                        L::load(y0.as_ptr().add(at)),
                        L::load(y1.as_ptr().add(at)),
                    )
                };
                let (x, y0, y1) = (l.multiplicand(x), l.key_residue(y0), l.key_residue(y1));
                *sum = [l.add_product(sum[0], x, y0), l.add_product(sum[1], x, y1)];
            }
        }
        for (total, sum) in totals.iter_mut().zip(&sums) {
            for (total, sum) in total.iter_mut().zip(sum) {
                let mut reduced = l.reduce_sum(*sum);
                for step in (0..L::sum_bound_log2(terms.len())).rev() {
                    reduced = L::subtract_if_above(reduced, L::splat(l.modulus() << step));
                }
                *total = l.add(*total, reduced);
            }
        }
    }
    for (i, total) in totals.iter().enumerate() {
        let [mut t0, mut t1] = *total;
        if L::KEY_WORD.montgomery_log2 > 0 {
            (t0, t1) = (l.mul_factor(t0, factor), l.mul_factor(t1, factor));
        }
        // SAFETY: the caller vouches for `WIDE` vectors at `at`.
        unsafe {
            L::store(acc0.as_mut_ptr().add(at + i * L::LANES), t0);
            L::store(acc1.as_mut_ptr().add(at + i * L::LANES), t1);
        }
    }
}
