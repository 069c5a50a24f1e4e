//! Division by plain numbers: products with the inverse, at the precision that the result needs.

use hippocrene_ckks::{BigFloat, Short};

use crate::server::{Server, planner::choose::MARGIN_BITS};
use crate::{Capacity, EncryptedArray, Error, Interval, Numbers, Values};

/// A factor is rounded to a double if that error is this many bits below the requested precision.
const SPARE_BITS: f64 = 4.0;

/// Returns true if `x` is exactly a double.
fn is_double(x: &BigFloat) -> bool {
    BigFloat::try_from(x.to_f64()).is_ok_and(|double| double == *x)
}

impl Server {
    /// Returns true if factors rounded to doubles are too imprecise for products with `a`.
    ///
    /// `size` is the largest absolute value of the factors. They are too imprecise if the rounding
    /// error of the product exceeds `2^-(precision + 4)`, at the requested precision in bits.
    pub fn needs_digits(&self, a: &EncryptedArray, size: f64) -> bool {
        let precision = self.policy.precision.unwrap_or(a.form().precision);
        (a.bound() * size.abs()).log2() - f64::from(f64::MANTISSA_DIGITS)
            > -(precision + SPARE_BITS)
    }

    /// Returns `a / divisor`, element by element, as a product with the inverse of `divisor`.
    ///
    /// The inverse is a double if that is precise enough ([`Server::needs_digits`]). Otherwise it
    /// has 512 bits.
    ///
    /// # Errors
    /// [`Error::Argument`] when `divisor` is zero or not finite, or its inverse is too large for
    /// the modulus, and as [`Server::mul_number`].
    pub fn div_number(&self, a: &EncryptedArray, divisor: f64) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "divide by a number";
        self.check(a, OPERATION)?;
        let inverse = BigFloat::try_from(divisor).ok().and_then(|d| d.reciprocal());
        let Some(inverse) = inverse else {
            return Err(Error::argument(OPERATION, format!("the divisor is {divisor}")));
        };
        let double = inverse.to_f64();
        if is_double(&inverse) || !self.needs_digits(a, double) {
            return self.mul_number(a, double).map_err(|error| match error {
                Error::Argument { what, .. } => Error::argument(OPERATION, what),
                other => other.during(OPERATION),
            });
        }
        let parameters = self.session.settings().parameters();
        if double.abs().log2() > parameters.log2(parameters.top()) {
            let what = format!(
                "the divisor is {}, and its inverse too large for the modulus",
                Short(divisor)
            );
            return Err(Error::argument(OPERATION, what));
        }
        self.mul_big_number(a, &inverse).map_err(|e| e.during(OPERATION))
    }

    /// Returns `a c`, as [`Server::mul_number`], for a number more precise than doubles.
    ///
    /// # Errors
    /// As [`Server::mul_number`].
    pub fn mul_big_number(
        &self,
        a: &EncryptedArray,
        c: &BigFloat,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "multiply by a number";
        self.check(a, OPERATION)?;
        if is_double(c) {
            return self.mul_number(a, c.to_f64());
        }
        if !a.is_regular() {
            let product = self.mul_plain(a, Values::Big(&vec![c.clone(); a.size()]));
            return product.map_err(|error| match error {
                Error::Encode(_) => {
                    Error::argument(OPERATION, "the factor is too large for the modulus")
                }
                other => other.during(OPERATION),
            });
        }
        let times = |server: &Server, form: &Numbers, x: &_| form.mul_big_number(server, x, c);
        let growth = c.to_f64().abs().max(1.0).log2();
        let most_bits = self.form_of(&[a]).product_bits(self) + growth + MARGIN_BITS;
        let product = self.map(a, OPERATION, true, most_bits, times)?;
        Ok(product.with_known_interval(a.interval() * Interval::point(c.to_f64())))
    }

    /// Returns the mean of all elements (`axis` `None`) or along one axis, as `mean` in numpy.
    ///
    /// It is one multiplication deep.
    ///
    /// # Errors
    /// As [`Server::sum`], and [`Error::Capacity`] when no multiplication is left.
    pub fn mean(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "mean";
        let sum = self.sum_in(a, axis, OPERATION)?;
        let count = a.size() / sum.size();
        self.div_number(&sum, count as f64).map_err(|e| e.during(OPERATION))
    }
}
