//! The kinds of elements that encrypted arrays hold, and the ciphertexts that hold them.

use std::fmt::Debug;

use hippocrene_rlwe::{self as rlwe, Noise};

use crate::{Error, Fresh, Session};

/// A kind of elements of encrypted arrays: [`Numbers`](crate::Numbers),
/// [`Residues`](crate::Residues) or [`Bits`](crate::Bits).
///
/// Arrays and their storage are written once, for all three kinds. Every array carries a value of
/// this type with the properties that all of its elements share.
///
/// ```
/// use hippocrene::{Array, ClientKey, Elements, Error, Preset};
///
/// fn ciphertexts<F: Elements>(array: &Array<F>) -> usize {
///     array.bodies().len()
/// }
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// assert_eq!(ciphertexts(&client.encrypt(&[1.0; 5000], &[5000])?), 2); // of 4096 slots each
/// # Ok::<(), Error>(())
/// ```
pub trait Elements: Clone + Debug + PartialEq + Send + Sync {
    /// A full ciphertext.
    type Ciphertext: Clone + Debug + PartialEq + Send + Sync;
    /// A fresh ciphertext with one part replaced by a seed.
    type Seeded: Clone + Debug + Send + Sync;
    /// The fields that a ciphertext has besides those of an RLWE ciphertext.
    type Own: Copy + Debug + Send + Sync;

    /// The error of a seeded ciphertext, which is that of any fresh one.
    fn fresh_noise() -> Noise;

    /// The own fields of a ciphertext.
    fn own(ciphertext: &CiphertextBody<Self>) -> Self::Own;

    /// Assembles a full ciphertext from its parts.
    ///
    /// # Errors
    /// When the parts do not make a valid ciphertext.
    fn full(
        &self,
        session: &Session,
        inner: rlwe::Ciphertext,
        own: Self::Own,
    ) -> Result<Self::Ciphertext, Error>;

    /// Assembles a seeded ciphertext from its parts.
    ///
    /// # Errors
    /// When the parts do not make a valid ciphertext.
    fn seeded(
        &self,
        session: &Session,
        inner: rlwe::SeededCiphertext,
        own: Self::Own,
    ) -> Result<Self::Seeded, Error>;

    /// Returns the RLWE ciphertext.
    fn inner(ciphertext: &Self::Ciphertext) -> &rlwe::Ciphertext;

    /// Returns the RLWE ciphertext of a seeded ciphertext.
    fn inner_seeded(ciphertext: &Self::Seeded) -> &rlwe::SeededCiphertext;

    /// Expands a seeded ciphertext to a full one.
    fn expand(session: &Session, ciphertext: &Self::Seeded) -> Self::Ciphertext;

    /// True if an array of such elements may hold this ciphertext.
    fn fits(&self, ciphertext: &CiphertextBody<Self>) -> bool;

    /// Returns the same form without its interval, for an array of other elements.
    fn without_interval(self) -> Self {
        self
    }
}

/// One ciphertext of an array: a full one, or a fresh one of the secret key, which stores a seed
/// instead of one polynomial.
///
/// See [`Array`](crate::Array) for an example.
#[derive(Debug, Clone)]
pub enum CiphertextBody<F: Elements> {
    /// The two polynomials of the ciphertext.
    Full(F::Ciphertext),
    /// One polynomial, and a seed that the other one is expanded from. This is half of the size.
    Seeded(Fresh<F>),
}
