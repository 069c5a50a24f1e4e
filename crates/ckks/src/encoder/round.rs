//! Loops over `f64` that are compiled once for each instruction set.

use hippocrene_ring::Kernel;

/// Defines `fn name(kernel, arguments)`, which runs the body as compiled for that kernel.
macro_rules! per_kernel {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        pub(super) fn $name(kernel: Kernel, $($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn portable($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) $(-> $result)? {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn avx512($($arg: $type),*) $(-> $result)? {
                portable($($arg),*)
            }

            match kernel {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a `Kernel` above `Portable` is chosen only where the CPU supports it.
                Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Kernel::Avx2 => unsafe { avx2($($arg),*) },
                _ => portable($($arg),*),
            }
        }
    };
}

per_kernel! {
    /// The largest absolute value, or 0 for an empty slice. It is infinity or NaN if there is one
    /// among the values.
    fn largest(values: &[f64]) -> f64 {
        // Without the sign, the bits of `f64` have the order of the numbers, with infinity and NaN
        // above all.
        let largest = values.iter().fold(0, |most, x| most.max(x.to_bits() & (u64::MAX >> 1)));
        f64::from_bits(largest)
    }
}

per_kernel! {
    /// Computes `out = values * factor`, rounded to nearest, ties to even, for products up to 2^62.
    fn round(out: &mut [i64], values: &[f64], factor: f64) {
        for (out, x) in out.iter_mut().zip(values) {
            *out = nearest(x * factor);
        }
    }
}

per_kernel! {
    /// Computes `out = values * factor`, rounded by [`dithered`], for products up to 2^62. The
    /// first value is coefficient `first`.
    fn dither(out: &mut [i64], values: &[f64], factor: f64, first: u64) {
        for ((out, x), index) in out.iter_mut().zip(values).zip(first..) {
            *out = dithered(x * factor, index);
        }
    }
}

per_kernel! {
    /// Computes `out = (digits - half) * weight`.
    fn weigh(out: &mut [f64], digits: &[u64], half: u64, weight: f64) {
        for (out, digit) in out.iter_mut().zip(digits) {
            *out = digit.wrapping_sub(half) as i64 as f64 * weight;
        }
    }
}

per_kernel! {
    /// Computes `out = out + (digits - half) * weight`.
    fn weigh_add(out: &mut [f64], digits: &[u64], half: u64, weight: f64) {
        for (out, digit) in out.iter_mut().zip(digits) {
            *out += digit.wrapping_sub(half) as i64 as f64 * weight;
        }
    }
}

per_kernel! {
    /// Whether every number is `expected`.
    fn all_are(numbers: &[u64], expected: u64) -> bool {
        numbers.iter().fold(0, |differ, x| differ | (x ^ expected)) == 0
    }
}

/// Rounds `x` to nearest, ties to even, for `|x| <= 2^62`. It uses additions only, because
/// conversions are slow without AVX-512.
#[inline(always)]
pub(super) fn nearest(x: f64) -> i64 {
    // The magic number is 2^52 + 2^51. Its neighbours within 2^51 have a distance of 1, so adding
    // it rounds, and the low bits of the representation then hold the integer.
    const MAGIC: f64 = (3u64 << 51) as f64;
    const TWO_32: f64 = (1u64 << 32) as f64;
    let integer = |rounded: f64| rounded.to_bits().wrapping_sub(MAGIC.to_bits()) as i64;
    let high = x * (1.0 / TWO_32) + MAGIC;
    // The remainder modulo 2^32 is exact and below 2^32.
    let low = (x - (high - MAGIC) * TWO_32) + MAGIC;
    (integer(high) << 32) + integer(low)
}

/// Returns the dither of coefficient `index`: 32 bits that look random.
#[inline(always)]
pub(super) fn dither_bits(index: u64) -> u32 {
    // The finaliser of SplitMix64.
    let x = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 32) as u32
}

/// Rounds `x` down or up, as coefficient `index` of a plaintext: see [`super::Rounding::Dithered`].
/// Integers do not change.
#[inline(always)]
pub(super) fn dithered(x: f64, index: u64) -> i64 {
    // In (-1/2, 1/2).
    nearest(x + (f64::from(dither_bits(index)) + 0.5) * 2f64.powi(-32) - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn kernels_agree_with_the_library(
            values in prop::collection::vec(
                prop_oneof![
                    -1e18f64..1e18,
                    Just(2f64.powi(63)),
                    Just(-2f64.powi(63)),
                    -1e3f64..1e3,
                    -1e16f64..1e16
                ],
                1..40,
            ),
            halves in -1000i32..1000,
            half in 0u64..1 << 60,
        ) {
            let mut values = values;
            values.push(f64::from(halves) / 2.0);
            let expected: Vec<i64> =
                values.iter().map(|x| (x * 0.5).round_ties_even() as i64).collect();
            let most = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let digits: Vec<u64> = expected.iter().map(|x| (x / 8 + (1 << 60)) as u64).collect();
            let weighed: Vec<f64> =
                digits.iter().map(|&x| (x as i64 - half as i64) as f64 * 0.7).collect();
            let twice: Vec<f64> = weighed.iter().map(|x| x + x).collect();
            for kernel in Kernel::supported() {
                let mut out = vec![0; values.len()];
                round(kernel, &mut out, &values, 0.5);
                prop_assert_eq!(&out, &expected);
                prop_assert_eq!(largest(kernel, &values), most);
                dither(kernel, &mut out, &values, 0.5, 7);
                let dithered: Vec<i64> =
                    values.iter().zip(7..).map(|(x, k)| dithered(x * 0.5, k)).collect();
                prop_assert_eq!(&out, &dithered);
                let mut out = vec![0.0; values.len()];
                weigh(kernel, &mut out, &digits, half, 0.7);
                prop_assert_eq!(&out, &weighed);
                weigh_add(kernel, &mut out, &digits, half, 0.7);
                prop_assert_eq!(&out, &twice);
                let mut same = vec![half; values.len()];
                prop_assert!(all_are(kernel, &same, half));
                same[values.len() - 1] += 1;
                prop_assert!(!all_are(kernel, &same, half));
            }
        }
    }

    #[test]
    fn dithers_round_up_as_often_as_the_fraction_says() {
        for x in [0.0, 0.001, 0.25, 0.5, 0.9, 3.0, -0.001, -2.3, 1e6 + 0.125] {
            let rounded = || (0..1 << 16).map(|k| dithered(x, k) as f64);
            assert!(rounded().all(|r| (r - x).abs() < 1.0), "{x}");
            let mean = rounded().sum::<f64>() / 65536.0;
            let fraction = x - x.floor();
            assert!(
                (mean - x).abs() <= 5.0 * (fraction * (1.0 - fraction) / 65536.0).sqrt() + 1e-9,
                "{x}: {mean}"
            );
        }
    }

    #[test]
    fn not_finite_is_largest() {
        for kernel in Kernel::supported() {
            assert_eq!(largest(kernel, &[]), 0.0);
            assert!(largest(kernel, &[1.0, -f64::NAN, 3.0, f64::INFINITY]).is_nan());
            assert_eq!(largest(kernel, &[1.0, f64::NEG_INFINITY, 3.0]), f64::INFINITY);
        }
    }
}
