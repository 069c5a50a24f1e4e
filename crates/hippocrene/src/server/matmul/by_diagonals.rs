//! Products of two encrypted matrices whose inner axis stands in both as the rows of fresh arrays
//! do: `x.T @ y`.
//!
//! Element `(u, i)` of one array and `(u, j)` of the other stand `j - i` places apart for all `u`.
//! With one array rotated by as much, the product of both, summed over all `u`, is one diagonal of
//! the result. There are `m + n - 1` diagonals. Summed over all rows of slots, every row has the
//! sum, and as many masks bring each element to the row where it belongs: it takes no rotation
//! more. Of `x.T @ x` the `n` diagonals from the main one on are had, and elements below it are
//! those above, brought there by a rotation for each diagonal.

use crate::server::{
    Server,
    matmul::by_tiles::{SHORT_ROTATIONS, strides},
    moves::Moves,
    planner::prices::{
        HOISTED_ROTATION_IN_PLAIN_PRODUCTS, MAX_SLOTS_OF_PRODUCTS, ROTATION_IN_PLAIN_PRODUCTS,
        TENSOR_IN_PLAIN_PRODUCTS,
    },
};
use crate::{Array, Error, Form, Layout, SlotContents};

/// How such a product is had.
#[derive(Debug, Clone)]
pub(in crate::server) struct Gram {
    rows: usize,
    inner: usize,
    columns: usize,
    /// How far apart rows, and columns, stand, and numbers of the inner axis.
    strides: [usize; 2],
    slots: usize,
    ciphertexts: usize,
    /// Whether the first matrix is the second one transposed.
    symmetric: bool,
}

impl Gram {
    /// The way, if both stand so, and slots without an element are zero in one of them.
    pub(in crate::server) fn of<F: Form>(a: &Array<F>, b: &Array<F>) -> Option<Gram> {
        Self::of_cleaned(a, b).filter(|_| a.is_clean() || b.is_clean())
    }

    /// The way that there would be if slots without an element were zero.
    pub(in crate::server) fn of_cleaned<F: Form>(a: &Array<F>, b: &Array<F>) -> Option<Gram> {
        let slots = a.layout().slots();
        let (rows, inner, columns) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let ([outer, along], [other_along, other_outer]) =
            (strides(a.layout()), strides(b.layout()));
        let fits = outer == other_outer && along == other_along;
        let row = F::row(slots);
        // In one row of slots, so that the sum over all of them is had at each.
        let apart = rows.max(columns).saturating_mul(outer) <= along && along <= row;
        let ciphertexts = a.layout().ciphertexts();
        let alike = ciphertexts == b.layout().ciphertexts();
        let symmetric = a.has_ciphertexts_of(b) && rows == columns;
        let gram =
            Gram { rows, inner, columns, strides: [outer, along], slots, ciphertexts, symmetric };
        let room = gram.diagonals().saturating_mul(slots) <= MAX_SLOTS_OF_PRODUCTS;
        (fits && apart && alike && room).then_some(gram)
    }

    /// Whether the first matrix is the second one transposed.
    pub(in crate::server) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// How many diagonals there are.
    fn diagonals(&self) -> usize {
        if self.symmetric { self.columns } else { self.rows + self.columns - 1 }
    }

    /// About how many products with plaintexts take as long.
    pub(in crate::server) fn work(&self) -> usize {
        let sums = (self.slots / self.strides[1]).ilog2() as usize;
        self.diagonals()
            * (self.ciphertexts * (HOISTED_ROTATION_IN_PLAIN_PRODUCTS + TENSOR_IN_PLAIN_PRODUCTS)
                + ROTATION_IN_PLAIN_PRODUCTS * (2 + sums + usize::from(self.symmetric))
                + 1)
    }

    /// Where elements come to stand, and from where in all diagonals, one ciphertext after the
    /// other.
    fn moves(&self, out: &Layout) -> Moves {
        let elements = (0..self.rows).flat_map(|i| (0..self.columns).map(move |j| (i, j)));
        let [outer, along] = self.strides;
        let from = |(i, j): (usize, usize)| match self.symmetric && i > j {
            // Element `(j, i)` of column `i`, in the row that makes the distance that of the
            // diagonal.
            true => (self.columns - 1 + j - i) * self.slots + i * (along + outer) % self.slots,
            false => (self.columns - 1 + i - j) * self.slots + (i * along + j * outer) % self.slots,
        };
        out.positions().zip(elements).map(|(to, element)| (to, from(element))).collect()
    }
}

impl Server {
    /// The product of two matrices by its diagonals: two multiplications deep.
    pub(in crate::server) fn gram_product<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        gram: &Gram,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let (form, slots, [outer, along]) = (self.form_of(&[a, b]), gram.slots, gram.strides);
        let layout = Layout::packed(&[gram.diagonals() * slots], slots)?;
        let diagonals = self.with_capacity([a, b], form.product_bits(self), |[a, b]| {
            let sums = self.diagonals_of(&form, a, b, gram).map_err(|e| e.during(operation))?;
            Ok(Array::from_ciphertexts(layout.clone(), form.clone(), SlotContents::Stray, sums))
        })?;
        let out = Layout::new(vec![gram.rows, gram.columns], vec![along, outer], slots)?;
        let entries: Vec<_> =
            gram.moves(&out).into_iter().map(|(to, from)| (to, from, F::ONE)).collect();
        self.linear_map(&diagonals, out, entries, operation)
    }

    /// The diagonals, each in all rows of slots: that of column `j` of the first row, for each `j`
    /// from the last one on, and then those of the first column.
    fn diagonals_of<F: Form>(
        &self,
        form: &F,
        a: &Array<F>,
        b: &Array<F>,
        gram: &Gram,
    ) -> Result<Vec<F::Ciphertext>, Error> {
        let (outer, in_ciphertext) = (gram.strides[0] as i64, gram.slots / gram.strides[1]);
        let (a, b) = (a.expanded(&self.session), b.expanded(&self.session));
        // Both factors, the first one as the first diagonal wants it.
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
                // Ciphertexts have bounds of their own.
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
