//! Advice about cells of text that are not numbers.

/// Words for a missing value, in lower case and reduced to letters and digits. `N/A` and `<NA>`
/// become `na`.
const MISSING_WORDS: [&str; 7] = ["na", "nan", "nat", "nil", "null", "none", "missing"];

/// Words for truth values.
const TRUTH_WORDS: [&str; 4] = ["true", "false", "yes", "no"];

/// Codes of laboratories for a measurement without a result.
///
/// Examples are "not detected", and "below the limit of detection or of quantification".
const CODES: [&str; 12] = [
    "nd",
    "lod",
    "loq",
    "bdl",
    "bql",
    "blq",
    "bloq",
    "lloq",
    "notdetected",
    "notavailable",
    "unknown",
    "unk",
];

/// The names of the months. Dates contain the whole name or its first three letters.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The letters and digits of a cell, in lower case.
fn word(cell: &str) -> String {
    cell.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// True if a cell looks like the name of a column.
///
/// A name begins with a letter, after marks such as `#`. These are not names: words and codes for
/// values, comparisons (`<LOD`, `>1000`), errors of a spreadsheet (`#DIV/0!`, `#NAME?`) and a
/// database's missing value (`\N`).
pub(super) fn is_name(cell: &str) -> bool {
    let word = word(cell);
    let is_value = [&MISSING_WORDS[..], &TRUTH_WORDS, &CODES]
        .iter()
        .any(|words| words.contains(&word.as_str()));
    let is_error = cell == "\\N" || cell.starts_with('#') && cell.ends_with(['!', '?']);
    word.starts_with(char::is_alphabetic)
        && !is_value
        && !is_error
        && !cell.starts_with(['<', '>', '≤', '≥'])
}

/// True if a cell would be a number if its comma were a point.
pub(super) fn has_decimal_comma(cell: &str) -> bool {
    cell.matches(',').count() == 1 && cell.trim().replace(',', ".").parse::<f64>().is_ok()
}

/// True if a cell looks like a date or a time of day.
fn is_date(cell: &str) -> bool {
    let cell = cell.to_lowercase();
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let day = cell.split(['t', ' ']).next().unwrap_or_default();
    let in_parts = ['-', '/', '.'].into_iter().any(|mark| {
        let parts: Vec<&str> = day.split(mark).collect();
        let has_year = parts.iter().any(|part| part.len() == 4);
        parts.iter().all(|part| is_digits(part))
            && (parts.len() == 3 || parts.len() == 2 && has_year && mark != '.')
    });
    let has_digit = cell.bytes().any(|byte| byte.is_ascii_digit());
    let is_month = |word: &str| MONTHS.iter().any(|month| word == *month || word == &month[..3]);
    let has_month = cell.split(|c: char| !c.is_alphabetic()).any(is_month);
    let starts_with_digit = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let is_time = cell.split([' ', 't']).any(|part| {
        part.split_once(':').is_some_and(|(hour, rest)| is_digits(hour) && starts_with_digit(rest))
    });
    in_parts || has_digit && has_month || is_time
}

/// Advice about a cell that is not a number, or an empty text if the error message is enough.
pub(super) fn advice(cell: &str) -> &'static str {
    let word = word(cell);
    let is_one_of = |words: &[&str]| words.contains(&word.as_str());
    if cell.is_empty() || cell == "\\N" || is_one_of(&MISSING_WORDS) {
        "A value is missing: fill it in or leave out the row (pandas: df.fillna(0) or df.dropna())."
    } else if cell.parse::<f64>().is_ok() {
        ""
    } else if has_decimal_comma(cell) {
        "Write a decimal point instead of the comma, and no thousands separators."
    } else if is_date(cell) {
        "Write a date as a number, such as days since a first day (pandas: (df[\"date\"] - \
         pd.Timestamp(\"2020-01-01\")).dt.days), or leave the column out with --columns."
    } else if is_one_of(&TRUTH_WORDS) {
        "Write truth values as 1 and 0."
    } else if is_one_of(&CODES) || cell.starts_with(['<', '>', '≤', '≥']) {
        "Write a number in place of the code, such as half of the limit of detection."
    } else if cell.bytes().any(|byte| byte.is_ascii_digit()) && !is_name(cell) {
        "Write plain numbers such as -1234.5, without units, percent signs or thousands separators."
    } else {
        "Write categories as numbers, or as a column of 0 and 1 for each category (pandas: \
         pd.get_dummies(df)), or leave the column out with --columns."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_codes_are_not_names() {
        for name in [
            "age",
            "blood pressure",
            "größe",
            "# a",
            "(kg)",
            "x1",
            "n",
            "y",
            "t",
            "Nd2O3",
            "nodes",
            "NAME",
        ] {
            assert!(is_name(name), "{name}");
        }
        for value in [
            "",
            "#",
            "-",
            "1j",
            "50%",
            "2020-01",
            "NA",
            "n/a",
            "<NA>",
            "#N/A",
            "NULL",
            "NaT",
            "\\N",
            "#DIV/0!",
            "#NAME?",
            "ND",
            "N.D.",
            "<LOD",
            "> 1000",
            "BDL",
            "yes",
            "No",
            "TRUE",
            "Not detected",
            "unknown",
        ] {
            assert!(!is_name(value), "{value}");
        }
    }

    #[test]
    fn dates_and_times_are_recognised() {
        for date in [
            "2020-01-31",
            "31.01.2020",
            "1/31/20",
            "2020-01-31T12:00:00Z",
            "2020-01-31 12:00",
            "2020-01",
            "01/2020",
            "31-Jan-2020",
            "Jan 5, 2020",
            "12:30",
            "12:30:05.25",
            "5 September 2020",
        ] {
            assert!(is_date(date), "{date}");
        }
        for other in [
            "x",
            "1/2",
            "1.5",
            "1-2",
            "-1",
            "Market",
            "May",
            "a:b",
            "1.2.3.4",
            "a1-b2-c3",
            "",
            "marble 7x",
        ] {
            assert!(!is_date(other), "{other}");
        }
    }

    #[test]
    fn every_bad_cell_has_advice() {
        for (cell, words) in [
            ("", "df.fillna(0)"),
            ("N/A", "df.dropna()"),
            ("NaN", "df.dropna()"),
            ("1,5", "decimal point"),
            ("1,234", "no thousands separators"),
            ("2020-01-31", "days since a first day"),
            ("yes", "1 and 0"),
            ("<LOD", "in place of the code"),
            ("ND", "in place of the code"),
            ("50%", "plain numbers"),
            ("$5", "plain numbers"),
            ("\u{2212}1", "plain numbers"),
            ("1 234", "plain numbers"),
            ("red", "pd.get_dummies(df)"),
            ("type2", "pd.get_dummies(df)"),
        ] {
            assert!(advice(cell).contains(words), "{cell}: {}", advice(cell));
        }
        assert_eq!(["inf", "1e999", "2.5"].map(advice), ["", "", ""]);
    }
}
