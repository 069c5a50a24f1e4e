//! Arrays of numbers in files: comma-separated values and numpy's `.npy`.

mod csv;
mod npy;

use crate::error::CliError;
use std::fs;
use std::io::Write;
use std::path::Path;

/// An array of numbers in row-major order: doubles, or integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T = f64> {
    /// Extent along each axis; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, the last axis running fastest: as many as the product of `shape`.
    pub values: Vec<T>,
}

/// A number that files hold.
pub trait Number: Copy + serde::Serialize {
    /// numpy's name of its type.
    const DESCR: &'static str;

    /// Its bytes, the low ones first.
    fn bytes(self) -> [u8; 8];
}

impl Number for f64 {
    const DESCR: &'static str = "<f8";

    fn bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

impl Number for i64 {
    const DESCR: &'static str = "<i8";

    fn bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

/// Integers below this, `2^53`, in absolute value are doubles, each its own.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// How numbers are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Comma-separated values, one row to a line.
    Csv,
    /// numpy's binary format, as `numpy.save` writes it.
    Npy,
}

/// Whether the first line of comma-separated values holds the names of the columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Header {
    /// It does when none of its cells is a number; where only some are, that is an error.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It does not.
    No,
}

impl Format {
    /// The format that the ending of a file's name stands for.
    ///
    /// # Errors
    /// [`CliError::Usage`] when it is neither `.csv` nor `.npy`.
    pub fn of(path: &Path) -> Result<Self, CliError> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("npy") => Ok(Self::Npy),
            _ => Err(CliError::Usage(format!(
                "cannot tell the format of {} by its name: end it in .csv or .npy, or say --format",
                path.display()
            ))),
        }
    }
}

impl Array {
    /// Reads a file. Comma-separated values have two axes, (rows, columns); `.npy` files have the shape that they say.
    ///
    /// # Errors
    /// [`CliError::Io`] when the file cannot be read, [`CliError::Data`] when it holds anything but finite numbers in a
    /// full rectangle; the message names the line and the column, or the index.
    pub fn read(path: &Path, format: Format, header: Header) -> Result<Self, CliError> {
        let bytes = fs::read(path).map_err(|source| CliError::io("read", path, source))?;
        let array = match format {
            Format::Csv => csv::parse(&bytes, header),
            Format::Npy => npy::parse(&bytes),
        };
        array.map_err(|reason| CliError::Data { path: path.to_owned(), reason })
    }

    /// The same array of integers.
    ///
    /// # Errors
    /// [`CliError::Data`] when a number is none, or too large to be told from its neighbours; the message names its index.
    pub fn integers(&self, path: &Path) -> Result<Array<i64>, CliError> {
        let integer = |(index, value): (usize, &f64)| {
            if value.fract() == 0.0 && value.abs() < FIRST_INEXACT {
                return Ok(*value as i64);
            }
            let reason = format!(
                "number {index} in row-major order, {value}, is not an integer below 2^53, as these keys encrypt"
            );
            Err(CliError::Data { path: path.to_owned(), reason })
        };
        let values = self.values.iter().enumerate().map(integer).collect::<Result<_, _>>()?;
        Ok(Array { shape: self.shape.clone(), values })
    }

    /// The same array of bits.
    ///
    /// # Errors
    /// [`CliError::Data`] when a number is neither 0 nor 1; the message names its index.
    pub fn bits(&self, path: &Path) -> Result<Array<i64>, CliError> {
        match self.values.iter().position(|value| *value != 0.0 && *value != 1.0) {
            None => self.integers(path),
            Some(index) => {
                let value = self.values[index];
                let reason = format!(
                    "number {index} in row-major order, {value}, is neither 0 nor 1, which these keys encrypt"
                );
                Err(CliError::Data { path: path.to_owned(), reason })
            }
        }
    }
}

/// Checks that a format can hold arrays of this shape.
///
/// # Errors
/// [`CliError::Usage`] when it cannot: comma-separated values have at most two axes.
pub fn check_format(shape: &[usize], format: Format) -> Result<(), CliError> {
    if format == Format::Csv && shape.len() > 2 {
        return Err(CliError::Usage(format!(
            "an array of {} axes does not fit into rows and columns: write it as .npy",
            shape.len()
        )));
    }
    Ok(())
}

impl<T: Number> Array<T> {
    /// Writes the array to a stream.
    ///
    /// # Errors
    /// As [`check_format`], and [`CliError::Io`] when writing fails; `path` is what the message calls the stream.
    pub fn write(&self, stream: &mut dyn Write, path: &Path, format: Format) -> Result<(), CliError> {
        check_format(&self.shape, format)?;
        let written = match format {
            Format::Csv => csv::write(self, stream),
            Format::Npy => npy::write(self, stream),
        };
        written.and_then(|()| stream.flush()).map_err(|source| CliError::io("write", path, source))
    }
}
