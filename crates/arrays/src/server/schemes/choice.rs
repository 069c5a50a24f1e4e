//! The choice between BGV and BFV for products of integers.

use hippocrene_bgv::Scheme;

use crate::Error;
use crate::server::{Server, schemes::integers::evaluator};

impl Server {
    /// Returns this server with products of integers by `scheme`, whatever its settings say.
    ///
    /// It shares the keys. Ciphertexts are the same in both schemes, so arrays need no conversion:
    /// one server can go on with the results of the other.
    ///
    /// # Errors
    /// [`Error::Argument`] if the settings of its keys have no plaintext modulus.
    pub fn with_scheme(&self, scheme: Scheme) -> Result<Self, Error> {
        let integers = evaluator(self)?.clone().with_scheme(scheme);
        Ok(Server { integers: Some(integers), ..self.clone() })
    }

    /// Returns the scheme for products of integers, if there are integers. It is that of the
    /// settings, unless [`Server::with_scheme`] has set another one.
    pub fn scheme(&self) -> Option<Scheme> {
        self.integers.as_ref().map(hippocrene_bgv::Evaluator::scheme)
    }
}
