//! The implementations of the commands.

mod bootstrapping;
mod decrypt;
mod encrypt;
mod encrypting_key;
mod files;
mod inspect;
mod keygen;
mod look_ups;
mod model;
mod plain_input;
mod plan;
mod presets;
mod program;
mod run;
mod second;
mod tune;

use crate::args::{Arguments, Command};
use crate::console::Console;
use crate::error::CliError;
use crate::streams;
use hippocrene::Session;
use std::fs;
use std::path::Path;

/// Runs the command that the arguments name.
pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), CliError> {
    let threads = usize::from(arguments.threads);
    match &arguments.command {
        Command::Keygen(keygen) => keygen::run(keygen, threads, console),
        Command::Second(second) => second::run(second, threads, console),
        Command::Encrypt(encrypt) => encrypt::run(encrypt, threads, console),
        Command::Decrypt(decrypt) => decrypt::run(decrypt, threads, console),
        Command::Inspect(inspect) => inspect::run(inspect, console),
        Command::Presets => presets::run(console),
        Command::Plan(plan) => plan::run(plan, console),
        Command::Run(run) => run::run(run, threads, console),
        Command::Tune(tune) => tune::run(tune, console),
    }
}

/// Checks that a command would overwrite neither its inputs nor any secret key.
fn check_output(output: &Path, inputs: &[&Path]) -> Result<(), CliError> {
    if streams::is_output(output) {
        return Ok(());
    }
    hippocrene::wire::check_replaceable(output)?;
    check_apart(output, inputs)?;
    files::remove_partial(output);
    Ok(())
}

/// Checks that an output file is not one of the inputs.
fn check_apart(output: &Path, inputs: &[&Path]) -> Result<(), CliError> {
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    let is_target = |input: &&&Path| {
        fs::canonicalize(input).is_ok_and(|input| input == target && input.is_file())
    };
    match inputs.iter().find(is_target) {
        Some(input) => Err(CliError::Usage(format!(
            "{} would overwrite {}, which is read: choose another name",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Checks that each rotation is by fewer places than a ciphertext has slots.
fn check_rotations(rotations: Option<&[i64]>, session: &Session) -> Result<(), CliError> {
    let (slots, rotations) = (session.slots(), rotations.unwrap_or_default());
    match rotations.iter().find(|places| places.unsigned_abs() >= slots as u64) {
        Some(places) => {
            let rows = if session.integers().is_some() { "rows of " } else { "" };
            let last = slots - 1;
            Err(CliError::Usage(format!(
                "--rotations: these keys have {rows}{slots} slots, which rotate by -{last} to \
                 {last} places, not by {places}"
            )))
        }
        None => Ok(()),
    }
}
