//! The least degree of a polynomial in the place of a cosine.

use super::cosine::{Cosine, CosineInterpolation};

/// Which coefficients an interpolation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    /// Real numbers of any size: as HK20 counts degrees.
    Exact,
    /// Such as can be computed with: rounded to `f64`, and no more than twice as large, all together, as those of the cosine's own Chebyshev series.
    /// (The noise of a ciphertext that is put in is multiplied by them.)
    Rounded,
}

impl Cosine {
    /// The interpolation of least degree with which the error of `sin(2 pi x)` after the doublings is at most `error`, a positive number.
    ///
    /// # Errors
    /// The least error that was reached with such coefficients, if that is larger.
    pub fn least_degree(&self, error: f64, coefficients: Coefficients) -> Result<CosineInterpolation, f64> {
        const STEP: usize = 4;
        let mut reached = f64::INFINITY;
        let mut at = |degree: usize| {
            let have = self.interpolate(degree).ok()?;
            let (allowed, error_here) = match coefficients {
                Coefficients::Exact => (true, have.exact_error),
                Coefficients::Rounded => (have.coefficient_sum <= 2.0 * self.natural_sum(), have.error),
            };
            if allowed {
                reached = reached.min(error_here);
            }
            (allowed && error_here <= error).then_some(have)
        };
        let bounded = self.bounded_degree(error);
        let most = bounded + bounded / 2 + 4 * STEP;
        let Some(mut best) = (bounded..=most).step_by(STEP).find_map(&mut at) else { return Err(reached) };
        // Errors wander a little from one degree to the next: the search ends where several in a row fail.
        let mut failed = 0;
        while failed < STEP && best.polynomial.degree() > failed {
            match at(best.polynomial.degree() - 1 - failed) {
                Some(better) => (best, failed) = (better, 0),
                None => failed += 1,
            }
        }
        Ok(best)
    }
}
