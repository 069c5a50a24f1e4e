//! The one trait of everything that can be written to bytes and files.

use std::{convert::Infallible, mem, path::Path};

use hippocrene_arrays::{
    Error, Session, Settings,
    files::{BYTES_PER_PIECE, Staged, WRITE, check_file, is_no_file},
};
use hippocrene_rlwe::{Fingerprint, stop};

use super::{
    FormatError, Kind, Limits,
    cursor::Cursor,
    file::{read_within, save},
    header::{self, HEADER_BYTES, Header, Summed},
    settings::{Security, read_settings, settings_bytes, write_settings},
};

/// Everything that has files: settings, keys, encrypted arrays, queries and replies.
///
/// `docs/reference/wire-format.md` describes the bytes. Only this library can implement the trait.
///
/// # Examples
/// ```
/// use hippocrene::{ClientKey, EncryptedArray, Preset, Stored};
///
/// let client = ClientKey::generate(Preset::by_name("n12")?.settings()?)?;
/// let bytes = client.encrypt(&[1.0, 2.0], &[2])?.to_bytes();
/// // Arrays are read with a session, keys with a number of threads, and settings with nothing.
/// let array = EncryptedArray::from_bytes(&bytes, client.session())?;
/// let again = ClientKey::from_bytes(&client.to_bytes(), 1)?;
/// assert!((again.decrypt(&array)?[1] - 2.0).abs() < 1e-6);
/// # Ok::<_, hippocrene::Error>(())
/// ```
pub trait Stored: Sized {
    /// The kind of the files.
    const KIND: Kind;

    /// The bytes of a file. Those of secret keys are wiped when they are dropped.
    type Bytes: From<Vec<u8>> + AsRef<[u8]>;

    /// The value that reading needs besides the bytes.
    ///
    /// It is the number of threads for keys with settings, and the [`Session`] for arrays and
    /// clusterings. Everything else is read with `()`.
    type With<'a>: Copy;

    /// Writes the file.
    ///
    /// # Errors
    /// The errors of `out`.
    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E>;

    /// Reads the payload of a file.
    ///
    /// # Errors
    /// As [`Stored::from_bytes`].
    fn decode(input: &mut Input<'_>, with: Self::With<'_>) -> Result<Self, Error>;

    /// Checks that this is not part of a simulation, since simulated arrays have no residues.
    ///
    /// # Errors
    /// [`Error::Argument`] when it is.
    fn check_stored(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the file as bytes.
    ///
    /// The bytes of a secret key are **the secret itself**. The bytes of a simulated array cannot
    /// be read back.
    fn to_bytes(&self) -> Self::Bytes {
        let Ok(bytes) = write(self, |_| Ok::<_, Infallible>(()));
        bytes
    }

    /// As [`Stored::to_bytes`], but can be stopped ([`crate::stoppable`]).
    ///
    /// # Errors
    /// [`Error::Stopped`] when a stop was requested.
    fn to_bytes_or_stop(&self) -> Result<Self::Bytes, Error> {
        Ok(write(self, |_| stop::check(WRITE))?)
    }

    /// Reads the bytes of a file. The security of settings is checked again.
    ///
    /// # Errors
    /// [`Error::Format`] when the bytes are not such a file, or were made with other parameters
    /// than those of the session. [`Error::Security`] when the parameter set is not secure.
    fn from_bytes(bytes: &[u8], with: Self::With<'_>) -> Result<Self, Error> {
        Self::from_bytes_within(bytes, with, &Limits::default())
    }

    /// As [`Stored::from_bytes`], within limits.
    ///
    /// They are checked before memory for residues is allocated.
    ///
    /// # Errors
    /// As [`Stored::from_bytes`], and [`FormatError::Limit`] beyond the limits.
    fn from_bytes_within(
        bytes: &[u8],
        with: Self::With<'_>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        read(bytes, with, limits, Security::Required)
    }

    /// As [`Stored::from_bytes`], but accepts parameter sets without security, for tests.
    ///
    /// **Nothing encrypted with such a set is secret.**
    ///
    /// # Errors
    /// As [`Stored::from_bytes`].
    fn from_bytes_insecure(bytes: &[u8], with: Self::With<'_>) -> Result<Self, Error> {
        read(bytes, with, &Limits::default(), Security::Waived)
    }

    /// Writes a file, all or nothing.
    ///
    /// Only its owner can read the file of a secret key, and it is never written over another.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written, [`Error::Argument`] for a simulated array,
    /// [`Error::Stopped`] when a stop was requested.
    fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        self.check_stored()?;
        // A pipe or a device cannot be written out of order, and the checksum comes before the
        // payload.
        match Self::KIND.is_secret() || is_no_file(path) {
            true => save(path, self.to_bytes_or_stop()?.as_ref(), Self::KIND),
            false => in_pieces(self, path)?.replace(),
        }
    }

    /// Writes a file next to `path`. The result can later be moved to `path`.
    ///
    /// # Errors
    /// As [`Stored::save`].
    fn stage(&self, path: impl AsRef<Path>) -> Result<Staged, Error> {
        let path = path.as_ref();
        check_file(path)?;
        self.check_stored()?;
        match Self::KIND.is_secret() {
            true => Staged::write(path, self.to_bytes_or_stop()?.as_ref(), true),
            false => in_pieces(self, path),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`Stored::from_bytes`], and [`Error::Io`] when the file cannot be read.
    fn load(path: impl AsRef<Path>, with: Self::With<'_>) -> Result<Self, Error> {
        Self::load_within(path, with, &Limits::default())
    }

    /// As [`Stored::load`], within limits.
    ///
    /// Kind, parameters and length are checked before the file is read beyond its header.
    ///
    /// # Errors
    /// As [`Stored::load`], and [`FormatError::Limit`] beyond the limits.
    fn load_within(
        path: impl AsRef<Path>,
        with: Self::With<'_>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut bytes = read_within(path.as_ref(), &[Self::KIND], limits)?;
        let loaded = Self::from_bytes_within(&bytes, with, limits);
        if !Self::KIND.is_secret() {
            // Wiping gigabytes would take as long as reading them.
            drop(mem::take(&mut *bytes));
        }
        loaded
    }
}

/// A file that is being written.
pub struct Output<'a, E> {
    /// The bytes so far, except those that were passed on.
    pub(super) bytes: Vec<u8>,
    /// The maximum number of bytes to allocate in advance.
    max_reserved: usize,
    /// Called from time to time; may take the bytes away.
    pass_on: &'a mut dyn FnMut(&mut Vec<u8>) -> Result<(), E>,
}

impl<E> Output<'_, E> {
    /// Writes the header, and returns the bytes for the payload of exactly `payload` bytes.
    ///
    /// Memory is allocated once, so that no copy of a secret stays behind.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        parameters: Fingerprint,
        key: Option<Fingerprint>,
        payload: u64,
    ) -> &mut Vec<u8> {
        self.bytes.reserve_exact((HEADER_BYTES + payload as usize).min(self.max_reserved));
        header::begin(&mut self.bytes, kind, parameters, key, payload);
        &mut self.bytes
    }

    /// As [`Output::begin`], for a key, and writes its settings. `payload` bytes follow.
    pub(super) fn begin_key(
        &mut self,
        kind: Kind,
        session: &Session,
        key: Fingerprint,
        payload: u64,
    ) -> &mut Vec<u8> {
        let settings = session.settings();
        let digest = settings.parameters().digest();
        let out = self.begin(kind, digest, Some(key), settings_bytes(settings) as u64 + payload);
        write_settings(out, settings);
        out
    }

    /// Passes on the bytes so far if they are many, and returns an error to stop.
    pub(super) fn pass_on(&mut self) -> Result<(), E> {
        (self.pass_on)(&mut self.bytes)
    }
}

/// A file that is being read.
pub struct Input<'a> {
    pub(super) header: Header,
    /// The payload.
    pub(super) cursor: Cursor<'a>,
    /// Bytes of the whole file.
    pub(super) bytes: u64,
    pub(super) limits: &'a Limits,
    security: Security,
}

impl<'a> Input<'a> {
    /// The payload as `what`, for errors, and the header.
    pub(super) fn parts(&mut self, what: &'static str) -> (&mut Cursor<'a>, &Header) {
        self.cursor.enter(what);
        (&mut self.cursor, &self.header)
    }

    /// Reads settings, and checks their security if that is required.
    pub(super) fn settings(&mut self) -> Result<Settings, Error> {
        read_settings(&mut self.cursor, &self.header, self.security)
    }

    /// Checks that the parameters are those of a session.
    pub(super) fn check_parameters(&self, session: &Session) -> Result<(), FormatError> {
        let (have, need) = (self.header.parameters, session.settings().parameters().digest());
        if have == need { Ok(()) } else { Err(FormatError::Parameters { have, need }) }
    }
}

fn write<T: Stored, E>(
    value: &T,
    mut pass_on: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
) -> Result<T::Bytes, E> {
    let mut out = Output { bytes: Vec::new(), max_reserved: usize::MAX, pass_on: &mut pass_on };
    value.encode(&mut out)?;
    header::finish(&mut out.bytes);
    Ok(out.bytes.into())
}

/// Writes a file piece by piece. Keys take gigabytes, so no second copy of them is kept in memory.
fn in_pieces<T: Stored>(value: &T, path: &Path) -> Result<Staged, Error> {
    let (mut staged, mut summed) = (Staged::open(path, false)?, Summed::default());
    let mut take = |bytes: &mut Vec<u8>| {
        if bytes.len() >= BYTES_PER_PIECE {
            summed.add(bytes);
            staged.append(bytes)?;
            bytes.clear();
        }
        stop::check(WRITE).map_err(Error::from)
    };
    let mut out =
        Output { bytes: Vec::new(), max_reserved: 2 * BYTES_PER_PIECE, pass_on: &mut take };
    value.encode(&mut out)?;
    let mut rest = out.bytes;
    if staged.bytes() == 0 {
        header::finish(&mut rest);
        staged.append(&rest)?;
    } else {
        summed.add(&rest);
        staged.append(&rest)?;
        let (position, checksum) = summed.checksum();
        staged.overwrite(position, &checksum)?;
    }
    Ok(staged)
}

fn read<T: Stored>(
    bytes: &[u8],
    with: T::With<'_>,
    limits: &Limits,
    security: Security,
) -> Result<T, Error> {
    let start = Header::read(bytes)?;
    start.expect(T::KIND)?;
    limits.check_header(&start)?;
    // Arrays check their memory themselves, once their fields are read.
    if limits.max_memory.is_some() && !Kind::ARRAYS.contains(&T::KIND) {
        limits.check_bytes(bytes)?;
    }
    let (header, payload) = Header::open(bytes)?;
    let cursor = Cursor::new(payload, "settings");
    let mut input = Input { header, cursor, bytes: bytes.len() as u64, limits, security };
    let value = T::decode(&mut input, with)?;
    input.cursor.expect_left(0)?;
    Ok(value)
}

impl Stored for Settings {
    const KIND: Kind = Kind::Settings;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let digest = self.parameters().digest();
        write_settings(out.begin(Self::KIND, digest, None, settings_bytes(self) as u64), self);
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        input.header.expect_no_key()?;
        input.settings()
    }
}
