//! What files of evaluation keys hold for bootstrapping: what the bootstrap is made of, and the two keys of its sparse secret.

use hippocrene_ckks::{
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, Order},
    circuits::DftLevel,
};
use hippocrene_rlwe::{Context, EncapsulationKeys, Fingerprint, Modulus, Parameters};

use super::{
    FormatError,
    cursor::Cursor,
    keys::{
        modulus_name, read_key_modulus, read_switching_key, switching_key_bytes, write_modulus,
        write_switching_key,
    },
};
use crate::{BootstrappingKeys, Error, Session};

/// The flag of complex slots.
const COMPLEX: u32 = 1;
/// The flag of slots that go into coefficients last.
const LAST: u32 = 2;
/// Bytes before the levels.
const FIXED_BYTES: usize = 144;
const LEVEL_BYTES: usize = 12;
/// The most levels of a transform.
const MOST_LEVELS: u32 = 16;
/// The most coefficients of a polynomial.
const MOST_COEFFICIENTS: u32 = 4096;
/// No number of bits is larger.
const MOST_BITS: f64 = 1e4;

/// What stands before the two keys.
#[derive(Debug)]
pub(super) struct BootstrappingHead {
    pub(super) precision: f64,
    pub(super) literal: BootstrapLiteral,
    /// The parameter set of the sparse secret.
    pub(super) narrow: Parameters,
    /// The modulus of the key from the sparse secret.
    up: Modulus,
}

/// Bytes of all that is there for bootstrapping.
pub(super) fn bootstrapping_bytes(keys: &BootstrappingKeys, parameters: &Parameters) -> u64 {
    let literal = keys.literal();
    let levels = literal.coefficients_to_slots.len() + literal.slots_to_coefficients.len();
    let (cosine, arcsine) = coefficients(&literal.reduction);
    let head = FIXED_BYTES + LEVEL_BYTES * levels + 8 * (cosine.len() + arcsine.len());
    head as u64 + keys_bytes(parameters, keys.narrow(), keys.encapsulation().up().modulus())
}

/// Bytes of the two keys, that from the sparse secret modulo `up`.
fn keys_bytes(parameters: &Parameters, narrow: &Parameters, up: Modulus) -> u64 {
    switching_key_bytes(narrow, narrow.full()) + switching_key_bytes(parameters, up)
}

/// The coefficients of the cosine and of the arcsine, of which there are none where there is no arcsine.
fn coefficients(reduction: &ModularReduction) -> (&[f64], &[f64]) {
    (reduction.cosine().coefficients(), reduction.arcsine().map_or(&[], |arcsine| arcsine.coefficients()))
}

/// Appends all of it.
pub(super) fn write_bootstrapping(out: &mut Vec<u8>, keys: &BootstrappingKeys, parameters: &Parameters) {
    let (literal, narrow) = (keys.literal(), keys.narrow());
    let (reduction, (cosine, arcsine)) = (&literal.reduction, coefficients(&literal.reduction));
    let complex = if literal.real { 0 } else { COMPLEX };
    let last = if literal.order == Order::SlotsToCoefficientsLast { LAST } else { 0 };
    out.extend(keys.precision().to_le_bytes());
    out.extend((complex | last).to_le_bytes());
    out.extend(literal.slots.ilog2().to_le_bytes());
    out.extend(literal.bound.to_le_bytes());
    out.extend(literal.base_bits.to_le_bytes());
    write_modulus(out, parameters.grafted_modulus(literal.base_bits));
    out.extend((literal.sparse_weight.unwrap_or(0) as u32).to_le_bytes());
    out.extend(narrow.literal().specials.first().copied().unwrap_or(0).to_le_bytes());
    out.extend(literal.scale_bits.to_le_bytes());
    out.extend(literal.output_scale_bits.to_le_bytes());
    out.extend(literal.output_bits.unwrap_or(0.0).to_le_bytes());
    let levels = [&literal.coefficients_to_slots, &literal.slots_to_coefficients];
    let counts = levels.map(|levels| levels.len() as u32);
    let reach = reduction.reach() as u32;
    for count in
        counts.into_iter().chain([reach, reduction.doublings(), cosine.len() as u32, arcsine.len() as u32])
    {
        out.extend(count.to_le_bytes());
    }
    out.extend(reduction.epsilon().to_le_bytes());
    out.extend(reduction.error().to_le_bytes());
    write_modulus(out, keys.encapsulation().up().modulus());
    for level in levels.into_iter().flatten() {
        out.extend(level.radix_log2.to_le_bytes());
        out.extend(level.scale_bits.to_le_bytes());
    }
    for coefficient in cosine.iter().chain(arcsine) {
        out.extend(coefficient.to_le_bytes());
    }
    write_switching_key(out, keys.encapsulation().down(), narrow);
    write_switching_key(out, keys.encapsulation().up(), parameters);
}

/// Reads all of it, to the end.
pub(super) fn read_bootstrapping(
    cursor: &mut Cursor<'_>,
    session: &Session,
    owner: Fingerprint,
) -> Result<BootstrappingKeys, Error> {
    let context = session.context().rlwe();
    let head = BootstrappingHead::read(cursor, context.parameters())?;
    let narrow = Context::new(head.narrow, context.threads().clone())?;
    let modulus = narrow.parameters().full();
    let down = read_switching_key(cursor, &narrow, modulus, "key to the sparse secret")?;
    let up = read_switching_key(cursor, context, head.up, "key from the sparse secret")?;
    let encapsulation = EncapsulationKeys::from_parts(owner, down, up);
    BootstrappingKeys::new(session, head.precision, head.literal, encapsulation)
}

impl BootstrappingHead {
    /// Reads what stands before the keys, and checks that what is left is as long as they are.
    pub(super) fn read(cursor: &mut Cursor<'_>, parameters: &Parameters) -> Result<Self, FormatError> {
        cursor.enter("bootstrapping keys");
        let precision = positive(cursor, "the precision of a bootstrap")?;
        let flags = at_most(cursor, "the flags of a bootstrap", COMPLEX | LAST)?;
        let log_slots = at_most(cursor, "log2 of the slots of a bootstrap", parameters.log_degree() - 1)?;
        let bound = finite(cursor, "the bound of a bootstrap")?;
        if bound <= 0.0 {
            return Err(FormatError::field("the bound of a bootstrap", bound, "positive"));
        }
        let base_bits = positive(cursor, "the bits of the base modulus")?;
        let base = parameters.grafted_modulus(base_bits);
        expect_modulus(cursor, "the base modulus", base)?;
        let weight = at_most(cursor, "the weight of the sparse secret", parameters.degree() as u32)?;
        let special = cursor.u64()?;
        let [scale_bits, output_scale_bits] = [
            positive(cursor, "the bits of a bootstrap's scale")?,
            positive(cursor, "the bits of a bootstrap's scale")?,
        ];
        let output_bits = match finite(cursor, "the output bits of a bootstrap")? {
            bits if bits.to_bits() == 0 => None,
            bits if (1.0..=MOST_BITS).contains(&bits) => Some(bits),
            bits => {
                return Err(FormatError::field(
                    "the output bits of a bootstrap",
                    bits,
                    "0 for all, or from 1",
                ));
            }
        };
        let levels = [
            at_most(cursor, "the number of levels", MOST_LEVELS)?,
            at_most(cursor, "the number of levels", MOST_LEVELS)?,
        ];
        let [reach, doublings] = [cursor.u32()?, cursor.u32()?];
        let counts = [
            at_most(cursor, "the number of coefficients of a cosine", MOST_COEFFICIENTS)?,
            at_most(cursor, "the number of coefficients of an arcsine", MOST_COEFFICIENTS)?,
        ];
        let [epsilon, error] = [cursor.f64()?, cursor.f64()?];
        let up = read_key_modulus(cursor, parameters, "the modulus of the key from the sparse secret")?;
        let [coefficients_to_slots, slots_to_coefficients] =
            [read_levels(cursor, levels[0])?, read_levels(cursor, levels[1])?];
        let [cosine, arcsine] = [read_numbers(cursor, counts[0])?, read_numbers(cursor, counts[1])?];
        if let Some(last) =
            [&cosine, &arcsine].into_iter().filter_map(|p| p.last()).find(|last| **last == 0.0)
        {
            return Err(FormatError::field(
                "the last coefficient of a polynomial",
                last,
                "other than 0: coefficients end in 0",
            ));
        }
        let reduction = ModularReduction::from_parts(cosine, reach, doublings, arcsine, epsilon, error)
            .map_err(|error| {
                FormatError::field("the reduction of a bootstrap", error, "one that can be computed")
            })?;
        let literal = BootstrapLiteral {
            slots: 1 << log_slots,
            real: flags & COMPLEX == 0,
            order: match flags & LAST {
                0 => Order::SlotsToCoefficientsFirst,
                _ => Order::SlotsToCoefficientsLast,
            },
            bound,
            base_bits,
            sparse_weight: Some(weight as usize),
            reduction,
            scale_bits,
            coefficients_to_slots,
            slots_to_coefficients,
            output_scale_bits,
            output_bits,
        };
        let narrow = BootstrappingKeys::narrow_of(parameters, &literal).map_err(|error| {
            FormatError::field("the sparse secret of a bootstrap", error, "one that has keys")
        })?;
        if narrow.literal().specials != [special] {
            let need = format!("{:?}", narrow.literal().specials);
            return Err(FormatError::field("the special modulus of the sparse secret", special, need));
        }
        cursor.expect_left(keys_bytes(parameters, &narrow, up))?;
        Ok(BootstrappingHead { precision, literal, narrow, up })
    }
}

/// Reads a modulus that follows from what has been read.
fn expect_modulus(cursor: &mut Cursor<'_>, field: &'static str, need: Modulus) -> Result<(), FormatError> {
    let (positions, [odd, two]) = (cursor.u128()?, cursor.array()?);
    let have = (positions, odd, two);
    if have == need.to_parts() {
        Ok(())
    } else {
        Err(FormatError::field(field, modulus_name(have), modulus_name(need.to_parts())))
    }
}

fn at_most(cursor: &mut Cursor<'_>, field: &'static str, most: u32) -> Result<u32, FormatError> {
    let have = cursor.u32()?;
    if have <= most { Ok(have) } else { Err(FormatError::field(field, have, format!("at most {most}"))) }
}

fn finite(cursor: &mut Cursor<'_>, field: &'static str) -> Result<f64, FormatError> {
    let have = cursor.f64()?;
    if have.is_finite() { Ok(have) } else { Err(FormatError::field(field, have, "finite")) }
}

/// A number of bits.
fn positive(cursor: &mut Cursor<'_>, field: &'static str) -> Result<f64, FormatError> {
    let have = cursor.f64()?;
    if (1.0..=MOST_BITS).contains(&have) {
        return Ok(have);
    }
    Err(FormatError::field(field, have, format!("1 to {MOST_BITS}")))
}

fn read_levels(cursor: &mut Cursor<'_>, count: u32) -> Result<Vec<DftLevel>, FormatError> {
    let level = |cursor: &mut Cursor<'_>| {
        let radix_log2 = at_most(cursor, "the stages of a level", MOST_LEVELS)?;
        Ok(DftLevel { radix_log2, scale_bits: positive(cursor, "the bits of a level's scale")? })
    };
    (0..count).map(|_| level(cursor)).collect()
}

fn read_numbers(cursor: &mut Cursor<'_>, count: u32) -> Result<Vec<f64>, FormatError> {
    (0..count).map(|_| cursor.f64()).collect()
}
