//! Layouts of repacked numbers.

use crate::{PegasusError, error::argument};

/// The slot that each number is repacked to (PEGASUS, section IV.C.2). The other slots hold 0.
///
/// ```
/// use hippocrene_pegasus::Layout;
///
/// let layout = Layout::new(4, vec![2, 0])?;
/// assert_eq!(layout.places(), [2, 0]);
/// assert!(Layout::new(4, vec![1, 1]).is_err());
/// # Ok::<(), hippocrene_pegasus::PegasusError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    slots: usize,
    /// The slot of each number.
    places: Vec<usize>,
}

impl Layout {
    /// Makes the layout that sends number `i` to slot `places[i]` of `slots`, a power of two.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of slots is not a power of two, if a place
    /// is not among them, or if two numbers go to the same slot.
    pub fn new(slots: usize, places: Vec<usize>) -> Result<Self, PegasusError> {
        const OPERATION: &str = "lay out numbers";
        if !slots.is_power_of_two() {
            return argument(OPERATION, format!("{slots} slots: a power of two is needed"));
        }
        let mut taken = places.clone();
        taken.sort_unstable();
        if let Some(place) = taken.last().filter(|place| **place >= slots) {
            return argument(OPERATION, format!("there is no slot {place} among {slots}"));
        }
        if let Some(two) = taken.windows(2).find(|two| two[0] == two[1]) {
            return argument(OPERATION, format!("two numbers go to slot {}", two[0]));
        }
        Ok(Layout { slots, places })
    }

    /// Makes the layout of `count` numbers in their order, in the smallest power of two of slots
    /// that holds them.
    ///
    /// # Panics
    /// Panics if no power of two is large enough, or if there is not enough memory for the places.
    pub fn in_order(count: usize) -> Self {
        Layout { slots: count.next_power_of_two(), places: (0..count).collect() }
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slot of each number.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Returns the index of the number that goes to each slot, if there is one.
    pub(crate) fn numbers(&self) -> Vec<Option<usize>> {
        let mut numbers = vec![None; self.slots];
        self.places.iter().enumerate().for_each(|(i, place)| numbers[*place] = Some(i));
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_need_distinct_slots() {
        let layout = Layout::new(4, vec![2, 0, 3]).unwrap();
        assert_eq!(layout.numbers(), [Some(1), None, Some(0), Some(2)]);
        assert_eq!(Layout::in_order(3), Layout::new(4, vec![0, 1, 2]).unwrap());
        for (slots, places, what) in [
            (3, vec![], "power of two"),
            (4, vec![4], "no slot 4"),
            (4, vec![1, 1], "two numbers go to slot 1"),
            (1 << 63, vec![3, 3], "two numbers go to slot 3"),
        ] {
            assert!(Layout::new(slots, places).unwrap_err().to_string().contains(what));
        }
    }
}
