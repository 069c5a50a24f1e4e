//! Comma-separated values.

use super::advice::{advice, has_decimal_comma, is_name};
use super::{Array, Column, Contents, Element, Table, cut};
use crate::console::count;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::ops::RangeInclusive;

/// Maximum number of cells of a line that an error shows.
const MAX_CELLS_SHOWN: usize = 40;

/// Whole numbers that count as years, for tables with a column for each year.
const YEARS: RangeInclusive<u64> = 1900..=2100;

/// Why a file cannot be read.
struct Refusal {
    /// The fault and its place.
    what: String,
    /// Advice in whole sentences, or an empty text.
    advice: String,
}

impl Refusal {
    fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }
}

impl From<String> for Refusal {
    fn from(what: String) -> Self {
        Self::new(what, "")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, advice } = self;
        if advice.is_empty() { f.write_str(what) } else { write!(f, "{what}. {advice}") }
    }
}

/// Reads rows of numbers, and the names of their columns if the first line is a header.
///
/// Spaces around a number are skipped. Blank lines are skipped too, except between the rows of a
/// single column, where a value may be missing.
///
/// The first line is a header if `table` says so. Without that, it is a header if every cell is a
/// unique name and the lines below hold only numbers. Any other first line that is not numbers is
/// an error until an option decides, since a row of missing values or codes would otherwise be
/// taken for names and lost silently.
pub(super) fn parse<T: Element>(bytes: &[u8], table: &Table) -> Result<Contents<Array<T>>, String> {
    let text = text(bytes)?;
    let contents = parse_text(text, table).map_err(|refusal| with_hint(refusal, text, table))?;
    match open_quote(text, table.delimiter.unwrap_or(b',')) {
        // The missing text may have been part of a number.
        Some(line) => {
            Err(format!("a quote opens in line {line} and is not closed: the text ends too early"))
        }
        None => Ok(contents),
    }
}

/// Reads the names in the first line, which must be a header.
pub(super) fn names(bytes: &[u8], table: &Table) -> Result<Vec<String>, String> {
    let text = text(bytes)?;
    let read = || {
        let mut record = csv::StringRecord::new();
        let mut reader = reader(text, table);
        if !reader.read_record(&mut record).map_err(|e| Refusal::from(e.to_string()))? {
            return Err(Refusal::from("it is empty".to_owned()));
        }
        let places = table.places(&record, 1)?;
        let names: Vec<String> = places.iter().map(|place| record[*place].to_owned()).collect();
        let are_values =
            names.iter().all(|name| name.parse::<f64>().is_ok()) && !may_be_names(&names);
        match are_values {
            true => {
                Err(format!("line 1 ({}) holds numbers, not the names of columns", shown(&names))
                    .into())
            }
            false => Ok(names),
        }
    };
    read().map_err(|refusal| with_hint(refusal, text, table))
}

/// Formats the error, and replaces its advice by a probable cause if there is one.
fn with_hint(refusal: Refusal, text: &str, table: &Table) -> String {
    let quote = open_quote(text, table.delimiter.unwrap_or(b','));
    let quote = quote.map(|line| format!("A quote opens in line {line} and is not closed."));
    let behind =
        quote.or_else(|| match text.strip_prefix("sep=").and_then(|rest| rest.chars().next()) {
            Some(mark) => Some(format!(
                "Delete the first line, which is for Excel, and give --delimiter {mark:?}."
            )),
            None if table.delimiter.is_none() => other_delimiter(text),
            None => None,
        });
    match behind {
        Some(advice) => Refusal { advice, ..refusal }.to_string(),
        None => refusal.to_string(),
    }
}

fn reader<'a>(text: &'a str, table: &Table) -> csv::Reader<&'a [u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(table.delimiter.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
}

/// The line of a quote that opens a cell and is never closed.
fn open_quote(text: &str, delimiter: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut starts) = (0, true);
    while at < bytes.len() {
        let opened = at;
        at += 1;
        if !(starts && bytes[opened] == b'"') {
            starts = [delimiter, b'\r', b'\n'].contains(&bytes[opened]);
            continue;
        }
        starts = false;
        loop {
            let Some(next) = bytes[at..].iter().position(|byte| *byte == b'"') else {
                return Some(line_at(bytes, opened));
            };
            at += next + 1;
            // Two quotes in a row stand for one quote character.
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
    }
    None
}

/// The text without its byte order mark.
fn text(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("it is text in UTF-16: save it as UTF-8".to_owned());
    }
    if bytes.starts_with(b"PK\x03\x04") {
        let what = "this is a spreadsheet or another archive. Save the sheet as .csv in the \
                    spreadsheet program.";
        return Err(what.to_owned());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        format!("line {line} holds bytes that are no text in UTF-8: save it as UTF-8")
    })
}

/// Advice if a character other than a comma seems to separate the columns.
pub(super) fn other_delimiter(text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let first = lines.next()?;
    let marks =
        [(';', "semicolons", "';'"), ('\t', "tabs", "'\\t'"), ('|', "vertical bars", "'|'")];
    let by_mark = marks.into_iter().find_map(|(delimiter, name, say)| {
        let decimal_commas = first.split(delimiter).any(has_decimal_comma);
        match (first.contains(delimiter), first.contains(','), decimal_commas) {
            (true, false, _) => {
                Some(format!("The first line is divided by {name}: give --delimiter {say}."))
            }
            (true, true, true) => Some(format!(
                "The first line seems to be divided by {name}, with decimal commas: give \
                 --delimiter {say}, and write decimal points."
            )),
            _ => None,
        }
    });
    // Names may contain spaces, but numbers do not.
    let is_number = |cell: &str| cell.parse::<f64>().is_ok();
    let has_spaces = |line: &str| line.contains(' ') && line.split(' ').all(is_number);
    let by_spaces = has_spaces(first) || lines.next().is_some_and(has_spaces);
    let spaces = || "The numbers are divided by spaces: give --delimiter ' '.".to_owned();
    by_mark.or_else(|| by_spaces.then(spaces))
}

/// The number of the line, from 1, that contains the byte at `offset`.
fn line_at(text: &[u8], offset: usize) -> usize {
    let ends = |(at, byte): (usize, &u8)| {
        *byte == b'\n' || *byte == b'\r' && text.get(at + 1) != Some(&b'\n')
    };
    1 + text[..offset].iter().enumerate().filter(|end| ends(*end)).count()
}

fn parse_text<T: Element>(text: &str, table: &Table) -> Result<Contents<Array<T>>, Refusal> {
    let bytes = text.as_bytes();
    let mut reader = reader(text, table);
    let offset = |position: &csv::Position| usize::try_from(position.byte()).unwrap_or(bytes.len());
    let mut first: Option<FirstLine> = None;
    let mut record = csv::StringRecord::new();
    let (mut rows, mut values) = (0, Vec::new());
    loop {
        // The offset of the end of the last line, after its line feed.
        let end = offset(reader.position());
        let end =
            end + usize::from(end > 0 && bytes[end - 1] == b'\r' && bytes.get(end) == Some(&b'\n'));
        if !reader
            .read_record(&mut record)
            .map_err(|e| format!("line {}: {e}", line_at(bytes, end)))?
        {
            break;
        }
        let blank = bytes[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        // Line numbers are needed for errors only. They are not computed for every record, since
        // `line_at` counts from the beginning of the text.
        let line = || line_at(bytes, end + blank);
        let is_first = first.is_none();
        let first = match &mut first {
            Some(first) => first,
            none => none.insert(FirstLine::new::<T>(&record, line(), table)?),
        };
        if record.len() != first.width {
            let have = count(record.len(), "column");
            let what = format!("line {} has {have}, the first line has {}", line(), first.width);
            let advice = "Write the missing cells, or delete the surplus ones.";
            return Err(Refusal::new(what, advice));
        }
        if blank > 0 && first.width == 1 {
            return Err(
                format!("line {} is blank, where a number is needed", line_at(bytes, end)).into()
            );
        }
        if is_first && first.is_header {
            continue;
        }
        for place in &first.places {
            let (cell, column) = (&record[*place], place + 1);
            let value = T::of_text(cell).ok_or_else(|| {
                let what =
                    format!("line {}, column {column}: {:?} is not {}", line(), cut(cell), T::WHAT);
                Refusal::new(what, advice(cell))
            });
            values.push(value?);
        }
        first.watch(&record, rows);
        rows += 1;
    }
    let Some(first) = first.filter(|_| rows > 0) else {
        return Err("it holds no numbers".to_owned().into());
    };
    first.check(rows)?;
    let names = if first.is_header { first.cells } else { Vec::new() };
    Ok(Contents { numbers: Array { shape: vec![rows, first.places.len()], values }, names })
}

/// The first line of a file, with observations from the lines below.
struct FirstLine {
    line: usize,
    /// Number of columns of the file.
    width: usize,
    /// The columns that are read, from 0.
    places: Vec<usize>,
    /// The cells of the columns that are read, in the first line.
    cells: Vec<String>,
    /// True if the cells are names.
    is_header: bool,
    /// True if the cells are numbers that may be names: numbers of columns, or years.
    is_ambiguous: bool,
    /// True if the first column may be a row index: no option says so, and there are other columns.
    may_have_index: bool,
    /// True while the first column counts from `first_row`.
    counts_rows: bool,
    /// The number of the first row: 1 if the first column begins with 1, else 0.
    first_row: usize,
    /// True if a line below has only whole numbers, none of them negative.
    has_whole_row: bool,
    /// True if a line below has whole numbers that increase by 1.
    has_counting_row: bool,
    /// True if a line below has only years.
    has_year_row: bool,
}

impl FirstLine {
    fn new<T: Element>(
        record: &csv::StringRecord,
        line: usize,
        table: &Table,
    ) -> Result<Self, Refusal> {
        let places = table.places(record, line)?;
        let cells: Vec<String> = places.iter().map(|place| record[*place].to_owned()).collect();
        let mut first = Self {
            line,
            width: record.len(),
            places,
            cells,
            is_header: false,
            is_ambiguous: false,
            may_have_index: table.index.is_none() && table.columns.is_none() && record.len() > 1,
            counts_rows: true,
            first_row: 0,
            has_whole_row: false,
            has_counting_row: false,
            has_year_row: false,
        };
        // pandas and R write the row numbers as a first column without a name.
        let corner = record.get(0).filter(|_| table.columns.is_none() && record.len() > 1);
        let has_unnamed = corner.is_some_and(|corner| corner.is_empty());
        let names = &first.cells[usize::from(has_unnamed && table.index != Some(true))..];
        let by_name =
            table.columns.iter().flatten().any(|column| matches!(column, Column::Name(_)));
        match table.header {
            Some(is_header) => first.is_header = is_header,
            None if by_name => first.is_header = true,
            None if has_unnamed && (are_names(names) || counts(names)) => {
                first.is_header = true;
            }
            None => {
                let is_number =
                    |cell: &&String| cell.parse::<f64>().is_ok() || T::of_text(cell).is_some();
                let (numbers, others): (Vec<_>, Vec<_>) = first.cells.iter().partition(is_number);
                if let Some(other) = others.first() {
                    first.check_names(numbers.len(), &others, other)?;
                    first.is_header = true;
                } else {
                    first.is_ambiguous = may_be_names(&first.cells);
                }
            }
        }
        let unnamed = |corner: &str| corner.is_empty() || corner.eq_ignore_ascii_case("Unnamed: 0");
        if first.may_have_index && first.is_header && corner.is_some_and(unnamed) {
            let corner = corner.unwrap_or_default();
            return Err(
                first.index_refusal(&format!("its name is {corner:?}, as pandas writes it"))
            );
        }
        Ok(first)
    }

    /// Checks that a first line with these non-numeric cells holds names.
    fn check_names(&self, numbers: usize, others: &[&String], other: &str) -> Result<(), Refusal> {
        if numbers > 0 {
            let (numbers, others) = (count(numbers, "number"), count(others.len(), "other cell"));
            let why = format!("it has {numbers} and {others}, such as {:?}", cut(other));
            return Err(self.header_refusal(&why, other));
        }
        if let Some(other) = others.iter().find(|cell| !is_name(cell)) {
            let why = format!("{:?} is neither a number nor a name", cut(other));
            return Err(self.header_refusal(&why, other));
        }
        match repeated(&self.cells) {
            Some(cell) => {
                Err(self.header_refusal(&format!("several cells are {:?}", cut(cell)), ""))
            }
            None => Ok(()),
        }
    }

    /// Records observations from the row with this number, which may be the first line.
    fn watch(&mut self, record: &csv::StringRecord, row: usize) {
        if self.may_have_index {
            let number = record.get(0).and_then(whole);
            if row == 0 {
                self.first_row = usize::from(number == Some(1));
            }
            self.counts_rows &= number == u64::try_from(row + self.first_row).ok();
        }
        if self.is_ambiguous && row > 0 {
            let cells: Vec<&str> = self.places.iter().map(|place| &record[*place]).collect();
            self.has_whole_row |= cells.iter().all(|cell| whole(cell).is_some());
            self.has_counting_row |= counts(&cells);
            self.has_year_row |= are_years(&cells);
        }
    }

    /// Checks the conditions that depend on all rows.
    fn check(&self, rows: usize) -> Result<(), Refusal> {
        let columns = self.cells.len();
        // The first line may consist of numbers that count, such as `0,1`. With more than two
        // columns, these are names unless another row counts in the same way. One or two such
        // numbers are often values. They are names only if no other row has whole numbers only.
        let are_names = match are_years(&self.cells) {
            true => !self.has_year_row,
            false if columns > 2 => !self.has_counting_row,
            false => !self.has_whole_row,
        };
        if self.is_ambiguous && rows > 1 && are_names {
            let why = "such numbers may be the names of columns, or years, above the values";
            return Err(self.header_refusal(why, ""));
        }
        let says_index = self.cells.first().is_some_and(|name| name.eq_ignore_ascii_case("index"));
        let is_index = if self.is_header { says_index } else { rows > 2 && self.first_row == 0 };
        if self.may_have_index && self.counts_rows && is_index {
            return Err(self.index_refusal("it counts the rows"));
        }
        Ok(())
    }

    /// The error for a first line that may be names or values.
    fn header_refusal(&self, why: &str, cell: &str) -> Refusal {
        let (line, shown) = (self.line, shown(&self.cells));
        let what = format!("line {line} ({shown}) may be a header or values: {why}");
        let flags = "Give --header if it holds the names of the columns, or --no-header if it \
                     holds values.";
        let ends_empty = self.cells.len() > 1 && self.cells.last().is_some_and(String::is_empty);
        let last = match ends_empty {
            true => {
                "If the lines end with a delimiter, choose the columns before it with --columns."
            }
            false if has_decimal_comma(cell) => advice(cell),
            false => "",
        };
        Refusal::new(what, format!("{flags} {last}").trim_end())
    }

    /// The error for a first column that may be a row index.
    fn index_refusal(&self, why: &str) -> Refusal {
        let what = format!("the first column looks like a row index: {why}");
        let flags = "Give --index to leave it out, --no-index to encrypt it, or choose columns \
                     with --columns.";
        Refusal::new(what, flags)
    }
}

/// A cell that occurs more than once in a line.
fn repeated(cells: &[String]) -> Option<&str> {
    let mut sorted: Vec<_> = cells.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].as_str())
}

/// True if all cells are names and differ from each other.
fn are_names(cells: &[String]) -> bool {
    cells.iter().all(|cell| is_name(cell)) && repeated(cells).is_none()
}

/// The cells of a line, for errors.
fn shown<S: AsRef<str>>(cells: &[S]) -> String {
    let some: Vec<&str> = cells.iter().take(MAX_CELLS_SHOWN).map(AsRef::as_ref).collect();
    let more = if cells.len() > MAX_CELLS_SHOWN { ", .." } else { "" };
    cut(&some.join(", ").replace('\n', "\\n")).into_owned() + more
}

/// Reads a whole number from 0 that is written with digits only.
fn whole(cell: &str) -> Option<u64> {
    cell.parse().ok().filter(|_| cell.bytes().all(|byte| byte.is_ascii_digit()))
}

/// True if the cells are whole numbers that increase by 1.
fn counts<S: AsRef<str>>(cells: &[S]) -> bool {
    let Some(first) = cells.first().and_then(|cell| whole(cell.as_ref())) else { return false };
    (first..).zip(cells).all(|(number, cell)| whole(cell.as_ref()) == Some(number))
}

/// True if all cells are years.
fn are_years<S: AsRef<str>>(cells: &[S]) -> bool {
    cells.iter().all(|cell| whole(cell.as_ref()).is_some_and(|year| YEARS.contains(&year)))
}

/// True if numbers may be names of columns.
///
/// They then count from 0 or 1, as names that programs generate, or from a year.
fn may_be_names(cells: &[String]) -> bool {
    let first = cells.first().and_then(|cell| whole(cell));
    let starts = first
        .is_some_and(|first| first == 0 || first == 1 && cells.len() > 1 || YEARS.contains(&first));
    starts && counts(cells)
}

impl Table {
    /// The places of the columns to read, from 0. `first` is the first line.
    fn places(&self, first: &csv::StringRecord, line: usize) -> Result<Vec<usize>, String> {
        let Some(columns) = &self.columns else {
            let start = usize::from(self.index == Some(true));
            if start == first.len() {
                return Err(format!("--index leaves out the only column of line {line}"));
            }
            return Ok((start..first.len()).collect());
        };
        let place = |column: &Column| match column {
            Column::Place(place) if (1..=first.len()).contains(place) => Ok(place - 1),
            Column::Place(place) => Err(format!(
                "--columns: there is no column {place}: line {line} has {}",
                first.len()
            )),
            Column::Name(name) => {
                let mut named = first.iter().enumerate().filter(|(_, cell)| cell == name);
                match (named.next(), named.count()) {
                    (Some((place, _)), 0) => Ok(place),
                    (Some(_), others) => Err(format!(
                        "--columns: {} columns are named {name:?}: say their places, from 1",
                        others + 1
                    )),
                    (None, _) => {
                        let names = shown(&first.iter().collect::<Vec<_>>());
                        Err(format!(
                            "--columns: there is no column {name:?}: line {line} has {names}"
                        ))
                    }
                }
            }
        };
        columns.iter().map(place).collect()
    }
}

/// Writes one line for each row, below a line of names unless there are none.
///
/// A one-dimensional array is one column. Each double has enough digits to distinguish it from
/// every other one.
pub(super) fn write<T: Serialize>(
    array: &Array<T>,
    names: &[String],
    stream: &mut dyn Write,
) -> io::Result<()> {
    let columns = array.shape.get(1).copied().unwrap_or(1).max(1);
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(stream);
    if !names.is_empty() {
        writer.write_record(names).map_err(io::Error::other)?;
    }
    for row in array.values.chunks(columns) {
        writer.serialize(row).map_err(io::Error::other)?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8], table: &Table) -> Result<Array, String> {
        super::parse(bytes, table).map(|contents| contents.numbers)
    }

    /// The shape and the names of a file without flags.
    fn shape_and_names(text: &str) -> (Vec<usize>, Vec<String>) {
        let contents = super::parse::<f64>(text.as_bytes(), &Table::default()).expect("numbers");
        (contents.numbers.shape, contents.names)
    }

    /// The error of a file without flags.
    fn refusal(text: &str) -> String {
        parse(text.as_bytes(), &Table::default()).unwrap_err()
    }

    fn with(header: bool) -> Table {
        Table { header: Some(header), ..Table::default() }
    }

    fn with_index(index: bool) -> Table {
        Table { index: Some(index), ..Table::default() }
    }

    fn written(array: &Array, names: &[&str]) -> String {
        let mut bytes = Vec::new();
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        write(array, &names, &mut bytes).expect("writing to memory");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn reads_with_and_without_header() {
        let want = Array { shape: vec![2, 2], values: vec![1.0, -2.5, 3e4, 4.0] };
        assert_eq!(parse(b"1,-2.5\n3e4, 4\n", &Table::default()), Ok(want.clone()));
        assert_eq!(
            parse(b"\xef\xbb\xbfage,\"blood, pressure\"\r\n1,-2.5\r\n\r\n3e4,4", &Table::default()),
            Ok(want.clone())
        );
        assert_eq!(parse(b"7,8\n1,-2.5\n3e4,4\n", &with(true)), Ok(want));
    }

    #[test]
    fn names_the_cell_that_is_wrong() {
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        for (text, table, words) in [
            (
                "a,b\n1,2\n3,x\n",
                Table::default(),
                "line 3, column 2: \"x\" is not a finite number. Write categories",
            ),
            ("a,b\n1,2\n", with(false), "line 1, column 1: \"a\" is not a finite number"),
            (
                "1,2\n3,NaN\n",
                Table::default(),
                "line 2, column 2: \"NaN\" is not a finite number. A value is missing",
            ),
            (
                "1,2\n3,1e999\n",
                Table::default(),
                "line 2, column 2: \"1e999\" is not a finite number",
            ),
            (
                "1,2\n3,\n",
                Table::default(),
                "line 2, column 2: \"\" is not a finite number. A value is missing",
            ),
            (
                "1,2\n3,2020-01-31\n",
                Table::default(),
                "\"2020-01-31\" is not a finite number. Write a date as a number",
            ),
            (
                "1,2\n3,\u{2212}1\n",
                Table::default(),
                "\"\u{2212}1\" is not a finite number. Write plain numbers",
            ),
        ] {
            assert!(error(text, &table).contains(words), "{text}: {}", error(text, &table));
        }
        assert_eq!(
            error("1,2\n3\n", &Table::default()),
            "line 2 has 1 column, the first line has 2. Write the missing cells, or delete the \
             surplus ones."
        );
        assert_eq!(error("", &Table::default()), "it holds no numbers");
        assert_eq!(error("a,b\n", &Table::default()), "it holds no numbers");
    }

    #[test]
    fn a_first_line_of_codes_is_ambiguous() {
        for (text, why) in [
            ("1,,3\n4,5,6\n", "it has 2 numbers and 1 other cell, such as \"\""),
            ("1.0,N/A\n4,5\n", "it has 1 number and 1 other cell, such as \"N/A\""),
            ("id,2020\n4,5\n", "it has 1 number and 1 other cell, such as \"id\""),
            ("ND,<LOD,yes\n4,5,6\n", "\"ND\" is neither a number nor a name"),
            ("age,<LOD\n4,5\n", "\"<LOD\" is neither a number nor a name"),
            ("age,yes\n4,5\n", "\"yes\" is neither a number nor a name"),
            ("NA,K\n4,5\n", "\"NA\" is neither a number"),
            ("#,größe\n4,5\n", "\"#\" is neither a number"),
            ("age,age\n4,5\n", "several cells are \"age\""),
            ("b,a,c,a\n1,2,3,4\n", "several cells are \"a\""),
            (",ND\n4,5\n", "\"\" is neither a number"),
            (",age,age\n0,4,5\n", "\"\" is neither a number"),
        ] {
            let error = refusal(text);
            let (first, _) = text.split_once('\n').expect("a line");
            let message =
                format!("line 1 ({}) may be a header or values: {why}", first.replace(',', ", "));
            assert!(error.starts_with(&message), "{text}: {error}");
            assert!(
                error.contains(". Give --header if") && error.contains("or --no-header if"),
                "{text}: {error}"
            );
        }
        let unnamed = [
            ",",
            "1j,2j",
            "1 000,-",
            "50%,\u{2212}1",
            "\"1,2",
            "NA,NA",
            "n/a,<NA>",
            "NULL,None",
            ",#N/A",
            "True,False",
            "#DIV/0!,#REF!",
            "#N/A,#NAME?",
            "nil,\\N",
            "NaT,NULL",
            "2020-01,2020-02",
        ];
        for first in unnamed {
            let error = refusal(&format!("{first}\n4,5\n"));
            assert!(error.contains("is neither a number nor a name"), "{first}: {error}");
        }
        assert!(refusal("a,b,\n1,2,\n").contains("choose the columns before it with --columns"));
        let want = Array { shape: vec![1, 2], values: vec![4.0, 5.0] };
        for first in ["2020-01,2020-02", "id,2020", "NA,NA", "age,age", "ND,<LOD", "7,8"] {
            assert_eq!(
                parse(format!("{first}\n4,5\n").as_bytes(), &with(true)),
                Ok(want.clone()),
                "{first}"
            );
        }
    }

    #[test]
    fn a_header_is_one_name_for_each_column() {
        for (text, names) in [
            ("age,\"blood, pressure\"\n4,5\n", &["age", "blood, pressure"][..]),
            ("Größe (cm),# b\n4,5\n", &["Größe (cm)", "# b"]),
            ("x,y\n4,5\n", &["x", "y"]),
            ("n,N\n4,5\n", &["n", "N"]),
            ("4,5\n", &[]),
            ("-1,-9\n", &[]),
        ] {
            assert_eq!(
                shape_and_names(text),
                (vec![1, 2], names.iter().map(|name| (*name).to_owned()).collect())
            );
        }
    }

    #[test]
    fn numbers_as_names_are_ambiguous() {
        for text in [
            "2019,2020\n5.5,6.25\n1,2.5\n",
            "2019,2020\n5.5,6\n1,2\n",
            "2019,2020,2021\n3,4,5\n1,2,9\n",
            "2019,2020\n30000,40000\n",
            "2019,2020,2021\n5,6,8\n1,2,4\n",
            "0,1\n0.5,1\n0.25,2\n",
            "0,1,2\n5,1,7\n3,3,3\n",
            "1,2,3,4\n5,1,7,7\n",
            "0\n0.5\n0.25\n",
            "2019\n0.5\n",
        ] {
            let error = refusal(text);
            assert!(
                error.contains("may be a header or values: such numbers may be the names"),
                "{text}: {error}"
            );
            assert!(
                parse(text.as_bytes(), &with(true)).is_ok()
                    && parse(text.as_bytes(), &with(false)).is_ok()
            );
        }
        for text in [
            "1,2\n3,4\n",
            "1,2,3\n4,5,6\n",
            "0,1,2\n",
            "1\n0.5\n",
            "2020,2021\n",
            "0,1\n1,1\n0,0\n",
            "2019,2020\n2021,2022\n",
        ] {
            let lines = text.lines().count();
            assert_eq!(
                parse(text.as_bytes(), &Table::default()).expect(text).shape[0],
                lines,
                "{text}"
            );
        }
        // An array of bits holds only 0 and 1, so such a first line is not ambiguous.
        let bits = super::parse::<bool>(b"0,1\n1,0\n1,1\n", &Table::default()).expect("bits");
        assert_eq!(bits.numbers.shape, [3, 2]);
    }

    #[test]
    fn a_row_index_is_ambiguous() {
        for text in [
            ",age,weight\n0,30,60\n1,40,70\n",
            ",age,weight\n1,30,60\n2,40,70\n",
            "\"\",\"age\",\"weight\"\n\"1\",30,60\n\"2\",40,70\n",
            "Unnamed: 0,age,weight\n7,30,60\n3,40,70\n",
            ",0,1\n0,30,60\n1,40,70\n",
            "index,age,weight\n0,30,60\n1,40,70\n",
            "index,age,weight\n1,30,60\n2,40,70\n",
        ] {
            let error = refusal(text);
            assert!(
                error.starts_with("the first column looks like a row index: "),
                "{text}: {error}"
            );
            assert!(
                ["Give --index", "--no-index", "--columns"].iter().all(|flag| error.contains(flag)),
                "{error}"
            );
            let dropped = Ok(Array { shape: vec![2, 2], values: vec![30.0, 60.0, 40.0, 70.0] });
            assert_eq!(parse(text.as_bytes(), &with_index(true)), dropped, "{text}");
            let kept = parse(text.as_bytes(), &with_index(false)).expect(text);
            assert_eq!((kept.shape, kept.values[1]), (vec![2, 3], 30.0), "{text}");
            let places = Some(vec![Column::Place(2), Column::Place(3)]);
            let chosen = Table { columns: places, header: Some(true), ..Table::default() };
            assert_eq!(parse(text.as_bytes(), &chosen), dropped, "{text}");
        }
        assert!(refusal("0,5.5\n1,6\n2,7\n").contains("row index: it counts the rows"));
        let names = super::parse::<f64>(b",age\n0,30\n", &with_index(true)).expect("numbers").names;
        assert_eq!(names, ["age"]);
        assert!(
            parse(b"x\n1\n", &with_index(true)).unwrap_err().contains("leaves out the only column")
        );
        for text in [
            "index,age\n5,30\n7,40\n",
            "0,5.5\n1,6\n",
            "day,age\n0,1\n1,1\n2,1\n",
            "0\n1\n2\n",
            "1,1\n2,4\n3,9\n",
        ] {
            assert!(parse(text.as_bytes(), &Table::default()).is_ok(), "{text}");
        }
    }

    #[test]
    fn column_names_can_be_read_alone() {
        let names = |text: &str, table: &Table| super::names(text.as_bytes(), table);
        assert_eq!(names("\u{feff}\n", &Table::default()).unwrap_err(), "it is empty");
        assert_eq!(
            names("\u{feff}age,\"a, b\"\nx,y\n", &Table::default()).unwrap(),
            ["age", "a, b"]
        );
        assert_eq!(names(",age,b\n0,1,2\n", &with_index(true)).unwrap(), ["age", "b"]);
        let columns = Some(vec![Column::Name("c".to_owned()), Column::Place(1)]);
        let table = Table { columns, delimiter: Some(b';'), ..Table::default() };
        assert_eq!(names("a;b;c\n", &table).unwrap(), ["c", "a"]);
        assert_eq!(names("2019,2020\n1,2\n", &Table::default()).unwrap(), ["2019", "2020"]);
        let error = names("30,60.5\n40,70\n", &Table::default()).unwrap_err();
        assert_eq!(error, "line 1 (30, 60.5) holds numbers, not the names of columns");
        assert!(names("a;b\n", &table).unwrap_err().contains("there is no column \"c\""));
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let error = |bytes| parse(bytes, &Table::default()).unwrap_err();
        assert_eq!(
            error(b"1,2\n\xff\xfe,3\n"),
            "line 2 holds bytes that are no text in UTF-8: save it as UTF-8"
        );
        assert!(error(b"PK\x03\x04\x14\0").starts_with("this is a spreadsheet"));
        assert_eq!(error(b"\xff\xfe1\0\n\0"), "it is text in UTF-16: save it as UTF-8");
        assert_eq!(error(b"\xfe\xff\x001\0\n"), "it is text in UTF-16: save it as UTF-8");
    }

    #[test]
    fn a_blank_line_is_a_missing_value_of_one_column() {
        let error = |text: &str| parse(text.as_bytes(), &Table::default()).unwrap_err();
        for (text, line) in [
            ("x\n1\n\n3\n", 3),
            ("x\r\n1\r\n\r\n3\r\n", 3),
            ("x\r1\r\r3\r", 3),
            ("1\n2\n\n\n\n3", 3),
            ("x\n\n1\n", 2),
            ("\n1\n2\n", 1),
            ("\"one\nname\"\n1\n\n2\n", 4),
        ] {
            assert_eq!(
                error(text),
                format!("line {line} is blank, where a number is needed"),
                "{text:?}"
            );
        }
        assert!(
            error("x\r\n1\r\n \r\n3\r\n")
                .starts_with("line 3, column 1: \"\" is not a finite number")
        );
        let want = Array { shape: vec![2, 1], values: vec![1.0, 2.0] };
        for text in ["x\n1\n2\n\n\n", "x\r\n1\r\n2\r\n\r\n\r\n", "1\n2"] {
            assert_eq!(parse(text.as_bytes(), &Table::default()), Ok(want.clone()), "{text:?}");
        }
        // With several columns, a blank line is not a row.
        let want = Array { shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] };
        assert_eq!(parse(b"\na,b\n\n1,2\n\n3,4\n", &Table::default()), Ok(want));
        assert!(
            error("a,b\r\n1,2\r\n\r\n3,x\r\n")
                .starts_with("line 4, column 2: \"x\" is not a finite number")
        );
    }

    #[test]
    fn columns_are_split_at_the_delimiter() {
        let by = |delimiter| Table { delimiter: Some(delimiter), ..Table::default() };
        let want = Ok(Array { shape: vec![2, 2], values: vec![1.0, -2.5, 3e4, 4.0] });
        assert_eq!(parse(b"a;b\n1;-2.5\n3e4;4\n", &by(b';')), want);
        assert_eq!(parse(b"a\tb\n1\t-2.5\n3e4\t4\n", &by(b'\t')), want);
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        let semicolons = error("a;b\n1;2\n", &Table::default());
        assert!(
            semicolons.starts_with("line 2, column 1: \"1;2\" is not a finite number"),
            "{semicolons}"
        );
        assert!(
            semicolons.ends_with(
                "number. The first line is divided by semicolons: give --delimiter ';'."
            ),
            "{semicolons}"
        );
        let tabs = error("1\t2\n", &Table::default());
        assert!(tabs.ends_with("divided by tabs: give --delimiter '\\t'."), "{tabs}");
        for text in ["1 2.5\n3 4\n", "a b\n1 2\n"] {
            assert!(refusal(text).ends_with("divided by spaces: give --delimiter ' '."), "{text}");
            assert!(parse(text.as_bytes(), &by(b' ')).is_ok(), "{text}");
        }
        assert!(refusal("a|b\n1|2\n").ends_with("divided by vertical bars: give --delimiter '|'."));
        assert!(!refusal("blood pressure\nx\n").contains("--delimiter"));
        let excel = error("sep=;\na;b\n1;2\n", &by(b';'));
        assert!(
            excel.ends_with("Delete the first line, which is for Excel, and give --delimiter ';'."),
            "{excel}"
        );
        for (text, table) in [("a,b;c\n1,x\n", Table::default()), ("a;b\n1;x\n", by(b';'))] {
            assert!(!error(text, &table).contains("--delimiter"), "{text}");
        }
    }

    #[test]
    fn columns_are_chosen_by_name_or_place() {
        let table = |columns: &str, header: Option<bool>| {
            let columns =
                columns.split(',').map(|column| column.parse().expect("a column")).collect();
            Table { header, columns: Some(columns), ..Table::default() }
        };
        let file = b"id,age,name,2020,age\nx,1,one,2,3\ny,4,two,5,6\n";
        let read = |columns: &str| parse(file, &table(columns, None));
        let array = |width: usize, values: &[f64]| {
            Ok(Array { shape: vec![2, width], values: values.to_vec() })
        };
        assert_eq!(parse(file, &table("4,2", Some(true))), array(2, &[2.0, 1.0, 5.0, 4.0]));
        assert_eq!(
            parse(b"name,a b,b\nx,1,2\ny,4,5\n", &table("b,a b", None)),
            array(2, &[2.0, 1.0, 5.0, 4.0])
        );
        assert_eq!(parse(b"x,1,one\ny,4,two\n", &table("2", None)), array(1, &[1.0, 4.0]));
        assert_eq!(parse(b"1,x,a\n\n4,y,b\n", &table("1", Some(false))), array(1, &[1.0, 4.0]));
        for (columns, words) in [
            ("age", "--columns: 2 columns are named \"age\": say their places, from 1"),
            ("sex", "--columns: there is no column \"sex\": line 1 has id, age, name, 2020, age"),
            ("6", "--columns: there is no column 6: line 1 has 5"),
            ("0", "--columns: there is no column 0: line 1 has 5"),
            ("3,2", "line 2, column 3: \"one\" is not a finite number"),
        ] {
            assert!(read(columns).unwrap_err().starts_with(words), "{columns}");
        }
    }

    #[test]
    fn a_vector_is_a_column_and_a_number_a_line() {
        assert_eq!(
            written(&Array { shape: vec![2], values: vec![1.5, -0.25] }, &[]),
            "1.5\n-0.25\n"
        );
        assert_eq!(written(&Array { shape: vec![], values: vec![1e-300] }, &[]), "1e-300\n");
        assert_eq!(written(&Array { shape: vec![0, 3], values: vec![] }, &[]), "");
        let row = Array { shape: vec![1, 2], values: vec![1.5, 2.0] };
        assert_eq!(written(&row, &["a, b", "c"]), "\"a, b\",c\n1.5,2.0\n");
    }

    /// Counting the lines before each of them would take minutes.
    #[test]
    fn long_files_take_linear_time() {
        let lines = 300_000;
        let text = "1.5,-2\n".repeat(lines);
        let array = parse(text.as_bytes(), &Table::default()).expect("numbers");
        assert_eq!(array.shape, [lines, 2]);
        let wrong = parse((text + "1,x\n").as_bytes(), &Table::default()).unwrap_err();
        assert!(
            wrong.starts_with("line 300001, column 2: \"x\" is not a finite number"),
            "{wrong}"
        );
    }

    #[test]
    fn errors_name_the_line_in_the_file() {
        let error = |text: &str| parse(text.as_bytes(), &Table::default()).unwrap_err();
        let x = "\"x\" is not a finite number";
        for (text, line) in [
            ("a,b\r\n1,2\r\n3,x\r\n", 3),
            ("a,b\r1,2\r3,x\r", 3),
            ("\n\na,b\n\n1,2\n\n\n3,x", 8),
            ("\r\na,b\r\n\r\n1,2\r\n3,x", 5),
            ("\"first\nname\",b\n1,2\n3,x", 4),
            ("\"first\r\nname\",\"b\n\nb\"\r\n\r\n1,2\r\n3,x", 7),
        ] {
            assert!(error(text).starts_with(&format!("line {line}, column 2: {x}")), "{text:?}");
        }
        let ragged = error("a,b\r\n\r\n1,2\r\n3\r\n");
        assert!(ragged.starts_with("line 4 has 1 column, the first line has 2. Write the missing"));
        let ragged = error("1,2\n\n3,4,5\n");
        assert!(
            ragged.starts_with("line 3 has 3 columns, the first line has 2. Write the missing")
        );
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        let by_semicolons = Table { delimiter: Some(b';'), ..Table::default() };
        for (text, table, line, words) in [
            ("\"a,b\n1,2\n", &Table::default(), 1, "it holds no numbers"),
            (
                "1,\"2\n3,4",
                &Table::default(),
                1,
                "line 1 (1, 2\\n3,4) may be a header or values: it has 1 number",
            ),
            ("\"1,2\n4,5\n", &Table::default(), 1, "is neither a number nor a name"),
            ("\"a\nb\",c\n1,2\n3,\"4\n5,6\n", &Table::default(), 4, "line 4, column 2"),
            ("a;b\n1;\"\"\"2\n", &by_semicolons, 2, "line 2, column 2"),
        ] {
            let error = parse(text.as_bytes(), table).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
            let message = format!(". A quote opens in line {line} and is not closed.");
            assert!(error.ends_with(&message), "{text:?}: {error}");
        }
        for (text, line) in [("a,b\n\"1\",\"2\"\n\"3\",\"45", 3), ("a\n1\n\"2\n", 3)] {
            let error = parse(text.as_bytes(), &Table::default()).unwrap_err();
            assert_eq!(
                error,
                format!("a quote opens in line {line} and is not closed: the text ends too early")
            );
        }
        for text in ["\"a \"\"b\"\"\",c\n1,x\n", "a,5\" \n1,x\n", "\"a\"\"\",c\n1,x\n"] {
            let error = parse(text.as_bytes(), &with(true)).unwrap_err();
            assert!(error.contains("is not a finite number. Write"), "{text:?}: {error}");
        }
    }

    #[test]
    fn decimal_commas_are_recognised() {
        let by_semicolons =
            |header: Option<bool>| Table { delimiter: Some(b';'), header, ..Table::default() };
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        for (text, name) in
            [("1,5;2,5\n", "semicolons"), ("1;2,5\n", "semicolons"), ("1,5\t-2,5\n", "tabs")]
        {
            let message = error(text, &Table::default());
            assert!(
                message
                    .contains(&format!("divided by {name}, with decimal commas: give --delimiter")),
                "{message}"
            );
        }
        let point = ". Write a decimal point instead of the comma, and no thousands separators.";
        let message = error("1,5;2,5\n", &by_semicolons(Some(false)));
        assert_eq!(message, format!("line 1, column 1: \"1,5\" is not a finite number{point}"));
        for (text, words) in [
            ("a;b\n1,5;2\n", "line 2, column 1: \"1,5\" is not"),
            ("1,5;2\n", "1 number and 1 other cell, such as \"1,5\". Give --header"),
            ("1,5;2,5\n", "\"1,5\" is neither a number nor a name"),
        ] {
            let message = error(text, &by_semicolons(None));
            assert!(message.contains(words) && message.ends_with(&point[1..]), "{message}");
        }
        for text in ["a,b;c\n1,x\n", "1,2,3;x\n"] {
            let message = error(text, &Table::default());
            assert!(!message.contains("decimal"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            rows in 1usize..6,
            columns in 1usize..6,
            seed in proptest::collection::vec(-1e300f64..1e300, 25),
        ) {
            let array =
                Array { shape: vec![rows, columns], values: seed[..rows * columns].to_vec() };
            let table = Table { index: Some(false), ..with(false) };
            prop_assert_eq!(parse(written(&array, &[]).as_bytes(), &table), Ok(array));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(array) = parse(&bytes, &Table::default()) {
                prop_assert_eq!(array.shape.iter().product::<usize>(), array.values.len());
            }
        }
    }
}
