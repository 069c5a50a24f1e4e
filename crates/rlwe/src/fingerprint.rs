//! Short names of parameters and keys.

use std::fmt;

use zeroize::Zeroize;

/// Sixteen bytes that name a parameter set or a secret key: a truncated BLAKE3 hash. It says
/// nothing about what it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Fingerprint(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The hash of `data` in the given context (a fixed, unique string).
    pub fn of(context: &str, data: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.update(data).finalize().as_bytes()[..16]);
        // It holds what was hashed, which may be a secret.
        hasher.zeroize();
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}
