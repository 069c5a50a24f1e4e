//! The client of single bits, and the keys that it makes.

use std::sync::Arc;

use hippocrene_fhew::{GateKeys as Keys, GateParameters, GateSecretKey};
use hippocrene_ring::{Seed, Threads};
use hippocrene_rlwe::{Fingerprint, RlweError};

use super::{
    GateArray,
    array::{Bits, check_shape},
};
use crate::Error;

/// The secret key of a client of single bits.
///
/// It encrypts, decrypts and makes the [`GateKeys`] of the server.
///
/// ```no_run
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{GateClient, GateServer};
///
/// let client = GateClient::generate()?;
/// let server = GateServer::new(&client.evaluation_keys(1)?, 1)?; // holds no secret
///
/// let x = client.encrypt(&[true, true, false, false], &[4])?;
/// let y = client.encrypt(&[true, false, true, false], &[4])?;
/// let z = server.nand(&x, &y)?;
///
/// assert_eq!(client.decrypt(&z)?, [false, true, true, true]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GateClient {
    seed: Seed,
    secret: GateSecretKey,
}

impl GateClient {
    /// Generates a key from the operating system's entropy, with 128 bits of security.
    ///
    /// The parameters are [`GateParameters::standard`].
    ///
    /// # Errors
    /// [`Error::System`] when the operating system has no entropy.
    pub fn generate() -> Result<Self, Error> {
        Self::from_seed(GateParameters::standard()?, Seed::random()?)
    }

    /// Derives the key from a stored seed.
    ///
    /// # Errors
    /// None for the parameters of this library.
    pub fn from_seed(parameters: GateParameters, seed: Seed) -> Result<Self, Error> {
        let secret = GateSecretKey::from_seed(parameters, &seed)?;
        Ok(GateClient { seed, secret })
    }

    /// The seed that the key is derived from: **this is the secret itself**.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The parameters that the key encrypts with.
    pub fn parameters(&self) -> GateParameters {
        self.secret.parameters()
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.secret.fingerprint()
    }

    /// Makes the keys of the server on `threads` threads.
    ///
    /// # Errors
    /// [`Error::System`] when the operating system has no entropy, or the threads cannot be
    /// started.
    pub fn evaluation_keys(&self, threads: usize) -> Result<GateKeys, Error> {
        Ok(GateKeys::new(Keys::generate(&self.secret, &Threads::new(threads)?)?))
    }

    /// Encrypts bits as an array of shape `shape`, in row-major order.
    ///
    /// Each encrypted bit is one residue of the modulus, and the array has one seed.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of bits does not match the shape, [`Error::System`] when
    /// the operating system has no entropy.
    pub fn encrypt(&self, values: &[bool], shape: &[usize]) -> Result<GateArray, Error> {
        check_shape(shape, values.len(), "encrypt bits")?;
        let bits = Bits::Fresh(Arc::new(self.secret.encrypt(values)?));
        Ok(GateArray::new(shape.to_vec(), self.parameters(), bits))
    }

    /// Decrypts bits, in row-major order.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn decrypt(&self, array: &GateArray) -> Result<Vec<bool>, Error> {
        let (have, need) = (array.key(), self.fingerprint());
        if have != need {
            return Err(RlweError::KeyMismatch { operation: "decrypt", have, need }.into());
        }
        array.expanded()?.iter().map(|bit| Ok(self.secret.decrypt(bit)?)).collect()
    }
}

/// The keys of a [`GateServer`](super::GateServer), without any secret.
///
/// See [`GateClient`] for an example.
#[derive(Debug, Clone)]
pub struct GateKeys {
    inner: Keys,
}

impl GateKeys {
    /// Wraps keys of the scheme.
    pub fn new(inner: Keys) -> Self {
        GateKeys { inner }
    }

    /// The keys of the scheme.
    pub fn inner(&self) -> &Keys {
        &self.inner
    }

    /// The parameters that the keys were made for.
    pub fn parameters(&self) -> GateParameters {
        self.inner.parameters()
    }

    /// The public name of the secret key that they belong to.
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.rotation().keys()[1]
    }
}
