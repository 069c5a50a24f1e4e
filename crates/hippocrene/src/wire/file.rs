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
    FormatError, Kind, Limits, READ, WRITE,
    header::{HEADER_BYTES, Header, Summed, says_secret},
};
use crate::Error;

/// So many symbolic links are followed, one after the other: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// So many bytes of a name are in that of the temporary file beside it.
const MOST_OF_NAME: usize = 200;

/// So many bytes are read or written at a time: what is told to stop does so between them.
pub(super) const PIECE: usize = 1 << 26;

/// Writes `bytes` to a new file beside `path`, which then takes its place, so that no reader ever
/// sees half of it. Secret files can be read by their owner only, and take no other file's place. A
/// symbolic link stays one, and what is no file (a pipe, a device) is written to as it is.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, when `kind` is secret and there is a file, or when that
/// holds a secret key; [`Error::Stopped`] when it is told to stop.
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
        let written =
            OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
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
        true => Err(failed(
            path,
            io::Error::new(io::ErrorKind::InvalidInput, "this is there, and no file"),
        )),
        false => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source }
}

/// A file that is written in full before it takes its place.
///
/// Of several files, all can be written before the first takes its place. Until then a file has no
/// name where the system can do that (`O_TMPFILE` of Linux), so that a process that is killed
/// leaves nothing behind. Elsewhere it has a name beside its place, and is removed when it is
/// dropped.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    target: PathBuf,
    /// The name that it has beside its place, or is to have for a moment.
    temporary: PathBuf,
    /// Whether it has that name.
    is_named: bool,
    file: File,
    bytes: u64,
}

impl Staged {
    /// Writes a secret file beside `path`; [`Staged::create`] gives it its place.
    pub(super) fn secret(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        Self::write(path, bytes, true)
    }

    fn write(path: &Path, bytes: &[u8], secret: bool) -> Result<Self, Error> {
        let mut staged = Self::open(path, secret)?;
        for piece in bytes.chunks(PIECE) {
            staged.append(piece)?;
        }
        Ok(staged)
    }

    /// Writes a file that is not secret, which is handed over piece by piece: `write` is told what
    /// takes every piece.
    pub(super) fn in_pieces(
        path: &Path,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        check_replaceable(path)?;
        let mut staged = Self::open(path, false)?;
        let mut summed = Summed::default();
        write(&mut |piece| {
            summed.add(piece);
            staged.append(piece)
        })?;
        let (at, checksum) = summed.checksum();
        let ended =
            staged.file.seek(SeekFrom::Start(at)).and_then(|_| staged.file.write_all(&checksum));
        ended.and_then(|()| staged.file.sync_all()).map_err(|source| failed(path, source))?;
        Ok(staged)
    }

    /// An empty file for its place.
    fn open(path: &Path, secret: bool) -> Result<Self, Error> {
        Self::open_as(path, secret, true)
    }

    /// [`Staged::open`], without a name if `nameless` and the system can do that.
    fn open_as(path: &Path, secret: bool, nameless: bool) -> Result<Self, Error> {
        // A new secret takes no link's place, and is put nowhere else.
        let target = if secret {
            fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
        } else {
            destination(path).map_err(|source| failed(path, source))?
        };
        let temporary = temporary_beside(&target).map_err(|source| failed(path, source))?;
        let mode = if secret { 0o600 } else { 0o666 };
        let without_name = if nameless { nameless::open(&target, mode) } else { None };
        let is_named = without_name.is_none();
        let file = match without_name {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
                options.open(&temporary).map_err(|source| failed(path, source))?
            }
        };
        let staged = Staged { path: path.to_owned(), target, temporary, is_named, file, bytes: 0 };
        // Who may read the file that is there may read the next.
        let permissions =
            fs::metadata(&staged.target).ok().filter(|_| !secret).map(|there| there.permissions());
        permissions
            .map_or(Ok(()), |permissions| staged.file.set_permissions(permissions))
            .map_err(|source| failed(path, source))?;
        Ok(staged)
    }

    fn append(&mut self, piece: &[u8]) -> Result<(), Error> {
        stop::check(WRITE)?;
        // The system keeps what is written until then, and would write all of it at the end.
        let written = self.file.write_all(piece).and_then(|()| self.file.sync_all());
        written.map_err(|source| failed(&self.path, source))?;
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
    pub fn replace(mut self) -> Result<(), Error> {
        self.put().map_err(|source| failed(&self.path, source))
    }

    fn put(&mut self) -> io::Result<()> {
        if !self.is_named {
            match nameless::link(&self.file, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
            // Only a rename takes the place of a file. The name is there for that moment.
            nameless::link(&self.file, &self.temporary)?;
            self.is_named = true;
        }
        fs::rename(&self.temporary, &self.target)?;
        self.is_named = false;
        Ok(())
    }

    /// Takes its place where no file is. Of several at once, one succeeds.
    ///
    /// # Errors
    /// [`Error::Io`] when there is a file, or it cannot.
    pub fn create(self) -> Result<(), Error> {
        let Staged { path, target, temporary, .. } = &self;
        let created = if self.is_named {
            fs::hard_link(temporary, target).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                // Where there are no hard links, the name is taken by an empty file first.
                _ => {
                    File::create_new(target)?;
                    fs::rename(temporary, target).inspect_err(|_| {
                        let _ = fs::remove_file(target);
                    })
                }
            })
        } else {
            nameless::link(&self.file, target)
        };
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
        if self.is_named {
            // There is nothing to remove where it has been renamed.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Files without a name, which are gone when the process ends.
#[cfg(target_os = "linux")]
mod nameless {
    use std::{
        fs::{self, File},
        io,
        os::fd::AsRawFd,
        path::Path,
    };

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open as open_at};

    /// An empty file on the file system of `target`, if that can have one without a name.
    pub(super) fn open(target: &Path, mode: u32) -> Option<File> {
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open_at(folder, flags, Mode::from_raw_mode(mode)).ok()?);
        // By this path it gets its name. It is not there where /proc is not mounted.
        fs::metadata(path_of(&file)).is_ok().then_some(file)
    }

    /// Gives it a name that no other file has.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn path_of(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

/// Files without a name, which there are none of here.
#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::{fs::File, io, path::Path};

    pub(super) fn open(_: &Path, _: u32) -> Option<File> {
        None
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The mode of a file that others than its owner may read, where files have modes: a key that is
/// secret is not to be such a file. `None` for what is no file, such as a pipe.
///
/// # Examples
/// ```
/// # #[cfg(unix)] {
/// use std::{fs, os::unix::fs::PermissionsExt};
///
/// let path = std::env::temp_dir().join(format!("readable-{}", std::process::id()));
/// fs::write(&path, "a secret")?;
/// fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
/// assert_eq!(hippocrene::wire::readable_by_others(&path), Some(0o640));
/// fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
/// assert_eq!(hippocrene::wire::readable_by_others(&path), None);
/// fs::remove_file(&path)?;
/// # }
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn readable_by_others(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let there = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let mode = std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o777;
        (mode & 0o044 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Checks that `path` does not hold a secret key: nothing else is written over one, for what was
/// encrypted with it could never be read again. A key of another version, or one whose header is
/// damaged, is still one.
///
/// # Errors
/// [`Error::Io`] when it does.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let mut start = Vec::with_capacity(HEADER_BYTES);
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file());
    // What cannot be read is not known to hold one: whether it can be written is for who writes it
    // to find out.
    let read = is_file
        && File::open(path)
            .is_ok_and(|f| f.take(HEADER_BYTES as u64).read_to_end(&mut start).is_ok());
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
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file")
    })?;
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
            // By a signal, which may mean that this is to stop: that is asked again so much later
            // only.
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

/// The bytes of a file that this library wrote: the header first, and the rest only when it is of
/// one of the kinds expected (if there are any) and as long as the header says.
///
/// # Errors
/// [`Error::Format`] when the header is wrong, [`Error::Io`] when the file cannot be read,
/// [`Error::Stopped`] when it is told to stop.
pub fn read(path: &Path, kinds: &[Kind]) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_within(path, kinds, &Limits::default())
}

/// [`read`] within limits, which are checked against the header before the rest is read.
///
/// # Errors
/// As [`read`], and [`FormatError::Limit`] beyond the limits.
pub fn read_within(
    path: &Path,
    kinds: &[Kind],
    limits: &Limits,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let file = File::open(path).map_err(|source| failed(path, source))?;
    let metadata = file.metadata().map_err(|source| failed(path, source))?;
    read_stream_within(file, metadata.is_file().then_some(metadata.len()), path, kinds, limits)
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
    read_stream_within(stream, length, name, kinds, &Limits::default())
}

/// [`read_stream`] within limits, as [`read_within`].
///
/// # Errors
/// As [`read_within`].
pub fn read_stream_within(
    stream: impl Read,
    length: Option<u64>,
    name: &Path,
    kinds: &[Kind],
    limits: &Limits,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let fail = |source| stop::check(READ).map_or_else(Error::from, |()| failed(name, source));
    let mut stream = Pieces(stream);
    let mut start = Vec::with_capacity(HEADER_BYTES);
    stream.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut start).map_err(fail)?;
    let header = Header::read(&start)?;
    if !kinds.is_empty() {
        header.expect_any(kinds)?;
    }
    limits.check_header(&header)?;
    // What grows leaves copies behind in memory that was given back: a secret key has room from the
    // start.
    let mut bytes = Zeroizing::new(Vec::with_capacity(if header.kind.is_secret() {
        MOST_OF_SECRET
    } else {
        0
    }));
    if let Some(length) = length {
        header.check_length(length)?;
        // No larger than the file, and in one piece: nothing of a secret is left behind in memory
        // that was given back.
        let room =
            usize::try_from(length).ok().filter(|length| bytes.try_reserve_exact(*length).is_ok());
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

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// As on file systems of today and on those that know only names.
    #[test]
    fn files_take_their_place_at_once_with_and_without_a_name() {
        let folder = std::env::temp_dir().join(format!("hippocrene-staged-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for nameless in [false, true] {
            let path = folder.join(format!("file-{nameless}"));
            for content in ["first", "second"] {
                let before = names_in(&folder);
                let mut staged = Staged::open_as(&path, false, nameless).unwrap();
                staged.append(content.as_bytes()).unwrap();
                let named = names_in(&folder).len() - before.len();
                assert_eq!(named, usize::from(staged.is_named));
                assert!(!nameless || !cfg!(target_os = "linux") || !staged.is_named);
                staged.replace().unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), content);
            }
            let mut secret = Staged::open_as(&path, true, nameless).unwrap();
            secret.append(b"third").unwrap();
            let error = secret.create().unwrap_err();
            assert!(error.to_string().contains("exists already"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        }
        assert_eq!(names_in(&folder), ["file-false", "file-true"], "nothing is left beside them");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Memory that grows is given back with what was in it.
    #[test]
    fn secret_keys_of_unknown_length_have_room_from_the_start() {
        let key = ClientKey::generate(Preset::by_name("n12").unwrap()).unwrap();
        let bytes = key.to_bytes();
        let read = read_stream(&bytes[..], None, Path::new("a pipe"), &[Kind::SecretKey]).unwrap();
        assert!(*read == *bytes && read.capacity() >= MOST_OF_SECRET);
    }
}
