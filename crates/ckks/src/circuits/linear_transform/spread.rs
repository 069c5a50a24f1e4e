//! How a linear map combines the errors of its arguments.

use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

/// How a linear map with `m` non-zero rows combines the errors of its arguments, both independent
/// errors and errors that are the same in all arguments ([`Noise::common`]).
///
/// Let `a_ij` be the numbers of the map. Let the errors be `e_j + c`, where the `e_j` are
/// independent with variance `w^2` and `c` is common to all. Then `sum_j a_ij (e_j + c)` has
/// variance `w^2 sum_j |a_ij|^2 + c^2 |sum_j a_ij|^2`. The mean over the rows has variance `w^2
/// sum_j |sum_i a_ij/m|^2 + c^2 |sum_ij a_ij/m|^2`. If the results were independent, it would be
/// `1/m` of their own variance.
///
/// # Examples
/// ```
/// use hippocrene_ckks::circuits::Spread;
/// use hippocrene_rlwe::Noise;
/// use num_complex::Complex64;
///
/// // Two rows that both hold the sum of two arguments: their errors are the same.
/// let one = Complex64::from(1.0);
/// let map = Spread::of(2, 2, [(0, 0, one), (0, 1, one), (1, 0, one), (1, 1, one)]);
/// let common = map.common(Noise::from_std(1.0));
/// assert!((common.log2_std() - 0.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    rows: f64,
    /// The mean over rows of `sum_j |a_ij|^2`.
    energy: f64,
    /// The mean over rows of `|sum_j a_ij|^2`.
    sums: f64,
    /// `|sum_ij a_ij/m|^2`.
    mean: f64,
    /// `sum_j |sum_i a_ij/m|^2`.
    columns: f64,
}

impl Spread {
    /// Returns the summary of the map with these entries, each with its row, below `rows`, and its
    /// column, below `columns`.
    pub fn of(
        rows: usize,
        columns: usize,
        entries: impl IntoIterator<Item = (usize, usize, Complex64)>,
    ) -> Self {
        let mut of_rows = vec![(Complex64::ZERO, 0.0); rows];
        let mut of_columns = vec![Complex64::ZERO; columns];
        entries.into_iter().for_each(|(i, j, a)| {
            of_rows[i].0 += a;
            of_rows[i].1 += a.norm_sqr();
            of_columns[j] += a;
        });
        of_rows.retain(|(_, energy)| *energy > 0.0);
        let rows = of_rows.len().max(1) as f64;
        Spread {
            rows,
            energy: of_rows.iter().map(|(_, energy)| energy).sum::<f64>() / rows,
            sums: of_rows.iter().map(|(sum, _)| sum.norm_sqr()).sum::<f64>() / rows,
            mean: (of_rows.iter().map(|(sum, _)| sum).sum::<Complex64>() / rows).norm_sqr(),
            columns: of_columns.iter().map(|sum| (sum / rows).norm_sqr()).sum(),
        }
    }

    /// Returns the noise of the result of the map on an argument with `noise`.
    ///
    /// `estimate` is the noise of the result if the argument's errors were independent, in the unit
    /// of the result. The returned noise is never smaller, even if entries of a row cancel each
    /// other. The share of the noise that is declared as common is an upper bound. For example,
    /// copies of an element that were made by rotations do not share the noise of these rotations.
    ///
    /// The part of `estimate` beyond the argument's noise comes from `babies` rotations of the
    /// argument. Each of them enters the results of every giant step, and so one in `babies` of the
    /// results that the argument itself enters.
    #[must_use]
    pub fn noise(&self, noise: Noise, estimate: Noise, babies: f64) -> Noise {
        if !noise.log2_std().is_finite() {
            return estimate;
        }
        let share = noise.common_share().powi(2);
        let part = |variance: f64| {
            noise.scaled(0.5 * log2(variance)).without_zeros().with_common(Noise::NONE)
        };
        let grown = estimate.plus(part(share * (self.sums - self.energy).max(0.0)));
        let switches = estimate.less(noise.scaled(0.5 * log2(self.energy)));
        grown.with_common(self.common(noise).plus(self.common_of_rotations(switches, babies)))
    }

    /// Returns the part of `switches` that is the same in all results, where `switches` is the
    /// noise of the key switches of `babies` rotations.
    fn common_of_rotations(&self, switches: Noise, babies: f64) -> Noise {
        if self.rows == 1.0 || self.energy == 0.0 {
            return Noise::NONE;
        }
        let share = self.columns / babies.max(1.0) / self.energy;
        let variance = (share - 1.0 / self.rows).max(0.0) / (1.0 - 1.0 / self.rows);
        let common = switches.scaled(0.5 * log2(variance));
        common.with_common(common).without_zeros()
    }

    /// Returns the part of the error that is the same in all results, for an argument with `noise`.
    /// It is none if there is only one result.
    #[must_use]
    pub fn common(&self, noise: Noise) -> Noise {
        if self.rows == 1.0 {
            return Noise::NONE;
        }
        let share = noise.common_share().powi(2);
        let of_mean = self.columns * (1.0 - share) + self.mean * share;
        let of_each = self.energy * (1.0 - share) + self.sums * share;
        let variance = (of_mean - of_each / self.rows).max(0.0) / (1.0 - 1.0 / self.rows);
        let common = Noise::from_log2_std(noise.log2_std() + 0.5 * log2(variance));
        common.with_common(common).without_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variance of the noise of a matrix times errors of variance 1, and the variance
    /// of its common part. `common` is the common part of the variance of the errors.
    fn spread(matrix: &[Vec<f64>], common: f64) -> [f64; 2] {
        let entries = matrix.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().map(move |(j, a)| (i, j, Complex64::from(*a)))
        });
        let map = Spread::of(matrix.len(), matrix[0].len(), entries);
        let noise = Noise::from_std(1.0).with_common(Noise::from_std(common.sqrt()));
        let rows = matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count() as f64;
        let energy: f64 = matrix.iter().flatten().map(|a| a * a).sum();
        let out = map.noise(noise, Noise::from_std((energy / rows).sqrt()), 1.0);
        [out, out.common()].map(|noise| (2.0 * noise.log2_std()).exp2())
    }

    /// Returns the mean over results of the variance of each, and the variance of their mean, for
    /// errors with this covariance.
    fn reference(matrix: &[Vec<f64>], common: f64) -> [f64; 2] {
        let covariance = |j: usize, k: usize| common + if j == k { 1.0 - common } else { 0.0 };
        let of = |row: &[f64]| -> f64 {
            let products = row.iter().enumerate().flat_map(|(j, a)| {
                row.iter().enumerate().map(move |(k, b)| a * b * covariance(j, k))
            });
            products.sum()
        };
        let rows: Vec<&Vec<f64>> =
            matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).collect();
        let count = rows.len() as f64;
        let mean: Vec<f64> = (0..matrix[0].len())
            .map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / count)
            .collect();
        [rows.iter().map(|row| of(row)).sum::<f64>() / count, of(&mean)]
    }

    #[test]
    fn variances_are_those_of_the_covariance() {
        let matrices = [
            vec![vec![0.25; 4]; 3],
            vec![vec![1.0, 2.0, 3.0], vec![0.0; 3], vec![2.0, 2.0, -1.0], vec![0.5, 4.0, 1.0]],
            vec![vec![1.0, -1.0, 0.0], vec![0.0, 1.0, -1.0]],
            vec![vec![0.0, 0.0, 1.0], vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]],
        ];
        for matrix in &matrices {
            for common in [0.0, 0.3, 1.0] {
                let ([of_each, shared], [each, of_mean]) =
                    (spread(matrix, common), reference(matrix, common));
                // Cancellation does not reduce the noise.
                let energy: f64 = matrix.iter().flatten().map(|a| a * a).sum();
                let alone = energy
                    / matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count() as f64;
                let need = each.max(alone);
                assert!(
                    (of_each - need).abs() < 1e-9 * (1.0 + need),
                    "{matrix:?} {common}: {of_each} {need}"
                );
                // Results with this common part, and otherwise independent, have a mean of this
                // variance.
                let rows = matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count() as f64;
                let mean = shared + (of_each - shared) / rows;
                assert!(
                    mean > of_mean - 1e-9 && (shared < 1e-9 || mean < of_mean + 1e-9),
                    "{mean} {of_mean}"
                );
            }
        }
        // An error that is the same in all arguments stays the same if the rows add up to 1.
        assert!((spread(&matrices[0], 1.0)[1] - 1.0).abs() < 1e-9);
        // A single result has no common part, and a map of no noise adds none.
        assert_eq!(spread(&[vec![1.0, 1.0]], 0.5)[1], 0.0);
        let one = Spread::of(1, 1, [(0, 0, Complex64::from(2.0))]);
        assert_eq!(one.noise(Noise::NONE, Noise::from_std(3.0), 1.0), Noise::from_std(3.0));
    }
}
