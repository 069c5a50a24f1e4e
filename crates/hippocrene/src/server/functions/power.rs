//! Powers, element by element.

use crate::server::Server;
use crate::{Array, Error, Form};

impl Server {
    /// `a^n`, element by element, for `n >= 1`; `ceil(log2 n)` multiplications deep.
    ///
    /// What errors add up to is followed on all of their ways to the result
    /// ([`hippocrene_ckks::Evaluator::power`]), but for powers that take more capacity than a
    /// bootstrap gives, which are bootstrapped between products: those of the factors of such a
    /// product are taken as independent.
    ///
    /// # Errors
    /// [`Error::Argument`] for `n = 0`, [`Error::Capacity`] or [`Error::Budget`] when too few
    /// multiplications are left.
    pub fn pow<F: Form>(&self, a: &Array<F>, n: u32) -> Result<Array<F>, Error> {
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
        let squared = || {
            let power =
                by_squaring(a, n, |x, y| self.mul(x, y)).map_err(|e| e.during(OPERATION))?;
            Ok(F::within(power, F::interval(a).power(n)))
        };
        if self.strands(a, bits) {
            return squared();
        }
        match self.map(a, OPERATION, true, bits, |form, x| form.power(self, x, n)) {
            Err(Error::Capacity { .. }) if self.bootstraps.is_some() => squared(),
            power => Ok(F::within(power?, F::interval(a).power(n))),
        }
    }
}

/// The product of `x^(2^k)` over the bits of `n >= 1`, smallest first: the product so far is never
/// deeper than the next factor by one. Squares are products of one and the same operand.
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
