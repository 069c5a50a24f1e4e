//! Layouts: which slot of which ciphertext holds which element of an array.

use hippocrene_ckks::encoder::EncodeError;

use crate::{Error, format_shape};

/// The place of each element of an array in the slots of its ciphertexts.
///
/// Element `(i_0, i_1, ..)` is at position `sum_a i_a stride_a`. Position `p` is slot `p mod slots`
/// of ciphertext `p / slots`. Strides are powers of two, so that a sum along an axis needs only a
/// few rotations.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::Layout;
///
/// let layout = Layout::packed(&[2, 3], 4)?; // two ciphertexts of four slots
/// assert_eq!(layout.strides(), [4, 1]);
/// let slots = layout.scatter(&[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(slots, [[1, 2, 3, 0], [4, 5, 6, 0]]);
/// assert_eq!(layout.gather(&slots), [1, 2, 3, 4, 5, 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<usize>,
    slots: usize,
}

/// Maximum number of positions from the first element to the last, and so of elements.
const MAX_ELEMENTS: usize = 1 << 32;
/// Stands for a stride that overflows. [`Layout::new`] refuses it for axes longer than 1.
const OVERFLOWED_STRIDE: usize = 1 << (usize::BITS - 1);

impl Layout {
    /// Maximum number of axes.
    pub const MAX_AXES: usize = 64;

    /// Returns the layout of a fresh array: row-major, every axis but the first padded to a power
    /// of two.
    ///
    /// # Errors
    /// [`Error::Shape`] if an axis is empty, there are more than 64 axes, or the array would span
    /// more than 2^32 positions.
    pub fn packed(shape: &[usize], slots: usize) -> Result<Self, Error> {
        let mut strides = vec![1usize; shape.len()];
        for a in (1..shape.len()).rev() {
            let padded = shape[a].checked_next_power_of_two();
            strides[a - 1] = padded
                .and_then(|padded| strides[a].checked_mul(padded))
                .unwrap_or(OVERFLOWED_STRIDE);
        }
        Self::new(shape.to_vec(), strides, slots)
    }

    /// Returns [`Layout::packed`] after checking that the shape has `count` elements.
    pub(crate) fn filled(
        shape: &[usize],
        slots: usize,
        count: usize,
        operation: &'static str,
    ) -> Result<Self, Error> {
        if shape.contains(&0) {
            return Err(Error::shape(
                operation,
                format!("an array of shape {shape} has no elements", shape = format_shape(shape)),
            ));
        }
        let layout = Self::packed(shape, slots)?;
        if layout.size() == count {
            return Ok(layout);
        }
        Err(Error::shape(
            operation,
            format!("{count} values do not fill shape {shape}", shape = format_shape(shape)),
        ))
    }

    /// Returns the layout with these strides.
    ///
    /// # Errors
    /// [`Error::Shape`] in each of these cases:
    ///
    /// - shape and strides have different lengths,
    /// - there are more than 64 axes, or an axis is empty,
    /// - a stride or the number of slots is not a power of two,
    /// - two elements would share a position,
    /// - the array would span more than 2^32 positions.
    pub fn new(shape: Vec<usize>, strides: Vec<usize>, slots: usize) -> Result<Self, Error> {
        const OPERATION: &str = "lay out an array";
        if shape.len() != strides.len() {
            return Err(Error::shape(
                OPERATION,
                format!("shape {shape} with strides {strides:?}", shape = format_shape(&shape)),
            ));
        }
        if shape.len() > Self::MAX_AXES {
            let have = shape.len();
            return Err(Error::shape(
                OPERATION,
                format!("{have} axes, where {} are the most", Self::MAX_AXES),
            ));
        }
        if shape.contains(&0) {
            return Err(Error::shape(
                OPERATION,
                format!("an array of shape {shape} has no elements", shape = format_shape(&shape)),
            ));
        }
        if !slots.is_power_of_two() || strides.iter().any(|s| !s.is_power_of_two()) {
            return Err(Error::shape(
                OPERATION,
                format!("strides {strides:?} and {slots} slots are not all powers of two"),
            ));
        }
        let mut axes: Vec<(usize, usize)> =
            strides.iter().copied().zip(shape.iter().copied()).filter(|x| x.1 > 1).collect();
        axes.sort_unstable();
        let mut end = 1usize;
        for (stride, length) in axes {
            if stride < end {
                return Err(Error::shape(
                    OPERATION,
                    format!(
                        "elements of shape {shape} overlap with strides {strides:?}",
                        shape = format_shape(&shape)
                    ),
                ));
            }
            end = (length - 1)
                .checked_mul(stride)
                .and_then(|x| x.checked_add(end))
                .unwrap_or(usize::MAX);
            if end > MAX_ELEMENTS {
                return Err(Error::shape(
                    OPERATION,
                    format!(
                        "shape {shape} is larger than 2^32 slots",
                        shape = format_shape(&shape)
                    ),
                ));
            }
        }
        Ok(Layout { shape, strides, slots })
    }

    /// Returns the layout that elements at the positions `from` have after a rotation of all
    /// ciphertexts that brings the first of them to position 0.
    ///
    /// Returns `None` if no layout has the elements at such distances, or if the rotation would
    /// move some of them across the end of a ciphertext.
    pub(crate) fn standing(shape: &[usize], from: &[usize], slots: usize) -> Option<Self> {
        let mut inner = 1;
        let mut strides = vec![1; shape.len()];
        for (stride, length) in strides.iter_mut().zip(shape).rev() {
            if *length > 1 {
                *stride = from[inner].wrapping_sub(from[0]);
            }
            inner *= length;
        }
        let layout = Layout::new(shape.to_vec(), strides, slots).ok()?;
        let (offset, left) = (from[0], from[0] % slots);
        let alike =
            layout.positions().zip(from).all(|(p, f)| p + offset == *f && f % slots >= left);
        alike.then_some(layout)
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the strides, in slots.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Returns the number of slots of one ciphertext.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if every slot of every ciphertext holds an element, so that nothing is padding.
    pub fn is_full(&self) -> bool {
        self.size() == self.ciphertexts() * self.slots
    }

    /// True if all elements are where [`Layout::packed`] puts them. The strides of axes of length 1
    /// do not matter.
    pub fn is_packed(&self) -> bool {
        Layout::packed(&self.shape, self.slots).is_ok_and(|packed| packed.is_like(self))
    }

    /// Returns an estimate of the largest number of products with plaintexts needed to move the
    /// elements to where a fresh array of this shape has them; 0 if they are there already.
    ///
    /// The estimate uses shape and strides alone, so it is fast for any size. Moves in one step
    /// need a product for each distance, and there are at most as many distances as elements. Moves
    /// by rows need about four times the square root of the number of slots for each ciphertext,
    /// and more if there are many ciphertexts.
    pub fn moving_work(&self) -> u64 {
        let size = self.size();
        let Ok(packed) = Layout::packed(&self.shape, self.slots) else { return size as u64 };
        if packed.is_like(self) {
            return 0;
        }
        let [to, from] = [&packed, self].map(|layout| layout.ciphertexts().min(size) as u64);
        let row =
            (to.saturating_mul(from).saturating_mul(self.slots as u64) / (2 * (to + from))).isqrt();
        (4 * row.max(1)).saturating_mul(to + from).min(size as u64)
    }

    /// True if both layouts have the same shape and put the elements in the same slots. The strides
    /// of axes of length 1 do not matter.
    pub fn is_like(&self, other: &Layout) -> bool {
        let strides = |layout: &Layout| -> Vec<usize> {
            let axes = layout.shape.iter().zip(&layout.strides);
            axes.filter(|(length, _)| **length > 1).map(|(_, stride)| *stride).collect()
        };
        (&self.shape, self.slots) == (&other.shape, other.slots) && strides(self) == strides(other)
    }

    /// Restates an error of encoding ciphertext `k` in terms of the array: a value that is not
    /// finite is named by its number among the elements, in row-major order, instead of its slot.
    pub(crate) fn error_of_ciphertext(&self, k: usize, error: Error) -> Error {
        match error {
            Error::Encode(EncodeError::NotFinite { index, value }) => {
                let place = k * self.slots + index;
                let element = self.positions().position(|position| position == place);
                Error::Encode(EncodeError::NotFinite { index: element.unwrap_or(index), value })
            }
            other => other,
        }
    }

    /// Returns the number of ciphertexts that the layout needs.
    pub fn ciphertexts(&self) -> usize {
        self.last() / self.slots + 1
    }

    /// Returns, for each ciphertext, whether it holds an element. One that lies in the padding of
    /// an axis may hold none.
    pub(crate) fn occupied(&self) -> Vec<bool> {
        let mut out = vec![false; self.ciphertexts()];
        self.positions().for_each(|position| out[position / self.slots] = true);
        out
    }

    /// Returns the largest position of an element.
    pub(crate) fn last(&self) -> usize {
        self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum()
    }

    /// Returns the position of an element, given its number in row-major order.
    pub(crate) fn position_of(&self, element: usize) -> usize {
        let mut rest = element;
        let mut position = 0;
        for (length, stride) in self.shape.iter().zip(&self.strides).rev() {
            position += rest % length * stride;
            rest /= length;
        }
        position
    }

    /// Returns the positions of all elements in row-major order.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        let mut index = vec![0usize; self.shape.len()];
        let mut position = 0usize;
        (0..self.size()).map(move |_| {
            let here = position;
            for a in (0..index.len()).rev() {
                index[a] += 1;
                position += self.strides[a];
                if index[a] < self.shape[a] {
                    break;
                }
                position -= index[a] * self.strides[a];
                index[a] = 0;
            }
            here
        })
    }

    /// Returns the slots of each ciphertext for the elements `values`, given in row-major order.
    ///
    /// Slots without an element are `T::default()`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of values differs from the number of elements.
    pub fn scatter<T: Clone + Default>(&self, values: &[T]) -> Result<Vec<Vec<T>>, Error> {
        if values.len() != self.size() {
            let what = format!(
                "{} values for the elements of shape {}",
                values.len(),
                format_shape(&self.shape)
            );
            return Err(Error::shape("lay out values", what));
        }
        let mut out = vec![vec![T::default(); self.slots]; self.ciphertexts()];
        for (position, value) in self.positions().zip(values) {
            out[position / self.slots][position % self.slots].clone_from(value);
        }
        Ok(out)
    }

    /// Returns the elements in row-major order, read from the slots of each ciphertext.
    ///
    /// # Panics
    /// If there are fewer ciphertexts than [`Layout::ciphertexts`], or if one has too few slots for
    /// an element in it.
    pub fn gather<T: Clone>(&self, slots: &[Vec<T>]) -> Vec<T> {
        self.positions().map(|p| slots[p / self.slots][p % self.slots].clone()).collect()
    }

    /// Returns the layout without axis `axis`, as a sum along that axis leaves it.
    pub(crate) fn without_axis(&self, axis: usize) -> Layout {
        let mut out = self.clone();
        out.shape.remove(axis);
        out.strides.remove(axis);
        out
    }

    /// Returns the layout with this shape and these strides, and the same number of slots. It is
    /// for changes that keep the positions, such as adding or removing axes of length 1.
    pub(crate) fn with_shape(
        &self,
        shape: Vec<usize>,
        strides: Vec<usize>,
    ) -> Result<Layout, Error> {
        Layout::new(shape, strides, self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scatter_and_gather_are_inverse(
            shape in prop::collection::vec(1usize..9, 0..4),
            log_slots in 0u32..7,
        ) {
            let layout = Layout::packed(&shape, 1 << log_slots).unwrap();
            let values: Vec<usize> = (1..=layout.size()).collect();
            let slots = layout.scatter(&values).unwrap();
            prop_assert_eq!(slots.len(), layout.ciphertexts());
            prop_assert_eq!(layout.gather(&slots), values);
            prop_assert_eq!(slots.iter().flatten().filter(|x| **x > 0).count(), layout.size());
        }
    }

    #[test]
    fn work_is_zero_of_fresh_arrays_and_bounded_of_others() {
        let work = |shape: &[usize], strides: &[usize]| {
            Layout::new(shape.to_vec(), strides.to_vec(), 1 << 13).unwrap().moving_work()
        };
        assert_eq!(Layout::packed(&[5, 3, 7], 1 << 13).unwrap().moving_work(), 0);
        assert_eq!(work(&[1, 64, 128], &[1, 128, 1]), 0, "axes of length 1 stand anywhere");
        // A transpose of one ciphertext: rows of about 45, there and back.
        assert_eq!(work(&[128, 64], &[1, 128]), 4 * 45 * 2);
        assert_eq!(work(&[2; 13], &std::array::from_fn::<usize, 13, _>(|i| 1 << i)), 4 * 45 * 2);
        // Eight elements in eight ciphertexts, and eight elements close to each other.
        assert_eq!(work(&[8], &[1 << 13]), 8);
        assert_eq!(work(&[8], &[2]), 8);
        // With many ciphertexts, each of them sends elements to every other.
        assert_eq!(work(&[1 << 9, 1 << 12], &[1, 1 << 9]), 4 * 724 * 512);
    }

    #[test]
    fn axes_are_padded_but_the_first() {
        let layout = Layout::packed(&[569, 30], 4096).unwrap();
        assert_eq!((layout.strides(), layout.ciphertexts()), (&[32, 1][..], 5));
        assert_eq!(layout.position_of(2 * 30 + 3), 67);
        assert!(Layout::packed(&[3, 0], 16).is_err());
        assert!(Layout::packed(&[1 << 40], 16).is_err());
        assert!(Layout::packed(&[1; 64], 16).is_ok() && Layout::packed(&[1; 65], 16).is_err());
        assert!(Layout::new(vec![4, 4], vec![2, 1], 16).is_err());
        assert!(Layout::new(vec![4], vec![3], 16).is_err());
        assert_eq!(
            Layout::packed(&[2, 40], 16).unwrap().occupied(),
            [true, true, true, false, true, true, true]
        );
        assert!(Layout::packed(&[32], 16).unwrap().is_full());
        for layout in
            [Layout::packed(&[3, 5, 2], 16), Layout::new(vec![4, 3, 1], vec![1, 8, 2], 16)]
        {
            let layout = layout.unwrap();
            let one_by_one = (0..layout.size()).map(|element| layout.position_of(element));
            assert!(layout.positions().eq(one_by_one));
        }
        assert!(Layout::new(vec![2, 1, 2], vec![2, 8, 1], 16).unwrap().is_packed());
        assert!(!Layout::new(vec![2, 2], vec![1, 2], 16).unwrap().is_packed());
        let like = |strides: [usize; 2], other: [usize; 2]| {
            let of = |strides: [usize; 2]| Layout::new(vec![1, 5], strides.to_vec(), 16).unwrap();
            of(strides).is_like(&of(other))
        };
        assert!(like([8, 1], [1, 1]) && !like([8, 1], [8, 2]));
    }
}
