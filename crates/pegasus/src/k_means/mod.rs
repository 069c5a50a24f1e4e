//! K-means on encrypted points, in one server (PEGASUS V.C).
//!
//! Points lie in the unit ball, one after the other in the slots: with `K'` and `d'` the powers of
//! two that hold the clusters and the dimension, coordinate `c` of point `i` stands in slot `(i
//! K' + j) d' + c` for every cluster `j` ([`Shape`]). Centroids are `K' d'` slots that repeat. So one
//! product and `log2 d'` rotations make all distances, and one product and `log2 n` rotations all
//! sums over the members of clusters, which come out repeating as the centroids do. Where points
//! take more slots than there are, they take several ciphertexts.
//!
//! One iteration of Lloyd's algorithm ([`KMeans::iterate`]), from points `x_i` and centroids `c_j`:
//! 1. **Distances** `|c_j|^2 - 2 <x_i, c_j>`: what they lack, `|x_i|^2`, is the same for all
//!    centroids.
//! 2. **Extraction** of these `n K` numbers.
//! 3. **Nearest centroids**, by a tournament: `2K - 3` look-ups for a point (`tournament.rs`). Bits
//!    `b_ij`, which add up to 1 for every point.
//! 4. **Repacking** of the bits, in the layout of the points.
//! 5. **Update**: `c_j + r_j sum_i b_ij (x_i - c_j)` with a table `r` of reciprocals of the counts
//!    `sum_i b_ij`. An error of `r_j` is one of the length of the step only, and not of what the
//!    iterations tend to; and a cluster without members keeps its centroid, but for the errors of
//!    bits times `4K`. Clusters smaller than a quarter of the mean go the share of the way that
//!    their size is of that.
//!
//! New centroids are extracted and repacked, so that no iteration has less capacity than the one
//! before, without a bootstrap. Nothing is drawn at random: the same state gives the same next
//! state, bit for bit.

mod plan;
mod shape;
mod step;

pub use plan::KMeansPlan;
pub use shape::Shape;
pub use step::{KMeans, KMeansState, Sectors};
