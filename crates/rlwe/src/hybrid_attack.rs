//! An estimate of the cost of the hybrid attack on sparse secrets.

use std::f64::consts::{E, PI};

use hippocrene_ring::sample::SIGMA;

/// The smallest and the largest block size of lattice reduction that is considered.
const BLOCK_SIZES: (u32, u32) = (60, 3000);

/// The number of bits by which the last vector of a reduced basis must exceed the standard
/// deviation of the error. Babai's nearest plane algorithm then finds the error more often than
/// not.
const MIN_EXCESS_BITS: f64 = 1.2;

/// Estimates log2 of the cost of the primal hybrid attack (Howgrave-Graham, CRYPTO 2007; Son and
/// Cheon, ePrint 2019/1019).
///
/// The secret has Hamming weight `weight`, the ring degree is `2^log_degree` and the modulus is
/// `2^log2_q`. The attack guesses that some of the coefficients have at most `w` non-zero ones
/// among them, and finds these by a meet-in-the-middle search. It finds the other coefficients by
/// lattice reduction. It is repeated until the guess is right.
///
/// The estimate favours the attacker:
///
/// - A search of `S` guesses costs `sqrt(S)` calls of Babai's algorithm, because Howgrave-Graham's
///   collisions are assumed to happen always.
/// - Memory costs nothing.
/// - Lattice reduction of blocks `b` in dimension `d` costs `2^(0.292 b + 16.4) 8 d` (Becker,
///   Ducas, Gama, Laarhoven, SODA 2016), with the root Hermite factor
///   `(b/(2 pi e) (pi b)^(1/b))^(1/(2(b-1)))` (Chen's thesis).
///
/// A weight above the degree counts as the degree.
///
/// Dual attacks are not considered. `bench/estimates.py` prints their costs for every preset. It
/// also prints the costs of this attack with the success probabilities that are left out here.
///
/// # Panics
/// Panics if `2^log_degree` does not fit a `usize`.
pub fn hybrid_attack_bits(log_degree: u32, weight: usize, log2_q: f64) -> f64 {
    let degree = 1usize.checked_shl(log_degree).expect("the degree is a usize");
    let weight = weight.min(degree);
    let mut best = f64::INFINITY;
    for guessed in (0..64).map(|i| i * degree / 64) {
        let reduced = degree - guessed;
        let (mut probability, mut guesses) = (0.0, 0.0);
        for found in 0..=weight.min(guessed) {
            let remaining_weight = weight - found;
            if remaining_weight > reduced {
                continue;
            }
            let split = log2_binomial(guessed, found) + log2_binomial(reduced, remaining_weight);
            probability += (split - log2_binomial(degree, weight)).exp2();
            guesses += (log2_binomial(guessed, found) + found as f64).min(1000.0).exp2();
            if probability == 0.0 {
                continue;
            }
            let search = f64::log2(guesses) / 2.0;
            if search - probability.log2() > best {
                break;
            }
            let Some((reduction, dimension)) = reduction(reduced, remaining_weight.max(1), log2_q)
            else {
                continue;
            };
            let babai = 2.0 * dimension.log2() - 1.0;
            let search = if found > 0 { search + babai } else { 0.0 };
            best = best.min(reduction.max(search) + 1.0 - probability.log2());
        }
    }
    best
}

/// Returns log2 of the cost of reducing a basis until Babai's algorithm finds the error, and the
/// dimension of the basis.
///
/// There are `degree` secret coefficients, and `weight` of them are not zero. Returns `None` if no
/// block size is enough.
fn reduction(degree: usize, weight: usize, log2_q: f64) -> Option<(f64, f64)> {
    // Secret coefficients are scaled to the size of the error.
    let scaled = (SIGMA / (weight as f64 / degree as f64).sqrt()).log2();
    let dimension = |block: u32| {
        let delta = log2_root_hermite(f64::from(block));
        [0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0].into_iter().find_map(|samples_per_degree| {
            let samples = (degree as f64 * samples_per_degree).floor();
            let d = degree as f64 + samples;
            let volume = (samples * log2_q + degree as f64 * scaled) / d;
            (volume - delta * d >= SIGMA.log2() + MIN_EXCESS_BITS).then_some(d)
        })
    };
    let (mut low, mut high) = BLOCK_SIZES;
    dimension(high)?;
    while low < high {
        let middle = low.midpoint(high);
        if dimension(middle).is_some() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let d = dimension(low)?;
    Some((0.292 * f64::from(low) + 16.4 + (8.0 * d).log2(), d))
}

fn log2_root_hermite(block: f64) -> f64 {
    ((block / (2.0 * PI * E)).log2() + (PI * block).log2() / block) / (2.0 * (block - 1.0))
}

fn log2_binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weaker_parameters_cost_less() {
        let bits = hybrid_attack_bits(14, 32, 65.0);
        assert!((134.0..135.5).contains(&bits), "{bits}");
        assert!(hybrid_attack_bits(14, 32, 75.0) < bits && hybrid_attack_bits(14, 28, 65.0) < bits);
        assert!(hybrid_attack_bits(13, 32, 65.0) < bits && bits < hybrid_attack_bits(15, 32, 65.0));
        let all = hybrid_attack_bits(10, 1 << 10, 26.0);
        assert_eq!(hybrid_attack_bits(10, (1 << 10) + 1, 26.0), all);
    }
}
