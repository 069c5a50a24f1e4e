//! Tests for equality of integers, element by element.

use crate::server::{Server, schemes::integers::evaluator};
use crate::{Error, IntegerArray};

impl Server {
    /// Returns 1 where `a` is 0, and 0 elsewhere.
    ///
    /// By Fermat's little theorem, this is `1 - a^(t-1)` modulo the plaintext modulus `t`. It is
    /// `ceil(log2(t - 1))` multiplications deep ([`hippocrene_bgv::Evaluator::is_zero`]).
    ///
    /// # Errors
    /// [`Error::Budget`] when too few multiplications are left.
    pub fn is_zero(&self, a: &IntegerArray) -> Result<IntegerArray, Error> {
        // Slots without an element that hold 0 become 1, so only full layouts count as keeping
        // zeros.
        self.map(a, "test for zero", a.layout().is_full(), 0.0, |server, _, x| {
            Ok(evaluator(server)?.is_zero(x)?)
        })
    }

    /// Returns 1 where `a` and `b` are equal, and 0 elsewhere.
    ///
    /// This is [`Server::is_zero`] of their difference. Shapes broadcast as in numpy.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the arrays belong
    /// to different keys, [`Error::Budget`] when too few multiplications are left.
    pub fn equals(&self, a: &IntegerArray, b: &IntegerArray) -> Result<IntegerArray, Error> {
        const OPERATION: &str = "compare";
        let difference = self.sub(a, b).map_err(|e| e.during(OPERATION))?;
        self.is_zero(&difference).map_err(|e| e.during(OPERATION))
    }
}
