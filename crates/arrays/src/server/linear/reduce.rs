//! Sums along axes.

use crate::server::{
    Server,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
};
use crate::{Arithmetic, Array, Error, SlotContents, format_shape};

impl Server {
    /// Sums all elements (`axis` is `None`) or those along one axis, as numpy's `sum` does.
    ///
    /// The sum needs rotations by powers of two, and no multiplication. If stray slots (slots
    /// without an element) are zero, whole axes are summed with their padding. Otherwise exactly
    /// the elements are added up, which needs up to twice as many rotations.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, and [`Error::MissingKey`] when a rotation key
    /// is missing.
    pub fn sum<F: Arithmetic>(&self, a: &Array<F>, axis: Option<usize>) -> Result<Array<F>, Error> {
        self.sum_in(a, axis, "sum")
    }

    /// Computes [`Server::sum`] as a step of another operation, which its errors name.
    pub(in crate::server) fn sum_in<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: Option<usize>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let sum = self.sum_of_elements(a, axis, operation)?;
        let count = a.size() / sum.size().max(1);
        Ok(F::with_known_interval(sum, F::interval(a).times_count(count)))
    }

    fn sum_of_elements<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: Option<usize>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        self.check(a, operation)?;
        let padded = a.is_clean() || a.layout().is_full();
        let Some(axis) = axis else {
            // The last axis comes first, since in fresh arrays its padding is the innermost.
            // Padding that is zero for this sum stays zero for the sums along the other axes.
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
                format!("there is no axis {axis} in shape {}", format_shape(a.shape())),
            ));
        }
        self.sum_axis(a, axis, padded, operation)
    }

    /// Sums the elements along `axis`.
    ///
    /// If `padded`, the slots that fill the axis up to a power of two are zero and are added up
    /// too. Otherwise only the elements are added up.
    fn sum_axis<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: usize,
        padded: bool,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let form = self.form_of(&[a]);
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let (slots, layout) = (a.layout().slots(), a.layout().without_axis(axis));
        // A ciphertext holds `each` elements of the axis, and the last one may hold fewer. The
        // numbers of consecutive ones differ by `step`.
        let (step, each) = ((stride / slots).max(1), (slots / stride).max(1));
        let within = if padded { length.next_power_of_two().min(each) } else { length.min(each) };
        let (whole, rest) = match padded {
            true => (length.div_ceil(each), 0),
            false => (length / within, length % within),
        };
        let clean = a.is_clean() && (within == 1 || length == 1);
        let period = window(a, axis, padded).and_then(|window| period_of(repeats(a), vec![window]));
        let rotations = Candidate::new("rotations", |server: &Server, [a]: [&Array<F>; 1]| {
            let inputs = a.expanded(&server.session);
            let total = |first: usize| {
                let mut sum = inputs[first].as_ref().clone();
                for term in (1..whole).filter_map(|k| inputs.get(first + k * step)) {
                    sum = form.add_alike(server, &sum, term)?;
                }
                let mut sum = form.inner_sum(server, &sum, stride, within)?;
                if padded && whole == 1 {
                    // Any `within` consecutive slots along the axis hold each of the `length`
                    // elements at most once, wherever they begin. At most `length` summands are not
                    // zero.
                    sum = form.with_summands(sum, length, within);
                }
                match inputs.get(first + whole * step).filter(|_| rest > 0) {
                    Some(last) => {
                        form.add_alike(server, &sum, &form.inner_sum(server, last, stride, rest)?)
                    }
                    None => Ok(sum),
                }
            };
            let occupied = layout.occupied();
            let out = server.session.compute_each(occupied.len(), |first| match occupied[first] {
                true => total(first),
                false => form.mul_number(server, inputs[first].as_ref(), F::Number::default()),
            });
            let out = out.map_err(|e| e.during(operation))?;
            let slots = SlotContents::zero_if(clean);
            let out = Array::from_ciphertexts(layout.clone(), form.clone(), slots, out);
            Ok(summed(out, period, padded))
        });
        self.perform(operation, [a], MARGIN_BITS_OF_UNKNOWN_GROWTH, &[rotations])
    }
}

/// Returns `(stride, count)` of the slots that a sum along `axis` adds up within a ciphertext.
///
/// To every slot, the sum adds the slots at the first `count` multiples of `stride` from there on,
/// cyclically. The result is `None` if `count` is not a power of two.
fn window<F: Arithmetic>(a: &Array<F>, axis: usize, padded: bool) -> Option<(usize, usize)> {
    let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
    let each = (a.layout().slots() / stride).max(1);
    let count = if padded { length.next_power_of_two() } else { length };
    (count.is_power_of_two() || length.is_multiple_of(each)).then(|| (stride, count.min(each)))
}

/// Records in a sum that its ciphertexts repeat after `period` slots, if that is known.
///
/// If `padded`, the padding was added up too, and is zero in the sum. A sum whose stray slots are
/// all zero is returned unchanged.
fn summed<F: Arithmetic>(sum: Array<F>, period: Option<usize>, padded: bool) -> Array<F> {
    match sum.slot_contents() {
        SlotContents::Zero => sum,
        _ => sum.with_slot_contents(SlotContents::repeating(period, padded)),
    }
}

/// Returns the number of slots after which every ciphertext of an array repeats.
fn repeats<F: Arithmetic>(a: &Array<F>) -> usize {
    a.slot_contents().period().unwrap_or(a.layout().slots())
}

/// Returns the number of slots after which a result of sums over these windows repeats.
///
/// The operand repeats after `slots` slots, and the windows are pairs `(stride, count)`. The period
/// is known if each window begins where the one before ends, and the last one ends at a multiple of
/// `slots`. Every slot then holds the sum over all slots whose distance from it is a multiple of
/// the smallest stride. Otherwise the result is `None`.
fn period_of(slots: usize, mut windows: Vec<(usize, usize)>) -> Option<usize> {
    windows.retain(|(_, count)| *count > 1);
    windows.sort_unstable();
    let follow = windows.windows(2).all(|w| w[0].0 * w[0].1 == w[1].0);
    let (first, last) = (windows.first()?, windows.last()?);
    (follow && (last.0 * last.1).is_multiple_of(slots)).then_some(first.0.min(slots))
}
