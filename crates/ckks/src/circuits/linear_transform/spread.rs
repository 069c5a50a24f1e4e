//! How a linear map spreads errors.

use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

/// What a linear map of `m` rows that are not zero makes of errors of its arguments: of those that
/// are independent of each other, and of those that are the same in all ([`Noise::common`]).
///
/// With `a_ij` the numbers of the map and all of `e_j` independent of variance `w^2`, but for `c`
/// that is in all of them, `sum_j a_ij (e_j + c)` has variance `w^2 sum_j |a_ij|^2 + c^2 |sum_j
/// a_ij|^2`; the mean over the rows has `w^2 sum_j |sum_i a_ij/m|^2 + c^2 |sum_ij a_ij/m|^2`, of
/// which independent results would have the `m`-th part of their own variance.
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
    /// Of the map with these entries, each with its row and its column, where there are up to so
    /// many of both.
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

    /// The noise of a result: `estimate` if all that the argument's `noise` comes to were
    /// independent, which is in the unit of the result. It is no smaller where entries of a row
    /// cancel each other: what is said to be common is so at most, and in copies of an element that
    /// were made by rotations, for one, the noise of these is not.
    ///
    /// What is more than the argument's noise in it is that of `babies` rotations of the argument,
    /// each of which goes into the results of every giant step: into one in `babies` of those that
    /// the argument itself goes into.
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

    /// The part of `switches`, what key switches of so many rotations are in a result, that is the
    /// same in all results.
    fn common_of_rotations(&self, switches: Noise, babies: f64) -> Noise {
        if self.rows == 1.0 || self.energy == 0.0 {
            return Noise::NONE;
        }
        let share = self.columns / babies.max(1.0) / self.energy;
        let variance = (share - 1.0 / self.rows).max(0.0) / (1.0 - 1.0 / self.rows);
        let common = switches.scaled(0.5 * log2(variance));
        common.with_common(common).without_zeros()
    }

    /// The part of the error that is the same in all results, where the argument has `noise`: none
    /// where there is one result.
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

    /// The noise of what a matrix makes of errors of which this part of the variance 1 is common,
    /// and its common part.
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

    /// The mean over results of the variance of each, and that of their mean, of errors of this
    /// covariance.
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
                // Nothing cancels.
                let energy: f64 = matrix.iter().flatten().map(|a| a * a).sum();
                let alone = energy
                    / matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count() as f64;
                let need = each.max(alone);
                assert!(
                    (of_each - need).abs() < 1e-9 * (1.0 + need),
                    "{matrix:?} {common}: {of_each} {need}"
                );
                // Results with this in common, and else independent, have the mean that they have.
                let rows = matrix.iter().filter(|row| row.iter().any(|a| *a != 0.0)).count() as f64;
                let mean = shared + (of_each - shared) / rows;
                assert!(
                    mean > of_mean - 1e-9 && (shared < 1e-9 || mean < of_mean + 1e-9),
                    "{mean} {of_mean}"
                );
            }
        }
        // What is the same in all stays so where rows add up to 1.
        assert!((spread(&matrices[0], 1.0)[1] - 1.0).abs() < 1e-9);
        // One result has nothing in common with others, and nothing comes of no noise.
        assert_eq!(spread(&[vec![1.0, 1.0]], 0.5)[1], 0.0);
        let one = Spread::of(1, 1, [(0, 0, Complex64::from(2.0))]);
        assert_eq!(one.noise(Noise::NONE, Noise::from_std(3.0), 1.0), Noise::from_std(3.0));
    }
}
