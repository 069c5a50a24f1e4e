//! Products of plain matrices that make an axis longer, and arrays of many rows.
//!
//! Rows that grow have to move apart, each by a distance of its own. A product by diagonals then
//! needs about one product with a plaintext for each slot. Here the rows stay where they are. The
//! whole array is copied, one copy after the other. Each copy is multiplied by a row of the matrix
//! and added up along the axis. The slots of that axis are left over between the elements of the
//! result.

use std::iter::repeat_n;

use crate::server::{Server, planner::prices::MAX_SLOTS_OF_PRODUCTS};
use crate::{Arithmetic, Array, Error, Layout};

/// Maximum number of ciphertexts of the result, as a multiple of a fresh array's number.
const MAX_CIPHERTEXT_GROWTH: usize = 32;

impl Server {
    /// Returns `sum_j weight(i, j) a_j` over axis `axis` of `a`, for all `i` below `rows`, by
    /// copies.
    ///
    /// The result is one multiplication deep. It is `None` if copies are more work than diagonals,
    /// if they need too many slots or ciphertexts, or if stray slots would have to be set to zero
    /// first.
    pub(in crate::server) fn wide_product<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: usize,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        self.check(a, operation)?;
        let (layout, slots, columns) = (a.layout(), a.layout().slots(), a.shape()[axis]);
        let end = (layout.last() + 1).next_power_of_two();
        if rows.saturating_mul(end) > MAX_SLOTS_OF_PRODUCTS || !(a.is_clean() || end >= slots) {
            return Ok(None);
        }
        let (mut shape, mut strides) = (a.shape().to_vec(), layout.strides().to_vec());
        shape[axis] = rows;
        let packed = Layout::packed(&shape, slots)?;
        shape.insert(axis + 1, columns);
        strides.insert(axis, end);
        let copies = Layout::new(shape, strides, slots)?;
        let (outer, inner) =
            (a.shape()[..axis].iter().product(), a.shape()[axis + 1..].iter().product());
        let sums = columns.next_power_of_two().ilog2() as usize;
        let work = copies.ciphertexts() * (1 + self.prices(a)?.rotation * sums);
        let diagonals = packed.ciphertexts() * columns * (slots / rows).min(outer * inner);
        if work > diagonals || copies.ciphertexts() > MAX_CIPHERTEXT_GROWTH * packed.ciphertexts() {
            return Ok(None);
        }
        let repeated = self.insert_axis(a, axis).and_then(|a| self.broadcast_as(&a, copies));
        let products = repeated.and_then(|repeated| {
            let weights = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
            let weights: Vec<F::Number> =
                weights.flat_map(|(i, j)| repeat_n(weight(i, j), inner)).collect();
            self.mul_plain(&repeated, F::plain(&weights.repeat(outer)))
        });
        let sum = products.and_then(|products| self.sum(&products, Some(axis + 1)));
        sum.map(Some).map_err(|e| e.during(operation))
    }
}
