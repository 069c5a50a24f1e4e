//! The probability that a coefficient leaves the range of the reduction after the modulus is
//! raised.

use num_bigint::{BigInt, BigUint, Sign};

/// Largest `n` for which the exact sum is computed. Larger Hamming weights use the Chernoff bound.
/// Chosen.
const MAX_EXACT_TERMS: usize = 1024;

/// Returns log2 of (a bound of) the probability that at least one of `coefficients` coefficients of
/// `I` has an absolute value of `k` or more, after a modulus `q0` was raised under a secret of
/// Hamming weight `weight` ([`hippocrene_rlwe::Context::raise_modulus_into`]). It is negative
/// infinity if that is impossible.
///
/// `I + m/q0` is the sum of `n = weight + 1` independent numbers that are uniform on `[-1/2, 1/2)`
/// (Cheon, Han, Kim, Kim and Song, ePrint 2018/153, 5.2; here with the exact distribution of Irwin
/// and Hall instead of a normal one). `I` is the integer nearest to that sum, so `|I| >= k` has the
/// probability
///
/// `2 / (2^n n!) sum_j (-1)^j C(n, j) (n + 1 - 2k - 2j)^n`, over those `j` for which the base of
/// the `n`-th power is positive.
///
/// The function multiplies it by the number of coefficients (union bound). For a weight beyond 1024
/// it uses the Chernoff bound `2 min_t exp(-t (k - 1/2)) (sinh(t/2) / (t/2))^n`.
///
/// # Examples
/// ```
/// use hippocrene_ckks::bootstrap::log2_failure_probability;
///
/// // Two uniform numbers: their sum is at least 1/2 in absolute value with probability 1/4.
/// assert!((log2_failure_probability(1, 1, 1) + 2.0).abs() < 1e-12);
/// ```
pub fn log2_failure_probability(weight: usize, k: u32, coefficients: usize) -> f64 {
    let n = weight + 1;
    let one =
        if n > MAX_EXACT_TERMS { chernoff(n as f64, f64::from(k) - 0.5) } else { irwin_hall(n, k) };
    (one + (coefficients.max(1) as f64).log2()).min(0.0)
}

/// Returns log2 of the exact probability for one coefficient.
fn irwin_hall(n: usize, k: u32) -> f64 {
    let width = n as i64 + 1 - 2 * i64::from(k);
    let mut sum = BigInt::ZERO;
    let mut binomial = BigUint::from(1u32);
    for j in 0..=n {
        let base = width - 2 * j as i64;
        if base <= 0 {
            break;
        }
        let term = BigUint::from(base as u64).pow(n as u32) * &binomial;
        let sign = if j % 2 == 0 { Sign::Plus } else { Sign::Minus };
        sum += BigInt::from_biguint(sign, term);
        binomial = binomial * (n - j) / (j + 1);
    }
    let factorial: BigUint = (1..=n).map(BigUint::from).product();
    1.0 - n as f64 + log2(sum.magnitude()) - log2(&factorial)
}

/// Returns log2 of an integer, which is negative infinity for 0.
fn log2(x: &BigUint) -> f64 {
    let shift = x.bits().saturating_sub(64);
    let top = (x >> shift).iter_u64_digits().next().unwrap_or(0);
    (top as f64).log2() + shift as f64
}

/// Returns log2 of the Chernoff bound for one coefficient.
fn chernoff(n: f64, x: f64) -> f64 {
    // The exponent is convex in t, so the search divides an interval around the minimum into
    // thirds. The minimum is near 12 x / n for small x.
    let exponent = |t: f64| {
        let half = t / 2.0;
        // ln(sinh(h) / h) = h + ln((1 - exp(-2h)) / 2h)
        n * (half + (-(-2.0 * half).exp_m1() / (2.0 * half)).ln()) - t * x
    };
    let (mut low, mut high) = (1e-9, 1e4);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if exponent(a) <= exponent(b) { high = b } else { low = a }
    }
    1.0 + exponent(low) / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares small cases with a count, where each of `n` numbers takes `parts` values in the
    /// middles of equal parts of `[-1/2, 1/2)`.
    #[test]
    fn probability_matches_counting() {
        // Two uniform numbers: |S| >= 1/2 with probability 1/4; three: |S| >= 1/2 with 1/3.
        assert!((log2_failure_probability(1, 1, 1) + 2.0).abs() < 1e-12);
        assert!((log2_failure_probability(2, 1, 1) - (1.0f64 / 3.0).log2()).abs() < 1e-12);
        for (n, k, parts) in [(4usize, 1u32, 60usize), (4, 2, 60), (5, 2, 40)] {
            let step = 1.0 / parts as f64;
            let mut counts = vec![1.0f64];
            for _ in 0..n {
                let mut next = vec![0.0; counts.len() + parts - 1];
                for (i, c) in counts.iter().enumerate() {
                    (0..parts).for_each(|j| next[i + j] += c * step);
                }
                counts = next;
            }
            let centre = (counts.len() - 1) as f64 / 2.0;
            let out = |i: usize| (i as f64 - centre).abs() * step >= f64::from(k) - 0.5;
            let expected: f64 =
                counts.iter().enumerate().filter(|(i, _)| out(*i)).map(|(_, c)| c).sum();
            let got = log2_failure_probability(n - 1, k, 1).exp2();
            assert!((got / expected - 1.0).abs() < 0.15, "{n} {k}: {got} {expected}");
        }
    }

    #[test]
    fn usual_weights_have_plausible_probabilities() {
        // All 33 numbers have to be within 1/33! of their ends, on either side.
        let factorial: f64 = (1..=33).map(|i| f64::from(i).log2()).sum();
        assert!((log2_failure_probability(32, 16, 1) - (1.0 - factorial)).abs() < 1e-9);
        assert_eq!(log2_failure_probability(32, 17, 1 << 16), f64::NEG_INFINITY);
        assert_eq!(log2_failure_probability(32, 1, 1 << 16), 0.0);
        for k in [10, 20, 30, 40] {
            let exact = log2_failure_probability(192, k, 1);
            let bound = chernoff(193.0, f64::from(k) - 0.5);
            assert!(exact <= bound && exact > bound - 8.0, "{k}: {exact}, {bound}");
            assert!(
                (log2_failure_probability(192, k, 8) - exact - 3.0).abs() < 1e-9 || exact > -3.0
            );
        }
        // A ternary secret at ring degree 2^16 gives a standard deviation of 60.
        let wide = log2_failure_probability(43_690, 700, 1 << 16);
        assert!((-90.0..-60.0).contains(&wide), "{wide}");
    }
}
