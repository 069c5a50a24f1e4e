//! Vectors of eight 64-bit words, which the AVX-512 kernels use.
//!
//! **Contract.** These helpers have no target features, because a function with them cannot be
//! `#[inline(always)]`. They compile to single instructions only inside a caller that has the
//! features. So every kernel consists of `#[inline(always)]` helpers without features, and one
//! outermost function with `#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]`.
//! Functions that state it also need `avx512ifma` or `avx512vbmi`. The outermost function is called
//! only after [`crate::Kernel::is_supported`] has returned true. Nothing here may run otherwise,
//! and every `SAFETY` comment below relies on this.

use std::arch::x86_64::*;

pub(crate) use crate::arith::{inv52, inv64};

/// Eight unsigned 64-bit lanes.
pub(crate) type V = __m512i;

/// Reads eight words at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for reading 64 bytes.
#[inline(always)]
pub(crate) unsafe fn load(p: *const u64) -> V {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm512_loadu_si512(p.cast()) }
}

/// Writes eight words at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for writing 64 bytes.
#[inline(always)]
pub(crate) unsafe fn store(p: *mut u64, x: V) {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm512_storeu_si512(p.cast(), x) }
}

/// Writes eight words at `p` past the cache, for data that is read much later.
///
/// The last such store must be followed by a [`fence`].
///
/// # Safety
/// `p` is valid for writing 64 bytes, and a multiple of 64.
#[inline(always)]
pub(crate) unsafe fn store_past_cache(p: *mut u64, x: V) {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm512_stream_si512(p.cast(), x) }
}

/// Orders stores past the cache before all later memory accesses.
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: see the module contract.
    unsafe { _mm_sfence() }
}

/// Prefetches the cache line at `p`, which may be any address, into the first-level cache.
#[inline(always)]
pub(crate) fn prefetch_to_l1(p: *const u64) {
    // SAFETY: prefetching never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
}

/// Prefetches the cache line at `p`, which may be any address, into the second-level cache.
#[inline(always)]
pub(crate) fn prefetch(p: *const u64) {
    // SAFETY: prefetching never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
}

/// Returns `x` in every lane.
#[inline(always)]
pub(crate) fn set1(x: u64) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_set1_epi64(x as i64) }
}

/// Returns `x` in each of sixteen lanes of 32 bits.
#[inline(always)]
pub(crate) fn set1_32(x: u32) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_set1_epi32(x as i32) }
}

/// Adds sixteen lanes of 32 bits, modulo `2^32`.
#[inline(always)]
pub(crate) fn add32(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_add_epi32(a, b) }
}

/// Returns the bitwise exclusive or.
#[inline(always)]
pub(crate) fn xor(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_xor_si512(a, b) }
}

/// Rotates sixteen lanes of 32 bits to the left.
#[inline(always)]
pub(crate) fn rotate32<const BITS: i32>(x: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_rol_epi32::<BITS>(x) }
}

/// Joins lanes of 32 bits of `low` and `high` to lanes of 64 bits. The first result has the lanes
/// 0, 1, 4, 5, 8, 9, 12 and 13, and the second one the others.
#[inline(always)]
pub(crate) fn join32(low: V, high: V) -> [V; 2] {
    // SAFETY: see the module contract.
    unsafe { [_mm512_unpacklo_epi32(low, high), _mm512_unpackhi_epi32(low, high)] }
}

/// Returns zero in every lane.
#[inline(always)]
pub(crate) fn zero() -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_setzero_si512() }
}

/// Returns `a + b mod 2^64`.
#[inline(always)]
pub(crate) fn add(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_add_epi64(a, b) }
}

/// Returns `a - b mod 2^64`.
#[inline(always)]
pub(crate) fn sub(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_sub_epi64(a, b) }
}

/// Returns the minimum of the unsigned `a` and `b`.
#[inline(always)]
pub(crate) fn minu(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_min_epu64(a, b) }
}

/// Returns the maximum of the unsigned `a` and `b`.
#[inline(always)]
pub(crate) fn maxu(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_max_epu64(a, b) }
}

/// Returns the bitwise and.
#[inline(always)]
pub(crate) fn and(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_and_si512(a, b) }
}

/// Returns the bitwise or.
#[inline(always)]
pub(crate) fn or(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_or_si512(a, b) }
}

/// Returns `x >> BITS`, filled with zeros.
#[inline(always)]
pub(crate) fn shr<const BITS: u32>(x: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_srli_epi64::<BITS>(x) }
}

/// Returns `x << BITS mod 2^64`.
#[inline(always)]
pub(crate) fn shl<const BITS: u32>(x: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_slli_epi64::<BITS>(x) }
}

/// Returns `c + (a b mod 2^52)`, where only the low 52 bits of `a` and `b` count. Needs
/// `avx512ifma`.
#[inline(always)]
pub(crate) fn madd52lo(c: V, a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_madd52lo_epu64(c, a, b) }
}

/// Returns `c + floor(a b / 2^52)`, where only the low 52 bits of `a` and `b` count. Needs
/// `avx512ifma`.
#[inline(always)]
pub(crate) fn madd52hi(c: V, a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_madd52hi_epu64(c, a, b) }
}

/// Returns `x << bits mod 2^64`, where `bits < 64` is only known at run time.
#[inline(always)]
pub(crate) fn shl_by(x: V, bits: u32) -> V {
    // SAFETY: see the module contract.
    // A vector of counts needs one instruction, while a common count needs two on some CPUs.
    unsafe { _mm512_sllv_epi64(x, set1(u64::from(bits))) }
}

/// Reads eight 6-byte little-endian words from 48 bytes at `p`. Needs `avx512vbmi`.
///
/// # Safety
/// `p` is valid for reading 64 bytes.
#[inline(always)]
pub(crate) unsafe fn load_packed_48(p: *const u8) -> V {
    const fn places() -> [i8; 64] {
        let mut places = [0; 64];
        let mut i = 0;
        while i < 64 {
            places[i] = (i / 8 * 6 + if i % 8 < 6 { i % 8 } else { 0 }) as i8;
            i += 1;
        }
        places
    }
    const PLACES: [i8; 64] = places();
    // SAFETY: the caller guarantees `p`; `PLACES` has 64 bytes; module contract.
    unsafe {
        let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
        _mm512_maskz_permutexvar_epi8(0x3f3f_3f3f_3f3f_3f3f, places, _mm512_loadu_si512(p.cast()))
    }
}

/// Writes eight words below `2^48` as 6-byte little-endian words to 48 bytes at `p`. Needs
/// `avx512vbmi`.
///
/// # Safety
/// `p` is valid for writing 48 bytes.
#[inline(always)]
pub(crate) unsafe fn store_packed_48(p: *mut u8, x: V) {
    const fn places() -> [i8; 64] {
        let mut places = [0; 64];
        let mut i = 0;
        while i < 48 {
            places[i] = (i / 6 * 8 + i % 6) as i8;
            i += 1;
        }
        places
    }
    const PLACES: [i8; 64] = places();
    // SAFETY: the mask writes 48 bytes, which the caller guarantees, and `PLACES` has 64 bytes.
    // Module contract.
    unsafe {
        let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
        _mm512_mask_storeu_epi64(p.cast(), 0x3f, _mm512_permutexvar_epi8(places, x));
    }
}

/// Returns the product of the low halves (32 bits) of `a` and `b`.
///
/// It uses assembly, because the intrinsic is compiled as a product of masked words. If one operand
/// does not change in a loop, the compiler moves its mask out of the loop. Then it no longer
/// recognises a 32-bit product, and chooses the slow 64-bit one.
#[inline(always)]
pub(crate) fn mul32(a: V, b: V) -> V {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn vpmuludq(a: V, b: V) -> V {
        let product;
        // SAFETY: one register-only instruction of avx512f.
        unsafe {
            std::arch::asm!(
                "vpmuludq {product}, {a}, {b}",
                product = lateout(zmm_reg) product,
                a = in(zmm_reg) a,
                b = in(zmm_reg) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        product
    }
    // SAFETY: see the module contract.
    unsafe { vpmuludq(a, b) }
}

/// Returns `a b mod 2^64`.
#[inline(always)]
pub(crate) fn mullo64(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm512_mullo_epi64(a, b) }
}

/// Returns `floor(a b / 2^64)`, exactly.
#[inline(always)]
pub(crate) fn mulhi64(a: V, b: V) -> V {
    let low = set1(u64::from(u32::MAX));
    let (a1, b1) = (shr::<32>(a), shr::<32>(b));
    let (ll, lh, hl, hh) = (mul32(a, b), mul32(a, b1), mul32(a1, b), mul32(a1, b1));
    let middle = add(add(shr::<32>(ll), and(lh, low)), and(hl, low));
    add(add(hh, shr::<32>(lh)), add(shr::<32>(hl), shr::<32>(middle)))
}

/// Returns an integer in `(a b / 2^64 - 3, a b / 2^64]`. It costs a quarter less than [`mulhi64`].
#[inline(always)]
pub(crate) fn mulhi64_approximate(a: V, b: V) -> V {
    let (a1, b1) = (shr::<32>(a), shr::<32>(b));
    add(mul32(a1, b1), add(shr::<32>(mul32(a, b1)), shr::<32>(mul32(a1, b))))
}

/// Returns `x - c` if `x >= c`, and `x` otherwise, for `c <= 2^63`.
///
/// For `x` in `[0, 2c)` the result is in `[0, c)`.
#[inline(always)]
pub(crate) fn red(x: V, c: V) -> V {
    minu(x, sub(x, c))
}

/// Reduces `2^52 hi + lo` (Montgomery).
///
/// The result is congruent to `(2^52 hi + lo) 2^-52` and between `hi' - q` and `hi'`, where
/// `hi' = hi + floor(lo / 2^52)`. `lo` is any word, so sums of low products need no carry before.
/// Sums that start with `hi = q` give a positive result. `q_inverse = q^-1 mod 2^52`, and
/// `q < 2^52`. Needs `avx512ifma`.
#[inline(always)]
pub(crate) fn redc52(hi: V, lo: V, q: V, q_inverse: V) -> V {
    let m = madd52lo(zero(), lo, q_inverse);
    sub(add(hi, shr::<52>(lo)), madd52hi(zero(), m, q))
}

/// Returns the transpose of an 8 x 8 matrix with one row per vector.
#[inline(always)]
pub(crate) fn transpose(r: [V; 8]) -> [V; 8] {
    // SAFETY: see the module contract.
    unsafe {
        // Pairs of rows are interleaved, with even columns in `e` and odd columns in `o`.
        let e0 = _mm512_unpacklo_epi64(r[0], r[1]);
        let o0 = _mm512_unpackhi_epi64(r[0], r[1]);
        let e1 = _mm512_unpacklo_epi64(r[2], r[3]);
        let o1 = _mm512_unpackhi_epi64(r[2], r[3]);
        let e2 = _mm512_unpacklo_epi64(r[4], r[5]);
        let o2 = _mm512_unpackhi_epi64(r[4], r[5]);
        let e3 = _mm512_unpacklo_epi64(r[6], r[7]);
        let o3 = _mm512_unpackhi_epi64(r[6], r[7]);
        // These hold four rows each, of the columns (0, 4), (2, 6), (1, 5) and (3, 7).
        let c04 = _mm512_shuffle_i64x2::<0x88>(e0, e1);
        let c26 = _mm512_shuffle_i64x2::<0xdd>(e0, e1);
        let c15 = _mm512_shuffle_i64x2::<0x88>(o0, o1);
        let c37 = _mm512_shuffle_i64x2::<0xdd>(o0, o1);
        let d04 = _mm512_shuffle_i64x2::<0x88>(e2, e3);
        let d26 = _mm512_shuffle_i64x2::<0xdd>(e2, e3);
        let d15 = _mm512_shuffle_i64x2::<0x88>(o2, o3);
        let d37 = _mm512_shuffle_i64x2::<0xdd>(o2, o3);
        [
            _mm512_shuffle_i64x2::<0x88>(c04, d04),
            _mm512_shuffle_i64x2::<0x88>(c15, d15),
            _mm512_shuffle_i64x2::<0x88>(c26, d26),
            _mm512_shuffle_i64x2::<0x88>(c37, d37),
            _mm512_shuffle_i64x2::<0xdd>(c04, d04),
            _mm512_shuffle_i64x2::<0xdd>(c15, d15),
            _mm512_shuffle_i64x2::<0xdd>(c26, d26),
            _mm512_shuffle_i64x2::<0xdd>(c37, d37),
        ]
    }
}

/// Keeps the order of work: computations on `x` and `y`, and loads through `t`, stay before or
/// after this call.
///
/// Otherwise the compiler separates kernels that process two blocks side by side to hide latencies.
#[inline(always)]
pub(crate) fn in_step<'a, T>(x: &mut [V; 8], y: &mut [V; 8], t: &'a T) -> &'a T {
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(clippy::pointers_in_nomem_asm_block, reason = "the pointer is not followed")]
    fn pass_through<'a, T>(x: &mut [V; 8], y: &mut [V; 8], t: &'a T) -> &'a T {
        let ([x0, x1, x2, x3, x4, x5, x6, x7], [y0, y1, y2, y3, y4, y5, y6, y7]) = (x, y);
        let mut p = std::ptr::from_ref(t);
        // SAFETY: no instruction at all.
        unsafe {
            std::arch::asm!(
                "/* {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} */",
                inout(zmm_reg) *x0,
                inout(zmm_reg) *x1,
                inout(zmm_reg) *x2,
                inout(zmm_reg) *x3,
                inout(zmm_reg) *x4,
                inout(zmm_reg) *x5,
                inout(zmm_reg) *x6,
                inout(zmm_reg) *x7,
                inout(zmm_reg) *y0,
                inout(zmm_reg) *y1,
                inout(zmm_reg) *y2,
                inout(zmm_reg) *y3,
                inout(zmm_reg) *y4,
                inout(zmm_reg) *y5,
                inout(zmm_reg) *y6,
                inout(zmm_reg) *y7,
                inout(reg) p,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        // SAFETY: `p` is `t`, unchanged.
        unsafe { &*p }
    }
    // SAFETY: see the module contract.
    unsafe { pass_through(x, y, t) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;

    #[test]
    fn inverses() {
        for q in [3u64, 65537, (1 << 48) - 59, (1 << 61) - 1, u64::MAX] {
            assert_eq!(inv64(q).wrapping_mul(q), 1);
            assert_eq!(inv52(q).wrapping_mul(q) & ((1 << 52) - 1), 1);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    fn run_64(a: &[u64; 64], b: &[u64; 8]) -> ([u64; 8], [u64; 64]) {
        let (mut high, mut transposed) = ([0; 8], [0; 64]);
        // SAFETY: each pointer has eight words before the end of its array.
        unsafe {
            store(high.as_mut_ptr(), mulhi64(load(a.as_ptr()), load(b.as_ptr())));
            let rows = std::array::from_fn(|i| load(a.as_ptr().add(8 * i)));
            for (i, column) in transpose(rows).into_iter().enumerate() {
                store(transposed.as_mut_ptr().add(8 * i), column);
            }
        }
        (high, transposed)
    }

    #[test]
    fn high_product_and_transpose() {
        if !Kernel::Avx512.is_supported() {
            return;
        }
        let mix = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut a: [u64; 64] = std::array::from_fn(|i| mix(i as u64));
        let mut b: [u64; 8] = std::array::from_fn(|i| mix(100 + i as u64));
        (a[0], b[0]) = (u64::MAX, u64::MAX);
        (a[1], b[1]) = (u64::MAX, 1 << 32);
        // SAFETY: the features were checked above.
        let (high, transposed) = unsafe { run_64(&a, &b) };
        for i in 0..8 {
            assert_eq!(high[i], ((u128::from(a[i]) * u128::from(b[i])) >> 64) as u64);
        }
        for r in 0..8 {
            for c in 0..8 {
                assert_eq!(transposed[8 * c + r], a[8 * r + c]);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma")]
    fn run_redc52(a: u64, b: u64, q: u64) -> u64 {
        let (q_, a, b) = (set1(q), set1(a), set1(b));
        let mut out = [0; 8];
        let r = redc52(madd52hi(q_, a, b), madd52lo(zero(), a, b), q_, set1(inv52(q)));
        // SAFETY: `out` has eight words.
        unsafe { store(out.as_mut_ptr(), red(r, q_)) };
        out[3]
    }

    #[test]
    fn montgomery_reduction() {
        if !Kernel::Avx512Ifma.is_supported() {
            return;
        }
        use crate::arith::{mul_mod, pow_mod};
        for q in [65537, (1 << 48) - 59, (1 << 50) - 27] {
            for (a, b) in [(q - 1, q - 1), (0, 5), (q / 3, q / 7), (q - 1, 1)] {
                // SAFETY: the features were checked above.
                let r = unsafe { run_redc52(a, b, q) };
                assert!(r < q);
                assert_eq!(mul_mod(r, pow_mod(2, 52, q), q), mul_mod(a, b, q));
            }
        }
    }
}
