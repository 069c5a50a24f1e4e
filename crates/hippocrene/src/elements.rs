//! What the elements of encrypted arrays are, and the ciphertexts that hold them.

use std::fmt::Debug;

use hippocrene_rlwe as rlwe;

use crate::{Fresh, Session};

/// What the elements of encrypted arrays are: [`Numbers`](crate::Numbers),
/// [`Residues`](crate::Residues) or [`Bits`](crate::Bits). What arrays are and how they are stored
/// is written once, for all.
///
/// A value of it goes with every array: it is what holds for all elements alike.
pub trait Elements: Clone + Debug + Send + Sync {
    /// A whole ciphertext.
    type Ciphertext: Clone + Debug + Send + Sync;
    /// A fresh ciphertext, half of it a seed.
    type Seeded: Clone + Debug + Send + Sync;

    /// The RLWE ciphertext.
    fn inner(ciphertext: &Self::Ciphertext) -> &rlwe::Ciphertext;

    /// The RLWE ciphertext of a seeded one.
    fn inner_seeded(ciphertext: &Self::Seeded) -> &rlwe::SeededCiphertext;

    /// The whole ciphertext of a seeded one.
    fn expand(session: &Session, ciphertext: &Self::Seeded) -> Self::Ciphertext;

    /// Whether a ciphertext can be one of an array of such elements.
    fn fits(&self, ciphertext: &CiphertextBody<Self>) -> bool;

    /// The same form without what is known of the interval of the elements, for an array of other
    /// elements.
    fn without_interval(self) -> Self {
        self
    }
}

/// One ciphertext of an array: whole, or fresh from the secret key with half of it a seed.
#[derive(Debug, Clone)]
pub enum CiphertextBody<F: Elements> {
    /// Both parts.
    Full(F::Ciphertext),
    /// One part and a seed: half of the size.
    Seeded(Fresh<F>),
}
