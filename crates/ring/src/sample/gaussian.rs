//! The discrete Gaussian distribution of errors.

use zeroize::Zeroize;

use super::Sampler;
use crate::Kernel;

/// The standard deviation parameter of [`Sampler::gaussian`].
///
/// It is `8 / sqrt(2 pi)` of the Homomorphic Encryption Standard, with the customary rounding.
pub const SIGMA: f64 = 3.19;

/// The high and low 63 bits of `floor(2^126 P(|X| >= k))` for `k = 1, 2, ...`, up to the last that
/// is not zero.
const TAILS: [(u64, u64); 41] = {
    let tails = super::gaussian_table::TAILS;
    let mut halves = [(0, 0); 41];
    let mut k = 0;
    while k < 41 {
        halves[k] = ((tails[k] >> 63) as u64, tails[k] as u64 & LOW_63);
        k += 1;
    }
    halves
};

const LOW_63: u64 = (1 << 63) - 1;

/// The number of values that are drawn side by side.
const LANES: usize = 32;

impl Sampler {
    /// Fills `out` with independent draws `X` from the discrete Gaussian distribution on the
    /// integers.
    ///
    /// `P(X = x)` is proportional to `exp(-x^2 / (2 SIGMA^2))` with the parameter [`SIGMA`].
    ///
    /// The time is constant. A uniform number of 126 bits is compared with every entry of a table
    /// of the tails `P(|X| >= k)`. The number of entries above it is `|X|`, and one more bit is the
    /// sign. The tails are rounded down to multiples of `2^-126`, so `|X|` is at most 41. The
    /// distance from the exact distribution is below `2^-120` per draw.
    pub fn gaussian(&mut self, out: &mut [i64]) {
        let mut high = [0; LANES];
        let mut low = [0; LANES];
        let mut values = [0; LANES];
        for chunk in out.chunks_mut(LANES) {
            self.stream.fill(&mut high[..chunk.len()]);
            self.stream.fill(&mut low[..chunk.len()]);
            invert_with(self.stream.kernel(), &high, &low, &mut values);
            chunk.copy_from_slice(&values[..chunk.len()]);
        }
        high.zeroize();
        low.zeroize();
        values.zeroize();
    }
}

/// Calls [`invert`] with the instructions of a kernel.
fn invert_with(kernel: Kernel, high: &[u64; LANES], low: &[u64; LANES], values: &mut [i64; LANES]) {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Kernel::detect` and the tests check that the CPU supports the kernel.
        Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { invert_avx512(high, low, values) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same as above.
        Kernel::Avx2 => unsafe { invert_avx2(high, low, values) },
        _ => invert(high, low, values),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn invert_avx512(high: &[u64; LANES], low: &[u64; LANES], values: &mut [i64; LANES]) {
    invert(high, low, values);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn invert_avx2(high: &[u64; LANES], low: &[u64; LANES], values: &mut [i64; LANES]) {
    invert(high, low, values);
}

/// Computes the values that belong to uniform numbers.
///
/// The high and low 63 bits of a number are in the low bits of `high` and `low`. The top bit of
/// `high` is the sign.
#[inline(always)]
fn invert(high: &[u64; LANES], low: &[u64; LANES], values: &mut [i64; LANES]) {
    let mut counts = [0u64; LANES];
    for (tail_high, tail_low) in TAILS {
        for ((count, h), l) in counts.iter_mut().zip(high).zip(low) {
            // Both halves are below 2^63, so the top bit of a difference is its borrow.
            let borrow = (l & LOW_63).wrapping_sub(tail_low) >> 63;
            *count += (h & LOW_63).wrapping_sub(tail_high).wrapping_sub(borrow) >> 63;
        }
    }
    for ((value, count), h) in values.iter_mut().zip(counts).zip(high) {
        let negative = -((h >> 63) as i64);
        *value = (count as i64 ^ negative) - negative;
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::sample::Seed;

    /// Computes the table again, with `exp` as a Taylor series in 320-bit fixed point.
    #[test]
    fn table_is_right() {
        let one: BigUint = BigUint::from(1u8) << 320u32;
        // exp(-1 / (2 SIGMA^2)) with SIGMA = 319/100 is exp(-x) with x = 5000/101761. It is the sum
        // of the even terms minus that of the odd terms.
        let (mut term, mut even, mut odd) = (one.clone(), BigUint::ZERO, BigUint::ZERO);
        for i in 1u32..100 {
            if i % 2 == 1 {
                even += &term
            } else {
                odd += &term
            }
            term = term * 5000u32 / (101_761 * i);
        }
        let base = even - odd;
        // rho(k) = base^(k^2)
        let (mut rho, mut step, square) =
            (vec![one.clone()], base.clone(), (&base * &base) >> 320u32);
        for _ in 0..80 {
            let next = (rho.last().unwrap() * &step) >> 320u32;
            rho.push(next);
            step = (step * &square) >> 320u32;
        }
        let tail = |k: usize| rho[k..].iter().sum::<BigUint>() * 2u32;
        let total = tail(1) + one;
        for k in 1..=42 {
            let expected = (tail(k) << 126u32) / &total;
            let (high, low) = TAILS.get(k - 1).copied().unwrap_or_default();
            assert_eq!((BigUint::from(high) << 63u32) + low, expected, "{k}");
        }
    }

    #[test]
    fn inversion_is_exact_at_the_edges() {
        let value = |high: u64, low: u64| {
            let mut all = [0; LANES];
            invert(&[high; LANES], &[low; LANES], &mut all);
            for kernel in Kernel::supported() {
                let mut values = [0; LANES];
                invert_with(kernel, &[high; LANES], &[low; LANES], &mut values);
                assert_eq!(values, all, "{kernel}");
            }
            all[0]
        };
        for (k, &(high, low)) in TAILS.iter().enumerate() {
            let k = k as i64;
            assert_eq!(value(high, low), k);
            let (below_high, below_low) =
                if low == 0 { (high - 1, LOW_63) } else { (high, low - 1) };
            assert_eq!(value(below_high, below_low), k + 1);
            // The top bit of the low half has no effect. That of the high half is the sign.
            assert_eq!(value(below_high | 1 << 63, below_low | 1 << 63), -k - 1);
        }
        assert_eq!(value(LOW_63, LOW_63), 0);
        assert_eq!(value(u64::MAX, LOW_63), 0);
    }

    #[test]
    fn moments_and_cells() {
        let n = 1 << 20;
        let mut out = vec![0; n];
        Sampler::new(&Seed::from_bytes([9; 32]), 0).gaussian(&mut out);
        let moment =
            |power: i32| out.iter().map(|x| (*x as f64).powi(power)).sum::<f64>() / n as f64;
        // The limits are five standard errors: SIGMA / 1024, sqrt(2) SIGMA^2 / 1024, sqrt(96)
        // SIGMA^4 / 1024.
        assert!(moment(1).abs() < 0.0156);
        assert!((moment(2) - SIGMA.powi(2)).abs() < 0.0703);
        assert!((moment(4) - 3.0 * SIGMA.powi(4)).abs() < 4.96);
        // This is chi-square over -12..=12 and the two tails, with 26 degrees of freedom. It is
        // below 54.1 with probability 0.999.
        let rho = |x: i64| (-((x * x) as f64) / (2.0 * SIGMA * SIGMA)).exp();
        let total: f64 = (-60..=60).map(rho).sum();
        let chi: f64 = (-13..=13)
            .map(|cell: i64| {
                let seen = out.iter().filter(|x| (**x).clamp(-13, 13) == cell).count() as f64;
                let mass: f64 =
                    (-60..=60).filter(|x: &i64| (*x).clamp(-13, 13) == cell).map(rho).sum();
                let expected = n as f64 * mass / total;
                (seen - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 54.1, "{chi}");
    }

    #[test]
    fn every_length_is_filled_and_deterministic() {
        let draw = |length: usize| {
            let mut out = vec![99; length];
            Sampler::new(&Seed::from_bytes([1; 32]), 5).gaussian(&mut out);
            out
        };
        let all = draw(100);
        assert!(all.iter().all(|x| x.abs() <= 41));
        for length in [0, 1, 15, 16, 17] {
            assert_eq!(draw(length), all[..length]);
        }
    }
}
