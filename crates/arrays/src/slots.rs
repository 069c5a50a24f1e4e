//! The contents of slots that hold no element.

/// The contents of those slots of an array that hold no element.
///
/// Operations keep track of it, since many are cheaper if it is known. A sum along an axis may
/// include padding that is zero, and broadcasting an array whose slots repeat is free.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{Encryption, Preset, Simulation, SlotContents};
///
/// let simulation = Simulation::new(Preset::by_name("n13")?.settings()?)?;
/// let x = simulation.encrypt((&[1.0, 2.0, 3.0][..]).into(), &[3], &Encryption::default())?;
/// assert_eq!(x.slot_contents(), SlotContents::Zero);
///
/// let sum = simulation.server().sum(&x, None)?; // leaves partial sums in other slots
/// assert_eq!(sum.slot_contents(), SlotContents::Stray);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotContents {
    /// All slots without an element are zero.
    Zero,
    /// Every ciphertext repeats after `period` slots, a power of two that divides the number of
    /// slots.
    ///
    /// Files do not store this: a loaded array has [`SlotContents::Stray`] instead.
    Repeats {
        /// The number of slots after which a ciphertext repeats.
        period: usize,
        /// The contents of slots within a period that hold no element.
        padding: Padding,
    },
    /// The slots without an element may hold anything, such as the other elements of an array that
    /// was sliced, or partial sums.
    Stray,
}

/// The contents of slots within a period that hold no element.
///
/// See [`SlotContents`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// These slots are zero.
    Zero,
    /// These slots may hold anything.
    Stray,
}

impl SlotContents {
    /// Returns [`SlotContents::Zero`] if the slots are known to be zero, else
    /// [`SlotContents::Stray`].
    pub fn zero_if(is_zero: bool) -> Self {
        if is_zero { SlotContents::Zero } else { SlotContents::Stray }
    }

    /// Returns slots that repeat after `period`, with zero padding if `has_zeros`. Without a period
    /// they are stray.
    pub(crate) fn repeating(period: Option<usize>, has_zeros: bool) -> Self {
        let padding = if has_zeros { Padding::Zero } else { Padding::Stray };
        period.map_or(SlotContents::Stray, |period| SlotContents::Repeats { period, padding })
    }

    /// Returns the number of slots after which every ciphertext repeats, if that is known.
    pub(crate) fn period(self) -> Option<usize> {
        match self {
            SlotContents::Repeats { period, .. } => Some(period),
            SlotContents::Zero | SlotContents::Stray => None,
        }
    }

    /// Returns the contents after an operation on each slot by itself, which may or may not keep
    /// zeros.
    pub(crate) fn after(self, keeps_zeros: bool) -> Self {
        match self {
            same if keeps_zeros => same,
            SlotContents::Repeats { period, .. } => Self::repeating(Some(period), false),
            SlotContents::Zero | SlotContents::Stray => SlotContents::Stray,
        }
    }

    /// Returns the contents of a sum of two arrays with the same layout.
    pub(crate) fn of_sum(self, other: Self) -> Self {
        match (self, other) {
            (SlotContents::Zero, SlotContents::Zero) => SlotContents::Zero,
            _ => self.both_repeating(other, |p, q| p == Padding::Zero && q == Padding::Zero),
        }
    }

    /// Returns the contents of a product of two arrays with the same layout.
    pub(crate) fn of_product(self, other: Self) -> Self {
        match (self, other) {
            (SlotContents::Zero, _) | (_, SlotContents::Zero) => SlotContents::Zero,
            _ => self.both_repeating(other, |p, q| p == Padding::Zero || q == Padding::Zero),
        }
    }

    /// Returns the contents of a result that repeats if both operands do, after the longer of their
    /// periods, and is stray otherwise.
    fn both_repeating(self, other: Self, has_zeros: impl Fn(Padding, Padding) -> bool) -> Self {
        match (self, other) {
            (
                SlotContents::Repeats { period: p, padding: of_p },
                SlotContents::Repeats { period: q, padding: of_q },
            ) => {
                // If the periods differ, zero padding of the shorter one may lie where the longer
                // one has elements.
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
