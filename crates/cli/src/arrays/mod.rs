//! Arrays of numbers in files: comma-separated values and numpy's `.npy`.

mod advice;
mod csv;
mod exact;
mod longdouble;
mod npy;

use crate::error::CliError;
use crate::streams;
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::{self, Debug};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

pub use exact::{Decimal, needs_digits};
use hippocrene::{BigFloat, format_shape};

/// An array of numbers in row-major order: doubles, or integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T = f64> {
    /// Extent along each axis; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, where the last axis runs fastest. Their count is the product of `shape`.
    pub values: Vec<T>,
}

/// Maximum number of characters of unreadable text that an error quotes.
const MAX_QUOTED_CHARS: usize = 100;

/// Shortens a text for errors.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}..", &text[..end]).into(),
        None => text.into(),
    }
}

/// A complex number: its real and its imaginary part.
pub type Complex = [f64; 2];

/// Numbers from a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Real numbers.
    Real(Array),
    /// Complex numbers.
    Complex(Array<Complex>),
    /// Real numbers that need more precision than doubles have.
    Exact(Array<BigFloat>),
}

/// A number as stored in a file of `.npy`.
#[derive(Clone, Copy)]
pub enum Stored {
    /// A double, or a smaller float.
    Real(f64),
    /// An integer, or a boolean.
    Integer(i128),
    /// A float with up to 64 bits of mantissa: the sum of two doubles.
    ///
    /// The second double holds the bits beyond 53.
    Long([f64; 2]),
}

impl Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Long([high, low]) => match BigFloat::of_number(*self) {
                Ok(number) => write!(f, "{number}"),
                Err(_) => write!(f, "{:?}", high + low),
            },
        }
    }
}

/// The type of the numbers that are read from a file.
///
/// They are doubles, 64-bit integers with or without a sign (`i128`), or bits (`bool`).
pub trait Element: Sized {
    /// The description of valid values, for errors.
    const WHAT: &'static str;

    /// Converts the text of a cell exactly.
    fn of_text(cell: &str) -> Option<Self>;

    /// Converts a stored number.
    ///
    /// # Errors
    /// The description of valid values, when the number is not one.
    fn of_number(number: Stored) -> Result<Self, &'static str>;
}

impl Element for f64 {
    const WHAT: &'static str = "a finite number";

    fn of_text(cell: &str) -> Option<Self> {
        cell.parse::<f64>().ok().filter(|value| value.is_finite())
    }

    fn of_number(number: Stored) -> Result<Self, &'static str> {
        match number {
            Stored::Real(value) if !value.is_finite() => Err(Self::WHAT),
            Stored::Real(value) => Ok(value),
            Stored::Integer(integer) => Ok(integer as f64),
            Stored::Long([high, low]) => Self::of_number(Stored::Real(high + low)),
        }
    }
}

impl Element for i128 {
    const WHAT: &'static str = "an integer of 64 bits, which these keys encrypt";

    fn of_text(cell: &str) -> Option<Self> {
        whole(cell)
    }

    fn of_number(number: Stored) -> Result<Self, &'static str> {
        match number {
            Stored::Integer(integer) => Ok(integer),
            Stored::Real(value) if value.fract() == 0.0 && value.abs() < FIRST_INEXACT => {
                Ok(value as i128)
            }
            Stored::Real(_) => Err("an integer below 2^53, as needed in arrays of doubles"),
            Stored::Long(parts) => {
                let whole = parts.iter().all(|part| part.fract() == 0.0 && part.abs() < FIRST_WIDE);
                let integer = whole.then(|| parts.iter().map(|part| *part as i128).sum());
                integer.filter(|integer| SIXTY_FOUR_BITS.contains(integer)).ok_or(Self::WHAT)
            }
        }
    }
}

impl Element for bool {
    const WHAT: &'static str = "0, 1, True or False, which these keys encrypt";

    fn of_text(cell: &str) -> Option<Self> {
        match whole(cell) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ if cell.eq_ignore_ascii_case("false") => Some(false),
            _ if cell.eq_ignore_ascii_case("true") => Some(true),
            _ => None,
        }
    }

    fn of_number(number: Stored) -> Result<Self, &'static str> {
        match i128::of_number(number) {
            Ok(bit @ (0 | 1)) => Ok(bit == 1),
            _ => Err("0 or 1, which these keys encrypt"),
        }
    }
}

/// The integer that a decimal text equals, such as `-12`, `12.0` or `1.2e1`.
///
/// `None` if the value is not an integer of 64 bits.
fn whole(text: &str) -> Option<i128> {
    // The text must be a valid number.
    f64::of_text(text)?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", integer.trim_start_matches(['+', '-']));
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The number of zeros between the last of these digits and the decimal point.
    let zeros = exponent.parse::<i64>().ok()? - fraction.len() as i64
        + (digits.len() - significant.len()) as i64;
    let scale = 10i128.checked_pow(u32::try_from(zeros).ok()?)?;
    let size = significant.parse::<i128>().ok()?.checked_mul(scale)?;
    let value = if integer.starts_with('-') { -size } else { size };
    SIXTY_FOUR_BITS.contains(&value).then_some(value)
}

/// A number that can be written to files.
pub trait Number: Copy + serde::Serialize {
    /// The numpy name of the type.
    const DESCR: &'static str;

    /// Writes the bytes of the number, low bytes first.
    ///
    /// # Errors
    /// The errors of the stream.
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

impl Number for bool {
    const DESCR: &'static str = "|b1";

    fn write(self, stream: &mut dyn Write) -> io::Result<()> {
        stream.write_all(&[u8::from(self)])
    }
}

impl Number for Complex {
    const DESCR: &'static str = "<c16";

    fn write(self, stream: &mut dyn Write) -> io::Result<()> {
        self.into_iter().try_for_each(|part| part.write(stream))
    }
}

/// All integers whose absolute value is below `2^53` are exact doubles.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// The bound `2^64` on the absolute values of 64-bit integers with or without a sign.
const FIRST_WIDE: f64 = 18_446_744_073_709_551_616.0;

/// Integers of 64 bits, with or without a sign.
const SIXTY_FOUR_BITS: RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;

/// The file format of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Comma-separated values, one row to a line.
    Csv,
    /// numpy's binary format, as `numpy.save` writes it.
    Npy,
}

/// A column of a file of comma-separated values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// A column by its place, from 1.
    Place(usize),
    /// A column by its name in the first line.
    Name(String),
}

impl FromStr for Column {
    type Err = Infallible;

    /// Reads a whole number as a place, and any other text as a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Place))
    }
}

/// How to read a file of comma-separated values.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// True if the first line holds the names of the columns, false if it holds values. With `None`
    /// the file decides, and an ambiguous first line is an error.
    pub header: Option<bool>,
    /// True if the first column numbers the rows and is left out, false if it is data. With `None`
    /// a first column that looks like a row index is an error.
    pub index: Option<bool>,
    /// The character between columns, which is a comma by default.
    pub delimiter: Option<u8>,
    /// The columns to read, in this order. `None` means all.
    pub columns: Option<Vec<Column>>,
}

impl Table {
    /// Reads the names of the columns in the first line of a file of comma-separated values.
    ///
    /// # Errors
    /// [`CliError::Io`] when the file cannot be read. [`CliError::Data`] when it is empty, is not
    /// text, or lacks these columns.
    pub fn read_names(&self, path: &Path) -> Result<Vec<String>, CliError> {
        let bytes = Format::Csv.read(path)?;
        csv::names(&bytes, self).map_err(|reason| CliError::Data { path: path.to_owned(), reason })
    }
}

/// The contents of a file: its numbers, and the names of its columns if it has a header.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents<N> {
    /// The numbers.
    pub numbers: N,
    /// One name for each column, or none at all.
    pub names: Vec<String>,
}

impl<N> Contents<N> {
    /// The contents of a file that has no names.
    fn unnamed(numbers: N) -> Self {
        Self { numbers, names: Vec::new() }
    }

    fn map<M>(self, convert: impl FnOnce(N) -> M) -> Contents<M> {
        Contents { numbers: convert(self.numbers), names: self.names }
    }
}

impl Format {
    /// The format that the ending of a file's name indicates.
    ///
    /// # Errors
    /// [`CliError::Usage`] when it is neither `.csv` nor `.npy`.
    pub fn of(path: &Path) -> Result<Self, CliError> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("npy") => Ok(Self::Npy),
            _ if streams::is_input(path) || streams::is_output(path) => {
                Err(CliError::Usage(format!(
                    "{} has no ending to tell the format by: use --format csv or --format npy",
                    path.display()
                )))
            }
            Some("xlsx" | "xls" | "ods") => Err(CliError::Usage(format!(
                "{}: files of .csv and .npy are read and written, and no spreadsheets. Use .csv, \
                 which spreadsheet programs read and write too.",
                path.display()
            ))),
            _ => Err(CliError::Usage(format!(
                "cannot tell the format of {} by its name. End the name in .csv or .npy, or use \
                 --format csv or --format npy.",
                path.display()
            ))),
        }
    }

    /// Reads the bytes of a file, and no more than a file of this format can contain.
    fn read(self, path: &Path) -> Result<Vec<u8>, CliError> {
        streams::read(path, |stream| match self {
            Self::Csv => {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).map(|_| bytes)
            }
            Self::Npy => npy::read(stream),
        })
    }
}

impl Numbers {
    /// Reads numbers from a file.
    ///
    /// Comma-separated values have two axes, (rows, columns). Files of `.npy` have the shape in
    /// their header. The numbers become the nearest doubles if these are precise to `precision`
    /// bits after the binary point. Otherwise they become [`Numbers::Exact`].
    ///
    /// # Errors
    /// [`CliError::Io`] when the file cannot be read. [`CliError::Data`] when it holds anything but
    /// finite numbers in a full rectangle. The message names the line and the column, or the index.
    pub fn read(
        path: &Path,
        format: Format,
        table: &Table,
        precision: f64,
    ) -> Result<Contents<Self>, CliError> {
        let bytes = format.read(path)?;
        let read = || {
            let contents = match format {
                Format::Csv => csv::parse(&bytes, table)?.map(Self::Real),
                Format::Npy => Contents::unnamed(npy::parse_numbers(&bytes)?),
            };
            match (&contents.numbers, format) {
                (Self::Real(array), _) if !needs_digits(&array.values, precision) => Ok(contents),
                (Self::Real(_), Format::Csv) => Ok(csv::parse(&bytes, table)?.map(Self::Exact)),
                (Self::Real(_), Format::Npy) => {
                    Ok(Contents::unnamed(Self::Exact(npy::parse(&bytes)?)))
                }
                _ => Ok(contents),
            }
        };
        read().map_err(|reason| CliError::Data { path: path.to_owned(), reason })
    }

    /// Replaces the extent along each axis by one with the same number of elements.
    pub(crate) fn set_shape(&mut self, shape: Vec<usize>) {
        match self {
            Self::Real(array) => array.shape = shape,
            Self::Complex(array) => array.shape = shape,
            Self::Exact(array) => array.shape = shape,
        }
    }

    /// Extent along each axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Real(array) => &array.shape,
            Self::Complex(array) => &array.shape,
            Self::Exact(array) => &array.shape,
        }
    }
}

impl<T: Element> Array<T> {
    /// Reads numbers of this type from a file, as [`Numbers::read`] does.
    ///
    /// # Errors
    /// As [`Numbers::read`], and when a number is not of this type. Complex numbers are always an
    /// error.
    pub fn read(path: &Path, format: Format, table: &Table) -> Result<Contents<Self>, CliError> {
        let bytes = format.read(path)?;
        let contents = match format {
            Format::Csv => csv::parse(&bytes, table),
            Format::Npy => npy::parse(&bytes).map(Contents::unnamed),
        };
        contents.map_err(|reason| CliError::Data { path: path.to_owned(), reason })
    }

    /// Reads the columns with these names from a file, in this order. Of a file without names, and
    /// without any `names`, it reads all columns. `table` may choose other columns.
    ///
    /// # Errors
    /// As [`Array::read`], and [`CliError::Data`] if a column is missing.
    pub fn read_named(
        path: &Path,
        format: Format,
        table: &Table,
        names: &[String],
    ) -> Result<Contents<Self>, CliError> {
        let fail = |reason: String| CliError::Data { path: path.to_owned(), reason };
        let bytes = format.read(path)?;
        if format == Format::Npy {
            return npy::parse(&bytes).map(Contents::unnamed).map_err(fail);
        }
        let mut chosen = table.clone();
        let is_named = table.columns.is_none() && table.header != Some(false) && !names.is_empty();
        let whole_lines = Table { index: Some(false), ..table.clone() };
        let header = is_named.then(|| csv::names(&bytes, &whole_lines)).and_then(Result::ok);
        let is_name = |cell: &String| names.contains(cell) || cell.parse::<f64>().is_err();
        if is_named && table.header == Some(true) {
            chosen.columns = Some(names.iter().cloned().map(Column::Name).collect());
        } else if let Some(header) = header.filter(|cells| cells.iter().any(is_name)) {
            let missing = names.iter().filter(|name| !header.contains(name));
            let missing: Vec<&str> = missing.map(String::as_str).collect();
            if !missing.is_empty() {
                let advice = csv::other_delimiter(&String::from_utf8_lossy(&bytes));
                let advice = advice.filter(|_| table.delimiter.is_none()).unwrap_or_default();
                let what = format!(
                    "the columns {} are missing. The first line has {}. {advice}",
                    missing.join(", "),
                    header.join(", ")
                );
                return Err(fail(what.trim_end().to_owned()));
            }
            chosen.columns = Some(names.iter().cloned().map(Column::Name).collect());
        }
        csv::parse(&bytes, &chosen).map_err(fail)
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

impl<T: serde::Serialize> Array<T> {
    /// Formats the array as comma-separated values, below a line of these names unless there are
    /// none.
    ///
    /// # Errors
    /// As [`check_format`].
    pub fn to_csv(&self, names: &[String]) -> Result<Vec<u8>, CliError> {
        check_format(&self.shape, Format::Csv)?;
        let mut bytes = Vec::new();
        csv::write(self, names, &mut bytes).map_err(|source| self.too_large(&source))?;
        Ok(bytes)
    }

    /// An error for writes to memory, which only fail because of sizes.
    fn too_large(&self, source: &io::Error) -> CliError {
        CliError::Usage(format!("an array of shape {}: {source}", format_shape(&self.shape)))
    }
}

impl<T: Number> Array<T> {
    /// Formats the array as a file. Comma-separated values begin with these names unless there are
    /// none.
    ///
    /// # Errors
    /// As [`check_format`].
    pub fn to_bytes(&self, format: Format, names: &[String]) -> Result<Vec<u8>, CliError> {
        if format == Format::Csv {
            return self.to_csv(names);
        }
        let mut bytes = Vec::new();
        npy::write(self, &mut bytes).map_err(|source| self.too_large(&source))?;
        Ok(bytes)
    }
}
