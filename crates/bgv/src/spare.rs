//! Ciphertexts that operations work in.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

use crate::{Ciphertext, Context};

/// Ciphertexts that are used again instead of being allocated again.
#[derive(Debug, Default)]
pub(crate) struct Spares(Mutex<Vec<Ciphertext>>);

/// A ciphertext on loan, with unspecified contents.
#[derive(Debug)]
pub(crate) struct Spare<'a> {
    ciphertext: Option<Ciphertext>,
    spares: &'a Spares,
}

impl Spares {
    /// A ciphertext to write to; it comes back when it is dropped.
    pub(crate) fn take<'a>(&'a self, context: &Context) -> Spare<'a> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Spare { ciphertext: Some(free.unwrap_or_else(|| Ciphertext::empty(context))), spares: self }
    }
}

impl Deref for Spare<'_> {
    type Target = Ciphertext;

    fn deref(&self) -> &Ciphertext {
        self.ciphertext.as_ref().expect("present until dropped")
    }
}

impl DerefMut for Spare<'_> {
    fn deref_mut(&mut self) -> &mut Ciphertext {
        self.ciphertext.as_mut().expect("present until dropped")
    }
}

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        if let Some(ciphertext) = self.ciphertext.take() {
            self.spares.0.lock().unwrap_or_else(PoisonError::into_inner).push(ciphertext);
        }
    }
}

/// An operand as it was given, or changed.
#[derive(Debug)]
pub(crate) enum Operand<'a> {
    Given(&'a Ciphertext),
    Changed(Spare<'a>),
}

impl Deref for Operand<'_> {
    type Target = Ciphertext;

    fn deref(&self) -> &Ciphertext {
        match self {
            Operand::Given(ciphertext) => ciphertext,
            Operand::Changed(ciphertext) => ciphertext,
        }
    }
}
