//! Sums along axes.

use hippocrene_ckks::Ciphertext;

use super::Server;
use crate::{EncryptedArray, Error};

impl Server {
    /// The sum of all elements (`axis` `None`) or along one axis, as numpy's `sum`.
    ///
    /// It takes rotations by powers of two. A sum leaves other numbers in slots that hold no element; where a later sum would meet
    /// them, they are set to zero first, which takes one multiplication.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, [`Error::MissingKey`] when a rotation key is missing.
    pub fn sum(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        self.check(a, "sum")?;
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
                Ok(out.with_period(self.period_of(windows)))
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

    fn sum_axis(&self, a: &EncryptedArray, axis: usize) -> Result<EncryptedArray, Error> {
        if axis >= a.shape().len() {
            return Err(Error::shape("sum", format!("there is no axis {axis} in shape {:?}", a.shape())));
        }
        self.sum_clean(&self.cleaned(a)?, axis)
    }

    /// The sum along `axis` when the padding of that axis is zero.
    fn sum_clean(&self, a: &EncryptedArray, axis: usize) -> Result<EncryptedArray, Error> {
        let slots = self.session.slots();
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let layout = a.layout().without_axis(axis);
        let inputs = a.expanded(&self.session);
        // The axis runs over `length` blocks of `stride` slots: over whole ciphertexts first, then within each.
        let step = (stride / slots).max(1);
        let spans = (length * stride).div_ceil(slots).max(1).div_ceil(step);
        let (_, within) = self.window(a, axis);
        let out = (0..layout.ciphertexts())
            .map(|first| {
                let mut sum: Ciphertext = inputs[first].as_ref().clone();
                for k in 1..spans {
                    if let Some(term) = inputs.get(first + k * step) {
                        let (mut left, right) = self.evaluator.align(&sum, term)?;
                        self.evaluator.add_assign(&mut left, &right)?;
                        sum = left;
                    }
                }
                Ok(if within > 1 { self.evaluator.inner_sum(&sum, stride, within)? } else { sum })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let clean = a.is_clean() && (within == 1 || length == 1);
        let period = self.period_of(vec![(stride, within)]);
        let precision = self.precision_of(&[a]);
        let out = EncryptedArray::from_ciphertexts(layout, a.is_complex(), clean, precision, out);
        Ok(out.with_period(period))
    }

    /// What a sum along `axis` adds up within a ciphertext: to every slot, the slots at so many multiples of the stride from there on,
    /// around the end. `(stride, count)`.
    fn window(&self, a: &EncryptedArray, axis: usize) -> (usize, usize) {
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let within = (self.session.slots() / stride).max(1);
        (stride, length.next_power_of_two().min(within))
    }

    /// After how many slots the result of sums of these windows repeats: where they follow on one another up to the last slot, every slot
    /// holds the sum over all slots that are as far from it as a multiple of the smallest stride.
    fn period_of(&self, mut windows: Vec<(usize, usize)>) -> Option<usize> {
        windows.retain(|(_, count)| *count > 1);
        windows.sort_unstable();
        let follow = windows.windows(2).all(|w| w[0].0 * w[0].1 == w[1].0);
        let (first, last) = (windows.first()?, windows.last()?);
        (follow && last.0 * last.1 == self.session.slots()).then_some(first.0)
    }
}
