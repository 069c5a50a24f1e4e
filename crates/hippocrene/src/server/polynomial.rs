//! Polynomials, element by element.

use super::Server;
use crate::{Array, Error, Form};

impl Server {
    /// `p(a)`, element by element. Of numbers it is [`Polynomial::depth`](hippocrene_ckks::circuits::Polynomial::depth) multiplications deep, of integers as
    /// [`hippocrene_bgv::Evaluator::polynomial`] says.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when too few multiplications are left, [`Error::Argument`] when the bound of `a` exceeds the interval of a
    /// Chebyshev polynomial, [`Error::PlainModulusMismatch`] when the polynomial is one modulo another plaintext modulus.
    pub fn polynomial<F: Form>(&self, a: &Array<F>, p: &F::Polynomial) -> Result<Array<F>, Error> {
        let clean = a.is_clean() && (a.layout().is_full() || F::vanishes_at_zero(p));
        let bits = F::polynomial_depth(p) as f64 * self.form_of(&[a]).product_bits(self);
        self.map(a, "evaluate a polynomial", clean, bits, |form, x| form.polynomial(self, x, p))
    }
}
