//! CKK20's polynomials `f_n` and `g_n`, in the Chebyshev basis.

/// The largest index `n` for which CKK20 gives `g_n`.
pub(super) const MAX_INDEX: usize = 4;

/// The odd coefficients of `2^10 g_n`, from `x` up (CKK20, 3.5).
const G: [&[i32]; MAX_INDEX] = [
    &[2126, -1359],
    &[3334, -6108, 3796],
    &[4589, -16577, 25614, -12860],
    &[5850, -34974, 97015, -113_492, 46623],
];

/// Returns `g_n`, which moves small values away from 0.
pub(super) fn g(n: usize) -> Option<Vec<f64>> {
    let coefficients = G.get(n.checked_sub(1)?)?;
    Some(chebyshev(&coefficients.iter().map(|c| f64::from(*c) / 1024.0).collect::<Vec<_>>()))
}

/// Returns `f_n = sum_(i <= n) C(2i, i) x (1 - x^2)^i / 4^i`. Its value at 1 is 1, and its first
/// `n` derivatives there are 0.
pub(super) fn f(n: usize) -> Option<Vec<f64>> {
    if !(1..=MAX_INDEX).contains(&n) {
        return None;
    }
    let mut odd = vec![0.0; n + 1];
    for i in 0..=n {
        let factor = binomial(2 * i, i) / 4f64.powi(i as i32);
        for (j, c) in odd.iter_mut().enumerate().take(i + 1) {
            *c += factor * binomial(i, j) * if j % 2 == 0 { 1.0 } else { -1.0 };
        }
    }
    Some(chebyshev(&odd))
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |b, i| b * (n - i) as f64 / (i + 1) as f64)
}

/// Converts coefficients of `x, x^3, x^5, ..` to those of `T_0, T_1, ..`, by `x^k = 2^(1-k) sum_(2j
/// < k) C(k, j) T_(k-2j)` for odd `k`. All numbers are short binary fractions, so nothing is
/// rounded.
fn chebyshev(odd: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; 2 * odd.len()];
    for (i, c) in odd.iter().enumerate() {
        let k = 2 * i + 1;
        (0..=i).for_each(|j| out[k - 2 * j] += c * binomial(k, j) * 2f64.powi(1 - k as i32));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_polynomials_equal_those_of_graft() {
        // f_3 = (35 x - 35 x^3 + 21 x^5 - 5 x^7) / 2^4.
        let f3 = [35.0, -35.0, 21.0, -5.0].map(|c| c / 16.0);
        assert_eq!(f(3).unwrap(), chebyshev(&f3));
        assert_eq!(f(3).unwrap()[7], -5.0 / 1024.0);
        assert_eq!(
            g(3).unwrap(),
            [0.0, 18115.0, 0.0, -5753.0, 0.0, 3109.0, 0.0, -3215.0].map(|c| c / 16384.0)
        );
        assert!([0, 5].iter().all(|&n| f(n).is_none() && g(n).is_none()));
    }

    #[test]
    fn derivatives_vanish_at_one() {
        for n in 1..=MAX_INDEX {
            // T_i(1) = 1 and T_i'(1) = i^2.
            let f = f(n).unwrap();
            assert_eq!(f.iter().sum::<f64>(), 1.0);
            assert_eq!(f.iter().enumerate().map(|(i, c)| (i * i) as f64 * c).sum::<f64>(), 0.0);
        }
    }
}
