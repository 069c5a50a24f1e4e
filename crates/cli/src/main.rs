//! The command `hippocrene`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hippocrene_cli::run(std::env::args_os()).into()
}
