//! The blocks for which a key has components.

use crate::Modulus;

/// The set of blocks, or of groups of blocks, for which a key has components. Bit `i` is set for
/// block `i`. Components are stored in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Components(u128);

impl Components {
    /// The set of the products of blocks that share a factor with `modulus`.
    pub(crate) fn of(modulus: Modulus, products: impl Iterator<Item = Modulus>) -> Self {
        let sharing = products.enumerate().filter(|(_, product)| !product.gcd(modulus).is_one());
        Components(sharing.fold(0, |bits, (i, _)| bits | 1 << i))
    }

    /// The number of components.
    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The index of the component for block `i`, if there is one.
    pub(crate) fn index(self, i: usize) -> Option<usize> {
        let below = self.0 & ((1 << i) - 1);
        (self.0 >> i & 1 == 1).then_some(below.count_ones() as usize)
    }
}
