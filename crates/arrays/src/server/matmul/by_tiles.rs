//! Products of two encrypted matrices by rotations of tiles.
//!
//! The product has `m` rows and `n` columns. `lambda` elements of the inner axis are taken at a
//! time. Row `i` of the product begins at slot `R i`.
//!
//! A tile of the first matrix has `A[i, (i + j) mod lambda]` in slot `R i + j`, repeated as often
//! as there is room. A tile of the second matrix has `B[(i + j) mod lambda, j]` in slot `R i + j`
//! of all rows of slots, and zeros beyond column `n`. If the first tile is rotated by `k` and the
//! second one by `R k`, slot `R i + j` of both holds the factors of one summand of element
//! `(i, j)`. Each `k < lambda` gives another summand. The rotations are hoisted, and the products
//! are relinearised together.
//!
//! This is the product of Jiang, Kim, Lauter and Song (CCS 2018, section 3), except that rows of
//! slots are longer. With `R >= n + lambda - 1`, rotated columns need no mask. The product is
//! therefore two multiplications deep instead of three.

use std::borrow::Cow;

use crate::server::{
    Server,
    moves::Moves,
    moves::broadcast::Copies,
    moves::several_steps::products,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
    planner::prices::{MAX_SLOTS_OF_PRODUCTS, Prices},
};
use crate::{Arithmetic, Array, Error, Layout, SlotContents};

/// Number of short rotations of a tile or of an array, and of the keys for them. It must be a power
/// of two.
pub(in crate::server) const SHORT_ROTATIONS: usize = 8;

/// Maximum number of tiles of the first matrix whose short rotations are in memory at once.
const TILES_AT_ONCE: usize = 4;

/// Number of lengths that are tried for rows of slots: the shortest possible power of two, and each
/// next power of two.
const ROW_LENGTHS_TRIED: usize = 3;

/// A part of the inner axis that is multiplied at a time.
///
/// It begins at element `start` and has room for `period` elements, a power of two.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    start: usize,
    period: usize,
}

/// The sizes and strides of a product by tiles.
#[derive(Debug, Clone)]
pub(in crate::server) struct Tiles {
    /// The numbers of rows and columns of the product, or of its transpose if that is computed.
    rows: usize,
    columns: usize,
    inner: usize,
    transposed: bool,
    /// The strides of the first factor, along the rows and the inner axis.
    first: [usize; 2],
    /// The strides of the second factor, along the inner axis and the columns.
    second: [usize; 2],
    /// The number of slots from one row of the product to the next.
    stride: usize,
    /// The maximum number of elements of the inner axis that are taken at a time, a power of two.
    period: usize,
    /// The number of short rotations of a tile.
    short: usize,
    slots: usize,
    /// The number of slots that rotate together ([`LinearMaps::row`]).
    row: usize,
}

impl Tiles {
    /// Returns the tiles with the least work for matrices of these layouts, or `None` if there is
    /// no room.
    pub(in crate::server) fn best<F: Arithmetic>(
        prices: &Prices,
        a: &Layout,
        b: &Layout,
    ) -> Option<Tiles> {
        Self::all::<F>(a, b).into_iter().min_by_key(|tiles| tiles.work::<F>(prices))
    }

    /// Returns all candidates for matrices of these layouts.
    pub(in crate::server) fn all<F: Arithmetic>(a: &Layout, b: &Layout) -> Vec<Tiles> {
        let slots = a.slots();
        let row = F::row(slots);
        let ([a_rows, a_inner], [b_inner, b_columns]) = (strides(a), strides(b));
        let (rows, inner, columns) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let orders = [
            (rows, columns, false, [a_rows, a_inner], [b_inner, b_columns]),
            (columns, rows, true, [b_columns, b_inner], [a_inner, a_rows]),
        ];
        let mut all = Vec::new();
        for (rows, columns, transposed, first, second) in orders {
            let least = columns.next_power_of_two();
            for stride in
                (0..ROW_LENGTHS_TRIED).map(|k| least << k).take_while(|stride| *stride <= row)
            {
                let room = (stride - columns + 1).min(row / stride).min(inner.next_power_of_two());
                let most = 1 << room.ilog2();
                for period in [most, most / 2].into_iter().filter(|period| *period > 1) {
                    all.push(Tiles {
                        rows,
                        columns,
                        inner,
                        transposed,
                        first,
                        second,
                        stride,
                        period,
                        short: SHORT_ROTATIONS,
                        slots,
                        row,
                    });
                }
            }
        }
        let taken = |tiles: &Tiles| {
            tiles.chunks().len().saturating_mul(tiles.count()).saturating_mul(slots)
        };
        all.retain(|tiles| taken(tiles) <= MAX_SLOTS_OF_PRODUCTS);
        all
    }

    /// Returns the same tiles with this number of short rotations, a power of two.
    #[cfg(test)]
    pub(in crate::server) fn with_short(self, short: usize) -> Self {
        Tiles { short, ..self }
    }

    /// Returns the number of ciphertexts of the product.
    fn count(&self) -> usize {
        self.rows.div_ceil(self.slots / self.stride)
    }

    /// Splits the inner axis into chunks.
    fn chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut start = 0;
        while start < self.inner {
            let period = self.period.min((self.inner - start).next_power_of_two());
            chunks.push(Chunk { start, period });
            start += period;
        }
        chunks
    }

    /// Returns the moves `(to, from)` of elements of the first matrix to its tiles for a chunk.
    ///
    /// They are those of the rows below `rows`, and bring each element to one place.
    fn first_moves(&self, chunk: Chunk, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        let (stride, [along, inward]) = (self.stride, self.first);
        let (each, inner) = (self.row / stride, self.inner);
        (0..rows).flat_map(move |i| {
            let from = move |j: usize| chunk.start + (i % each + j) % chunk.period;
            let is_there = move |j: &usize| from(*j) < inner;
            (0..chunk.period)
                .filter(is_there)
                .map(move |j| (i * stride + j, i * along + from(j) * inward))
        })
    }

    /// Returns the moves `(to, from)` of the second matrix to the first rows of its tile for a
    /// chunk.
    fn second_moves(&self, chunk: Chunk) -> impl Iterator<Item = (usize, usize)> {
        let (stride, [inward, along]) = (self.stride, self.second);
        let (inner, columns) = (self.inner, self.columns);
        (0..chunk.period).flat_map(move |i| {
            let from = move |j: usize| chunk.start + (i + j) % chunk.period;
            let is_there = move |j: &usize| from(*j) < inner;
            (0..columns)
                .filter(is_there)
                .map(move |j| (i * stride + j, from(j) * inward + j * along))
        })
    }

    /// Returns the strides and lengths of the copies that fill a tile of the first matrix.
    fn first_copies(&self, chunk: Chunk) -> Vec<(usize, usize)> {
        vec![(chunk.period, self.stride / chunk.period)]
    }

    /// Returns the strides and lengths of the copies that fill a tile of the second matrix.
    fn second_copies(&self, chunk: Chunk) -> Vec<(usize, usize)> {
        let rows = self.row / self.stride;
        vec![(chunk.period * self.stride, rows / chunk.period), (self.row, self.slots / self.row)]
    }

    /// Returns an estimate of the work, in products with plaintexts.
    fn work<F: Arithmetic>(&self, prices: &Prices) -> usize {
        let (slots, count, chunks) = (self.slots, self.count(), self.chunks());
        let rows = self.rows.min(slots / self.stride);
        let map = |moves: Moves| {
            let mut feeds: Vec<usize> = moves.iter().map(|(_, from)| from / slots).collect();
            feeds.sort_unstable();
            feeds.dedup();
            (products::<F>(slots, moves.iter().copied(), usize::MAX), feeds.len())
        };
        let (first, second) = (
            map(self.first_moves(chunks[0], rows).collect()),
            map(self.second_moves(chunks[0]).collect()),
        );
        // Chunks of one period share their encoded maps. Other periods are neglected here.
        let encoded = map_encoding(first.0) + map_encoding(second.0);
        let each = chunks.iter().map(|chunk| {
            let [a, b] = [self.first_copies(*chunk), self.second_copies(*chunk)].map(|axes| {
                prices.rotation
                    * axes.iter().map(|(_, length)| length.ilog2() as usize).sum::<usize>()
            });
            let maps = count * (map_work(prices, first.0, first.1) + a)
                + map_work(prices, second.0, second.1)
                + b;
            let (short, long) = (chunk.period.min(self.short), chunk.period.div_ceil(self.short));
            let rotations = prices.hoisted_rotation
                * (count * short + count.div_ceil(TILES_AT_ONCE) * chunk.period);
            maps + rotations
                + prices.tensor * count * chunk.period
                + prices.rotation * count * 2 * long
        });
        encoded + each.sum::<usize>()
    }
}

/// Returns the strides of a matrix along both axes, in slots.
pub(in crate::server) fn strides(layout: &Layout) -> [usize; 2] {
    [layout.strides()[0], layout.strides()[1]]
}

/// Returns the work of encoding this many diagonals of a map, in products with plaintexts.
fn map_encoding(diagonals: usize) -> usize {
    2 * diagonals
}

/// Returns an estimate of the work of a map with `diagonals` diagonals, in products with
/// plaintexts.
///
/// The diagonals are those from all `ciphertexts` together. The map is computed by baby steps,
/// which are hoisted, and giant steps.
fn map_work(prices: &Prices, diagonals: usize, ciphertexts: usize) -> usize {
    let steps =
        2.0 * ((prices.hoisted_rotation * prices.rotation * diagonals * ciphertexts) as f64).sqrt();
    diagonals + steps as usize
}

impl Server {
    /// Returns the product of two matrices by tiles. It is two multiplications deep.
    pub(in crate::server) fn tiled_product<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        tiles: &Tiles,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let (count, form) = (tiles.count(), self.form_of(&[a, b]));
        let (first, second) = if tiles.transposed { (b, a) } else { (a, b) };
        let first = self.tiles_of(first, count, tiles, operation, |chunk| {
            (tiles.first_moves(chunk, tiles.rows).collect(), tiles.first_copies(chunk))
        })?;
        let second = self.tiles_of(second, 1, tiles, operation, |chunk| {
            (tiles.second_moves(chunk).collect(), tiles.second_copies(chunk))
        })?;
        let (shape, strides) = match tiles.transposed {
            true => (vec![tiles.columns, tiles.rows], vec![1, tiles.stride]),
            false => (vec![tiles.rows, tiles.columns], vec![tiles.stride, 1]),
        };
        let layout = Layout::new(shape, strides, tiles.slots)?;
        let sums = Candidate::new("tiles", |server: &Server, operands: [&Array<F>; 2]| {
            let [first, second] = operands.map(|a| a.expanded(&server.session));
            let sums = server.sums_of_rotated(&form, &first, &second, tiles);
            let sums = sums.map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(layout.clone(), form.clone(), SlotContents::Zero, sums))
        });
        let most_bits = form.product_bits(self) + MARGIN_BITS_OF_UNKNOWN_GROWTH;
        self.perform(operation, [&first, &second], most_bits, &[sums])
    }

    /// Returns the tiles of a matrix, `each` of them for each chunk.
    ///
    /// For a chunk, `of` returns the moves to its tiles and the copies that fill the tiles
    /// afterwards.
    fn tiles_of<F: Arithmetic>(
        &self,
        array: &Array<F>,
        each: usize,
        tiles: &Tiles,
        operation: &'static str,
        of: impl Fn(Chunk) -> (Moves, Vec<(usize, usize)>),
    ) -> Result<Array<F>, Error> {
        let slots = tiles.slots;
        let (moves, copies): (Vec<Moves>, Vec<_>) = tiles.chunks().into_iter().map(of).unzip();
        let entries = moves.into_iter().enumerate().flat_map(|(c, moves)| {
            let first = c * each * slots;
            moves.into_iter().map(move |(to, from)| (first + to, from, F::ONE))
        });
        let layout = Layout::packed(&[copies.len() * each * slots], slots)?;
        let moved = self.linear_map(array, layout.clone(), entries, operation)?;
        let (form, inputs) = (self.form_of(&[array]), moved.expanded(&self.session));
        let filled = |i: usize| self.repeated(&form, &inputs[i], &copies[i / each], Copies::Any);
        let filled =
            self.session.compute_each(inputs.len(), filled).map_err(|e| e.during(operation))?;
        Ok(Array::from_ciphertexts(layout, form, SlotContents::Zero, filled))
    }

    /// Returns the sums over all chunks of the products of their rotated tiles.
    ///
    /// Let `k = w v + u` with `u < w`, where `w` is the number of short rotations. The tile of the
    /// second matrix is rotated by `R k - w v`, and that of the first one by `u` alone. The sum
    /// over all `u` then lies `w v` columns too far to the right, and is rotated by `w v`.
    fn sums_of_rotated<F: Arithmetic>(
        &self,
        form: &F,
        first: &[Cow<'_, F::Ciphertext>],
        second: &[Cow<'_, F::Ciphertext>],
        tiles: &Tiles,
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let (count, chunks) = (tiles.count(), tiles.chunks());
        let (stride, short) = (tiles.stride as i64, tiles.short as i64);
        let mut totals: Vec<Vec<F::Ciphertext>> = vec![Vec::new(); count];
        for (chunk, (first, second)) in chunks.iter().zip(first.chunks(count).zip(second)) {
            let steps = || 0..chunk.period.min(tiles.short) as i64;
            // Only this many of the summands for which the chunk has room can differ from 0.
            let there = chunk.period.min(tiles.inner - chunk.start);
            let [_, second] = form.as_factors(self, &first[0], second)?;
            for (first, totals) in first.chunks(TILES_AT_ONCE).zip(totals.chunks_mut(TILES_AT_ONCE))
            {
                let rotated = self.session.compute_each(first.len(), |i| {
                    let [left, _] = form.as_factors(self, &first[i], &second)?;
                    form.rotate_many(self, &left, &steps().collect::<Vec<_>>())
                })?;
                let mut right = Cow::Borrowed(&*second);
                for v in 0..chunk.period.div_ceil(tiles.short) {
                    if v > 0 {
                        right = Cow::Owned(form.rotate(self, &right, short * (stride - 1))?);
                    }
                    let rights = form.rotate_many(
                        self,
                        &right,
                        &steps().map(|u| u * stride).collect::<Vec<_>>(),
                    )?;
                    let sums = self.session.compute_each(first.len(), |i| {
                        let pairs: Vec<_> = rotated[i].iter().zip(&rights).collect();
                        let sum = form.with_summands(
                            self.sum_of_pairs(form, &pairs)?,
                            there,
                            chunk.period,
                        );
                        match totals[i].get(v) {
                            None => Ok(sum),
                            Some(total) => form.add(self, total, &sum),
                        }
                    })?;
                    for (totals, sum) in totals.iter_mut().zip(sums) {
                        match totals.get_mut(v) {
                            None => totals.push(sum),
                            Some(total) => *total = sum,
                        }
                    }
                }
            }
        }
        self.session.compute_each(count, |i| {
            let mut long = totals[i].iter().rev();
            let last = long.next().expect("no axis is empty, so that there is a chunk").clone();
            long.try_fold(last, |total, sum| {
                form.add(self, &form.rotate(self, &total, short)?, sum)
            })
        })
    }
}
