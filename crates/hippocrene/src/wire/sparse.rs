//! The two keys of the sparse secret of a bootstrap.

use hippocrene_arrays::Error;
use hippocrene_rlwe::{Context, EncapsulationKeys, Fingerprint, Modulus, Parameters};

use super::{
    cursor::Cursor,
    memory,
    switching_keys::{read_switching_key, switching_key_bytes, write_switching_key},
};

/// Bytes of the two keys. The key from the sparse secret is modulo `up`.
pub(super) fn sparse_keys_bytes(parameters: &Parameters, sparse: &Parameters, up: Modulus) -> u64 {
    switching_key_bytes(sparse, sparse.full()) + switching_key_bytes(parameters, up)
}

/// Bytes of memory of the two keys and the tables for the parameters of the sparse secret.
pub(super) fn sparse_keys_memory(parameters: &Parameters, sparse: &Parameters, up: Modulus) -> u64 {
    memory::of_tables(sparse)
        + memory::of_switching_key(sparse, sparse.full())
        + memory::of_switching_key(parameters, up)
}

/// Appends the two keys.
pub(super) fn write_sparse_keys(
    out: &mut Vec<u8>,
    keys: &EncapsulationKeys,
    sparse: &Parameters,
    parameters: &Parameters,
) {
    write_switching_key(out, keys.down(), sparse);
    write_switching_key(out, keys.up(), parameters);
}

/// Reads the two keys.
pub(super) fn read_sparse_keys(
    cursor: &mut Cursor<'_>,
    context: &Context,
    sparse: Parameters,
    up: Modulus,
    owner: Fingerprint,
) -> Result<EncapsulationKeys, Error> {
    let sparse = Context::new(sparse, context.threads().clone())?;
    let modulus = sparse.parameters().full();
    let down = read_switching_key(cursor, &sparse, modulus, "key to the sparse secret")?;
    let up = read_switching_key(cursor, context, up, "key from the sparse secret")?;
    Ok(EncapsulationKeys::from_parts(owner, down, up))
}
