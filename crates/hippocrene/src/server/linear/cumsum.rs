//! Sums of all elements up to each.

use crate::server::Server;
use crate::{Array, Error, Form, SlotContents};

const OPERATION: &str = "cumsum";

/// Lines of up to this many elements are summed by one matrix.
const MAX_LINE_OF_ONE_MATRIX: usize = 128;

impl Server {
    /// The sums of all elements up to each along an axis, as numpy's `cumsum`: one multiplication
    /// deep.
    ///
    /// Lines of up to 128 elements are multiplied with a triangular matrix, which has a diagonal
    /// for each element. Longer ones are taken in pieces of about the square root of their length:
    /// sums within pieces are products with such a matrix of their length, and the sums of all
    /// pieces before, which have a matrix of as many diagonals as there are pieces, are repeated
    /// along each piece.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, [`Error::Capacity`] or [`Error::Budget`] when
    /// no multiplication is left, [`Error::MissingKey`] when a rotation key is missing.
    pub fn cumsum<F: Form>(&self, a: &Array<F>, axis: usize) -> Result<Array<F>, Error> {
        self.check(a, OPERATION)?;
        let Some(&length) = a.shape().get(axis) else {
            return Err(Error::shape(
                OPERATION,
                format!("there is no axis {axis} in shape {:?}", a.shape()),
            ));
        };
        let piece = match length {
            0..=MAX_LINE_OF_ONE_MATRIX => length.next_power_of_two(),
            _ => 1 << length.ilog2().div_ceil(2),
        };
        let form = self.form_of(&[a]);
        let sums = self.with_capacity([a], form.product_bits(self), |[a]| {
            let within = self.within_pieces(a, axis, piece)?;
            match length <= piece {
                true => Ok(within),
                false => self.add(&within, &self.before_pieces(a, axis, piece)?),
            }
        });
        let sums = sums.map_err(|e| e.during(OPERATION))?;
        let (one, all) = (F::interval(a), F::interval(a).times_count(length));
        Ok(F::within(sums, one.union(all)))
    }

    /// For each element the sum of those of its piece up to it.
    fn within_pieces<F: Form>(
        &self,
        a: &Array<F>,
        axis: usize,
        piece: usize,
    ) -> Result<Array<F>, Error> {
        let positions: Vec<usize> = a.layout().positions().collect();
        let (length, inner) = (a.shape()[axis], a.shape()[axis + 1..].iter().product::<usize>());
        let entries = (0..positions.len()).flat_map(|element| {
            let (positions, place) = (&positions, element / inner % length % piece);
            (0..=place)
                .map(move |back| (positions[element], positions[element - back * inner], F::ONE))
        });
        self.linear_map(a, a.layout().clone(), entries, OPERATION)
    }

    /// For each element the sum of all pieces before its own.
    fn before_pieces<F: Form>(
        &self,
        a: &Array<F>,
        axis: usize,
        piece: usize,
    ) -> Result<Array<F>, Error> {
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let pieces = length.div_ceil(piece);
        // The axis as two: some pieces, of some elements each.
        let split = |axes: [usize; 2]| {
            let (mut shape, mut strides) = (a.shape().to_vec(), a.layout().strides().to_vec());
            shape.splice(axis..=axis, axes);
            strides.splice(axis..=axis, [stride * piece, stride]);
            a.layout().with_shape(shape, strides)
        };
        let sums =
            self.sum(&a.part(0, split([pieces - 1, piece])?, SlotContents::Stray), Some(axis + 1))?;
        let first = split([pieces, 1])?;
        let (to, from): (Vec<usize>, Vec<usize>) =
            (first.positions().collect(), sums.layout().positions().collect());
        let inner = a.shape()[axis + 1..].iter().product::<usize>();
        let entries = (0..to.len()).flat_map(|element| {
            let (line, before, beside) =
                (element / (pieces * inner), element / inner % pieces, element % inner);
            let (to, from) = (&to, &from);
            let sum = move |k: usize| (line * (pieces - 1) + k) * inner + beside;
            (0..before).map(move |k| (to[element], from[sum(k)], F::ONE))
        });
        let before = self.linear_map(&sums, first, entries, OPERATION)?;
        let repeated = self.broadcast_as(&before, split([pieces, piece])?)?;
        let contents = match repeated.slot_contents() {
            SlotContents::Zero if length == pieces * piece => SlotContents::Zero,
            contents => SlotContents::repeating(contents.period(), false),
        };
        Ok(repeated.part(0, a.layout().clone(), contents))
    }
}
