//! Products of plain matrices and arrays, with fewer products with plaintexts than by diagonals.
//!
//! A matrix has about as many diagonals as it has rows and columns together. There are two cases in
//! which fewer products suffice.
//!
//! With `n` columns, a power of two, `n` products suffice if the vector is copied after every `n`
//! slots. Slot `k` then meets the copies in slots `k` to `k + n - 1`.
//!
//! With `m` rows, a power of two and far fewer than columns, `m` products suffice. Slot `k` adds up
//! the `m` numbers of row `k mod m` that meet slots `k` to `k + m - 1`. Then all slots that are
//! equal modulo `m` are added up by rotations.

use crate::server::{Server, moves::broadcast::Copies};
use crate::{Arithmetic, Array, Error, Layout, server::ResultUse};

/// Minimum number of diagonals for each product here. With fewer, diagonals are used instead.
const MIN_DIAGONALS_PER_PRODUCT: usize = 2;

/// A short axis is moved on if its sums then need at least this factor fewer groups. The move costs
/// a rotation, and each factor of two saves one.
const MIN_SAVING_OF_A_MOVE: usize = 4;

/// Copies of a vector are worth their rotations if they save one diagonal in this many.
const DIAGONALS_PER_COPY: usize = 5;

/// The axis over which the product sums, and the other axes.
struct Axis {
    /// The number of elements along the axis.
    length: usize,
    /// The distance between neighbours along the axis, in slots.
    stride: usize,
    /// The distances, in slots, from an element of this axis to those of the other axes.
    offsets: Vec<usize>,
    /// Shape and strides of the other axes.
    rest: (Vec<usize>, Vec<usize>),
    /// The number of elements for which a ciphertext has room.
    span: usize,
}

impl Axis {
    /// Returns the first axis of an array, if its elements are farther apart than those of any
    /// other.
    ///
    /// A ciphertext must also have room for more than one.
    fn first<F: Arithmetic>(a: &Array<F>) -> Option<Self> {
        let (layout, slots) = (a.layout(), a.layout().slots());
        let (stride, rest) = (*layout.strides().first()?, layout.strides()[1..].to_vec());
        let inner = Layout::new(layout.shape()[1..].to_vec(), rest.clone(), slots).ok()?;
        let fits = inner.last() < stride && stride < slots;
        let offsets: Vec<usize> = inner.positions().collect();
        let rest = (layout.shape()[1..].to_vec(), rest);
        fits.then(|| Axis {
            length: layout.shape()[0],
            stride,
            offsets,
            rest,
            span: slots / stride,
        })
    }

    /// Returns a layout with these axes before the others of the array.
    ///
    /// `axes` has lengths and strides. The strides are multiples of the stride of this axis.
    fn layout(&self, axes: &[(usize, usize)], slots: usize) -> Result<Layout, Error> {
        let lengths = axes.iter().map(|(length, _)| *length).chain(self.rest.0.iter().copied());
        let strides =
            axes.iter().map(|(_, step)| step * self.stride).chain(self.rest.1.iter().copied());
        Layout::new(lengths.collect(), strides.collect(), slots)
    }

    /// Turns entries between elements of this axis into entries between slots.
    ///
    /// Each entry is repeated for all elements of the other axes.
    fn spread<N: Copy>(
        &self,
        entries: impl Iterator<Item = (usize, usize, N)>,
    ) -> impl Iterator<Item = (usize, usize, N)> {
        entries.flat_map(move |(to, from, weight)| {
            self.offsets.iter().map(move |r| (to * self.stride + r, from * self.stride + r, weight))
        })
    }
}

impl Server {
    /// Returns `sum_j weight(i, j) a_j` over the first axis of `a`, for all `i` below `rows`.
    ///
    /// The result is one multiplication deep. It is `None` unless this is much less work than a
    /// product by diagonals.
    pub(in crate::server) fn narrow_product<F: Arithmetic>(
        &self,
        a: &Array<F>,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        self.check(a, operation)?;
        let Some(axis) = Axis::first(a) else { return Ok(None) };
        let columns = axis.length;
        let (few, side) = (rows.next_power_of_two(), columns.next_power_of_two());
        let [diagonals, around] = distances::<F>(rows, columns, &weight);
        if rows <= columns && 2 * few <= axis.span && MIN_DIAGONALS_PER_PRODUCT * few <= diagonals {
            return self.folded(a, &axis, rows, weight, operation).map(Some);
        }
        // Copies that stay within one row of slots are used if they save enough diagonals. Beyond
        // the end of a row, which meets its beginning, the saving has to be larger.
        let row = if F::rotates(a.layout().slots(), 1) { axis.span } else { axis.span / 2 };
        let within = rows + side <= row
            && around < diagonals
            && DIAGONALS_PER_COPY * around <= (DIAGONALS_PER_COPY - 1) * diagonals;
        match within
            || rows > columns
                && 2 * side <= axis.span
                && MIN_DIAGONALS_PER_PRODUCT * side <= diagonals
        {
            true => self.unfolded(a, &axis, rows, weight, operation),
            false => Ok(None),
        }
    }

    /// Computes [`Server::narrow_product`] by products and sums over slots, for few rows.
    fn folded<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: &Axis,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let (side, span, slots) = (rows.next_power_of_two(), axis.span, a.layout().slots());
        // A short axis is moved on by `side` elements first. Then no sum begins before the first
        // slot, and all sums stay in one row of slots.
        let groups = (axis.length + side).div_ceil(side).next_power_of_two();
        let row = if F::rotates(slots, 1) { span } else { span / 2 };
        let moved = match MIN_SAVING_OF_A_MOVE * groups * side <= row {
            true => self.moved_on(a, side * axis.stride, operation)?,
            false => None,
        };
        let (a, start, groups) = moved.as_ref().map_or((a, 0, span / side), |a| (a, side, groups));
        let parts = axis.layout(&[(groups, side), (rows, 1)], slots)?;
        let entries = (0..axis.length).flat_map(|j| (0..rows).map(move |i| (i, j)));
        let entries = entries.filter_map(|(i, j)| {
            // The slot that is i modulo `side`, and less than `side` slots before j.
            let (before, weight) = ((j + side - i) % side, weight(i, j));
            nonzero(((start + j + span - before) % span, start + j, weight))
        });
        let sums = self.linear_map_before(
            a,
            parts,
            axis.spread(entries),
            ResultUse::Sums(groups),
            operation,
        )?;
        self.sum(&sums, Some(0)).map_err(|e| e.during(operation))
    }

    /// Rotates all slots to the right, or returns `None` if rotation keys are missing.
    ///
    /// The elements are then no longer where the layout has them.
    fn moved_on<F: Arithmetic>(
        &self,
        a: &Array<F>,
        right: usize,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        match self.map(a, operation, false, 0.0, |server, form, x| {
            form.rotate(server, x, -(right as i64))
        }) {
            Err(Error::MissingKey { .. }) => Ok(None),
            moved => moved.map(Some),
        }
    }

    /// Computes [`Server::narrow_product`] with copies of `a`.
    ///
    /// The result is `None` if making the copies would need a multiplication or missing keys.
    fn unfolded<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: &Axis,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        let (side, span, slots) = (axis.length.next_power_of_two(), axis.span, a.layout().slots());
        // Row `i` of the result is computed from the slots from `i` on, fewer than `side` of them
        // beyond `i` itself.
        let count = (rows + side - 1).div_ceil(side).next_power_of_two().min(span / side);
        let copies = axis.layout(&[(count, side), (axis.length, 1)], slots)?;
        let repeats = a
            .slot_contents()
            .period()
            .is_some_and(|period| (side * axis.stride).is_multiple_of(period));
        if !(a.is_clean() || repeats) {
            return Ok(None);
        }
        let repeated = match self.broadcast_for(a, copies, Copies::One) {
            Err(Error::MissingKey { .. }) => return Ok(None),
            repeated => repeated?,
        };
        let entries = (0..rows).flat_map(|i| (0..axis.length).map(move |j| (i, j)));
        let entries = entries.filter_map(|(i, j)| {
            let behind = (j + side - i % side) % side;
            nonzero((i, (i + behind) % span, weight(i, j)))
        });
        let out = axis.layout(&[(rows, 1)], slots)?;
        self.linear_map(&repeated, out, axis.spread(entries), operation).map(Some)
    }
}

fn nonzero<N: Default + PartialEq>(entry: (usize, usize, N)) -> Option<(usize, usize, N)> {
    (entry.2 != N::default()).then_some(entry)
}

/// Returns the number of diagonals that are not 0, without and with copies of the vector.
///
/// Copies unite diagonals whose distance is a multiple of the next power of two of the number of
/// columns.
fn distances<F: Arithmetic>(
    rows: usize,
    columns: usize,
    weight: &impl Fn(usize, usize) -> F::Number,
) -> [usize; 2] {
    let side = columns.next_power_of_two();
    let (mut seen, mut around) = (vec![false; rows + columns], vec![false; side]);
    for i in 0..rows {
        for j in 0..columns {
            if weight(i, j) != F::Number::default() {
                seen[i + columns - j] = true;
                around[j.wrapping_sub(i) & (side - 1)] = true;
            }
        }
    }
    [seen, around].map(|seen| seen.into_iter().filter(|seen| *seen).count())
}
