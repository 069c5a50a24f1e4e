//! K-means on encrypted points, on one server (PEGASUS, section V.C).
//!
//! Points are in the unit ball. The slots hold one point after the other. With `K'` and `d'` the
//! powers of two that hold the clusters and the dimension, coordinate `c` of point `i` is in slot
//! `(i K' + j) d' + c` for every cluster `j` ([`Shape`]). Centroids are `K' d'` slots that repeat.
//! Therefore one product and `log2 d'` rotations compute all distances. One product and `log2 n`
//! rotations compute all sums over the members of clusters, which repeat as the centroids do.
//! Points that need more slots than a ciphertext has take several ciphertexts.
//!
//! One iteration of Lloyd's algorithm ([`KMeans::iterate`]), from points `x_i` and centroids `c_j`:
//! 1. **Distances** `|c_j|^2 - 2 <x_i, c_j>`. They omit `|x_i|^2`, which is the same for all
//!    centroids.
//! 2. **Extraction** of these `n K` numbers.
//! 3. **Nearest centroids**, by a tournament of `2K - 3` look-ups for a point (`tournament.rs`).
//!    The results are bits `b_ij`, which add up to 1 for every point.
//! 4. **Repacking** of the bits, in the layout of the points.
//! 5. **Update**: `c_j + r_j sum_i b_ij (x_i - c_j)` with a table `r` of reciprocals of the counts
//!    `sum_i b_ij`. An error of `r_j` changes the length of the step, but not the limit of the
//!    iterations. A cluster without members keeps its centroid, up to the errors of bits times
//!    `4K`. If a cluster is smaller than a quarter of the mean size, its step is shortened by the
//!    ratio of its size to that quarter.
//!
//! New centroids are extracted and repacked. So every iteration has the same capacity, without a
//! bootstrap. Nothing is random. The same state gives the same next state, bit for bit.

mod plan;
mod shape;
mod step;

pub use plan::{KMeansPlan, SMALL_CLUSTER_SHARE};
pub use shape::Shape;
pub use step::{IterationTimes, KMeans, KMeansState};
