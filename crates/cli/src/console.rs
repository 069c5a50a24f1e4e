//! The output of the command: results to standard output, progress and errors to standard error.

use crate::error::CliError;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The streams and the format of results and progress.
pub struct Console<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// True if `out` carries the requested data itself, so that descriptions of it go to `err`.
    taken: bool,
    json: bool,
    quiet: bool,
}

impl<'a> Console<'a> {
    /// Creates a console.
    ///
    /// Results go to `out`, in words or, with `json`, as one JSON object. If [`Console::give`] has
    /// written data to `out`, they go to `err`. Progress is shown unless `quiet` or `json` is set.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, json: bool, quiet: bool) -> Self {
        Self { out, err, taken: false, json, quiet: quiet || json }
    }

    /// Runs `work` and shows its name and the elapsed time.
    ///
    /// On a terminal this is a spinner, otherwise one line at the end.
    pub fn step<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        self.shown(name, "{spinner} {msg} {elapsed}", |_| work())
    }

    /// As [`Console::step`], for work that reports how many of its parts are done.
    pub fn counted<T>(
        &self,
        name: &str,
        work: impl FnOnce(&dyn Fn(usize, usize)) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        self.shown(name, "{spinner} {msg} {pos}/{len} {elapsed}", |bar| {
            work(&|done, total| {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            })
        })
    }

    fn shown<T>(
        &self,
        name: &str,
        template: &str,
        work: impl FnOnce(&ProgressBar) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if self.quiet {
            return work(&ProgressBar::hidden());
        }
        let start = Instant::now();
        if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template(template);
            let spinner = ProgressBar::new_spinner().with_message(name.to_owned());
            spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            spinner.enable_steady_tick(Duration::from_millis(100));
            let result = work(&spinner);
            spinner.finish_and_clear();
            return result;
        }
        let result = work(&ProgressBar::hidden())?;
        // The work is done, so a failure to report it is ignored.
        let _ = writeln!(io::stderr(), "{name}: {:.2} s", start.elapsed().as_secs_f64());
        Ok(result)
    }

    /// Prints a result: the object as JSON, or `words`.
    pub fn result(&mut self, object: &impl Serialize, words: impl Display) -> Result<(), CliError> {
        let stream = if self.taken { &mut *self.err } else { &mut *self.out };
        let written = if self.json {
            serde_json::to_writer(&mut *stream, object)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(stream))
        } else {
            writeln!(stream, "{}", visible(&words))
        };
        written.and_then(|()| stream.flush()).map_err(CliError::Output)
    }

    /// Prints a warning to standard error, even if the console is quiet.
    pub fn warn(&mut self, words: impl Display) {
        // There is no other place to report this failure.
        let _ = writeln!(self.err, "warning: {}", visible(&words));
    }

    /// True if results are printed as JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Writes the requested data itself to standard output: numbers or an encrypted array.
    pub fn write_data(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.taken = true;
        self.out.write_all(bytes).and_then(|()| self.out.flush()).map_err(CliError::Output)
    }
}

/// Escapes the control characters of a text, except line feeds and tabs.
///
/// Names of files, and names in files of others, may contain characters that control a terminal.
pub fn visible(text: &impl Display) -> String {
    let text = text.to_string();
    let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().fold(String::with_capacity(text.len()), |mut all, c| {
        match hidden(c) {
            true => all.extend(c.escape_default()),
            false => all.push(c),
        }
        all
    })
}

/// Writes a number of bytes for people, in decimal units.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "kB", "MB"] {
        if value < 1000.0 {
            return if unit == "bytes" {
                format!("{bytes} bytes")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} GB")
}

/// Writes a number and a noun, with an s at the end unless the number is 1.
pub fn count(number: usize, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_text_or_one_json_object() {
        #[derive(Serialize)]
        struct Answer {
            bits: f64,
        }
        for (json, want) in [(false, "40 bits\n"), (true, "{\"bits\":40.0}\n")] {
            let mut out = Vec::new();
            let mut err = Vec::new();
            Console::new(&mut out, &mut err, json, true)
                .result(&Answer { bits: 40.0 }, "40 bits")
                .expect("writing to memory");
            assert_eq!(String::from_utf8(out).expect("text"), want);
            assert!(err.is_empty());
        }
    }

    #[test]
    fn steps_return_results_and_errors() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let console = Console::new(&mut out, &mut err, false, true);
        assert_eq!(console.step("one", || Ok(1)).expect("a result"), 1);
        assert!(console.step("two", || Err::<(), _>(CliError::Usage("no".to_owned()))).is_err());
    }

    #[test]
    fn a_count_of_one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "column")), ["0 columns", "1 column", "2 columns"]);
    }

    #[test]
    fn sizes_are_in_decimal_units() {
        assert_eq!(
            [0, 999, 1500, 2_000_000, 3_200_000_000].map(size),
            ["0 bytes", "999 bytes", "1.5 kB", "2.0 MB", "3.2 GB"]
        );
    }
}
