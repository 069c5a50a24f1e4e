//! Where the elements of an array stand: which slot of which ciphertext.

use hippocrene_ckks::encoder::EncodeError;

use crate::Error;

/// The place of each element of an array in the slots of its ciphertexts.
///
/// Element `(i_0, i_1, ..)` stands at position `sum_a i_a stride_a`; position `p` is slot `p mod
/// slots` of ciphertext `p / slots`. Strides are powers of two, so that sums along an axis are a
/// few rotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<usize>,
    slots: usize,
}

/// The most elements an array may have.
const MAX_ELEMENTS: usize = 1 << 32;
/// A stride of elements that an array is too large for.
const FAR: usize = 1 << (usize::BITS - 1);
/// The most axes an array may have.
pub(crate) const MAX_AXES: usize = 64;

impl Layout {
    /// The layout of a fresh array: row-major, every axis but the first padded to a power of two.
    ///
    /// # Errors
    /// [`Error::Shape`] when an axis is empty, there are more than 64, or the array is larger than
    /// 2^32 elements.
    pub fn packed(shape: &[usize], slots: usize) -> Result<Self, Error> {
        let mut strides = vec![1usize; shape.len()];
        for a in (1..shape.len()).rev() {
            let padded = shape[a].checked_next_power_of_two();
            strides[a - 1] =
                padded.and_then(|padded| strides[a].checked_mul(padded)).unwrap_or(FAR);
        }
        Self::new(shape.to_vec(), strides, slots)
    }

    /// [`Layout::packed`] for so many elements.
    pub(crate) fn filled(
        shape: &[usize],
        slots: usize,
        count: usize,
        operation: &'static str,
    ) -> Result<Self, Error> {
        if shape.contains(&0) {
            return Err(Error::shape(
                operation,
                format!("an array of shape {shape:?} has no elements"),
            ));
        }
        let layout = Self::packed(shape, slots)?;
        if layout.size() == count {
            return Ok(layout);
        }
        Err(Error::shape(operation, format!("{count} values do not fill shape {shape:?}")))
    }

    /// A layout with these strides.
    ///
    /// # Errors
    /// [`Error::Shape`] when shape and strides have different lengths, there are more than 64 axes,
    /// an axis is empty, a stride or the number of slots is not a power of two, two elements would
    /// share a position, or the array is larger than 2^32 elements.
    pub fn new(shape: Vec<usize>, strides: Vec<usize>, slots: usize) -> Result<Self, Error> {
        const OPERATION: &str = "lay out an array";
        if shape.len() != strides.len() {
            return Err(Error::shape(
                OPERATION,
                format!("shape {shape:?} with strides {strides:?}"),
            ));
        }
        if shape.len() > MAX_AXES {
            let have = shape.len();
            return Err(Error::shape(
                OPERATION,
                format!("{have} axes, where {MAX_AXES} are the most"),
            ));
        }
        if shape.contains(&0) {
            return Err(Error::shape(
                OPERATION,
                format!("an array of shape {shape:?} has no elements"),
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
                    format!("elements of shape {shape:?} overlap with strides {strides:?}"),
                ));
            }
            end = (length - 1)
                .checked_mul(stride)
                .and_then(|x| x.checked_add(end))
                .unwrap_or(usize::MAX);
            if end > MAX_ELEMENTS {
                return Err(Error::shape(
                    OPERATION,
                    format!("shape {shape:?} is larger than 2^32 slots"),
                ));
            }
        }
        Ok(Layout { shape, strides, slots })
    }

    /// The layout of elements that stand at the positions `from`, but that the first one is at
    /// position 0: if they stand as a layout has them, and a rotation of whole ciphertexts brings
    /// them there.
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

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The strides, in slots.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Slots of one ciphertext.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How many elements there are.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the only positions up to the last slot are those of elements: nothing is padding.
    pub fn is_full(&self) -> bool {
        self.size() == self.ciphertexts() * self.slots
    }

    /// Whether elements stand as in [`Layout::packed`], but for axes of length 1, of which the
    /// stride does not matter.
    pub fn is_packed(&self) -> bool {
        Layout::packed(&self.shape, self.slots).is_ok_and(|packed| packed.is_like(self))
    }

    /// How many products with plaintexts it takes, at most about, to bring the elements to where a
    /// fresh array of this shape has them: 0 where they stand there already.
    ///
    /// It is computed from shape and strides alone, at once for any size. One step takes a product
    /// for each distance, of which there are no more than elements. Moves by way of rows take four
    /// times the square root of a ciphertext's slots for every ciphertext, and more where there are
    /// many of them.
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

    /// Whether the shapes are the same and elements stand in the same slots: the stride of axes of
    /// length 1 does not matter.
    pub fn is_like(&self, other: &Layout) -> bool {
        let strides = |layout: &Layout| -> Vec<usize> {
            let axes = layout.shape.iter().zip(&layout.strides);
            axes.filter(|(length, _)| **length > 1).map(|(_, stride)| *stride).collect()
        };
        (&self.shape, self.slots) == (&other.shape, other.slots) && strides(self) == strides(other)
    }

    /// Returns an error of encoding ciphertext `k` as one of the array: a value that is not finite
    /// is named by its number among the elements, in row-major order, not by its slot.
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

    /// How many ciphertexts it takes.
    pub fn ciphertexts(&self) -> usize {
        self.last() / self.slots + 1
    }

    /// Which ciphertexts hold elements: those between axes that are padded may have none.
    pub(crate) fn occupied(&self) -> Vec<bool> {
        let mut out = vec![false; self.ciphertexts()];
        self.positions().for_each(|position| out[position / self.slots] = true);
        out
    }

    /// The largest position of an element.
    pub(crate) fn last(&self) -> usize {
        self.shape.iter().zip(&self.strides).map(|(n, s)| (n - 1) * s).sum()
    }

    /// The position of the element of this number in row-major order.
    pub(crate) fn position_of(&self, element: usize) -> usize {
        let mut rest = element;
        let mut position = 0;
        for (length, stride) in self.shape.iter().zip(&self.strides).rev() {
            position += rest % length * stride;
            rest /= length;
        }
        position
    }

    /// The positions of all elements in row-major order.
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

    /// The slots of each ciphertext for the elements `values` in row-major order; slots that hold
    /// no element are `T::default()`.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many values as elements.
    pub fn scatter<T: Clone + Default>(&self, values: &[T]) -> Result<Vec<Vec<T>>, Error> {
        if values.len() != self.size() {
            let what =
                format!("{} values for the elements of shape {:?}", values.len(), self.shape);
            return Err(Error::shape("lay out values", what));
        }
        let mut out = vec![vec![T::default(); self.slots]; self.ciphertexts()];
        for (position, value) in self.positions().zip(values) {
            out[position / self.slots][position % self.slots].clone_from(value);
        }
        Ok(out)
    }

    /// The elements in row-major order, from the slots of each ciphertext.
    ///
    /// # Panics
    /// When there are fewer ciphertexts than [`Layout::ciphertexts`], or one has fewer slots than
    /// an element in it takes.
    pub fn gather<T: Clone>(&self, slots: &[Vec<T>]) -> Vec<T> {
        self.positions().map(|p| slots[p / self.slots][p % self.slots].clone()).collect()
    }

    /// The layout without axis `axis`: what a sum along it leaves.
    pub(crate) fn without_axis(&self, axis: usize) -> Layout {
        let mut out = self.clone();
        out.shape.remove(axis);
        out.strides.remove(axis);
        out
    }

    /// The same positions seen as another shape, when the elements' order allows it: axes of length
    /// 1 come and go.
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
        fn scatter_and_gather_are_inverse(shape in prop::collection::vec(1usize..9, 0..4), log_slots in 0u32..7) {
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
        // A transpose of one ciphertext: rows of 45 or so, there and back.
        assert_eq!(work(&[128, 64], &[1, 128]), 4 * 45 * 2);
        assert_eq!(work(&[2; 13], &std::array::from_fn::<usize, 13, _>(|i| 1 << i)), 4 * 45 * 2);
        // Eight elements in eight ciphertexts, and as many that none is far from another.
        assert_eq!(work(&[8], &[1 << 13]), 8);
        assert_eq!(work(&[8], &[2]), 8);
        // Of many ciphertexts each sends elements to each.
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
