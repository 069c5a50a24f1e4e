//! `hippocrene tune`.

use crate::args::Tune;
use crate::console::Console;
use crate::error::CliError;
use hippocrene::profile::{self, Profile};
use serde::Serialize;
use std::fmt::{self, Display};
use std::path::PathBuf;

/// What was measured, and where it was written.
#[derive(Debug, Serialize)]
struct Tuned {
    #[serde(serialize_with = "crate::json::path")]
    path: PathBuf,
    /// Whether it is used from now on without being named.
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
            true => f.write_str("key switches are planned by it from now on"),
            false => write!(f, "key switches are planned by it when {} names it", profile::VARIABLE),
        }
    }
}

pub(super) fn run(tune: &Tune, console: &mut Console<'_>) -> Result<(), CliError> {
    let standard = profile::path();
    let path = tune.output.clone().or_else(|| standard.clone()).ok_or_else(|| {
        CliError::Usage("there is no folder for settings, as there is no home: say --output".to_owned())
    })?;
    super::check_output(&path, &[])?;
    let measured = console.counted("measure this machine", |progress| Ok(profile::measure(progress)?))?;
    profile::save(&path, &measured)?;
    let tuned = Tuned { in_use: standard.as_ref() == Some(&path), path, profile: measured };
    console.result(&tuned, &tuned)
}
