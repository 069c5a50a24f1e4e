//! The description of a bootstrap in words.

use crate::console::size;
use hippocrene::BootstrappingDescription;
use std::fmt::{self, Display};

/// Displays a bootstrap in words.
pub(super) struct Bootstrap<'a>(pub(super) &'a BootstrappingDescription);

impl Display for Bootstrap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BootstrappingDescription { bound, precision, capacity_needed, capacity_after, .. } =
            self.0;
        write!(
            f,
            "bootstraps arrays of values up to {bound}, with {precision:.1} bits after the \
             binary point"
        )?;
        write!(f, "\n  slots       {}", self.0.slots)?;
        if self.0.iterations > 1 {
            write!(
                f,
                "\n  iterated    {} bootstraps, each of the error that the earlier ones left",
                self.0.iterations
            )?;
        }
        write!(
            f,
            "\n  capacity    {capacity_needed:.0} bits are needed, {capacity_after:.0} are left"
        )?;
        match self.0.log2_failure_probability {
            Some(log2) => write!(f, "\n  failure     with probability 2^{log2:.0}")?,
            None => write!(f, "\n  failure     impossible: no coefficient can leave the range")?,
        }
        write!(
            f,
            "\n  keys        {} rotations, {}",
            self.0.rotations,
            size(self.0.key_bytes as u64)
        )
    }
}
