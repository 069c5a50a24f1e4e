//! Short names of parameters and keys.

use std::fmt;

use serde::{Serialize, Serializer};
use zeroize::Zeroize;

/// A name of a parameter set or a secret key: 16 bytes of a truncated BLAKE3 hash.
///
/// It reveals nothing about a key, which has enough entropy.
///
/// ```
/// use hippocrene_rlwe::Fingerprint;
///
/// let fingerprint = Fingerprint::of("an example of the documentation", b"data");
/// assert_eq!(Fingerprint::from_bytes(*fingerprint.as_bytes()), fingerprint);
/// assert_eq!(fingerprint.to_string().len(), 32);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Fingerprint(bytes)
    }

    /// Returns the 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the hash of `data` in `context`, a fixed string that no other use shares.
    pub fn of(context: &str, data: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.update(data).finalize().as_bytes()[..16]);
        // The hasher holds the hashed data, which may be a secret.
        hasher.zeroize();
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Written as its hexadecimal digits.
impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}
