//! Inner products of digits and a switching key.

use std::iter;

use crate::{
    elementwise::{ExtraSummands, MonomialTerm, Scalar, key::KeyLimb, lanes::Lanes},
    monomial::PERIOD,
};

/// The maximum number of digits in one pass. Each digit is read from two places, the digit and the
/// key. Memory reads half as fast from more than sixteen places at once (measured).
const MAX_DIGITS_PER_PASS: usize = 7;

/// The maximum number of inner products times monomials in one sum. A product with a monomial turns
/// a polynomial. Every arithmetic can sum this many products.
const MAX_TURNED_SUMS: usize = 3;

/// The number of words after which the next digits are processed, if there are more than one pass
/// can take. The sums of these words stay in the cache.
const STRETCH_WORDS: usize = 4096;

/// The distance in bytes between a prefetch of a key and its use.
///
/// Prefetches go to the second-level cache, which on Zen 4 can wait for more lines of memory at
/// once than the first. A look-up of PEGASUS is then a sixth faster, and a hoisted rotation with
/// six digits a quarter (measured). [`Lanes::prefetches_to_l1`] returns true if the first-level
/// cache is better.
pub(super) const PREFETCH_DISTANCE_BYTES: usize = 1536;

/// Implements [`crate::elementwise::Elementwise::inner_product`].
#[inline(always)]
pub(in crate::elementwise) fn inner_product<L: Lanes>(
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
    inner_product_with(l, acc0, acc1, digits, key, None);
}

/// Implements [`crate::elementwise::Elementwise::inner_product_plus`]. `montgomery` is the
/// Montgomery factor of key residues.
#[inline(always)]
pub(in crate::elementwise) fn inner_product_plus<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    beside: &ExtraSummands<'_>,
    montgomery: &Scalar,
) {
    if beside.scaled.is_none() && beside.added.iter().all(Option::is_none) {
        return inner_product(l, acc0, acc1, digits, key);
    }
    let length = check_inner_product::<L>(acc0, acc1, digits, key);
    if let Some((d, x, _)) = beside.scaled {
        check_inner_product::<L>(acc0, acc1, &[(d, x)], key);
    }
    assert!(
        beside.added.iter().flatten().all(|(x, _)| x.len() == length),
        "a limb that is added to an inner product must have the length of its key, {length}"
    );
    let montgomery = l.factor(montgomery);
    let mut added = [None; 2];
    for (added, beside) in added.iter_mut().zip(&beside.added) {
        if let Some((x, s)) = beside {
            *added = Some((*x, l.key_residue(l.mul_factor(L::splat(s.value), montgomery))));
        }
    }
    let mut scaled = None;
    if let Some((d, x, s)) = beside.scaled {
        scaled = Some((d, x, l.factor(s)));
    }
    inner_product_with(l, acc0, acc1, digits, key, Some(ExtraTerms { scaled, added }));
}

/// [`ExtraSummands`] with its constants in vectors. Those of `added` are key residues.
struct ExtraTerms<'a, L: Lanes> {
    scaled: Option<(usize, &'a [u64], L::Factor)>,
    added: [Option<(&'a [u64], L::V)>; 2],
}

/// Checks the arguments of an inner product, and returns the length of all slices.
#[inline(always)]
fn check_inner_product<L: Lanes>(
    acc0: &[u64],
    acc1: &[u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
) -> usize {
    let length = key.length();
    assert!(
        acc0.len() == length
            && acc1.len() == length
            && digits.iter().all(|(_, x)| x.len() == length),
        "the slices of an inner product must have the length of its key, {length}"
    );
    assert!(
        digits.iter().all(|&(d, _)| d < key.stored_digits()),
        "the digits of an inner product must be among the {} of its key",
        key.stored_digits()
    );
    key.assert_stored_for::<L>();
    length
}

/// Computes the inner product plus the extra terms. The arguments have been checked.
#[inline(always)]
fn inner_product_with<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    extra: Option<ExtraTerms<'_, L>>,
) {
    // With one vector at a time, the multiplier is idle while each sum waits for its last product.
    // So the registers limit the number of vectors that are processed together. It is half of that
    // if prefetches go to the first-level cache, where shorter bursts of prefetches are better.
    match L::LANES {
        8 if l.prefetches_to_l1() => {
            inner_product_by_vectors::<L, 2>(l, acc0, acc1, digits, key, extra)
        }
        8 => inner_product_by_vectors::<L, 4>(l, acc0, acc1, digits, key, extra),
        4 => inner_product_by_vectors::<L, 2>(l, acc0, acc1, digits, key, extra),
        _ => inner_product_by_vectors::<L, 1>(l, acc0, acc1, digits, key, extra),
    }
}

/// Computes [`inner_product_with`] with `VECTORS` vectors at a time.
#[inline(always)]
fn inner_product_by_vectors<L: Lanes, const VECTORS: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    extra: Option<ExtraTerms<'_, L>>,
) {
    let length = key.length();
    let digits_per_pass = digits.len().div_ceil(digits.len().div_ceil(MAX_DIGITS_PER_PASS).max(1));
    let stretch = if digits_per_pass == digits.len() { length } else { STRETCH_WORDS };
    for first in (0..length).step_by(stretch.max(1)) {
        let end = length.min(first + stretch);
        // If there are extra terms only, there is one batch without digits.
        let (head, rest) = digits.split_at(digits_per_pass);
        let batches = iter::once(head).chain(rest.chunks(digits_per_pass.max(1)));
        for (batch, digits) in batches.enumerate() {
            let extra = if batch == 0 { extra.as_ref() } else { None };
            let mut at = first;
            // SAFETY: each vector ends at `end` or before, within every slice, and the digits are
            // in the key. Both were checked above.
            unsafe {
                while at + VECTORS * L::LANES <= end {
                    inner_product_at::<L, VECTORS>(
                        l,
                        acc0,
                        acc1,
                        digits,
                        key,
                        extra,
                        at,
                        batch > 0,
                    );
                    at += VECTORS * L::LANES;
                }
                while at < end {
                    inner_product_at::<L, 1>(l, acc0, acc1, digits, key, extra, at, batch > 0);
                    at += L::LANES;
                }
            }
        }
    }
}

/// Computes `VECTORS` vectors of the inner product at word `at`. If `adds`, they are added to the
/// present contents.
///
/// # Safety
/// All slices and the key have at least `at + VECTORS LANES` words. The key has every digit and is
/// stored for `L`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn inner_product_at<L: Lanes, const VECTORS: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    extra: Option<&ExtraTerms<'_, L>>,
    at: usize,
    adds: bool,
) {
    let mut sums = ([[l.no_products(); 2]; VECTORS], 0);
    // SAFETY: the caller guarantees `VECTORS` vectors at `at`, and the digits.
    unsafe {
        if let Some(extra) = extra {
            sums = sum_extra::<L, VECTORS>(l, extra, key, at);
        }
        let mut totals = sum_digits::<L, VECTORS>(l, sums, digits, key, at, 0);
        if adds {
            for (i, [b, a]) in totals.iter_mut().enumerate() {
                *b = l.add(L::load(acc0.as_ptr().add(at + i * L::LANES)), *b);
                *a = l.add(L::load(acc1.as_ptr().add(at + i * L::LANES)), *a);
            }
        }
        store_pairs::<L, VECTORS>(acc0, acc1, &totals, at);
    }
}

/// Adds `VECTORS` vectors of the products of a digit and the key, from word `at` on, to `sums`.
///
/// If there is a factor, the digit is multiplied by it first.
///
/// # Safety
/// The same as for [`inner_product_at`].
#[inline(always)]
unsafe fn add_digit<L: Lanes, const VECTORS: usize>(
    l: L,
    sums: &mut [[L::Sum; 2]; VECTORS],
    (d, x): (usize, &[u64]),
    factor: Option<L::Factor>,
    key: &KeyLimb,
    at: usize,
) {
    let bytes = L::LANES * L::KEY_WORD.bytes;
    // SAFETY: the caller guarantees the digit.
    let pairs = unsafe { key.digit(d).add(2 * at * L::KEY_WORD.bytes) };
    for line in 0..(2 * VECTORS * bytes).div_ceil(64) {
        l.prefetch(pairs.wrapping_add(PREFETCH_DISTANCE_BYTES + 64 * line));
    }
    for (i, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the caller guarantees `VECTORS` vectors at `at`, and the key is padded.
        let (mut x, b, a) = unsafe {
            let pair = pairs.add(2 * i * bytes);
            (
                L::load(x.as_ptr().add(at + i * L::LANES)),
                L::load_key(pair),
                L::load_key(pair.add(bytes)),
            )
        };
        if let Some(factor) = factor {
            x = l.mul_factor(x, factor);
        }
        let x = l.multiplicand(x);
        *sum = [l.add_product(sum[0], x, b), l.add_product(sum[1], x, a)];
    }
}

/// Returns the sums of the extra terms at word `at`, and the maximum number of products in a sum.
///
/// # Safety
/// The same as for [`inner_product_at`].
#[inline(always)]
unsafe fn sum_extra<L: Lanes, const VECTORS: usize>(
    l: L,
    extra: &ExtraTerms<'_, L>,
    key: &KeyLimb,
    at: usize,
) -> ([[L::Sum; 2]; VECTORS], usize) {
    let mut sums = [[l.no_products(); 2]; VECTORS];
    let mut count = 0;
    if let Some((d, x, factor)) = extra.scaled {
        count += 1;
        // SAFETY: the caller guarantees the digit and the vectors.
        unsafe { add_digit::<L, VECTORS>(l, &mut sums, (d, x), Some(factor), key, at) };
    }
    count += usize::from(extra.added[0].is_some() || extra.added[1].is_some());
    for (part, added) in extra.added.iter().enumerate() {
        if let Some((x, multiple)) = *added {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller guarantees `VECTORS` vectors at `at`.
                let x = l.multiplicand(unsafe { L::load(x.as_ptr().add(at + i * L::LANES)) });
                sum[part] = l.add_product(sum[part], x, multiple);
            }
        }
    }
    (sums, count)
}

/// Returns `VECTORS` vectors of the products of digits and key, from word `at` on, plus the given
/// sums of `summed` products.
///
/// `summed` is less than `L::MAX_TERMS`. The results are canonical. If all sums together have at
/// most `L::MAX_TERMS` products, the results are only reduced below `2^bound_log2 q`.
///
/// # Safety
/// The same as for [`inner_product_at`].
#[inline(always)]
unsafe fn sum_digits<L: Lanes, const VECTORS: usize>(
    l: L,
    (mut sums, summed): ([[L::Sum; 2]; VECTORS], usize),
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    at: usize,
    bound_log2: u32,
) -> [[L::V; 2]; VECTORS] {
    // There are no closures here. One that is not inlined would be compiled without the caller's
    // instructions.
    let mut totals = [[L::splat(0); 2]; VECTORS];
    let (first, rest) = digits.split_at(digits.len().min(L::MAX_TERMS - summed));
    let bound_log2 = if rest.is_empty() { bound_log2 } else { 0 };
    for (chunk, terms) in iter::once(first).chain(rest.chunks(L::MAX_TERMS)).enumerate() {
        for (d, x) in terms {
            // SAFETY: the caller guarantees the digit and the vectors.
            unsafe { add_digit::<L, VECTORS>(l, &mut sums, (*d, x), None, key, at) };
        }
        let count = terms.len() + if chunk == 0 { summed } else { 0 };
        let mut reduced = [[L::splat(0); 2]; VECTORS];
        for i in 0..VECTORS {
            reduced[i] = [l.reduce_sum(sums[i][0]), l.reduce_sum(sums[i][1])];
        }
        for step in (bound_log2..L::sum_bound_log2(count)).rev() {
            let multiple = L::splat(l.modulus() << step);
            for [b, a] in &mut reduced {
                *b = L::subtract_if_above(*b, multiple);
                *a = L::subtract_if_above(*a, multiple);
            }
        }
        for i in 0..VECTORS {
            let [b, a] = reduced[i];
            totals[i] =
                if chunk == 0 { [b, a] } else { [l.add(totals[i][0], b), l.add(totals[i][1], a)] };
        }
        sums = [[l.no_products(); 2]; VECTORS];
    }
    totals
}

/// Writes `VECTORS` pairs of vectors to both slices, at word `at`.
///
/// # Safety
/// Both slices have at least `at + VECTORS LANES` words.
#[inline(always)]
unsafe fn store_pairs<L: Lanes, const VECTORS: usize>(
    acc0: &mut [u64],
    acc1: &mut [u64],
    pairs: &[[L::V; 2]; VECTORS],
    at: usize,
) {
    for (i, pair) in pairs.iter().enumerate() {
        // SAFETY: the caller guarantees `VECTORS` vectors at `at`.
        unsafe {
            L::store(acc0.as_mut_ptr().add(at + i * L::LANES), pair[0]);
            L::store(acc1.as_mut_ptr().add(at + i * L::LANES), pair[1]);
        }
    }
}

/// Implements [`crate::elementwise::Elementwise::inner_product_times_monomials`]. `montgomery` is
/// the Montgomery factor of key residues.
#[inline(always)]
pub(in crate::elementwise) fn inner_product_times_monomials<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    turned: &[MonomialTerm<'_>],
    key: &KeyLimb,
    montgomery: &Scalar,
) {
    for (digits, monomial) in turned {
        let length = check_inner_product::<L>(acc0, acc1, digits, key);
        assert!(
            length == monomial.blocks() * PERIOD,
            "the monomial and the key must have the same degree"
        );
    }
    assert!(
        (1..=MAX_TURNED_SUMS).contains(&turned.len()),
        "the number of inner products times monomials must be from 1 to {MAX_TURNED_SUMS}"
    );
    match L::LANES {
        8 => turned_by_vectors::<L, 2>(l, acc0, acc1, turned, key, montgomery.value),
        _ => turned_by_vectors::<L, 1>(l, acc0, acc1, turned, key, montgomery.value),
    }
}

/// Computes [`inner_product_times_monomials`] with `VECTORS` vectors at a time, after its checks.
#[inline(always)]
fn turned_by_vectors<L: Lanes, const VECTORS: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    turned: &[MonomialTerm<'_>],
    key: &KeyLimb,
    one: u64,
) {
    let nothing = [[l.no_products(); 2]; VECTORS];
    let bound_log2 = l.lazy_multiple().ilog2();
    for block in 0..turned[0].1.blocks() {
        for step in (0..PERIOD).step_by(VECTORS * L::LANES) {
            let at = block * PERIOD + step;
            let mut sums = nothing;
            for (digits, monomial) in turned {
                let factor = l.key_residue(L::splat(monomial.factor(block)));
                // SAFETY: the length of a step is that of `VECTORS` vectors. It divides `PERIOD`,
                // the length of the monomial's row, and the slices have `PERIOD` words for each
                // block. The digits are in the key. Both were checked above.
                unsafe {
                    let totals =
                        sum_digits::<L, VECTORS>(l, (nothing, 0), digits, key, at, bound_log2);
                    for (i, (sum, total)) in sums.iter_mut().zip(&totals).enumerate() {
                        let row = l.multiplicand(L::load(
                            monomial.row().as_ptr().add(step + i * L::LANES),
                        ));
                        let value = l.canonical_sum(l.add_product(l.no_products(), row, factor), 1);
                        let value = l.key_residue(l.sub(value, L::splat(one)));
                        for (sum, total) in sum.iter_mut().zip(total) {
                            *sum = l.add_product(*sum, l.multiplicand(*total), value);
                        }
                    }
                }
            }
            let mut totals = [[L::splat(0); 2]; VECTORS];
            for i in 0..VECTORS {
                for part in 0..2 {
                    totals[i][part] = l.canonical_sum(sums[i][part], turned.len());
                }
            }
            // SAFETY: the same as above.
            unsafe { store_pairs::<L, VECTORS>(acc0, acc1, &totals, at) };
        }
    }
}
