//! Comma-separated values.

use super::{Array, Header, Number};
use std::io::{self, Write};

/// Reads rows of numbers. Blank lines are skipped, spaces around a number too.
///
/// A first line where some cells are numbers and others are not is an error unless `header` says what it is: taken for names, a row with
/// a value missing would be lost without a word.
pub(super) fn parse(bytes: &[u8], header: Header) -> Result<Array, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let mut record = csv::StringRecord::new();
    let (mut rows, mut columns, mut values, mut first) = (0, None, Vec::new(), true);
    loop {
        let position = reader.position().line();
        if !reader.read_record(&mut record).map_err(|e| format!("line {position}: {e}"))? {
            break;
        }
        let line = record.position().map_or(position, csv::Position::line);
        let is_header = std::mem::take(&mut first)
            && match header {
                Header::Yes => true,
                Header::No => false,
                Header::Auto => {
                    let numbers = record.iter().filter(|cell| cell.parse::<f64>().is_ok()).count();
                    if numbers > 0 && numbers < record.len() {
                        return Err(format!(
                            "line {line} has {numbers} numbers and {} other cells: say whether it holds names (--header yes or no)",
                            record.len() - numbers
                        ));
                    }
                    numbers == 0
                }
            };
        let expected = *columns.get_or_insert(record.len());
        if record.len() != expected {
            return Err(format!("line {line} has {} columns, the first line has {expected}", record.len()));
        }
        if is_header {
            continue;
        }
        for (column, cell) in record.iter().enumerate() {
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
            values.push(value.ok_or_else(|| {
                format!("line {line}, column {}: {cell:?} is not a finite number", column + 1)
            })?);
        }
        rows += 1;
    }
    match columns {
        Some(columns) if rows > 0 => Ok(Array { shape: vec![rows, columns], values }),
        _ => Err("it holds no numbers".to_owned()),
    }
}

/// Writes one line to a row; a one-dimensional array is one column. Each number has as many digits as tell it apart
/// from every other double.
pub(super) fn write<T: Number>(array: &Array<T>, stream: &mut dyn Write) -> io::Result<()> {
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

    fn text(array: &Array) -> String {
        let mut bytes = Vec::new();
        write(array, &mut bytes).expect("writing to memory");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn reads_with_and_without_header() {
        let want = Array { shape: vec![2, 2], values: vec![1.0, -2.5, 3e4, 4.0] };
        assert_eq!(parse(b"1,-2.5\n3e4, 4\n", Header::Auto), Ok(want.clone()));
        assert_eq!(
            parse(b"\xef\xbb\xbfage,\"blood, pressure\"\r\n1,-2.5\r\n\r\n3e4,4", Header::Auto),
            Ok(want.clone())
        );
        assert_eq!(parse(b"7,8\n1,-2.5\n3e4,4\n", Header::Yes), Ok(want));
    }

    #[test]
    fn names_the_cell_that_is_wrong() {
        let error = |text: &str, header| parse(text.as_bytes(), header).unwrap_err();
        assert_eq!(error("a,b\n1,2\n3,x\n", Header::Auto), "line 3, column 2: \"x\" is not a finite number");
        assert_eq!(error("a,b\n1,2\n", Header::No), "line 1, column 1: \"a\" is not a finite number");
        assert_eq!(error("1,2\n3,NaN\n", Header::Auto), "line 2, column 2: \"NaN\" is not a finite number");
        assert_eq!(
            error("1,2\n3,1e999\n", Header::Auto),
            "line 2, column 2: \"1e999\" is not a finite number"
        );
        assert_eq!(error("1,2\n3,\n", Header::Auto), "line 2, column 2: \"\" is not a finite number");
        assert_eq!(error("1,2\n3\n", Header::Auto), "line 2 has 1 columns, the first line has 2");
        assert_eq!(error("", Header::Auto), "it holds no numbers");
        assert_eq!(error("a,b\n", Header::Auto), "it holds no numbers");
    }

    #[test]
    fn a_first_line_that_is_half_names_is_asked_about() {
        for text in ["1,,3\n4,5,6\n", "1.0,N/A\n4,5\n", "id,2020\n4,5\n"] {
            assert!(parse(text.as_bytes(), Header::Auto).unwrap_err().contains("--header"), "{text}");
        }
        let want = Array { shape: vec![1, 2], values: vec![4.0, 5.0] };
        assert_eq!(parse(b"id,2020\n4,5\n", Header::Yes), Ok(want.clone()));
        assert_eq!(parse(b",age\n4,5\n", Header::Auto), Ok(want));
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        assert!(parse(b"1,2\n\xff\xfe,3\n", Header::Auto).unwrap_err().starts_with("line 2"));
    }

    #[test]
    fn a_vector_is_a_column_and_a_number_a_line() {
        assert_eq!(text(&Array { shape: vec![2], values: vec![1.5, -0.25] }), "1.5\n-0.25\n");
        assert_eq!(text(&Array { shape: vec![], values: vec![1e-300] }), "1e-300\n");
        assert_eq!(text(&Array { shape: vec![0, 3], values: vec![] }), "");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            rows in 1usize..6,
            columns in 1usize..6,
            seed in proptest::collection::vec(-1e300f64..1e300, 25),
        ) {
            let array = Array { shape: vec![rows, columns], values: seed[..rows * columns].to_vec() };
            prop_assert_eq!(parse(text(&array).as_bytes(), Header::No), Ok(array));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(array) = parse(&bytes, Header::Auto) {
                prop_assert_eq!(array.shape.iter().product::<usize>(), array.values.len());
            }
        }
    }
}
