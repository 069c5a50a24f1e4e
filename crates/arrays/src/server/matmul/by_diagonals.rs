//! Products of two encrypted matrices by diagonals, such as `x.T @ y`.
//!
//! A row of slots is the range of slots from one element of the inner axis to the next. Both
//! matrices must have the same strides, and each index of the inner axis must have its own row of
//! slots, as the rows of fresh arrays `x` and `y` do.
//!
//! Element `(u, i)` of `x` and element `(u, j)` of `y` are `j - i` places apart for all `u`. If one
//! array is rotated by this distance, the product of both, summed over all `u`, is one diagonal of
//! the result. A result of `m` rows and `n` columns has `m + n - 1` diagonals. The sums run over
//! all rows of slots, so that every row of slots holds them. One mask for each diagonal then picks
//! each element in the row of slots where it belongs, without another rotation.
//!
//! `x.T @ x` needs only the `n` diagonals from the main one on. The elements below it equal those
//! above it, and are brought to their places by one rotation for each diagonal.

use crate::server::{
    Server,
    matmul::by_tiles::{SHORT_ROTATIONS, strides},
    moves::Moves,
    planner::choose::{Candidate, MARGIN_BITS_OF_UNKNOWN_GROWTH},
    planner::prices::MAX_SLOTS_OF_PRODUCTS,
};
use crate::{Arithmetic, Array, Error, Layout, SlotContents};

/// The sizes and strides of a product by diagonals.
#[derive(Debug, Clone)]
pub(in crate::server) struct Gram {
    rows: usize,
    inner: usize,
    columns: usize,
    /// The strides of both matrices, in slots: along the rows or columns of the product, and along
    /// the inner axis.
    strides: [usize; 2],
    slots: usize,
    ciphertexts: usize,
    /// True if the first matrix is the transpose of the second one.
    symmetric: bool,
}

impl Gram {
    /// Returns the product by diagonals, if the layouts of both matrices allow it.
    ///
    /// Stray slots must also be zero in one of them.
    pub(in crate::server) fn of<F: Arithmetic>(a: &Array<F>, b: &Array<F>) -> Option<Gram> {
        Self::of_cleaned(a, b).filter(|_| a.is_clean() || b.is_clean())
    }

    /// Returns the product by diagonals that the layouts allow once stray slots are zero.
    pub(in crate::server) fn of_cleaned<F: Arithmetic>(a: &Array<F>, b: &Array<F>) -> Option<Gram> {
        let slots = a.layout().slots();
        let (rows, inner, columns) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let ([outer, along], [other_along, other_outer]) =
            (strides(a.layout()), strides(b.layout()));
        let fits = outer == other_outer && along == other_along;
        let row = F::row(slots);
        // Elements for one index of the inner axis must fit into a row of slots. Such rows must lie
        // in slots that rotate together, so that each of them gets the sum over all.
        let apart = rows.max(columns).saturating_mul(outer) <= along && along <= row;
        let ciphertexts = a.layout().ciphertexts();
        let alike = ciphertexts == b.layout().ciphertexts();
        let symmetric = a.has_ciphertexts_of(b) && rows == columns;
        let gram =
            Gram { rows, inner, columns, strides: [outer, along], slots, ciphertexts, symmetric };
        let room = gram.diagonals().saturating_mul(slots) <= MAX_SLOTS_OF_PRODUCTS;
        (fits && apart && alike && room).then_some(gram)
    }

    /// Returns true if the first matrix is the transpose of the second one.
    pub(in crate::server) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Returns the number of diagonals.
    fn diagonals(&self) -> usize {
        if self.symmetric { self.columns } else { self.rows + self.columns - 1 }
    }

    /// Returns the moves `(to, from)` from all diagonals to the elements of the product.
    ///
    /// The source positions count the ciphertexts of all diagonals one after the other.
    fn moves(&self, out: &Layout) -> Moves {
        let elements = (0..self.rows).flat_map(|i| (0..self.columns).map(move |j| (i, j)));
        let [outer, along] = self.strides;
        let from = |(i, j): (usize, usize)| match self.symmetric && i > j {
            // Element `(j, i)` has the same value and lies in column `i`. In row `i` of slots, its
            // distance from the target is the same for the whole diagonal.
            true => (self.columns - 1 + j - i) * self.slots + i * (along + outer) % self.slots,
            false => (self.columns - 1 + i - j) * self.slots + (i * along + j * outer) % self.slots,
        };
        out.positions().zip(elements).map(|(to, element)| (to, from(element))).collect()
    }
}

impl Server {
    /// Returns the product of two matrices by its diagonals. It is two multiplications deep.
    pub(in crate::server) fn gram_product<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        gram: &Gram,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let (form, slots, [outer, along]) = (self.form_of(&[a, b]), gram.slots, gram.strides);
        let layout = Layout::packed(&[gram.diagonals() * slots], slots)?;
        let sums = Candidate::new("diagonals", |server: &Server, [a, b]: [_; 2]| {
            let sums = server.diagonals_of(&form, a, b, gram).map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(layout.clone(), form.clone(), SlotContents::Stray, sums))
        });
        let most_bits = form.product_bits(self) + MARGIN_BITS_OF_UNKNOWN_GROWTH;
        let diagonals = self.perform(operation, [a, b], most_bits, &[sums])?;
        let out = Layout::new(vec![gram.rows, gram.columns], vec![along, outer], slots)?;
        let entries: Vec<_> =
            gram.moves(&out).into_iter().map(|(to, from)| (to, from, F::ONE)).collect();
        self.linear_map(&diagonals, out, entries, operation)
    }

    /// Returns the diagonals, one ciphertext each, with their sums in all rows of slots.
    ///
    /// The first one begins at the last column of the first row. Those that begin at the columns
    /// before it follow, up to the main diagonal, and then those that begin at the rows of the
    /// first column.
    fn diagonals_of<F: Arithmetic>(
        &self,
        form: &F,
        a: &Array<F>,
        b: &Array<F>,
        gram: &Gram,
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let (outer, in_ciphertext) = (gram.strides[0] as i64, gram.slots / gram.strides[1]);
        let (a, b) = (a.expanded(&self.session), b.expanded(&self.session));
        // Both factors, the first one rotated for the first diagonal.
        let mut factors = self.session.compute_each(a.len(), |i| {
            let [left, right] = form.as_factors(self, &a[i], &b[i])?;
            Ok((form.rotate(self, &left, -outer * (gram.columns as i64 - 1))?, right.into_owned()))
        })?;
        let mut out = Vec::with_capacity(gram.diagonals());
        while out.len() < gram.diagonals() {
            let now = SHORT_ROTATIONS.min(gram.diagonals() - out.len());
            let steps: Vec<i64> = (0..now as i64).map(|k| k * outer).collect();
            let rotated = self
                .session
                .compute_each(factors.len(), |i| form.rotate_many(self, &factors[i].0, &steps))?;
            out.extend(self.session.compute_each(now, |k| {
                let pairs: Vec<_> = rotated
                    .iter()
                    .zip(&factors)
                    .map(|(left, (_, right))| (&left[k], right))
                    .collect();
                let product = self.sum_of_pairs(form, &pairs)?;
                let sum = form.inner_sum(self, &product, gram.strides[1], in_ciphertext)?;
                // Several ciphertexts have bounds of their own, so that all their summands count.
                let there = if gram.ciphertexts == 1 { gram.inner } else { in_ciphertext };
                Ok(form.with_summands(sum, there, in_ciphertext))
            })?);
            if out.len() < gram.diagonals() {
                let next =
                    |i: usize| form.rotate(self, &factors[i].0, outer * SHORT_ROTATIONS as i64);
                let next = self.session.compute_each(factors.len(), next)?;
                factors.iter_mut().zip(next).for_each(|(factor, next)| factor.0 = next);
            }
        }
        Ok(out)
    }
}
