//! Dry runs: keys without samples, which count operations instead of computing them.
//!
//! A ciphertext of a dry run is its message, `(m, 0)`. Sums, multiples and modulus switches are
//! computed as in a real run. A blind rotation with all exponents 0 has no step to do, and a key
//! switch of zeros gives zero. The [`Context`] therefore only records the time that the real
//! rotation or key switch would need. `count` in the modules `rotation` and `switching` computes
//! that time.

use hippocrene_rlwe::{Context, RlweError};

use crate::FhewError;

/// Returns an error unless `context` belongs to a dry run.
pub(crate) fn check_dry_run(context: &Context) -> Result<(), FhewError> {
    if context.is_dry_run() {
        return Ok(());
    }
    Err(RlweError::Parameters { what: "keys without samples need the context of a dry run".into() }
        .into())
}
