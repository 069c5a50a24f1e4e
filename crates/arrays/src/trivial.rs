//! Arrays that a server makes of its own values, without a key.

use hippocrene_ckks::Values;
use hippocrene_rlwe::Fingerprint;

use crate::{
    CiphertextBody, EncryptedArray, Encryption, Error, IntegerArray, Interval, Session,
    encryption::encrypt_elements, integers::encrypt_integers,
};

/// Makes arrays that have the form of encrypted ones, and that everyone can read.
///
/// Their ciphertexts are trivial: one part is the message, and the other one is zero. A server
/// computes on its own values and on encrypted ones alike. Results that depend on encrypted values
/// are encrypted.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Encryption, KeyRequest, Preset, Server, TrivialEncryption};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let server = Server::new(client.evaluation_keys(&KeyRequest::default())?)?;
/// let x = client.encrypt(&[1.0, 2.0], &[2])?;
///
/// let own = TrivialEncryption::new(server.session().clone(), server.key());
/// let weights = own.encrypt_with((&[0.5, -1.0][..]).into(), &[2], &Encryption::default())?;
/// let products = client.decrypt(&server.mul(&x, &weights)?)?;
/// assert!((products[1] + 2.0).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TrivialEncryption {
    session: Session,
    key: Fingerprint,
}

impl TrivialEncryption {
    /// Makes arrays for computations with others of the key with this fingerprint.
    pub fn new(session: Session, key: Fingerprint) -> Self {
        TrivialEncryption { session, key }
    }

    /// The session, with its settings and context.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Makes an array of these elements, in row-major order.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_with`](crate::ClientKey::encrypt_with).
    pub fn encrypt_with(
        &self,
        values: Values<'_>,
        shape: &[usize],
        how: &Encryption,
    ) -> Result<EncryptedArray, Error> {
        let context = self.session.context();
        encrypt_elements(&self.session, values, shape, how, |plaintext| {
            Ok(CiphertextBody::Full(context.encrypt_trivially(self.key, plaintext)?))
        })
    }

    /// Makes an array of these integers, in row-major order. They are declared to lie in `interval`,
    /// if there is one.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_integers_within`](crate::ClientKey::encrypt_integers_within).
    pub fn encrypt_integers(
        &self,
        values: &[i64],
        shape: &[usize],
        interval: Option<Interval>,
    ) -> Result<IntegerArray, Error> {
        encrypt_integers(&self.session, values, shape, interval, |context, plaintext| {
            Ok(CiphertextBody::Full(context.encrypt_trivially(self.key, plaintext)?))
        })
    }
}
