//! Powers, element by element.

use crate::server::{
    Server,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
};
use crate::{Arithmetic, Array, Error};

impl Server {
    /// Returns `a^n`, element by element, for `n >= 1`.
    ///
    /// It is `ceil(log2 n)` multiplications deep. The error estimate follows every error along all
    /// of its ways to the result ([`hippocrene_ckks::Evaluator::power`]). Powers that need more
    /// capacity than a bootstrap restores are bootstrapped between products. In these products, the
    /// errors of the factors are taken as independent.
    ///
    /// # Errors
    /// [`Error::Argument`] for `n = 0`, [`Error::Capacity`] or [`Error::Budget`] when too few
    /// multiplications are left.
    pub fn pow<F: Arithmetic>(&self, a: &Array<F>, n: u32) -> Result<Array<F>, Error> {
        const OPERATION: &str = "power";
        self.check(a, OPERATION)?;
        if n == 0 {
            return Err(Error::argument(
                OPERATION,
                "the exponent is 0, an integer from 1 is needed",
            ));
        }
        if n == 1 {
            return Ok(a.clone());
        }
        let depth = (n - 1).ilog2() + 1;
        let bits = f64::from(depth) * self.form_of(&[a]).product_bits(self);
        let circuit = Candidate::new("one circuit", |server: &Server, [a]: [&Array<F>; 1]| {
            server.map_as_it_is(a, OPERATION, true, |form, x| form.power(server, x, n))
        });
        let products = Candidate::new("products one by one", |server: &Server, [a]: [_; 1]| {
            by_squaring(a, n, |x, y| server.mul(x, y)).map_err(|e| e.during(OPERATION))
        });
        let most_bits = bits + MARGIN_BITS_OF_UNKNOWN_GROWTH;
        let power = self.perform(OPERATION, [a], most_bits, &[circuit, products.otherwise(1)])?;
        Ok(F::with_known_interval(power, F::interval(a).power(n)))
    }
}

/// Returns `x^n` for `n >= 1`, as the product of `x^(2^k)` over the bits `k` of `n`.
///
/// The smallest factors come first, so the product so far is never deeper than the next factor.
/// Squares are products with one and the same operand, so that `product` can recognise them.
pub(in crate::server) fn by_squaring<T: Clone>(
    x: &T,
    n: u32,
    product: impl Fn(&T, &T) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut square = x.clone();
    let mut power: Option<T> = None;
    for k in 0..=n.ilog2() {
        if k > 0 {
            square = product(&square, &square)?;
        }
        if n >> k & 1 == 1 {
            power = Some(match power {
                None => square.clone(),
                Some(power) => product(&square, &power)?,
            });
        }
    }
    Ok(power.unwrap_or(square))
}
