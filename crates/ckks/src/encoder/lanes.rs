//! Eight `f64` at a time, in plain Rust or in vector registers.

use std::ops::{Add, Mul, Sub};

/// Eight numbers. Every implementation rounds each operation, so all give the same bits.
pub(super) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Returns the same number eight times.
    fn splat(x: f64) -> Self;
    /// Loads eight numbers.
    fn load(from: &[f64; 8]) -> Self;
    /// Stores eight numbers.
    fn store(self, to: &mut [f64; 8]);
    /// Transposes an 8 x 8 matrix.
    fn transpose(rows: [Self; 8]) -> [Self; 8];
}

/// An implementation for every CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable([f64; 8]);

macro_rules! portable_operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Portable {
            type Output = Self;

            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for (a, b) in self.0.iter_mut().zip(other.0) {
                    *a = a.$method(b);
                }
                self
            }
        }
    };
}

portable_operator!(Add, add);
portable_operator!(Sub, sub);
portable_operator!(Mul, mul);

impl Lanes for Portable {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Portable([x; 8])
    }

    #[inline(always)]
    fn load(from: &[f64; 8]) -> Self {
        Portable(*from)
    }

    #[inline(always)]
    fn store(self, to: &mut [f64; 8]) {
        *to = self.0;
    }

    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        let mut columns = rows;
        for (i, column) in columns.iter_mut().enumerate() {
            for (value, row) in column.0.iter_mut().zip(&rows) {
                *value = row.0[i];
            }
        }
        columns
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

/// Values of these types exist only inside functions that are compiled for AVX2 or AVX-512. These
/// functions run only on CPUs that support them. Every `unsafe` block here relies on that.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Add, Lanes, Mul, Sub};
    use std::arch::x86_64::*;

    /// One register of AVX-512 (F).
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx512(__m512d);

    /// Two registers of AVX.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx2(__m256d, __m256d);

    macro_rules! operator {
        ($trait:ident, $method:ident, $wide:ident, $half:ident) => {
            impl $trait for Avx512 {
                type Output = Self;

                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: see the module.
                    Avx512(unsafe { $wide(self.0, other.0) })
                }
            }

            impl $trait for Avx2 {
                type Output = Self;

                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: see the module.
                    unsafe { Avx2($half(self.0, other.0), $half(self.1, other.1)) }
                }
            }
        };
    }

    operator!(Add, add, _mm512_add_pd, _mm256_add_pd);
    operator!(Sub, sub, _mm512_sub_pd, _mm256_sub_pd);
    operator!(Mul, mul, _mm512_mul_pd, _mm256_mul_pd);

    impl Lanes for Avx512 {
        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: see the module.
            Avx512(unsafe { _mm512_set1_pd(x) })
        }

        #[inline(always)]
        fn load(from: &[f64; 8]) -> Self {
            // SAFETY: see the module; eight numbers are read.
            Avx512(unsafe { _mm512_loadu_pd(from.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, to: &mut [f64; 8]) {
            // SAFETY: see the module; eight numbers are written.
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        fn transpose(r: [Self; 8]) -> [Self; 8] {
            // SAFETY: see the module.
            unsafe {
                // Columns 0, 4, 2, 6 from the even columns of pairs of rows, 1, 5, 3, 7 from the
                // odd ones.
                let [c0, c4, c2, c6] = four_columns(
                    _mm512_unpacklo_pd(r[0].0, r[1].0),
                    _mm512_unpacklo_pd(r[2].0, r[3].0),
                    _mm512_unpacklo_pd(r[4].0, r[5].0),
                    _mm512_unpacklo_pd(r[6].0, r[7].0),
                );
                let [c1, c5, c3, c7] = four_columns(
                    _mm512_unpackhi_pd(r[0].0, r[1].0),
                    _mm512_unpackhi_pd(r[2].0, r[3].0),
                    _mm512_unpackhi_pd(r[4].0, r[5].0),
                    _mm512_unpackhi_pd(r[6].0, r[7].0),
                );
                [c0, c1, c2, c3, c4, c5, c6, c7]
            }
        }
    }

    /// Returns the transpose of a 4 x 4 matrix of pairs, with the rows in the order 0, 2, 1, 3.
    ///
    /// # Safety
    /// The CPU must support AVX-512F.
    #[inline(always)]
    unsafe fn four_columns(a: __m512d, b: __m512d, c: __m512d, d: __m512d) -> [Avx512; 4] {
        // SAFETY: the caller guarantees AVX-512F.
        unsafe {
            let (ab, cd) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0x88>(c, d));
            let (ab2, cd2) =
                (_mm512_shuffle_f64x2::<0xdd>(a, b), _mm512_shuffle_f64x2::<0xdd>(c, d));
            [
                Avx512(_mm512_shuffle_f64x2::<0x88>(ab, cd)),
                Avx512(_mm512_shuffle_f64x2::<0xdd>(ab, cd)),
                Avx512(_mm512_shuffle_f64x2::<0x88>(ab2, cd2)),
                Avx512(_mm512_shuffle_f64x2::<0xdd>(ab2, cd2)),
            ]
        }
    }

    impl Lanes for Avx2 {
        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: see the module.
            unsafe { Avx2(_mm256_set1_pd(x), _mm256_set1_pd(x)) }
        }

        #[inline(always)]
        fn load(from: &[f64; 8]) -> Self {
            // SAFETY: see the module; eight numbers are read.
            unsafe { Avx2(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from[4..].as_ptr())) }
        }

        #[inline(always)]
        fn store(self, to: &mut [f64; 8]) {
            // SAFETY: see the module; eight numbers are written.
            unsafe {
                _mm256_storeu_pd(to.as_mut_ptr(), self.0);
                _mm256_storeu_pd(to[4..].as_mut_ptr(), self.1);
            }
        }

        #[inline(always)]
        fn transpose(r: [Self; 8]) -> [Self; 8] {
            // SAFETY: see the module.
            unsafe {
                let [a0, a1, a2, a3] = transpose4(r[0].0, r[1].0, r[2].0, r[3].0);
                let [b0, b1, b2, b3] = transpose4(r[4].0, r[5].0, r[6].0, r[7].0);
                let [a4, a5, a6, a7] = transpose4(r[0].1, r[1].1, r[2].1, r[3].1);
                let [b4, b5, b6, b7] = transpose4(r[4].1, r[5].1, r[6].1, r[7].1);
                [
                    Avx2(a0, b0),
                    Avx2(a1, b1),
                    Avx2(a2, b2),
                    Avx2(a3, b3),
                    Avx2(a4, b4),
                    Avx2(a5, b5),
                    Avx2(a6, b6),
                    Avx2(a7, b7),
                ]
            }
        }
    }

    /// Returns the transpose of a 4 x 4 matrix.
    ///
    /// # Safety
    /// The CPU must support AVX.
    #[inline(always)]
    unsafe fn transpose4(a: __m256d, b: __m256d, c: __m256d, d: __m256d) -> [__m256d; 4] {
        // SAFETY: the caller guarantees AVX.
        unsafe {
            let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab0, cd0),
                _mm256_permute2f128_pd::<0x20>(ab1, cd1),
                _mm256_permute2f128_pd::<0x31>(ab0, cd0),
                _mm256_permute2f128_pd::<0x31>(ab1, cd1),
            ]
        }
    }
}
