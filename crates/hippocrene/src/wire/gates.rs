//! Files of single bits: the client's key, the server's keys, and arrays.

use std::sync::Arc;

use hippocrene_arrays::{
    Error, GateArray, GateClient, GateKeys,
    gates::{Bits, check_shape, error_of},
};
use hippocrene_fhew::{
    BlindRotationKey, GateKeys as Keys, GateParameters, LweCiphertext, SeededCoefficients,
};
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Fingerprint, Noise, stop};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{
    FormatError, Kind, READ, Stored,
    cursor::Cursor,
    fields::unusable,
    header::Header,
    look_ups::{read_limbs, read_switching, write_limbs, write_switching},
    memory,
    packing::{pack, packed_bytes, width},
    stored::{Input, Output},
    switching_keys::SEED_BYTES,
    trees::read_residues,
};

const PART_NAME: &str = "a file of single bits";
/// The flag of freshly encrypted arrays.
const FRESH: u32 = 1;
/// The largest number of axes of an array.
const MAX_AXES: u32 = 64;
/// Bytes before the lengths of the axes.
const HEAD_BYTES: u64 = 16;

fn wrong(error: impl Into<Error>) -> FormatError {
    unusable(PART_NAME, error)
}

/// The digest that identifies the parameters.
fn digest(parameters: &GateParameters) -> Fingerprint {
    Fingerprint::of("hippocrene 2026-11 gates of single bits", parameters.name().as_bytes())
}

/// The parameters that a header names by their digest.
fn parameters_of(header: &Header) -> Result<GateParameters, FormatError> {
    let parameters = GateParameters::standard().map_err(wrong)?;
    if header.parameters == digest(&parameters) {
        return Ok(parameters);
    }
    let need = format!("that of {}", parameters.name());
    Err(FormatError::field("the digest of the parameters of gates", header.parameters, need))
}

impl Stored for GateClient {
    const KIND: Kind = Kind::GateSecretKey;
    type Bytes = Zeroizing<Vec<u8>>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let parameters = digest(&self.parameters());
        let out = out.begin(Self::KIND, parameters, Some(self.fingerprint()), SEED_BYTES as u64);
        out.extend(self.seed().as_bytes());
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let parameters = parameters_of(header)?;
        cursor.expect_left(SEED_BYTES as u64)?;
        let seed = Zeroizing::new(cursor.array()?);
        let client = GateClient::from_seed(parameters, Seed::from_bytes(*seed))?;
        let (have, need) = (header.key, client.fingerprint());
        if have != need {
            return Err(FormatError::Key { have, need }.into());
        }
        Ok(client)
    }
}

/// Bytes of the keys of a server after the header.
fn key_bytes(parameters: &GateParameters) -> u64 {
    let [switching, rotations] = residue_bytes(parameters);
    (16 + 2 * SEED_BYTES + switching + rotations) as u64
}

/// Bytes of memory that a file of `bytes` bytes takes when it is loaded.
pub(super) fn loaded_memory(header: &Header, bytes: u64) -> Result<u64, FormatError> {
    let parameters = parameters_of(header)?;
    let rotation = parameters.rotation();
    let unpacked = |bytes: u64, modulus: u64| memory::unpacked(bytes, width(modulus - 1));
    Ok(match header.kind {
        Kind::GateKeys => {
            let [switching, rotations] = residue_bytes(&parameters);
            unpacked(switching as u64, rotation.input().modulus())
                + unpacked(rotations as u64, rotation.ring().modulus())
        }
        _ => unpacked(bytes, rotation.ring().modulus()),
    })
}

/// Bytes of the residues of the switching key of inputs, and of the blind rotation key.
fn residue_bytes(parameters: &GateParameters) -> [usize; 2] {
    let (rotation, (_, digits)) = (parameters.rotation(), parameters.switching_digits());
    let (input, ring) = (rotation.input(), rotation.ring());
    let samples = ring.dimension() / input.ring_degree() * digits;
    let switching = samples * packed_bytes(width(input.modulus() - 1), input.ring_degree());
    let samples = rotation.steps() * rotation.limbs();
    let rotations = samples * packed_bytes(width(ring.modulus() - 1), ring.dimension());
    [switching, rotations]
}

impl Stored for GateKeys {
    const KIND: Kind = Kind::GateKeys;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let payload = key_bytes(&self.parameters());
        let out =
            out.begin(Self::KIND, digest(&self.parameters()), Some(self.fingerprint()), payload);
        let rotation = self.inner().rotation();
        out.extend(rotation.keys()[0].as_bytes());
        write_switching(out, self.inner().switching());
        out.extend(rotation.seed().as_bytes());
        rotation.b().iter().for_each(|poly| write_limbs(out, poly, rotation.parameters().ring()));
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let parameters = parameters_of(header)?;
        cursor.expect_left(key_bytes(&parameters))?;
        let rotation = parameters.rotation();
        let (input, ring) = (rotation.input(), rotation.ring());
        let of_input = Fingerprint::from_bytes(cursor.array()?);
        let from = ring.with_modulus(input.modulus()).map_err(wrong)?;
        let keys = [header.key, of_input];
        let switching = read_switching(cursor, [from, input], keys, parameters.switching_digits())?;
        let seed = Seed::from_bytes(cursor.array()?);
        let polys = (0..rotation.steps()).map(|_| {
            stop::check(READ)?;
            Ok(read_limbs(cursor, ring, rotation.limbs())?)
        });
        let polys = polys.collect::<Result<Vec<_>, Error>>()?;
        let rotation = BlindRotationKey::from_parts(rotation, [of_input, header.key], seed, polys);
        let inner =
            Keys::from_parts(parameters, switching, rotation.map_err(wrong)?).map_err(wrong)?;
        Ok(GateKeys::new(inner))
    }
}

/// The fields of an array before its ciphertexts.
struct ArrayHead {
    fresh: bool,
    noise: Noise,
    shape: Vec<usize>,
    size: usize,
}

impl ArrayHead {
    /// Reads the fields, and checks that the remaining bytes match them.
    fn read(cursor: &mut Cursor<'_>, parameters: &GateParameters) -> Result<Self, FormatError> {
        let (flags, axes) = (cursor.u32()?, cursor.u32()?);
        if flags & !FRESH != 0 {
            return Err(FormatError::field(
                "the flags of an array of single bits",
                flags,
                "0 or 1",
            ));
        }
        let fresh = flags == FRESH;
        if axes > MAX_AXES {
            return Err(FormatError::field(
                "the number of axes",
                axes,
                format!("at most {MAX_AXES}"),
            ));
        }
        let noise = cursor.f64()?;
        let range = parameters.fresh_noise().log2_std()..=parameters.select_noise().log2_std();
        if !if fresh { noise.to_bits() == 0 } else { range.contains(&noise) } {
            let need = match fresh {
                true => "0 for what was encrypted".to_owned(),
                false => format!("{} to {}", range.start(), range.end()),
            };
            return Err(FormatError::number("the noise of bits", noise, need));
        }
        let noise = if fresh { parameters.fresh_noise() } else { Noise::from_log2_std(noise) };
        let lengths = (0..axes).map(|_| cursor.u64()).collect::<Result<Vec<_>, _>>()?;
        let size = lengths.iter().try_fold(1u64, |size, length| size.checked_mul(*length));
        let (Some(size), Ok(shape)) =
            (size, lengths.iter().map(|n| usize::try_from(*n)).collect::<Result<Vec<_>, _>>())
        else {
            return Err(FormatError::field(
                "the shape",
                format!("{lengths:?}"),
                "of fewer elements",
            ));
        };
        check_shape(&shape, size as usize, "read").map_err(wrong)?;
        cursor.expect_left(bit_bytes(parameters, fresh, size))?;
        Ok(ArrayHead { fresh, noise, shape, size: size as usize })
    }
}

/// Bytes of the ciphertexts of `size` bits. Huge sizes saturate.
fn bit_bytes(parameters: &GateParameters, fresh: bool, size: u64) -> u64 {
    let ring = parameters.rotation().ring();
    let bits = width(ring.modulus() - 1);
    match fresh {
        true => size.saturating_mul(u64::from(bits)).div_ceil(8).saturating_add(SEED_BYTES as u64),
        false => size.saturating_mul(packed_bytes(bits, ring.dimension() + 1) as u64),
    }
}

impl Stored for GateArray {
    const KIND: Kind = Kind::GateArray;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let fresh = matches!(self.bits(), Bits::Fresh(_));
        let payload = HEAD_BYTES
            + 8 * self.shape().len() as u64
            + bit_bytes(&self.parameters(), fresh, self.size() as u64);
        let out = out.begin(Self::KIND, digest(&self.parameters()), Some(self.key()), payload);
        let modulus = self.parameters().rotation().ring().modulus();
        let (flags, noise) = match self.bits() {
            Bits::Fresh(_) => (FRESH, 0.0),
            Bits::Single(_) => (0, self.noise().log2_std()),
        };
        out.extend(flags.to_le_bytes());
        out.extend((self.shape().len() as u32).to_le_bytes());
        out.extend(noise.to_le_bytes());
        self.shape().iter().for_each(|length| out.extend((*length as u64).to_le_bytes()));
        match self.bits() {
            Bits::Fresh(bits) => {
                out.extend(bits.seed().as_bytes());
                pack(out, bits.c0(), width(modulus - 1));
            }
            Bits::Single(bits) => {
                let mut residues = Vec::new();
                for bit in bits {
                    residues.clear();
                    residues.push(bit.b());
                    residues.extend(bit.a());
                    pack(out, &residues, width(modulus - 1));
                }
            }
        }
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let parameters = parameters_of(header)?;
        let ArrayHead { fresh, noise, shape, size } = ArrayHead::read(cursor, &parameters)?;
        let ring = parameters.rotation().ring();
        let bits = if fresh {
            let seed = Seed::from_bytes(cursor.array()?);
            let c0 = read_residues(cursor, size, ring.modulus())?;
            Bits::Fresh(Arc::new(
                SeededCoefficients::from_parts(ring, seed, c0, header.key).map_err(wrong)?,
            ))
        } else {
            let bit = |_| {
                stop::check(READ)?;
                let mut residues = read_residues(cursor, ring.dimension() + 1, ring.modulus())?;
                let a = residues.split_off(1);
                let bit = LweCiphertext::from_parts(ring, residues[0], a, noise, header.key);
                Ok(Arc::new(bit.map_err(wrong)?))
            };
            Bits::Single((0..size).map(bit).collect::<Result<Vec<_>, Error>>()?)
        };
        Ok(GateArray::new(shape, parameters, bits))
    }
}

/// The description of a file of single bits.
///
/// See [`Inspection`](super::Inspection) for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatesInspection {
    /// The name of the parameters.
    pub parameters: &'static str,
    /// The shape of an array.
    pub shape: Option<Vec<usize>>,
    /// True if an array is freshly encrypted.
    pub fresh: Option<bool>,
    /// The largest error of a bit ([`GateArray::error`]).
    pub bit_error: Option<f64>,
}

/// Describes a file of single bits, with the ring degree. The sizes are checked.
pub(super) fn inspect_gates(
    header: &Header,
    payload: &[u8],
) -> Result<(GatesInspection, usize), FormatError> {
    let parameters = parameters_of(header)?;
    let mut cursor = Cursor::new(payload, PART_NAME);
    let head = match header.kind {
        Kind::GateArray => Some(ArrayHead::read(&mut cursor, &parameters)?),
        Kind::GateKeys => cursor.expect_left(key_bytes(&parameters)).map(|()| None)?,
        _ => cursor.expect_left(SEED_BYTES as u64).map(|()| None)?,
    };
    let bit_error = head.as_ref().map(|head| error_of(&parameters, head.noise));
    let (shape, fresh) = head.map(|head| (head.shape, head.fresh)).unzip();
    let degree = parameters.rotation().ring().dimension();
    Ok((GatesInspection { parameters: parameters.name(), shape, fresh, bit_error }, degree))
}
