//! What each command does.

mod bootstrapping;
mod decrypt;
mod encrypt;
mod inspect;
mod keygen;
mod plan;
mod presets;
mod second;
mod tune;

use crate::args::{Arguments, Command};
use crate::console::Console;
use crate::error::CliError;
use std::fs;
use std::path::Path;

/// Does what the arguments say.
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
        Command::Tune(tune) => tune::run(tune, console),
    }
}

/// Checks that a command would not write over what it reads, nor over any secret key.
fn check_output(output: &Path, inputs: &[&Path]) -> Result<(), CliError> {
    hippocrene::wire::check_replaceable(output)?;
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    let is_target =
        |input: &&&Path| fs::canonicalize(input).is_ok_and(|input| input == target && input.is_file());
    match inputs.iter().find(is_target) {
        Some(input) => Err(CliError::Usage(format!(
            "{} would be written over {}, which is read: choose another name",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}
