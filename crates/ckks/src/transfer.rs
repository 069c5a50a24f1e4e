//! Transfer of ciphertexts from one parameter set and secret to another (MG23 3.6).

use std::{borrow::Cow, sync::Arc};

use hippocrene_rlwe::{Modulus, PreparedTransferKey, TransferKey};

use crate::{Ciphertext, CkksError, Context};

const OPERATION: &str = "transfer to the second key";

/// Transfers ciphertexts from a first context to a second one
/// ([`hippocrene_rlwe::Parameters::second`]), where computation continues with smaller keys. It
/// holds no secret.
#[derive(Debug, Clone)]
pub struct Transfer {
    first: Arc<Context>,
    second: Arc<Context>,
    key: Arc<PreparedTransferKey>,
}

impl Transfer {
    /// The size of the prepared key in memory, in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    /// Creates a transfer from `first` to `second` with the given key.
    ///
    /// # Errors
    /// Fails if the key was made for other parameters.
    pub fn new(
        first: Arc<Context>,
        second: Arc<Context>,
        key: &TransferKey,
    ) -> Result<Self, CkksError> {
        let key = Arc::new(key.prepare(first.rlwe(), second.rlwe())?);
        Ok(Transfer { first, second, key })
    }

    /// The context of the operands.
    pub fn first(&self) -> &Arc<Context> {
        &self.first
    }

    /// The context of the results.
    pub fn second(&self) -> &Arc<Context> {
        &self.second
    }

    /// The prepared key.
    pub fn key(&self) -> &PreparedTransferKey {
        &self.key
    }

    /// Returns `a` under the second key, with the same message and scale. It first reduces `a` to
    /// the largest divisor of its modulus that the second set has, and then switches its key.
    ///
    /// # Errors
    /// Fails if `a` belongs to another key, has more than two polynomials, or if its values do not
    /// fit the second set.
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

    /// Returns `a` under the second key modulo `to = Q'`, a modulus of the second set, in the
    /// single modulus switch of the key switch.
    ///
    /// This multiplies message, scale and error by `Q'/Q`, where `Q` is the modulus of `a`. If a
    /// fresh ciphertext is switched down like this, nothing of the error of its encryption remains.
    ///
    /// # Errors
    /// Fails if `a` belongs to another key, has more than two polynomials, or if `to` is not a
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
