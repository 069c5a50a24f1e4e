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

/// Minimum factor by which blocks must cut the work.
const MIN_SAVING_OF_BLOCKS: usize = 2;

/// Minimum factor by which zeros in slots without an element must cut the work. To set them takes a
/// multiplication.
const MIN_SAVING_OF_ZEROS: usize = 4;

/// Minimum factor by which moving a matrix must cut the work. To move it takes one or two
/// multiplications.
const MIN_SAVING_OF_A_MOVE: usize = 2;

/// Number of products that tiles take one after the other.
const DEPTH_OF_TILES: usize = 2;

/// Where the products of two matrices stand: columns of the second one are taken so many at a time,
/// and repeated to this layout.
struct Way {
    layout: Layout,
    at_once: usize,
}

/// The first matrix, or the second one, moved to another layout before a product by tiles.
struct Moved {
    is_first: bool,
    layout: Layout,
    moves: Moves,
    way: several_steps::Way,
    tiles: Tiles,
    work: usize,
}

/// Ways that take no copies for all rows and columns.
enum Faster {
    Tiles(Tiles),
    Gram(Gram),
}

impl Way {
    /// How many blocks of columns there are, and how many ciphertexts of products.
    fn count(&self, columns: usize) -> (usize, usize) {
        let blocks = columns.div_ceil(self.at_once);
        (blocks, blocks * self.layout.ciphertexts())
    }
}

impl Server {
    /// The product of two matrices, by tiles or by diagonals where these take much less work, or by
    /// copies: the first one stays where it is, and its copies for the columns of the second stand
    /// in the slots between its elements, if there is room, or beyond it: so do the columns of the
    /// product, and the next product of a chain finds room between them. Where there is room for
    /// some columns at a time, and copies beyond would take far more ciphertexts, as after
    /// [`Server::wide_product`], blocks of as many columns are multiplied and joined, which is
    /// another multiplication; of many rows, each of which takes a distance to be joined, only
    /// where there is no other way.
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
            // They move both matrices, where copies may take one of them as it stands, with less
            // capacity.
            if !(way.is_ok() && matches!(product, Err(Error::Capacity { .. } | Error::Budget(_)))) {
                return product;
            }
        }
        self.product_of_copies(a, b, way?)
    }

    /// The product by tiles of one matrix and the other one moved to where it would stand if it
    /// were fresh, as `x @ y.T` wants `y.T`; `None` where something else takes less than [`MIN_SAVING_OF_A_MOVE`]
    /// times as much work, or too few multiplications are left.
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
            // What is left is estimated; other ways take a multiplication less.
            Err(Error::Capacity { .. } | Error::Budget(_)) => Ok(None),
            product => product.map(Some),
        }
    }

    /// The product by copies for all columns and rows.
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

    /// Whether a way to multiply two matrices takes much more than `work`, in products with
    /// plaintexts, where there is capacity for two multiplications, or does not exist.
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
        // Columns of the second matrix are copied for all rows, the first matrix for all columns,
        // and products are added up.
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
        // In fewer products where columns stand there already, or go in two steps, which take the
        // capacity of another product.
        let (products, deeper) = match blocks {
            1 => {
                self.products_to_repeat(&self.insert_axis(&self.transpose(b)?, 0)?, &way.layout)?
            }
            _ => (inner * columns, false),
        };
        let all = others + moved(products);
        Ok(if deeper { all + all / 3 > work } else { all > least })
    }

    /// The product with both repeated to `layout`: of rows, columns, and what is summed over.
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

    /// The way that takes least, of those that there are.
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
            // A product, the sum over its slots, and joining, by a distance for each row of a
            // block.
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
