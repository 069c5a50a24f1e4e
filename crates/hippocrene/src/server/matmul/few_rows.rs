//! Plain matrices times arrays by fewer products with plaintexts than they have diagonals, which
//! are as many as rows and columns together.
//!
//! With `n` columns, a power of two, `n` products do where copies of the vector after every `n`
//! slots take part, of which slot `k` meets those from `k` to `k + n - 1`. With far fewer rows than
//! columns, `m` of them, a power of two, `m` products do: slot `k` adds up the `m` numbers of row
//! `k mod m` that meet slots `k` to `k + m - 1`, and then all slots `k` that are alike modulo `m`
//! are added up by rotations.

use crate::server::{Server, moves::broadcast::Copies};
use crate::{Array, Error, Form, Layout, server::After};

/// Diagonals are avoided only if there are this many times as many of them as of products here.
const MIN_DIAGONALS_PER_PRODUCT: usize = 4;

/// Copies of a vector are worth their rotations if they spare one diagonal in this many.
const DIAGONALS_PER_COPY: usize = 5;

/// The axis that is summed over: how many elements it has, how far they are apart in slots, and
/// where those of the other axes stand from each of them.
struct Axis {
    length: usize,
    stride: usize,
    offsets: Vec<usize>,
    /// Shape and strides of the other axes.
    rest: (Vec<usize>, Vec<usize>),
    /// How many elements a ciphertext has room for.
    span: usize,
}

impl Axis {
    /// The first axis of an array, if its elements are farther apart than those of any other.
    fn first<F: Form>(a: &Array<F>) -> Option<Self> {
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

    /// A layout with axes of these lengths and strides, which count elements of this axis, before
    /// the others.
    fn layout(&self, axes: &[(usize, usize)], slots: usize) -> Result<Layout, Error> {
        let lengths = axes.iter().map(|(length, _)| *length).chain(self.rest.0.iter().copied());
        let strides =
            axes.iter().map(|(_, step)| step * self.stride).chain(self.rest.1.iter().copied());
        Layout::new(lengths.collect(), strides.collect(), slots)
    }

    /// The entries of a linear map by those between elements of this axis.
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
    /// `sum_j weight(i, j) a_j` over the first axis of `a`, for `i` below `rows`, where that is
    /// much less work than by diagonals; nothing elsewhere. One multiplication deep.
    pub(in crate::server) fn narrow_product<F: Form>(
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
        // Within one row of slots; beyond its end, which meets its beginning, where that is much
        // less work.
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

    /// [`Server::narrow_product`] with sums over slots.
    fn folded<F: Form>(
        &self,
        a: &Array<F>,
        axis: &Axis,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let (side, span, slots) = (rows.next_power_of_two(), axis.span, a.layout().slots());
        // Of a short axis that stands a side farther on, no slot is met from before the first. It
        // stays in its row of slots.
        let groups = (axis.length + side).div_ceil(side).next_power_of_two();
        let row = if F::rotates(slots, 1) { span } else { span / 2 };
        let moved = match MIN_DIAGONALS_PER_PRODUCT * groups * side <= row {
            true => self.moved_on(a, side * axis.stride, operation)?,
            false => None,
        };
        let (a, start, groups) = moved.as_ref().map_or((a, 0, span / side), |a| (a, side, groups));
        let parts = axis.layout(&[(groups, side), (rows, 1)], slots)?;
        let entries = (0..axis.length).flat_map(|j| (0..rows).map(move |i| (i, j)));
        let entries = entries.filter_map(|(i, j)| {
            // From slot k on, k = i modulo the side, less than a side before j.
            let (before, weight) = ((j + side - i) % side, weight(i, j));
            nonzero(((start + j + span - before) % span, start + j, weight))
        });
        let sums =
            self.linear_map_before(a, parts, axis.spread(entries), After::Sums(groups), operation)?;
        self.sum(&sums, Some(0)).map_err(|e| e.during(operation))
    }

    /// All slots rotated to the right, if the keys can; elements are not where the layout says any
    /// more.
    fn moved_on<F: Form>(
        &self,
        a: &Array<F>,
        right: usize,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        match self.map(a, operation, false, 0.0, |form, x| form.rotate(self, x, -(right as i64))) {
            Err(Error::MissingKey(_)) => Ok(None),
            moved => moved.map(Some),
        }
    }

    /// [`Server::narrow_product`] with copies of `a`, if `a` repeats or can be repeated for
    /// nothing.
    fn unfolded<F: Form>(
        &self,
        a: &Array<F>,
        axis: &Axis,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        let (side, span, slots) = (axis.length.next_power_of_two(), axis.span, a.layout().slots());
        // The last slot meets less than a side beyond it.
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
            Err(Error::MissingKey(_)) => return Ok(None),
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

/// How many diagonals of a matrix are not 0, and how many where those are one that are apart by the
/// next power of two of the number of columns.
fn distances<F: Form>(
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
