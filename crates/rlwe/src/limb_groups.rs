//! The number of limbs that are worked on together.
//!
//! Base conversion reads its inputs once for all limbs of a group, so large groups read less. But
//! the limbs of a group are in scratch memory at the same time, so large groups need more memory.

use crate::{Context, rings::Rings};

/// The maximum number of limbs in a group.
pub(crate) const MAX_GROUP_LIMBS: usize = 32;

/// The maximum number of words of scratch memory for the groups of all threads together. Chosen: a
/// key switch at `N = 2^16` may use twice as many.
const MAX_GROUP_WORDS: usize = 1 << 22;

impl Rings {
    /// Returns the number of limbs in a group when `threads` threads share `limbs` limbs.
    ///
    /// The limbs of each thread are divided into groups of equal size. Each limb of a group needs
    /// `scratch` limbs of scratch memory.
    pub(crate) fn group_size(&self, threads: usize, limbs: usize, scratch: usize) -> usize {
        let max_group = MAX_GROUP_WORDS / (threads * scratch.max(1) * self.degree());
        let max_group = max_group.clamp(1, MAX_GROUP_LIMBS);
        let per_thread = limbs.div_ceil(threads).max(1);
        per_thread.div_ceil(per_thread.div_ceil(max_group))
    }
}

impl Context {
    /// [`Rings::group_size`] for the threads of this context.
    pub(crate) fn group_size(&self, limbs: usize, scratch: usize) -> usize {
        self.rings.group_size(self.threads().count(), limbs, scratch)
    }
}
