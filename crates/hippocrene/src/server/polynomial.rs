//! Polynomials, element by element.

use hippocrene_ckks::circuits::Polynomial;

use super::Server;
use crate::{EncryptedArray, Error, Form};

impl Server {
    /// `p(a)`, element by element; [`Polynomial::depth`] multiplications deep.
    ///
    /// # Errors
    /// [`Error::Capacity`] when too few multiplications are left, [`Error::Argument`] when the bound of `a` exceeds the interval of a
    /// Chebyshev polynomial.
    pub fn polynomial(&self, a: &EncryptedArray, p: &Polynomial) -> Result<EncryptedArray, Error> {
        let clean = a.is_clean() && (a.layout().is_full() || p.evaluate(0.0) == 0.0);
        let bits = p.depth() as f64 * self.form_of(&[a]).product_bits(self);
        self.map(a, "evaluate a polynomial", clean, bits, |form, x| {
            let target = form.scale(self)?;
            Ok(self.evaluator.polynomial(&*form.lowered(self, x)?, p, target)?)
        })
    }
}
