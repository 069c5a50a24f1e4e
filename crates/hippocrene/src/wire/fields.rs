//! Fields of bootstrapping plans.

use hippocrene_arrays::Error;
use hippocrene_ckks::circuits::DftLevel;
use hippocrene_rlwe::Modulus;

use super::{FormatError, cursor::Cursor, switching_keys::modulus_name};

/// Bytes of a level of a transform.
pub(super) const LEVEL_BYTES: usize = 12;
/// The largest number of levels of a transform.
pub(super) const MAX_LEVELS: u32 = 16;
/// The largest number of coefficients of a polynomial.
pub(super) const MAX_COEFFICIENTS: u32 = 4096;
/// The largest number of bits that a field may hold.
const MAX_BITS: f64 = 1e4;

/// Reads a modulus that must equal `need`, which follows from fields read before.
pub(super) fn expect_modulus(
    cursor: &mut Cursor<'_>,
    field: &'static str,
    need: Modulus,
) -> Result<(), FormatError> {
    let (positions, [odd, two]) = (cursor.u128()?, cursor.array()?);
    let have = (positions, odd, two);
    if have == need.to_parts() {
        Ok(())
    } else {
        Err(FormatError::field(field, modulus_name(have), modulus_name(need.to_parts())))
    }
}

pub(super) fn at_most(
    cursor: &mut Cursor<'_>,
    field: &'static str,
    most: u32,
) -> Result<u32, FormatError> {
    let have = cursor.u32()?;
    if have <= most {
        Ok(have)
    } else {
        Err(FormatError::field(field, have, format!("at most {most}")))
    }
}

pub(super) fn finite(cursor: &mut Cursor<'_>, field: &'static str) -> Result<f64, FormatError> {
    let have = cursor.f64()?;
    if have.is_finite() { Ok(have) } else { Err(FormatError::number(field, have, "finite")) }
}

/// Reads a number of bits, from 1 to `MAX_BITS`.
pub(super) fn positive(cursor: &mut Cursor<'_>, field: &'static str) -> Result<f64, FormatError> {
    let have = cursor.f64()?;
    if (1.0..=MAX_BITS).contains(&have) {
        return Ok(have);
    }
    Err(FormatError::number(field, have, format!("1 to {MAX_BITS}")))
}

pub(super) fn read_levels(
    cursor: &mut Cursor<'_>,
    count: u32,
) -> Result<Vec<DftLevel>, FormatError> {
    let level = |cursor: &mut Cursor<'_>| {
        let radix_log2 = at_most(cursor, "the stages of a level", MAX_LEVELS)?;
        Ok(DftLevel { radix_log2, scale_bits: positive(cursor, "the bits of a level's scale")? })
    };
    (0..count).map(|_| level(cursor)).collect()
}

pub(super) fn read_numbers(cursor: &mut Cursor<'_>, count: u32) -> Result<Vec<f64>, FormatError> {
    (0..count).map(|_| cursor.f64()).collect()
}

/// Appends levels.
pub(super) fn write_levels<'a>(out: &mut Vec<u8>, levels: impl IntoIterator<Item = &'a DftLevel>) {
    for level in levels {
        out.extend(level.radix_log2.to_le_bytes());
        out.extend(level.scale_bits.to_le_bytes());
    }
}

/// Reads the bits of the modulus of a result. `None`, for as many as possible, is written as 0.
pub(super) fn read_output_bits(cursor: &mut Cursor<'_>) -> Result<Option<f64>, FormatError> {
    read_optional_bits(cursor, "the output bits of a bootstrap", "0 for all, or from 1")
}

/// Reads a number of bits, or `None` if it is 0.
pub(super) fn read_optional_bits(
    cursor: &mut Cursor<'_>,
    field: &'static str,
    need: &'static str,
) -> Result<Option<f64>, FormatError> {
    match finite(cursor, field)? {
        bits if bits.to_bits() == 0 => Ok(None),
        bits if (1.0..=MAX_BITS).contains(&bits) => Ok(Some(bits)),
        bits => Err(FormatError::number(field, bits, need)),
    }
}

/// Checks that the last coefficient of a polynomial is not 0.
pub(super) fn check_last(coefficients: &[f64]) -> Result<(), FormatError> {
    match coefficients.last() {
        Some(last) if *last == 0.0 => {
            let need = "other than 0: coefficients end in 0";
            Err(FormatError::field("the last coefficient of a polynomial", last, need))
        }
        _ => Ok(()),
    }
}

/// Checks the special modulus of a sparse secret.
pub(super) fn check_special(special: u64, need: &[u64]) -> Result<(), FormatError> {
    if need == [special] {
        return Ok(());
    }
    Err(FormatError::field(
        "the special modulus of the sparse secret",
        special,
        format!("{need:?}"),
    ))
}

/// Returns the error of a field from which nothing valid can be made.
///
/// It keeps the reason given by `error`, but not the name of its operation, which is not about
/// files.
pub(super) fn unusable(field: &'static str, error: impl Into<Error>) -> FormatError {
    let what = match error.into() {
        Error::Argument { what, .. } | Error::Shape { what, .. } => what,
        other => other.to_string(),
    };
    let what = what.strip_prefix("parameters: ").unwrap_or(&what).to_owned();
    FormatError::Unusable { field, what }
}
