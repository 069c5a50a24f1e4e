//! The files of keys in a folder. Either all of them are written, or none.

use crate::console::size;
use crate::error::CliError;
use hippocrene::wire::{self, Staged};
use serde::Serialize;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    holds: &'static str,
    #[serde(serialize_with = "crate::json::path")]
    path: PathBuf,
    bytes: u64,
}

impl Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { holds, path, bytes } = self;
        write!(f, "{}: {holds}, {}", path.display(), size(*bytes))
    }
}

/// The names of files of keys.
const NAMES: [&str; 4] = ["client.key", "public.key", "evaluation.keys", "transfer.key"];

/// An existing file of other keys, which stays as it is.
#[derive(Debug, Serialize)]
pub(super) struct ForeignFile(#[serde(serialize_with = "crate::json::path")] PathBuf);

impl Display for ForeignFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: belongs to other keys, and is left as it is", self.0.display())
    }
}

/// The time after which a partial file counts as abandoned.
///
/// A process that shares the folder, from another machine or container, writes to its partial file
/// more often than this. Its process number is not visible here.
const STALE_AFTER: Duration = Duration::from_secs(600);

/// Removes the partial files of a file that stopped runs have left.
///
/// Their names are `.NAME.PROCESS.NUMBER.part`. A partial file is removed if the system shows that
/// its process has ended, and nothing was written to it for `STALE_AFTER`.
pub(super) fn remove_partial(path: &Path) {
    // A link leads to the folder where the file is really written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let processes = Path::new("/proc");
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(here) else { return };
    if !processes.join("self").exists() {
        return;
    }
    let start = format!(".{}.", name.to_string_lossy());
    for entry in entries.flatten() {
        let there = entry.file_name();
        let numbers =
            there.to_str().and_then(|there| there.strip_prefix(&start)?.strip_suffix(".part"));
        let Some((process, number)) = numbers.and_then(|numbers| numbers.split_once('.')) else {
            continue;
        };
        let written_so = process.parse::<u32>().is_ok() && number.parse::<u64>().is_ok();
        let written = entry.metadata().and_then(|there| there.modified()).ok();
        let is_stale =
            written.and_then(|at| at.elapsed().ok()).is_some_and(|since| since > STALE_AFTER);
        if written_so && is_stale && !processes.join(process).exists() {
            // A partial file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A folder for files of keys.
///
/// If it was made for them and they are not written, it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Folder<'a> {
    path: &'a Path,
    /// True if existing files are replaced.
    force: bool,
    /// The folders that were made, the innermost first.
    made: Vec<&'a Path>,
}

impl<'a> Folder<'a> {
    /// Makes the folder if it does not exist, for files of these names.
    pub(super) fn new(path: &'a Path, names: &[&str], force: bool) -> Result<Self, CliError> {
        for file in names.iter().map(|name| path.join(name)) {
            if file.exists() && !force {
                let what = format!(
                    "{} exists already. Choose another folder with --output, or replace it with \
                     --force: arrays of a replaced secret key can no longer be decrypted.",
                    file.display()
                );
                return Err(CliError::Usage(what));
            }
            if file.is_dir() {
                return Err(CliError::io("write", &file, io::ErrorKind::IsADirectory.into()));
            }
        }
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let folder = Folder { path, force, made: path.ancestors().take_while(missing).collect() };
        fs::create_dir_all(path).map_err(|source| CliError::io("make", path, source))?;
        names.iter().for_each(|name| remove_partial(&path.join(name)));
        Ok(folder)
    }

    /// Existing files of keys in the folder that have other names than these and belong to another
    /// key.
    ///
    /// This run leaves them as they are.
    pub(super) fn foreign_files(&self, names: &[&str], key: &str) -> Vec<ForeignFile> {
        let is_foreign = |path: &PathBuf| {
            let inspection = wire::read(path, &[]).and_then(|bytes| wire::inspect(&bytes));
            inspection.is_ok_and(|file| {
                let leads_to = file.transfer.map(|second| second.key);
                file.key.as_deref() != Some(key) && leads_to.as_deref() != Some(key)
            })
        };
        let others =
            NAMES.into_iter().filter(|name| !names.contains(name)).map(|name| self.path(name));
        others.filter(|path| path.is_file() && is_foreign(path)).map(ForeignFile).collect()
    }

    /// The path of one of the files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Moves written files to their places, and describes them.
    ///
    /// The files of a secret key must come first.
    pub(super) fn place(
        &self,
        staged: Vec<(&'static str, Staged)>,
    ) -> Result<Vec<Written>, CliError> {
        let written: Vec<Written> = staged
            .iter()
            .map(|(holds, file)| Written {
                holds,
                path: file.path().to_owned(),
                bytes: file.bytes(),
            })
            .collect();
        if self.force {
            // The lock lets concurrent commands replace their files one after the other. Without
            // locks, files of several commands may mix.
            let _alone = File::open(self.path).and_then(|folder| folder.lock().map(|()| folder));
            // The secret is replaced last, since the other keys can be made from it again.
            staged.into_iter().rev().try_for_each(|(_, staged)| staged.replace())?;
            return Ok(written);
        }
        for (at, (_, staged)) in staged.into_iter().enumerate() {
            if let Err(error) = staged.create() {
                for file in &written[..at] {
                    // The first failure is reported, so errors in removing files are ignored.
                    let _ = fs::remove_file(&file.path);
                }
                return Err(error.into());
            }
        }
        Ok(written)
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        for folder in &self.made {
            // Folders that are not empty stay.
            let _ = fs::remove_dir(folder);
        }
    }
}
