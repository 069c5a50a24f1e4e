//! Dry runs: keys without samples, which count operations instead of computing them.
//!
//! A ciphertext of a dry run is its message, `(m, 0)`. Sums, multiples and switches of the modulus
//! are computed as in a real run. A blind rotation by exponents that are 0 takes no step, and a key
//! switch of zeros is zero. So only the time that they would take is counted, in the
//! [`Context`]. The modules of the two operations count that time.

use hippocrene_rlwe::{Context, RlweError};

use crate::FhewError;

/// Refuses a context that computes with residues.
pub(crate) fn check_dry_run(context: &Context) -> Result<(), FhewError> {
    if context.is_dry_run() {
        return Ok(());
    }
    Err(RlweError::Parameters { what: "keys without samples need the context of a dry run".into() }
        .into())
}
