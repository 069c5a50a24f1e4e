//! Products of two encrypted matrices.

use crate::server::{
    Server,
    matmul::by_diagonals::Gram,
    matmul::by_tiles::Tiles,
    planner::{choose::Candidate, prices::MAX_SLOTS_OF_PRODUCTS},
};
use crate::{Arithmetic, Array, Error, Layout, format_shape};

const OPERATION: &str = "dot product";

/// A way to multiply two matrices by copies.
///
/// The copies and their products have the layout `layout`, with the axes rows, columns and inner
/// axis. The columns of the second matrix are taken `at_once` at a time.
struct Way {
    layout: Layout,
    at_once: usize,
}

impl Way {
    /// Returns the number of blocks of columns, and the number of ciphertexts of all products.
    fn count(&self, columns: usize) -> (usize, usize) {
        let blocks = columns.div_ceil(self.at_once);
        (blocks, blocks * self.layout.ciphertexts())
    }
}

impl Server {
    /// Returns the product of two encrypted matrices.
    ///
    /// These are the candidates, as far as the layouts allow them:
    ///
    /// - Tiles: `k` rotations of tiles of both matrices are multiplied. A matrix may be moved to
    ///   the layout of a fresh array first.
    /// - Diagonals: for each diagonal of the product, one rotation is multiplied and summed. Stray
    ///   slots must be zero for that, and are set to zero first.
    /// - Copies: both matrices are repeated to rows, columns and inner axis, multiplied once, and
    ///   summed. The first matrix stays where it is, and its copies lie in the slots between its
    ///   elements or beyond them. If there is room between the elements for only some columns at a
    ///   time, as after [`Server::wide_product`], blocks of columns are multiplied and joined.
    ///
    /// # Errors
    /// [`Error::Shape`] if each candidate needs more than [`MAX_SLOTS_OF_PRODUCTS`] slots.
    pub(in crate::server) fn matrix_product<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Array<F>, Error> {
        self.perform_by_operands(OPERATION, [a, b], &self.products_of_matrices(a, b)?)
    }

    /// Returns the candidates for [`Server::matrix_product`].
    ///
    /// # Errors
    /// [`Error::Shape`] if there are none.
    pub(in crate::server) fn products_of_matrices<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Vec<Candidate<'static, F, 2>>, Error> {
        let mut candidates = Vec::new();
        let fits = |a: &Layout, b: &Layout| !Tiles::all::<F>(a, b).is_empty();
        if fits(a.layout(), b.layout()) {
            candidates.push(Candidate::new("tiles", |server: &Server, [a, b]: [_; 2]| {
                server.product_of_tiles(a, b)
            }));
        }
        let packed = |x: &Array<F>| Layout::packed(x.shape(), x.layout().slots());
        let is_moved = |x: &Array<F>, to: &Layout| to.strides() != x.layout().strides();
        let [first, second] = [packed(a)?, packed(b)?];
        if is_moved(a, &first) && fits(&first, b.layout()) {
            let name = "tiles, after moving the first matrix";
            candidates.push(Candidate::new(name, move |server: &Server, [a, b]: [_; 2]| {
                server.product_of_tiles(&server.relayout(a, first.clone())?, b)
            }));
        }
        if is_moved(b, &second) && fits(a.layout(), &second) {
            let name = "tiles, after moving the second matrix";
            candidates.push(Candidate::new(name, move |server: &Server, [a, b]: [_; 2]| {
                server.product_of_tiles(a, &server.relayout(b, second.clone())?)
            }));
        }
        if Gram::of_cleaned(a, b).is_some() {
            candidates.push(Candidate::new("diagonals", |server: &Server, [a, b]: [_; 2]| {
                server.product_of_diagonals(a, b)
            }));
        }
        for way in self.ways_of_copies(a, b)? {
            let (blocks, products) = way.count(b.shape()[1]);
            let name = if blocks > 1 { "copies, by blocks of columns" } else { "copies" };
            let copies = Candidate::new(name, move |server: &Server, [a, b]: [_; 2]| {
                server.product_of_copies(a, b, &way)
            });
            candidates.push(copies.with_least_products(products));
        }
        if candidates.is_empty() {
            return Err(self.needs_too_many_slots(a, b));
        }
        Ok(candidates)
    }

    fn product_of_tiles<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Array<F>, Error> {
        let tiles = Tiles::best::<F>(&self.prices(a)?, a.layout(), b.layout());
        let no_room = || self.needs_too_many_slots(a, b);
        self.tiled_product(a, b, &tiles.ok_or_else(no_room)?, OPERATION)
    }

    fn product_of_diagonals<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Array<F>, Error> {
        let no_room = || self.needs_too_many_slots(a, b);
        let gram = Gram::of_cleaned(a, b).ok_or_else(no_room)?;
        if a.is_clean() || b.is_clean() {
            return self.gram_product(a, b, &gram, OPERATION);
        }
        let clean = self.cleaned(b)?;
        let transpose = if gram.is_symmetric() { Some(self.transpose(&clean)?) } else { None };
        let a = transpose.as_ref().unwrap_or(a);
        let gram = Gram::of(a, &clean).ok_or_else(no_room)?;
        self.gram_product(a, &clean, &gram, OPERATION)
    }

    fn needs_too_many_slots<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Error {
        let (columns, end) = (b.shape()[1], end_of(a));
        let (left, right) = (a.shape(), b.shape());
        let what = format!(
            "shapes {left} and {right} need {columns} times {end} slots, and \
             {MAX_SLOTS_OF_PRODUCTS} are the most. Take fewer columns of the second at a time.",
            left = format_shape(left),
            right = format_shape(right)
        );
        Error::shape(OPERATION, what)
    }

    /// Returns the product by copies for all columns and rows.
    fn product_of_copies<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        Way { layout, at_once }: &Way,
    ) -> Result<Array<F>, Error> {
        let (columns, at_once) = (b.shape()[1], *at_once);
        if at_once >= columns {
            return self.product_as(a, b, layout.clone());
        }
        let (rows, inner) = (a.shape()[0], a.shape()[1]);
        let firsts: Vec<usize> = (0..columns).step_by(at_once).collect();
        let block = |first: usize| {
            let width = at_once.min(columns - first);
            let sources: Vec<usize> =
                (0..inner).flat_map(|i| (0..width).map(move |j| i * columns + first + j)).collect();
            let part = self.gather(&[b], &[inner, width], &sources)?;
            let layout = layout.with_shape(vec![rows, width, inner], layout.strides().to_vec())?;
            self.product_as(a, &part, layout)
        };
        let blocks = firsts.into_iter().map(block).collect::<Result<Vec<_>, Error>>()?;
        let source = |i: usize, j: usize| {
            let (first, width) =
                (j / at_once * at_once, at_once.min(columns - j / at_once * at_once));
            rows * first + i * width + j % at_once
        };
        let sources: Vec<usize> =
            (0..rows).flat_map(|i| (0..columns).map(move |j| source(i, j))).collect();
        self.gather(&blocks.iter().collect::<Vec<_>>(), &[rows, columns], &sources)
    }

    /// Returns the product after repeating both matrices to `layout`.
    ///
    /// The axes of `layout` are the rows, the columns, and the inner axis, which is summed over.
    fn product_as<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        layout: Layout,
    ) -> Result<Array<F>, Error> {
        let rows = self.broadcast_as(&self.insert_axis(a, 1)?, layout.clone())?;
        let columns = self.broadcast_as(&self.insert_axis(&self.transpose(b)?, 0)?, layout)?;
        self.sum(&self.mul(&rows, &columns)?, Some(2))
    }

    /// Returns the layouts for a product by copies.
    ///
    /// If all copies fit between the elements of the first matrix, they go there. Otherwise blocks
    /// of columns go there, or all copies go beyond the matrix.
    fn ways_of_copies<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Result<Vec<Way>, Error> {
        let (shape, strides, columns) = (a.shape(), a.layout().strides(), b.shape()[1]);
        let (slots, end) = (F::slots(&self.session), end_of(a));
        let copies = |at_once: usize, stride: usize| {
            let (shape, strides) =
                (vec![shape[0], at_once, shape[1]], vec![strides[0], stride, strides[1]]);
            Layout::new(shape, strides, slots)
        };
        let between = |at_once: usize| {
            let layout = (0..end.ilog2()).find_map(|log2| copies(at_once, 1 << log2).ok());
            layout.map(|layout| Way { layout, at_once })
        };
        if let Some(way) = between(columns) {
            return Ok(vec![way]);
        }
        let beyond = columns.saturating_mul(end) <= MAX_SLOTS_OF_PRODUCTS;
        let beyond = beyond.then(|| copies(columns, end)).transpose()?;
        let halves = std::iter::successors(Some(columns.next_power_of_two() / 2), |n| Some(n / 2));
        let blocks = halves.take_while(|n| *n > 1).find_map(between);
        let fits = |way: &Way| way.count(columns).1.saturating_mul(slots) <= MAX_SLOTS_OF_PRODUCTS;
        let beyond = beyond.map(|layout| Way { layout, at_once: columns });
        Ok(blocks.filter(fits).into_iter().chain(beyond).collect())
    }
}

/// Returns the number of slots from the first element of a matrix to the first one of a copy.
fn end_of<F: Arithmetic>(a: &Array<F>) -> usize {
    let axes = a.shape().iter().zip(a.layout().strides()).filter(|(n, _)| **n > 1);
    axes.map(|(n, stride)| n.next_power_of_two() * stride).max().unwrap_or(1)
}

#[cfg(test)]
mod tests;
