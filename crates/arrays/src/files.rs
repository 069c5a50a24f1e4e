//! Files that are written all or nothing.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use hippocrene_rlwe::stop;

use crate::{
    Error,
    format::{KIND_AND_FLAGS, says_secret},
};

/// The name of the operation in errors about stop requests.
pub const WRITE: &str = "write";

/// Maximum number of symbolic links that are followed in a row, which is the limit of Linux.
const MAX_SYMBOLIC_LINKS: usize = 40;

/// Maximum number of bytes of a file's name that its temporary file's name repeats.
const MOST_OF_NAME: usize = 200;

/// Number of bytes that are read or written at a time. Stop requests are checked in between.
pub const BYTES_PER_PIECE: usize = 1 << 26;

/// Writes `bytes` to a new file in the folder of `path`, which then replaces `path`.
///
/// So no reader ever sees half of a file. A symbolic link stays one. Anything that is not a file,
/// such as a pipe or a device, is written to directly. The file may be read by others than its
/// owner, so `bytes` must hold no secret.
///
/// # Errors
/// [`Error::Io`] when it cannot be written, or when the existing file holds a secret key.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if is_no_file(path) {
        let written =
            OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        return written.map_err(|source| failed(path, source));
    }
    Staged::write(path, bytes, false)?.replace()
}

/// True if something exists at this path that is not a file.
pub fn is_no_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// Checks that a file or nothing exists at this path.
///
/// # Errors
/// [`Error::Io`] when something else exists there.
pub fn check_file(path: &Path) -> Result<(), Error> {
    match is_no_file(path) {
        true => Err(failed(
            path,
            io::Error::new(io::ErrorKind::InvalidInput, "this is there, and no file"),
        )),
        false => Ok(()),
    }
}

/// The error of a file at this path.
pub fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source }
}

/// A file that is written in full before it replaces the file at its path.
///
/// Several files can all be written before the first one is put in its place. On Linux a file has
/// no name until then (`O_TMPFILE`), if the file system supports it. So a process that is killed
/// leaves nothing behind. On other systems the file has a temporary name in the same folder, and is
/// removed when it is dropped.
///
/// ```
/// use hippocrene_arrays::files::Staged;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let path = std::env::temp_dir().join(format!("hippocrene-staged-{}", std::process::id()));
/// let staged = Staged::write(&path, b"all of it", false)?;
/// assert!(!path.exists());
/// staged.replace()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    target: PathBuf,
    /// A temporary name in the folder of the target. A file without a name gets it only for the
    /// moment before it replaces the target.
    temporary: PathBuf,
    /// True if the file has the temporary name now.
    is_named: bool,
    file: File,
    bytes: u64,
}

impl Staged {
    /// Writes a file in the folder of `path`. Only its owner can read it if it is `secret`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written, [`Error::Stopped`] when a stop was requested.
    pub fn write(path: &Path, bytes: &[u8], secret: bool) -> Result<Self, Error> {
        let mut staged = Self::open(path, secret)?;
        for piece in bytes.chunks(BYTES_PER_PIECE) {
            staged.append(piece)?;
        }
        Ok(staged)
    }

    /// Opens an empty file in the folder of `path`. Only its owner can read it if it is `secret`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be created, or as [`check_replaceable`] if it is not secret.
    pub fn open(path: &Path, secret: bool) -> Result<Self, Error> {
        if !secret {
            check_replaceable(path)?;
        }
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

    /// Appends bytes to the file.
    ///
    /// # Errors
    /// [`Error::Io`] when they cannot be written, [`Error::Stopped`] when a stop was requested.
    pub fn append(&mut self, piece: &[u8]) -> Result<(), Error> {
        stop::check(WRITE)?;
        // Syncing each piece keeps the system from delaying all writes until the end.
        let written = self.file.write_all(piece).and_then(|()| self.file.sync_all());
        written.map_err(|source| failed(&self.path, source))?;
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Replaces bytes at a position of the file.
    ///
    /// # Errors
    /// [`Error::Io`] when they cannot be written.
    pub fn overwrite(&mut self, position: u64, bytes: &[u8]) -> Result<(), Error> {
        let written =
            self.file.seek(SeekFrom::Start(position)).and_then(|_| self.file.write_all(bytes));
        written.and_then(|()| self.file.sync_all()).map_err(|source| failed(&self.path, source))
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

/// Checks that `path` does not hold a secret key.
///
/// Nothing else may overwrite a secret key, because anything encrypted with it would be lost. A key
/// of another version, or one whose header is damaged, still counts.
///
/// # Errors
/// [`Error::Io`] when it holds a secret key.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let mut start = Vec::with_capacity(KIND_AND_FLAGS.end);
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file());
    // A file that cannot be read is not known to hold a key. Whether it can be written is left to
    // the writer.
    let read = is_file
        && File::open(path)
            .is_ok_and(|f| f.take(KIND_AND_FLAGS.end as u64).read_to_end(&mut start).is_ok());
    if read && says_secret(&start) {
        let source = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it holds a secret key, which no other file may replace",
        );
        return Err(Error::Io { path: path.display().to_string(), source });
    }
    Ok(())
}

/// The path that symbolic links lead to, whether or not a file exists there.
fn destination(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|error| {
        let mut end = path.to_owned();
        for _ in 0..MAX_SYMBOLIC_LINKS {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
