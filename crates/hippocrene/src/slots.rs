//! What the slots hold that hold no element.

/// What the slots of an array hold that hold no element.
///
/// Operations follow it, since many cost less where it is known: a sum along an axis may add up
/// padding that is zero, and an array that repeats is broadcast for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotContents {
    /// Zeros.
    Zero,
    /// Every ciphertext repeats after `period` slots, a power of two that divides their number. It
    /// is not written to files.
    Repeats {
        /// The number of slots after which a ciphertext repeats.
        period: usize,
        /// What slots within a period hold that hold no element.
        padding: Padding,
    },
    /// Anything, such as other elements of the array that a slice is of, or parts of sums.
    Stray,
}

/// What slots within a period hold that hold no element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Zeros.
    Zero,
    /// Anything.
    Stray,
}

impl SlotContents {
    /// Zeros if that is known, else anything.
    pub(crate) fn zero_if(is_zero: bool) -> Self {
        if is_zero { SlotContents::Zero } else { SlotContents::Stray }
    }

    /// Slots that repeat after `period`, if that is known, with zeros as padding if that is known.
    pub(crate) fn repeating(period: Option<usize>, has_zeros: bool) -> Self {
        let padding = if has_zeros { Padding::Zero } else { Padding::Stray };
        period.map_or(SlotContents::Stray, |period| SlotContents::Repeats { period, padding })
    }

    /// The number of slots after which every ciphertext repeats, if that is known.
    pub(crate) fn period(self) -> Option<usize> {
        match self {
            SlotContents::Repeats { period, .. } => Some(period),
            SlotContents::Zero | SlotContents::Stray => None,
        }
    }

    /// After an operation, slot by slot, that leaves zeros as they are or does not.
    pub(crate) fn after(self, keeps_zeros: bool) -> Self {
        match self {
            same if keeps_zeros => same,
            SlotContents::Repeats { period, .. } => Self::repeating(Some(period), false),
            SlotContents::Zero | SlotContents::Stray => SlotContents::Stray,
        }
    }

    /// In a sum of two arrays that stand in one layout.
    pub(crate) fn of_sum(self, other: Self) -> Self {
        match (self, other) {
            (SlotContents::Zero, SlotContents::Zero) => SlotContents::Zero,
            _ => self.both_repeating(other, |p, q| p == Padding::Zero && q == Padding::Zero),
        }
    }

    /// In a product of two arrays that stand in one layout.
    pub(crate) fn of_product(self, other: Self) -> Self {
        match (self, other) {
            (SlotContents::Zero, _) | (_, SlotContents::Zero) => SlotContents::Zero,
            _ => self.both_repeating(other, |p, q| p == Padding::Zero || q == Padding::Zero),
        }
    }

    /// Where both repeat, so does the result, after the longer period.
    fn both_repeating(self, other: Self, has_zeros: impl Fn(Padding, Padding) -> bool) -> Self {
        match (self, other) {
            (
                SlotContents::Repeats { period: p, padding: of_p },
                SlotContents::Repeats { period: q, padding: of_q },
            ) => {
                // Zeros in a shorter period stand where elements do in a longer one.
                Self::repeating(Some(p.max(q)), p == q && has_zeros(of_p, of_q))
            }
            _ => SlotContents::Stray,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SlotContents::*, *};

    #[test]
    fn zeros_stay_zeros_in_sums_of_zeros_and_products_with_zeros() {
        let repeats = |period| Repeats { period, padding: Padding::Zero };
        assert_eq!(Zero.of_sum(Zero), Zero);
        assert_eq!(Zero.of_sum(repeats(8)), Stray);
        assert_eq!(Zero.of_product(Stray), Zero);
        assert_eq!(Stray.of_product(repeats(8)), Stray);
        assert_eq!(repeats(8).of_sum(repeats(8)), repeats(8));
        assert_eq!(repeats(8).of_product(repeats(16)).period(), Some(16));
        assert_eq!(repeats(4).after(false), Repeats { period: 4, padding: Padding::Stray });
        assert_eq!(Zero.after(false), Stray);
        assert_eq!(Zero.after(true), Zero);
    }
}
