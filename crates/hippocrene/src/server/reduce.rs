//! Sums along axes.

use super::Server;
use crate::{Array, EncryptedArray, Error, Form};

const OPERATION: &str = "sum";

impl Server {
    /// The sum of all elements (`axis` `None`) or along one axis, as numpy's `sum`.
    ///
    /// It takes rotations by powers of two. A sum leaves other numbers in slots that hold no element; where a later sum would meet
    /// them, they are set to zero first, which takes one multiplication.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, [`Error::MissingKey`] when a rotation key is missing.
    pub fn sum<F: Form>(&self, a: &Array<F>, axis: Option<usize>) -> Result<Array<F>, Error> {
        self.check(a, OPERATION)?;
        match axis {
            Some(axis) => self.sum_axis(a, axis),
            None => {
                // Slots that hold no element are zero for all of these sums if they are for the first: the last axis first, whose
                // padding is the innermost.
                let mut out = self.cleaned(a)?;
                let mut windows = Vec::new();
                while !out.shape().is_empty() {
                    let axis = out.shape().len() - 1;
                    windows.push(self.window(&out, axis));
                    out = self.sum_clean(&out, axis)?;
                }
                Ok(out.with_period(period_of(F::slots(&self.session), windows)))
            }
        }
    }

    /// The mean of all elements (`axis` `None`) or along one axis, as numpy's `mean`; one multiplication deep.
    ///
    /// # Errors
    /// As [`Server::sum`], and [`Error::Capacity`] when no multiplication is left.
    pub fn mean(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let sum = self.sum(a, axis)?;
        let count = a.size() / sum.size();
        self.mul_number(&sum, 1.0 / count as f64)
    }

    fn sum_axis<F: Form>(&self, a: &Array<F>, axis: usize) -> Result<Array<F>, Error> {
        if axis >= a.shape().len() {
            return Err(Error::shape(OPERATION, format!("there is no axis {axis} in shape {:?}", a.shape())));
        }
        self.sum_clean(&self.cleaned(a)?, axis)
    }

    /// The sum along `axis` when the padding of that axis is zero.
    fn sum_clean<F: Form>(&self, a: &Array<F>, axis: usize) -> Result<Array<F>, Error> {
        let (slots, form) = (F::slots(&self.session), self.form_of(&[a]));
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let layout = a.layout().without_axis(axis);
        // The axis runs over `length` blocks of `stride` slots: over whole ciphertexts first, then within each.
        let step = (stride / slots).max(1);
        let spans = (length * stride).div_ceil(slots).max(1).div_ceil(step);
        let (_, within) = self.window(a, axis);
        let clean = a.is_clean() && (within == 1 || length == 1);
        let period = period_of(slots, vec![(stride, within)]);
        self.with_capacity([a], 0.0, |[a]| {
            let inputs = a.expanded(&self.session);
            let total = |first: usize| {
                let mut sum = inputs[first].as_ref().clone();
                for term in (1..spans).filter_map(|k| inputs.get(first + k * step)) {
                    sum = form.add(self, &sum, term)?;
                }
                if within > 1 { form.inner_sum(self, &sum, stride, within) } else { Ok(sum) }
            };
            let out = (0..layout.ciphertexts()).map(total).collect::<Result<Vec<_>, Error>>();
            let out = out.map_err(|e| e.during(OPERATION))?;
            Ok(Array::from_ciphertexts(layout.clone(), form.clone(), clean, out).with_period(period))
        })
    }

    /// What a sum along `axis` adds up within a ciphertext: to every slot, the slots at so many multiples of the stride from there on,
    /// around the end. `(stride, count)`.
    fn window<F: Form>(&self, a: &Array<F>, axis: usize) -> (usize, usize) {
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let within = (F::slots(&self.session) / stride).max(1);
        (stride, length.next_power_of_two().min(within))
    }
}

/// After how many slots the result of sums of these windows repeats: where they follow on one another up to the last slot, every slot
/// holds the sum over all slots that are as far from it as a multiple of the smallest stride.
fn period_of(slots: usize, mut windows: Vec<(usize, usize)>) -> Option<usize> {
    windows.retain(|(_, count)| *count > 1);
    windows.sort_unstable();
    let follow = windows.windows(2).all(|w| w[0].0 * w[0].1 == w[1].0);
    let (first, last) = (windows.first()?, windows.last()?);
    (follow && last.0 * last.1 == slots).then_some(first.0)
}
