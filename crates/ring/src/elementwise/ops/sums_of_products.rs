//! Sums of products of polynomials with pairs of polynomials.

use super::inner_products::PREFETCH_DISTANCE_BYTES;
use crate::elementwise::{PairTerm, Scalar, lanes::Lanes};

/// Implements [`crate::elementwise::Elementwise::sum_products`].
///
/// Sums of products are divided by `montgomery`, the Montgomery factor of key residues.
#[inline(always)]
pub(in crate::elementwise) fn sum_products<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    sum_any_products::<L, false>(l, acc0, acc1, terms, montgomery);
}

/// Implements [`crate::elementwise::Elementwise::sum_repeated_products`].
#[inline(always)]
pub(in crate::elementwise) fn sum_repeated_products<L: Lanes>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    sum_any_products::<L, true>(l, acc0, acc1, terms, montgomery);
}

/// Checks the arguments and computes either of the two sums.
#[inline(always)]
fn sum_any_products<L: Lanes, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    let length = acc0.len();
    let (multiple, repeats) = if REPEATED { (64, 8) } else { (L::LANES, 1) };
    assert!(
        length.is_multiple_of(multiple)
            && acc1.len() == length
            && terms.iter().all(|(x, pair)| {
                x.len() * repeats == length && pair.iter().all(|y| y.len() == length)
            }),
        "the slices of a sum of products must have the same length, a multiple of 8, and repeated \
         ones an eighth of it"
    );
    match L::LANES {
        8 => sum_products_by_vectors::<L, 4, REPEATED>(l, acc0, acc1, terms, montgomery),
        4 => sum_products_by_vectors::<L, 2, REPEATED>(l, acc0, acc1, terms, montgomery),
        _ => sum_products_by_vectors::<L, 1, REPEATED>(l, acc0, acc1, terms, montgomery),
    }
}

/// Computes [`sum_any_products`] with `VECTORS` vectors at a time.
#[inline(always)]
fn sum_products_by_vectors<L: Lanes, const VECTORS: usize, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    montgomery: &Scalar,
) {
    let length = acc0.len();
    let vectorised_end = length - length % (VECTORS * L::LANES);
    let factor = l.factor(montgomery);
    let mut at = 0;
    while at < vectorised_end {
        // SAFETY: `at + VECTORS LANES <= length`, the length of every slice, or eight times the
        // length of repeated ones. This was checked above.
        unsafe { sum_products_at::<L, VECTORS, REPEATED>(l, acc0, acc1, terms, factor, at) };
        at += VECTORS * L::LANES;
    }
    while at < length {
        // SAFETY: the same as above, with one vector.
        unsafe { sum_products_at::<L, 1, REPEATED>(l, acc0, acc1, terms, factor, at) };
        at += L::LANES;
    }
}

/// Computes `VECTORS` vectors of the sums of products, at word `at`.
///
/// # Safety
/// All slices have at least `n = at + VECTORS LANES` words. If `REPEATED` is true, the slices of
/// the values that repeat have at least `n/8` words, with `n` rounded up to a multiple of 64.
#[inline(always)]
unsafe fn sum_products_at<L: Lanes, const VECTORS: usize, const REPEATED: bool>(
    l: L,
    acc0: &mut [u64],
    acc1: &mut [u64],
    terms: &[PairTerm<'_>],
    factor: L::Factor,
    at: usize,
) {
    // There are no closures here. One that is not inlined would be compiled without the caller's
    // instructions.
    let mut totals = [[L::splat(0); 2]; VECTORS];
    for terms in terms.chunks(L::MAX_TERMS) {
        let mut sums = [[l.no_products(); 2]; VECTORS];
        for (x, [y0, y1]) in terms {
            if !REPEATED {
                for line in 0..(VECTORS * L::LANES).div_ceil(8) {
                    l.prefetch(
                        x.as_ptr().wrapping_add(at + PREFETCH_DISTANCE_BYTES / 8 + 8 * line).cast(),
                    );
                }
            }
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = at + i * L::LANES;
                let at_x = if REPEATED { at / 64 * 8 + at % 8 } else { at };
                // SAFETY: the caller guarantees `VECTORS` vectors at `at`. A vector of repeated
                // values is part of a group of 8.
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
                *total = l.add(*total, l.canonical_sum(*sum, terms.len()));
            }
        }
    }
    for (i, total) in totals.iter().enumerate() {
        let [mut t0, mut t1] = *total;
        if L::KEY_WORD.montgomery_log2 > 0 {
            (t0, t1) = (l.mul_factor(t0, factor), l.mul_factor(t1, factor));
        }
        // SAFETY: the caller guarantees `VECTORS` vectors at `at`.
        unsafe {
            L::store(acc0.as_mut_ptr().add(at + i * L::LANES), t0);
            L::store(acc1.as_mut_ptr().add(at + i * L::LANES), t1);
        }
    }
}
