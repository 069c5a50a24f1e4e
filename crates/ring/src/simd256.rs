//! Arithmetic modulo `q < 2^50` in four lanes of `f64`: the vocabulary of the AVX2 kernels.
//!
//! Residues are integers held in doubles, signed and lazily reduced. A double holds every integer
//! up to `2^53`; with fused multiply-add the product of two such integers is known exactly, as a
//! rounded part and its error, and so is its remainder modulo `q`.
//!
//! **Contract.** These helpers carry no target feature of their own, because a function with one
//! cannot be `#[inline(always)]`; they compile to single instructions only inside a caller that has
//! the features. So every kernel consists of `#[inline(always)]` helpers without features, and one
//! outermost function with `#[target_feature(enable = "avx2,fma")]`, which is entered only when
//! [`crate::Kernel::is_supported`] has said yes. Nothing here may run otherwise: that is what every
//! `SAFETY` line below rests on.

use std::arch::x86_64::*;

use crate::arith::centred;

/// Four doubles.
pub(crate) type V = __m256d;

/// Four 64-bit integers.
pub(crate) type I = __m256i;

/// `2^52`: as its last place is 1, the low 52 bits of `2^52 + x` are the integer `x`, for `x` in
/// `[0, 2^52)`.
const UNSIGNED: f64 = (1u64 << 52) as f64;

/// `3 2^51`: adding it to `x` in `[-2^51, 2^51]` rounds `x` to the nearest integer, and leaves that
/// integer in the low bits.
const SIGNED: f64 = 3.0 * (1u64 << 51) as f64;

/// Rounds to a multiple of 4, as `3 2^51` rounds to an integer.
pub(crate) const ROUND_TO_4: f64 = 3.0 * (1u64 << 53) as f64;

/// The four doubles at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for reading 32 bytes.
#[inline(always)]
pub(crate) unsafe fn load(p: *const f64) -> V {
    // SAFETY: the caller vouches for `p`; module contract.
    unsafe { _mm256_loadu_pd(p) }
}

/// Stores four doubles at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for writing 32 bytes.
#[inline(always)]
pub(crate) unsafe fn store(p: *mut f64, x: V) {
    // SAFETY: the caller vouches for `p`; module contract.
    unsafe { _mm256_storeu_pd(p, x) }
}

/// The four integers at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for reading 32 bytes.
#[inline(always)]
pub(crate) unsafe fn load_integers(p: *const u64) -> I {
    // SAFETY: the caller vouches for `p`; module contract.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// Stores four integers at `p`, which needs no alignment.
///
/// # Safety
/// `p` is valid for writing 32 bytes.
#[inline(always)]
pub(crate) unsafe fn store_integers(p: *mut u64, x: I) {
    // SAFETY: the caller vouches for `p`; module contract.
    unsafe { _mm256_storeu_si256(p.cast(), x) }
}

/// `x` in every lane.
#[inline(always)]
pub(crate) fn set1(x: f64) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_set1_pd(x) }
}

/// `x` in every lane.
#[inline(always)]
pub(crate) fn set1_integer(x: u64) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_set1_epi64x(x as i64) }
}

/// `a + b`.
#[inline(always)]
pub(crate) fn add(a: V, b: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_add_pd(a, b) }
}

/// `a - b`.
#[inline(always)]
pub(crate) fn sub(a: V, b: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_sub_pd(a, b) }
}

/// `a b`, rounded.
#[inline(always)]
pub(crate) fn mul(a: V, b: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_mul_pd(a, b) }
}

/// `a b + c`, rounded once.
#[inline(always)]
pub(crate) fn mul_add(a: V, b: V, c: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_fmadd_pd(a, b, c) }
}

/// `a b - c`, rounded once.
#[inline(always)]
pub(crate) fn mul_sub(a: V, b: V, c: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_fmsub_pd(a, b, c) }
}

/// `c - a b`, rounded once.
#[inline(always)]
pub(crate) fn sub_mul(c: V, a: V, b: V) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_fnmadd_pd(a, b, c) }
}

/// The integer nearest to `a b`, for `|a b| <= 2^51`; rounded once.
#[inline(always)]
pub(crate) fn round_mul(a: V, b: V) -> V {
    sub(mul_add(a, b, set1(SIGNED)), set1(SIGNED))
}

/// The integers `x - offset` as doubles, for `x` and `offset` in `[0, 2^52)`.
#[inline(always)]
pub(crate) fn from_integers(x: I, offset: f64) -> V {
    // SAFETY: module contract.
    let x = unsafe { _mm256_or_si256(x, as_integers(set1(UNSIGNED))) };
    sub(as_doubles(x), set1(UNSIGNED + offset))
}

/// `a - b` as doubles, for `a` and `b` in `[0, 2^52)`.
#[inline(always)]
pub(crate) fn difference(a: I, b: I) -> V {
    let bias = as_integers(set1(UNSIGNED));
    // SAFETY: module contract.
    let (a, b) = unsafe { (_mm256_or_si256(a, bias), _mm256_or_si256(b, bias)) };
    sub(as_doubles(a), as_doubles(b))
}

/// The integer `x + offset`, for an integer `|x| <= 2^51`.
#[inline(always)]
pub(crate) fn to_integers(x: V, offset: u64) -> I {
    let offset = offset.wrapping_sub(SIGNED.to_bits());
    add_integers(as_integers(add(x, set1(SIGNED))), set1_integer(offset))
}

/// The two doubles at `p`, then the two at `p + distance`.
///
/// # Safety
/// Both places are valid for reading 16 bytes.
#[inline(always)]
unsafe fn load_halves(p: *const f64, distance: usize) -> V {
    // SAFETY: the caller vouches for the places; module contract.
    unsafe {
        _mm256_insertf128_pd::<1>(
            _mm256_castpd128_pd256(_mm_loadu_pd(p)),
            _mm_loadu_pd(p.add(distance)),
        )
    }
}

/// `a + b mod 2^64`.
#[inline(always)]
pub(crate) fn add_integers(a: I, b: I) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_add_epi64(a, b) }
}

/// `a - b mod 2^64`.
#[inline(always)]
pub(crate) fn sub_integers(a: I, b: I) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_sub_epi64(a, b) }
}

/// Bitwise and.
#[inline(always)]
pub(crate) fn and_integers(a: I, b: I) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_and_si256(a, b) }
}

/// `x` where the mask is all ones, 0 where it is zero.
#[inline(always)]
pub(crate) fn masked(mask: I, x: V) -> V {
    as_doubles(and_integers(mask, as_integers(x)))
}

/// `x >> BITS`, filling with zeros.
#[inline(always)]
pub(crate) fn shift_down<const BITS: i32>(x: I) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_srli_epi64::<BITS>(x) }
}

/// All ones where `a > b`, both signed, else zero.
#[inline(always)]
pub(crate) fn greater_integers(a: I, b: I) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_cmpgt_epi64(a, b) }
}

/// `a` where the signed `x` is negative, else `b`.
#[inline(always)]
pub(crate) fn where_negative(x: I, a: I, b: I) -> I {
    as_integers(
        // SAFETY: module contract.
        unsafe { _mm256_blendv_pd(as_doubles(b), as_doubles(a), as_doubles(x)) },
    )
}

/// The bits of doubles.
#[inline(always)]
pub(crate) fn as_integers(x: V) -> I {
    // SAFETY: module contract.
    unsafe { _mm256_castpd_si256(x) }
}

/// The doubles of which `x` are the bits.
#[inline(always)]
pub(crate) fn as_doubles(x: I) -> V {
    // SAFETY: module contract.
    unsafe { _mm256_castsi256_pd(x) }
}

/// The high and the low 32 bits of `x` as doubles: their sum is `x`.
#[inline(always)]
pub(crate) fn halves(x: I) -> (V, V) {
    // 2^84 + 2^32 h has the integer h in its low bits.
    let bias = set1((1u128 << 84) as f64);
    // SAFETY: module contract.
    let (high, low) = unsafe {
        let high = _mm256_or_si256(_mm256_srli_epi64::<32>(x), as_integers(bias));
        (high, _mm256_blend_epi32::<0b1010_1010>(x, as_integers(set1(UNSIGNED))))
    };
    (sub(as_doubles(high), bias), sub(as_doubles(low), set1(UNSIGNED)))
}

/// The transpose of the 4 x 4 matrix whose rows start at `p`, `p + stride`, `p + 2 stride` and `p +
/// 3 stride`.
///
/// # Safety
/// The four rows are valid for reading 32 bytes each.
#[inline(always)]
pub(crate) unsafe fn load_transposed(p: *const f64, stride: usize) -> [V; 4] {
    // SAFETY: the caller vouches for `p`; module contract.
    unsafe {
        // Row i beside row i + 2, in halves: the shuffles that are left stay within 128 bits.
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

/// A constant factor `|w| <= q/2` with `w/q`, rounded.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    value: V,
    quotient: V,
}

impl Factor {
    /// The same [`Modulus::prepare`]d factor in every lane.
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

    /// The factor `w` in `[0, q)`.
    #[inline(always)]
    pub(crate) fn prepare(self, w: u64) -> [f64; 2] {
        let w = centred(w, self.q) as f64;
        [w, w / self.value]
    }

    /// A factor from its value only. Its quotient is off by at most `2^-53`, where one that was
    /// divided is off by `2^-55`.
    #[inline(always)]
    pub(crate) fn factor(self, value: V) -> Factor {
        Factor { value, quotient: mul(value, set1(self.inverse)) }
    }

    /// An integer `t` congruent to `w y`, for an integer `|y| < 2^52`, with `|t| < (1/2 + e |y|) q`
    /// where `e` is the error of the factor's quotient: for `|y| <= B q` that is `(1/2 + B/32) q`,
    /// or `(1/2 + B/8) q` with [`Modulus::factor`].
    ///
    /// Proof: `c` is the integer nearest to `y (w/q + e)`, which is at most `2^51`, so `|w y - c q|
    /// <= (1/2 + e |y|) q < q`. `low` is the exact error of `high`, at most `2^47`. `high - c q =
    /// (w y - c q) - low` is then an integer below `2^51`, so it and its sum with `low` are exact.
    #[inline(always)]
    pub(crate) fn mul_factor(self, y: V, w: Factor) -> V {
        let high = mul(y, w.value);
        let c = round_mul(y, w.quotient);
        let low = mul_sub(y, w.value, high);
        add(sub_mul(high, c, set1(self.value)), low)
    }

    /// The remainder of an integer `|x| <= 2^53` that is nearest to zero: at most `(q + 1)/2`, as
    /// the rounded `1/q` is off by less than `2^-53 / q`.
    ///
    /// Also of a larger `x` that a double holds, as long as `|x| <= 2^51 q`: within `3q/4` then.
    #[inline(always)]
    pub(crate) fn reduce(self, x: V) -> V {
        self.subtract_quotient(x, SIGNED)
    }

    /// `x - c q` for the multiple `c` of `2^i` nearest to `x/q`, where `rounding` is `3 2^(51 +
    /// i)`: exact for `|x| <= 2^(51 + i) q`.
    #[inline(always)]
    pub(crate) fn subtract_quotient(self, x: V, rounding: f64) -> V {
        let c = sub(mul_add(x, set1(self.inverse), set1(rounding)), set1(rounding));
        sub_mul(x, c, set1(self.value))
    }

    /// An integer congruent to `a b`, within `3q/4`, for `a` and `b` in `[0, q)`.
    ///
    /// Proof: as that of [`Modulus::mul_factor`], but the quotient is that of the rounded `high` by
    /// the rounded `1/q`, so `c` is off by at most `1/2 + 2 a b / q 2^-53 < 3/4`.
    #[inline(always)]
    pub(crate) fn mul(self, a: V, b: V) -> V {
        let high = mul(a, b);
        let c = round_mul(high, set1(self.inverse));
        let low = mul_sub(a, b, high);
        add(sub_mul(high, c, set1(self.value)), low)
    }

    /// An integer congruent to `c + a b`, within `7q/8 + 1`, for `a` and `b` in `[0, q)` and `c` in
    /// `[-q, q]`.
    ///
    /// Proof: as that of [`Modulus::mul`], with one rounding more; `|a b + c| < q^2`.
    #[inline(always)]
    pub(crate) fn mul_add(self, c: V, a: V, b: V) -> V {
        let high = mul(a, b);
        let quotient = round_mul(add(high, c), set1(self.inverse));
        let low = mul_sub(a, b, high);
        add(sub_mul(high, quotient, set1(self.value)), add(low, c))
    }

    /// The residue in `[0, q)` of an integer in `(-q, q)`.
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

    /// Applies `f` to each pair of elements of `a` and `b` at four at a time and gives back
    /// doubles.
    #[target_feature(enable = "avx2,fma")]
    fn each(f: fn(Modulus, V, V) -> V, q: u64, a: f64, b: f64) -> f64 {
        let mut out = [0.0; 4];
        // SAFETY: `out` has four elements.
        unsafe { store(out.as_mut_ptr(), f(Modulus::new(q), set1(a), set1(b))) };
        out[3]
    }

    /// Integers around the ends and the middle of `[-bound, bound]`.
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
                            // SAFETY: module contract.
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
