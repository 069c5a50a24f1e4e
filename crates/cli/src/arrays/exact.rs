//! Numbers of more digits than doubles have.

use super::{Element, Stored};
use hippocrene::BigFloat;
use serde::Serialize;
use std::f64::consts::LOG10_2;

/// The bits that the mantissa of the nearest double is right to.
const BITS: f64 = 53.0;

/// Whether doubles are off by more than the error of so many bits after the binary point, where numbers are as large as these.
pub fn needs_digits(values: &[f64], precision: f64) -> bool {
    let largest = values.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    precision + largest.log2() > BITS
}

impl Element for BigFloat {
    const WHAT: &'static str = f64::WHAT;

    fn of_text(cell: &str) -> Option<Self> {
        // What is a number at all, and none of the words that stand for others.
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

impl Decimal {
    /// With the digits that `bits` after the binary point are worth, and one or two more.
    pub fn of(number: &BigFloat, bits: f64) -> Self {
        let places = ((bits + 4.0) * LOG10_2).ceil().max(0.0) as i64;
        let before = number.log2_ceil().map_or(0, |top| (top as f64 * LOG10_2).ceil() as i64);
        Self(number.to_decimal(usize::try_from(places + before).unwrap_or(0).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_are_worth_something() {
        let third: BigFloat = "0.333333333333333333333333333333333333333333".parse().expect("a number");
        assert_eq!(Decimal::of(&third, 60.0), Decimal("3.3333333333333333333e-1".to_owned()));
        let large: BigFloat = "-12345678901234567890.25".parse().expect("a number");
        assert_eq!(Decimal::of(&large, 10.0), Decimal("-1.234567890123456789025e19".to_owned()));
        assert_eq!(Decimal::of(&BigFloat::zero(), 60.0), Decimal("0".to_owned()));
        assert_eq!(Decimal::of(&"1e-40".parse().expect("a number"), 60.0), Decimal("1e-40".to_owned()));
    }

    #[test]
    fn what_is_no_number_is_none_of_many_digits() {
        for text in ["", "x", "inf", "nan", "1e999", "0x1", "1_0"] {
            assert!(BigFloat::of_text(text).is_none(), "{text}");
        }
        assert_eq!(BigFloat::of_text("0.1"), Some("0.1".parse().expect("a number")));
        assert!(BigFloat::of_number(Stored::Real(f64::NAN)).is_err());
        let integer = BigFloat::of_number(Stored::Integer(i128::from(u64::MAX))).expect("a number");
        assert_eq!(integer, "18446744073709551615".parse().expect("a number"));
    }

    #[test]
    fn doubles_do_where_they_are_as_precise() {
        assert!(!needs_digits(&[0.5, -1.0], 53.0) && needs_digits(&[0.5, -1.0], 53.5));
        assert!(!needs_digits(&[-1024.0], 43.0) && needs_digits(&[-1024.0], 44.0));
    }
}
