//! Comma-separated values.

use super::{Array, Column, Element, Header, Table, cut};
use serde::Serialize;
use std::io::{self, Write};

/// Words for a missing value, such as `N/A` and `<NA>`, without what is no letter or digit, and for truth values: they are no names.
const VALUES: [&str; 7] = ["na", "nan", "null", "none", "missing", "true", "false"];

/// So many names of columns are told where another was asked for.
const MOST_NAMES: usize = 40;

/// Reads rows of numbers. Spaces around a number are skipped, and blank lines too, but those between rows of one column, where a value may be missing.
///
/// A first line where some cells are numbers and others are not, or where none looks like a name, is an error unless `header` says what it is: taken for names,
/// a row with values missing, or written in another way, would be lost without a word.
pub(super) fn parse<T: Element>(bytes: &[u8], table: &Table) -> Result<Array<T>, String> {
    let text = text(bytes)?;
    parse_text(text, table).map_err(|reason| match (table.delimiter, other_delimiter(text)) {
        (None, Some((name, say))) => {
            format!("{reason} (the first line is divided by {name}: say --delimiter {say})")
        }
        _ => reason,
    })
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

/// What else seems to divide the columns: its name, and how it is said.
fn other_delimiter(text: &str) -> Option<(&'static str, &'static str)> {
    let first = text.lines().find(|line| !line.is_empty()).filter(|line| !line.contains(','))?;
    [(';', "semicolons", "';'"), ('\t', "tabs", "'\\t'")]
        .into_iter()
        .find_map(|(delimiter, name, say)| first.contains(delimiter).then_some((name, say)))
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
        let line = line_at(bytes, end + blank);
        let is_first = columns.is_none();
        if is_first {
            columns = Some((record.len(), table.places(&record, line)?));
        }
        let Some((count, places)) = &columns else { continue };
        if record.len() != *count {
            return Err(format!("line {line} has {} columns, the first line has {count}", record.len()));
        }
        if blank > 0 && *count == 1 {
            return Err(format!("line {} is blank, where a number is needed", line_at(bytes, end)));
        }
        let cells = || places.iter().map(|place| (*place, &record[*place]));
        if is_first && table.is_header::<T>(cells().map(|(_, cell)| cell), line)? {
            continue;
        }
        for (place, cell) in cells() {
            let value = T::of_text(cell).ok_or_else(|| {
                format!("line {line}, column {}: {:?} is not {}", place + 1, cut(cell), T::WHAT)
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
        if !numbers.is_empty() && !others.is_empty() {
            return Err(format!(
                "line {line} has {} numbers and {} other cells: say whether it holds names (--header yes or no)",
                numbers.len(),
                others.len()
            ));
        }
        match others.first() {
            Some(first) if !others.iter().any(|cell| is_name(cell)) => Err(format!(
                "line {line} starts with {:?}, which is no number and looks like no name: say whether it holds names (--header yes or no){}",
                cut(first),
                if first.contains('\n') { "; or is a quote not closed?" } else { "" }
            )),
            first => Ok(first.is_some()),
        }
    }
}

/// Whether a cell looks like a name: its first letter or digit is a letter, and it is no word for a value.
fn is_name(cell: &str) -> bool {
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
        assert_eq!(error("1,2\n3\n", &Table::default()), "line 2 has 1 columns, the first line has 2");
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
