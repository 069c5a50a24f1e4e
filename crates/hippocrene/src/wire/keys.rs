//! Files of keys.

use std::{collections::BTreeMap, path::Path};

use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{self as rlwe, Context, Parameters, SwitchingKey};
use zeroize::Zeroizing;

use super::{
    FormatError, Kind,
    cursor::Cursor,
    file,
    header::{self, Header},
    poly::Widths,
    settings::{Security, read_settings, settings_bytes, write_settings},
};
use crate::{ClientKey, Error, EvaluationKeys, PublicKey, Session};

/// Bytes of a seed.
pub(super) const SEED_BYTES: usize = 32;

/// The flag of evaluation keys that hold the relinearisation key.
const RELINEARISATION: u32 = 1;

/// A seed that is a secret: nothing of it stays behind.
fn secret_seed(cursor: &mut Cursor<'_>) -> Result<Seed, FormatError> {
    let bytes = Zeroizing::new(cursor.array()?);
    Ok(Seed::from_bytes(*bytes))
}

impl ClientKey {
    /// The key as bytes, in the format of `docs/wire-format.md`: **the secret itself**, wiped when dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let settings = self.session().settings();
        let payload = settings_bytes(settings) + SEED_BYTES;
        let digest = settings.parameters().digest();
        let mut out =
            Zeroizing::new(header::begin(Kind::SecretKey, digest, Some(self.fingerprint()), payload));
        write_settings(&mut out, settings);
        out.extend(self.seed().as_bytes());
        header::finish(&mut out);
        out
    }

    /// The key from bytes that [`ClientKey::to_bytes`] made, with so many threads. The security of its settings is checked again.
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not a secret key, [`Error::Security`] when its parameter set is not secure.
    pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Required)
    }

    /// [`ClientKey::from_bytes`] that takes parameter sets of no security: for tests. **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not a secret key.
    pub fn from_bytes_insecure(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Waived)
    }

    fn read(bytes: &[u8], threads: usize, security: Security) -> Result<Self, Error> {
        let (header, payload) = Header::open_as(bytes, Kind::SecretKey)?;
        let mut cursor = Cursor::new(payload, "settings");
        let settings = read_settings(&mut cursor, &header, security)?;
        cursor.enter("seed");
        cursor.expect_left(SEED_BYTES as u64)?;
        let key = ClientKey::from_seed(settings, secret_seed(&mut cursor)?, threads)?;
        if key.fingerprint() != header.key {
            return Err(FormatError::Key { have: header.key, need: key.fingerprint() }.into());
        }
        Ok(key)
    }

    /// Writes the key to a file that only its owner can read, all or nothing. **The file is the secret.**
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        file::save(path.as_ref(), &self.to_bytes(), Kind::SecretKey)
    }

    /// A key from a file.
    ///
    /// # Errors
    /// As [`ClientKey::from_bytes`], and [`Error::Io`] when the file cannot be read.
    pub fn load(path: impl AsRef<Path>, threads: usize) -> Result<Self, Error> {
        Self::from_bytes(&file::load(path.as_ref(), Kind::SecretKey)?, threads)
    }
}

impl PublicKey {
    /// The key as bytes, in the format of `docs/wire-format.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let settings = self.session().settings();
        let parameters = settings.parameters();
        let payload = settings_bytes(settings) + public_key_bytes(parameters) as usize;
        let mut out = header::begin(Kind::PublicKey, parameters.digest(), Some(self.key()), payload);
        write_settings(&mut out, settings);
        out.extend(self.inner().seed().as_bytes());
        Widths::of_moduli(parameters).write_poly(&mut out, self.inner().b(), parameters.top());
        header::finish(&mut out);
        out
    }

    /// The key from bytes that [`PublicKey::to_bytes`] made, with so many threads. The security of its settings is checked again.
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not a public key, [`Error::Security`] when its parameter set is not secure.
    pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Required)
    }

    /// [`PublicKey::from_bytes`] that takes parameter sets of no security: for tests. **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not a public key.
    pub fn from_bytes_insecure(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Waived)
    }

    fn read(bytes: &[u8], threads: usize, security: Security) -> Result<Self, Error> {
        let (header, payload) = Header::open_as(bytes, Kind::PublicKey)?;
        let mut cursor = Cursor::new(payload, "settings");
        let settings = read_settings(&mut cursor, &header, security)?;
        cursor.enter("public key");
        cursor.expect_left(public_key_bytes(settings.parameters()))?;
        let session = Session::new(settings, threads)?;
        let context = session.context().rlwe();
        let seed = Seed::from_bytes(cursor.array()?);
        let (widths, top) = (Widths::of_moduli(context.parameters()), context.parameters().top());
        let b = widths.read_poly(&mut cursor, context, top, "public key")?;
        let inner = rlwe::PublicKey::from_parts(context, header.key, seed, b)?;
        Ok(PublicKey::new(session, inner))
    }

    /// Writes the key to a file, all or nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        file::save(path.as_ref(), &self.to_bytes(), Kind::PublicKey)
    }

    /// A key from a file.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`], and [`Error::Io`] when the file cannot be read.
    pub fn load(path: impl AsRef<Path>, threads: usize) -> Result<Self, Error> {
        Self::from_bytes(&file::load(path.as_ref(), Kind::PublicKey)?, threads)
    }
}

impl EvaluationKeys {
    /// The keys as bytes, in the format of `docs/wire-format.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let settings = self.session().settings();
        let parameters = settings.parameters();
        let keys = self.inner();
        let contents = KeyContents {
            relinearisation: keys.relinearisation().is_some(),
            galois: keys.galois().keys().map(|g| *g as u32).collect(),
        };
        let payload =
            settings_bytes(settings) + contents.head_bytes() + contents.body_bytes(parameters) as usize;
        let mut out = header::begin(Kind::EvaluationKeys, parameters.digest(), Some(self.key()), payload);
        write_settings(&mut out, settings);
        contents.write(&mut out);
        let widths = Widths::of_moduli(parameters);
        for key in keys.relinearisation().into_iter().chain(keys.galois().values()) {
            out.extend(key.seed().as_bytes());
            for b in key.b() {
                widths.write_poly(&mut out, b, parameters.full());
            }
        }
        header::finish(&mut out);
        out
    }

    /// The keys from bytes that [`EvaluationKeys::to_bytes`] made, with so many threads. The security of their settings is checked
    /// again.
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not evaluation keys, [`Error::Security`] when their parameter set is not secure.
    pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Required)
    }

    /// [`EvaluationKeys::from_bytes`] that takes parameter sets of no security: for tests. **Nothing encrypted with such a set is
    /// secret.**
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not evaluation keys.
    pub fn from_bytes_insecure(bytes: &[u8], threads: usize) -> Result<Self, Error> {
        Self::read(bytes, threads, Security::Waived)
    }

    fn read(bytes: &[u8], threads: usize, security: Security) -> Result<Self, Error> {
        let (header, payload) = Header::open_as(bytes, Kind::EvaluationKeys)?;
        let mut cursor = Cursor::new(payload, "settings");
        let settings = read_settings(&mut cursor, &header, security)?;
        let contents = KeyContents::read(&mut cursor, settings.parameters())?;
        let session = Session::new(settings, threads)?;
        let context = session.context().rlwe();
        let relinearisation = match contents.relinearisation {
            true => Some(read_switching_key(&mut cursor, context, "relinearisation key")?),
            false => None,
        };
        let mut galois = BTreeMap::new();
        for element in contents.galois {
            galois.insert(element as usize, read_switching_key(&mut cursor, context, "Galois key")?);
        }
        let inner = rlwe::EvaluationKeys::from_parts(context, header.key, relinearisation, galois)?;
        Ok(EvaluationKeys::new(session, inner))
    }

    /// Writes the keys to a file, all or nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        file::save(path.as_ref(), &self.to_bytes(), Kind::EvaluationKeys)
    }

    /// Keys from a file.
    ///
    /// # Errors
    /// As [`EvaluationKeys::from_bytes`], and [`Error::Io`] when the file cannot be read.
    pub fn load(path: impl AsRef<Path>, threads: usize) -> Result<Self, Error> {
        Self::from_bytes(&file::load(path.as_ref(), Kind::EvaluationKeys)?, threads)
    }
}

/// What a public key takes after the settings.
pub(super) fn public_key_bytes(parameters: &Parameters) -> u64 {
    SEED_BYTES as u64 + Widths::of_moduli(parameters).poly_bytes(parameters.degree(), parameters.top())
}

/// What a switching key takes.
fn switching_key_bytes(parameters: &Parameters) -> u64 {
    let digits = parameters.digits(parameters.top()).count() as u64;
    SEED_BYTES as u64
        + digits * Widths::of_moduli(parameters).poly_bytes(parameters.degree(), parameters.full())
}

fn read_switching_key(
    cursor: &mut Cursor<'_>,
    context: &Context,
    what: &'static str,
) -> Result<SwitchingKey, Error> {
    let parameters = context.parameters();
    let widths = Widths::of_moduli(parameters);
    cursor.enter(what);
    let seed = Seed::from_bytes(cursor.array()?);
    let b = parameters
        .digits(parameters.top())
        .map(|_| widths.read_poly(cursor, context, parameters.full(), what))
        .collect::<Result<_, _>>()?;
    Ok(SwitchingKey::from_parts(context, seed, b)?)
}

/// Which keys a file of evaluation keys holds.
#[derive(Debug)]
pub(super) struct KeyContents {
    pub(super) relinearisation: bool,
    /// Galois elements, in ascending order.
    pub(super) galois: Vec<u32>,
}

impl KeyContents {
    fn head_bytes(&self) -> usize {
        8 + 4 * self.galois.len()
    }

    fn body_bytes(&self, parameters: &Parameters) -> u64 {
        let keys = self.galois.len() as u64 + u64::from(self.relinearisation);
        keys * switching_key_bytes(parameters)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let flags = if self.relinearisation { RELINEARISATION } else { 0 };
        out.extend(flags.to_le_bytes());
        out.extend((self.galois.len() as u32).to_le_bytes());
        for element in &self.galois {
            out.extend(element.to_le_bytes());
        }
    }

    /// Reads which keys there are, and checks that what is left is as long as they are.
    pub(super) fn read(cursor: &mut Cursor<'_>, parameters: &Parameters) -> Result<Self, FormatError> {
        cursor.enter("evaluation keys");
        let flags = cursor.u32()?;
        if flags > RELINEARISATION {
            return Err(FormatError::field("the flags of evaluation keys", flags, "0 or 1"));
        }
        // There are N - 1 odd numbers between 1 and 2N.
        let (count, most) = (cursor.u32()?, parameters.degree() as u32 - 1);
        if count > most {
            return Err(FormatError::field("the number of Galois keys", count, format!("at most {most}")));
        }
        let elements = cursor.take(4 * count as usize)?;
        let galois: Vec<u32> = elements.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let limit = 2 * parameters.degree() as u32;
        let mut least = 3;
        for &element in &galois {
            if !(least..limit).contains(&element) || element.is_multiple_of(2) {
                let need = format!("an odd number from {least} to {}", limit - 1);
                return Err(FormatError::field("a Galois element", element, need));
            }
            least = element + 2;
        }
        let contents = KeyContents { relinearisation: flags == RELINEARISATION, galois };
        cursor.expect_left(contents.body_bytes(parameters))?;
        Ok(contents)
    }
}
