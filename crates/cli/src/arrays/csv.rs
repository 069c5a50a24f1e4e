//! Comma-separated values.

use super::{Array, Column, Element, Header, Table, cut};
use crate::console::count;
use serde::Serialize;
use std::io::{self, Write};

/// Words for a missing value, such as `N/A` and `<NA>`, without what is no letter or digit, and for truth values: they are no names.
const VALUES: [&str; 9] = ["na", "nan", "nat", "nil", "null", "none", "missing", "true", "false"];

/// So many names of columns are told where another was asked for.
const MOST_NAMES: usize = 40;

/// Reads rows of numbers. Spaces around a number are skipped, and blank lines too, but those between rows of one column, where a value may be missing.
///
/// A first line where some cells are numbers and others are not, or where none looks like a name, is an error unless `header` says what it is: taken for names,
/// a row with values missing, or written in another way, would be lost without a word.
pub(super) fn parse<T: Element>(bytes: &[u8], table: &Table) -> Result<Array<T>, String> {
    let text = text(bytes)?;
    let array = parse_text(text, table).map_err(|reason| reason + &hint(text, table))?;
    match open_quote(text, table.delimiter.unwrap_or(b',')) {
        // What was cut off may have been part of a number.
        Some(line) => Err(format!("a quote opens in line {line} and is not closed: the text ends too early")),
        None => Ok(array),
    }
}

/// What may be behind an error.
fn hint(text: &str, table: &Table) -> String {
    if let Some(line) = open_quote(text, table.delimiter.unwrap_or(b',')) {
        return format!(" (a quote opens in line {line} and is not closed)");
    }
    match table.delimiter {
        Some(_) => String::new(),
        None => other_delimiter(text).unwrap_or_default(),
    }
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
            // Two of them stand for one.
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
    }
    None
}

/// The text without the mark that says it is some.
fn text(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("it is text in UTF-16: save it as UTF-8".to_owned());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        format!("line {line} holds bytes that are no text in UTF-8: save it as UTF-8")
    })
}

/// What else seems to divide the columns, and what to say then.
fn other_delimiter(text: &str) -> Option<String> {
    let first = text.lines().find(|line| !line.is_empty())?;
    [(';', "semicolons", "';'"), ('\t', "tabs", "'\\t'")].into_iter().find_map(|(delimiter, name, say)| {
        let decimal_commas = first.split(delimiter).any(has_decimal_comma);
        match (first.contains(delimiter), first.contains(','), decimal_commas) {
            (true, false, _) => Some(format!(" (the first line is divided by {name}: say --delimiter {say})")),
            (true, true, true) => Some(format!(
                " (the first line seems to be divided by {name}, with decimal commas: say --delimiter {say}, and write decimal points)"
            )),
            _ => None,
        }
    })
}

/// Whether a cell would be a number if its comma were a point.
fn has_decimal_comma(cell: &str) -> bool {
    cell.matches(',').count() == 1 && cell.trim().replace(',', ".").parse::<f64>().is_ok()
}

/// What to say of a cell that is no number.
fn comma_hint(cell: &str) -> &'static str {
    if has_decimal_comma(cell) { "; numbers are written with a decimal point, not a comma" } else { "" }
}

/// The line, from 1, of what stands at `offset`.
fn line_at(text: &[u8], offset: usize) -> usize {
    let ends =
        |(at, byte): (usize, &u8)| *byte == b'\n' || *byte == b'\r' && text.get(at + 1) != Some(&b'\n');
    1 + text[..offset].iter().enumerate().filter(|end| ends(*end)).count()
}

fn parse_text<T: Element>(text: &str, table: &Table) -> Result<Array<T>, String> {
    let bytes = text.as_bytes();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(table.delimiter.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let offset = |position: &csv::Position| usize::try_from(position.byte()).unwrap_or(bytes.len());
    // How many columns there are, and which of them are read.
    let mut columns: Option<(usize, Vec<usize>)> = None;
    let mut record = csv::StringRecord::new();
    let (mut rows, mut values) = (0, Vec::new());
    loop {
        // The end of the last line, its line feed included.
        let end = offset(reader.position());
        let end = end + usize::from(end > 0 && bytes[end - 1] == b'\r' && bytes.get(end) == Some(&b'\n'));
        if !reader.read_record(&mut record).map_err(|e| format!("line {}: {e}", line_at(bytes, end)))? {
            break;
        }
        let blank = bytes[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        // Only errors need it: it counts from the beginning.
        let line = || line_at(bytes, end + blank);
        let is_first = columns.is_none();
        if is_first {
            columns = Some((record.len(), table.places(&record, line())?));
        }
        let Some((width, places)) = &columns else { continue };
        if record.len() != *width {
            let have = count(record.len(), "column");
            return Err(format!("line {} has {have}, the first line has {width}", line()));
        }
        if blank > 0 && *width == 1 {
            return Err(format!("line {} is blank, where a number is needed", line_at(bytes, end)));
        }
        let cells = || places.iter().map(|place| (*place, &record[*place]));
        if is_first && table.is_header::<T>(cells().map(|(_, cell)| cell), line())? {
            continue;
        }
        for (place, cell) in cells() {
            let value = T::of_text(cell).ok_or_else(|| {
                let (line, place, comma) = (line(), place + 1, comma_hint(cell));
                format!("line {line}, column {place}: {:?} is not {}{comma}", cut(cell), T::WHAT)
            });
            values.push(value?);
        }
        rows += 1;
    }
    match columns {
        Some((_, places)) if rows > 0 => Ok(Array { shape: vec![rows, places.len()], values }),
        _ => Err("it holds no numbers".to_owned()),
    }
}

impl Table {
    /// Which columns are read, from 0; `first` is the first line.
    fn places(&self, first: &csv::StringRecord, line: usize) -> Result<Vec<usize>, String> {
        let Some(columns) = &self.columns else { return Ok((0..first.len()).collect()) };
        let place = |column: &Column| match column {
            Column::Place(place) if (1..=first.len()).contains(place) => Ok(place - 1),
            Column::Place(place) => {
                Err(format!("--columns: there is no column {place}: line {line} has {}", first.len()))
            }
            Column::Name(name) => {
                let mut named = first.iter().enumerate().filter(|(_, cell)| cell == name);
                match (named.next(), named.count()) {
                    (Some((place, _)), 0) => Ok(place),
                    (Some(_), others) => Err(format!(
                        "--columns: {} columns are named {name:?}: say their places, from 1",
                        others + 1
                    )),
                    (None, _) => {
                        let names: Vec<_> = first.iter().take(MOST_NAMES).map(cut).collect();
                        let more = if first.len() > MOST_NAMES { ", .." } else { "" };
                        let names = names.join(", ") + more;
                        Err(format!("--columns: there is no column {name:?}: line {line} has {names}"))
                    }
                }
            }
        };
        columns.iter().map(place).collect()
    }

    /// Whether the first line, with these cells in the columns that are read, holds names.
    fn is_header<'a, T: Element>(
        &self,
        cells: impl Iterator<Item = &'a str>,
        line: usize,
    ) -> Result<bool, String> {
        match self.header {
            Header::Yes => return Ok(true),
            Header::No => return Ok(false),
            Header::Auto => {}
        }
        if self.columns.iter().flatten().any(|column| matches!(column, Column::Name(_))) {
            return Ok(true);
        }
        let is_number = |cell: &&str| cell.parse::<f64>().is_ok() || T::of_text(cell).is_some();
        let (numbers, others): (Vec<_>, Vec<_>) = cells.partition(is_number);
        if let (Some(other), false) = (others.first(), numbers.is_empty()) {
            return Err(format!(
                "line {line} has {} and {}, such as {:?}: say whether it holds names (--header yes or no){}",
                count(numbers.len(), "number"),
                count(others.len(), "other cell"),
                cut(other),
                comma_hint(other)
            ));
        }
        match others.first() {
            Some(first) if !others.iter().any(|cell| is_name(cell)) => Err(format!(
                "line {line} starts with {:?}, which is no number and looks like no name: say whether it holds names (--header yes or no){}",
                cut(first),
                comma_hint(first)
            )),
            first => Ok(first.is_some()),
        }
    }
}

/// Whether a cell looks like a name: its first letter or digit is a letter, and it is no word for a value, nor an error of a spreadsheet (`#DIV/0!`, `#NAME?`) or a database's missing value (`\\N`).
fn is_name(cell: &str) -> bool {
    let cell = cell.trim();
    if cell == "\\N" || cell.starts_with('#') && cell.ends_with(['!', '?']) {
        return false;
    }
    let word: String = cell.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let value = VALUES.iter().any(|one| word.eq_ignore_ascii_case(one));
    !value && word.starts_with(char::is_alphabetic)
}

/// Writes one line to a row; a one-dimensional array is one column. Each double has as many digits as tell it apart
/// from every other one.
pub(super) fn write<T: Serialize>(array: &Array<T>, stream: &mut dyn Write) -> io::Result<()> {
    let columns = array.shape.get(1).copied().unwrap_or(1).max(1);
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(stream);
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
        super::parse(bytes, table)
    }

    fn with(header: Header) -> Table {
        Table { header, ..Table::default() }
    }

    fn written(array: &Array) -> String {
        let mut bytes = Vec::new();
        write(array, &mut bytes).expect("writing to memory");
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
        assert_eq!(parse(b"7,8\n1,-2.5\n3e4,4\n", &with(Header::Yes)), Ok(want));
    }

    #[test]
    fn names_the_cell_that_is_wrong() {
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        assert_eq!(
            error("a,b\n1,2\n3,x\n", &Table::default()),
            "line 3, column 2: \"x\" is not a finite number"
        );
        assert_eq!(error("a,b\n1,2\n", &with(Header::No)), "line 1, column 1: \"a\" is not a finite number");
        assert_eq!(
            error("1,2\n3,NaN\n", &Table::default()),
            "line 2, column 2: \"NaN\" is not a finite number"
        );
        assert_eq!(
            error("1,2\n3,1e999\n", &Table::default()),
            "line 2, column 2: \"1e999\" is not a finite number"
        );
        assert_eq!(error("1,2\n3,\n", &Table::default()), "line 2, column 2: \"\" is not a finite number");
        assert_eq!(error("1,2\n3\n", &Table::default()), "line 2 has 1 column, the first line has 2");
        assert_eq!(error("", &Table::default()), "it holds no numbers");
        assert_eq!(error("a,b\n", &Table::default()), "it holds no numbers");
    }

    #[test]
    fn a_first_line_that_is_half_names_is_asked_about() {
        for text in ["1,,3\n4,5,6\n", "1.0,N/A\n4,5\n", "id,2020\n4,5\n"] {
            assert!(parse(text.as_bytes(), &Table::default()).unwrap_err().contains("--header"), "{text}");
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
        ];
        for first in unnamed {
            let text = format!("{first}\n4,5\n");
            let error = parse(text.as_bytes(), &Table::default()).unwrap_err();
            assert!(error.contains("looks like no name") && error.contains("--header"), "{text}: {error}");
        }
        let want = Array { shape: vec![1, 2], values: vec![4.0, 5.0] };
        assert_eq!(parse(b"2020-01,2020-02\n4,5\n", &with(Header::Yes)), Ok(want.clone()));
        assert_eq!(parse("#,größe\n4,5\n".as_bytes(), &Table::default()), Ok(want.clone()));
        assert_eq!(parse(b"id,2020\n4,5\n", &with(Header::Yes)), Ok(want.clone()));
        assert_eq!(parse(b",age\n4,5\n", &Table::default()), Ok(want.clone()));
        assert_eq!(parse(b"NA,K\n4,5\n", &Table::default()), Ok(want.clone()));
        assert_eq!(parse(b"none,nasal\n4,5\n", &Table::default()), Ok(want.clone()));
        assert_eq!(parse(b"NA,NA\n4,5\n", &with(Header::Yes)), Ok(want));
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = |bytes| parse(bytes, &Table::default()).unwrap_err();
        assert_eq!(
            error(b"1,2\n\xff\xfe,3\n"),
            "line 2 holds bytes that are no text in UTF-8: save it as UTF-8"
        );
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
            assert_eq!(error(text), format!("line {line} is blank, where a number is needed"), "{text:?}");
        }
        assert_eq!(error("x\r\n1\r\n \r\n3\r\n"), "line 3, column 1: \"\" is not a finite number");
        let want = Array { shape: vec![2, 1], values: vec![1.0, 2.0] };
        for text in ["x\n1\n2\n\n\n", "x\r\n1\r\n2\r\n\r\n\r\n", "1\n2"] {
            assert_eq!(parse(text.as_bytes(), &Table::default()), Ok(want.clone()), "{text:?}");
        }
        // In more columns a blank line is no row.
        let want = Array { shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] };
        assert_eq!(parse(b"\na,b\n\n1,2\n\n3,4\n", &Table::default()), Ok(want));
        assert_eq!(error("a,b\r\n1,2\r\n\r\n3,x\r\n"), "line 4, column 2: \"x\" is not a finite number");
    }

    #[test]
    fn columns_are_divided_as_is_said() {
        let by = |delimiter| Table { delimiter: Some(delimiter), ..Table::default() };
        let want = Ok(Array { shape: vec![2, 2], values: vec![1.0, -2.5, 3e4, 4.0] });
        assert_eq!(parse(b"a;b\n1;-2.5\n3e4;4\n", &by(b';')), want);
        assert_eq!(parse(b"a\tb\n1\t-2.5\n3e4\t4\n", &by(b'\t')), want);
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        let semicolons = error("a;b\n1;2\n", &Table::default());
        assert!(semicolons.starts_with("line 2, column 1: \"1;2\" is not a finite number"), "{semicolons}");
        assert!(semicolons.ends_with("divided by semicolons: say --delimiter ';')"), "{semicolons}");
        let tabs = error("1\t2\n", &Table::default());
        assert!(tabs.ends_with("divided by tabs: say --delimiter '\\t')"), "{tabs}");
        for (text, table) in [("a,b;c\n1,x\n", Table::default()), ("a;b\n1;x\n", by(b';'))] {
            assert!(!error(text, &table).contains("--delimiter"), "{text}");
        }
    }

    #[test]
    fn columns_are_chosen_by_name_or_place() {
        let table = |columns: &str, header| {
            let columns = columns.split(',').map(|column| column.parse().expect("a column")).collect();
            Table { header, columns: Some(columns), ..Table::default() }
        };
        let file = b"id,age,name,2020,age\nx,1,one,2,3\ny,4,two,5,6\n";
        let read = |columns: &str| parse(file, &table(columns, Header::Auto));
        let array =
            |width: usize, values: &[f64]| Ok(Array { shape: vec![2, width], values: values.to_vec() });
        assert_eq!(parse(file, &table("4,2", Header::Yes)), array(2, &[2.0, 1.0, 5.0, 4.0]));
        assert_eq!(
            parse(b"name,a b,b\nx,1,2\ny,4,5\n", &table("b,a b", Header::Auto)),
            array(2, &[2.0, 1.0, 5.0, 4.0])
        );
        assert_eq!(parse(b"x,1,one\ny,4,two\n", &table("2", Header::Auto)), array(1, &[1.0, 4.0]));
        assert_eq!(parse(b"1,x,a\n\n4,y,b\n", &table("1", Header::No)), array(1, &[1.0, 4.0]));
        for (columns, words) in [
            ("age", "--columns: 2 columns are named \"age\": say their places, from 1"),
            ("sex", "--columns: there is no column \"sex\": line 1 has id, age, name, 2020, age"),
            ("6", "--columns: there is no column 6: line 1 has 5"),
            ("0", "--columns: there is no column 0: line 1 has 5"),
            ("3,2", "line 2, column 3: \"one\" is not a finite number"),
        ] {
            assert_eq!(read(columns).unwrap_err(), words);
        }
    }

    #[test]
    fn a_vector_is_a_column_and_a_number_a_line() {
        assert_eq!(written(&Array { shape: vec![2], values: vec![1.5, -0.25] }), "1.5\n-0.25\n");
        assert_eq!(written(&Array { shape: vec![], values: vec![1e-300] }), "1e-300\n");
        assert_eq!(written(&Array { shape: vec![0, 3], values: vec![] }), "");
    }

    /// To count the lines before each of them would take minutes.
    #[test]
    fn long_files_are_read_in_time_that_grows_with_their_length() {
        let lines = 300_000;
        let text = "1.5,-2\n".repeat(lines);
        let array = parse(text.as_bytes(), &Table::default()).expect("numbers");
        assert_eq!(array.shape, [lines, 2]);
        let wrong = parse((text + "1,x\n").as_bytes(), &Table::default()).unwrap_err();
        assert_eq!(wrong, "line 300001, column 2: \"x\" is not a finite number");
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
            assert_eq!(error(text), format!("line {line}, column 2: {x}"), "{text:?}");
        }
        assert_eq!(error("a,b\r\n\r\n1,2\r\n3\r\n"), "line 4 has 1 column, the first line has 2");
        assert_eq!(error("1,2\n\n3,4,5\n"), "line 3 has 3 columns, the first line has 2");
    }

    #[test]
    fn a_quote_that_is_not_closed_is_told() {
        let by_semicolons = Table { delimiter: Some(b';'), ..Table::default() };
        for (text, table, line, words) in [
            ("\"a,b\n1,2\n", &Table::default(), 1, "it holds no numbers"),
            ("1,\"2\n3,4", &Table::default(), 1, "has 1 number and 1 other cell, such as \"2\\n3,4\""),
            ("\"1,2\n4,5\n", &Table::default(), 1, "looks like no name"),
            ("\"a\nb\",c\n1,2\n3,\"4\n5,6\n", &Table::default(), 4, "line 4, column 2"),
            ("a;b\n1;\"\"\"2\n", &by_semicolons, 2, "line 2, column 2"),
        ] {
            let error = parse(text.as_bytes(), table).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
            let told = format!(" (a quote opens in line {line} and is not closed)");
            assert!(error.ends_with(&told), "{text:?}: {error}");
        }
        for (text, line) in [("a,b\n\"1\",\"2\"\n\"3\",\"45", 3), ("a\n1\n\"2\n", 3)] {
            let error = parse(text.as_bytes(), &Table::default()).unwrap_err();
            assert_eq!(
                error,
                format!("a quote opens in line {line} and is not closed: the text ends too early")
            );
        }
        for text in ["\"a \"\"b\"\"\",c\n1,x\n", "a,5\" \n1,x\n", "\"a\"\"\",c\n1,x\n"] {
            let error = parse(text.as_bytes(), &with(Header::Yes)).unwrap_err();
            assert!(error.ends_with("is not a finite number"), "{text:?}: {error}");
        }
    }

    #[test]
    fn decimal_commas_are_told() {
        let by_semicolons = |header| Table { delimiter: Some(b';'), header, ..Table::default() };
        let error = |text: &str, table: &Table| parse(text.as_bytes(), table).unwrap_err();
        for (text, name) in [("1,5;2,5\n", "semicolons"), ("1;2,5\n", "semicolons"), ("1,5\t-2,5\n", "tabs")]
        {
            let told = error(text, &Table::default());
            assert!(
                told.contains(&format!("divided by {name}, with decimal commas: say --delimiter")),
                "{told}"
            );
        }
        let point = "; numbers are written with a decimal point, not a comma";
        let told = error("1,5;2,5\n", &by_semicolons(Header::No));
        assert_eq!(told, format!("line 1, column 1: \"1,5\" is not a finite number{point}"));
        for (text, words) in [
            ("a;b\n1,5;2\n", "line 2, column 1: \"1,5\" is not"),
            ("1,5;2\n", "1 number and 1 other cell, such as \"1,5\": say"),
            ("1,5;2,5\n", "line 1 starts with \"1,5\""),
        ] {
            let told = error(text, &by_semicolons(Header::Auto));
            assert!(told.contains(words) && told.ends_with(point), "{told}");
        }
        for text in ["a,b;c\n1,x\n", "1,2,3;x\n"] {
            let told = error(text, &Table::default());
            assert!(!told.contains("decimal"), "{told}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            rows in 1usize..6,
            columns in 1usize..6,
            seed in proptest::collection::vec(-1e300f64..1e300, 25),
        ) {
            let array = Array { shape: vec![rows, columns], values: seed[..rows * columns].to_vec() };
            prop_assert_eq!(parse(written(&array).as_bytes(), &with(Header::No)), Ok(array));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(array) = parse(&bytes, &Table::default()) {
                prop_assert_eq!(array.shape.iter().product::<usize>(), array.values.len());
            }
        }
    }
}
