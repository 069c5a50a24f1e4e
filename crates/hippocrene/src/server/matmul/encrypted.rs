//! Products of two encrypted matrices.

use crate::server::{
    Server,
    matmul::by_diagonals::Gram,
    matmul::by_tiles::{Tiles, map_encoding, map_work},
    moves::Moves,
    moves::several_steps::{self, MAX_DISTANCES_IN_ONE_STEP, PRODUCTS_LEFT},
    planner::prices::{MAX_SLOTS_OF_PRODUCTS, ROTATION_IN_PLAIN_PRODUCTS},
};
use crate::{Array, Error, Form, Layout, server::After};

const OPERATION: &str = "dot product";

/// Blocks of columns must cut the work at least by this factor.
const MIN_SAVING_OF_BLOCKS: usize = 2;

/// Setting stray slots to zero must cut the work at least by this factor. It costs a
/// multiplication.
const MIN_SAVING_OF_ZEROS: usize = 4;

/// Moving a matrix must cut the work at least by this factor. It costs one multiplication or more.
const MIN_SAVING_OF_A_MOVE: usize = 2;

/// Number of multiplications, one after the other, of a product by tiles.
const DEPTH_OF_TILES: usize = 2;

/// A way to multiply two matrices by copies.
///
/// The copies and their products have the layout `layout`, with the axes rows, columns and inner
/// axis. The columns of the second matrix are taken `at_once` at a time.
struct Way {
    layout: Layout,
    at_once: usize,
}

/// A candidate that moves one of the matrices to another layout before a product by tiles.
struct Moved {
    is_first: bool,
    layout: Layout,
    moves: Moves,
    way: several_steps::Way,
    tiles: Tiles,
    work: usize,
}

/// Candidates that need no copies for all rows and columns.
enum Faster {
    Tiles(Tiles),
    Gram(Gram),
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
    /// It is computed by tiles or by diagonals if copies would take much more work. If that saves
    /// enough, stray slots are set to zero first for a product by diagonals, or a matrix is moved
    /// first for a product by tiles.
    ///
    /// Otherwise the product is computed by copies. The first matrix stays where it is, and is
    /// copied for the columns of the second one. The copies lie in the slots between its elements
    /// if there is room, or beyond it. The columns of the product lie in the same slots, so that
    /// the next product of a chain finds room between them.
    ///
    /// There may be room between the elements for only some columns at a time, as after
    /// [`Server::wide_product`]. If copies beyond them would need far more ciphertexts, blocks of
    /// columns are multiplied and joined. Joining costs another multiplication, and a distance for
    /// each row. With many rows, blocks are therefore used only if there is no other way.
    pub(in crate::server) fn matrix_product<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Array<F>, Error> {
        let way = self.way_of_product(a, b);
        let tiles = Tiles::best::<F>(a.layout(), b.layout())
            .map(|(work, tiles)| (work, Faster::Tiles(tiles)));
        let gram = Gram::of(a, b).map(|gram| (gram.work(), Faster::Gram(gram)));
        let faster = tiles.into_iter().chain(gram).min_by_key(|(work, _)| *work);
        let takes_more = |most: usize| {
            Ok(faster.as_ref().is_none_or(|(work, _)| *work > most)
                && self.is_more_than(most, &way, a, b)?)
        };
        if let Some(gram) = Gram::of_cleaned(a, b).filter(|_| !(a.is_clean() || b.is_clean())) {
            let form = self.form_of(&[a, b]);
            let has_room = [a, b].into_iter().all(|x| form.has_products(self, x, 4));
            if has_room && takes_more(MIN_SAVING_OF_ZEROS * gram.work())? {
                let clean = self.cleaned(b)?;
                return match gram.is_symmetric() {
                    true => self.matrix_product(&self.transpose(&clean)?, &clean),
                    false => self.matrix_product(a, &clean),
                };
            }
        }
        if let Some(product) = self.product_of_moved(a, b, takes_more)? {
            return Ok(product);
        }
        if let Some((work, faster)) = faster
            && self.is_more_than(work, &way, a, b)?
        {
            let product = match faster {
                Faster::Tiles(tiles) => self.tiled_product(a, b, &tiles, OPERATION),
                Faster::Gram(gram) => self.gram_product(a, b, &gram, OPERATION),
            };
            // Tiles and diagonals move both matrices. Copies may leave one of them where it is,
            // which needs less capacity.
            if !(way.is_ok() && matches!(product, Err(Error::Capacity { .. } | Error::Budget(_)))) {
                return product;
            }
        }
        self.product_of_copies(a, b, way?)
    }

    /// Returns the product by tiles, after moving one matrix to the layout of a fresh array.
    ///
    /// In `x @ y.T`, for example, `y.T` is moved. The result is `None` if any other way takes less
    /// than [`MIN_SAVING_OF_A_MOVE`] times as much work, or if too few multiplications are left.
    fn product_of_moved<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        takes_more: impl Fn(usize) -> Result<bool, Error>,
    ) -> Result<Option<Array<F>>, Error> {
        let form = self.form_of(&[a, b]);
        let mut best: Option<Moved> = None;
        for (x, is_first) in [(a, true), (b, false)] {
            let other = if is_first { b } else { a };
            let has_room = form.has_products(self, x, 1 + DEPTH_OF_TILES + PRODUCTS_LEFT)
                && form.has_products(self, other, DEPTH_OF_TILES + PRODUCTS_LEFT);
            let layout = Layout::packed(x.shape(), x.layout().slots())?;
            if !has_room || layout.strides() == x.layout().strides() {
                continue;
            }
            let both = if is_first { [&layout, b.layout()] } else { [a.layout(), &layout] };
            let Some((work, tiles)) = Tiles::best::<F>(both[0], both[1]) else { continue };
            if best.as_ref().is_some_and(|best| best.work <= work)
                || !takes_more(MIN_SAVING_OF_A_MOVE * work)?
            {
                continue;
            }
            let moves: Moves = layout.positions().zip(x.layout().positions()).collect();
            let way = self.way(x, &moves, DEPTH_OF_TILES, OPERATION)?;
            let work = work + way.work;
            if best.as_ref().is_none_or(|best| work < best.work)
                && takes_more(MIN_SAVING_OF_A_MOVE * work)?
            {
                best = Some(Moved { is_first, layout, moves, way, tiles, work });
            }
        }
        let Some(Moved { is_first, layout, moves, way, tiles, .. }) = best else { return Ok(None) };
        let moved = self.moved_by(
            if is_first { a } else { b },
            layout,
            &moves,
            &way,
            After::Nothing,
            OPERATION,
        )?;
        let (a, b) = if is_first { (&moved, b) } else { (a, &moved) };
        match self.tiled_product(a, b, &tiles, OPERATION) {
            // The remaining capacity is an estimate. Other ways need one multiplication less.
            Err(Error::Capacity { .. } | Error::Budget(_)) => Ok(None),
            product => product.map(Some),
        }
    }

    /// Returns the product by copies for all columns and rows.
    fn product_of_copies<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        Way { layout, at_once }: Way,
    ) -> Result<Array<F>, Error> {
        let columns = b.shape()[1];
        if at_once >= columns {
            return self.product_as(a, b, layout);
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
        let blocks = self.session.compute_each(firsts.len(), |i| block(firsts[i]))?;
        let source = |i: usize, j: usize| {
            let (first, width) =
                (j / at_once * at_once, at_once.min(columns - j / at_once * at_once));
            rows * first + i * width + j % at_once
        };
        let sources: Vec<usize> =
            (0..rows).flat_map(|i| (0..columns).map(move |j| source(i, j))).collect();
        self.gather(&blocks.iter().collect::<Vec<_>>(), &[rows, columns], &sources)
    }

    /// Returns true if a product by copies takes much more work than `work` products with
    /// plaintexts.
    ///
    /// Copies take much more if they need a quarter more. If moving the columns needs several
    /// steps, three quarters of `work` already count as much more, because these steps need
    /// capacity too. The result is also true if there is no way by copies. It is false if one of
    /// the matrices neither has capacity for two multiplications nor can be bootstrapped.
    fn is_more_than<F: Form>(
        &self,
        work: usize,
        way: &Result<Way, Error>,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<bool, Error> {
        let Ok(way) = way else { return Ok(true) };
        let form = self.form_of(&[a, b]);
        let fits =
            |x: &Array<F>| form.has_products(self, x, 2) || F::check_bootstrap(self, x).is_ok();
        if !(fits(a) && fits(b)) {
            return Ok(false);
        }
        let least = work + work / 4;
        let (slots, shape, strides) =
            (way.layout.slots(), way.layout.shape(), way.layout.strides());
        let (rows, inner, columns) = (shape[0], shape[2], b.shape()[1]);
        let (blocks, ciphertexts) = way.count(columns);
        // Columns of the second matrix are copied for all rows, the first matrix is copied for all
        // columns, and products are added up.
        let log2 = |count: usize| count.next_power_of_two().ilog2() as usize;
        let copies = |axis: usize| log2(shape[axis].min(slots.div_ceil(strides[axis])));
        let each = ROTATION_IN_PLAIN_PRODUCTS * (copies(0) + 2 + log2(inner));
        let joined = if blocks > 1 { map_work(ciphertexts * rows, ciphertexts) } else { 0 };
        let others = ciphertexts * each + ROTATION_IN_PLAIN_PRODUCTS * copies(1) + joined;
        let moved = |products: usize| {
            map_work(products, ciphertexts) + map_encoding(products.div_ceil(ciphertexts))
        };
        if others > least || others + moved(inner * columns) <= least {
            return Ok(others > least);
        }
        // Fewer products suffice if the columns are in place already, or if they move in several
        // steps. These need the capacity of at least another product.
        let (products, deeper) = match blocks {
            1 => {
                self.products_to_repeat(&self.insert_axis(&self.transpose(b)?, 0)?, &way.layout)?
            }
            _ => (inner * columns, false),
        };
        let all = others + moved(products);
        Ok(if deeper { all + all / 3 > work } else { all > least })
    }

    /// Returns the product after repeating both matrices to `layout`.
    ///
    /// The axes of `layout` are the rows, the columns, and the inner axis, which is summed over.
    fn product_as<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        layout: Layout,
    ) -> Result<Array<F>, Error> {
        let rows = self.broadcast_as(&self.insert_axis(a, 1)?, layout.clone())?;
        let columns = self.broadcast_as(&self.insert_axis(&self.transpose(b)?, 0)?, layout)?;
        self.sum(&self.mul(&rows, &columns)?, Some(2))
    }

    /// Chooses the layout for a product by copies.
    ///
    /// If all copies fit between the elements of the first matrix, they go there. Otherwise blocks
    /// of columns go there if that cuts the work enough, and all copies go beyond the matrix if
    /// not.
    ///
    /// # Errors
    /// [`Error::Shape`] when the copies need more than [`MAX_SLOTS_OF_PRODUCTS`] slots.
    fn way_of_product<F: Form>(&self, a: &Array<F>, b: &Array<F>) -> Result<Way, Error> {
        let (shape, strides, columns) = (a.shape(), a.layout().strides(), b.shape()[1]);
        let end = shape
            .iter()
            .zip(strides)
            .filter(|(n, _)| **n > 1)
            .map(|(n, s)| n.next_power_of_two() * s)
            .max();
        let end = end.unwrap_or(1);
        let copies = |at_once: usize, stride: usize| {
            let (shape, strides) =
                (vec![shape[0], at_once, shape[1]], vec![strides[0], stride, strides[1]]);
            Layout::new(shape, strides, F::slots(&self.session))
        };
        let between = |at_once: usize| {
            let layout = (0..end.ilog2()).find_map(|log2| copies(at_once, 1 << log2).ok());
            layout.map(|layout| Way { layout, at_once })
        };
        if let Some(way) = between(columns) {
            return Ok(way);
        }
        let beyond = columns.saturating_mul(end) <= MAX_SLOTS_OF_PRODUCTS;
        let beyond = beyond
            .then(|| copies(columns, end))
            .transpose()?
            .map(|layout| Way { layout, at_once: columns });
        let halves = std::iter::successors(Some(columns.next_power_of_two() / 2), |n| Some(n / 2));
        let blocks = halves.take_while(|n| *n > 1).find_map(between);
        let blocks = blocks.filter(|way| {
            let (blocks, ciphertexts) = way.count(columns);
            // The work of a product, of the sum over its slots, and of joining with a distance for
            // each row of a block.
            let each =
                ROTATION_IN_PLAIN_PRODUCTS * (2 + shape[1].next_power_of_two().ilog2() as usize);
            let work = ciphertexts * each + blocks * shape[0];
            let less = |beyond: &Way| {
                shape[0] <= MAX_DISTANCES_IN_ONE_STEP
                    && MIN_SAVING_OF_BLOCKS * work < beyond.layout.ciphertexts() * each
            };
            ciphertexts.saturating_mul(F::slots(&self.session)) <= MAX_SLOTS_OF_PRODUCTS
                && beyond.as_ref().is_none_or(less)
                && self.form_of(&[a, b]).has_products(self, a, 3)
        });
        blocks.or(beyond).ok_or_else(|| {
            let what = format!(
                "shapes {shape:?} and {:?} take {columns} times {end} slots: {MAX_SLOTS_OF_PRODUCTS} are the most, so take fewer columns of the second at a time",
                b.shape()
            );
            Error::shape(OPERATION, what)
        })
    }
}

#[cfg(test)]
mod tests;
