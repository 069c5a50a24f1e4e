//! Switching keys and their moduli, which occur in several kinds of files.

use hippocrene_arrays::Error;
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Context, Modulus, Parameters, SwitchingKey, stop};

use super::{FormatError, READ, cursor::Cursor, poly::Widths};

/// Bytes of a seed.
pub(super) const SEED_BYTES: usize = 32;

/// Bytes of a modulus: positions, odd primes of the sprout, and exponent of two.
pub(super) const MODULUS_BYTES: u64 = 18;

/// Bytes of a switching key modulo `modulus`.
pub(super) fn switching_key_bytes(parameters: &Parameters, modulus: Modulus) -> u64 {
    let digits = parameters.digits(modulus).count() as u64;
    SEED_BYTES as u64
        + digits * Widths::of_modulus(parameters, modulus).poly_bytes(parameters.degree(), modulus)
}

/// Appends a switching key: its seed, and the other half of each digit.
pub(super) fn write_switching_key(out: &mut Vec<u8>, key: &SwitchingKey, parameters: &Parameters) {
    out.extend(key.seed().as_bytes());
    let widths = Widths::of_modulus(parameters, key.modulus());
    for b in key.b() {
        widths.write_poly(out, b, key.modulus());
    }
}

/// Reads a switching key modulo `modulus`. Errors name it `what`.
pub(super) fn read_switching_key(
    cursor: &mut Cursor<'_>,
    context: &Context,
    modulus: Modulus,
    what: &'static str,
) -> Result<SwitchingKey, Error> {
    let parameters = context.parameters();
    let widths = Widths::of_modulus(parameters, modulus);
    cursor.enter(what);
    let seed = Seed::from_bytes(cursor.array()?);
    let b = parameters
        .digits(modulus)
        .map(|_| {
            stop::check(READ)?;
            Ok(widths.read_poly(cursor, context, modulus, what)?)
        })
        .collect::<Result<_, Error>>()?;
    Ok(SwitchingKey::from_parts(context, modulus, seed, b)?)
}

/// Appends a modulus as its factors.
pub(super) fn write_modulus(out: &mut Vec<u8>, modulus: Modulus) {
    let (positions, odd, two) = modulus.to_parts();
    out.extend(positions.to_le_bytes());
    out.extend([odd, two]);
}

/// Describes a modulus by its parts, whether or not such a modulus exists.
pub(super) fn modulus_name((positions, odd, two): (u128, u8, u8)) -> String {
    format!("{positions:#x} with sprout {odd:#b} and 2^{two}")
}

/// Reads the modulus of a switching key.
pub(super) fn read_key_modulus(
    cursor: &mut Cursor<'_>,
    parameters: &Parameters,
    field: &'static str,
) -> Result<Modulus, FormatError> {
    let (positions, [odd, two]) = (cursor.u128()?, cursor.array()?);
    let modulus = Modulus::from_parts(positions, odd, two);
    modulus.filter(|modulus| parameters.check_key_modulus(*modulus).is_ok()).ok_or_else(|| {
        let have = modulus_name((positions, odd, two));
        FormatError::field(field, have, "a divisor of PQ with factors of Q and of P")
    })
}
