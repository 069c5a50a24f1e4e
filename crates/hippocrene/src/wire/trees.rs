//! Files of private decision trees: the client's key, the server's keys, queries and replies.

use hippocrene_arrays::{Error, TreeClient, TreeKeys, TreeQuery, TreeReply, TreeTables};
use hippocrene_fhew::{BlindRotationKey, LweParameters};
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{Fingerprint, stop};
use zeroize::Zeroizing;

use super::{
    FormatError, Kind, READ, Stored,
    cursor::Cursor,
    header::Header,
    look_ups::{read_limbs, read_switching, write_limbs, write_switching},
    memory,
    packing::{pack, packed_bytes, unpack, width},
    stored::{Input, Output},
    switching_keys::SEED_BYTES,
};

const PART_NAME: &str = "a file of decision trees";
/// Bytes of the counts at the start of queries and replies, and of the digest of the interface.
const COUNTS_BYTES: u64 = 8;
const INTERFACE_BYTES: u64 = 16;

/// The tables that a header names by their digest.
fn tables_of(header: &Header) -> Result<TreeTables, FormatError> {
    TreeTables::of_digest(header.parameters).ok_or_else(|| {
        FormatError::field(
            "the digest of the tables",
            header.parameters,
            "that of lut11, lut12 or lut13",
        )
    })
}

fn wrong(error: impl Into<Error>) -> FormatError {
    super::fields::unusable(PART_NAME, error)
}

impl Stored for TreeClient {
    const KIND: Kind = Kind::TreeSecretKey;
    type Bytes = Zeroizing<Vec<u8>>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let (tables, key) = (self.tables().digest(), self.fingerprint());
        let out = out.begin(Self::KIND, tables, Some(key), SEED_BYTES as u64);
        out.extend(self.seed().as_bytes());
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let (tables, key) = (tables_of(header)?, header.key);
        cursor.expect_left(SEED_BYTES as u64)?;
        let seed = Zeroizing::new(cursor.array()?);
        let client = TreeClient::from_seed(tables, Seed::from_bytes(*seed))?;
        let need = client.fingerprint();
        if key != need {
            return Err(FormatError::Key { have: key, need }.into());
        }
        Ok(client)
    }
}

/// Bytes of the `b` parts of the key back to the LWE secret, and of the blind rotation key.
fn key_bytes(tables: TreeTables) -> [u64; 2] {
    let (rotation, back) = (tables.parameters().rotation(), tables.parameters().back());
    let (input, ring) = (rotation.input(), rotation.ring());
    let switching = back.count * packed_bytes(width(input.modulus() - 1), ring.dimension());
    let samples = rotation.steps() * rotation.limbs();
    let rotations = samples * packed_bytes(width(ring.modulus() - 1), ring.dimension());
    [switching as u64, rotations as u64]
}

/// Bytes of memory that a file of `bytes` bytes takes when it is loaded.
pub(super) fn loaded_memory(header: &Header, bytes: u64) -> Result<u64, FormatError> {
    let tables = tables_of(header)?;
    let rotation = tables.parameters().rotation();
    let bits = |modulus: u64| width(modulus - 1);
    Ok(match header.kind {
        Kind::TreeKeys => {
            let [switching, rotations] = key_bytes(tables);
            memory::unpacked(switching, bits(rotation.input().modulus()))
                + memory::unpacked(rotations, bits(rotation.ring().modulus()))
        }
        // A residue of a query has at least 12 bits, and one of a reply at least 7.
        Kind::TreeQuery => memory::unpacked(bytes, 12),
        _ => memory::unpacked(bytes, 7),
    })
}

impl Stored for TreeKeys {
    const KIND: Kind = Kind::TreeKeys;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let payload = 16 + 2 * SEED_BYTES as u64 + key_bytes(self.tables()).iter().sum::<u64>();
        let out = out.begin(Self::KIND, self.tables().digest(), Some(self.fingerprint()), payload);
        let tables = &self.inner().tables;
        out.extend(tables.keys()[1].as_bytes());
        out.extend(tables.seed().as_bytes());
        tables.b().iter().for_each(|poly| write_limbs(out, poly, tables.parameters().ring()));
        write_switching(out, &self.inner().back);
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let (tables, key) = (tables_of(header)?, header.key);
        cursor.expect_left(16 + 2 * SEED_BYTES as u64 + key_bytes(tables).iter().sum::<u64>())?;
        let (rotation, back) = (tables.parameters().rotation(), tables.parameters().back());
        let (input, ring) = (rotation.input(), rotation.ring());
        let of_ring = Fingerprint::from_bytes(cursor.array()?);
        let seed = Seed::from_bytes(cursor.array()?);
        let polys = (0..rotation.steps()).map(|_| {
            stop::check(READ)?;
            Ok(read_limbs(cursor, ring, rotation.limbs())?)
        });
        let polys = polys.collect::<Result<Vec<_>, Error>>()?;
        let rotations =
            BlindRotationKey::from_parts(rotation, [key, of_ring], seed, polys).map_err(wrong)?;
        let back =
            read_switching(cursor, [ring, input], [of_ring, key], (back.base_log2, back.count))?;
        Ok(TreeKeys::new(tables, hippocrene_pegasus::TreeKeys { tables: rotations, back }))
    }
}

/// Reads `count` packed residues. Unused bits of the last byte must be zero.
pub(super) fn read_residues(
    cursor: &mut Cursor<'_>,
    count: usize,
    modulus: u64,
) -> Result<Vec<u64>, FormatError> {
    let bits = width(modulus - 1);
    let packed = cursor.take(packed_bytes(bits, count))?;
    let used = (bits as usize * count) % 8;
    if let Some(last) = packed.last().filter(|last| used != 0 && **last >> used != 0) {
        return Err(FormatError::field(
            "the last byte of residues",
            last,
            format!("of {used} bits"),
        ));
    }
    let mut residues = vec![0; count];
    unpack(&mut residues, packed, bits);
    Ok(residues)
}

/// Reads two counts, each at least 1, and returns them with their product.
fn read_counts(cursor: &mut Cursor<'_>, names: [&'static str; 2]) -> Result<[u64; 3], FormatError> {
    let counts = [cursor.u32()?, cursor.u32()?];
    for (count, name) in counts.into_iter().zip(names) {
        if count == 0 {
            return Err(FormatError::field(name, count, "at least 1"));
        }
    }
    let [a, b] = counts.map(u64::from);
    // The factors have 32 bits, so the product cannot overflow.
    Ok([a, b, a * b])
}

impl Stored for TreeQuery {
    const KIND: Kind = Kind::TreeQuery;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let features = self.features() as u64 * self.rows() as u64;
        let payload = COUNTS_BYTES
            + INTERFACE_BYTES
            + SEED_BYTES as u64
            + query_bytes(self.tables(), features);
        let out = out.begin(
            Self::KIND,
            self.tables().digest(),
            Some(self.inner().numbers().key()),
            payload,
        );
        let numbers = self.inner().numbers();
        out.extend((self.features() as u32).to_le_bytes());
        out.extend((self.rows() as u32).to_le_bytes());
        out.extend(self.interface().as_bytes());
        out.extend(numbers.seed().as_bytes());
        pack(out, numbers.c0(), width(numbers.parameters().modulus() - 1));
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let (tables, key) = (tables_of(header)?, header.key);
        let [features, _, features_of_all] = read_query(cursor, tables)?;
        let interface = Fingerprint::from_bytes(cursor.array()?);
        let seed = Seed::from_bytes(cursor.array()?);
        let parameters = tables.parameters();
        let count = features_of_all as usize * parameters.digits();
        let c0 = read_residues(cursor, count, parameters.query().modulus())?;
        let inner =
            hippocrene_pegasus::TreeQuery::from_parts(parameters, features as usize, seed, c0, key)
                .map_err(wrong)?;
        Ok(TreeQuery::new(tables, interface, inner))
    }
}

/// Bytes of the digits of this number of features. Huge numbers saturate.
fn query_bytes(tables: TreeTables, features: u64) -> u64 {
    let parameters = tables.parameters();
    let bits = u64::from(width(parameters.query().modulus() - 1)) * parameters.digits() as u64;
    features.saturating_mul(bits).div_ceil(8)
}

/// Reads the numbers of features and rows, with their product, and checks the query's length.
fn read_query(cursor: &mut Cursor<'_>, tables: TreeTables) -> Result<[u64; 3], FormatError> {
    let counts = read_counts(cursor, ["the number of features", "the number of rows"])?;
    cursor.expect_left(
        query_bytes(tables, counts[2]).saturating_add(INTERFACE_BYTES + SEED_BYTES as u64),
    )?;
    Ok(counts)
}

/// The fields before the ciphertexts of a reply.
struct ReplyHead {
    interface: Fingerprint,
    span: f64,
    modulus: u64,
    outputs: u64,
    rows: u64,
    middles: Vec<f64>,
}

impl ReplyHead {
    /// Reads the fields, and checks that the remaining bytes match them.
    fn read(cursor: &mut Cursor<'_>, tables: TreeTables) -> Result<Self, FormatError> {
        let [outputs, rows, count] =
            read_counts(cursor, ["the number of outputs", "the number of rows"])?;
        let interface = Fingerprint::from_bytes(cursor.array()?);
        let (span, modulus) = (cursor.f64()?, cursor.u64()?);
        let input = tables.parameters().rotation().input();
        if !(1 << 7..=input.modulus()).contains(&modulus) {
            let need = format!("128 to {}", input.modulus());
            return Err(FormatError::field("the modulus of a reply", modulus, need));
        }
        let ciphertexts = count.saturating_mul(ciphertext_bytes(input.dimension(), modulus));
        cursor.expect_left(ciphertexts.saturating_add(8 * outputs))?;
        let middles = (0..outputs).map(|_| cursor.f64()).collect::<Result<_, _>>()?;
        Ok(ReplyHead { interface, span, modulus, outputs, rows, middles })
    }
}

/// Bytes of `b` and `a` of a ciphertext.
fn ciphertext_bytes(dimension: usize, modulus: u64) -> u64 {
    packed_bytes(width(modulus - 1), dimension + 1) as u64
}

impl Stored for TreeReply {
    const KIND: Kind = Kind::TreeReply;
    type Bytes = Vec<u8>;
    type With<'a> = ();

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let values = self.inner().values();
        let parameters = values[0].parameters();
        let each = ciphertext_bytes(parameters.dimension(), parameters.modulus());
        let payload = COUNTS_BYTES
            + INTERFACE_BYTES
            + 16
            + 8 * self.outputs() as u64
            + values.len() as u64 * each;
        let out = out.begin(
            Self::KIND,
            self.tables().digest(),
            Some(self.inner().values()[0].key()),
            payload,
        );
        let modulus = self.inner().values()[0].parameters().modulus();
        out.extend((self.outputs() as u32).to_le_bytes());
        out.extend((self.rows() as u32).to_le_bytes());
        out.extend(self.interface().as_bytes());
        out.extend(self.inner().span().to_le_bytes());
        out.extend(modulus.to_le_bytes());
        self.inner().middles().iter().for_each(|x| out.extend(x.to_le_bytes()));
        let mut residues = Vec::new();
        for value in self.inner().values() {
            residues.clear();
            residues.push(value.b());
            residues.extend(value.a());
            pack(out, &residues, width(modulus - 1));
        }
        Ok(())
    }

    fn decode(input: &mut Input<'_>, _: ()) -> Result<Self, Error> {
        let (cursor, header) = input.parts(PART_NAME);
        let (tables, key) = (tables_of(header)?, header.key);
        let ReplyHead { interface, span, modulus, outputs, rows, middles } =
            ReplyHead::read(cursor, tables)?;
        let input = tables.parameters().rotation().input();
        // Ciphertexts are switched to this modulus and never encrypted with it, so its security is
        // not checked.
        let parameters =
            LweParameters::insecure(input.dimension(), modulus, input.secret()).map_err(wrong)?;
        let mut values = Vec::new();
        for _ in 0..outputs * rows {
            let mut residues = read_residues(cursor, input.dimension() + 1, modulus)?;
            let a = residues.split_off(1);
            values.push((residues[0], a));
        }
        let inner =
            hippocrene_pegasus::TreeReply::from_parts(parameters, key, span, middles, values)
                .map_err(wrong)?;
        Ok(TreeReply::new(tables, interface, inner))
    }
}

/// The description of a file of decision trees.
///
/// See [`Inspection`](super::Inspection) for an example.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TreesInspection {
    /// The name of the tables that the file is for.
    pub tables: &'static str,
    /// The number of features of a row in a query, or of outputs of a row in a reply.
    pub numbers: Option<u64>,
    /// The number of rows in a query or a reply.
    pub rows: Option<u64>,
}

/// Describes a file of trees, with the ring degree of its tables. The sizes are checked.
pub(super) fn inspect_trees(
    header: &Header,
    payload: &[u8],
) -> Result<(TreesInspection, usize), FormatError> {
    let tables = tables_of(header)?;
    let mut cursor = Cursor::new(payload, PART_NAME);
    let counts = match header.kind {
        Kind::TreeQuery => {
            read_query(&mut cursor, tables).map(|[numbers, rows, _]| Some((numbers, rows)))?
        }
        Kind::TreeReply => {
            ReplyHead::read(&mut cursor, tables).map(|head| Some((head.outputs, head.rows)))?
        }
        Kind::TreeKeys => {
            cursor
                .expect_left(16 + 2 * SEED_BYTES as u64 + key_bytes(tables).iter().sum::<u64>())?;
            None
        }
        _ => {
            cursor.expect_left(SEED_BYTES as u64)?;
            None
        }
    };
    let (numbers, rows) = counts.unzip();
    let degree = tables.parameters().rotation().ring().dimension();
    Ok((TreesInspection { tables: tables.name(), numbers, rows }, degree))
}
