//! Inner products of digits and key.

use std::iter;

use crate::{
    elementwise::{Beside, Scalar, Turned, key::KeyLimb, lanes::Lanes},
    monomial::PERIOD,
};

/// How many digits go together. Each is read from two places, itself and the key: of more than
/// sixteen places at once, memory reads half as fast.
const DIGITS: usize = 7;

/// No arithmetic adds up fewer products in one sum.
const MOST_TURNED: usize = 3;

/// For how many words so many digits go together, before others do: those of the sums stay in the
/// cache.
const STRETCH: usize = 4096;

/// How far ahead of its use a key is fetched, in bytes: into the second-level cache, which on Zen 4
/// waits for more lines of memory at once than the first has room for. A look-up of PEGASUS takes a
/// sixth less time so than by way of the first, a hoisted rotation with six digits a quarter. Where
/// the first is the better one, [`Lanes::fetches_near`] says so.
pub(super) const PREFETCH: usize = 1536;

/// See [`crate::elementwise::Elementwise::inner_product`].
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
    inner_product_from(l, acc0, acc1, digits, key, None);
}

/// See [`crate::elementwise::Elementwise::inner_product_beside`]. `montgomery` is the Montgomery
/// factor of key residues.
#[inline(always)]
pub(in crate::elementwise) fn inner_product_beside<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    beside: &Beside<'_>,
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
        "what is added to an inner product has the length of its key, {length}"
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
    inner_product_from(l, acc0, acc1, digits, key, Some(Begun { scaled, added }));
}

/// [`Beside`] with its constants in vectors: those of `added` as key residues.
struct Begun<'a, L: Lanes> {
    scaled: Option<(usize, &'a [u64], L::Factor)>,
    added: [Option<(&'a [u64], L::V)>; 2],
}

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
        acc0.len() == length
            && acc1.len() == length
            && digits.iter().all(|(_, x)| x.len() == length),
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

/// The inner product, added to what was begun, after the checks.
#[inline(always)]
fn inner_product_from<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    begun: Option<Begun<'_, L>>,
) {
    // A vector at a time leaves the multiplier idle while each sum waits for its last product: as
    // many go together as there are registers for; or half as many, where lines for the first-level
    // cache are so asked for in shorter bursts.
    match L::LANES {
        8 if l.fetches_near() => inner_product_wide::<L, 2>(l, acc0, acc1, digits, key, begun),
        8 => inner_product_wide::<L, 4>(l, acc0, acc1, digits, key, begun),
        4 => inner_product_wide::<L, 2>(l, acc0, acc1, digits, key, begun),
        _ => inner_product_wide::<L, 1>(l, acc0, acc1, digits, key, begun),
    }
}

/// [`inner_product_from`] by `WIDE` vectors at a time.
#[inline(always)]
fn inner_product_wide<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    begun: Option<Begun<'_, L>>,
) {
    let length = key.length();
    let together = digits.len().div_ceil(digits.len().div_ceil(DIGITS).max(1));
    let stretch = if together == digits.len() { length } else { STRETCH };
    for first in (0..length).step_by(stretch.max(1)) {
        let end = length.min(first + stretch);
        // With what was begun alone, there is one batch of no digits.
        let (head, rest) = digits.split_at(together);
        let batches = iter::once(head).chain(rest.chunks(together.max(1)));
        for (batch, digits) in batches.enumerate() {
            let begun = if batch == 0 { begun.as_ref() } else { None };
            let mut at = first;
            // SAFETY: each vector ends at `end` or before, within every slice, and the digits are
            // in the key: checked above.
            unsafe {
                while at + WIDE * L::LANES <= end {
                    inner_product_at::<L, WIDE>(l, acc0, acc1, digits, key, begun, at, batch > 0);
                    at += WIDE * L::LANES;
                }
                while at < end {
                    inner_product_at::<L, 1>(l, acc0, acc1, digits, key, begun, at, batch > 0);
                    at += L::LANES;
                }
            }
        }
    }
}

/// `WIDE` vectors of the inner product, at word `at`; or added to what is there.
///
/// # Safety
/// All slices and the key have at least `at + WIDE LANES` words; the key has every digit and is
/// stored for `L`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn inner_product_at<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    digits: &[(usize, &[u64])],
    key: &KeyLimb,
    begun: Option<&Begun<'_, L>>,
    at: usize,
    adds: bool,
) {
    let mut sums = ([[l.no_products(); 2]; WIDE], 0);
    // SAFETY: the caller vouches for `WIDE` vectors at `at`, and for the digits.
    unsafe {
        if let Some(begun) = begun {
            sums = begin::<L, WIDE>(l, begun, key, at);
        }
        let mut totals = sum_digits::<L, WIDE>(l, sums, digits, key, at, 0);
        if adds {
            for (i, [b, a]) in totals.iter_mut().enumerate() {
                *b = l.add(L::load(acc0.as_ptr().add(at + i * L::LANES)), *b);
                *a = l.add(L::load(acc1.as_ptr().add(at + i * L::LANES)), *a);
            }
        }
        store_pairs::<L, WIDE>(acc0, acc1, &totals, at);
    }
}

/// Adds `WIDE` vectors of the products of a digit and the key, from word `at` on, to sums: of the
/// digit times a factor, if there is one.
///
/// # Safety
/// As for [`inner_product_at`].
#[inline(always)]
unsafe fn add_digit<L: Lanes, const WIDE: usize>(
    l: L,
    sums: &mut [[L::Sum; 2]; WIDE],
    (d, x): (usize, &[u64]),
    factor: Option<L::Factor>,
    key: &KeyLimb,
    at: usize,
) {
    let bytes = L::LANES * L::KEY_WORD.bytes;
    // SAFETY: the caller vouches for the digit.
    let pairs = unsafe { key.digit(d).add(2 * at * L::KEY_WORD.bytes) };
    for line in 0..(2 * WIDE * bytes).div_ceil(64) {
        l.prefetch(pairs.wrapping_add(PREFETCH + 64 * line));
    }
    for (i, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the caller vouches for `WIDE` vectors at `at`; the key is padded.
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

/// Sums of what is beside the digits, at word `at`, and of how many products they are at most.
///
/// # Safety
/// As for [`inner_product_at`].
#[inline(always)]
unsafe fn begin<L: Lanes, const WIDE: usize>(
    l: L,
    begun: &Begun<'_, L>,
    key: &KeyLimb,
    at: usize,
) -> ([[L::Sum; 2]; WIDE], usize) {
    let mut sums = [[l.no_products(); 2]; WIDE];
    let mut count = 0;
    if let Some((d, x, factor)) = begun.scaled {
        count += 1;
        // SAFETY: by the caller.
        unsafe { add_digit::<L, WIDE>(l, &mut sums, (d, x), Some(factor), key, at) };
    }
    count += usize::from(begun.added[0].is_some() || begun.added[1].is_some());
    for (part, added) in begun.added.iter().enumerate() {
        if let Some((x, multiple)) = *added {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller vouches for `WIDE` vectors at `at`.
                let x = l.multiplicand(unsafe { L::load(x.as_ptr().add(at + i * L::LANES)) });
                sum[part] = l.add_product(sum[part], x, multiple);
            }
        }
    }
    (sums, count)
}

/// `WIDE` vectors of the products of digits and key, from word `at` on, added to sums of `begun`
/// products, which are fewer than `L::TERMS`: canonical, or, where they are no more than `L::TERMS`
/// in all, below `2^kept_log2 q`.
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
    kept_log2: u32,
) -> [[L::V; 2]; WIDE] {
    // No closures here: one that is not inlined would be compiled without the caller's
    // instructions.
    let mut totals = [[L::splat(0); 2]; WIDE];
    let (first, rest) = digits.split_at(digits.len().min(L::TERMS - begun));
    let kept_log2 = if rest.is_empty() { kept_log2 } else { 0 };
    for (chunk, terms) in iter::once(first).chain(rest.chunks(L::TERMS)).enumerate() {
        for (d, x) in terms {
            // SAFETY: by the caller.
            unsafe { add_digit::<L, WIDE>(l, &mut sums, (*d, x), None, key, at) };
        }
        let count = terms.len() + if chunk == 0 { begun } else { 0 };
        let mut reduced = [[L::splat(0); 2]; WIDE];
        for i in 0..WIDE {
            reduced[i] = [l.reduce_sum(sums[i][0]), l.reduce_sum(sums[i][1])];
        }
        for step in (kept_log2..L::sum_bound_log2(count)).rev() {
            let multiple = L::splat(l.modulus() << step);
            for [b, a] in &mut reduced {
                *b = L::subtract_if_above(*b, multiple);
                *a = L::subtract_if_above(*a, multiple);
            }
        }
        for i in 0..WIDE {
            let [b, a] = reduced[i];
            totals[i] =
                if chunk == 0 { [b, a] } else { [l.add(totals[i][0], b), l.add(totals[i][1], a)] };
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

/// See [`crate::elementwise::Elementwise::inner_product_turned`]. `montgomery` is the Montgomery
/// factor of key residues.
#[inline(always)]
pub(in crate::elementwise) fn inner_product_turned<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    turned: &[Turned<'_>],
    key: &KeyLimb,
    montgomery: &Scalar,
) {
    for (digits, monomial) in turned {
        let length = check_inner_product::<L>(acc0, acc1, digits, key);
        assert!(length == monomial.blocks() * PERIOD, "monomial and key are of one degree");
    }
    assert!(
        (1..=MOST_TURNED).contains(&turned.len()),
        "1 to {MOST_TURNED} turned inner products are added up"
    );
    match L::LANES {
        8 => turned_wide::<L, 2>(l, acc0, acc1, turned, key, montgomery.value),
        _ => turned_wide::<L, 1>(l, acc0, acc1, turned, key, montgomery.value),
    }
}

/// [`inner_product_turned`] by `WIDE` vectors at a time, after its checks.
#[inline(always)]
fn turned_wide<L: Lanes, const WIDE: usize>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    turned: &[Turned<'_>],
    key: &KeyLimb,
    one: u64,
) {
    let nothing = [[l.no_products(); 2]; WIDE];
    let kept_log2 = l.lazy_multiple().ilog2();
    for block in 0..turned[0].1.blocks() {
        for step in (0..PERIOD).step_by(WIDE * L::LANES) {
            let at = block * PERIOD + step;
            let mut sums = nothing;
            for (digits, monomial) in turned {
                let factor = l.key_residue(L::splat(monomial.factor(block)));
                // SAFETY: steps are as long as `WIDE` vectors and divide `PERIOD`, the length of
                // the monomial's row; the slices have `PERIOD` words for each block. The digits are
                // in the key: both checked above.
                unsafe {
                    let totals = sum_digits::<L, WIDE>(l, (nothing, 0), digits, key, at, kept_log2);
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
            let mut totals = [[L::splat(0); 2]; WIDE];
            for i in 0..WIDE {
                for part in 0..2 {
                    totals[i][part] = l.canonical_sum(sums[i][part], turned.len());
                }
            }
            // SAFETY: as above.
            unsafe { store_pairs::<L, WIDE>(acc0, acc1, &totals, at) };
        }
    }
}
