//! Sums along axes.

use crate::server::Server;
use crate::{Array, Error, Form, SlotContents};

impl Server {
    /// The sum of all elements (`axis` `None`) or along one axis, as numpy's `sum`.
    ///
    /// It takes rotations by powers of two, and no product: where slots that hold no element are
    /// zero, axes are summed with their padding; elsewhere exactly their elements are added up, in
    /// up to twice as many rotations.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, [`Error::MissingKey`] when a rotation key is
    /// missing.
    pub fn sum<F: Form>(&self, a: &Array<F>, axis: Option<usize>) -> Result<Array<F>, Error> {
        self.sum_in(a, axis, "sum")
    }

    /// [`Server::sum`] as a part of an operation.
    pub(in crate::server) fn sum_in<F: Form>(
        &self,
        a: &Array<F>,
        axis: Option<usize>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let sum = self.sum_of_elements(a, axis, operation)?;
        let count = a.size() / sum.size().max(1);
        Ok(F::within(sum, F::interval(a).times_count(count)))
    }

    fn sum_of_elements<F: Form>(
        &self,
        a: &Array<F>,
        axis: Option<usize>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let padded = a.is_clean() || a.layout().is_full();
        let Some(axis) = axis else {
            // Padding that is zero for the first of these sums is so for all: the last axis first,
            // whose padding is the innermost.
            let mut out = a.clone();
            let mut windows = Some(Vec::new());
            while !out.shape().is_empty() {
                let axis = out.shape().len() - 1;
                windows = windows
                    .zip(window(&out, axis, padded))
                    .map(|(windows, w)| [windows, vec![w]].concat());
                out = self.sum_axis(&out, axis, padded, operation)?;
            }
            let period = windows.and_then(|windows| period_of(repeats(a), windows));
            return Ok(summed(out, period, padded));
        };
        if axis >= a.shape().len() {
            return Err(Error::shape(
                operation,
                format!("there is no axis {axis} in shape {:?}", a.shape()),
            ));
        }
        self.sum_axis(a, axis, padded, operation)
    }

    /// The sum along `axis`: with the slots that fill the axis up to a power of two where these are
    /// zero (`padded`), else of its elements alone.
    fn sum_axis<F: Form>(
        &self,
        a: &Array<F>,
        axis: usize,
        padded: bool,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let form = self.form_of(&[a]);
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let (slots, layout) = (a.layout().slots(), a.layout().without_axis(axis));
        // The axis runs over whole ciphertexts, of which each has so many elements of it but the
        // last.
        let (step, each) = ((stride / slots).max(1), (slots / stride).max(1));
        let within = if padded { length.next_power_of_two().min(each) } else { length.min(each) };
        let (whole, rest) = match padded {
            true => (length.div_ceil(each), 0),
            false => (length / within, length % within),
        };
        let clean = a.is_clean() && (within == 1 || length == 1);
        let period = window(a, axis, padded).and_then(|window| period_of(repeats(a), vec![window]));
        self.with_capacity([a], 0.0, |[a]| {
            let inputs = a.expanded(&self.session);
            let total = |first: usize| {
                let mut sum = inputs[first].as_ref().clone();
                for term in (1..whole).filter_map(|k| inputs.get(first + k * step)) {
                    sum = form.add_alike(self, &sum, term)?;
                }
                let mut sum = form.inner_sum(self, &sum, stride, within)?;
                if padded && whole == 1 {
                    // Any `within` slots in a row hold each element once at most, wherever they
                    // begin.
                    sum = form.with_summands(sum, length, within);
                }
                match inputs.get(first + whole * step).filter(|_| rest > 0) {
                    Some(last) => {
                        form.add_alike(self, &sum, &form.inner_sum(self, last, stride, rest)?)
                    }
                    None => Ok(sum),
                }
            };
            let occupied = layout.occupied();
            let out = self.session.compute_each(occupied.len(), |first| match occupied[first] {
                true => total(first),
                false => form.mul_number(self, inputs[first].as_ref(), F::Number::default()),
            });
            let out = out.map_err(|e| e.during(operation))?;
            let slots = SlotContents::zero_if(clean);
            let out = Array::from_ciphertexts(layout.clone(), form.clone(), slots, out);
            Ok(summed(out, period, padded))
        })
    }
}

/// What a sum along `axis` adds up within a ciphertext, where that is a power of two: to every
/// slot, the slots at so many multiples of the stride from there on, around the end. `(stride,
/// count)`.
fn window<F: Form>(a: &Array<F>, axis: usize, padded: bool) -> Option<(usize, usize)> {
    let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
    let each = (a.layout().slots() / stride).max(1);
    let count = if padded { length.next_power_of_two() } else { length };
    (count.is_power_of_two() || length.is_multiple_of(each)).then(|| (stride, count.min(each)))
}

/// A sum whose ciphertexts repeat after `period` slots, if that is known. Where padding was added
/// up, it is zero in the sum.
fn summed<F: Form>(sum: Array<F>, period: Option<usize>, padded: bool) -> Array<F> {
    match sum.slot_contents() {
        SlotContents::Zero => sum,
        _ => sum.with_slot_contents(SlotContents::repeating(period, padded)),
    }
}

/// After how many slots every ciphertext of an array repeats.
fn repeats<F: Form>(a: &Array<F>) -> usize {
    a.slot_contents().period().unwrap_or(a.layout().slots())
}

/// After how many slots the result of sums of these windows repeats, of slots that repeat after so
/// many: where they follow on one another up to the last of these, every slot holds the sum over
/// all of them that are as far from it as a multiple of the smallest stride.
fn period_of(slots: usize, mut windows: Vec<(usize, usize)>) -> Option<usize> {
    windows.retain(|(_, count)| *count > 1);
    windows.sort_unstable();
    let follow = windows.windows(2).all(|w| w[0].0 * w[0].1 == w[1].0);
    let (first, last) = (windows.first()?, windows.last()?);
    (follow && (last.0 * last.1).is_multiple_of(slots)).then_some(first.0.min(slots))
}
