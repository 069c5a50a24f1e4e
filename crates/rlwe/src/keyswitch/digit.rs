//! The digits of a decomposition.

use hippocrene_ring::convert::BaseConverter;

use crate::Modulus;

/// One digit: the residues of `(P'/P) c` modulo a divisor `D` of `Q`, extended to the other
/// positions of `P'Q`.
#[derive(Debug)]
pub(crate) struct Digit {
    /// The components of the base key that the digit is multiplied by.
    pub(crate) blocks: Vec<usize>,
    /// The components of the coalesced key that the digit is multiplied by.
    pub(crate) groups: Vec<usize>,
    /// `D`, which shares its positions with no other digit.
    pub(crate) factors: Modulus,
    /// `P'Q/D`: the other positions.
    pub(crate) others: Modulus,
    /// Converts from the limbs of `D` to the others.
    pub(crate) converter: BaseConverter,
    /// The index among the digits with one limb, if `D` is one limb. Otherwise the index among the
    /// digits with several limbs.
    pub(super) rank: usize,
}

impl Digit {
    /// True if `D` is one limb. It then makes no difference whether the digit is converted to
    /// several positions at once.
    pub(crate) fn has_one_limb(&self) -> bool {
        self.factors.limb_count() == 1
    }
}
