//! The shared parts of the command's tests. Not every test uses all of them.
#![allow(dead_code)]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// A folder of its own for each test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a folder for this test.
    pub fn new(test: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("hippocrene-cli-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the folder is there");
    }
}

/// Returns exit status, standard output and standard error.
pub fn run(arguments: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["hippocrene", "--quiet"].iter().chain(arguments).map(OsString::from);
    let status = hippocrene_cli::run_with(arguments, &mut out, &mut err);
    (status, String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"))
}

/// Returns the standard output of a command that must succeed.
pub fn succeed(arguments: &[&str]) -> String {
    let (status, out, err) = run(arguments);
    assert_eq!((status, err.as_str()), (0, ""), "{arguments:?}");
    out
}

/// Runs the command as a process, with these bytes on standard input, which is a pipe.
///
/// Returns exit status, standard output and standard error.
pub fn process(arguments: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_hippocrene"));
    command
        .arg("--quiet")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command");
    // The pipe breaks if the command fails before it has read the input.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("the command");
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).expect("text"))
}

/// Returns the numbers of a text of comma-separated values.
pub fn numbers(text: &str) -> Vec<f64> {
    text.split([',', '\n']).filter_map(|cell| cell.parse().ok()).collect()
}

/// Checks that a text holds these numbers, up to the noise.
pub fn assert_close(text: &str, want: &[f64]) {
    let got = numbers(text);
    assert_eq!(got.len(), want.len(), "{text}");
    assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-4), "{text}");
}
