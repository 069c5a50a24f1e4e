//! The part of evaluation key files for bootstrapping: the plan and the two keys of its sparse
//! secret.

use hippocrene_arrays::{BootstrappingKeys, Error, Session};
use hippocrene_ckks::{
    approximation::ModularReduction,
    bootstrap::{BootstrapLiteral, Order},
};
use hippocrene_rlwe::{Fingerprint, Modulus, Parameters};

use super::{
    FormatError,
    cursor::Cursor,
    fields::{
        LEVEL_BYTES, MAX_COEFFICIENTS, MAX_LEVELS, at_most, check_last, check_special,
        expect_modulus, finite, positive, read_levels, read_numbers, read_optional_bits,
        read_output_bits, unusable, write_levels,
    },
    sparse::{read_sparse_keys, sparse_keys_bytes, sparse_keys_memory, write_sparse_keys},
    switching_keys::{read_key_modulus, write_modulus},
};

/// The flag of complex slots.
const COMPLEX: u32 = 1;
/// The flag of bootstraps that transform slots to coefficients last.
const LAST: u32 = 2;
/// The flag of bootstraps of the first slots of ciphertexts that use all slots.
const FIRST: u32 = 4;
/// Bytes before the levels.
const FIXED_BYTES: usize = 152;

/// The fields before the two keys.
#[derive(Debug)]
pub(super) struct BootstrappingHead {
    pub(super) precision: f64,
    pub(super) literal: BootstrapLiteral,
    /// The parameter set of the sparse secret.
    pub(super) sparse_parameters: Parameters,
    /// The modulus of the key from the sparse secret.
    up: Modulus,
}

impl BootstrappingHead {
    /// Bytes of the keys.
    pub(super) fn keys_bytes(&self, parameters: &Parameters) -> u64 {
        sparse_keys_bytes(parameters, &self.sparse_parameters, self.up)
    }

    /// Bytes of memory that the keys take.
    pub(super) fn memory(&self, parameters: &Parameters) -> u64 {
        sparse_keys_memory(parameters, &self.sparse_parameters, self.up)
    }
}

/// Bytes of the whole part for bootstrapping.
pub(super) fn bootstrapping_bytes(keys: &BootstrappingKeys, parameters: &Parameters) -> u64 {
    let literal = keys.literal();
    let levels = literal.coefficients_to_slots.len() + literal.slots_to_coefficients.len();
    let (cosine, arcsine) = coefficients(&literal.reduction);
    let head = FIXED_BYTES + LEVEL_BYTES * levels + 8 * (cosine.len() + arcsine.len());
    head as u64
        + sparse_keys_bytes(
            parameters,
            keys.sparse_parameters(),
            keys.encapsulation().up().modulus(),
        )
}

/// The coefficients of the cosine and of the arcsine; the latter are empty without an arcsine.
fn coefficients(reduction: &ModularReduction) -> (&[f64], &[f64]) {
    (
        reduction.cosine().coefficients(),
        reduction.arcsine().map_or(&[], |arcsine| arcsine.coefficients()),
    )
}

/// Appends the whole part for bootstrapping.
pub(super) fn write_bootstrapping(
    out: &mut Vec<u8>,
    keys: &BootstrappingKeys,
    parameters: &Parameters,
) {
    let (literal, sparse_parameters) = (keys.literal(), keys.sparse_parameters());
    let (reduction, (cosine, arcsine)) = (&literal.reduction, coefficients(&literal.reduction));
    let complex = if literal.real { 0 } else { COMPLEX };
    let last = if literal.order == Order::SlotsToCoefficientsLast { LAST } else { 0 };
    out.extend(keys.precision().to_le_bytes());
    let first = if literal.first_slots { FIRST } else { 0 };
    out.extend((complex | last | first).to_le_bytes());
    out.extend(literal.slots.ilog2().to_le_bytes());
    out.extend(literal.bound.to_le_bytes());
    out.extend(literal.base_bits.to_le_bytes());
    write_modulus(out, parameters.grafted_modulus(literal.base_bits));
    out.extend((literal.sparse_weight.unwrap_or(0) as u32).to_le_bytes());
    out.extend(sparse_parameters.literal().specials.first().copied().unwrap_or(0).to_le_bytes());
    out.extend(literal.scale_bits.to_le_bytes());
    out.extend(literal.output_scale_bits.to_le_bytes());
    out.extend(literal.output_bits.unwrap_or(0.0).to_le_bytes());
    let levels = [&literal.coefficients_to_slots, &literal.slots_to_coefficients];
    let counts = levels.map(|levels| levels.len() as u32);
    let reach = reduction.reach() as u32;
    for count in counts.into_iter().chain([
        reach,
        reduction.doublings(),
        cosine.len() as u32,
        arcsine.len() as u32,
    ]) {
        out.extend(count.to_le_bytes());
    }
    out.extend(reduction.epsilon().to_le_bytes());
    out.extend(reduction.error().to_le_bytes());
    write_modulus(out, keys.encapsulation().up().modulus());
    out.extend(literal.precision.unwrap_or(0.0).to_le_bytes());
    write_levels(out, levels.into_iter().flatten());
    for coefficient in cosine.iter().chain(arcsine) {
        out.extend(coefficient.to_le_bytes());
    }
    write_sparse_keys(out, keys.encapsulation(), sparse_parameters, parameters);
}

/// Reads the whole part for bootstrapping, up to the end of the file unless `more` follows.
pub(super) fn read_bootstrapping(
    cursor: &mut Cursor<'_>,
    session: &Session,
    owner: Fingerprint,
    more: bool,
) -> Result<BootstrappingKeys, Error> {
    let context = session.context().rlwe();
    let head = BootstrappingHead::read(cursor, context.parameters(), more)?;
    let encapsulation = read_sparse_keys(cursor, context, head.sparse_parameters, head.up, owner)?;
    BootstrappingKeys::new(session, head.precision, head.literal, encapsulation)
}

impl BootstrappingHead {
    /// Reads the fields before the keys, and checks the number of remaining bytes.
    ///
    /// It must be the size of the keys, or larger if `more` follows.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        parameters: &Parameters,
        more: bool,
    ) -> Result<Self, FormatError> {
        cursor.enter("bootstrapping keys");
        let precision = positive(cursor, "the precision of a bootstrap")?;
        let flags = at_most(cursor, "the flags of a bootstrap", COMPLEX | LAST | FIRST)?;
        let log_slots =
            at_most(cursor, "log2 of the slots of a bootstrap", parameters.log_degree() - 1)?;
        let bound = finite(cursor, "the bound of a bootstrap")?;
        if bound <= 0.0 {
            return Err(FormatError::number("the bound of a bootstrap", bound, "positive"));
        }
        let base_bits = positive(cursor, "the bits of the base modulus")?;
        let base = parameters.grafted_modulus(base_bits);
        expect_modulus(cursor, "the base modulus", base)?;
        let weight =
            at_most(cursor, "the weight of the sparse secret", parameters.degree() as u32)?;
        let special = cursor.u64()?;
        let [scale_bits, output_scale_bits] = [
            positive(cursor, "the bits of a bootstrap's scale")?,
            positive(cursor, "the bits of a bootstrap's scale")?,
        ];
        let output_bits = read_output_bits(cursor)?;
        let levels = [
            at_most(cursor, "the number of levels", MAX_LEVELS)?,
            at_most(cursor, "the number of levels", MAX_LEVELS)?,
        ];
        let [reach, doublings] = [cursor.u32()?, cursor.u32()?];
        let counts = [
            at_most(cursor, "the number of coefficients of a cosine", MAX_COEFFICIENTS)?,
            at_most(cursor, "the number of coefficients of an arcsine", MAX_COEFFICIENTS)?,
        ];
        let [epsilon, error] = [cursor.f64()?, cursor.f64()?];
        let up =
            read_key_modulus(cursor, parameters, "the modulus of the key from the sparse secret")?;
        let iterated = read_optional_bits(
            cursor,
            "the precision that a bootstrap is iterated to",
            "0 for one bootstrap, or from 1",
        )?;
        if iterated.is_some() && flags & (LAST | FIRST) != 0 {
            return Err(FormatError::field(
                "the flags of a bootstrap",
                flags,
                "without 2 and 4, as it is iterated",
            ));
        }
        if flags & LAST != 0 && flags & FIRST != 0 {
            return Err(FormatError::field(
                "the flags of a bootstrap",
                flags,
                "without 2 or without 4",
            ));
        }
        let [coefficients_to_slots, slots_to_coefficients] =
            [read_levels(cursor, levels[0])?, read_levels(cursor, levels[1])?];
        let [cosine, arcsine] =
            [read_numbers(cursor, counts[0])?, read_numbers(cursor, counts[1])?];
        check_last(&cosine)?;
        check_last(&arcsine)?;
        let reduction =
            ModularReduction::from_parts(cosine, reach, doublings, arcsine, epsilon, error)
                .map_err(|error| unusable("the reduction of a bootstrap", error))?;
        let literal = BootstrapLiteral {
            slots: 1 << log_slots,
            first_slots: flags & FIRST != 0,
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
            precision: iterated,
        };
        let sparse_parameters = BootstrappingKeys::sparse_parameters_of(parameters, &literal)
            .map_err(|error| unusable("the sparse secret of a bootstrap", error))?;
        check_special(special, &sparse_parameters.literal().specials)?;
        cursor.expect(sparse_keys_bytes(parameters, &sparse_parameters, up), more)?;
        Ok(BootstrappingHead { precision, literal, sparse_parameters, up })
    }
}
