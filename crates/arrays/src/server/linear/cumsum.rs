//! Cumulative sums along an axis.

use crate::server::{
    Server,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
};
use crate::{Arithmetic, Array, Error, SlotContents, format_shape};

const OPERATION: &str = "cumsum";

/// Maximum number of elements of a line that is summed by one matrix. Longer lines are split.
const MAX_LINE_OF_ONE_MATRIX: usize = 128;

impl Server {
    /// Computes the cumulative sums along an axis, as numpy's `cumsum` does.
    ///
    /// The result is one multiplication deep. Lines of up to 128 elements are multiplied by a
    /// triangular matrix, which has one diagonal for each element. Longer lines are split into
    /// pieces of about the square root of their length. The sums within pieces are products with a
    /// triangular matrix of the length of a piece. The sums of all pieces before each piece are
    /// products with a matrix that has as many diagonals as there are pieces. They are repeated
    /// along each piece, and added to the sums within it.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, [`Error::Capacity`] or [`Error::Budget`] when
    /// no multiplication is left, and [`Error::MissingKey`] when a rotation key is missing.
    pub fn cumsum<F: Arithmetic>(&self, a: &Array<F>, axis: usize) -> Result<Array<F>, Error> {
        self.check(a, OPERATION)?;
        let Some(&length) = a.shape().get(axis) else {
            return Err(Error::shape(
                OPERATION,
                format!("there is no axis {axis} in shape {}", format_shape(a.shape())),
            ));
        };
        let piece = match length {
            0..=MAX_LINE_OF_ONE_MATRIX => length.next_power_of_two(),
            _ => 1 << length.ilog2().div_ceil(2),
        };
        let form = self.form_of(&[a]);
        let pieces = Candidate::new("sums of pieces", |server: &Server, [a]: [_; 1]| {
            let within = server.within_pieces(a, axis, piece)?;
            match length <= piece {
                true => Ok(within),
                false => server.add(&within, &server.before_pieces(a, axis, piece)?),
            }
        });
        let most_bits = form.product_bits(self) + MARGIN_BITS_OF_UNKNOWN_GROWTH;
        let sums = self.perform(OPERATION, [a], most_bits, &[pieces]);
        let sums = sums.map_err(|e| e.during(OPERATION))?;
        let (one, all) = (F::interval(a), F::interval(a).times_count(length));
        Ok(F::with_known_interval(sums, one.union(all)))
    }

    /// Returns for each element the sum of the elements of its piece, up to and including it.
    fn within_pieces<F: Arithmetic>(
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

    /// Returns for each element the sum of all pieces before its own.
    fn before_pieces<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: usize,
        piece: usize,
    ) -> Result<Array<F>, Error> {
        let (length, stride) = (a.shape()[axis], a.layout().strides()[axis]);
        let pieces = length.div_ceil(piece);
        // Splits the axis into two: the pieces, and the elements of a piece.
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
