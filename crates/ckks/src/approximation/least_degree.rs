//! The least degree of a polynomial in the place of a cosine.

use super::cosine::{Cosine, CosineInterpolation, Nodes};

/// Which coefficients an interpolation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    /// Real numbers of any size: as HK20 counts degrees.
    Exact,
    /// Such as can be computed with: rounded to `f64`, and no more than twice as large, all
    /// together, as those of the cosine's own Chebyshev series. (The noise of a ciphertext that is
    /// put in is multiplied by them.)
    Rounded,
}

impl Cosine {
    /// The interpolation of least degree with which the error of `sin(2 pi x)` after the doublings
    /// is at most `error`, a positive number: with HK20's nodes, or where these make the
    /// coefficients too large with Chebyshev's on the whole interval.
    ///
    /// # Errors
    /// The least error that was reached with such coefficients, if that is larger.
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
            reached: f64::INFINITY,
        };
        let near_integers = search.below(everywhere);
        let found = near_integers.or_else(|_| {
            search.nodes = Nodes::Everywhere;
            search.below(everywhere + 8)
        });
        found.map_err(|()| search.reached)
    }

    /// The even polynomial of `x - 1/4` of least degree with coefficients that can be computed
    /// with: interpolated on the whole interval, and evaluated in half as many powers.
    ///
    /// # Errors
    /// The least error that was reached, if that is larger than `error`.
    pub fn least_even_degree(&self, error: f64) -> Result<CosineInterpolation, f64> {
        let (coefficients, nodes) = (Coefficients::Rounded, Nodes::Even);
        let mut search =
            Search { cosine: self, error, coefficients, nodes, reached: f64::INFINITY };
        let limit = self.bounded_degree(nodes, error) + 8;
        search.below(limit).map_err(|()| search.reached)
    }
}

struct Search<'a> {
    cosine: &'a Cosine,
    error: f64,
    coefficients: Coefficients,
    nodes: Nodes,
    /// The least error seen with coefficients that may be used.
    reached: f64,
}

impl Search<'_> {
    /// The least degree that does, below a limit.
    fn below(&mut self, limit: usize) -> Result<CosineInterpolation, ()> {
        // From where the theory's bound does, or else the limit, ..
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
        // .. down by halves, while it is known that one fails, ..
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
        // .. and one by one. Errors wander a little from one degree to the next: the search ends
        // where several in a row fail.
        let mut failures = 0;
        while failures < 4 && best.polynomial.degree() > failures {
            match self.at(best.polynomial.degree() - 1 - failures) {
                Ok(found) => (best, failures) = (found, 0),
                Err(_) => failures += 1,
            }
        }
        Ok(best)
    }

    /// The interpolation of this degree if it does; else whether one of higher degree may.
    fn at(&mut self, degree: usize) -> Result<CosineInterpolation, bool> {
        let coefficients = self.cosine.coefficients(self.nodes, degree).map_err(|_| false)?;
        let rounded = self.coefficients == Coefficients::Rounded;
        if rounded && coefficients.sum > 2.0 * self.cosine.natural_sum() {
            return Err(true);
        }
        let have = self.cosine.finish(coefficients).map_err(|_| false)?;
        let error = if rounded { have.error } else { have.exact_error };
        self.reached = self.reached.min(error);
        // What is rounded away does not become less with the degree.
        if error <= self.error { Ok(have) } else { Err(2.0 * have.exact_error > self.error) }
    }
}
