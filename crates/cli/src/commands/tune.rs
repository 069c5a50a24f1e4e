//! `hippocrene tune`.

use crate::args::Tune;
use crate::console::Console;
use crate::error::CliError;
use hippocrene::profile::{self, Profile};
use serde::Serialize;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

/// The result of `tune`.
#[derive(Debug, Serialize)]
struct Tuned {
    #[serde(serialize_with = "crate::json::path")]
    path: PathBuf,
    /// True if the profile is used from now on without being named.
    in_use: bool,
    profile: Profile,
}

impl Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: the profile of this machine with the kernel {}",
            self.path.display(),
            self.profile.kernel()
        )?;
        match self.in_use {
            true => f.write_str("key switches are planned with it from now on"),
            false => {
                write!(f, "key switches are planned with it if {} names it", profile::VARIABLE)
            }
        }
    }
}

/// Checks that a profile can be written to this path, before spending seconds on measurements.
fn check_room(path: &Path) -> Result<(), CliError> {
    const MAX_PROFILE_BYTES: usize = 1 << 14;
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder).map_err(|source| CliError::io("make", folder, source))?;
    }
    let trial = folder.join(format!(".hippocrene-tune.{}", std::process::id()));
    let written = fs::write(&trial, vec![0; MAX_PROFILE_BYTES]);
    // The trial file exists only if it could be made, so an error is ignored.
    let _ = fs::remove_file(&trial);
    written.map_err(|source| CliError::io("write", path, source))
}

pub(super) fn run(tune: &Tune, console: &mut Console<'_>) -> Result<(), CliError> {
    let standard = profile::path();
    let path = tune.output.clone().or_else(|| standard.clone()).ok_or_else(|| {
        CliError::Usage(
            "no folder for settings is known, since there is no home folder: use --output"
                .to_owned(),
        )
    })?;
    super::check_output(&path, &[])?;
    check_room(&path)?;
    let measured =
        console.counted("measure this machine", |progress| Ok(profile::measure(progress)?))?;
    profile::save(&path, &measured)?;
    // HIPPOCRENE_PROFILE=typical disables all profiles, including the new one.
    let in_use = standard.as_ref() == Some(&path) && profile::installed()?.is_some();
    let tuned = Tuned { in_use, path, profile: measured };
    console.result(&tuned, &tuned)
}
