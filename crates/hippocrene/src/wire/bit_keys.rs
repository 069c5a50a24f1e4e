//! The part of evaluation key files for bits: the plan of the bootstrap and the two keys of its
//! sparse secret.

use hippocrene_arrays::{BitKeys, Error, Session};
use hippocrene_ckks::{
    approximation::Wave,
    bits::{BitLiteral, BitPacking},
};
use hippocrene_rlwe::{Fingerprint, Modulus, Parameters};

use super::{
    FormatError,
    cursor::Cursor,
    fields::{
        LEVEL_BYTES, MAX_COEFFICIENTS, MAX_LEVELS, at_most, check_last, check_special,
        expect_modulus, finite, positive, read_levels, read_numbers, read_output_bits, unusable,
        write_levels,
    },
    sparse::{read_sparse_keys, sparse_keys_bytes, sparse_keys_memory, write_sparse_keys},
    switching_keys::{read_key_modulus, write_modulus},
};

/// The flag of bits in complex slots.
const COMPLEX: u32 = 1;
/// The flag of plans that clean their results.
const CLEAN: u32 = 2;
/// Bytes before the levels.
const FIXED_BYTES: usize = 116;
/// The most bits of a scale of bits.
const MAX_SCALE_BITS: u32 = 1000;

/// The fields before the two keys.
#[derive(Debug)]
pub(super) struct BitKeysHead {
    pub(super) literal: BitLiteral,
    /// The parameter set of the sparse secret.
    pub(super) sparse_parameters: Parameters,
    /// The modulus of the key from the sparse secret.
    up: Modulus,
}

/// Bytes of the whole part for bits.
pub(super) fn bit_keys_bytes(keys: &BitKeys, parameters: &Parameters) -> u64 {
    let literal = keys.literal();
    let levels = literal.coefficients_to_slots.len() + literal.slots_to_coefficients.len();
    let head =
        FIXED_BYTES + LEVEL_BYTES * levels + 8 * literal.wave.polynomial().coefficients().len();
    head as u64
        + sparse_keys_bytes(
            parameters,
            keys.sparse_parameters(),
            keys.encapsulation().up().modulus(),
        )
}

/// Appends the whole part for bits.
pub(super) fn write_bit_keys(out: &mut Vec<u8>, keys: &BitKeys, parameters: &Parameters) {
    let (literal, sparse_parameters) = (keys.literal(), keys.sparse_parameters());
    let coefficients = literal.wave.polynomial().coefficients();
    let complex = if literal.packing == BitPacking::Complex { COMPLEX } else { 0 };
    let clean = if literal.clean { CLEAN } else { 0 };
    out.extend((complex | clean).to_le_bytes());
    out.extend(literal.base_bits.to_le_bytes());
    write_modulus(out, literal.base(parameters));
    out.extend((literal.sparse_weight as u32).to_le_bytes());
    out.extend(sparse_parameters.literal().specials.first().copied().unwrap_or(0).to_le_bytes());
    out.extend(literal.scale_bits.to_le_bytes());
    out.extend(literal.falling_bits.to_le_bytes());
    out.extend(literal.bit_scale.to_le_bytes());
    out.extend(literal.output_bits.unwrap_or(0.0).to_le_bytes());
    let levels = [&literal.coefficients_to_slots, &literal.slots_to_coefficients];
    for count in levels.map(|levels| levels.len() as u32) {
        out.extend(count.to_le_bytes());
    }
    for number in [literal.wave.reach(), literal.wave.doublings(), coefficients.len() as u32] {
        out.extend(number.to_le_bytes());
    }
    out.extend(literal.wave.error().to_le_bytes());
    write_modulus(out, keys.encapsulation().up().modulus());
    write_levels(out, levels.into_iter().flatten());
    for coefficient in coefficients {
        out.extend(coefficient.to_le_bytes());
    }
    write_sparse_keys(out, keys.encapsulation(), sparse_parameters, parameters);
}

/// Reads the whole part for bits, up to the end of the file.
pub(super) fn read_bit_keys(
    cursor: &mut Cursor<'_>,
    session: &Session,
    owner: Fingerprint,
) -> Result<BitKeys, Error> {
    let context = session.context().rlwe();
    let head = BitKeysHead::read(cursor, context.parameters())?;
    let encapsulation = read_sparse_keys(cursor, context, head.sparse_parameters, head.up, owner)?;
    BitKeys::new(session, head.literal, encapsulation)
}

impl BitKeysHead {
    /// Bytes of memory that the keys take.
    pub(super) fn memory(&self, parameters: &Parameters) -> u64 {
        sparse_keys_memory(parameters, &self.sparse_parameters, self.up)
    }

    /// Reads the fields before the keys, and checks that the remaining bytes are exactly the keys.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        parameters: &Parameters,
    ) -> Result<Self, FormatError> {
        cursor.enter("keys of bits");
        let flags = at_most(cursor, "the flags of bits", COMPLEX | CLEAN)?;
        let base_bits = positive(cursor, "the bits of the base modulus")?;
        expect_modulus(cursor, "the base modulus", BitLiteral::base_of(base_bits, parameters))?;
        let weight =
            at_most(cursor, "the weight of the sparse secret", parameters.degree() as u32)?;
        let special = cursor.u64()?;
        let scale_bits = positive(cursor, "the bits of a bootstrap's scale")?;
        let falling_bits = finite(cursor, "the bits that scales fall by")?;
        let bit_scale = at_most(cursor, "the bits of the scale of bits", MAX_SCALE_BITS)?;
        let output_bits = read_output_bits(cursor)?;
        let levels = [
            at_most(cursor, "the number of levels", MAX_LEVELS)?,
            at_most(cursor, "the number of levels", MAX_LEVELS)?,
        ];
        let [reach, doublings] = [cursor.u32()?, cursor.u32()?];
        let count = at_most(cursor, "the number of coefficients of a cosine", MAX_COEFFICIENTS)?;
        let error = cursor.f64()?;
        let up =
            read_key_modulus(cursor, parameters, "the modulus of the key from the sparse secret")?;
        let [coefficients_to_slots, slots_to_coefficients] =
            [read_levels(cursor, levels[0])?, read_levels(cursor, levels[1])?];
        let coefficients = read_numbers(cursor, count)?;
        check_last(&coefficients)?;
        let wave = Wave::from_parts(reach, doublings, coefficients, error)
            .map_err(|error| unusable("the cosine of bits", error))?;
        let literal = BitLiteral {
            packing: if flags & COMPLEX == 0 { BitPacking::Real } else { BitPacking::Complex },
            base_bits,
            sparse_weight: weight as usize,
            wave,
            scale_bits,
            falling_bits,
            coefficients_to_slots,
            slots_to_coefficients,
            bit_scale,
            clean: flags & CLEAN != 0,
            output_bits,
        };
        let sparse_parameters = BitKeys::sparse_parameters_of(parameters, &literal)
            .map_err(|error| unusable("the sparse secret of bits", error))?;
        check_special(special, &sparse_parameters.literal().specials)?;
        cursor.expect_left(sparse_keys_bytes(parameters, &sparse_parameters, up))?;
        Ok(BitKeysHead { literal, sparse_parameters, up })
    }
}
