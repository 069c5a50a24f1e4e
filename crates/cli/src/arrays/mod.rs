//! Arrays of numbers in files: comma-separated values and numpy's `.npy`.

mod csv;
mod npy;

use crate::error::CliError;
use crate::streams;
use std::convert::Infallible;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

/// An array of numbers in row-major order: doubles, or integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T = f64> {
    /// Extent along each axis; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, the last axis running fastest: as many as the product of `shape`.
    pub values: Vec<T>,
}

/// A complex number: its real and its imaginary part.
pub type Complex = [f64; 2];

/// Numbers from a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Real ones.
    Real(Array),
    /// Complex ones.
    Complex(Array<Complex>),
}

/// A number that files hold.
pub trait Number: Copy + serde::Serialize {
    /// numpy's name of its type.
    const DESCR: &'static str;

    /// Writes its bytes, the low ones first.
    ///
    /// # Errors
    /// Those of the stream.
    fn write(self, stream: &mut dyn Write) -> io::Result<()>;
}

impl Number for f64 {
    const DESCR: &'static str = "<f8";

    fn write(self, stream: &mut dyn Write) -> io::Result<()> {
        stream.write_all(&self.to_le_bytes())
    }
}

impl Number for i64 {
    const DESCR: &'static str = "<i8";

    fn write(self, stream: &mut dyn Write) -> io::Result<()> {
        stream.write_all(&self.to_le_bytes())
    }
}

impl Number for Complex {
    const DESCR: &'static str = "<c16";

    fn write(self, stream: &mut dyn Write) -> io::Result<()> {
        self.into_iter().try_for_each(|part| part.write(stream))
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

/// A column of a file of comma-separated values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By its place, from 1.
    Place(usize),
    /// By its name in the first line.
    Name(String),
}

impl FromStr for Column {
    type Err = Infallible;

    /// A whole number is a place, and anything else a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Place))
    }
}

/// How a file of comma-separated values is read.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Whether the first line holds names.
    pub header: Header,
    /// What divides the columns; a comma where nothing is said.
    pub delimiter: Option<u8>,
    /// The columns that are read, in this order; all where nothing is said.
    pub columns: Option<Vec<Column>>,
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
            _ if streams::is_input(path) || streams::is_output(path) => Err(CliError::Usage(format!(
                "{} has no ending to tell the format by: say --format csv or --format npy",
                path.display()
            ))),
            _ => Err(CliError::Usage(format!(
                "cannot tell the format of {} by its name: end it in .csv or .npy, or say --format",
                path.display()
            ))),
        }
    }
}

impl Numbers {
    /// Reads a file. Comma-separated values have two axes, (rows, columns); `.npy` files have the shape that they say.
    ///
    /// # Errors
    /// [`CliError::Io`] when the file cannot be read, [`CliError::Data`] when it holds anything but finite numbers in a
    /// full rectangle; the message names the line and the column, or the index.
    pub fn read(path: &Path, format: Format, table: &Table) -> Result<Self, CliError> {
        let bytes = streams::read(path)?;
        let numbers = match format {
            Format::Csv => csv::parse(&bytes, table).map(Self::Real),
            Format::Npy => npy::parse(&bytes),
        };
        numbers.map_err(|reason| CliError::Data { path: path.to_owned(), reason })
    }

    /// Extent along each axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Real(array) => &array.shape,
            Self::Complex(array) => &array.shape,
        }
    }

    /// The numbers where they are real.
    ///
    /// # Errors
    /// [`CliError::Data`] when they are complex.
    pub fn real(&self, path: &Path) -> Result<&Array, CliError> {
        match self {
            Self::Real(array) => Ok(array),
            Self::Complex(_) => {
                let reason = "it holds complex numbers, which these keys do not encrypt".to_owned();
                Err(CliError::Data { path: path.to_owned(), reason })
            }
        }
    }
}

impl Array {
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
    /// The file of the array.
    ///
    /// # Errors
    /// As [`check_format`].
    pub fn to_bytes(&self, format: Format) -> Result<Vec<u8>, CliError> {
        check_format(&self.shape, format)?;
        let mut bytes = Vec::new();
        let written = match format {
            Format::Csv => csv::write(self, &mut bytes),
            Format::Npy => npy::write(self, &mut bytes),
        };
        // Of memory only the sizes can be wrong.
        written.map_err(|source| CliError::Usage(format!("an array of shape {:?}: {source}", self.shape)))?;
        Ok(bytes)
    }
}
