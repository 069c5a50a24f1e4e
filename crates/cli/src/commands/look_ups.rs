//! The description of look-ups in words.

use hippocrene::LookUpsDescription;
use std::fmt::{self, Display};

/// Displays look-ups in words.
pub(super) struct LookedUp<'a>(pub(super) &'a LookUpsDescription);

impl Display for LookedUp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LookUpsDescription { tables, capacity, slots, log2_failure_probability } = self.0;
        write!(f, "looks up any function of real numbers in tables {tables}")?;
        write!(f, "\n  capacity    {capacity:.0} bits are left")?;
        write!(
            f,
            "\n  failure     with probability 2^{log2_failure_probability:.0} for each ciphertext \
             of {slots} numbers"
        )
    }
}
