//! The command `hippocrene`: keys, encryption and decryption of files of numbers, and descriptions
//! of any file that Hippocrene wrote.
//!
//! The same code runs as the binary that `cargo install` makes and inside the Python package.

mod args;
pub mod arrays;
mod commands;
mod console;
pub mod error;
mod json;
mod streams;

use args::Arguments;
use clap::Parser;
use console::{Console, visible};
use error::CliError;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};

/// Runs the command with these arguments and returns its exit status.
///
/// The first argument is the command's own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_with(arguments, &mut io::stdout(), &mut io::stderr())
}

/// As [`run`], for a process whose standard output was closed when it started.
///
/// Writing to standard output is an error then. The standard library would ignore the output, or
/// write it into the next file that is opened.
pub fn run_closed(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_with(arguments, &mut streams::Closed, &mut io::stderr())
}

/// Runs the command with results to `out` and errors to `err`, and returns its exit status.
pub fn run_with(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) if !error.use_stderr() => {
            // The user asked for help or the version, so this is the answer and not an error.
            let _ = write!(out, "{error}");
            return 0;
        }
        Err(error) if !wants_json => {
            let _ = error.print();
            return 2;
        }
        Err(error) => {
            let text = error.to_string();
            return fail(
                &CliError::Usage(text.trim_start_matches("error: ").trim_end().to_owned()),
                true,
                err,
            );
        }
    };
    let mut console = Console::new(out, err, parsed.json, parsed.quiet);
    match commands::run(&parsed, &mut console) {
        Ok(()) => 0,
        Err(error) if error.is_closed_pipe() => 0,
        Err(error) => fail(&error, parsed.json, err),
    }
}

/// Reports an error and returns its exit status.
fn fail(error: &CliError, json: bool, err: &mut dyn Write) -> u8 {
    #[derive(Serialize)]
    struct Report<'a> {
        error: Reason<'a>,
    }
    #[derive(Serialize)]
    struct Reason<'a> {
        kind: &'a str,
        message: String,
    }
    // If standard error cannot be written, there is no other place to report that.
    let _ = if json {
        let report = Report { error: Reason { kind: error.kind(), message: error.to_string() } };
        writeln!(err, "{}", serde_json::to_string(&report).unwrap_or_default())
    } else {
        error.errors().iter().try_for_each(|one| writeln!(err, "error: {}", visible(one)))
    };
    error.status()
}

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
