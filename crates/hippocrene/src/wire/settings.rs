//! Settings, which have files of their own and begin every key file.

use hippocrene_arrays::{Error, Integers, Scheme, Settings};
use hippocrene_rlwe::{
    MAX_SPROUT_PRIMES, MAX_UNITS_AND_SPECIALS, Parameters, ParametersLiteral, RlweError,
    SecretDistribution, Sprout,
};

use super::{FormatError, cursor::Cursor, header::Header};

/// Bytes of the fields before the primes.
const FIXED_BYTES: usize = 52;

/// The value that marks binary secrets in the field of the Hamming weight.
const BINARY: usize = u32::MAX as usize;

/// The treatment of parameter sets of unknown security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Security {
    /// Parameter sets of unknown security are refused.
    Required,
    /// Parameter sets of unknown security are accepted, for tests and to describe files.
    Waived,
}

/// Bytes of settings in a file.
pub(super) fn settings_bytes(settings: &Settings) -> usize {
    let ParametersLiteral { units, specials, sprout, .. } = settings.parameters().literal();
    FIXED_BYTES + 8 * (units.len() + specials.len() + sprout.primes.len())
}

/// Appends settings.
pub(super) fn write_settings(out: &mut Vec<u8>, settings: &Settings) {
    let ParametersLiteral { log_degree, units, specials, sprout, gadget_rank, secret } =
        settings.parameters().literal();
    let weight = match secret {
        SecretDistribution::Ternary => 0,
        SecretDistribution::SparseTernary { weight } => *weight,
        SecretDistribution::Binary => BINARY,
    };
    let counts = [units.len() as u32, specials.len() as u32, *gadget_rank as u32, weight as u32];
    let sprout_fields = [sprout.two, sprout.primes.len() as u32, u32::from(settings.fresh().two())];
    for field in [*log_degree].into_iter().chain(counts).chain(sprout_fields) {
        out.extend(field.to_le_bytes());
    }
    out.extend(settings.precision().to_le_bytes());
    let (scheme, t) =
        settings.integers().map_or((0, 0), |i| (scheme_number(i.scheme), i.plain_modulus));
    out.extend(scheme.to_le_bytes());
    out.extend(t.to_le_bytes());
    for prime in units.iter().chain(specials).chain(&sprout.primes) {
        out.extend(prime.to_le_bytes());
    }
}

/// Reads settings and checks them as if they were new, and their digest against the header.
pub(super) fn read_settings(
    cursor: &mut Cursor<'_>,
    header: &Header,
    security: Security,
) -> Result<Settings, Error> {
    cursor.enter("settings");
    let log_degree = cursor.u32()?;
    let (units, specials) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let gadget_rank = cursor.u32()? as usize;
    let weight = cursor.u32()? as usize;
    let (two, odd) = (cursor.u32()?, cursor.u32()? as usize);
    let fresh_two = cursor.u32()?;
    let precision = cursor.f64()?;
    let integers = integers_of(cursor.u32()?, cursor.u64()?)?;
    let count = units.saturating_add(specials);
    if count > MAX_UNITS_AND_SPECIALS {
        return Err(FormatError::field(
            "the number of primes",
            count,
            format!("at most {MAX_UNITS_AND_SPECIALS}"),
        )
        .into());
    }
    if odd > MAX_SPROUT_PRIMES {
        let need = format!("at most {MAX_SPROUT_PRIMES}");
        return Err(FormatError::field("the number of odd primes of the sprout", odd, need).into());
    }
    let mut primes = Vec::with_capacity(count + odd);
    for _ in 0..count + odd {
        primes.push(cursor.u64()?);
    }
    let sprout = Sprout { two, primes: primes.split_off(count) };
    let specials = primes.split_off(units);
    let secret = match weight {
        0 => SecretDistribution::Ternary,
        BINARY => SecretDistribution::Binary,
        weight => SecretDistribution::SparseTernary { weight },
    };
    let literal =
        ParametersLiteral { log_degree, units: primes, specials, sprout, gadget_rank, secret };
    let parameters = match (Parameters::new(literal.clone()), security) {
        (Err(RlweError::Insecure { .. } | RlweError::NoSecurityLimit { .. }), Security::Waived) => {
            Parameters::new_insecure(literal)
        }
        (checked, _) => checked,
    };
    let parameters = parameters.map_err(|error| match error {
        RlweError::Insecure { .. } | RlweError::NoSecurityLimit { .. } => Error::Security(error),
        other => FormatError::Settings { what: other.to_string() }.into(),
    })?;
    if parameters.digest() != header.parameters {
        let (have, need) = (header.parameters, parameters.digest());
        return Err(FormatError::Parameters { have, need }.into());
    }
    let fresh_two = u8::try_from(fresh_two).unwrap_or(u8::MAX);
    let settings = Settings::new(parameters, precision)
        .and_then(|settings| settings.with_fresh_two(fresh_two));
    let settings = match integers {
        Some(integers) => settings.and_then(|settings| settings.with_integers(integers)),
        None => settings,
    };
    Ok(settings.map_err(|e| FormatError::Settings { what: e.to_string() })?)
}

/// The number of a scheme of integers in files.
fn scheme_number(scheme: Scheme) -> u32 {
    match scheme {
        Scheme::Bgv => 1,
        Scheme::Bfv => 2,
    }
}

/// The scheme and modulus of integers from their two fields. Both fields are 0 for keys of numbers.
fn integers_of(scheme: u32, plain_modulus: u64) -> Result<Option<Integers>, FormatError> {
    let scheme = match scheme {
        0 if plain_modulus == 0 => return Ok(None),
        0 => {
            return Err(FormatError::field(
                "the plaintext modulus without a scheme",
                plain_modulus,
                "0",
            ));
        }
        1 => Scheme::Bgv,
        2 => Scheme::Bfv,
        _ => {
            return Err(FormatError::field("the scheme of integers", scheme, "0 for none, 1 or 2"));
        }
    };
    Ok(Some(Integers { scheme, plain_modulus }))
}
