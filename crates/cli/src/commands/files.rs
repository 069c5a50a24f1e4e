//! The files of keys in a folder: all of them are written, or none.

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

/// A file of other keys, which is left as it is.
#[derive(Debug, Serialize)]
pub(super) struct Stranger(#[serde(serialize_with = "crate::json::path")] PathBuf);

impl Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: left as it is, and of other keys than these", self.0.display())
    }
}

/// A process that a folder is shared with, on another machine or in another container, has written
/// to its part of a file later.
const STALE: Duration = Duration::from_secs(600);

/// Removes what runs that were stopped have left of a file beside it: `.NAME.PROCESS.NUMBER.part`,
/// where the system tells that the process has ended, and nothing was written for a while.
pub(super) fn remove_partial(path: &Path) {
    // Links lead to where the file is written.
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
        let is_stale = written.and_then(|at| at.elapsed().ok()).is_some_and(|since| since > STALE);
        if written_so && is_stale && !processes.join(process).exists() {
            // What cannot be removed is in no one's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A folder that takes the files of keys. Where it was made for them and they do not come, it goes
/// when this is dropped.
#[derive(Debug)]
pub(super) struct Folder<'a> {
    path: &'a Path,
    /// Whether files that are there are replaced.
    force: bool,
    /// The folders that were made, the innermost first.
    made: Vec<&'a Path>,
}

impl<'a> Folder<'a> {
    /// Makes the folder, where there is none, for files of these names.
    pub(super) fn new(path: &'a Path, names: &[&str], force: bool) -> Result<Self, CliError> {
        for file in names.iter().map(|name| path.join(name)) {
            if file.exists() && !force {
                let what = format!("{} exists already: say --force to replace it", file.display());
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

    /// Files of keys in the folder that are neither of these names nor of this key: what is made
    /// here leaves them as they are.
    pub(super) fn strangers(&self, names: &[&str], key: &str) -> Vec<Stranger> {
        let is_stranger = |path: &PathBuf| {
            let told = wire::read(path, &[]).and_then(|bytes| wire::inspect(&bytes));
            told.is_ok_and(|told| {
                let leads_to = told.transfer.map(|second| second.key);
                told.key.as_deref() != Some(key) && leads_to.as_deref() != Some(key)
            })
        };
        let others =
            NAMES.into_iter().filter(|name| !names.contains(name)).map(|name| self.path(name));
        others.filter(|path| path.is_file() && is_stranger(path)).map(Stranger).collect()
    }

    /// The path of one of the files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Gives files that are written their places: those of a secret key stand first, each with what
    /// it holds.
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
            // Of several commands at once, the files of one take their places after those of
            // another. Where there are no locks, they may mix.
            let _alone = File::open(self.path).and_then(|folder| folder.lock().map(|()| folder));
            // A secret is the last to be replaced: the others can be made of it again.
            staged.into_iter().rev().try_for_each(|(_, staged)| staged.replace())?;
            return Ok(written);
        }
        for (at, (_, staged)) in staged.into_iter().enumerate() {
            if let Err(error) = staged.create() {
                for file in &written[..at] {
                    // The failure itself is what counts.
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
            // This leaves folders that hold anything.
            let _ = fs::remove_dir(folder);
        }
    }
}
