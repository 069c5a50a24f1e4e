//! Elements selected from an array, and sums of them.

use numpy::{
    Element, PyReadonlyArrayDyn, PyUntypedArrayMethods,
    ndarray::{ArrayView, Dimension},
};

/// A place as the library counts them. A negative one becomes a place beyond all elements.
pub(crate) fn place(place: &i64) -> usize {
    usize::try_from(*place).unwrap_or(usize::MAX)
}

/// Places as the library counts them. A negative one stands for a zero, and becomes `None`.
pub(crate) fn places(sources: &[i64]) -> Vec<Option<usize>> {
    sources.iter().map(|s| usize::try_from(*s).ok()).collect()
}

/// The elements of an array with any strides, in row-major order.
pub(crate) fn in_order<T: Element, U, D: Dimension>(
    array: &ArrayView<'_, T, D>,
    element: impl Fn(&T) -> U,
) -> Vec<U> {
    let mut elements = Vec::with_capacity(array.len());
    // `for_each` is used because stepping an iterator of many axes allocates memory for each
    // element.
    array.iter().for_each(|x| elements.push(element(x)));
    elements
}

/// Sums of selected elements: the shape of the result, the number of terms of each sum, the places
/// of all terms, and the limits that `Server::linear_combinations` explains.
pub(crate) struct Sums {
    pub(crate) shape: Vec<usize>,
    pub(crate) terms: usize,
    pub(crate) places: Vec<usize>,
    pub(crate) most: usize,
    pub(crate) strides: Option<Vec<usize>>,
}

impl Sums {
    pub(crate) fn new(
        places: &PyReadonlyArrayDyn<'_, i64>,
        axes: usize,
        most: Option<usize>,
        strides: Option<Vec<usize>>,
    ) -> Self {
        let (shape, summed) = places.shape().split_at(places.shape().len().saturating_sub(axes));
        let (terms, most) = (summed.iter().product(), most.unwrap_or(usize::MAX));
        Sums {
            shape: shape.to_vec(),
            terms,
            places: in_order(&places.as_array(), place),
            most,
            strides,
        }
    }
}
