//! Arrays of another key, brought to this server's (MG23 3.6).

use std::sync::Arc;

use hippocrene_ckks::Transfer;
use hippocrene_rlwe::{Fingerprint, RlweError};

use crate::server::Server;
use crate::{Array, Error, Form, Session, TransferKey};

const OPERATION: &str = "transfer to the second key";

impl Server {
    /// This server, with the key by which it takes arrays of another key: [`Server::transfer`]. It
    /// transfers on as many threads as it computes.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] or [`Error::ParameterMismatch`] when the key does not lead to that of
    /// this server.
    pub fn with_transfer(&self, key: &TransferKey) -> Result<Self, Error> {
        if key.second() != self.key {
            let (have, need) = (key.second(), self.key);
            return Err(
                RlweError::KeyMismatch { operation: "take a transfer key", have, need }.into()
            );
        }
        let first = match key.session().threads() == self.session.threads() {
            true => key.session().clone(),
            false => Session::new(key.session().settings().clone(), self.session.threads())?,
        };
        let second = Arc::clone(self.session.context());
        let transfer = Transfer::new(Arc::clone(first.context()), second, key.inner())?;
        Ok(Server { transfer: Some((first, transfer)), ..self.clone() })
    }

    /// The key whose arrays this server transfers, and their session, if it has a transfer key.
    pub fn transfers(&self) -> Option<(Fingerprint, &Session)> {
        self.transfer.as_ref().map(|(first, transfer)| (transfer.key().from(), first))
    }

    /// An array of another key brought to the key and the parameter set of this server, in one key
    /// switch for each ciphertext. Values and layout stay, and of numbers the scale; what its
    /// modulus has beyond this parameter set is dropped.
    ///
    /// # Errors
    /// [`Error::Argument`] when this server has no transfer key, [`Error::KeyMismatch`] or
    /// [`Error::ParameterMismatch`] when it is for other arrays, [`Error::Capacity`] or
    /// [`Error::Parameters`] when values or precision do not fit this parameter set; of integers,
    /// [`Error::PlainModulusMismatch`] when the plaintext moduli differ, and [`Error::Budget`] when
    /// the noise does not fit.
    pub fn transfer<F: Form>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let Some((first, transfer)) = &self.transfer else {
            let what = "this server has no transfer key: it computes on arrays of its own key only";
            return Err(Error::argument(OPERATION, what));
        };
        first.context().rlwe().check_digest(a.parameters(), OPERATION)?;
        let each = a.expanded(first);
        let out = self
            .session
            .compute_each(each.len(), |i| a.form().transferred(self, transfer, &each[i]))?;
        let slots = a.slot_contents();
        Ok(Array::from_ciphertexts(a.layout().clone(), a.form().clone(), slots, out))
    }
}
