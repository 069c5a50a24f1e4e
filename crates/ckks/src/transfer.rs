//! From one parameter set and secret to a second (MG23 3.6).

use std::{borrow::Cow, sync::Arc};

use hippocrene_rlwe::{Modulus, PreparedTransferKey, TransferKey};

use crate::{Ciphertext, CkksError, Context};

const OPERATION: &str = "transfer to the second key";

/// Brings ciphertexts of a first context to a second one ([`hippocrene_rlwe::Parameters::second`]),
/// which goes on with smaller keys. It holds no secret.
#[derive(Debug, Clone)]
pub struct Transfer {
    first: Arc<Context>,
    second: Arc<Context>,
    key: Arc<PreparedTransferKey>,
}

impl Transfer {
    /// Bytes of memory that its key takes.
    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    /// Transfers from `first` to `second` with this key.
    ///
    /// # Errors
    /// When the key was made for other parameters.
    pub fn new(
        first: Arc<Context>,
        second: Arc<Context>,
        key: &TransferKey,
    ) -> Result<Self, CkksError> {
        let key = Arc::new(key.prepare(first.rlwe(), second.rlwe())?);
        Ok(Transfer { first, second, key })
    }

    /// The context of what is transferred.
    pub fn first(&self) -> &Arc<Context> {
        &self.first
    }

    /// The context of the results.
    pub fn second(&self) -> &Arc<Context> {
        &self.second
    }

    /// The key.
    pub fn key(&self) -> &PreparedTransferKey {
        &self.key
    }

    /// `a` under the second key, message and scale as they are: reduced to what its modulus has in
    /// common with the second set, and its keys switched.
    ///
    /// # Errors
    /// When the key is that of another ciphertext, `a` has more than two parts, or the values do
    /// not fit the second set.
    pub fn transfer(&self, a: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.first.rlwe().check_operand(a.inner(), OPERATION)?;
        let common = self.key.common(a.modulus());
        let named = self.key.modulus(common);
        self.first.check_capacity(a, named, a.scale().log2(), a.bound(), OPERATION)?;
        let reduced = if named == a.modulus() {
            Cow::Borrowed(a)
        } else {
            let mut reduced = Ciphertext::empty(&self.first);
            self.first.rlwe().reduce_modulus_into(reduced.inner_mut(), a.inner(), named)?;
            reduced.set_meta(a.scale(), a.slots(), a.bound());
            reduced.set_known(a.known().clone());
            Cow::Owned(reduced)
        };
        let mut out = Ciphertext::empty(&self.second);
        self.transfer_to_into(&mut out, &reduced, common)?;
        Ok(out)
    }

    /// `a` under the second key, brought from its modulus `Q` to `to = Q'`, a modulus of the second
    /// set, in the one modulus switch of the key switch: message, scale and error are multiplied by
    /// `Q'/Q`. A fresh ciphertext that is switched down so keeps nothing of the error of its
    /// encryption.
    ///
    /// # Errors
    /// When the key is that of another ciphertext, `a` has more than two parts, or `to` is not a
    /// modulus of the second set.
    pub fn transfer_to_into(
        &self,
        out: &mut Ciphertext,
        a: &Ciphertext,
        to: Modulus,
    ) -> Result<(), CkksError> {
        let (first, second) = (self.first.rlwe(), self.second.rlwe());
        first.transfer_into(out.inner_mut(), a.inner(), &self.key, second, to)?;
        let scale = self.first.switched_scale(a.scale(), a.modulus(), self.key.modulus(to));
        out.set_meta(scale, a.slots(), a.bound());
        out.set_known(a.known().clone());
        Ok(())
    }
}
