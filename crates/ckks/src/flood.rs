//! Wide Gaussian noise, for decryptions that others will see.

use hippocrene_ring::sample::{Sampler, Seed};

/// `count` samples of a Gaussian of standard deviation `std`, between `2^-1` and `2^58`, rounded to integers: Box-Muller on uniform numbers of 53 bits.
/// The noise hides an error that is `2^-bits` of it, so that this resolution (relative `2^-53`) and the cut of the tails (8.5 standard
/// deviations) do not matter.
pub(crate) fn gaussian(seed: &Seed, std: f64, count: usize) -> Vec<i64> {
    let mut words = vec![0u64; 2 * count.div_ceil(2)];
    Sampler::new(seed, 0).uniform(1 << 53, &mut words);
    let unit = (-53f64).exp2();
    words
        .chunks_exact(2)
        .flat_map(|pair| {
            // (0, 1], so that the logarithm is finite.
            let radius = std * (-2.0 * ((pair[0] + 1) as f64 * unit).ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * pair[1] as f64 * unit).sin_cos();
            [(radius * cos).round() as i64, (radius * sin).round() as i64]
        })
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_standard_deviation_asked_for() {
        let std = 40f64.exp2();
        let samples = gaussian(&Seed::from_bytes([7; 32]), std, 1 << 16);
        let mean = samples.iter().map(|&x| x as f64).sum::<f64>() / samples.len() as f64;
        let variance = samples.iter().map(|&x| (x as f64).powi(2)).sum::<f64>() / samples.len() as f64;
        assert!((variance.sqrt() / std - 1.0).abs() < 0.02 && mean.abs() < 0.02 * std);
        assert!(samples.iter().any(|x| x.abs() as f64 > 3.5 * std));
    }
}
