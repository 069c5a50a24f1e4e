//! The memory of intermediate ciphertexts, which is reused instead of allocated again.

use std::sync::{Mutex, PoisonError};

use hippocrene_rlwe as rlwe;

/// Ciphertexts that no operation needs at the moment.
#[derive(Debug, Default)]
pub(crate) struct CiphertextPool(Mutex<Vec<rlwe::Ciphertext>>);

impl CiphertextPool {
    /// Returns a ciphertext of this context with unspecified contents, from the pool if it has one.
    pub(crate) fn take(&self, context: &rlwe::Context) -> rlwe::Ciphertext {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| rlwe::Ciphertext::empty(context))
    }

    /// Returns a ciphertext to the pool, for a later [`CiphertextPool::take`].
    pub(crate) fn put_back(&self, ciphertext: rlwe::Ciphertext) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ciphertext);
    }
}
