//! `hippocrene second`.

use super::files::{Folder, ForeignFile, Written};
use super::{check_apart, check_rotations};
use crate::args::{Rotations, Second};
use crate::console::Console;
use crate::error::CliError;
use crate::streams;
use hippocrene::{ClientKey, KeyRequest, Stored};
use serde::Serialize;
use std::fmt::{self, Display};

/// The result of `second`.
#[derive(Debug, Serialize)]
struct Made {
    first: String,
    key: String,
    files: Vec<Written>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    foreign_files: Vec<ForeignFile>,
}

impl Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {}, the second of {}", self.key, self.first)?;
        self.files.iter().try_for_each(|file| write!(f, "\n{file}"))?;
        self.foreign_files.iter().try_for_each(|file| write!(f, "\n{file}"))
    }
}

pub(super) fn run(
    second: &Second,
    threads: usize,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    const NAMES: [&str; 3] = ["client.key", "evaluation.keys", "transfer.key"];
    for name in NAMES {
        check_apart(&second.output.join(name), &[&second.key])?;
    }
    let load = || ClientKey::load(&second.key, threads).map_err(CliError::of(&second.key));
    let first = console.step("load the secret key", load)?;
    streams::warn_if_readable(&second.key, console);
    let client =
        console.step("make the second secret key", || Ok(first.second_key(second.capacity)?))?;
    let rotations = Rotations::together(second.rotations.as_deref());
    check_rotations(rotations.as_deref(), client.session())?;
    let folder = Folder::new(&second.output, &NAMES, second.force)?;
    let request = rotations.map_or_else(KeyRequest::default, KeyRequest::only);
    let keys =
        console.step("make the evaluation keys", || Ok(client.evaluation_keys(&request)?))?;
    let transfer = console.step("make the transfer key", || Ok(first.transfer_key(&client)?))?;
    let files = console.step("write the keys", || {
        let keys = keys.stage(folder.path(NAMES[1]))?;
        let transfer = transfer.stage(folder.path(NAMES[2]))?;
        folder.place(vec![
            // The secret is written last, as in `keygen`.
            ("the second secret key, not to be shared", client.stage(folder.path(NAMES[0]))?),
            ("computes", keys),
            ("converts arrays to the second key", transfer),
        ])
    })?;
    let (first, key) = (first.fingerprint().to_string(), client.fingerprint().to_string());
    let foreign_files = folder.foreign_files(&NAMES, &key);
    let made = Made { first, key, files, foreign_files };
    console.result(&made, &made)
}
