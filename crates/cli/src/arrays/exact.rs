//! Numbers with more digits than doubles have.

use super::{Element, Stored};
use hippocrene::BigFloat;
use serde::Serialize;
use std::f64::consts::LOG10_2;
use std::ops::RangeInclusive;

/// The precision of a double's mantissa, in bits.
const DOUBLE_BITS: f64 = 53.0;

/// True if a double is less precise than `precision` bits after the binary point.
///
/// The largest absolute value decides, or 1 if all are smaller.
pub fn needs_digits(values: &[f64], precision: f64) -> bool {
    let largest = values.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    precision + largest.log2() > DOUBLE_BITS
}

impl Element for BigFloat {
    const WHAT: &'static str = f64::WHAT;

    fn of_text(cell: &str) -> Option<Self> {
        // The text must be a finite number for doubles too, so words such as `inf` are rejected.
        f64::of_text(cell)?;
        cell.parse().ok()
    }

    fn of_number(number: Stored) -> Result<Self, &'static str> {
        let read = match number {
            Stored::Real(value) => BigFloat::try_from(value),
            Stored::Integer(integer) => integer.to_string().parse(),
            Stored::Long(parts) => match parts.map(BigFloat::try_from) {
                [Ok(high), Ok(low)] => BigFloat::try_from(high.into_inner() + low.into_inner()),
                [high, low] => high.and(low),
            },
        };
        read.map_err(|_| Self::WHAT)
    }
}

/// A number in decimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Decimal(String);

/// The number of significant digits that distinguish all doubles.
const DIGITS_OF_DOUBLES: usize = 17;

/// The number of significant digits used to find the place of the first digit.
///
/// If all of them are nines, the place may be one too high.
const DIGITS_FOR_PLACE: usize = 20;

/// The places of the first digit of numbers that are written without an exponent.
const PLACES_WITHOUT_EXPONENT: RangeInclusive<i64> = -7..=20;

impl Decimal {
    /// Rounds a number with the standard error `2^-bits` to its correct digits.
    ///
    /// The last digit is worth at least the error.
    pub fn of(number: &BigFloat, bits: f64) -> Self {
        Self::rounded(|digits| number.to_decimal(digits), bits)
    }

    /// As [`Decimal::of`], for a double.
    pub fn of_double(number: f64, bits: f64) -> Self {
        Self::rounded(
            |digits| match digits < DIGITS_OF_DOUBLES {
                true => format!("{number:.*e}", digits - 1),
                false => format!("{number:e}"),
            },
            bits,
        )
    }

    /// Rounds a number to its correct digits.
    ///
    /// `scientific` writes the number with a given number of digits, at least 1, such as `-1.25e3`.
    fn rounded(scientific: impl Fn(usize) -> String, bits: f64) -> Self {
        let place =
            |text: &str| text.split_once('e').and_then(|(_, place)| place.parse::<i64>().ok());
        // Zero may be written without an exponent.
        let Some(first) = place(&scientific(DIGITS_FOR_PLACE)) else { return Self("0".to_owned()) };
        let last = -(bits * LOG10_2).floor() as i64;
        let digits = first.saturating_sub(last).saturating_add(1);
        if digits < 1 {
            // The first digit is below the last place; half of a unit or more is rounded up.
            let text = scientific(DIGITS_FOR_PLACE);
            let is_half =
                digits == 0 && text.trim_start_matches('-').starts_with(['5', '6', '7', '8', '9']);
            let sign = if text.starts_with('-') { "-" } else { "" };
            return Self(if is_half { plain(&format!("{sign}1e{last}")) } else { "0".to_owned() });
        }
        Self(plain(&scientific(usize::try_from(digits).unwrap_or(usize::MAX))))
    }
}

/// Writes a number such as `-1.2500e3` as `-1250`.
///
/// Very small and very large numbers keep the exponent. Zeros at the end of the fraction are
/// removed.
fn plain(scientific: &str) -> String {
    let Some((mantissa, place)) = scientific.split_once('e') else { return scientific.to_owned() };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    match place.parse::<i64>().ok().filter(|place| PLACES_WITHOUT_EXPONENT.contains(place)) {
        None => format!("{sign}{first}{point}{rest}e{place}"),
        Some(place) if place < 0 => {
            let zeros = "0".repeat(usize::try_from(-place - 1).unwrap_or(0));
            format!("{sign}0.{zeros}{digits}")
        }
        Some(place) => {
            let before = usize::try_from(place).unwrap_or(0) + 1;
            let whole = format!("{:0<before$}", &digits[..before.min(digits.len())]);
            match digits.get(before..).filter(|rest| !rest.is_empty()) {
                Some(fraction) => format!("{sign}{whole}.{fraction}"),
                None => format!("{sign}{whole}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The decimal text of a number, read as a double and as a number of more digits.
    fn of_both(number: &str, bits: f64) -> [String; 2] {
        let exact: BigFloat = number.parse().expect("a number");
        [Decimal::of(&exact, bits).0, Decimal::of_double(number.parse().expect("a number"), bits).0]
    }

    #[test]
    fn digits_are_correct() {
        // 2^-32 is 2.3e-10, so nine places are right. 2^-10 is 9.8e-4, 2^-9 is 2.0e-3, and 2^10 is
        // 1024.
        for (number, bits, written) in [
            ("1.5000000003", 32.0, "1.5"),
            ("-1.4999999986", 32.0, "-1.499999999"),
            ("1000.123456789012", 32.0, "1000.123456789"),
            ("0.00000000149", 32.0, "1e-9"),
            ("3e-8", 32.0, "3e-8"),
            ("0.12345", 10.0, "0.123"),
            ("0.12345", 9.0, "0.12"),
            ("9.9996", 10.0, "10"),
            ("99.6", 1.0, "100"),
            ("-3.7", 0.0, "-4"),
            ("1234567.8", -10.0, "1230000"),
            ("-140000.0", -14.0, "-100000"),
            ("5e25", 0.0, "5e25"),
            ("120", 20.0, "120"),
            ("0", 32.0, "0"),
            ("-0.0000000002", 32.0, "0"),
            ("0.0000000007", 32.0, "1e-9"),
            ("-0.7", 0.0, "-1"),
            ("0.4", 0.0, "0"),
            ("0.04", 0.0, "0"),
        ] {
            assert_eq!(of_both(number, bits), [written; 2], "{number} with {bits} bits");
        }
    }

    #[test]
    fn digits_beyond_doubles_are_correct() {
        let third: BigFloat =
            "0.333333333333333333333333333333333333333333".parse().expect("a number");
        assert_eq!(Decimal::of(&third, 60.0).0, "0.333333333333333333");
        let large: BigFloat = "-12345678901234567890.25".parse().expect("a number");
        assert_eq!(Decimal::of(&large, 10.0).0, "-12345678901234567890.25");
        assert_eq!(Decimal::of(&"1e-40".parse().expect("a number"), 140.0).0, "1e-40");
        // The digits of a double are limited, however precise the number is.
        assert_eq!(Decimal::of_double(1.0 / 3.0, 200.0).0, "0.3333333333333333");
    }

    proptest! {
        #[test]
        fn what_is_written_is_within_half_a_unit(number in -1e9f64..1e9, bits in -8f64..30.0) {
            let unit = 10f64.powf(-(bits * LOG10_2).floor());
            for written in of_both(&format!("{number:e}"), bits) {
                let read: f64 = written.parse().expect("a number");
                prop_assert!(
                    (read - number).abs() <= 0.5 * unit + 1e-6 * unit + 1e-7,
                    "{} {}",
                    number,
                    written
                );
                let units = read / unit;
                prop_assert!(
                    (units - units.round()).abs() < 1e-3 * (1.0 + units.abs() * 1e-9),
                    "{}",
                    written
                );
            }
        }
    }

    #[test]
    fn invalid_numbers_are_rejected_with_many_digits() {
        for text in ["", "x", "inf", "nan", "1e999", "0x1", "1_0"] {
            assert!(BigFloat::of_text(text).is_none(), "{text}");
        }
        assert_eq!(BigFloat::of_text("0.1"), Some("0.1".parse().expect("a number")));
        assert!(BigFloat::of_number(Stored::Real(f64::NAN)).is_err());
        let integer = BigFloat::of_number(Stored::Integer(i128::from(u64::MAX))).expect("a number");
        assert_eq!(integer, "18446744073709551615".parse().expect("a number"));
    }

    #[test]
    fn doubles_are_used_if_precise_enough() {
        assert!(!needs_digits(&[0.5, -1.0], 53.0) && needs_digits(&[0.5, -1.0], 53.5));
        assert!(!needs_digits(&[-1024.0], 43.0) && needs_digits(&[-1024.0], 44.0));
    }
}
