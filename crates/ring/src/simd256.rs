//! Arithmetic modulo `q < 2^50` in four lanes of `f64`, which the AVX2 kernels use.
//!
//! Residues are integers in doubles, signed and lazily reduced. A double can hold every integer up
//! to `2^53`. With fused multiply-add, the product of two such integers is known exactly, as a
//! rounded part and its error. So its remainder modulo `q` is known exactly as well.
//!
//! **Contract.** These helpers have no target features, because a function with them cannot be
//! `#[inline(always)]`. They compile to single instructions only inside a caller that has the
//! features. So every kernel consists of `#[inline(always)]` helpers without features, and one
//! outermost function with `#[target_feature(enable = "avx2,fma")]`. It is called only after
//! [`crate::Kernel::is_supported`] has returned true. Nothing here may run otherwise, and every
//! `SAFETY` comment below relies on this.

use std::arch::x86_64::*;

use crate::arith::centred;

/// Four doubles.
pub(crate) type V = __m256d;

/// Four 64-bit integers.
pub(crate) type I = __m256i;

/// `2^52`. Its last place is 1, so the low 52 bits of `2^52 + x` are the integer `x`, for `x` in
/// `[0, 2^52)`.
const UNSIGNED_BIAS: f64 = (1u64 << 52) as f64;

/// `3 2^51`. Adding it to `x` in `[-2^51, 2^51]` rounds `x` to the nearest integer, and leaves that
/// integer in the low bits.
const SIGNED_BIAS: f64 = 3.0 * (1u64 << 51) as f64;

/// Rounds to a multiple of 4 when it is added, as `3 2^51` rounds to an integer.
pub(crate) const ROUND_TO_4: f64 = 3.0 * (1u64 << 53) as f64;

/// Reads four doubles at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for reading 32 bytes.
#[inline(always)]
pub(crate) unsafe fn load(p: *const f64) -> V {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm256_loadu_pd(p) }
}

/// Writes four doubles at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for writing 32 bytes.
#[inline(always)]
pub(crate) unsafe fn store(p: *mut f64, x: V) {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm256_storeu_pd(p, x) }
}

/// Reads four integers at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for reading 32 bytes.
#[inline(always)]
pub(crate) unsafe fn load_integers(p: *const u64) -> I {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// Writes four integers at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for writing 32 bytes.
#[inline(always)]
pub(crate) unsafe fn store_integers(p: *mut u64, x: I) {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe { _mm256_storeu_si256(p.cast(), x) }
}

/// Returns `x` in every lane.
#[inline(always)]
pub(crate) fn set1(x: f64) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_set1_pd(x) }
}

/// Returns `x` in every lane.
#[inline(always)]
pub(crate) fn set1_integer(x: u64) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_set1_epi64x(x as i64) }
}

/// Returns `a + b`.
#[inline(always)]
pub(crate) fn add(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_add_pd(a, b) }
}

/// Returns `a - b`.
#[inline(always)]
pub(crate) fn sub(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_sub_pd(a, b) }
}

/// Returns `a b`, rounded.
#[inline(always)]
pub(crate) fn mul(a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_mul_pd(a, b) }
}

/// Returns `a b + c`, rounded once.
#[inline(always)]
pub(crate) fn mul_add(a: V, b: V, c: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_fmadd_pd(a, b, c) }
}

/// Returns `a b - c`, rounded once.
#[inline(always)]
pub(crate) fn mul_sub(a: V, b: V, c: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_fmsub_pd(a, b, c) }
}

/// Returns `c - a b`, rounded once.
#[inline(always)]
pub(crate) fn sub_mul(c: V, a: V, b: V) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_fnmadd_pd(a, b, c) }
}

/// Returns the integer nearest to `a b`, for `|a b| <= 2^51`, rounded once.
#[inline(always)]
pub(crate) fn round_mul(a: V, b: V) -> V {
    sub(mul_add(a, b, set1(SIGNED_BIAS)), set1(SIGNED_BIAS))
}

/// Returns the integers `x - offset` as doubles, for `x` and `offset` in `[0, 2^52)`.
#[inline(always)]
pub(crate) fn from_integers(x: I, offset: f64) -> V {
    // SAFETY: see the module contract.
    let x = unsafe { _mm256_or_si256(x, as_integers(set1(UNSIGNED_BIAS))) };
    sub(as_doubles(x), set1(UNSIGNED_BIAS + offset))
}

/// Returns `a - b` as doubles, for `a` and `b` in `[0, 2^52)`.
#[inline(always)]
pub(crate) fn difference(a: I, b: I) -> V {
    let bias = as_integers(set1(UNSIGNED_BIAS));
    // SAFETY: see the module contract.
    let (a, b) = unsafe { (_mm256_or_si256(a, bias), _mm256_or_si256(b, bias)) };
    sub(as_doubles(a), as_doubles(b))
}

/// Returns the integer `x + offset`, for an integer `|x| <= 2^51`.
#[inline(always)]
pub(crate) fn to_integers(x: V, offset: u64) -> I {
    let offset = offset.wrapping_sub(SIGNED_BIAS.to_bits());
    add_integers(as_integers(add(x, set1(SIGNED_BIAS))), set1_integer(offset))
}

/// Reads the two doubles at `p`, and then the two at `p + distance`.
///
/// # Safety
/// Both places are valid for reading 16 bytes.
#[inline(always)]
unsafe fn load_halves(p: *const f64, distance: usize) -> V {
    // SAFETY: the caller guarantees the places. See the module contract.
    unsafe {
        _mm256_insertf128_pd::<1>(
            _mm256_castpd128_pd256(_mm_loadu_pd(p)),
            _mm_loadu_pd(p.add(distance)),
        )
    }
}

/// Returns `a + b mod 2^64`.
#[inline(always)]
pub(crate) fn add_integers(a: I, b: I) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_add_epi64(a, b) }
}

/// Returns `a - b mod 2^64`.
#[inline(always)]
pub(crate) fn sub_integers(a: I, b: I) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_sub_epi64(a, b) }
}

/// Returns the bitwise and.
#[inline(always)]
pub(crate) fn and_integers(a: I, b: I) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_and_si256(a, b) }
}

/// Returns `x` where the mask is all ones, and 0 where it is zero.
#[inline(always)]
pub(crate) fn masked(mask: I, x: V) -> V {
    as_doubles(and_integers(mask, as_integers(x)))
}

/// Returns `x >> BITS`, filled with zeros.
#[inline(always)]
pub(crate) fn shift_down<const BITS: i32>(x: I) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_srli_epi64::<BITS>(x) }
}

/// Returns all ones where the signed `a > b`, and zero otherwise.
#[inline(always)]
pub(crate) fn greater_integers(a: I, b: I) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_cmpgt_epi64(a, b) }
}

/// Returns `a` where the signed `x` is negative, and `b` otherwise.
#[inline(always)]
pub(crate) fn where_negative(x: I, a: I, b: I) -> I {
    as_integers(
        // SAFETY: see the module contract.
        unsafe { _mm256_blendv_pd(as_doubles(b), as_doubles(a), as_doubles(x)) },
    )
}

/// Returns the bits of doubles.
#[inline(always)]
pub(crate) fn as_integers(x: V) -> I {
    // SAFETY: see the module contract.
    unsafe { _mm256_castpd_si256(x) }
}

/// Returns the doubles with the bits `x`.
#[inline(always)]
pub(crate) fn as_doubles(x: I) -> V {
    // SAFETY: see the module contract.
    unsafe { _mm256_castsi256_pd(x) }
}

/// Returns the high and the low 32 bits of `x` as doubles, whose sum is `x`.
#[inline(always)]
pub(crate) fn halves(x: I) -> (V, V) {
    // The low bits of 2^84 + 2^32 h hold the integer h.
    let bias = set1((1u128 << 84) as f64);
    // SAFETY: see the module contract.
    let (high, low) = unsafe {
        let high = _mm256_or_si256(_mm256_srli_epi64::<32>(x), as_integers(bias));
        (high, _mm256_blend_epi32::<0b1010_1010>(x, as_integers(set1(UNSIGNED_BIAS))))
    };
    (sub(as_doubles(high), bias), sub(as_doubles(low), set1(UNSIGNED_BIAS)))
}

/// Reads the transpose of the 4 x 4 matrix whose rows start at `p`, `p + stride`, `p + 2 stride`
/// and `p + 3 stride`.
///
/// # Safety
/// The four rows are valid for reading 32 bytes each.
#[inline(always)]
pub(crate) unsafe fn load_transposed(p: *const f64, stride: usize) -> [V; 4] {
    // SAFETY: the caller guarantees `p`. See the module contract.
    unsafe {
        // Halves of row i and row i + 2 share a vector, so the remaining shuffles stay within 128
        // bits.
        let (a, b) = (load_halves(p, 2 * stride), load_halves(p.add(stride), 2 * stride));
        let (c, d) =
            (load_halves(p.add(2), 2 * stride), load_halves(p.add(stride + 2), 2 * stride));
        [
            _mm256_unpacklo_pd(a, b),
            _mm256_unpackhi_pd(a, b),
            _mm256_unpacklo_pd(c, d),
            _mm256_unpackhi_pd(c, d),
        ]
    }
}

/// A constant factor `|w| <= q/2` with the rounded `w/q`.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    value: V,
    quotient: V,
}

impl Factor {
    /// Returns the same [`Modulus::prepare`]d factor in every lane.
    #[inline(always)]
    pub(crate) fn splat([value, quotient]: [f64; 2]) -> Self {
        Factor { value: set1(value), quotient: set1(quotient) }
    }
}

/// A modulus `q < 2^50`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modulus {
    pub(crate) q: u64,
    value: f64,
    /// `1/q`, rounded.
    inverse: f64,
}

impl Modulus {
    pub(crate) fn new(q: u64) -> Self {
        debug_assert!((3..1 << 50).contains(&q));
        Modulus { q, value: q as f64, inverse: 1.0 / q as f64 }
    }

    /// Prepares the factor `w` in `[0, q)`.
    #[inline(always)]
    pub(crate) fn prepare(self, w: u64) -> [f64; 2] {
        let w = centred(w, self.q) as f64;
        [w, w / self.value]
    }

    /// Prepares a factor from its value only.
    ///
    /// Its quotient has an error of at most `2^-53`, while that of [`Modulus::prepare`] has an
    /// error of at most `2^-55`.
    #[inline(always)]
    pub(crate) fn factor(self, value: V) -> Factor {
        Factor { value, quotient: mul(value, set1(self.inverse)) }
    }

    /// Returns an integer `t` congruent to `w y`, for an integer `|y| < 2^52`, with `|t| < (1/2 + e
    /// |y|) q`.
    ///
    /// Here `e` is the error of the factor's quotient. For `|y| <= B q` the bound is
    /// `(1/2 + B/32) q`, or `(1/2 + B/8) q` with [`Modulus::factor`].
    ///
    /// Proof: `c` is the integer nearest to `y (w/q + e)`, which is at most `2^51`. So
    /// `|w y - c q| <= (1/2 + e |y|) q < q`. `low` is the exact error of `high`, at most `2^47`.
    /// Then `high - c q = (w y - c q) - low` is an integer below `2^51`, so it and its sum with
    /// `low` are exact.
    #[inline(always)]
    pub(crate) fn mul_factor(self, y: V, w: Factor) -> V {
        let high = mul(y, w.value);
        let c = round_mul(y, w.quotient);
        let low = mul_sub(y, w.value, high);
        add(sub_mul(high, c, set1(self.value)), low)
    }

    /// Returns the remainder of an integer `|x| <= 2^53` that is nearest to zero.
    ///
    /// It is at most `(q + 1)/2`, because the error of the rounded `1/q` is less than `2^-53 / q`.
    /// `x` may also be a larger number that a double holds, as long as `|x| <= 2^51 q`. Then the
    /// result is within `3q/4`.
    #[inline(always)]
    pub(crate) fn reduce(self, x: V) -> V {
        self.subtract_quotient(x, SIGNED_BIAS)
    }

    /// Returns `x - c q` for the multiple `c` of `2^i` nearest to `x/q`, where `rounding` is
    /// `3 2^(51 + i)`.
    ///
    /// The result is exact for `|x| <= 2^(51 + i) q`.
    #[inline(always)]
    pub(crate) fn subtract_quotient(self, x: V, rounding: f64) -> V {
        let c = sub(mul_add(x, set1(self.inverse), set1(rounding)), set1(rounding));
        sub_mul(x, c, set1(self.value))
    }

    /// Returns an integer congruent to `a b`, within `3q/4`, for `a` and `b` in `[0, q)`.
    ///
    /// Proof: the same as for [`Modulus::mul_factor`], but the quotient is that of the rounded
    /// `high` by the rounded `1/q`. So the error of `c` is at most `1/2 + 2 a b / q 2^-53 < 3/4`.
    #[inline(always)]
    pub(crate) fn mul(self, a: V, b: V) -> V {
        let high = mul(a, b);
        let c = round_mul(high, set1(self.inverse));
        let low = mul_sub(a, b, high);
        add(sub_mul(high, c, set1(self.value)), low)
    }

    /// Returns an integer congruent to `c + a b`, within `7q/8 + 1`, for `a` and `b` in `[0, q)`
    /// and `c` in `[-q, q]`.
    ///
    /// Proof: the same as for [`Modulus::mul`], with one more rounding, and `|a b + c| < q^2`.
    #[inline(always)]
    pub(crate) fn mul_add(self, c: V, a: V, b: V) -> V {
        let high = mul(a, b);
        let quotient = round_mul(add(high, c), set1(self.inverse));
        let low = mul_sub(a, b, high);
        add(sub_mul(high, quotient, set1(self.value)), add(low, c))
    }

    /// Returns the residue in `[0, q)` of an integer in `(-q, q)`.
    #[inline(always)]
    pub(crate) fn to_canonical(self, x: V) -> I {
        let x = to_integers(x, 0);
        where_negative(x, add_integers(x, set1_integer(self.q)), x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, primes::ntt_primes};

    /// Applies `f` to `a` and `b` in every lane, and returns one lane of the result.
    #[target_feature(enable = "avx2,fma")]
    fn each(f: fn(Modulus, V, V) -> V, q: u64, a: f64, b: f64) -> f64 {
        let mut out = [0.0; 4];
        // SAFETY: `out` has four elements.
        unsafe { store(out.as_mut_ptr(), f(Modulus::new(q), set1(a), set1(b))) };
        out[3]
    }

    /// Returns integers around the ends and the middle of `[-bound, bound]`.
    fn around(bound: i64) -> Vec<i64> {
        let mut values: Vec<i64> = [0, bound / 3, bound / 2, bound]
            .into_iter()
            .flat_map(|x| (x - 3).max(0)..=(x + 3).min(bound))
            .collect();
        values.extend(values.clone().into_iter().map(|x| -x));
        values
    }

    #[test]
    fn products_are_exact_and_bounded() {
        if !Kernel::Avx2.is_supported() {
            return;
        }
        for q in
            [17, ntt_primes(40, 256, 1, &[]).unwrap()[0], ntt_primes(50, 256, 1, &[]).unwrap()[0]]
        {
            for w in around(q as i64 / 2) {
                for y in around((1 << 52) - 1) {
                    let divided: fn(Modulus, V, V) -> V = |m, y, w| {
                        let quotient = {
                            // SAFETY: see the module contract.
                            unsafe { _mm256_div_pd(w, set1(m.value)) }
                        };
                        m.mul_factor(y, Factor { value: w, quotient })
                    };
                    for (multiply, e) in [
                        (divided, (-55f64).exp2()),
                        (|m: Modulus, y: V, w: V| m.mul_factor(y, m.factor(w)), (-53f64).exp2()),
                    ] {
                        // SAFETY: AVX2 and FMA are supported.
                        let t = unsafe { each(multiply, q, y as f64, w as f64) };
                        let exact = i128::from(y) * i128::from(w);
                        assert_eq!(
                            (exact - t as i128) % i128::from(q),
                            0,
                            "{y} * {w} mod {q} is not {t}"
                        );
                        assert!(
                            t.abs() <= (0.5 + e * y.abs() as f64) * q as f64,
                            "{y} * {w} mod {q} gives {t}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn remainders_are_nearest_and_canonical() {
        if !Kernel::Avx2.is_supported() {
            return;
        }
        for q in [17, ntt_primes(50, 256, 1, &[]).unwrap()[0]] {
            for x in around(1 << 53) {
                // SAFETY: AVX2 and FMA are supported.
                let r = unsafe { each(|m, x, _| m.reduce(x), q, x as f64, 0.0) };
                assert!(
                    (i128::from(x) - r as i128) % i128::from(q) == 0
                        && r.abs() <= (q + 1) as f64 / 2.0
                );
            }
        }
    }
}
