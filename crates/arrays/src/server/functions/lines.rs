//! Lines of elements along an axis, which operations of order compare with each other.

use crate::{EncryptedArray, Error, Layout, format_shape};

/// The lines of elements of an array along an axis, or one line of all elements.
pub(in crate::server) struct Lines {
    pub(in crate::server) operation: &'static str,
    /// The number of elements in a line.
    pub(in crate::server) length: usize,
    /// The row-major indices of the elements, line by line.
    pub(in crate::server) order: Vec<usize>,
    /// The shape without the axis, or no axes for a line of all elements.
    pub(in crate::server) kept: Vec<usize>,
    /// The number of lines for each index in the axes before `axis`.
    pub(in crate::server) inner: usize,
    pub(in crate::server) axis: Option<usize>,
}

impl Lines {
    /// The row-major indices of the elements of each line.
    pub(in crate::server) fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.order.chunks(self.length.max(1))
    }

    pub(in crate::server) fn of(
        shape: &[usize],
        axis: Option<usize>,
        operation: &'static str,
    ) -> Result<Self, Error> {
        let size = shape.iter().product();
        let Some(along) = axis else {
            return Ok(Lines {
                operation,
                length: size,
                order: (0..size).collect(),
                kept: vec![],
                inner: 1,
                axis,
            });
        };
        let Some(&length) = shape.get(along) else {
            return Err(Error::shape(
                operation,
                format!("there is no axis {along} in shape {shape}", shape = format_shape(shape)),
            ));
        };
        let (mut kept, inner) = (shape.to_vec(), shape[along + 1..].iter().product());
        kept.remove(along);
        let element = |i: usize| {
            let (line, place) = (i / length, i % length);
            (line / inner * length + place) * inner + line % inner
        };
        Ok(Lines { operation, length, order: (0..size).map(element).collect(), kept, inner, axis })
    }

    /// Returns the shape and the order of results, with `k` results for each line.
    ///
    /// The shape has length `k` along the axis, or is one axis for a line of all elements. The
    /// order lists the indices of the results, which are stored line by line, in row-major order of
    /// that shape.
    pub(in crate::server) fn with(&self, k: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut shape, inner) = (self.kept.clone(), self.inner);
        shape.insert(self.axis.unwrap_or(0), k);
        let count = self.order.len() / self.length * k;
        let next = |i: usize| (i / (k * inner) * inner + i % inner) * k + i / inner % k;
        (shape, (0..count).map(next).collect())
    }

    /// Returns the place of each element in its line, in row-major order.
    pub(in crate::server) fn places_of_elements(&self) -> Vec<f64> {
        let count = self.order.len();
        (0..count).map(|i| (i / self.inner % self.length) as f64).collect()
    }

    /// Moves the first axis, which counts the results of each line, to where the axis of the lines
    /// was.
    pub(in crate::server) fn along(&self, a: EncryptedArray) -> Result<EncryptedArray, Error> {
        let Some(axis) = self.axis.filter(|axis| *axis > 0) else { return Ok(a) };
        let (mut shape, mut strides) = (a.shape().to_vec(), a.layout().strides().to_vec());
        let (length, stride) = (shape.remove(0), strides.remove(0));
        shape.insert(axis, length);
        strides.insert(axis, stride);
        relabelled(a, shape, strides)
    }

    /// Returns the number of bits in a digit of a place.
    ///
    /// Digits are repacked one by one. Lines of up to 16 elements have a single digit with all
    /// bits, and longer lines have digits of one bit.
    ///
    /// The errors of a bit and of repacking are proportional to the largest digit `r`. In a line of
    /// `n` elements, a place adds up the bits of `n/2` elements. A single digit then has an error
    /// of about `n^2`. With several digits, the error of the place is about that of the highest
    /// digit, `r` times its place value. It is smallest for `r = 1`, where it is `n/2`.
    pub(in crate::server) fn digit_bits(&self) -> u32 {
        const MOST_IN_ONE: usize = 16;
        if self.length > MOST_IN_ONE { 1 } else { self.length.next_power_of_two().ilog2() }
    }

    /// Returns the last place in a line, or 1 for a line of one element.
    pub(in crate::server) fn last(&self) -> f64 {
        (self.length as f64 - 1.0).max(1.0)
    }
}

/// Returns the array with another shape and other strides, which name the same positions.
pub(in crate::server) fn relabelled(
    a: EncryptedArray,
    shape: Vec<usize>,
    strides: Vec<usize>,
) -> Result<EncryptedArray, Error> {
    let (interval, layout) = (a.interval(), Layout::new(shape, strides, a.layout().slots())?);
    Ok(a.with_layout(layout).with_known_interval(interval))
}
