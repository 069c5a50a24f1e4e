//! Wide Gaussian noise that hides the error of a published decryption.

use hippocrene_ring::sample::{SIGMA, Sampler, Seed};
use zeroize::{Zeroize, Zeroizing};

/// The largest log2 of a standard deviation that [`gaussian`] supports. Its samples stay below
/// `2^63`.
pub(crate) const MAX_LOG2_STD: f64 = 57.0;

/// Samples `count` integers from a Gaussian whose standard deviation is between `2^log2_std` and
/// twice that.
///
/// They are sums `x_0 + 2 x_1 + 4 x_2 + ...` of independent discrete Gaussians `x_i` of parameter
/// [`SIGMA`], with standard deviation `SIGMA sqrt((4^levels - 1)/3)`. Each step `x + 2 y` is a
/// discrete Gaussian again, up to a relative error of about `2^-59` in every probability
/// (Micciancio and Walter, ePrint 2017/259): the width `(1/SIGMA^2 + 1/(2 sigma_y)^2)^(-1/2) >=
/// 2.9` is above the smoothing parameter of `2 Z`. So every integer has the right probability, down
/// to its lowest bit. Floating-point samples of this size would be multiples of a power of two and
/// would reveal the low bits of the error.
///
/// The function runs in constant time, as [`Sampler::gaussian`] does, and wipes its scratch memory.
pub(crate) fn gaussian(seed: &Seed, log2_std: f64, count: usize) -> Zeroizing<Vec<i64>> {
    let (mut sampler, mut sums) = (Sampler::new(seed, 0), Zeroizing::new(vec![0i64; count]));
    let mut level = vec![0i64; count];
    for _ in 0..levels(log2_std) {
        sampler.gaussian(&mut level);
        for (sum, x) in sums.iter_mut().zip(&level) {
            *sum = 2 * *sum + x;
        }
    }
    level.zeroize();
    sums
}

/// Returns the smallest number of terms whose sum is wide enough.
fn levels(log2_std: f64) -> u32 {
    (1..).find(|&levels| log2_std_of(levels) >= log2_std.min(MAX_LOG2_STD)).unwrap_or(1)
}

/// Returns log2 of the standard deviation of a sum of `levels` terms.
fn log2_std_of(levels: u32) -> f64 {
    (SIGMA * ((f64::from(2 * levels).exp2() - 1.0) / 3.0).sqrt()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_requested_width() {
        for log2_std in [0.0, 5.5, 20.0, 40.0, 50.3, MAX_LOG2_STD] {
            let samples = gaussian(&Seed::from_bytes([7; 32]), log2_std, 1 << 16);
            let std = log2_std_of(levels(log2_std));
            assert!(
                std >= log2_std && std <= log2_std.max(SIGMA.log2()) + 1.0,
                "{log2_std}: {std}"
            );
            let scaled: Vec<f64> = samples.iter().map(|&x| x as f64 / std.exp2()).collect();
            let moment = |power: i32| {
                scaled.iter().map(|x| x.powi(power)).sum::<f64>() / scaled.len() as f64
            };
            // Within 5 standard errors: 1/256, sqrt(2)/256, sqrt(96)/256.
            assert!(moment(1).abs() < 0.02, "{log2_std}");
            assert!((moment(2) - 1.0).abs() < 0.028, "{log2_std}");
            assert!((moment(4) - 3.0).abs() < 0.19, "{log2_std}");
        }
    }

    /// Every residue modulo 64 is equally likely, at every width: chi-square with 63 degrees of
    /// freedom, mean 63, standard deviation 11.2.
    #[test]
    fn low_bits_are_uniform() {
        for log2_std in [20.0, 45.0, MAX_LOG2_STD] {
            let mut cells = [0f64; 64];
            for x in gaussian(&Seed::from_bytes([8; 32]), log2_std, 1 << 16).iter() {
                cells[(x & 63) as usize] += 1.0;
            }
            let chi: f64 = cells.iter().map(|c| (c - 1024.0).powi(2) / 1024.0).sum();
            assert!((20.0..120.0).contains(&chi), "{log2_std}: {chi}");
        }
    }

    /// The largest possible sum fits, because every term is at most 41.
    #[test]
    fn largest_sum_does_not_overflow() {
        assert!(41 * ((1i128 << levels(f64::INFINITY)) - 1) < 1 << 63);
    }
}
