//! The lowest degree of a polynomial that approximates a cosine.

use super::cosine::{Cosine, CosineInterpolation, Nodes};

/// The coefficients that an interpolation may have. See [`Cosine`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    /// Real numbers of any size, as HK20 counts degrees.
    Exact,
    /// Numbers for computation with ciphertexts. They are rounded to `f64`, and the sum of their
    /// absolute values is at most twice that of the cosine's own Chebyshev series. The noise of a
    /// ciphertext is multiplied by the coefficients.
    Rounded,
}

impl Cosine {
    /// Returns the interpolation of lowest degree for which the error of `sin(2 pi x)` after the
    /// doublings is at most `error`, a positive number. It uses HK20's nodes. If these make the
    /// coefficients too large, it uses Chebyshev's nodes on the whole interval.
    ///
    /// # Errors
    /// Returns the smallest error that was reached with such coefficients if that is larger than
    /// `error`.
    pub fn least_degree(
        &self,
        error: f64,
        coefficients: Coefficients,
    ) -> Result<CosineInterpolation, f64> {
        let everywhere = self.bounded_degree(Nodes::Everywhere, error);
        let mut search = Search {
            cosine: self,
            error,
            coefficients,
            nodes: Nodes::NearIntegers,
            best_error: f64::INFINITY,
        };
        let near_integers = search.below(everywhere);
        let found = near_integers.or_else(|_| {
            search.nodes = Nodes::Everywhere;
            search.below(everywhere + 8)
        });
        found.map_err(|()| search.best_error)
    }

    /// Returns the even polynomial of `x - 1/4` of lowest degree with [`Coefficients::Rounded`]. It
    /// interpolates on the whole interval, and its evaluation needs half as many powers.
    ///
    /// # Errors
    /// Returns the smallest error that was reached if that is larger than `error`.
    pub fn least_even_degree(&self, error: f64) -> Result<CosineInterpolation, f64> {
        let (coefficients, nodes) = (Coefficients::Rounded, Nodes::Even);
        let mut search =
            Search { cosine: self, error, coefficients, nodes, best_error: f64::INFINITY };
        let limit = self.bounded_degree(nodes, error) + 8;
        search.below(limit).map_err(|()| search.best_error)
    }
}

/// A search for the lowest degree.
struct Search<'a> {
    cosine: &'a Cosine,
    error: f64,
    coefficients: Coefficients,
    nodes: Nodes,
    /// The smallest error so far of an interpolation with allowed [`Coefficients`].
    best_error: f64,
}

impl Search<'_> {
    /// Returns the interpolation of the lowest sufficient degree, below a limit.
    fn below(&mut self, limit: usize) -> Result<CosineInterpolation, ()> {
        // The search starts from the degree of the theoretical bound, or else from the limit.
        let mut failed = None;
        let mut degree = self.cosine.bounded_degree(self.nodes, self.error);
        let mut best = loop {
            match self.at(degree) {
                Ok(found) => break found,
                Err(true) if degree + 1 < limit => {
                    failed = Some(degree);
                    degree = limit - 1;
                }
                Err(_) => return Err(()),
            }
        };
        // Then it halves the range between a degree that failed and the best one.
        while let Some(below) = failed {
            let middle = below.midpoint(best.polynomial.degree());
            if middle == below {
                break;
            }
            match self.at(middle) {
                Ok(found) => best = found,
                Err(_) => failed = Some(middle),
            }
        }
        // Finally it goes down one by one. Errors vary a little from one degree to the next, so it
        // ends after several failures in a row.
        let mut failures = 0;
        while failures < 4 && best.polynomial.degree() > failures {
            match self.at(best.polynomial.degree() - 1 - failures) {
                Ok(found) => (best, failures) = (found, 0),
                Err(_) => failures += 1,
            }
        }
        Ok(best)
    }

    /// Returns the interpolation of this degree if it is good enough. Otherwise the error says
    /// whether one of higher degree may be.
    fn at(&mut self, degree: usize) -> Result<CosineInterpolation, bool> {
        let coefficients = self.cosine.coefficients(self.nodes, degree).map_err(|_| false)?;
        let rounded = self.coefficients == Coefficients::Rounded;
        if rounded && coefficients.sum > 2.0 * self.cosine.natural_sum() {
            return Err(true);
        }
        let have = self.cosine.finish(coefficients).map_err(|_| false)?;
        let error = if rounded { have.error } else { have.exact_error };
        self.best_error = self.best_error.min(error);
        // The rounding errors do not decrease with the degree.
        if error <= self.error { Ok(have) } else { Err(2.0 * have.exact_error > self.error) }
    }
}
