//! Products of plain matrices and encrypted vectors.

use std::collections::BTreeMap;

use super::{LinearTransform, Permutation};
use crate::{BgvError, Ciphertext, Context, Evaluator};

/// A plain matrix for products with the vector in the first slots of each row of slots.
///
/// A flat matrix has at least twice as many columns as `R`, the number of its rows rounded up to a
/// power of two. Its entry `(r, c)` is multiplied at the first slot `i >= c` with `i = r mod R`.
/// This needs `R` diagonals. Then all slots that are `r` modulo `R` are added up. Any other matrix
/// needs one diagonal for each difference `c - r`.
///
/// ```
/// use std::sync::Arc;
/// use hippocrene_bgv::{Context, Matrix};
/// use hippocrene_ring::{Threads, primes::ntt_primes};
/// use hippocrene_rlwe::{
///     self as rlwe, Parameters, ParametersLiteral, SecretDistribution, Sprout,
/// };
///
/// // Parameters as small as these are for tests only.
/// let primes = ntt_primes(48, 1 << 8, 5, &[])?;
/// let parameters = Parameters::new_insecure(ParametersLiteral {
///     log_degree: 8,
///     units: primes[..3].to_vec(),
///     specials: primes[3..].to_vec(),
///     sprout: Sprout::default(),
///     gadget_rank: 2,
///     secret: SecretDistribution::Ternary,
/// })?;
/// let rlwe = Arc::new(rlwe::Context::new(parameters, Threads::single())?);
/// let context = Context::new(rlwe, 7681)?;
///
/// let matrix = Matrix::new(&context, &[vec![1, 2], vec![3, 4]])?;
/// assert_eq!(matrix.shape(), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Matrix {
    transform: LinearTransform,
    rows: usize,
    columns: usize,
    /// The step and the number of rotations of the sum over slots that follows, for a flat matrix.
    fold: Option<(usize, usize)>,
}

impl Matrix {
    /// Makes the matrix with these rows, which must have the same length.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` gives no slots. Returns [`BgvError::Argument`] if
    /// there are no entries, if rows have different lengths, or if there are more than `N/2` rows
    /// or columns.
    pub fn new(context: &Context, matrix: &[Vec<i64>]) -> Result<Self, BgvError> {
        let degree = context.rlwe().degree();
        let row = degree / 2;
        let (rows, columns) = (matrix.len(), matrix.first().map_or(0, Vec::len));
        let fits = (1..=row).contains(&rows) && (1..=row).contains(&columns);
        if !fits || matrix.iter().any(|row| row.len() != columns) {
            let what = format!(
                "the matrix has {rows} rows and its first row has {columns} entries. 1 to {row} \
                 rows of the same length from 1 to {row} are needed."
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

    /// The number of rows and the number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The linear transform of the matrix. The memory of its encodings can be limited.
    pub fn transform(&self) -> &LinearTransform {
        &self.transform
    }

    /// The rotations whose keys the product with this matrix uses.
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
    /// Returns the product of the matrix and the vector in the first slots of each row of `a`.
    ///
    /// The length of the vector is the number of columns. The result is in the first slots of each
    /// row, and its length is the number of rows. The other slots of `a` may hold anything, and the
    /// other slots of the result are stray.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::linear_transform`] and [`Evaluator::inner_sum`].
    pub fn matrix_product(&self, matrix: &Matrix, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        let product = self.linear_transform(a, &matrix.transform)?;
        match matrix.fold {
            Some((step, count)) => self.inner_sum(&product, step as i64, count),
            None => Ok(product),
        }
    }
}
