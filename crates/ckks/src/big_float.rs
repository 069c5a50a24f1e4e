//! Real numbers of more than 53 bits.

use std::{borrow::Cow, cmp::Ordering, fmt, str::FromStr};

use arrayvec::ArrayVec;
use dashu_float::{FBig, round::mode::HalfEven};
use dashu_int::{IBig, Word};
use num_bigint::{BigInt, BigUint, Sign};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroize;

use crate::Scale;

/// The number type of the library that [`BigFloat`] uses, for arithmetic.
pub type Inner = FBig<HalfEven, 2>;

/// An upper bound for the number of significant digits of any number. The smallest numbers have
/// `log10(5)` digits for every bit behind the point, about 46,000.
const MOST_DIGITS: usize = 1 << 16;

/// A finite real number `mantissa 2^exponent` with up to [`BigFloat::PRECISION`] bits of mantissa,
/// for values in slots that need more than the 53 bits of `f64`.
///
/// Absolute values are below `2^65536`, and those below `2^-65536` become zero. There is no NaN and
/// no infinity. The arithmetic is that of the library `dashu-float`: [`BigFloat::into_inner`]
/// returns a number that computes with [`BigFloat::PRECISION`] bits, rounded to nearest. Decimal
/// notation is converted through integers here, because the library's conversion between bases
/// (version 0.6) can be wrong by more than the last digit. Numbers are wiped when they are dropped.
///
/// ```
/// use hippocrene_ckks::BigFloat;
///
/// let tenth: BigFloat = "0.1".parse()?;
/// assert_eq!(tenth.to_f64(), 0.1);
/// assert_eq!(tenth.to_decimal(40), "1e-1");
/// assert_eq!(BigFloat::try_from(0.1)?.to_decimal(30), "1.00000000000000005551115123126e-1");
/// assert_eq!(BigFloat::from(3).reciprocal().unwrap().to_decimal(20), "3.3333333333333333333e-1");
/// let seventh = BigFloat::try_from(tenth.into_inner() / 7)?;
/// assert_eq!(seventh.to_decimal(30), "1.42857142857142857142857142857e-2");
/// # Ok::<(), hippocrene_ckks::BigFloatError>(())
/// ```
#[derive(Clone, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "StoredBigFloat", try_from = "StoredBigFloat")]
pub struct BigFloat(Inner);

/// The stored form of a [`BigFloat`]: the bytes of the mantissa in two's complement, lowest first,
/// and the exponent of two.
#[derive(Serialize, Deserialize)]
struct StoredBigFloat(Vec<u8>, i64);

impl From<BigFloat> for StoredBigFloat {
    fn from(number: BigFloat) -> Self {
        let (mantissa, exponent) = number.to_parts();
        StoredBigFloat(mantissa.to_signed_bytes_le(), exponent)
    }
}

impl TryFrom<StoredBigFloat> for BigFloat {
    type Error = BigFloatError;

    fn try_from(StoredBigFloat(mantissa, exponent): StoredBigFloat) -> Result<Self, BigFloatError> {
        BigFloat::from_parts(&BigInt::from_signed_bytes_le(&mantissa), exponent)
    }
}

/// The reason why something cannot become a [`BigFloat`].
///
/// ```
/// use hippocrene_ckks::{BigFloat, BigFloatError};
///
/// assert!(matches!("seven".parse::<BigFloat>(), Err(BigFloatError::Decimal { .. })));
/// assert!(matches!(BigFloat::try_from(f64::INFINITY), Err(BigFloatError::NotFinite { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BigFloatError {
    /// The number is NaN or infinite.
    #[error("{value} is not a finite number")]
    NotFinite {
        /// The number.
        value: f64,
    },
    /// The number is too large.
    #[error(
        "a number of about 2^{bits} is too large: numbers below 2^{} are possible",
        BigFloat::MAX_BITS
    )]
    TooLarge {
        /// log2 of the number, rounded up.
        bits: i64,
    },
    /// The text is not a number in decimal notation.
    #[error("{text:?} is not a decimal number such as -1.25 or 6.02e23")]
    Decimal {
        /// The first 64 characters of the text.
        text: String,
    },
}

impl BigFloat {
    /// The number of bits of the mantissa.
    pub const PRECISION: usize = 512;

    /// log2 of the limit that absolute values stay below.
    pub const MAX_BITS: i64 = 1 << 16;

    /// The number zero.
    pub fn zero() -> Self {
        BigFloat(Inner::ZERO)
    }

    /// Returns `mantissa 2^exponent`, rounded to nearest (ties to even) if the mantissa has more
    /// than [`BigFloat::PRECISION`] bits.
    ///
    /// # Errors
    /// Fails with [`BigFloatError::TooLarge`] if the number is out of range.
    pub fn from_parts(mantissa: &BigInt, exponent: i64) -> Result<Self, BigFloatError> {
        if mantissa.sign() == Sign::NoSign {
            return Ok(Self::zero());
        }
        let bits = i64::try_from(mantissa.bits()).unwrap_or(i64::MAX).saturating_add(exponent);
        match isize::try_from(exponent) {
            _ if bits <= -Self::MAX_BITS => Ok(Self::zero()),
            Ok(exponent) if bits <= Self::MAX_BITS => Self::try_from(Inner::from_parts(
                IBig::from_le_bytes(&mantissa.to_signed_bytes_le()),
                exponent,
            )),
            _ => Err(BigFloatError::TooLarge { bits }),
        }
    }

    /// Returns `(mantissa, exponent)` with an odd mantissa, or `(0, 0)` for zero.
    pub fn to_parts(&self) -> (BigInt, i64) {
        let repr = self.0.repr();
        (BigInt::from_signed_bytes_le(&repr.significand().to_le_bytes()), repr.exponent() as i64)
    }

    /// Returns whether the number is negative, the words of the mantissa's absolute value, lowest
    /// first, and the exponent.
    pub(crate) fn to_words(&self) -> (bool, ArrayVec<u64, 8>, i64) {
        const PER_WORD: usize = (64 / Word::BITS) as usize;
        let (sign, words) = self.0.repr().significand().as_sign_words();
        let join = |words: &[Word]| {
            words.iter().rev().fold(0, |sum, &word| sum << Word::BITS | u128::from(word)) as u64
        };
        let words = words.chunks(PER_WORD).map(join).collect();
        (sign == dashu_int::Sign::Negative, words, self.0.repr().exponent() as i64)
    }

    /// Returns `(-1)^negative magnitude 2^exponent`. The magnitude is given by its words, lowest
    /// first.
    pub(crate) fn from_words(
        negative: bool,
        magnitude: &[u64],
        exponent: i64,
    ) -> Result<Self, BigFloatError> {
        let bytes: ArrayVec<u8, 128> =
            magnitude.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Self::from_parts(&BigInt::from_bytes_le(sign, &bytes), exponent)
    }

    /// Returns the number as one of the library `dashu-float`, with a precision of
    /// [`BigFloat::PRECISION`] bits.
    pub fn into_inner(mut self) -> Inner {
        std::mem::replace(&mut self.0, Inner::ZERO)
    }

    /// Returns the nearest `f64`, ties to even. It is infinite if the number is out of range.
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().value()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.repr().significand().is_zero()
    }

    /// Returns `1/x`, rounded to nearest. Returns `None` for zero and for numbers whose reciprocal
    /// is out of range.
    pub fn reciprocal(&self) -> Option<Self> {
        (!self.is_zero())
            .then(|| Self::try_from(Self::from(1).into_inner() / self.clone().into_inner()).ok())?
    }

    /// Returns the smallest `e` such that the absolute value is below `2^e`, or `None` for zero.
    pub fn log2_ceil(&self) -> Option<i64> {
        (!self.is_zero()).then(|| bits_of(self.0.repr().digits(), self.0.repr().exponent()))
    }

    /// Returns the number as a scale, rounded to 126 bits. Returns `None` if it is not positive or
    /// its exponent is out of range.
    pub(crate) fn to_scale(&self) -> Option<Scale> {
        const BITS: i64 = 126;
        let shift = i32::try_from(BITS - self.log2_ceil()?).ok()?;
        let integer = self.scaled(Scale::power_of_two(shift)).ok()?;
        let scale = Scale::from_integer(u128::try_from(integer).ok()?)?;
        Some(scale.times(Scale::power_of_two(shift.checked_neg()?)))
    }

    /// Returns the integer nearest to `self scale`, exactly. Halves are rounded away from zero.
    ///
    /// # Errors
    /// Fails with [`BigFloatError::TooLarge`] if it is not below `2^`[`BigFloat::MAX_BITS`].
    pub fn scaled(&self, scale: Scale) -> Result<BigInt, BigFloatError> {
        Ok(self.scaled_and_rest(scale)?.0)
    }

    /// Like [`BigFloat::scaled`], with the distance between `self scale` and the integer, which is
    /// at most 1/2.
    pub(crate) fn scaled_and_rest(&self, scale: Scale) -> Result<(BigInt, f64), BigFloatError> {
        let (mantissa, exponent) = self.to_parts();
        let (scale, scale_exponent) = scale.to_parts();
        let product = mantissa * scale;
        let shift = exponent + i64::from(scale_exponent);
        let bits = product.bits() as i64 + shift;
        if bits > Self::MAX_BITS {
            return Err(BigFloatError::TooLarge { bits });
        }
        if product.sign() == Sign::NoSign {
            return Ok((BigInt::ZERO, 0.0));
        }
        if bits < 0 {
            return Ok((BigInt::ZERO, (bits as f64).exp2()));
        }
        // From here on no shift is longer than MAX_BITS, or than the product.
        if shift >= 0 {
            return Ok((product << shift, 0.0));
        }
        let (sign, magnitude) = product.into_parts();
        // The first 64 binary places behind the point.
        let places = ((&magnitude << 64u8) >> -shift).iter_u64_digits().next().unwrap_or(0);
        let fraction = places as f64 * (-64f64).exp2();
        let integer = BigInt::from_biguint(sign, ((magnitude >> (-shift - 1)) + 1u8) >> 1);
        Ok((integer, fraction.min(1.0 - fraction)))
    }

    /// Returns the number in decimal notation, rounded to nearest (ties to even) to `digits`
    /// significant digits (at least 1), such as `-1.25e-3`, without trailing zeros. Python's
    /// `Decimal` and `float`, `mpmath` and this type can read it.
    pub fn to_decimal(&self, digits: usize) -> String {
        let Some(top) = self.log2_ceil() else { return "0".into() };
        let (mantissa, exponent) = self.to_parts();
        let digits = digits.clamp(1, MOST_DIGITS) as i64;
        // The place of the first digit, or of the second one. In the latter case there is one digit
        // too many, and the loop repeats.
        let mut place = ((top - 1) as f64 * std::f64::consts::LOG10_2).floor() as i64;
        let text = loop {
            let text =
                nearest(rational(mantissa.magnitude(), exponent, digits - 1 - place)).to_string();
            if text.len() as i64 <= digits {
                break text;
            }
            place += 1;
        };
        let (first, rest) = text.split_at(1);
        let rest = rest.trim_end_matches('0');
        let sign = if mantissa.sign() == Sign::Minus { "-" } else { "" };
        let point = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{point}{rest}e{place}")
    }
}

/// Wipes the number, which may be a secret value of a client. The library's temporary numbers are
/// not wiped.
impl Drop for BigFloat {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Default for BigFloat {
    fn default() -> Self {
        Self::zero()
    }
}

/// Writes enough digits that reading them gives the same number, up to an error of a quarter of its
/// last bit.
impl fmt::Display for BigFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.repr().digits();
        // 10^(digits - 1) > 2^(bits + 1).
        f.write_str(&self.to_decimal(2 + (bits + 1) * 30103 / 100_000))
    }
}

impl fmt::Debug for BigFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Rounds to [`BigFloat::PRECISION`] bits.
impl TryFrom<Inner> for BigFloat {
    type Error = BigFloatError;

    fn try_from(value: Inner) -> Result<Self, BigFloatError> {
        if value.repr().is_infinite() {
            return Err(BigFloatError::NotFinite { value: value.to_f64().value() });
        }
        if value.repr().significand().is_zero() {
            return Ok(Self::zero());
        }
        let rounded = value.with_precision(Self::PRECISION).value();
        match bits_of(rounded.repr().digits(), rounded.repr().exponent()) {
            bits if bits > Self::MAX_BITS => Err(BigFloatError::TooLarge { bits }),
            bits if bits <= -Self::MAX_BITS => Ok(Self::zero()),
            _ => Ok(BigFloat(rounded)),
        }
    }
}

/// The conversion is exact.
impl TryFrom<f64> for BigFloat {
    type Error = BigFloatError;

    fn try_from(value: f64) -> Result<Self, BigFloatError> {
        let number = Inner::try_from(value).map_err(|_| BigFloatError::NotFinite { value })?;
        BigFloat::try_from(number).map_err(|_| BigFloatError::NotFinite { value })
    }
}

/// The conversion is exact up to [`BigFloat::PRECISION`] bits.
impl From<i64> for BigFloat {
    fn from(value: i64) -> Self {
        BigFloat(Inner::from_parts(value.into(), 0).with_precision(Self::PRECISION).value())
    }
}

/// Reads decimal notation, rounded to nearest.
impl FromStr for BigFloat {
    type Err = BigFloatError;

    fn from_str(text: &str) -> Result<Self, BigFloatError> {
        let wrong = || BigFloatError::Decimal { text: text.chars().take(64).collect() };
        // The library accepts more than [`BigFloatError::Decimal`] describes: other exponent marks
        // and separators between digits.
        if !text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
            return Err(wrong());
        }
        let decimal: FBig<HalfEven, 10> = within_reach(text).parse().map_err(|_| wrong())?;
        if decimal.repr().significand().is_zero() {
            return Ok(Self::zero());
        }
        // Numbers far outside the range are not converted, which could take long.
        let digits = bits_of(decimal.repr().digits(), decimal.repr().exponent());
        let bits = (digits as f64 * std::f64::consts::LOG2_10) as i64;
        if bits < -2 * Self::MAX_BITS {
            return Ok(Self::zero());
        }
        if bits > 2 * Self::MAX_BITS {
            return Err(BigFloatError::TooLarge { bits });
        }
        let tens = decimal.repr().exponent() as i64;
        let mantissa = BigInt::from_signed_bytes_le(&decimal.repr().significand().to_le_bytes());
        let (sign, magnitude) = mantissa.into_parts();
        // The quotient has a few bits more than the mantissa. One further bit tells whether there
        // is a remainder.
        let twos = Self::PRECISION as i64 + 8 - bits;
        let (numerator, denominator) = rational(&magnitude, twos, tens);
        let mut quotient: BigUint = (&numerator / &denominator) << 1;
        quotient.set_bit(0, &quotient * &denominator != numerator << 1);
        Self::from_parts(&BigInt::from_biguint(sign, quotient), -twos - 1)
    }
}

/// Returns the same text, or one with a smaller exponent if the number is far outside the range.
/// The library would compute an exponent that does not fit a word.
fn within_reach(text: &str) -> Cow<'_, str> {
    const MAX_EXPONENT: i64 = 1 << 40;
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else { return Cow::Borrowed(text) };
    match exponent.parse::<i64>() {
        Ok(exponent) if exponent.unsigned_abs() > MAX_EXPONENT.unsigned_abs() => {
            Cow::Owned(format!("{digits}e{}", exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT)))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Returns `magnitude 2^twos 10^tens` as a quotient of integers.
fn rational(magnitude: &BigUint, twos: i64, tens: i64) -> (BigUint, BigUint) {
    let five = |power: i64| BigUint::from(5u8).pow(power.max(0) as u32);
    let twos = twos + tens;
    ((magnitude * five(tens)) << twos.max(0), five(-tens) << (-twos).max(0))
}

/// Returns a quotient rounded to nearest, ties to even.
fn nearest((numerator, denominator): (BigUint, BigUint)) -> BigUint {
    let quotient = &numerator / &denominator;
    let twice: BigUint = (numerator - &quotient * &denominator) << 1;
    let up = match twice.cmp(&denominator) {
        Ordering::Less => false,
        Ordering::Equal => quotient.bit(0),
        Ordering::Greater => true,
    };
    quotient + u8::from(up)
}

/// Returns the number of binary digits before the point.
fn bits_of(digits: usize, exponent: isize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX).saturating_add(exponent as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns `numerator / denominator` rounded to nearest, ties to even, to `bits` bits, as
    /// `(mantissa, exponent)`.
    fn rounded(numerator: &BigUint, denominator: &BigUint, bits: u64) -> (BigUint, i64) {
        let mut exponent = numerator.bits() as i64 - denominator.bits() as i64 - bits as i64;
        loop {
            let (n, d) = if exponent >= 0 {
                (numerator.clone(), denominator << exponent)
            } else {
                (numerator << -exponent, denominator.clone())
            };
            let (mut q, r) = (&n / &d, &n % &d);
            if q.bits() > bits {
                exponent += 1;
                continue;
            }
            let twice = r << 1;
            if twice > d || (twice == d && q.bit(0)) {
                q += 1u8;
            }
            return (q, exponent);
        }
    }

    fn float() -> impl Strategy<Value = BigFloat> {
        (prop::collection::vec(any::<u32>(), 0..20), any::<bool>(), -700i64..700).prop_map(
            |(words, minus, exponent)| {
                let sign = if minus { Sign::Minus } else { Sign::Plus };
                BigFloat::from_parts(&BigInt::new(sign, words), exponent).unwrap()
            },
        )
    }

    proptest! {
        #[test]
        fn decimal_text_is_read_to_nearest(
            digits in "[0-9]{1,200}",
            point in 0usize..200,
            exponent in -400i32..400,
            minus: bool,
        ) {
            let point = point % (digits.len() + 1);
            let sign = if minus { "-" } else { "" };
            let text = format!("{sign}{}.{}e{exponent}", &digits[..point], &digits[point..]);
            let have: BigFloat = text.parse().unwrap();
            let integer: BigUint = digits.parse().unwrap();
            if integer == BigUint::ZERO {
                prop_assert!(have.is_zero());
                return Ok(());
            }
            let ten = |e: i32| BigUint::from(10u8).pow(e.max(0) as u32);
            let exponent = exponent - (digits.len() - point) as i32;
            let (mantissa, exponent) =
                rounded(&(integer * ten(exponent)), &ten(-exponent), BigFloat::PRECISION as u64);
            let want = BigFloat::from_parts(
                &BigInt::from_biguint(if minus { Sign::Minus } else { Sign::Plus }, mantissa),
                exponent,
            )
            .unwrap();
            prop_assert_eq!(have, want);
        }

        #[test]
        fn decimal_text_is_written_to_nearest(x in float(), digits in 1usize..200) {
            let text = x.to_decimal(digits);
            if x.is_zero() {
                prop_assert_eq!(text, "0");
                return Ok(());
            }
            let (head, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (whole, fraction) = head.split_once('.').unwrap_or((head, ""));
            let exponent = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
            let integer: BigInt = format!("{whole}{fraction}").parse().unwrap();
            prop_assert!(whole.trim_start_matches('-').len() == 1 && whole != "0");
            prop_assert!(fraction.len() < digits && !fraction.ends_with('0'));
            // |x - text| <= 10^last / 2, where last is the place of the last requested digit.
            let last = exponent + fraction.len() as i64 - (digits as i64 - 1);
            let power = |base: u8, e: i64| BigInt::from(base).pow(e.max(0) as u32);
            let (m, e) = x.to_parts();
            // Everything is multiplied by 2^max(-e, 0) 10^max(-least, 0).
            let least = exponent.min(last);
            let exact = &m * power(2, e) * power(10, -least);
            let written = integer
                * power(2, -e)
                * power(10, exponent)
                * power(10, exponent.min(0) - least.min(0));
            let unit = power(2, -e) * power(10, last) * power(10, last.min(0) - least.min(0));
            let difference = exact - written;
            prop_assert!(
                BigInt::from(difference.magnitude() * 2u8) <= unit,
                "{} is not {:?}",
                text,
                x
            );
        }

        #[test]
        fn written_text_reads_as_the_same_number(x in float()) {
            let read: BigFloat = x.to_string().parse().unwrap();
            let bits = x.0.repr().digits().max(1);
            prop_assert_eq!(read.into_inner().with_precision(bits).value(), x.into_inner());
        }

        #[test]
        fn parts_and_words_come_back(x in float(), y in any::<f64>(), i: i64) {
            let (m, e) = x.to_parts();
            prop_assert_eq!(BigFloat::from_parts(&m, e).unwrap(), x.clone());
            prop_assert_eq!(
                BigFloat::from(i).to_parts(),
                BigFloat::from_parts(&i.into(), 0).unwrap().to_parts()
            );
            match BigFloat::try_from(y) {
                Ok(big) => prop_assert_eq!(big.to_f64(), y),
                Err(error) => prop_assert!(!y.is_finite(), "{}", error),
            }
            // Compares the library's conversion to f64 with that of the standard library from many
            // digits.
            prop_assert_eq!(x.to_f64(), x.to_decimal(400).parse::<f64>().unwrap());
        }

        #[test]
        fn scaled_is_the_nearest_integer(
            x in float(),
            mantissa in any::<u128>(),
            exponent in -900i32..200,
        ) {
            let scale = Scale::from_parts(mantissa | 1 << 127, exponent).unwrap();
            let (have, rest) = x.scaled_and_rest(scale).unwrap();
            let (m, e) = x.to_parts();
            let (product, shift) = (m * (mantissa | 1 << 127), e + i64::from(exponent));
            let difference =
                if shift >= 0 { (product << shift) - have } else { product - (have << -shift) };
            let half = if shift >= 0 { BigUint::ZERO } else { BigUint::from(1u8) << (-shift - 1) };
            prop_assert!(*difference.magnitude() <= half);
            // The distance, to 64 binary places behind the point.
            let difference =
                BigFloat::from_parts(&difference, shift.min(0)).unwrap().to_f64().abs();
            prop_assert!(
                (rest - difference).abs() <= 2f64.powi(-53)
                    || difference < 0.5 && rest <= 2.0 * difference && rest <= 0.5
            );
        }
    }

    #[test]
    fn text_that_is_not_a_number_is_refused() {
        for text in [
            "",
            "nan",
            "inf",
            "-Infinity",
            "1_000",
            "1@3",
            "0x10",
            "1e",
            "e5",
            ".",
            "--1",
            "1.2.3",
            "é",
            "1e5.5",
            "1 ",
        ] {
            let error = text.parse::<BigFloat>().unwrap_err();
            assert_eq!(error, BigFloatError::Decimal { text: text.into() });
        }
        let message = "nan".parse::<BigFloat>().unwrap_err().to_string();
        assert_eq!(message, "\"nan\" is not a decimal number such as -1.25 or 6.02e23");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(BigFloat::try_from(bad), Err(BigFloatError::NotFinite { .. })));
        }
    }

    #[test]
    fn the_range_ends_at_a_power_of_two() {
        let one = BigInt::from(1u8);
        assert!(matches!(
            BigFloat::from_parts(&one, 65536),
            Err(BigFloatError::TooLarge { bits: 65537 })
        ));
        assert!(matches!(
            BigFloat::from_parts(&one, i64::MAX),
            Err(BigFloatError::TooLarge { .. })
        ));
        assert_eq!(BigFloat::from_parts(&one, 65535).unwrap().log2_ceil(), Some(65536));
        assert_eq!(BigFloat::from_parts(&one, -65536).unwrap().log2_ceil(), Some(-65535));
        // 2^-221 = 2.967..e-67, which the library converts to 7e-66.
        assert_eq!(BigFloat::from_parts(&one, -221).unwrap().to_decimal(1), "3e-67");
        assert_eq!(BigFloat::from(99_951).to_decimal(3), "1e5");
        for exponent in [-65537, i64::MIN] {
            assert!(BigFloat::from_parts(&one, exponent).unwrap().is_zero());
        }
        // Rounding up to 2^65536 is also out of range.
        let ones = (BigInt::from(1u8) << 600) - 1;
        assert!(matches!(
            BigFloat::from_parts(&ones, 65536 - 600),
            Err(BigFloatError::TooLarge { bits: 65537 })
        ));
        assert_eq!(BigFloat::zero().log2_ceil(), None);

        for text in
            ["1e19729", "1e9223372036854775807", "123e1000000000000", "12345e9223372036854775807"]
        {
            assert!(
                matches!(text.parse::<BigFloat>(), Err(BigFloatError::TooLarge { .. })),
                "{text}"
            );
        }
        for text in [
            "1e-20000",
            "1e-9223372036854775807",
            "0.0001e-9223372036854775805",
            "0e9223372036854775807",
            "-0",
            "0.000",
        ] {
            assert!(text.parse::<BigFloat>().unwrap().is_zero(), "{text}");
        }
        assert_eq!("1e19728".parse::<BigFloat>().unwrap().to_decimal(3), "1e19728");
        let large = BigFloat::from(3).scaled(Scale::power_of_two(1 << 17));
        assert!(matches!(large, Err(BigFloatError::TooLarge { bits: 131074 })));
    }

    /// Requesting more digits than the number has gives all of its digits.
    #[test]
    fn surplus_digits_change_nothing() {
        let least = BigFloat::from_parts(&BigInt::from(1u8), -65536).unwrap();
        let all = least.to_decimal(1 << 16);
        assert!(
            all.starts_with("4.99") && all.ends_with("25e-19729") && all.len() > 45_000,
            "{}",
            all.len()
        );
        for digits in [1 << 32, usize::MAX] {
            assert_eq!(least.to_decimal(digits), all);
            assert_eq!(BigFloat::from(-1250).to_decimal(digits), "-1.25e3");
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let at = |c: f64, bits: i32| {
            BigFloat::try_from(c).unwrap().scaled(Scale::power_of_two(bits)).unwrap()
        };
        assert_eq!([at(1.5, 0), at(-1.25, 3), at(0.5, 0)], [2, -10, 1].map(BigInt::from));
        assert_eq!([at(-0.5, 0), at(0.49, 0), at(0.0, 40)], [-1, 0, 0].map(BigInt::from));
        assert_eq!(at(3.0, 200), BigInt::from(3) << 200);
        assert_eq!(at(0.75, -1), BigInt::ZERO);
    }
}
