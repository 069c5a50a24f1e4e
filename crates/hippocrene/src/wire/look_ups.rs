//! The part of evaluation key files for look-up tables.
//!
//! It names the tables and holds the keys between slots and single numbers.

use hippocrene_arrays::{Error, LookUpKeys, LookUps, Session};
use hippocrene_ckks::SeededCiphertext;
use hippocrene_fhew::{BlindRotationKey, LweParameters, LweSwitchingKey, Preset as TableSet};
use hippocrene_pegasus::{PegasusKeys, RepackingKey, Shape};
use hippocrene_ring::{Domain, Poly, sample::Seed};
use hippocrene_rlwe::{Fingerprint, Modulus, Parameters, SeededCiphertext as Seeded, stop};

use super::{
    FormatError, READ,
    cursor::Cursor,
    fields::unusable,
    memory,
    packing::{pack, packed_bytes, unpack, width},
    poly::Widths,
    stored::Output,
    switching_keys::SEED_BYTES,
};

/// Bytes before the keys.
const HEAD_BYTES: u64 = 62;
/// Bytes of a shape of points, which follows the fixed fields in keys for k-means.
const SHAPE_BYTES: u64 = 12;
/// Added to the number of the tables in keys for k-means on points of a given shape.
const CLUSTERS: u32 = 256;
/// The number of the first tables. Smaller numbers name none.
const FIRST: u32 = 4;
const PART_NAME: &str = "keys of look-up tables";

/// The fields before the keys.
#[derive(Debug)]
pub(super) struct LookUpHead {
    pub(super) request: LookUps,
    /// The fingerprints of the secrets of single numbers and of the ring of tables.
    lwe: Fingerprint,
    ring: Fingerprint,
    /// The modulus of the repacking key.
    repacking: Modulus,
    set: TableSet,
}

/// Bytes of the whole part for look-up tables.
pub(super) fn look_up_bytes(keys: &LookUpKeys, parameters: &Parameters) -> u64 {
    let inner = keys.inner();
    let ring = inner.back.parameters()[0];
    let lwe = inner.back.parameters()[1];
    let digits = inner.extraction.digits().count();
    let modulus = inner.repacking.inner().inner().modulus();
    let shape = keys.request().clusters.map_or(0, |_| SHAPE_BYTES);
    HEAD_BYTES
        + shape
        + body_bytes(
            parameters,
            [ring, lwe],
            digits,
            inner.tables.b().iter().map(Poly::limb_count).sum(),
            modulus,
        )
}

/// Bytes of the keys.
fn body_bytes(
    parameters: &Parameters,
    [ring, lwe]: [LweParameters; 2],
    digits: usize,
    samples: usize,
    modulus: Modulus,
) -> u64 {
    let (small, large) = (width(lwe.modulus() - 1), width(ring.modulus() - 1));
    let switching = |from: usize| digits * packed_bytes(small, from);
    let tables = samples * packed_bytes(large, ring.dimension());
    let single =
        switching(parameters.degree()) + tables + switching(ring.dimension()) + 4 * SEED_BYTES;
    single as u64 + Widths::of_moduli(parameters).poly_bytes(parameters.degree(), modulus)
}

/// Appends the whole part for look-up tables.
pub(super) fn write_look_ups<E>(
    out: &mut Output<'_, E>,
    keys: &LookUpKeys,
    parameters: &Parameters,
) -> Result<(), E> {
    let (request, inner) = (keys.request(), keys.inner());
    let number = LookUps::NAMES.iter().position(|name| *name == request.tables);
    let number =
        number.expect("keys are made by a plan, and plans and files have tables of these names");
    let clusters = if request.clusters.is_some() { CLUSTERS } else { 0 };
    out.bytes.extend((clusters + FIRST + number as u32).to_le_bytes());
    out.bytes.extend(request.capacity_bits().to_le_bytes());
    if let Some(shape) = request.clusters {
        write_shape(&mut out.bytes, shape);
    }
    let [ring, lwe] = inner.back.keys();
    out.bytes.extend(lwe.as_bytes());
    out.bytes.extend(ring.as_bytes());
    let repacking = inner.repacking.inner().inner();
    let (positions, odd, two) = repacking.modulus().to_parts();
    out.bytes.extend(positions.to_le_bytes());
    out.bytes.extend([odd, two]);
    write_switching(&mut out.bytes, &inner.extraction);
    out.bytes.extend(inner.tables.seed().as_bytes());
    for poly in inner.tables.b() {
        out.pass_on()?;
        write_limbs(&mut out.bytes, poly, inner.back.parameters()[0]);
    }
    out.pass_on()?;
    write_switching(&mut out.bytes, &inner.back);
    out.bytes.extend(repacking.seed().as_bytes());
    Widths::of_moduli(parameters).write_poly(&mut out.bytes, repacking.c0(), repacking.modulus());
    Ok(())
}

pub(super) fn write_switching(out: &mut Vec<u8>, key: &LweSwitchingKey) {
    out.extend(key.seed().as_bytes());
    write_limbs(out, key.b(), key.parameters()[1]);
}

/// Appends the residues of polynomials over the ring of `of`.
pub(super) fn write_limbs(out: &mut Vec<u8>, polys: &Poly, of: LweParameters) {
    polys.limbs().for_each(|limb| pack(out, limb, width(of.modulus() - 1)));
}

impl LookUpHead {
    /// Reads the fields before the keys.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        parameters: &Parameters,
    ) -> Result<Self, FormatError> {
        cursor.enter(PART_NAME);
        let number = cursor.u32()?;
        let (number, clusters) = (number % CLUSTERS, number / CLUSTERS);
        let name =
            LookUps::NAMES.get(number.wrapping_sub(FIRST) as usize).filter(|_| clusters <= 1);
        let set = name.and_then(|name| TableSet::by_name(name).ok());
        let (Some(name), Some(set)) = (name, set) else {
            let have = clusters.wrapping_mul(CLUSTERS).wrapping_add(number);
            return Err(FormatError::field("the tables", have, "4 to 6, or 260 to 262"));
        };
        let capacity = cursor.f64()?;
        if !(1.0..=2000.0).contains(&capacity) {
            return Err(FormatError::number(
                "the capacity of look-up results",
                capacity,
                "1 to 2000",
            ));
        }
        let clusters = if clusters == 1 { Some(read_shape(cursor)?) } else { None };
        let [lwe, ring] = [cursor.array()?, cursor.array()?].map(Fingerprint::from_bytes);
        let (positions, [odd, two]) = (cursor.u128()?, cursor.array()?);
        let repacking =
            Modulus::from_parts(positions, odd, two).filter(|m| m.divides(parameters.top()));
        let Some(repacking) = repacking.filter(|modulus| !modulus.is_one()) else {
            let have = format!("{positions:#x} with sprout {odd:#b} and 2^{two}");
            return Err(FormatError::field(
                "the modulus of a repacking key",
                have,
                "a divisor of Q",
            ));
        };
        let request = LookUps { tables: name, capacity: Some(capacity), clusters };
        Ok(LookUpHead { request, lwe, ring, repacking, set })
    }

    /// Bytes of the keys that follow.
    pub(super) fn body_bytes(&self, parameters: &Parameters) -> u64 {
        let rotation = self.set.rotation();
        let (_, digits) = self.digits();
        let samples = rotation.steps() * rotation.limbs();
        body_bytes(parameters, [rotation.ring(), rotation.input()], digits, samples, self.repacking)
    }

    /// Bytes of memory that the keys take.
    pub(super) fn memory(&self, parameters: &Parameters) -> u64 {
        let rotation = self.set.rotation();
        let [small, large] = [rotation.input(), rotation.ring()].map(|of| width(of.modulus() - 1));
        let rotations =
            packed_bytes(large, rotation.ring().dimension()) * rotation.steps() * rotation.limbs();
        let repacking =
            Widths::of_moduli(parameters).poly_bytes(parameters.degree(), self.repacking);
        let switching = self.body_bytes(parameters).saturating_sub(rotations as u64 + repacking);
        memory::unpacked(switching, small)
            + memory::unpacked(rotations as u64, large)
            + memory::of_poly(parameters.degree(), self.repacking)
    }

    /// The bits of a digit of the switching keys, and the number of digits.
    fn digits(&self) -> (u32, usize) {
        let (base_log2, count) = self.set.switching_digits();
        (base_log2 / 2, 2 * count)
    }

    /// Reads the keys, whose size is [`LookUpHead::body_bytes`].
    pub(super) fn read_keys(
        self,
        cursor: &mut Cursor<'_>,
        session: &Session,
        owner: Fingerprint,
    ) -> Result<LookUpKeys, Error> {
        let wrong = |error| unusable(PART_NAME, error);
        let plan = self.request.plan(session).map_err(wrong)?;
        let plan = plan.pegasus();
        let (rotation, parameters) = (self.set.rotation(), session.context().parameters());
        let (input, ring, digits) = (rotation.input(), rotation.ring(), self.digits());
        let own =
            LweParameters::insecure(parameters.degree(), input.modulus(), parameters.secret())
                .map_err(|error| wrong(error.into()))?;
        let extraction = read_switching(cursor, [own, input], [owner, self.lwe], digits)?;
        let seed = Seed::from_bytes(cursor.array()?);
        let bytes = limb_bytes(ring, rotation.limbs()) as u64;
        let parts =
            (0..rotation.steps()).map(|_| cursor.part(bytes)).collect::<Result<Vec<_>, _>>()?;
        let polys = session.try_each(parts.len(), |i| {
            stop::check(READ)?;
            Ok(read_limbs(&mut parts[i].clone(), ring, rotation.limbs())?)
        })?;
        let tables = BlindRotationKey::from_parts(rotation, [self.lwe, self.ring], seed, polys)
            .map_err(|error| wrong(error.into()))?;
        let back = read_switching(cursor, [ring, input], [self.ring, self.lwe], digits)?;
        let seed = Seed::from_bytes(cursor.array()?);
        let context = session.context();
        let widths = Widths::of_moduli(parameters);
        let c0 = widths.read_poly(cursor, context.rlwe(), self.repacking, "repacking key")?;
        let inner = Seeded::from_parts(context.rlwe(), seed, c0, self.repacking, owner)?;
        let inner = SeededCiphertext::from_parts(
            context,
            inner,
            plan.key_scale()?,
            input.dimension(),
            1.0,
        )?;
        let repacking =
            RepackingKey::from_parts(plan, inner, self.lwe).map_err(|error| wrong(error.into()))?;
        Ok(LookUpKeys::new(self.request, PegasusKeys { extraction, tables, back, repacking }))
    }
}

/// Appends the number of points, their dimension and the number of clusters.
pub(super) fn write_shape(out: &mut Vec<u8>, shape: Shape) {
    for number in [shape.points(), shape.dimension(), shape.clusters()] {
        out.extend((number as u32).to_le_bytes());
    }
}

/// Reads the number of points, their dimension and the number of clusters.
pub(super) fn read_shape(cursor: &mut Cursor<'_>) -> Result<Shape, FormatError> {
    let [points, dimension, clusters] = [cursor.u32()?, cursor.u32()?, cursor.u32()?];
    Shape::new(points as usize, dimension as usize, clusters as usize)
        .map_err(|error| unusable("the shape of points", error))
}

pub(super) fn read_switching(
    cursor: &mut Cursor<'_>,
    [from, to]: [LweParameters; 2],
    keys: [Fingerprint; 2],
    digits: (u32, usize),
) -> Result<LweSwitchingKey, FormatError> {
    let seed = Seed::from_bytes(cursor.array()?);
    let b = read_limbs(cursor, to, from.dimension() / to.ring_degree() * digits.1)?;
    LweSwitchingKey::from_parts([from, to], keys, digits, seed, b)
        .map_err(|error| unusable(PART_NAME, error))
}

/// Bytes of `count` packed polynomials over the ring of `of`.
fn limb_bytes(of: LweParameters, count: usize) -> usize {
    count * packed_bytes(width(of.modulus() - 1), of.ring_degree())
}

/// Reads `count` polynomials over the ring of `of`, in the evaluation domain.
pub(super) fn read_limbs(
    cursor: &mut Cursor<'_>,
    of: LweParameters,
    count: usize,
) -> Result<Poly, FormatError> {
    let (degree, bits) = (of.ring_degree(), width(of.modulus() - 1));
    let packed = cursor.take(limb_bytes(of, count))?;
    let mut poly = Poly::zero(degree, count, Domain::Evaluation);
    for (limb, packed) in poly.limbs_mut().zip(packed.chunks_exact(packed_bytes(bits, degree))) {
        unpack(limb, packed, bits);
    }
    Ok(poly)
}
