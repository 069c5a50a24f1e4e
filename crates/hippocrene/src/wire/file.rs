//! Files: written all or nothing, and read only when their header fits.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use hippocrene_rlwe::stop;
use zeroize::Zeroizing;

use super::{
    FormatError, Kind, READ, WRITE,
    header::{HEADER_BYTES, Header, Summed, says_secret},
};
use crate::Error;

/// So many symbolic links are followed, one after the other: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// So many bytes of a name are in that of the temporary file beside it.
const MOST_OF_NAME: usize = 200;

/// So many bytes are read or written at a time: what is told to stop does so between them.
pub(super) const PIECE: usize = 1 << 26;

/// Writes `bytes` to a new file beside `path`, which then takes its place, so that no reader ever sees half of it. Secret files can be
/// read by their owner only, and take no other file's place. A symbolic link stays one, and what is no file (a pipe, a device) is written to as it is.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, when `kind` is secret and there is a file, or when that holds a secret key; [`Error::Stopped`] when it is told to stop.
pub fn save(path: &Path, bytes: &[u8], kind: Kind) -> Result<(), Error> {
    if kind.is_secret() && !is_no_file(path) {
        return Staged::write(path, bytes, true)?.create();
    }
    write(path, bytes)
}

/// Writes a file that is not secret, whatever it holds, as [`save`] does.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, or when there is a secret key.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    check_replaceable(path)?;
    if is_no_file(path) {
        let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        return written.map_err(|source| failed(path, source));
    }
    Staged::write(path, bytes, false)?.replace()
}

/// Whether something else than a file is there.
pub(super) fn is_no_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// Checks that nothing but a file, if anything, is there.
///
/// # Errors
/// [`Error::Io`] when something else is.
pub(super) fn check_file(path: &Path) -> Result<(), Error> {
    match is_no_file(path) {
        true => Err(failed(path, io::Error::new(io::ErrorKind::InvalidInput, "this is there, and no file"))),
        false => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source }
}

/// A file that is written in full, under another name beside the path that it is for. It takes its place all at once, or is removed when it is
/// dropped: of several files, all can be written before the first takes its place.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    target: PathBuf,
    temporary: PathBuf,
    bytes: u64,
}

impl Staged {
    /// Writes a secret file beside `path`; [`Staged::create`] gives it its place.
    pub(super) fn secret(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        Self::write(path, bytes, true)
    }

    fn write(path: &Path, bytes: &[u8], secret: bool) -> Result<Self, Error> {
        let (mut staged, mut file) = Self::open(path, secret)?;
        for piece in bytes.chunks(PIECE) {
            staged.append(&mut file, piece)?;
        }
        Ok(staged)
    }

    /// Writes a file that is not secret, which is handed over piece by piece: `write` is told what takes every piece.
    pub(super) fn in_pieces(
        path: &Path,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        check_replaceable(path)?;
        let (mut staged, mut file) = Self::open(path, false)?;
        let mut summed = Summed::default();
        write(&mut |piece| {
            summed.add(piece);
            staged.append(&mut file, piece)
        })?;
        let (at, checksum) = summed.checksum();
        let ended = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&checksum));
        ended.and_then(|()| file.sync_all()).map_err(|source| failed(path, source))?;
        Ok(staged)
    }

    /// An empty file beside its place.
    fn open(path: &Path, secret: bool) -> Result<(Self, File), Error> {
        // A new secret takes no link's place, and is put nowhere else.
        let target = if secret {
            fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
        } else {
            destination(path).map_err(|source| failed(path, source))?
        };
        let temporary = temporary_beside(&target).map_err(|source| failed(path, source))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let file = options.open(&temporary).map_err(|source| failed(path, source))?;
        let staged = Staged { path: path.to_owned(), target, temporary, bytes: 0 };
        // Who may read the file that is there may read the next.
        let permissions =
            fs::metadata(&staged.target).ok().filter(|_| !secret).map(|there| there.permissions());
        permissions
            .map_or(Ok(()), |permissions| file.set_permissions(permissions))
            .map_err(|source| failed(path, source))?;
        Ok((staged, file))
    }

    fn append(&mut self, file: &mut File, piece: &[u8]) -> Result<(), Error> {
        stop::check(WRITE)?;
        // The system keeps what is written until then, and would write all of it at the end.
        file.write_all(piece).and_then(|()| file.sync_all()).map_err(|source| failed(&self.path, source))?;
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Where it is to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the place of the file that is there, if one is.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot.
    pub fn replace(self) -> Result<(), Error> {
        fs::rename(&self.temporary, &self.target).map_err(|source| failed(&self.path, source))
    }

    /// Takes its place where no file is. Of several at once, one succeeds.
    ///
    /// # Errors
    /// [`Error::Io`] when there is a file, or it cannot.
    pub fn create(self) -> Result<(), Error> {
        let Staged { path, target, temporary, .. } = &self;
        let created = fs::hard_link(temporary, target).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error),
            // Where there are no hard links, the name is taken by an empty file first.
            _ => {
                File::create_new(target)?;
                fs::rename(temporary, target).inspect_err(|_| {
                    let _ = fs::remove_file(target);
                })
            }
        });
        created.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => {
                let what = "it exists already, and is not written over";
                failed(path, io::Error::new(io::ErrorKind::AlreadyExists, what))
            }
            _ => failed(path, source),
        })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // There is nothing to remove where it has been renamed.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Checks that `path` does not hold a secret key: nothing else is written over one, for what was encrypted with it could never
/// be read again. A key of another version, or one whose header is damaged, is still one.
///
/// # Errors
/// [`Error::Io`] when it does.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let mut start = Vec::with_capacity(HEADER_BYTES);
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file());
    // What cannot be read is not known to hold one: whether it can be written is for who writes it to find out.
    let read = is_file
        && File::open(path).is_ok_and(|f| f.take(HEADER_BYTES as u64).read_to_end(&mut start).is_ok());
    if read && says_secret(&start) {
        let source = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it holds a secret key, which nothing else is written over",
        );
        return Err(Error::Io { path: path.display().to_string(), source });
    }
    Ok(())
}

/// Where symbolic links lead, whether there is a file or not.
fn destination(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|error| {
        let mut end = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(next) = fs::read_link(&end) else { return Ok(end) };
            end.pop();
            end.push(next);
        }
        Err(error)
    })
}

/// A name in the same folder that no one else uses, no longer than names may be.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file"))?;
    let name = name.to_string_lossy();
    let end = (0..=MOST_OF_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    let (process, count) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    Ok(path.with_file_name(format!(".{}.{process}.{count}.part", &name[..end])))
}

/// Reads a piece at a time.
struct Pieces<R>(R);

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        stop::check(READ).map_err(io::Error::other)?;
        let room = out.len().min(PIECE);
        let read = self.0.read(&mut out[..room]);
        if matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            // By a signal, which may mean that this is to stop: that is asked again so much later only.
            thread::sleep(stop::EVERY);
        }
        read
    }
}

/// Secret keys take no more bytes: they are settings, of 8 bytes for each prime, and seeds.
const MOST_OF_SECRET: usize = 1 << 14;

/// Reads a file of the kind expected, as [`read`] does.
pub(super) fn load(path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, Error> {
    read(path, &[kind])
}

/// The bytes of a file that this library wrote: the header first, and the rest only when it is of one of the kinds expected (if there are any) and as
/// long as the header says.
///
/// # Errors
/// [`Error::Format`] when the header is wrong, [`Error::Io`] when the file cannot be read, [`Error::Stopped`] when it is told to stop.
pub fn read(path: &Path, kinds: &[Kind]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let file = File::open(path).map_err(|source| failed(path, source))?;
    let metadata = file.metadata().map_err(|source| failed(path, source))?;
    read_stream(file, metadata.is_file().then_some(metadata.len()), path, kinds)
}

/// [`read`] from a stream, whose length may be known; `name` is what errors call it.
///
/// # Errors
/// As [`read`].
pub fn read_stream(
    stream: impl Read,
    length: Option<u64>,
    name: &Path,
    kinds: &[Kind],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let fail = |source| stop::check(READ).map_or_else(Error::from, |()| failed(name, source));
    let mut stream = Pieces(stream);
    let mut start = Vec::with_capacity(HEADER_BYTES);
    stream.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut start).map_err(fail)?;
    let header = Header::read(&start)?;
    if !kinds.is_empty() {
        header.expect_any(kinds)?;
    }
    // What grows leaves copies behind in memory that was given back: a secret key has room from the start.
    let mut bytes =
        Zeroizing::new(Vec::with_capacity(if header.kind.is_secret() { MOST_OF_SECRET } else { 0 }));
    if let Some(length) = length {
        header.check_length(length)?;
        // No larger than the file, and in one piece: nothing of a secret is left behind in memory that was given back.
        let room = usize::try_from(length).ok().filter(|length| bytes.try_reserve_exact(*length).is_ok());
        room.ok_or_else(|| {
            FormatError::field("the length of the file", length, "no more than there is memory for")
        })?;
    }
    bytes.extend(&start);
    stream.take(header.payload.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, Preset};

    /// Memory that grows is given back with what was in it.
    #[test]
    fn secret_keys_of_unknown_length_have_room_from_the_start() {
        let key = ClientKey::generate(Preset::by_name("n12").unwrap()).unwrap();
        let bytes = key.to_bytes();
        let read = read_stream(&bytes[..], None, Path::new("a pipe"), &[Kind::SecretKey]).unwrap();
        assert!(*read == *bytes && read.capacity() >= MOST_OF_SECRET);
    }
}
