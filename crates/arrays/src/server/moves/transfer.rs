//! Key transfer: arrays of another key are brought to the key of this server (MG23 3.6).

use std::sync::Arc;

use hippocrene_ckks::Transfer;
use hippocrene_rlwe::{Fingerprint, RlweError};

use crate::server::Server;
use crate::{Arithmetic, Array, Error, Session, TransferKey};

const OPERATION: &str = "transfer to the second key";

impl Server {
    /// Returns this server with a key that lets it take arrays of another key
    /// ([`Server::transfer`]).
    ///
    /// It transfers on as many threads as it computes on.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] or [`Error::ParameterMismatch`] if the transfer key does not lead to
    /// the key of this server.
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

    /// Returns the key whose arrays this server transfers, and their session, if it has a transfer
    /// key.
    pub fn transfers(&self) -> Option<(Fingerprint, &Session)> {
        self.transfer.as_ref().map(|(first, transfer)| (transfer.key().from(), first))
    }

    /// Brings an array of another key to the key and the parameter set of this server, with one key
    /// switch for each ciphertext.
    ///
    /// Values and layout stay the same, and so does the scale of numbers. Modulus beyond this
    /// parameter set is dropped.
    ///
    /// # Errors
    /// - [`Error::Argument`] if this server has no transfer key.
    /// - [`Error::KeyMismatch`] or [`Error::ParameterMismatch`] if its transfer key is for other
    ///   arrays.
    /// - [`Error::Capacity`] or [`Error::Parameters`] if values or precision do not fit this
    ///   parameter set.
    /// - For integers, [`Error::PlainModulusMismatch`] if the plaintext moduli differ, and
    ///   [`Error::Budget`] if the noise does not fit.
    pub fn transfer<F: Arithmetic>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
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
