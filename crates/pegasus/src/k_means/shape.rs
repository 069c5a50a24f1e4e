//! The layout of points, centroids and bits.

use zeroize::Zeroizing;

use crate::{PegasusError, error::argument};

const OPERATION: &str = "lay out points";

/// The largest number of points (chosen).
const MAX_POINTS: usize = 1 << 20;

/// The largest number of slots of a ciphertext: half of the largest ring degree.
const MAX_SLOTS: usize = 1 << 16;

/// The largest number of other clusters that a point has slots to be compared with (chosen).
const MAX_COMPARED: usize = 8;

/// Returns the number of slots of one point in one cluster.
fn stride(dimension: usize, clusters: usize) -> usize {
    let others = clusters.next_power_of_two() - 1;
    dimension.max(others.min(MAX_COMPARED)).next_power_of_two()
}

/// The numbers of points, dimensions and clusters.
///
/// ```
/// use hippocrene_pegasus::Shape;
///
/// let shape = Shape::new(4, 3, 2)?;
/// assert_eq!((shape.stride(), shape.width()), (4, 8));
/// assert_eq!(shape.points_per_ciphertext(32)?, 4);
/// # Ok::<(), hippocrene_pegasus::PegasusError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    points: usize,
    dimension: usize,
    clusters: usize,
}

impl Shape {
    /// Makes the shape of at least two clusters of `points` points, not fewer than clusters, with a
    /// dimension of at least 1.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if a number is smaller than that, if there are more than
    /// `2^20` points, or if one point in all clusters needs more than `2^16` slots.
    pub fn new(points: usize, dimension: usize, clusters: usize) -> Result<Self, PegasusError> {
        if clusters < 2 || points < clusters || points > MAX_POINTS || dimension == 0 {
            return argument(
                OPERATION,
                format!(
                    "{points} points of dimension {dimension} in {clusters} clusters: at least 2 \
                     clusters, as many points as clusters and 1 dimension are needed, and at most \
                     2^20 points are possible"
                ),
            );
        }
        let width = dimension
            .checked_next_power_of_two()
            .and_then(|_| stride(dimension, clusters).checked_mul(clusters.next_power_of_two()));
        if width.is_none_or(|width| width > MAX_SLOTS) {
            let what = format!(
                "one point of dimension {dimension} in {clusters} clusters takes more than \
                 {MAX_SLOTS} slots, which no ciphertext has"
            );
            return argument(OPERATION, what);
        }
        Ok(Shape { points, dimension, clusters })
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The number of coordinates of a point.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// `d'`: the number of slots of one point in one cluster, a power of two.
    ///
    /// It has room for the coordinates, and for comparisons with up to 8 other clusters. So
    /// comparisons in slots compare all pairs at once.
    pub fn stride(&self) -> usize {
        stride(self.dimension, self.clusters)
    }

    /// `K' d'`: the number of slots of one point, which is also that of all centroids.
    pub fn width(&self) -> usize {
        self.stride() * self.clusters.next_power_of_two()
    }

    /// Returns the number of points in a ciphertext of at most `slots` slots, a power of two.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no room for one point.
    pub fn points_per_ciphertext(&self, slots: usize) -> Result<usize, PegasusError> {
        if self.width() > slots {
            let what = format!(
                "one point in all clusters takes {} slots, there are {slots}",
                self.width()
            );
            return argument(OPERATION, what);
        }
        Ok(self.points.next_power_of_two().min(slots / self.width()))
    }

    /// Returns the slots of the coordinates of all centroids, centroid by centroid.
    pub(super) fn centroid_slots(&self) -> Vec<usize> {
        (0..self.clusters)
            .flat_map(|j| (0..self.dimension).map(move |c| (j, c)))
            .map(|(j, c)| j * self.stride() + c)
            .collect()
    }

    /// Lays out points, given row by row, in the slots of ciphertexts of `together` points each
    /// ([`Shape::points_per_ciphertext`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of values is wrong, if a point is not in
    /// the unit ball, or if `together` is 0 or larger than the smallest power of two that holds all
    /// points.
    pub fn points_in_slots(
        &self,
        values: &[f64],
        together: usize,
    ) -> Result<Vec<Vec<f64>>, PegasusError> {
        self.check_together(together)?;
        self.check_rows(values, self.points)?;
        Ok(self.rows_in_slots(values, together))
    }

    /// Lays out points that will be assigned to the clusters of other points, like
    /// [`Shape::points_in_slots`]. Their number may be up to that of the points of this shape.
    /// `centroids` are the centroids that they are compared with, row by row.
    ///
    /// A point outside of the unit ball is moved to its surface, straight towards the nearest
    /// centroid. That centroid stays the nearest. The difference of the squared distances from
    /// another centroid and from it is a linear function of the point. It is not negative at the
    /// original point, nor at the centroid itself.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of values of points or centroids is wrong,
    /// or if squares of distances are too large for a number. Also returns the errors of
    /// [`Shape::points_in_slots`].
    pub fn new_points_in_slots(
        &self,
        values: &[f64],
        centroids: &[f64],
        together: usize,
    ) -> Result<Vec<Vec<f64>>, PegasusError> {
        const OPERATION: &str = "lay out new points";
        let (d, max_points) = (self.dimension, self.points);
        self.check_together(together)?;
        if values.is_empty() || !values.len().is_multiple_of(d) || values.len() > max_points * d {
            let have = values.len();
            let what = format!(
                "{have} numbers for points of dimension {d}: 1 to {max_points} points are possible \
                 at one time"
            );
            return argument(OPERATION, what);
        }
        if centroids.len() != self.clusters * d {
            let (have, clusters) = (centroids.len(), self.clusters);
            return argument(
                OPERATION,
                format!("{have} numbers for {clusters} centroids of dimension {d}"),
            );
        }
        let mut inside = Zeroizing::new(Vec::with_capacity(values.len()));
        for (i, point) in values.chunks_exact(d).enumerate() {
            if !norm(point).is_finite() {
                let what = format!(
                    "point {i} lies so far out that squares of distances are too large for a number"
                );
                return argument(OPERATION, what);
            }
            inside.extend(into_ball(point, centroids));
        }
        Ok(self.rows_in_slots(&inside, together))
    }

    /// Lays out whole rows in the slots of ciphertexts of `together` points each.
    fn rows_in_slots(&self, values: &[f64], together: usize) -> Vec<Vec<f64>> {
        let (d, stride, width) = (self.dimension, self.stride(), self.width());
        let mut ciphertexts =
            vec![vec![0.0; together * width]; (values.len() / d).div_ceil(together)];
        for (i, point) in values.chunks_exact(d).enumerate() {
            let slots = &mut ciphertexts[i / together][i % together * width..][..width];
            slots
                .chunks_exact_mut(stride)
                .take(self.clusters)
                .for_each(|slots| slots[..d].copy_from_slice(point));
        }
        ciphertexts
    }

    /// Lays out centroids, given row by row, in slots.
    ///
    /// # Errors
    /// Returns the errors of [`Shape::points_in_slots`].
    pub fn centroids_in_slots(&self, values: &[f64]) -> Result<Vec<f64>, PegasusError> {
        self.check_rows(values, self.clusters)?;
        let mut slots = vec![0.0; self.width()];
        self.centroid_slots()
            .into_iter()
            .zip(values)
            .for_each(|(slot, value)| slots[slot] = *value);
        Ok(slots)
    }

    /// Returns the centroids in these slots, row by row.
    ///
    /// # Panics
    /// Panics if there are fewer slots than [`Shape::width`].
    pub fn centroids_of_slots(&self, slots: &[f64]) -> Vec<f64> {
        self.centroid_slots().into_iter().map(|slot| slots[slot]).collect()
    }

    /// Returns the cluster of every point, from the slots of all ciphertexts of `together` points
    /// each. It is the cluster with the largest bit.
    ///
    /// # Panics
    /// Panics if there are fewer slots than the points need, or if `together` is 0.
    pub fn labels_of_slots(&self, ciphertexts: &[Vec<f64>], together: usize) -> Vec<usize> {
        let bit = |i: usize, j: usize| {
            ciphertexts[i / together][i % together * self.width() + j * self.stride()]
        };
        let label = |i: usize| {
            (1..self.clusters).fold(0, |best, j| if bit(i, j) > bit(i, best) { j } else { best })
        };
        (0..self.points).map(label).collect()
    }

    fn check_together(&self, together: usize) -> Result<(), PegasusError> {
        let max_points = self.points.next_power_of_two();
        if !(1..=max_points).contains(&together) {
            return argument(
                OPERATION,
                format!("{together} points in a ciphertext: 1 to {max_points} are possible"),
            );
        }
        Ok(())
    }

    fn check_rows(&self, values: &[f64], rows: usize) -> Result<(), PegasusError> {
        if values.len() != rows * self.dimension {
            let what = format!(
                "{} numbers for {rows} points of dimension {}",
                values.len(),
                self.dimension
            );
            return argument(OPERATION, what);
        }
        let outside = |point: &&[f64]| norm(point).is_nan() || norm(point) > 1.0 + 1e-9;
        match values.chunks_exact(self.dimension).find(outside) {
            Some(point) => argument(
                OPERATION,
                format!("a point of norm {}: points lie in the unit ball", norm(point)),
            ),
            None => Ok(()),
        }
    }
}

fn norm(point: &[f64]) -> f64 {
    point.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Returns the point itself if it is in the ball. Otherwise returns the point on the surface
/// between it and the nearest centroid.
fn into_ball(point: &[f64], centroids: &[f64]) -> Vec<f64> {
    if norm(point) <= 1.0 {
        return point.to_vec();
    }
    // The term |x|^2 is left out, because it is the same for all centroids.
    let distance = |centroid: &[f64]| inner(centroid, centroid) - 2.0 * inner(centroid, point);
    let nearer = |a: &&[f64], b: &&[f64]| distance(a).total_cmp(&distance(b));
    let nearest = centroids.chunks_exact(point.len()).min_by(nearer).unwrap_or(&[]);
    let way: Vec<f64> = point.iter().zip(nearest).map(|(x, c)| x - c).collect();
    // Solves |c + t direction| = 1.
    let (along, length) = (inner(nearest, &way), inner(&way, &way));
    let within = (1.0 - inner(nearest, nearest)).max(0.0);
    let t = ((along * along + length * within).sqrt() - along) / length;
    let moved: Vec<f64> = nearest.iter().zip(&way).map(|(c, w)| c + t * w).collect();
    let over = norm(&moved).max(1.0);
    moved.iter().map(|x| x / over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_in_the_slots_of_every_cluster() {
        let shape = Shape::new(3, 3, 2).unwrap();
        assert_eq!((shape.stride(), shape.width()), (4, 8));
        assert_eq!(
            (shape.points_per_ciphertext(64).unwrap(), shape.points_per_ciphertext(16).unwrap()),
            (4, 2)
        );
        let values: Vec<f64> = (1..=9).map(|i| f64::from(i) / 20.0).collect();
        let slots = shape.points_in_slots(&values, 2).unwrap();
        let first = [&values[..3], &[0.0]].concat();
        assert_eq!(slots[0][..8], [&first[..], &first].concat());
        assert_eq!(slots[1][..3], values[6..]);
        assert_eq!(slots[1][8..], [0.0; 8]);
        let centroids = shape.centroids_in_slots(&values[..6]).unwrap();
        assert_eq!(shape.centroids_of_slots(&centroids), values[..6]);
        let mut bits = vec![vec![0.0; 16]; 2];
        (bits[0][4], bits[0][8], bits[1][4]) = (0.9, 1.1, 1.0);
        assert_eq!(shape.labels_of_slots(&bits, 2), [1, 0, 1]);
        for (refused, what) in [
            (Shape::new(1, 1, 2).map(|_| ()), "1 points of dimension 1 in 2 clusters"),
            (Shape::new(4, 0, 2).map(|_| ()), "dimension 0"),
            (shape.points_per_ciphertext(4).map(|_| ()), "takes 8 slots, there are 4"),
            (shape.points_in_slots(&values[1..], 2).map(|_| ()), "8 numbers for 3 points"),
            (shape.points_in_slots(&values, 0).map(|_| ()), "0 points in a ciphertext: 1 to 4"),
            (
                shape.points_in_slots(&values, 1 << 63).map(|_| ()),
                "9223372036854775808 points in a ciphertext",
            ),
            (Shape::new(4, 1 << 15, 3).map(|_| ()), "more than 65536 slots"),
            (Shape::new(4, usize::MAX, 2).map(|_| ()), "more than 65536 slots"),
            (Shape::new(4, 1 << 63, 3).map(|_| ()), "more than 65536 slots"),
            (Shape::new(1 << 20, (1 << 62) + 1, 1 << 20).map(|_| ()), "more than 65536 slots"),
            (
                shape.centroids_in_slots(&[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]).map(|_| ()),
                "a point of norm 1.414",
            ),
            (shape.centroids_in_slots(&[f64::NAN; 6]).map(|_| ()), "a point of norm NaN"),
        ] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(what), "{refused}");
        }
    }
    #[test]
    fn new_points_are_moved_into_the_ball() {
        let shape = Shape::new(3, 2, 2).unwrap();
        let centroids = [0.5, 0.0, 0.0, 0.5];
        let slots = shape.new_points_in_slots(&[0.5, 0.25, 0.5, -2.0], &centroids, 4).unwrap();
        assert_eq!((slots.len(), slots[0].len()), (1, 16));
        let surface = -0.75f64.sqrt();
        for (x, y) in slots[0].iter().zip([0.5, 0.25, 0.5, 0.25, 0.5, surface, 0.5, surface]) {
            assert!((x - y).abs() < 1e-12, "{slots:?}");
        }
        assert_eq!(slots[0][8..], [0.0; 8]);
        for (refused, what) in [
            (
                shape.new_points_in_slots(&[], &centroids, 4),
                "0 numbers for points of dimension 2: 1 to 3",
            ),
            (
                shape.new_points_in_slots(&[0.0; 3], &centroids, 4),
                "3 numbers for points of dimension 2",
            ),
            (
                shape.new_points_in_slots(&[0.0; 8], &centroids, 4),
                "8 numbers for points of dimension 2",
            ),
            (
                shape.new_points_in_slots(&[0.0; 2], &[0.0; 3], 4),
                "3 numbers for 2 centroids of dimension 2",
            ),
            (
                shape.new_points_in_slots(&[0.0; 2], &centroids, 5),
                "5 points in a ciphertext: 1 to 4",
            ),
            (shape.new_points_in_slots(&[0.0, 1e200], &centroids, 4), "point 0 lies so far out"),
            (shape.new_points_in_slots(&[f64::NAN, 0.0], &centroids, 4), "point 0 lies so far out"),
        ] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(what), "{refused}");
        }
    }

    #[test]
    fn points_outside_of_the_ball_stay_nearest_to_the_same_centroid() {
        let centroids = [0.9, 0.1, -0.3, 0.4, 0.2, -0.95, 0.0, 1.0, -1.0001, 0.0];
        let nearest = |x: &[f64]| {
            let distance =
                |j: usize| (0..2).map(|c| (x[c] - centroids[2 * j + c]).powi(2)).sum::<f64>();
            (0..5).min_by(|i, j| distance(*i).total_cmp(&distance(*j))).unwrap()
        };
        for i in 0..200 {
            let (angle, radius) = (f64::from(i) * 0.1, 1.0 + f64::from(i * i) / 100.0);
            let point = [radius * angle.cos(), radius * angle.sin()];
            let moved = into_ball(&point, &centroids);
            assert!(norm(&moved) <= 1.0 + 1e-12, "{point:?} moved to {moved:?}");
            assert_eq!(nearest(&moved), nearest(&point), "{point:?} moved to {moved:?}");
        }
    }
}
