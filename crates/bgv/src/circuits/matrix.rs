//! Plain matrices times encrypted vectors.

use std::collections::BTreeMap;

use super::{LinearTransform, Permutation};
use crate::{BgvError, Ciphertext, Context, Evaluator};

/// A plain matrix that is multiplied with the vector in the first slots of each row of slots.
///
/// Where it has at least twice as many columns as rows, entry `(r, c)` of a matrix of `R` rows,
/// rounded up to a power of two, is multiplied with at the first slot `i >= c` with `i = r mod R`,
/// which takes `R` diagonals, and then all slots `r mod R` are added up. Otherwise it takes one
/// diagonal for each difference `c - r`.
#[derive(Debug)]
pub struct Matrix {
    transform: LinearTransform,
    rows: usize,
    columns: usize,
    /// The step and the count of the sum over slots that comes after.
    fold: Option<(usize, usize)>,
}

impl Matrix {
    /// The matrix with these rows, all of one length.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` gives no slots; [`BgvError::Argument`] when there are no
    /// entries, rows have different lengths, or there are more than `N/2` rows or columns.
    pub fn new(context: &Context, matrix: &[Vec<i64>]) -> Result<Self, BgvError> {
        let degree = context.rlwe().degree();
        let row = degree / 2;
        let (rows, columns) = (matrix.len(), matrix.first().map_or(0, Vec::len));
        let fits = (1..=row).contains(&rows) && (1..=row).contains(&columns);
        if !fits || matrix.iter().any(|row| row.len() != columns) {
            let what = format!(
                "a matrix of {rows} rows whose first has {columns} entries: 1 to {row} rows of one length from 1 to {row} are needed"
            );
            return Err(BgvError::Argument { operation: "make a matrix", what });
        }
        let step = rows.next_power_of_two();
        let fold = (columns >= 2 * step)
            .then(|| (step, ((columns - 1).div_ceil(step) + 1).min(row / step)));
        let mut diagonals: BTreeMap<Permutation, Vec<i64>> = BTreeMap::new();
        for (r, entries) in matrix.iter().enumerate() {
            for (c, entry) in entries.iter().enumerate().filter(|(_, entry)| **entry != 0) {
                let slot = match fold {
                    Some((step, _)) if c > r => r + (c - r).div_ceil(step) * step,
                    _ => r,
                } % row;
                let rotation = (row + c - slot) % row;
                let diagonal = diagonals
                    .entry(Permutation::rotated(rotation))
                    .or_insert_with(|| vec![0; degree]);
                (diagonal[slot], diagonal[row + slot]) = (*entry, *entry);
            }
        }
        if diagonals.is_empty() {
            diagonals.insert(Permutation::rotated(0), vec![0; degree]);
        }
        Ok(Matrix { transform: LinearTransform::new(context, &diagonals)?, rows, columns, fold })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The linear transform in it, whose memory may be limited.
    pub fn transform(&self) -> &LinearTransform {
        &self.transform
    }

    /// The rotations whose keys it wants.
    pub fn rotations(&self) -> Vec<i64> {
        let mut all = self.transform.rotations();
        if let Some((step, count)) = self.fold {
            all.extend((0..=count.ilog2()).map(|k| (step << k) as i64));
        }
        let row = self.transform.degree() as i64 / 2;
        all.retain(|step| step % row != 0);
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Evaluator {
    /// The matrix times the vector in the first slots of each row of slots, as many as the matrix
    /// has columns. The result is in the first slots of each row, as many as the matrix has rows;
    /// what is in the others is of no use, nor does it matter what the others of `a` hold.
    ///
    /// # Errors
    /// As [`Evaluator::linear_transform`] and [`Evaluator::inner_sum`].
    pub fn matrix_product(&self, matrix: &Matrix, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let product = self.linear_transform(a, &matrix.transform)?;
        match matrix.fold {
            Some((step, count)) => self.inner_sum(&product, step as i64, count),
            None => Ok(product),
        }
    }
}
