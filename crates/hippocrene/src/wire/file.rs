//! Files that are written all or nothing, and read only if their header fits.

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

/// Maximum number of symbolic links that are followed in a row, which is the limit of Linux.
const MOST_LINKS: usize = 40;

/// Maximum number of bytes of a file's name that its temporary file's name repeats.
const MOST_OF_NAME: usize = 200;

/// Number of bytes that are read or written at a time. Stop requests are checked in between.
pub(super) const PIECE: usize = 1 << 26;

/// Writes `bytes` to a new file beside `path`, which then replaces `path`.
///
/// So no reader ever sees half of a file. Secret files are readable by their owner only, and do not
/// replace another file. A symbolic link stays one. Anything that is not a file, such as a pipe or
/// a device, is written to directly.
///
/// # Errors
/// [`Error::Io`] when the file cannot be written, when `kind` is secret and a file exists, or when
/// the existing file holds a secret key. [`Error::Stopped`] when a stop was requested.
pub fn save(path: &Path, bytes: &[u8], kind: Kind) -> Result<(), Error> {
    if kind.is_secret() && !is_no_file(path) {
        return Staged::write(path, bytes, true)?.create();
    }
    write(path, bytes)
}

/// Writes a file that is not secret, whatever its contents, as [`save`] does.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, or when the existing file holds a secret key.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    check_replaceable(path)?;
    if is_no_file(path) {
        let written =
            OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        return written.map_err(|source| failed(path, source));
    }
    Staged::write(path, bytes, false)?.replace()
}

/// True if something exists at this path that is not a file.
pub(super) fn is_no_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// Checks that a file or nothing exists at this path.
///
/// # Errors
/// [`Error::Io`] when something else exists there.
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
/// Several files can all be written before the first one takes its place. On Linux a file has no
/// name until then (`O_TMPFILE`), if the file system supports it. So a process that is killed
/// leaves nothing behind. Elsewhere it has a temporary name beside its place, and is removed when
/// it is dropped.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    target: PathBuf,
    /// The temporary name beside its place, which a nameless file gets only for a moment.
    temporary: PathBuf,
    /// True if the file has that name now.
    is_named: bool,
    file: File,
    bytes: u64,
}

impl Staged {
    /// Writes a secret file beside `path`. [`Staged::create`] moves it to its place.
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

    /// Writes a file that is not secret piece by piece.
    ///
    /// `write` gets a function that accepts the pieces.
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

    /// Opens an empty file for this path.
    fn open(path: &Path, secret: bool) -> Result<Self, Error> {
        Self::open_as(path, secret, true)
    }

    /// As [`Staged::open`], but without a name if `nameless` is set and the system supports that.
    fn open_as(path: &Path, secret: bool, nameless: bool) -> Result<Self, Error> {
        // A new secret neither replaces a link nor is written anywhere else.
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
        // The new file gets the permissions of the file that it replaces.
        let permissions =
            fs::metadata(&staged.target).ok().filter(|_| !secret).map(|there| there.permissions());
        permissions
            .map_or(Ok(()), |permissions| staged.file.set_permissions(permissions))
            .map_err(|source| failed(path, source))?;
        Ok(staged)
    }

    fn append(&mut self, piece: &[u8]) -> Result<(), Error> {
        stop::check(WRITE)?;
        // Syncing each piece keeps the system from delaying all writes until the end.
        let written = self.file.write_all(piece).and_then(|()| self.file.sync_all());
        written.map_err(|source| failed(&self.path, source))?;
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// The path that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Moves the file to its place, replacing the file that exists there, if any.
    ///
    /// # Errors
    /// [`Error::Io`] when that fails.
    pub fn replace(mut self) -> Result<(), Error> {
        self.put().map_err(|source| failed(&self.path, source))
    }

    fn put(&mut self) -> io::Result<()> {
        if !self.is_named {
            match nameless::link(&self.file, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
            // Only a rename can replace a file, so the file gets a temporary name first.
            nameless::link(&self.file, &self.temporary)?;
            self.is_named = true;
        }
        fs::rename(&self.temporary, &self.target)?;
        self.is_named = false;
        Ok(())
    }

    /// Moves the file to its place if no file exists there.
    ///
    /// If several processes do this at once, one succeeds.
    ///
    /// # Errors
    /// [`Error::Io`] when a file exists there, or the move fails.
    pub fn create(self) -> Result<(), Error> {
        let Staged { path, target, temporary, .. } = &self;
        let created = if self.is_named {
            fs::hard_link(temporary, target).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                // Without hard links, an empty file reserves the name first.
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
            // After a rename there is nothing to remove, so an error is ignored.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Files without a name, which disappear when the process ends.
#[cfg(target_os = "linux")]
mod nameless {
    use std::{
        fs::{self, File},
        io,
        os::fd::AsRawFd,
        path::Path,
    };

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open as open_at};

    /// An empty file on the file system of `target`, if that supports files without a name.
    pub(super) fn open(target: &Path, mode: u32) -> Option<File> {
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open_at(folder, flags, Mode::from_raw_mode(mode)).ok()?);
        // The file gets its name through this path, which is missing if /proc is not mounted.
        fs::metadata(path_of(&file)).is_ok().then_some(file)
    }

    /// Gives the file a name that no other file has.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn path_of(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

/// Files without a name, which are not supported on this system.
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

/// The mode of a file that others than its owner may read, on systems where files have modes.
///
/// A secret key should not be such a file. `None` if only the owner can read it, or for anything
/// that is not a file, such as a pipe.
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

/// Checks that `path` does not hold a secret key.
///
/// Nothing else may overwrite a secret key, because anything encrypted with it would be lost. A key
/// of another version, or one whose header is damaged, still counts.
///
/// # Errors
/// [`Error::Io`] when it holds a secret key.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let mut start = Vec::with_capacity(HEADER_BYTES);
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file());
    // A file that cannot be read is not known to hold a key. Whether it can be written is left to
    // the writer.
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

/// The path that symbolic links lead to, whether or not a file exists there.
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

/// A unique name in the same folder, within the length limit of file names.
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

/// Reads at most `PIECE` bytes at a time.
struct Pieces<R>(R);

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        stop::check(READ).map_err(io::Error::other)?;
        let room = out.len().min(PIECE);
        let read = self.0.read(&mut out[..room]);
        if matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            // A signal interrupted the read, perhaps to request a stop. That is checked again only
            // after this delay.
            thread::sleep(stop::EVERY);
        }
        read
    }
}

/// Maximum number of bytes of a secret key file. It holds settings, with 8 bytes for each prime,
/// and seeds.
const MOST_OF_SECRET: usize = 1 << 14;

/// Reads a file of the expected kind, as [`read`] does.
pub(super) fn load(path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, Error> {
    read(path, &[kind])
}

/// Reads the bytes of a file that this library wrote.
///
/// The header is read first. The rest is read only if the kind is one of `kinds`, or `kinds` is
/// empty, and the file is as long as the header says.
///
/// # Errors
/// [`Error::Format`] when the header is wrong, [`Error::Io`] when the file cannot be read,
/// [`Error::Stopped`] when a stop was requested.
pub fn read(path: &Path, kinds: &[Kind]) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_within(path, kinds, &Limits::default())
}

/// As [`read`], within limits that are checked against the header before the rest is read.
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

/// As [`read`], from a stream of known or unknown length. Errors call the stream `name`.
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

/// As [`read_stream`], within limits like those of [`read_within`].
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
    // A growing buffer leaves copies in freed memory, so a secret key gets its full capacity at
    // once.
    let mut bytes = Zeroizing::new(Vec::with_capacity(if header.kind.is_secret() {
        MOST_OF_SECRET
    } else {
        0
    }));
    if let Some(length) = length {
        header.check_length(length)?;
        // The buffer is no larger than the file and in one piece, so no part of a secret stays in
        // freed memory.
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

    /// Simulates current file systems, and those that do not support files without a name.
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

    /// A growing buffer leaves copies of its contents in freed memory.
    #[test]
    fn secret_keys_of_unknown_length_have_room_from_the_start() {
        let key = ClientKey::generate(Preset::by_name("n12").unwrap()).unwrap();
        let bytes = key.to_bytes();
        let read = read_stream(&bytes[..], None, Path::new("a pipe"), &[Kind::SecretKey]).unwrap();
        assert!(*read == *bytes && read.capacity() >= MOST_OF_SECRET);
    }
}
