//! Which of the schemes for integers a server multiplies in the manner of.

use hippocrene_bgv::Scheme;

use crate::Error;
use crate::server::{Server, schemes::integers::evaluator};

impl Server {
    /// This server, with products of integers in the manner of `scheme`, whatever its settings say.
    /// It shares the keys. Ciphertexts are the same in both schemes, so that arrays are not
    /// converted: what one server has computed, the other goes on with.
    ///
    /// # Errors
    /// [`Error::Argument`] when the settings of its keys have no plaintext modulus.
    pub fn with_scheme(&self, scheme: Scheme) -> Result<Self, Error> {
        let integers = evaluator(self)?.clone().with_scheme(scheme);
        Ok(Server { integers: Some(integers), ..self.clone() })
    }

    /// How products of integers are computed, where there are any: as the settings say, or
    /// [`Server::with_scheme`].
    pub fn scheme(&self) -> Option<Scheme> {
        self.integers.as_ref().map(hippocrene_bgv::Evaluator::scheme)
    }
}
