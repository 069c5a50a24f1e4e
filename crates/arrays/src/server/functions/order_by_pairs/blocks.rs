//! Ranks of the elements of a long line, from comparisons of blocks of elements.
//!
//! The pairs of all elements of two blocks fill one or two ciphertexts. Blocks are compared only
//! with themselves and with later ones: where an element of the later block does not come after one
//! of the earlier block, it comes before it. So `b` blocks take `b (b + 1)/2` comparisons instead
//! of `b^2`.

use super::{EqualElements, pairs::Pairs};
use crate::server::{Server, moves::broadcast::Copies};
use crate::{EncryptedArray, Error, Layout};

/// The number of products after the comparison of blocks: one that turns a column into a row, and
/// one that joins the blocks.
pub(super) const PRODUCTS_AFTER_COMPARISON: f64 = 2.0;

/// A line of elements, cut into blocks.
pub(super) struct Blocks {
    /// The number of elements of the line.
    length: usize,
    /// The number of elements of a block, a power of two. The last block may have fewer.
    side: usize,
    /// The number of blocks.
    count: usize,
    /// The layout of the pairs of two blocks: later elements in columns, earlier ones in rows.
    square: Layout,
}

impl Blocks {
    /// Cuts the only line of an array into blocks. Returns `None` if there are several lines, or if
    /// the blocks take as many ciphertexts as all pairs at once.
    pub(super) fn of(pairs: &Pairs) -> Result<Option<Self>, Error> {
        let (length, slots) = (pairs.length, pairs.slots);
        let side = 1 << slots.ilog2().div_ceil(2);
        let count = length.div_ceil(side);
        let ciphertexts = count * (count + 1) / 2 * (side * side / slots);
        if pairs.shape != [length] || ciphertexts >= (pairs.stride * pairs.rows).div_ceil(slots) {
            return Ok(None);
        }
        let square = Layout::packed(&[side, side], slots)?;
        Ok(Some(Blocks { length, side, count, square }))
    }

    /// Returns the maximum number of pairs of one element, with those that blocks are padded with.
    pub(super) fn rows(&self) -> usize {
        self.count * self.side
    }

    /// Returns the number of elements of a block.
    fn length_of(&self, block: usize) -> usize {
        self.side.min(self.length - block * self.side)
    }

    /// Returns the pairs of an earlier and a later block, and of a block and itself.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.count).flat_map(|later| (0..=later).map(move |earlier| (earlier, later)))
    }

    /// Returns the bits of precision that are lost where a row is turned into a column: the
    /// roundings of a product with the identity matrix are added up.
    pub(super) fn bits_of_columns(&self, bound: f64) -> f64 {
        0.5 * (self.side as f64).log2() + bound.log2().max(0.0)
    }

    /// Returns 1 where an element is compared with itself and 0 elsewhere.
    ///
    /// The sums of its products with a row are a column. They take rotations by powers of two only.
    /// A move of the elements would take three times as many rotation keys.
    fn identity(&self) -> Vec<f64> {
        (0..self.side * self.side).map(|i| f64::from(i % (self.side + 1) == 0)).collect()
    }

    /// Returns the shift of each difference that makes it positive if the earlier element comes
    /// before the later one. `ends` are the lowest and the highest element.
    ///
    /// Rows without an element count as above all elements, and columns without one as below.
    pub(super) fn shifts(
        &self,
        equal: EqualElements,
        gap: f64,
        (lowest, highest): (f64, f64),
    ) -> Vec<f64> {
        let shift = |(earlier, later): (usize, usize), row: usize, column: usize| {
            let (of_row, of_column) = (self.length_of(earlier), self.length_of(later));
            let (row_place, column_place) = (earlier * self.side + row, later * self.side + column);
            let is_before = match equal {
                EqualElements::Rising => row_place < column_place,
                EqualElements::Falling => row_place > column_place,
            };
            if row >= of_row {
                -gap - highest
            } else if column >= of_column {
                lowest - gap
            } else if is_before {
                gap
            } else {
                -gap
            }
        };
        let rows = self.pairs().flat_map(|pair| (0..self.side).map(move |row| (pair, row)));
        rows.flat_map(|(pair, row)| (0..self.side).map(move |column| shift(pair, row, column)))
            .collect()
    }

    /// Returns the sum of the given pairs of blocks, as an array of one pair of blocks.
    fn sum(
        &self,
        server: &Server,
        compared: &EncryptedArray,
        is_summand: impl Fn((usize, usize)) -> bool,
    ) -> Result<EncryptedArray, Error> {
        let of_square = self.square.ciphertexts();
        let chosen = self.pairs().enumerate().filter(|(_, pair)| is_summand(*pair));
        let mut parts = chosen.map(|(place, _)| {
            compared.part(place * of_square, self.square.clone(), compared.slot_contents())
        });
        let none = || Error::Internal("a block has no pairs".into());
        let first = parts.next().ok_or_else(none)?;
        parts.try_fold(first, |sum, part| server.add(&sum, &part))
    }
}

impl Server {
    /// Returns the differences of all pairs of elements in all pairs of blocks, a later element
    /// minus an earlier one.
    pub(super) fn differences_of_blocks(
        &self,
        x: &EncryptedArray,
        blocks: &Blocks,
    ) -> Result<EncryptedArray, Error> {
        let (side, slots, identity) = (blocks.side, blocks.square.slots(), blocks.identity());
        let mut lines = Vec::with_capacity(blocks.count);
        for block in 0..blocks.count {
            let (first, length) = (block * side, blocks.length_of(block));
            let indices: Vec<usize> = (first..first + length).collect();
            let elements = self.insert_axis(&self.gather(&[x], &[length], &indices)?, 0)?;
            let filled = Layout::new(vec![side, length], vec![side, 1], slots)?;
            let along = self.repeated_as(&elements, &filled, Copies::One)?;
            let along = if length < side { self.cleaned(&along)? } else { along };
            let along = along.with_layout(blocks.square.clone());
            let across = self.sum(&self.mul_plain(&along, &identity[..])?, Some(1))?;
            let across = self.insert_axis(&across, 1)?;
            let across = self.repeated_as(&across, &blocks.square, Copies::One)?;
            lines.push([along, across]);
        }
        let difference =
            |(earlier, later): (usize, usize)| self.sub(&lines[later][0], &lines[earlier][1]);
        let differences = blocks.pairs().map(difference).collect::<Result<Vec<_>, Error>>()?;
        let arrays: Vec<&EncryptedArray> = differences.iter().collect();
        let size = arrays.len() * side * side;
        self.gather(&arrays, &[arrays.len(), side, side], &(0..size).collect::<Vec<_>>())
    }

    /// Returns the rank of each element from the comparisons of all pairs of blocks, which are 1
    /// where the earlier element comes before the later one.
    pub(super) fn ranks_of_blocks(
        &self,
        compared: &EncryptedArray,
        blocks: &Blocks,
    ) -> Result<EncryptedArray, Error> {
        let (mut before, mut not_after) = (Vec::new(), Vec::new());
        for block in 0..blocks.count {
            let earlier = blocks.sum(self, compared, |(_, later)| later == block)?;
            before.push(self.sum(&earlier, Some(0))?);
            if block + 1 < blocks.count {
                let later = blocks
                    .sum(self, compared, |(earlier, later)| earlier == block && later > block)?;
                // All columns move alike, so that they share rotation keys.
                let row = Layout::packed(&[blocks.side], blocks.square.slots())?;
                not_after.push(self.relayout(&self.sum(&later, Some(1))?, row)?);
            }
        }
        let joined = |sums: &[EncryptedArray]| {
            let size = blocks.length.min(sums.len() * blocks.side);
            let places: Vec<Option<usize>> =
                (0..blocks.length).map(|i| (i < size).then_some(i)).collect();
            self.gather_padded(&sums.iter().collect::<Vec<_>>(), &[blocks.length], &places)
        };
        let counts = self.cleaned(&self.sub(&joined(&before)?, &joined(&not_after)?)?)?;
        // The number of elements in later blocks.
        let later = (0..blocks.length).map(|i| {
            let block = i / blocks.side;
            (blocks.length - block * blocks.side - blocks.length_of(block)) as f64
        });
        self.add_plain(&counts, &later.collect::<Vec<_>>()[..])
    }
}
