//! What each command does.

mod decrypt;
mod encrypt;
mod inspect;
mod keygen;
mod presets;

use crate::args::{Arguments, Command};
use crate::console::Console;
use crate::error::CliError;

/// Does what the arguments say.
pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), CliError> {
    let threads = usize::from(arguments.threads);
    match &arguments.command {
        Command::Keygen(keygen) => keygen::run(keygen, threads, console),
        Command::Encrypt(encrypt) => encrypt::run(encrypt, threads, console),
        Command::Decrypt(decrypt) => decrypt::run(decrypt, threads, console),
        Command::Inspect(inspect) => inspect::run(inspect, console),
        Command::Presets => presets::run(console),
    }
}
