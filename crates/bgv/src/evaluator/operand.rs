//! Operands that may have been switched to another modulus.

use std::ops::{Deref, DerefMut};

use crate::{Ciphertext, Context, pool::CiphertextPool};

/// An intermediate ciphertext. Its memory returns to the pool of its context when it is dropped.
#[derive(Debug)]
pub(super) struct Intermediate<'a> {
    /// `None` only while it is dropped.
    ciphertext: Option<Ciphertext>,
    pool: &'a CiphertextPool,
}

impl<'a> Intermediate<'a> {
    /// Returns a ciphertext with unspecified contents.
    pub(super) fn new(context: &'a Context) -> Self {
        let pool = context.pool();
        let ciphertext = Ciphertext::new(pool.take(context.rlwe()), context.plain_modulus(), 1);
        Intermediate { ciphertext: Some(ciphertext), pool }
    }
}

impl Deref for Intermediate<'_> {
    type Target = Ciphertext;

    fn deref(&self) -> &Ciphertext {
        self.ciphertext.as_ref().expect("present until dropped")
    }
}

impl DerefMut for Intermediate<'_> {
    fn deref_mut(&mut self) -> &mut Ciphertext {
        self.ciphertext.as_mut().expect("present until dropped")
    }
}

impl Drop for Intermediate<'_> {
    fn drop(&mut self) {
        if let Some(ciphertext) = self.ciphertext.take() {
            self.pool.put_back(ciphertext.into_inner());
        }
    }
}

/// An operand: the ciphertext of the caller, or a copy that was switched to another modulus.
#[derive(Debug)]
pub(super) enum Operand<'a> {
    Given(&'a Ciphertext),
    Switched(Intermediate<'a>),
}

impl Deref for Operand<'_> {
    type Target = Ciphertext;

    fn deref(&self) -> &Ciphertext {
        match self {
            Operand::Given(ciphertext) => ciphertext,
            Operand::Switched(ciphertext) => ciphertext,
        }
    }
}
