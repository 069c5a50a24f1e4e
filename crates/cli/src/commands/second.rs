//! `hippocrene second`.

use super::keygen::{Written, paths};
use crate::args::Second;
use crate::console::Console;
use crate::error::CliError;
use hippocrene::{ClientKey, KeyRequest};
use serde::Serialize;
use std::fmt::{self, Display};

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    first: String,
    key: String,
    files: Vec<Written>,
}

impl Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {}, the second of {}", self.key, self.first)?;
        self.files.iter().try_for_each(|file| write!(f, "\n{file}"))
    }
}

pub(super) fn run(second: &Second, threads: usize, console: &mut Console<'_>) -> Result<(), CliError> {
    let first = console.step("read the secret key", || Ok(ClientKey::load(&second.key, threads)?))?;
    let client = console.step("make the second secret key", || Ok(first.second(second.capacity)?))?;
    let paths = paths(&second.output, ["client.key", "evaluation.keys", "transfer.key"], second.force)?;
    let request = second.rotations.clone().map_or_else(KeyRequest::default, KeyRequest::only);
    let keys = console.step("make the evaluation keys", || Ok(client.evaluation_keys(&request)?))?;
    let transfer = console.step("make the transfer key", || Ok(first.transfer_key(&client)?))?;
    console.step("write the keys", || {
        client.save(&paths[0])?;
        keys.save(&paths[1])?;
        Ok(transfer.save(&paths[2])?)
    })?;
    let holds = ["the second secret key, never to be given away", "computes", "leads to the second key"];
    let files = holds.into_iter().zip(paths).map(|(holds, path)| Written::new(holds, path));
    let (first, key) = (first.fingerprint().to_string(), client.fingerprint().to_string());
    let made = Made { first, key, files: files.collect::<Result<_, _>>()? };
    console.result(&made, &made)
}
