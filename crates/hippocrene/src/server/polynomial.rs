//! Polynomials, element by element.

use super::Server;
use crate::{Array, Error, Form};

pub(super) const OPERATION: &str = "evaluate a polynomial";

impl Server {
    /// `p(a)`, element by element. Of numbers it is [`Polynomial::depth`](hippocrene_ckks::circuits::Polynomial::depth) multiplications deep, of integers as
    /// [`hippocrene_bgv::Evaluator::polynomial`] says. Where a Chebyshev polynomial is for an interval that does not hold all numbers up to the bound of `a`, it is a multiplication deeper if other values stand between the
    /// elements, such as slices and sums leave there: these are set to zero.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when too few multiplications are left, [`Error::Argument`] when the bound of `a` exceeds the interval of a
    /// Chebyshev polynomial, or `a` is complex, and in a simulation when a value does not lie in that interval, [`Error::PlainModulusMismatch`] when the polynomial is one modulo another plaintext modulus.
    pub fn polynomial<F: Form>(&self, a: &Array<F>, p: &F::Polynomial) -> Result<Array<F>, Error> {
        let asked = self.form_of(&[a]);
        let (a, p) = F::within_domain(self, a, p)?;
        let (a, p) = (&*a, &*p);
        let bits = F::polynomial_depth(p) as f64 * self.form_of(&[a]).product_bits(self);
        let evaluated = |p: &F::Polynomial, clean: bool| {
            self.map(a, OPERATION, clean, bits, |form, x| form.polynomial(self, x, p))
        };
        // Where there is no element, zeros stay: the constant is added to elements alone.
        let values = match F::apart_from_constant(p)? {
            Some((rest, constant)) if a.is_clean() && !a.layout().is_full() => {
                let values = self.add_plain(&evaluated(&rest, true)?, F::plain(&vec![constant; a.size()]));
                values.map(|values| F::bounded_by(values, p, a)).map_err(|e| e.during(OPERATION))
            }
            Some(_) => evaluated(p, a.is_clean() && a.layout().is_full()),
            None => evaluated(p, a.is_clean()),
        };
        Ok(values?.with_form(asked))
    }
}
